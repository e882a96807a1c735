//! Whole definitions of each provider, as JSON that can be compared with its documentation.

use serde_json::{Value, json};

use super::*;
use crate::contract::descriptor::example;
use crate::contract::effects::Effect;

fn tool(id: &str, input_schema: Value) -> ToolDescriptor {
    ToolDescriptor { input_schema, ..example(id, Effect::proven(true)) }
}

/// A tool with what WIT types become: an option, an unsigned number, an enum, a variant.
fn search() -> ToolDescriptor {
    tool(
        "files.find-all",
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "What to find.", "minLength": 1},
                "most": {"type": ["integer", "null"], "minimum": 0, "maximum": 255},
                "mode": {"type": ["string", "null"], "enum": ["exact", "near", null]},
                "from": {"oneOf": [
                    {"type": "string", "const": "start"},
                    {
                        "type": "object",
                        "properties": {"line": {"type": "integer", "minimum": 0, "maximum": 9}},
                        "required": ["line"],
                        "additionalProperties": false,
                    },
                ]},
            },
            "required": ["text", "from"],
            "additionalProperties": false,
        }),
    )
}

fn export(tools: &[ToolDescriptor], format: Format, strict: Strict) -> Exported {
    definitions(tools, format, strict)
}

fn kinds(exported: &Exported) -> Vec<(FindingKind, &str, &str)> {
    exported.report.iter().map(|it| (it.kind, it.path.as_str(), it.what.as_str())).collect()
}

#[test]
fn openai_takes_the_canonical_schema_where_it_isnt_strict() {
    let tool = search();
    let chat = export(std::slice::from_ref(&tool), Format::OpenaiChat, Strict::Off);
    let expected = json!([{"type": "function", "function": {
        "name": "files_find-all", "description": "does it", "parameters": tool.input_schema,
    }}]);
    assert_eq!((&chat.tools, chat.report.len()), (&expected, 0));
    let responses = export(std::slice::from_ref(&tool), Format::OpenaiResponses, Strict::Off);
    let expected = json!([{
        "type": "function", "name": "files_find-all", "description": "does it",
        "parameters": tool.input_schema, "strict": false,
    }]);
    assert_eq!((&responses.tools, responses.report.len()), (&expected, 0));
}

#[test]
fn openai_strict_requires_every_name_and_says_what_was_lost() {
    let strict = export(&[search()], Format::OpenaiResponses, Strict::On);
    let parameters = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to find.\n\n{minLength: 1}"},
            "most": {"type": ["integer", "null"], "minimum": 0, "maximum": 255},
            "mode": {"type": ["string", "null"], "enum": ["exact", "near", null]},
            "from": {"anyOf": [
                {"type": "string", "const": "start"},
                {
                    "type": "object",
                    "properties": {"line": {"type": "integer", "minimum": 0, "maximum": 9}},
                    "required": ["line"],
                    "additionalProperties": false,
                },
            ]},
        },
        "required": ["text", "most", "mode", "from"],
        "additionalProperties": false,
    });
    let expected = json!([{
        "type": "function", "name": "files_find-all", "description": "does it",
        "parameters": parameters, "strict": true,
    }]);
    assert_eq!(strict.tools, expected);
    let lossy = FindingKind::Lossy;
    assert_eq!(
        kinds(&strict),
        [
            (lossy, "/properties/text", "`minLength` moved into the description"),
            (lossy, "/properties/from", "`oneOf` became `anyOf`"),
        ]
    );
    assert_eq!(strict.report[0].tool.as_ref().unwrap().to_string(), "files.find-all");
    let chat = export(&[search()], Format::OpenaiChat, Strict::On);
    assert_eq!(chat.tools[0]["function"]["parameters"], parameters);
    assert_eq!(chat.tools[0]["function"]["strict"], json!(true));
}

#[test]
fn anthropic_strict_leaves_names_optional_and_moves_bounds_into_words() {
    let strict = export(&[search()], Format::Anthropic, Strict::On);
    let line = "{minimum: 0, maximum: 9}";
    let expected = json!([{
        "name": "files_find-all",
        "description": "does it",
        "input_schema": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "What to find.\n\n{minLength: 1}"},
                "most": {"type": "integer", "description": "{minimum: 0, maximum: 255}"},
                "mode": {"type": "string", "enum": ["exact", "near"]},
                "from": {"anyOf": [
                    {"type": "string", "const": "start"},
                    {
                        "type": "object",
                        "properties": {"line": {"type": "integer", "description": line}},
                        "required": ["line"],
                        "additionalProperties": false,
                    },
                ]},
            },
            "required": ["text", "from"],
            "additionalProperties": false,
        },
        "strict": true,
    }]);
    assert_eq!(strict.tools, expected);
    let off = export(&[search()], Format::Anthropic, Strict::Off);
    let expected = json!([{
        "name": "files_find-all", "description": "does it", "input_schema": search().input_schema,
    }]);
    assert_eq!((&off.tools, off.report.len()), (&expected, 0));
}

