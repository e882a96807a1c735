//! How large a schema may be before anybody walks it. Must not recurse.

use serde_json::Value;

use super::Unfit;

/// Most values in a schema: what a model has room for is a hundredth of it (T45; the OpenAI Agents
/// SDK stops at 100,000).
const NODES_MAX: usize = 20_000;
/// Most values inside each other (that SDK stops at 100).
const DEPTH_MAX: usize = 64;

/// Refuses a schema that is larger than any tool needs.
pub(super) fn hold(schema: &Value) -> Result<(), Unfit> {
    let (mut open, mut nodes) = (vec![(schema, 1)], 0);
    while let Some((value, depth)) = open.pop() {
        nodes += 1;
        if nodes > NODES_MAX {
            return Err(Unfit::root(format!("has more than {NODES_MAX} values")));
        }
        if depth > DEPTH_MAX {
            return Err(Unfit::root(format!("is nested deeper than {DEPTH_MAX} levels")));
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|it| (it, depth + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|it| (it, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn t45_a_schema_with_too_many_values_or_levels_is_refused() {
        assert!(hold(&json!(vec![1; NODES_MAX - 1])).is_ok());
        assert!(hold(&json!(vec![1; NODES_MAX])).unwrap_err().why.contains("20000"));
        assert!(hold(&nested(DEPTH_MAX)).is_ok());
        assert!(hold(&nested(DEPTH_MAX + 1)).unwrap_err().why.contains("64"));
    }
}
