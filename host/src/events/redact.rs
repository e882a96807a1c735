//! Takes declared secrets out of texts and JSON before they are kept or shown.
//!
//! Knows secrets by their values alone: what isn't declared, or is spelt in another way than the
//! forms named at [`Redactor::new`], stays. Never applied to the `content` of a result.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Map, Value};

/// Shortest value that is taken out, in bytes: a shorter one stands in too many harmless texts.
pub const SECRET_MIN_LEN: usize = 6;

/// Replaces every occurrence of a secret by `[redacted:NAME]`. Clones share the secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    forms: Arc<[Form]>,
    too_short: Arc<[String]>,
}

/// One spelling of one secret.
struct Form {
    name: String,
    text: String,
    /// As it stands inside a JSON string, where that differs.
    escaped: Option<String>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("forms", &self.forms.len()).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Takes secrets as (name, value). White space round a value doesn't count. Looked for are the
    /// value itself and its base64, standard and URL-safe, without padding.
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Self {
        let (mut forms, mut too_short) = (Vec::new(), Vec::new());
        for (name, value) in secrets {
            let value = value.trim();
            if value.len() < SECRET_MIN_LEN {
                too_short.push(name);
                continue;
            }
            let standard = STANDARD.encode(value);
            let url_safe = URL_SAFE.encode(value);
            let mut texts = vec![value, standard.trim_end_matches('=')];
            if url_safe != standard {
                texts.push(url_safe.trim_end_matches('='));
            }
            forms.extend(texts.into_iter().map(|text| Form::new(&name, text)));
        }
        forms.sort_by_key(|form| std::cmp::Reverse(form.text.len()));
        Self { forms: forms.into(), too_short: too_short.into() }
    }

    /// Names of the secrets that stay in texts, for they are shorter than [`SECRET_MIN_LEN`].
    pub fn too_short(&self) -> &[String] {
        &self.too_short
    }

    /// Whether a JSON text may hold a secret. False means certainly not.
    pub fn may_be_in_json(&self, json: &str) -> bool {
        self.forms.iter().any(|form| {
            json.contains(&form.text)
                || form.escaped.as_deref().is_some_and(|escaped| json.contains(escaped))
        })
    }

    /// The text without secrets. Where several overlap, all of their bytes go, under the name of
    /// the longest.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.forms.is_empty() {
            return Cow::Borrowed(text);
        }
        let spans = self.spans(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(replaced(text, spans))
    }

    /// The beginning of a JSON text, cut anywhere, without secrets. What at its end may be the
    /// beginning of one is left out.
    pub fn json_beginning(&self, json: &str) -> String {
        let spans = joined(self.forms.iter().flat_map(|form| form.spans_in_json(json)).collect());
        let behind = spans.last().map_or(0, |span| span.end);
        let begun = self.forms.iter().filter_map(|form| form.begun_at(json)).min();
        let end = begun.unwrap_or(json.len()).max(behind);
        replaced(json.get(..end).unwrap_or_default(), spans)
    }

    /// The value without secrets: in strings, in names of fields and in numbers.
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text).into_owned()),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => Value::Object(self.object(map)),
            Value::Number(number) => {
                let text = number.to_string();
                match self.text(&text) {
                    Cow::Borrowed(_) => value.clone(),
                    Cow::Owned(clean) => Value::String(clean),
                }
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// The object without secrets. Fields whose names become the same are told apart by `~`.
    pub fn object(&self, map: &Map<String, Value>) -> Map<String, Value> {
        let mut clean = Map::new();
        for (name, value) in map {
            let mut name = self.text(name).into_owned();
            while clean.contains_key(&name) {
                name.push('~');
            }
            clean.insert(name, self.value(value));
        }
        clean
    }

    /// Where secrets stand, in order, overlapping ones joined.
    fn spans(&self, text: &str) -> Vec<Span<'_>> {
        joined(self.forms.iter().flat_map(|form| form.spans(&form.text, text)).collect())
    }
}

/// The spans in order, overlapping ones as one.
fn joined(mut found: Vec<Span<'_>>) -> Vec<Span<'_>> {
    found.sort_by_key(|span| span.start);
    let mut joined: Vec<Span<'_>> = Vec::new();
    for span in found {
        match joined.last_mut() {
            Some(last) if span.start < last.end => {
                last.end = last.end.max(span.end);
                if span.longest > last.longest {
                    (last.name, last.longest) = (span.name, span.longest);
                }
            }
            _ => joined.push(span),
        }
    }
    joined
}

/// The text with names in the place of the spans.
fn replaced(text: &str, spans: Vec<Span<'_>>) -> String {
    let (mut clean, mut from) = (String::with_capacity(text.len()), 0);
    for Span { start, end, name, .. } in spans {
        clean.push_str(text.get(from..start).unwrap_or_default());
        clean.push_str(&format!("[redacted:{name}]"));
        from = end;
    }
    clean.push_str(text.get(from..).unwrap_or_default());
    clean
}

/// A stretch of text that must go.
struct Span<'a> {
    start: usize,
    end: usize,
    name: &'a str,
    longest: usize,
}

impl Form {
    fn new(name: &str, text: &str) -> Self {
        let json = Value::from(text).to_string();
        let inner = json.get(1..json.len().saturating_sub(1)).unwrap_or_default();
        let escaped = (inner != text).then(|| inner.to_owned());
        Self { name: name.to_owned(), text: text.to_owned(), escaped }
    }

    /// Every occurrence in JSON text, as it is and escaped.
    fn spans_in_json<'a>(&'a self, json: &str) -> Vec<Span<'a>> {
        let spellings = [Some(&self.text), self.escaped.as_ref()];
        spellings.into_iter().flatten().flat_map(|wanted| self.spans(wanted, json)).collect()
    }

    /// Where at the end of JSON text the beginning of this form stands.
    fn begun_at(&self, json: &str) -> Option<usize> {
        let spellings = [Some(&self.text), self.escaped.as_ref()];
        let begun = |wanted: &String| {
            let beginnings = wanted.char_indices().filter_map(|(at, _)| wanted.get(..at));
            let fits = |beginning: &&str| !beginning.is_empty() && json.ends_with(beginning);
            let longest = beginnings.take_while(|it| it.len() <= json.len()).filter(fits).last();
            longest.map(|beginning| json.len() - beginning.len())
        };
        spellings.into_iter().flatten().filter_map(begun).min()
    }

    /// Every occurrence of a spelling, also those that overlap each other.
    fn spans<'a>(&'a self, wanted: &str, text: &str) -> Vec<Span<'a>> {
        let (mut spans, mut from) = (Vec::new(), 0);
        let step = wanted.chars().next().map_or(1, char::len_utf8);
        while let Some(at) = text.get(from..).and_then(|rest| rest.find(wanted)) {
            let start = from + at;
            let longest = wanted.len();
            spans.push(Span { start, end: start + longest, name: &self.name, longest });
            from = start + step;
        }
        spans
    }
}

#[cfg(test)]
mod tests;
