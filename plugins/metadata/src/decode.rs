//! Decodes the section's JSON leniently: what can't be read is reported and left out.
//!
//! A newer packer may know more than this reader, and one bad word shouldn't silence the rest, so
//! each key stands for itself. Must not judge what was read: `review` does.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::finding::{Findings, quoted, shorten};
use crate::limits;
use crate::model::{FORMAT, FunctionMetadata, Need, PluginMetadata};

/// The plugin's words, if the section's content is of a format that this reader knows.
pub(crate) fn decode(content: &[u8], findings: &mut Findings) -> Option<PluginMetadata> {
    match parse(content) {
        Ok(object) => Some(decode_plugin(object, findings)),
        Err(message) => {
            findings.add("", message);
            None
        }
    }
}

fn parse(content: &[u8]) -> Result<Map<String, Value>, String> {
    if content.len() > limits::SECTION_BYTES {
        let most = limits::SECTION_BYTES;
        return Err(format!("section of {} bytes, expected at most {most}", content.len()));
    }
    let text = str::from_utf8(content).map_err(|error| format!("section is not UTF-8: {error}"))?;
    if nesting(text) > limits::JSON_DEPTH {
        return Err(format!("section's JSON is nested deeper than {}", limits::JSON_DEPTH));
    }
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("section is not JSON: {error}"))?;
    let Value::Object(mut object) = value else {
        return Err("section is not a JSON object".to_owned());
    };
    match object.remove("format") {
        Some(Value::Number(format)) if format.as_u64() == Some(FORMAT) => Ok(object),
        Some(Value::Number(format)) if format.as_u64().is_some_and(|format| format > FORMAT) => {
            Err(format!(
                "section has format {format}, this host reads up to {FORMAT}: it was packed by a \
                 newer belljar, and its words are ignored"
            ))
        }
        Some(other) => {
            let found = quoted(&other.to_string());
            Err(format!("section has format {found}, expected a number from 1 to {FORMAT}"))
        }
        None => Err("section has no `format`".to_owned()),
    }
}

/// How deep arrays and objects go, counted before anything recurses into them.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn decode_plugin(mut object: Map<String, Value>, findings: &mut Findings) -> PluginMetadata {
    let needs = object.remove("needs");
    let functions = object.remove("functions");
    let mut plugin: PluginMetadata = decode_keys(object, "", findings);
    plugin.needs = decode_needs(needs, "needs", findings);
    plugin.functions =
        entries(functions, "functions", findings, |path, value, findings| match value {
            Value::Object(object) => Some(decode_function(object, path, findings)),
            _ => {
                findings.add(path, "expected an object");
                None
            }
        });
    plugin
}

fn decode_function(
    mut object: Map<String, Value>,
    path: &str,
    findings: &mut Findings,
) -> FunctionMetadata {
    let needs = object.remove("needs");
    let items = object.remove("items");
    let tags = object.remove("tags");
    let mut function: FunctionMetadata = decode_keys(object, path, findings);
    function.needs = decode_needs(needs, path, findings);
    function.tags = as_object(tags, &format!("{path} tags"), findings)
        .map(|object| decode_keys(object, &format!("{path} tags"), findings))
        .unwrap_or_default();
    function.items = entries(items, path, findings, |item, value, findings| {
        let path = format!("{path} {}", shorten(item, limits::PATH_BYTES));
        as_object(Some(value), &path, findings).map(|object| decode_keys(object, &path, findings))
    });
    function
}

/// Decodes the keys that can be, and reports each of the others.
fn decode_keys<T: DeserializeOwned + Default>(
    object: Map<String, Value>,
    path: &str,
    findings: &mut Findings,
) -> T {
    let mut good = Map::new();
    for (key, value) in object {
        let alone = Map::from_iter([(key.clone(), value.clone())]);
        match serde_json::from_value::<T>(Value::Object(alone)) {
            Ok(_) => {
                good.insert(key, value);
            }
            Err(error) => {
                let key = quoted(&key);
                let reason = error.to_string();
                findings.add(path, format!("{key} is ignored: {}", shorten(&reason, 200)));
            }
        }
    }
    serde_json::from_value(Value::Object(good)).unwrap_or_default()
}

fn decode_needs(value: Option<Value>, path: &str, findings: &mut Findings) -> Vec<Need> {
    let list = match value {
        None => return Vec::new(),
        Some(Value::Array(list)) => list,
        Some(_) => {
            findings.add(path, "`needs` is not an array");
            return Vec::new();
        }
    };
    let mut needs = Vec::new();
    for value in list {
        match serde_json::from_value(value) {
            Ok(need) => needs.push(need),
            Err(error) => {
                let reason = error.to_string();
                findings.add(path, format!("a need is ignored: {}", shorten(&reason, 200)));
            }
        }
    }
    needs
}

fn as_object(
    value: Option<Value>,
    path: &str,
    findings: &mut Findings,
) -> Option<Map<String, Value>> {
    match value {
        None => None,
        Some(Value::Object(object)) => Some(object),
        Some(_) => {
            findings.add(path, "expected an object");
            None
        }
    }
}

fn entries<T>(
    value: Option<Value>,
    path: &str,
    findings: &mut Findings,
    decode: impl Fn(&str, Value, &mut Findings) -> Option<T>,
) -> BTreeMap<String, T> {
    let mut map = BTreeMap::new();
    for (key, value) in as_object(value, path, findings).unwrap_or_default() {
        if let Some(decoded) = decode(&key, value, findings) {
            map.insert(key, decoded);
        }
    }
    map
}