#[test]
fn gemini_takes_a_json_schema_of_the_keywords_it_lists_strict_or_not() {
    let mut tool = search();
    tool.input_schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    let off = export(std::slice::from_ref(&tool), Format::Gemini, Strict::Off);
    let expected = json!([{"functionDeclarations": [{
        "name": "files_find-all",
        "description": "does it",
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "What to find.\n\n{minLength: 1}"},
                "most": {"type": ["integer", "null"], "minimum": 0, "maximum": 255},
                "mode": {"anyOf": [{"type": "string", "enum": ["exact", "near"]}, {"type": "null"}]},
                "from": {"anyOf": [
                    {"type": "string", "enum": ["start"]},
                    {
                        "type": "object",
                        "properties": {"line": {"type": "integer", "minimum": 0, "maximum": 9}},
                        "required": ["line"],
                        "additionalProperties": false,
                    },
                ]},
            },
            "required": ["text", "from"],
            "additionalProperties": false,
        },
    }]}]);
    assert_eq!(off.tools, expected);
    let on = export(&[tool], Format::Gemini, Strict::On);
    assert_eq!(on.tools, off.tools);
    let last = on.report.last().unwrap();
    assert!(last.tool.is_none() && last.what.contains("VALIDATED"), "{last:?}");
}

#[test]
fn without_tools_there_is_an_empty_list() {
    for format in Format::ALL {
        assert_eq!(export(&[], format, Strict::Off).tools, json!([]));
    }
}

#[test]
fn t42_one_bad_schema_is_left_out_with_its_reason_and_the_others_stay() {
    let bad = tool("bad.one", json!({"type": "object", "anyOf": [{"required": ["a"]}]}));
    let remote = json!({"type": "object", "properties": {"a": {"$ref": "https://x.example"}}});
    let tools =
        [search(), bad, tool("bad.two", remote), tool("good.two", json!({"type": "object"}))];
    for format in Format::ALL {
        for strict in [Strict::Off, Strict::On] {
            let exported = export(&tools, format, strict);
            let ids: Vec<_> = exported.names.iter().map(|(_, id)| id.to_string()).collect();
            assert_eq!(ids, ["files.find-all", "good.two"], "{format:?}");
            let text = exported.tools.to_string();
            assert!(text.contains("good_two") && !text.contains("bad_"), "{text}");
            let left: Vec<_> =
                exported.report.iter().filter(|it| it.kind == FindingKind::LeftOut).collect();
            assert!(left[0].what.contains("`anyOf` at its root"), "{left:?}");
            assert_eq!(left[1].path, "/properties/a");
            assert_eq!(left.len(), 2);
        }
    }
}

#[test]
fn t45_a_hostile_schema_is_left_out() {
    let deep = (0..500).fold(json!({}), |inner, _| json!({"items": inner}));
    let hostile = tool("a.deep", json!({"type": "object", "properties": {"a": deep}}));
    for format in Format::ALL {
        let exported = export(std::slice::from_ref(&hostile), format, Strict::On);
        assert_eq!(exported.tools, json!([]));
        assert!(exported.report.iter().any(|it| it.kind == FindingKind::LeftOut));
    }
}

#[test]
fn what_strict_cant_say_is_exported_without_strict() {
    let map = json!({
        "type": "object",
        "properties": {"env": {"type": "object", "additionalProperties": {"type": "string"}}},
        "required": ["env"],
    });
    let tools = [tool("a.map", map.clone()), search()];
    let chat = export(&tools, Format::OpenaiChat, Strict::On);
    assert_eq!(chat.tools[0]["function"]["parameters"], map);
    assert_eq!(chat.tools[0]["function"].get("strict"), None);
    assert_eq!(chat.tools[1]["function"]["strict"], json!(true));
    let (kind, path, what) = kinds(&chat)[0];
    assert_eq!((kind, path), (FindingKind::NotStrict, "/properties/env"));
    assert!(what.contains("of the model's choice"), "{what}");
    let responses = export(&tools, Format::OpenaiResponses, Strict::On);
    assert_eq!(responses.tools[0]["strict"], json!(false));
    let anthropic = export(&tools, Format::Anthropic, Strict::On);
    assert_eq!(anthropic.tools[0].get("strict"), None);
}

