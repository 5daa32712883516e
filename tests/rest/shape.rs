//! What an answer looks like when its values do not matter: names in their order, and types.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// What stands in these depends on how a node was started and what it was asked before.
const FREE: [&str; 2] = ["settings", "rest_actions"];

/// The same as `scripts/record-original` writes it: sorted, so that the order in which fields come does not matter.
pub(crate) fn sorted_shape(value: &Value) -> String {
    let set = |kinds: BTreeSet<String>, between: &str| kinds.into_iter().collect::<Vec<_>>().join(between);
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "boolean".into(),
        Value::Number(number) if number.is_f64() => "float".into(),
        Value::Number(_) => "integer".into(),
        Value::String(_) => "string".into(),
        Value::Array(values) => format!("[{}]", set(values.iter().map(sorted_shape).collect(), "|")),
        Value::Object(fields) => {
            let inner =
                |name: &str, inner: &Value| if FREE.contains(&name) { "{any}".into() } else { sorted_shape(inner) };
            let field = |(name, value): (&String, &Value)| format!("{}:{}", known(name), inner(name, value));
            format!("{{{}}}", set(fields.iter().map(field).collect(), ","))
        }
    }
}

/// Ids have 22 letters, and so have some names of fields; those have no capitals and a line between their words.
fn known(name: &str) -> &str {
    let node = name.split(':').next().unwrap_or(name);
    let is_field = node.contains('_') && node.to_lowercase() == node;
    match node.len() == ID_LENGTH && !node.contains('.') && !is_field {
        true if node.len() < name.len() => "TASK",
        true => "ID",
        false => name,
    }
}

/// How long an id is, of a node or a cluster.
const ID_LENGTH: usize = 22;

/// The shape of a JSON text.
pub(crate) fn shape(text: &str) -> String {
    let shape: Shape = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    shape.0
}

struct Shape(String);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

fn named<E: Error>(name: &str) -> Result<Shape, E> {
    Ok(Shape(name.into()))
}

/// Each kind once, in the order of arrival.
fn push(kinds: &mut Vec<String>, kind: String) {
    if !kinds.contains(&kind) {
        kinds.push(kind);
    }
}

impl<'de> Visitor<'de> for Reader {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Shape, E> {
        named("null")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Shape, E> {
        named("boolean")
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Shape, E> {
        named("integer")
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Shape, E> {
        named("integer")
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Shape, E> {
        named("float")
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Shape, E> {
        named("string")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Shape, A::Error> {
        let mut kinds = Vec::new();
        while let Some(Shape(kind)) = values.next_element()? {
            push(&mut kinds, kind);
        }
        Ok(Shape(format!("[{}]", kinds.join("|"))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Shape, A::Error> {
        let mut kinds = Vec::new();
        while let Some((name, Shape(kind))) = fields.next_entry::<String, Shape>()? {
            let name = if name.len() == ID_LENGTH && !name.contains('.') { "ID" } else { &name };
            push(&mut kinds, format!("{name}:{kind}"));
        }
        Ok(Shape(format!("{{{}}}", kinds.join(","))))
    }
}

#[test]
fn a_shape_keeps_names_and_order_and_forgets_values() {
    let text = r#"{"b":1,"a":[{"x":1.0},{"x":2.5},null],"0123456789012345678901":{"y":"z"},"e":{},"n":[],"t":true}"#;
    assert_eq!(shape(text), "{b:integer,a:[{x:float}|null],ID:{y:string},e:{},n:[],t:boolean}");
}
