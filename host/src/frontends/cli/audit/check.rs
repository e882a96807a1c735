//! `belljar audit verify` and `head`.
//!
//! Looks before anything is taken into the log, which may cut what is to be told of; a log that isn't
//! sound is left as it is.

use std::path::Path;

use serde_json::json;

use super::read::fault;
use super::{HeadArgs, VerifyArgs, take_in};
use crate::config::Config;
use crate::events::{Head, JournalError, Verified, VerifyError};
use crate::frontends::cli::error::CliError;
use crate::frontends::cli::exit::Exit;
use crate::frontends::cli::show::{print, print_json_pretty, tell};

/// What is wrong with the log, as the inner error. One that can't be read is no answer.
fn checked(
    folder: &Path,
    expected: Option<Head>,
    config: &Config,
) -> Result<Result<Verified, String>, CliError> {
    let found = look(folder, expected)?;
    let Ok(before) = &found else { return Ok(found) };
    let unfinished = before.unfinished_bytes;
    if !take_in(config) {
        return Ok(found);
    }
    if unfinished > 0 {
        tell(&format!(
            "note: {unfinished} bytes at the end were an entry that wasn't whole, and are cut off now"
        ));
    }
    look(folder, expected)
}

fn look(folder: &Path, expected: Option<Head>) -> Result<Result<Verified, String>, CliError> {
    match crate::events::verify(folder, expected) {
        Ok(verified) => Ok(Ok(verified)),
        Err(VerifyError::Journal(error)) if !matches!(error, JournalError::Damaged { .. }) => {
            Err(fault(&error))
        }
        Err(problem) => Ok(Err(problem.to_string())),
    }
}

/// Checks the chain. A log that isn't whole is an answer.
pub(super) fn verify(args: &VerifyArgs, folder: &Path, config: &Config) -> Result<Exit, CliError> {
    let problem = match checked(folder, args.head, config)? {
        Ok(verified) => {
            if args.json {
                print_json_pretty(&json!({"sound": true, "log": verified}))?;
            } else {
                print(&sound(&verified, args.head.is_some()))?;
            }
            return Ok(Exit::Success);
        }
        Err(problem) => problem,
    };
    if args.json {
        print_json_pretty(&json!({"sound": false, "problem": problem}))?;
    } else {
        tell_unsound(&problem);
    }
    Ok(Exit::SaidNo)
}

fn tell_unsound(problem: &str) {
    tell(&format!("error: the log is not sound: {problem}"));
}

fn sound(verified: &Verified, compared: bool) -> String {
    let mut text = match (verified.first_seq, verified.head) {
        (Some(first), Some(Head { seq, hash })) => {
            format!("sound: {} entries, {first} to {seq}\nhead: {seq}:{hash}\n", verified.entries)
        }
        _ => "sound: nothing has been recorded yet\n".to_owned(),
    };
    if compared {
        text.push_str("it holds the head that was given\n");
    }
    if let Some(through) = verified.removed_through {
        text.push_str(&format!("entries up to {through} were removed, as a checkpoint says\n"));
    }
    if verified.pending > 0 {
        let (pending, lanes) = (verified.pending, verified.lanes);
        let text_of_pending = format!(
            "{pending} records of {lanes} processes aren't in the log yet; they are in no chain\n"
        );
        text.push_str(&text_of_pending);
    }
    if verified.set_aside > 0 {
        let text_of_aside = format!(
            "what {} processes left was damaged and lies in the folder `damaged`, for a person to \
             look at; records in it may be missing here\n",
            verified.set_aside
        );
        text.push_str(&text_of_aside);
    }
    if verified.unfinished_bytes > 0 {
        let bytes = verified.unfinished_bytes;
        text.push_str(&format!("{bytes} bytes at the end are an entry that isn't whole yet\n"));
    }
    text
}

/// Prints the last entry's number and hash. A log that isn't sound has none that is worth keeping.
pub(super) fn head(args: &HeadArgs, folder: &Path, config: &Config) -> Result<Exit, CliError> {
    let head = match checked(folder, None, config)? {
        Ok(verified) => verified.head,
        Err(problem) => {
            tell_unsound(&problem);
            return Ok(Exit::SaidNo);
        }
    };
    let Some(head) = head else {
        let why = "nothing has been recorded yet, so there is no last entry";
        return Err(CliError::Refused(why.to_owned()));
    };
    if args.json {
        print_json_pretty(&head)?;
    } else {
        print(&format!("{}:{}\n", head.seq, head.hash))?;
    }
    Ok(Exit::Success)
}