#[test]
fn openais_strict_bounds_are_kept() {
    let values: Vec<Value> =
        (0..1_001).map(|n| json!(format!("v{n}"))).chain([Value::Null]).collect();
    let named = |count: usize| -> serde_json::Map<String, Value> {
        (0..count).map(|n| (format!("n{n}"), json!({"type": "null"}))).collect()
    };
    let deep =
        (0..11).fold(json!({"type": "string"}), |it, _| json!({"type": "array", "items": it}));
    let long: serde_json::Map<String, Value> = (0..10)
        .map(|n| (format!("{n}{}", "x".repeat(12_000)), json!({"type": ["string", "null"]})))
        .collect();
    for (properties, said) in [
        (json!({"a": {"type": ["string", "null"], "enum": values}}), "enum values"),
        (json!(named(5_001)), "names"),
        (json!({"a": {"anyOf": [deep, {"type": "null"}]}}), "levels"),
        (json!(long), "bytes"),
    ] {
        let wide = tool("a.wide", json!({"type": "object", "properties": properties}));
        let exported = export(&[wide], Format::OpenaiResponses, Strict::On);
        assert_eq!(exported.tools[0]["strict"], json!(false));
        assert!(exported.report[0].what.contains(said), "{said}: {:?}", exported.report);
    }
}

#[test]
fn anthropics_bounds_of_a_request_are_kept_and_later_tools_arent_strict() {
    let strict_ones = |tools: &[ToolDescriptor]| {
        let exported = export(tools, Format::Anthropic, Strict::On);
        let strict = exported.tools.as_array().unwrap().iter().map(|it| it.get("strict").is_some());
        let said: Vec<String> = exported.report.into_iter().map(|it| it.what).collect();
        (strict.filter(|it| *it).count(), said.join("\n"))
    };
    let plain: Vec<_> =
        (0..21).map(|n| tool(&format!("a.t{n}"), json!({"type": "object"}))).collect();
    let (count, said) = strict_ones(&plain);
    assert!(count == 20 && said.contains("21 strict tools"), "{said}");
    let optional: Vec<_> = (0..3)
        .map(|n| {
            let ten: serde_json::Map<_, _> =
                (0..10).map(|n| (format!("n{n}"), json!({"type": "string"}))).collect();
            tool(&format!("a.t{n}"), json!({"type": "object", "properties": ten}))
        })
        .collect();
    let (count, said) = strict_ones(&optional);
    assert!(count == 2 && said.contains("30 optional names"), "{said}");
    let union = json!({"type": "object", "properties": {"a": {"type": ["string", "integer"]}}, "required": ["a"]});
    let unions: Vec<_> = (0..17).map(|n| tool(&format!("a.t{n}"), union.clone())).collect();
    let (count, said) = strict_ones(&unions);
    assert!(count == 16 && said.contains("17 unions"), "{said}");
}

#[test]
fn openais_long_descriptions_are_cut_and_many_tools_told() {
    let mut long = search();
    long.description = "ä".repeat(1_025);
    let chat = export(std::slice::from_ref(&long), Format::OpenaiChat, Strict::Off);
    let text = chat.tools[0]["function"]["description"].as_str().unwrap();
    assert_eq!((text.chars().count(), text.ends_with("ä…")), (1_024, true));
    assert!(chat.report[0].what.contains("cut from 1025 to 1024"), "{:?}", chat.report);
    let other = export(&[long], Format::Anthropic, Strict::Off);
    assert_eq!(other.tools[0]["description"].as_str().unwrap().chars().count(), 1_025);
    let many: Vec<_> =
        (0..129).map(|n| tool(&format!("a.t{n}"), json!({"type": "object"}))).collect();
    assert!(export(&many, Format::OpenaiChat, Strict::Off).report[0].what.contains("129 tools"));
    assert!(export(&many[..128], Format::OpenaiChat, Strict::Off).report.is_empty());
}

#[test]
fn t41_a_name_that_isnt_taken_is_another_and_goes_back_to_its_tool() {
    let dotted = ToolDescriptor { wire_name: "files.read".to_owned(), ..search() };
    let same = ToolDescriptor { id: "other.tool".parse().unwrap(), ..dotted.clone() };
    for format in Format::ALL {
        let exported = export(&[dotted.clone(), same.clone()], format, Strict::Off);
        let (name, id) = exported.names.iter().next().unwrap();
        assert!(name.starts_with("files_read_") && exported.tools.to_string().contains(name));
        assert_eq!(exported.names.name(id), Some(name));
        assert_eq!(exported.report[0].kind, FindingKind::Renamed);
        assert_eq!(exported.names.iter().count(), 1);
        let last = exported.report.iter().rfind(|it| it.kind == FindingKind::LeftOut).unwrap();
        assert!(last.what.contains("which `files.find-all` has"), "{last:?}");
    }
}

#[test]
fn the_report_of_one_tool_is_bounded() {
    let many: serde_json::Map<_, _> =
        (0..200).map(|n| (format!("n{n}"), json!({"type": "string", "minLength": 1}))).collect();
    let wide = tool("a.wide", json!({"type": "object", "properties": many}));
    let report = export(&[wide], Format::Gemini, Strict::Off).report;
    assert_eq!(report.len(), CHANGES_MAX + 1);
    assert_eq!(report.last().unwrap().what, "and 150 more changes");
}
