//! References: only those that lead somewhere in the same schema, and whether they lead back.
//!
//! Fetches nothing, and never puts a target in the place of its reference: a few references to each
//! other would then become millions of values (T45).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::subset::Subset;
use super::{Unfit, step};

/// Keywords whose value is no schema, so that nothing in it is a reference.
const PLAIN_VALUES: &[&str] = &["const", "default", "enum", "examples"];
/// Keywords that refer by other means than a place.
const DYNAMIC: &[&str] = &["$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"];

/// Refuses references that the provider would, or that a subset can't hold.
pub(super) fn hold(schema: &Value, subset: &Subset) -> Result<(), Unfit> {
    let found = references(schema)?;
    for (path, to) in &found {
        let unfit = |why: String| Unfit { path: path.clone(), why };
        let Some(pointer) = to.strip_prefix('#') else {
            return Err(unfit(format!("refers to `{to}`, which isn't in the schema itself")));
        };
        if schema.pointer(pointer).is_none() {
            return Err(unfit(format!("refers to `{to}`, which isn't there")));
        }
        if subset.strictness.is_some() && !is_definition(to) {
            return Err(unfit(format!("refers to `{to}`, and strict takes `#/$defs/NAME` alone")));
        }
    }
    let may_lead_back = subset.strictness.as_ref().is_none_or(|strict| strict.recursion);
    match may_lead_back {
        false if leads_back(schema, &found)? => Err(Unfit::root("refers to itself")),
        _ => Ok(()),
    }
}

fn is_definition(to: &str) -> bool {
    let name = to.strip_prefix("#/$defs/").or_else(|| to.strip_prefix("#/definitions/"));
    name.is_some_and(|name| !name.contains('/'))
}

/// Every reference with its place.
fn references(schema: &Value) -> Result<Vec<(String, String)>, Unfit> {
    let (mut open, mut found) = (vec![(String::new(), schema)], Vec::new());
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                open.extend(items.map(|(at, it)| (format!("{path}/{at}"), it)));
            }
            Value::Object(fields) => {
                for (key, inner) in fields {
                    match inner {
                        Value::String(to) if key == "$ref" => {
                            found.push((path.clone(), to.clone()))
                        }
                        Value::String(_) if DYNAMIC.contains(&key.as_str()) => {
                            let why = format!("has `{key}`, which providers don't know");
                            return Err(Unfit { path, why });
                        }
                        // The base of the references below would be another.
                        Value::String(_) if key == "$id" && !path.is_empty() => {
                            return Err(Unfit { path, why: "has an `$id` inside".to_owned() });
                        }
                        _ if PLAIN_VALUES.contains(&key.as_str()) && !inner.is_object() => {}
                        _ => open.push((step(&path, key), inner)),
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Whether definitions refer to each other in a circle: takes away, again and again, what refers to
/// nothing that is left.
fn leads_back(schema: &Value, found: &[(String, String)]) -> Result<bool, Unfit> {
    let targets: BTreeSet<&str> = found.iter().map(|(_, to)| to.as_str()).collect();
    let mut waits: BTreeMap<&str, usize> = BTreeMap::new();
    let mut waited_for: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for from in targets {
        let target = from.strip_prefix('#').and_then(|pointer| schema.pointer(pointer));
        let onward: BTreeSet<String> = match target {
            Some(target) => references(target)?.into_iter().map(|(_, to)| to).collect(),
            None => BTreeSet::new(),
        };
        waits.insert(from, onward.len());
        onward.into_iter().for_each(|to| waited_for.entry(to).or_default().push(from));
    }
    let is_free = |(name, count): (&&'_ str, &usize)| (*count == 0).then(|| (*name).to_owned());
    let mut free: Vec<String> = waits.iter().filter_map(is_free).collect();
    let mut taken = 0;
    while let Some(name) = free.pop() {
        taken += 1;
        for from in waited_for.get(&name).into_iter().flatten() {
            if let Some(count) = waits.get_mut(from) {
                *count -= 1;
                if *count == 0 {
                    free.push((*from).to_owned());
                }
            }
        }
    }
    Ok(taken < waits.len())
}
