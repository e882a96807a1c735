//! Collects the words of one exported function, and joins its tags with its parameters.
//!
//! Must not know how types go down: `types` does.

use wit_parser::{Function, Resolve, Type, TypeDefKind};

use super::types::Walk;
use crate::finding::{Findings, quoted};
use crate::model::FunctionMetadata;
use crate::tags::{self, DocComment, Place};

/// Collects what is said of `function`, whose path is `path`.
pub(super) fn describe(
    resolve: &Resolve,
    function: &Function,
    path: &str,
    findings: &mut Findings,
) -> FunctionMetadata {
    let docs = function.docs.contents.as_deref().unwrap_or_default();
    let said = tags::parse_into(docs, Place::Function, path, findings);
    let arguments = Arguments::of(resolve, function);
    let mut described = FunctionMetadata {
        docs: said.description.clone(),
        tags: said.tags.clone(),
        needs: said.needs.clone(),
        items: std::collections::BTreeMap::new(),
    };
    join_arguments(&mut described, said, &arguments, path, findings);
    let mut walk = Walk::new(resolve, path, &mut described.items, findings);
    for param in &function.params {
        walk.describe(&param.ty, &format!("param/{}", param.name));
    }
    if let Some(result) = &function.result {
        walk.describe(result, "result");
    }
    described
}

/// What `@param` and `@schema` say is kept under the path of the argument that they name.
fn join_arguments(
    described: &mut FunctionMetadata,
    said: DocComment,
    arguments: &Arguments,
    path: &str,
    findings: &mut Findings,
) {
    for (name, text) in said.params {
        if let Some(item) = arguments.path_of(&name, "param", path, findings) {
            described.items.entry(item).or_default().docs = text;
        }
    }
    for (name, keywords) in said.schemas {
        if let Some(item) = arguments.path_of(&name, "schema", path, findings) {
            described.items.entry(item).or_default().schema = keywords;
        }
    }
    described.tags.locks = said
        .tags
        .locks
        .iter()
        .filter_map(|name| arguments.path_of(name, "locks", path, findings))
        .filter_map(|item| item.rsplit('/').next().map(str::to_owned))
        .collect();
    for example in &said.tags.examples {
        for name in example.keys() {
            arguments.path_of(name, "example", path, findings);
        }
    }
}

/// The names that a caller may pass, with the path of each.
struct Arguments {
    paths: Vec<(String, String)>,
}

impl Arguments {
    /// A function with exactly one record parameter takes that record's fields as its arguments.
    fn of(resolve: &Resolve, function: &Function) -> Self {
        let mut paths: Vec<(String, String)> = Vec::new();
        for param in &function.params {
            paths.push((param.name.clone(), format!("param/{}", param.name)));
        }
        if let [only] = function.params.as_slice()
            && let Some(fields) = record_fields(resolve, &only.ty)
        {
            let below = |field: String| (field.clone(), format!("param/{}/{field}", only.name));
            paths = fields.into_iter().map(below).collect();
        }
        Self { paths }
    }

    /// The path of an argument, in either spelling; a name that there isn't is a finding.
    fn path_of(
        &self,
        name: &str,
        tag: &str,
        path: &str,
        findings: &mut Findings,
    ) -> Option<String> {
        let kebab = name.replace('_', "-");
        let found = self.paths.iter().find(|(known, _)| *known == kebab);
        if found.is_none() {
            let known: Vec<&str> = self.paths.iter().map(|(name, _)| name.as_str()).collect();
            let expected = match known.as_slice() {
                [] => "the function takes none".to_owned(),
                names => format!("expected one of `{}`", names.join("`, `")),
            };
            findings.add(path, format!("`@{tag}` names the argument {}, {expected}", quoted(name)));
        }
        found.map(|(_, item)| item.clone())
    }
}

fn record_fields(resolve: &Resolve, ty: &Type) -> Option<Vec<String>> {
    let mut ty = ty;
    // An alias can't lead back to itself: the parser refuses that.
    while let Type::Id(id) = ty {
        match &resolve.types.get(*id)?.kind {
            TypeDefKind::Type(inner) => ty = inner,
            TypeDefKind::Record(record) => {
                return Some(record.fields.iter().map(|field| field.name.clone()).collect());
            }
            _ => return None,
        }
    }
    None
}
