//! WASI command components: a program with `wasi:cli/run` is one tool, `run`.
//!
//! Its arguments are argv and stdin, its stdout is its output under the output limits, and an exit
//! code other than 0 is the tool's own error. Knows nothing of other exports.

use serde_json::{Map, Value, json};
use wasmtime::component::Func;
use wasmtime::{AsContextMut, Error};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;

use super::codec::read_text;
use super::fault::HostEnd;
use super::stdio::Printed;
use crate::contract::arguments::ArgumentFailure;
use crate::contract::attempt::{ReturnCase, Returned};
use crate::contract::escape;
use crate::contract::ids::CallId;
use crate::contract::limits::LimitKind;
use crate::contract::normalise::result_uri;
use crate::contract::result::{Attachment, AttachmentKind};

/// Words in argv, besides the program's name.
const ARGV_MAX_LEN: usize = 1024;
/// Bytes of stderr that an error quotes.
const QUOTED_STDERR: usize = 1024;

/// Whether an exported function is a command's entry.
pub(crate) fn is_command(interface: Option<&str>, function: &str) -> bool {
    interface.is_some_and(|name| name.starts_with("wasi:cli/run@0.2.")) && function == "run"
}

/// The schema of a command's arguments.
pub(crate) fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "argv": {
                "type": "array",
                "items": { "type": "string" },
                "maxItems": ARGV_MAX_LEN,
                "description": "Command-line arguments, without the program's name."
            },
            "stdin": { "type": "string", "description": "What the program reads from stdin." }
        },
        "additionalProperties": false
    })
}

/// The schema of a command's output: a string, wrapped as every answer that is no object.
pub(crate) fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "result": { "type": "string", "description": "What it wrote to stdout." } },
        "required": ["result"],
        "additionalProperties": false
    })
}

/// Checks a command's arguments. What is null counts as absent.
pub(crate) fn check(
    mut arguments: Map<String, Value>,
) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
    arguments.retain(|_, value| !value.is_null());
    let mut failures = Vec::new();
    for (name, value) in &mut arguments {
        let path = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        let wrong = match name.as_str() {
            "argv" => wrong_argv(value),
            "stdin" => (!value.is_string()).then(|| "expected a string".to_owned()),
            _ => Some("unknown argument, expected `argv` or `stdin`".to_owned()),
        };
        failures.extend(wrong.map(|wrong| ArgumentFailure::new(path, wrong)));
    }
    if failures.is_empty() { Ok(arguments) } else { Err(failures) }
}

fn wrong_argv(value: &mut Value) -> Option<String> {
    // As everywhere that takes no string, an array that came as its own text is read, once.
    if let Value::String(text) = value
        && text.trim_start().starts_with('[')
    {
        match read_text(text) {
            Ok(read) => *value = read,
            Err(why) => {
                return Some(format!(
                    "expected an array of strings, got a string; read as JSON, {why}"
                ));
            }
        }
    }
    let Value::Array(words) = value else { return Some("expected an array of strings".into()) };
    let is_word = |word: &Value| word.as_str().is_some_and(|word| !word.contains('\0'));
    if words.len() > ARGV_MAX_LEN {
        return Some(format!("expected at most {ARGV_MAX_LEN} strings, found {}", words.len()));
    }
    let wrong = words.iter().position(|word| !is_word(word))?;
    Some(format!("expected strings without NUL, and the one at {wrong} is none"))
}

/// What a command's process has besides what every store has.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) argv: Vec<String>,
    pub(crate) stdin: MemoryInputPipe,
}

impl Process {
    /// From checked arguments. argv begins with a name, as programs expect; it tells nothing.
    pub(crate) fn new(arguments: &Map<String, Value>) -> Self {
        let words = arguments.get("argv").and_then(Value::as_array).into_iter().flatten();
        let words = words.filter_map(Value::as_str).map(str::to_owned);
        let argv = std::iter::once("command".to_owned()).chain(words).collect();
        let stdin = arguments.get("stdin").and_then(Value::as_str).unwrap_or_default();
        Self { argv, stdin: MemoryInputPipe::new(stdin.to_owned()) }
    }
}

