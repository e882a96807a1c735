//! 64 KiB of JSON in and out: as one text and as rows of a table.
//!
//! C′ has its values ready and gives values back. Beside it stands C′ from JSON to JSON: a host that
//! is called by text has at least that to do, so the goals are held against it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wasmtime::component::Val;

use super::bare::Bare;
use super::bench::{Bench, Lane, ROUNDS, p50, times, warm_rounds};
use super::figures::over;
use super::hosts::{Plan, call};

const PART: &str = "payload";
const CALLS: usize = 200;
const BYTES: usize = 64 << 10;

const TEXT: &str = "64 KiB of text";
const ROWS: &str = "64 KiB of rows";
/// The two lanes that D is held against.
const BARE: [&str; 2] = ["C′", "C′ from JSON to JSON"];

/// The goals'.
pub(crate) fn text() -> String {
    ratio(TEXT, BARE[1])
}

/// The goals'.
pub(crate) fn rows() -> String {
    ratio(ROWS, BARE[1])
}

fn ratio(name: &str, bare: &str) -> String {
    format!("{name}, D / {bare}: p50")
}

/// One kind of payload, through one tool.
struct Payload {
    name: &'static str,
    tool: &'static str,
    /// The arguments as text.
    text: String,
    /// What comes back, as text.
    answer: String,
    to: fn(&Value) -> Val,
    from: fn(&Val) -> Value,
    bare: Bare,
}

fn payloads(bench: &Bench) -> [Payload; 2] {
    let bare = |function| Bare::new(bench.engine(), bench.guests.rust(), function);
    let text = "belljar ".repeat(BYTES / 8);
    let row = |id: usize| {
        let name = format!("row {id} of a table");
        json!({"id": id, "name": name, "amount": 0.5, "tags": ["a", "few", "words"]})
    };
    let one = row(500).to_string().len() + 1;
    let rows: Vec<Value> = (0..BYTES / one).map(row).collect();
    let (text, rows) = (json!(text), Value::Array(rows));
    [
        Payload {
            name: TEXT,
            tool: "bench.echo",
            text: json!({"text": text}).to_string(),
            answer: text.as_str().expect("a text").to_owned(),
            to: text_to,
            from: text_from,
            bare: bare("echo"),
        },
        Payload {
            name: ROWS,
            tool: "bench.copy",
            text: json!({"rows": rows}).to_string(),
            answer: rows.to_string(),
            to: rows_to,
            from: rows_from,
            bare: bare("copy"),
        },
    ]
}

fn text_to(arguments: &Value) -> Val {
    Val::String(arguments["text"].as_str().expect("a text").to_owned())
}

fn text_from(value: &Val) -> Value {
    let Val::String(text) = value else { unreachable!("{value:?}") };
    Value::String(text.clone())
}

fn rows_to(arguments: &Value) -> Val {
    let text = |value: &Value| Val::String(value.as_str().expect("a text").to_owned());
    let rows = arguments["rows"].as_array().expect("rows").iter().map(|row| {
        let id = u32::try_from(row["id"].as_u64().expect("a number")).expect("a small one");
        let tags = row["tags"].as_array().expect("words").iter().map(text).collect();
        Val::Record(vec![
            ("id".to_owned(), Val::U32(id)),
            ("name".to_owned(), text(&row["name"])),
            ("amount".to_owned(), Val::Float64(row["amount"].as_f64().expect("a number"))),
            ("tags".to_owned(), Val::List(tags)),
        ])
    });
    Val::List(rows.collect())
}

fn rows_from(value: &Val) -> Value {
    match value {
        Val::List(all) => all.iter().map(rows_from).collect(),
        Val::Record(fields) => {
            Value::Object(fields.iter().map(|(name, it)| (name.clone(), rows_from(it))).collect())
        }
        Val::String(text) => json!(text),
        Val::U32(number) => json!(number),
        Val::Float64(number) => json!(number),
        other => unreachable!("{other:?}"),
    }
}

impl Payload {
    /// C′ between JSON and JSON.
    async fn by_text(&self) -> Duration {
        let began = Instant::now();
        let arguments: Value = serde_json::from_str(&self.text).expect("JSON");
        let results = self.bare.results_of(&[(self.to)(&arguments)]).await;
        let answer = (self.from)(&results[0]).to_string();
        let took = began.elapsed();
        assert!(answer.len() >= self.answer.len(), "{answer}");
        took
    }
}

/// Measures both.
pub(crate) fn measure(bench: &mut Bench) {
    let runtime = std::rc::Rc::clone(&bench.runtime);
    let runtime = runtime.as_ref();
    let payloads = payloads(bench);
    let host = &Plan::rust(bench).start(bench, "payload").host;
    let names = payloads.each_ref().map(|it| (it.name, format!("{}, D", it.name)));
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    for payload in &payloads {
        let arguments: Value = serde_json::from_str(&payload.text).expect("JSON");
        let values = [(payload.to)(&arguments)];
        lanes.push(Box::new(move |round| {
            let call =
                async |_: usize| payload.bare.call(&values, |results| results == values).await;
            round.times(&format!("{}, C′", payload.name), &times(runtime, CALLS, call));
        }));
        lanes.push(Box::new(move |round| {
            let call = async |_: usize| payload.by_text().await;
            round.times(
                &format!("{}, C′ from JSON to JSON", payload.name),
                &times(runtime, CALLS, call),
            );
        }));
        lanes.push(Box::new(move |round| {
            let asked = (payload.tool, payload.text.as_str());
            let call = async |number: usize| {
                call(host, number, asked, |result| result.content == payload.answer).await
            };
            round.times(&format!("{}, D", payload.name), &times(runtime, CALLS, call));
        }));
    }
    warm_rounds(PART, ROUNDS, &mut bench.figures, &mut lanes);
    drop(lanes);
    for (name, whole) in names {
        for bare in BARE {
            let pair = (&*p50(&whole), &*p50(&format!("{name}, {bare}")));
            bench.figures.combine(PART, ratio(name, bare), "", pair, over);
        }
    }
}
