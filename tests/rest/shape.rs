//! What an answer looks like when its values do not matter: names in their order, and types.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

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
