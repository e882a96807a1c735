//! A descriptor as MCP's definition of a tool: hints only where they are proven.
//!
//! Changes no schema.

use std::sync::Arc;

use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::contract::descriptor::ToolDescriptor;
use crate::contract::effects::Basis;

/// What belljar knows of a tool beside what MCP has a place for, under `_meta`.
pub(super) const META_TOOL: &str = "belljar/tool";

/// The definition.
pub(super) fn definition(tool: &ToolDescriptor) -> Tool {
    let mut made = Tool::new(
        tool.wire_name.clone(),
        tool.description.clone(),
        object(&tool.input_schema).unwrap_or_default(),
    );
    made.title.clone_from(&tool.title);
    made.output_schema = tool.output_schema.as_ref().and_then(object);
    made.annotations = Some(annotations(tool));
    made.meta = Some(meta(tool));
    made
}

fn object(schema: &Value) -> Option<Arc<JsonObject>> {
    schema.as_object().cloned().map(Arc::new)
}

/// MCP's hints. A client can't see how one is known, so what isn't proven is the cautious value;
/// claims stand in `_meta`, as claims.
fn annotations(tool: &ToolDescriptor) -> ToolAnnotations {
    let effects = &tool.effects;
    let read_only = effects.read_only.is_proven();
    let harmless = !effects.destructive.value && effects.destructive.basis == Basis::Proven;
    ToolAnnotations::from_raw(
        tool.title.clone(),
        Some(read_only),
        Some(!(read_only || harmless)),
        Some(read_only || effects.idempotent.is_proven()),
        Some(!effects.closed_world.is_proven()),
    )
}

fn meta(tool: &ToolDescriptor) -> MetaObject {
    let mut meta = MetaObject::new();
    let plugin = json!({
        "name": tool.plugin.name, "version": tool.plugin.version, "digest": tool.plugin.digest,
    });
    let told = json!({
        "id": tool.id.to_string(),
        "plugin": without_null(plugin),
        "isolation": tool.isolation,
        "effects": tool.effects,
    });
    meta.insert(META_TOOL.to_owned(), told);
    meta
}

/// Strict clients refuse `null` for absent (JS-15).
fn without_null(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::descriptor::example;
    use crate::contract::effects::Effect;

    fn hints(change: impl FnOnce(&mut ToolDescriptor)) -> Value {
        let mut tool = example("a.b", Effect::assumed(false));
        tool.effects.destructive = Effect::assumed(true);
        change(&mut tool);
        serde_json::to_value(definition(&tool)).unwrap()
    }

    #[test]
    fn what_is_not_proven_is_the_cautious_hint() {
        let cautious = json!({"readOnlyHint": false, "destructiveHint": true,
                "idempotentHint": false, "openWorldHint": true});
        assert_eq!(hints(|_| {})["annotations"], cautious);
        let claimed = hints(|tool| {
            tool.effects.read_only = Effect::claimed(true);
            tool.effects.destructive = Effect::claimed(false);
            tool.effects.idempotent = Effect::claimed(true);
            tool.effects.closed_world = Effect::claimed(true);
        });
        assert_eq!(claimed["annotations"], cautious, "a claim is a claim");
        let told = &claimed["_meta"][META_TOOL]["effects"]["idempotent"];
        assert_eq!(*told, json!({"value": true, "basis": "claimed"}));
    }

    #[test]
    fn what_is_proven_is_said() {
        let proven = hints(|tool| {
            tool.effects.read_only = Effect::proven(true);
            tool.effects.closed_world = Effect::proven(true);
        });
        let expected = json!({"readOnlyHint": true, "destructiveHint": false,
                "idempotentHint": true, "openWorldHint": false});
        assert_eq!(proven["annotations"], expected);
    }

    #[test]
    fn js15_nothing_absent_is_null_and_js13_schemas_stay_as_they_are() {
        let schema = json!({"type": "object", "$defs": {"n": {"$ref": "#/$defs/n"}},
                "properties": {"far": {"$ref": "https://example.org/x"}}});
        let made = hints(|tool| tool.input_schema = schema.clone());
        assert!(!made.to_string().contains("null"), "{made}");
        assert_eq!(made["inputSchema"], schema);
        assert_eq!(
            (&made["name"], &made["_meta"][META_TOOL]["id"]),
            (&json!("a_b"), &json!("a.b"))
        );
    }
}
