//! Carries messages between one socket and its place at the gateway, until either ends.
//!
//! Knows no tool and no call. Everything it waits for has a bound.

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, Interval, MissedTickBehavior, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::Patience;
use crate::contract::client::{ClientMessage, HostMessage};
use crate::contract::escape::{clipped_line, cut};
use crate::contract::invocation::PermissionLevel;
use crate::contract::unfit::unfit;
use crate::engine::ports::{ClientConnection, ClientError, Connected};

/// Bytes of a close frame's reason (RFC 6455, section 5.5: 125 with the code).
const REASON_MAX_LEN: usize = 123;

/// Bytes of a level that is repeated.
const LEVEL_MAX_LEN: usize = 60;

/// Bytes of a message that is read where it came.
const SHORT_MAX_LEN: usize = 64 << 10;

/// Why a connection ends, as the client is told.
struct Closing {
    code: u16,
    reason: String,
}

impl Closing {
    fn new(code: u16, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

/// The end of a connection: with word to the client, or it went by itself.
type Ended = Option<Closing>;

/// Carries messages until the connection ends, and then says why.
pub(super) async fn carry(
    mut socket: WebSocket,
    connected: Connected,
    closing: CancellationToken,
    patience: Patience,
) {
    let ended = tokio::select! {
        biased;
        () = closing.cancelled() => Some(Closing::new(1001, "belljar is going away")),
        ended = talk(&mut socket, connected, patience) => ended,
    };
    // Its tools are gone and its requests have ended before it is told, which may take a while.
    if let Some(Closing { code, reason }) = ended {
        tracing::debug!(code, "a client's connection ends: {reason}");
        let reason = cut(&reason, REASON_MAX_LEN).to_owned();
        let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        let farewell = async {
            socket.send(close).await.ok()?;
            // A peer that gets a close frame answers with one; until then it may not have read it.
            while let Some(Ok(_)) = socket.recv().await {}
            Some(())
        };
        _ = timeout(patience.send, farewell).await;
    }
}

/// What there is to do next.
enum Next {
    Send(Message),
    Hear(Message),
    End(Ended),
}

async fn talk(socket: &mut WebSocket, connected: Connected, patience: Patience) -> Ended {
    let Connected { mut connection, mut outgoing } = connected;
    let mut times = Times::new(patience);
    loop {
        let registered = connection.is_registered();
        let next = tokio::select! {
            biased;
            told = outgoing.recv() => match told {
                Some(message) => Next::Send(text(&message)),
                None => Next::End(Some(slow())),
            },
            // Before what is heard: whoever talks all the time has no more of it.
            () = sleep_until(times.register_by), if !registered => {
                Next::End(Some(Closing::new(4408, "no registration in time")))
            }
            heard = socket.recv() => {
                times.heard();
                match heard {
                    Some(Ok(message)) => Next::Hear(message),
                    // What is too large, cut off, or no WebSocket.
                    Some(Err(error)) => Next::End(Some(broken(&error))),
                    None => Next::End(None),
                }
            }
            _ = times.ping.tick() => Next::Send(Message::Ping(Vec::new().into())),
            () = sleep_until(times.silent_at) => {
                Next::End(Some(Closing::new(4408, "silent for too long")))
            }
        };
        let went = match next {
            Next::Send(message) => send(socket, message, patience).await,
            Next::Hear(message) => match hear(connection, message).await {
                Ok((heard, warning)) => {
                    connection = heard;
                    match warning {
                        Some(warning) => send(socket, text(&warning), patience).await,
                        None => Ok(()),
                    }
                }
                Err(ended) => return say_refused(socket, ended, patience).await,
            },
            Next::End(ended) => return ended,
        };
        if let Err(ended) = went {
            return ended;
        }
    }
}

/// A refused registration is a message of its own before the close.
async fn say_refused(socket: &mut WebSocket, ended: Ended, patience: Patience) -> Ended {
    if let Some(Closing { code: REFUSED, reason }) = &ended {
        let told = HostMessage::Refused { reason: reason.clone() };
        send(socket, text(&told), patience).await.err().flatten();
    }
    ended
}

/// The code for a registration that can't be taken.
const REFUSED: u16 = 4409;

fn slow() -> Closing {
    Closing::new(4503, "what is sent is not read")
}

fn broken(error: &axum::Error) -> Closing {
    let shown = clipped_line(&error.to_string(), REASON_MAX_LEN);
    let too_large = shown.contains("too long") || shown.contains("too big");
    Closing::new(if too_large { 1009 } else { 1002 }, shown)
}

/// One message, within its time.
async fn send(
    socket: &mut WebSocket,
    message: Message,
    patience: Patience,
) -> Result<(), Option<Closing>> {
    match timeout(patience.send, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_gone)) => Err(None),
        Err(_late) => Err(Some(slow())),
    }
}

