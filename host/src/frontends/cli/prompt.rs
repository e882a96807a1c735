//! Asks the person at this terminal: shows the request, reads one line, and hands on what it says.
//!
//! Decides nothing: who may answer what, and whether the answer comes in time, is the queue's to
//! say. One request is asked at a time; silence, an empty line and the end of input are a no.

mod keys;
mod terminal;

use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::Mutex;

use self::keys::{HELP, Key, QUESTION, key};
use self::terminal::{Line, forget_typed, read_line};
use super::arguments::fetch;
use super::asking::user;
use super::parse::{ArgumentSource, parse_arguments};
use super::redacted::shown_card;
use super::screen::Screen;
use crate::contract::approval::{
    ApprovalDecision, ApprovalEntry, ApprovalRequest, ApprovalState, Approver, Channel,
    RememberScope,
};
use crate::contract::arguments::{ArgumentBounds, parse};
use crate::contract::escape::escaped_line;
use crate::contract::ids::ApprovalId;
use crate::events::{Redactor, unix_ms};
use crate::gate::approval::ApprovalHook;

const EDIT: &str = "the arguments instead, a JSON object on one line or @FILE (nothing: back): ";
const ANSWER: &str = "the answer in the tool's place, one line (nothing: back): ";

/// The person at this terminal.
#[derive(Debug)]
pub(super) struct TerminalApprover {
    screen: Arc<Screen>,
    redactor: Redactor,
    /// Held by the request that is asked.
    turn: Mutex<()>,
    /// Which one that is.
    asked: StdMutex<Option<ApprovalId>>,
}

impl TerminalApprover {
    /// Asks on the terminal behind stdin and stderr, and shows no secret there.
    pub(super) fn new(screen: Arc<Screen>, redactor: Redactor) -> Self {
        Self { screen, redactor, turn: Mutex::default(), asked: StdMutex::default() }
    }

    fn set_asked(&self, id: Option<ApprovalId>) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }

    fn is_asked(&self, id: &ApprovalId) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).as_ref() == Some(id)
    }

    /// Asks until there is an answer.
    async fn answer(&self, request: &ApprovalRequest) -> ApprovalDecision {
        loop {
            let Some(line) = self.line(QUESTION).await else {
                return denied("the terminal gave no answer");
            };
            match key(&line) {
                Some(Key::Once) => return ApprovalDecision::Once,
                Some(Key::Deny(reason)) => return ApprovalDecision::Deny { reason },
                Some(Key::Cancel) => return ApprovalDecision::Cancel,
                Some(Key::AlwaysTool) => return always(RememberScope::Tool),
                Some(Key::AlwaysArguments) => return always(RememberScope::Arguments),
                Some(Key::Session) if request.caller.session_id.is_some() => {
                    return ApprovalDecision::Session;
                }
                Some(Key::Session) => {
                    self.screen.tell("the call belongs to no session: --session ID gives it one");
                }
                Some(Key::Edit) => {
                    if let Some(arguments_json) = self.edited().await {
                        return ApprovalDecision::Edit { arguments_json };
                    }
                }
                Some(Key::Answer) => {
                    let content = self.line(ANSWER).await.filter(|line| !line.is_empty());
                    if let Some(content) = content {
                        return ApprovalDecision::Answer { content };
                    }
                }
                Some(Key::Help) => {
                    self.screen.tell(HELP);
                    // Its last line is the time that is left.
                    let card = shown_card(request, unix_ms(), &self.redactor);
                    card.last().into_iter().for_each(|line| self.screen.tell(line));
                }
                None => self.screen.tell("that is no answer: ? shows them all"),
            }
        }
    }

    /// Arguments that a person wrote; the tool's own check is the engine's.
    async fn edited(&self) -> Option<String> {
        let line = self.line(EDIT).await?;
        if line.trim().is_empty() {
            return None;
        }
        let source = parse_arguments(line.trim()).map_err(|error| error.to_string());
        let text = source.and_then(|source| match source {
            ArgumentSource::Stdin => Err("- names no file here".to_owned()),
            source => fetch(Some(source)).map_err(|error| error.to_string()),
        });
        let checked = text.and_then(|text| match parse(&text, ArgumentBounds::widest()) {
            Ok(_) => Ok(text),
            Err(error) => Err(error.to_string()),
        });
        checked.map_err(|why| self.screen.tell(&format!("that can't be used: {why}"))).ok()
    }

    /// One line of the person; `None`: none will come.
    async fn line(&self, question: &str) -> Option<String> {
        loop {
            self.screen.ask(question);
            let open = Open { screen: &self.screen, answered: false };
            let line = read_line().await;
            match line {
                Line::Text(text) => {
                    open.answered();
                    return Some(text);
                }
                Line::Unfit(why) => {
                    open.answered();
                    self.screen.tell(why);
                }
                Line::Ended => return None,
            }
        }
    }
}

/// A question on the screen; closed also where its asker is dropped.
struct Open<'a> {
    screen: &'a Screen,
    answered: bool,
}

impl Open<'_> {
    /// A line end was typed, and the terminal shows it.
    fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.screen.close(self.answered);
    }
}

/// Forgets which request is asked, also where the asking is dropped.
struct Asked<'a>(&'a TerminalApprover);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.set_asked(None);
    }
}

#[async_trait]
impl ApprovalHook for TerminalApprover {
    async fn decide(&self, request: &ApprovalRequest) -> Option<(ApprovalDecision, Approver)> {
        let _turn = self.turn.lock().await;
        self.set_asked(Some(request.id.clone()));
        let _asked = Asked(self);
        self.screen.tell(&shown_card(request, unix_ms(), &self.redactor).join("\n"));
        // What was typed before the card was there is no answer to it.
        forget_typed();
        let decision = self.answer(request).await;
        Some((decision, Approver { name: user(), channel: Channel::Terminal }))
    }

    fn ended(&self, entry: &ApprovalEntry) {
        if self.is_asked(&entry.request.id) {
            self.screen.close(false);
        }
        self.screen.tell(&ended_words(entry));
    }
}

fn ended_words(entry: &ApprovalEntry) -> String {
    let id = &entry.request.id;
    match (&entry.decided, entry.state) {
        (Some(decided), _) => {
            let (by, what) = (escaped_line(&decided.approver.name), decided.decision.name());
            format!("note: the approval {id} was answered by {by} elsewhere: {what}")
        }
        (None, ApprovalState::Expired) => {
            format!("note: the approval {id} ended: nobody answered in time")
        }
        (None, _) => format!("note: the approval {id} ended without an answer"),
    }
}

fn always(scope: RememberScope) -> ApprovalDecision {
    ApprovalDecision::Always { scope, expires_unix_ms: None }
}

fn denied(reason: &str) -> ApprovalDecision {
    ApprovalDecision::Deny { reason: Some(reason.to_owned()) }
}