/// Runs the program and reads its end.
pub(crate) async fn invoke(
    function: Func,
    mut store: impl AsContextMut<Data: Send>,
    stdout: &Printed,
    stderr: &Printed,
    call_id: &CallId,
) -> wasmtime::Result<Returned> {
    let run = function.typed::<(), (Result<(), ()>,)>(&store)?;
    let code = match run.call_async(&mut store, ()).await {
        Ok((Ok(()),)) => 0,
        Ok((Err(()),)) => 1,
        Err(error) => exit_code(error)?,
    };
    let (bytes, dropped) = stdout.take_bytes();
    if dropped > 0 {
        let written = LimitKind::OutputKept.show(stdout.written());
        let used = format!("the command wrote {written}");
        return Err(HostEnd::Limit(LimitKind::OutputKept, used).into());
    }
    if code == 0 {
        return Ok(answer(bytes, call_id));
    }
    let said = stderr.text().map(|(text, _)| text).unwrap_or_default();
    let said = escape::cut_to_end(said.trim(), QUOTED_STDERR).trim();
    let colon = if said.is_empty() { "" } else { ": " };
    let message = format!("the command ended with exit code {code}{colon}{said}");
    let stdout = String::from_utf8(bytes)
        .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned());
    let fields: [(&str, Value); 3] =
        [("message", message.into()), ("exit_code", code.into()), ("stdout", stdout.into())];
    let value = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(Returned { case: ReturnCase::Err, value: Some(value), wrapped: false, attachments: vec![] })
}

fn exit_code(error: Error) -> wasmtime::Result<i32> {
    match error.downcast_ref::<I32Exit>() {
        Some(I32Exit(code)) => Ok(*code),
        None => Err(error),
    }
}

/// Text is the output; bytes that are no text become an attachment, as a returned `list<u8>` does.
fn answer(bytes: Vec<u8>, call_id: &CallId) -> Returned {
    let (text, attachments) = match String::from_utf8(bytes) {
        Ok(text) => (text, Vec::new()),
        Err(error) => {
            let bytes = error.into_bytes();
            let uri = result_uri(call_id, 0);
            let size = bytes.len() as u64;
            let kind = AttachmentKind::Blob;
            (uri.clone(), vec![Attachment { uri, kind, mime_type: None, size, bytes }])
        }
    };
    Returned {
        case: ReturnCase::Plain,
        value: Some(Value::String(text)),
        wrapped: true,
        attachments,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(arguments: Value) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        check(arguments)
    }

    #[test]
    fn arguments_are_argv_and_stdin_and_nothing_else() {
        assert!(checked(json!({})).is_ok());
        assert!(checked(json!({"argv": ["a", ""], "stdin": "x"})).is_ok());
        assert!(checked(json!({"argv": null})).unwrap().is_empty());
        for bad in [
            json!({"argv": "a"}),
            json!({"argv": [1]}),
            json!({"argv": ["a\0b"]}),
            json!({"argv": vec!["a"; ARGV_MAX_LEN + 1]}),
            json!({"stdin": 5}),
            json!({"args": []}),
        ] {
            assert!(checked(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn t19_words_that_came_as_the_text_of_their_array_are_read_once() {
        let read = checked(json!({"argv": "[\"-n\", \"[1]\"]", "stdin": "[1]"})).unwrap();
        assert_eq!(Value::Object(read), json!({"argv": ["-n", "[1]"], "stdin": "[1]"}));
        for (bad, why) in [
            ("[\"a\"", "it is truncated"),
            ("[1]", "expected strings without NUL"),
            ("\"[]\"", "expected an array of strings"),
            ("[] []", "goes on after its end"),
        ] {
            let failures = checked(json!({"argv": bad})).unwrap_err();
            assert!(failures[0].message.contains(why), "{bad}: {failures:?}");
        }
    }

    #[test]
    fn only_wasi_cli_run_is_a_command() {
        assert!(is_command(Some("wasi:cli/run@0.2.3"), "run"));
        assert!(!is_command(Some("wasi:cli/run@0.3.0"), "run"));
        assert!(!is_command(Some("acme:cli/run@0.2.3"), "run"));
        assert!(!is_command(None, "run"));
    }
}
