//! `belljar audit show` and `export`: entries as they lie in the log.
//!
//! A spoilt place is told of and gone around: what can be read is shown.

use std::collections::VecDeque;
use std::path::Path;

use serde_json::Value;

use super::line::line;
use super::{ExportArgs, ShowArgs};
use crate::events::{Entry, Filter, JournalError, read};
use crate::frontends::cli::error::CliError;
use crate::frontends::cli::exit::Exit;
use crate::frontends::cli::replace::{PRIVATE, replace_by};
use crate::frontends::cli::show::{
    json_for_terminal, print, print_json_pretty, print_to_reader, tell,
};

/// Spoilt places that are told of one by one.
const SPOILT_MAX: usize = 10;

/// Shows the latest entries.
pub(super) fn show(args: &ShowArgs, folder: &Path) -> Result<Exit, CliError> {
    let mut last = VecDeque::new();
    let exit = each(folder, args.wanted.filter(), |entry| {
        last.push_back(entry);
        if last.len() > args.last {
            last.pop_front();
        }
        Ok(true)
    })?;
    if args.json {
        let entries: Vec<_> = last.into_iter().map(|entry| Value::Object(entry.fields)).collect();
        print_json_pretty(&entries)?;
    } else if last.is_empty() {
        print("no such entries\n")?;
    } else {
        print(&last.iter().map(line).collect::<String>())?;
    }
    Ok(exit)
}

/// Writes entries as lines of JSON.
pub(super) fn export(args: &ExportArgs, folder: &Path) -> Result<Exit, CliError> {
    let filter = args.wanted.filter();
    let Some(out) = &args.out else {
        return each(folder, filter, |entry| {
            print_to_reader(&(json_for_terminal(&entry.json) + "\n"))
        });
    };
    // It holds arguments, as the log does, which nobody else may read either.
    replace_by(out, PRIVATE, |file| {
        each(folder, filter, |entry| {
            let written =
                file.write_all(entry.json.as_bytes()).and_then(|()| file.write_all(b"\n"));
            written.map(|()| true).map_err(|error| CliError::io("written", out, &error))
        })
    })
}

/// Hands on every entry until one answers `false`.
fn each(
    folder: &Path,
    filter: Filter,
    mut take: impl FnMut(Entry) -> Result<bool, CliError>,
) -> Result<Exit, CliError> {
    let mut spoilt = 0;
    for entry in read(folder, filter).map_err(|error| fault(&error))? {
        match entry {
            Ok(entry) => {
                if !take(entry)? {
                    break;
                }
            }
            Err(error @ (JournalError::Damaged { .. } | JournalError::Spoilt { .. })) => {
                spoilt += 1;
                if spoilt <= SPOILT_MAX {
                    tell(&format!("error: {error}"));
                }
            }
            Err(error) => return Err(fault(&error)),
        }
    }
    if spoilt > SPOILT_MAX {
        tell(&format!("error: and {} more such places", spoilt - SPOILT_MAX));
    }
    Ok(if spoilt == 0 { Exit::Success } else { Exit::SaidNo })
}

/// The log can't be read.
pub(super) fn fault(error: &JournalError) -> CliError {
    CliError::Machine(error.to_string())
}
