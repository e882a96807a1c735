//! `belljar audit verify` and `head`.

use std::path::Path;

use serde_json::json;

use super::read::fault;
use super::{HeadArgs, VerifyArgs};
use crate::events::{Head, JournalError, Verified, VerifyError};
use crate::frontends::cli::error::CliError;
use crate::frontends::cli::exit::Exit;
use crate::frontends::cli::show::{print, print_json_pretty, tell};

/// Checks the chain. A log that isn't whole is an answer; one that can't be read is none.
pub(super) fn verify(args: &VerifyArgs, folder: &Path) -> Result<Exit, CliError> {
    let problem = match crate::events::verify(folder, args.head) {
        Ok(verified) => {
            if args.json {
                print_json_pretty(&json!({"sound": true, "log": verified}))?;
            } else {
                print(&sound(&verified, args.head.is_some()))?;
            }
            return Ok(Exit::Success);
        }
        Err(VerifyError::Journal(error)) if !matches!(error, JournalError::Damaged { .. }) => {
            return Err(fault(&error));
        }
        Err(problem) => problem.to_string(),
    };
    if args.json {
        print_json_pretty(&json!({"sound": false, "problem": problem}))?;
    } else {
        tell(&format!("error: the log is not sound: {problem}"));
    }
    Ok(Exit::SaidNo)
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
    if verified.unfinished_bytes > 0 {
        let bytes = verified.unfinished_bytes;
        text.push_str(&format!("{bytes} bytes at the end are an entry that isn't whole yet\n"));
    }
    text
}

/// Prints the last entry's number and hash.
pub(super) fn head(args: &HeadArgs, folder: &Path) -> Result<Exit, CliError> {
    let head = crate::events::head(folder).map_err(|error| fault(&error))?;
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