fn text(message: &HostMessage) -> Message {
    // Names and JSON values alone, of which each can be written.
    Message::Text(serde_json::to_string(message).unwrap_or_default().into())
}

/// A connection that goes on, and what its client is told of what it said.
type Heard = (Box<dyn ClientConnection>, Option<HostMessage>);

/// Hears one message and gives the connection back, where it goes on.
async fn hear(connection: Box<dyn ClientConnection>, message: Message) -> Result<Heard, Ended> {
    let text = match message {
        Message::Text(text) => text,
        Message::Binary(_) => {
            return Err(Some(Closing::new(1003, "messages are JSON text, not binary")));
        }
        Message::Close(_) => return Err(None),
        Message::Ping(_) | Message::Pong(_) => return Ok((connection, None)),
    };
    // What takes long to read, or to compile, would hold up whoever shares the thread.
    if connection.is_registered() && text.len() <= SHORT_MAX_LEN {
        return read(connection, &text);
    }
    let read = tokio::task::spawn_blocking(move || read(connection, &text)).await;
    read.unwrap_or_else(|_panic| Err(Some(Closing::new(1011, "belljar itself failed"))))
}

fn read(mut connection: Box<dyn ClientConnection>, text: &str) -> Result<Heard, Ended> {
    // serde would read an array by the places of the fields.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(Some(Closing::new(4400, "no message: it is no JSON object".to_owned())));
    }
    let message: ClientMessage = serde_json::from_str(text).map_err(|error| {
        let shown = clipped_line(&unfit("", &error.to_string()), REASON_MAX_LEN);
        Some(Closing::new(4400, format!("no message: {shown}")))
    })?;
    let warning = misread_level(&message, text);
    let heard = connection.hear(message);
    heard.map(|()| (connection, warning)).map_err(|error| {
        Some(match error {
            ClientError::Registration(reason) => Closing { code: REFUSED, reason },
            other => Closing::new(4400, other.to_string()),
        })
    })
}

/// A level that is none is the lowest (A15), which its user would otherwise only see by what is
/// refused later.
fn misread_level(message: &ClientMessage, text: &str) -> Option<HostMessage> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Said {
        permission_level: Value,
    }
    let level = match message {
        ClientMessage::Level { permission_level } => Some(*permission_level),
        ClientMessage::Register(registration) => registration.permission_level,
        _ => None,
    };
    level.filter(|level| *level == PermissionLevel::ReadOnly)?;
    let Said { permission_level: said } = serde_json::from_str(text).ok()?;
    if said == "READ_ONLY" {
        return None;
    }
    let shown = clipped_line(&said.to_string(), LEVEL_MAX_LEN);
    let reason = format!(
        "`permissionLevel` is {shown} and was taken for `READ_ONLY`: expected `READ_ONLY`, \
         `READ_WRITE`, `SMART` or `FULL`"
    );
    Some(HostMessage::Warning { reason })
}

/// When what is due.
struct Times {
    register_by: Instant,
    silent_at: Instant,
    ping: Interval,
    patience: Patience,
}

impl Times {
    fn new(patience: Patience) -> Self {
        let now = Instant::now();
        let mut ping = tokio::time::interval_at(now + patience.ping, patience.ping);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            register_by: now + patience.register,
            silent_at: now + patience.silence,
            ping,
            patience,
        }
    }

    fn heard(&mut self) {
        self.silent_at = Instant::now() + self.patience.silence;
    }
}
