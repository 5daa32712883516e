//! JSON that was sent: a tree in which no object has a field twice.
//!
//! Mirrors `JsonXContent` with strict duplicate detection (6.8).

use super::fields::twice;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Reads it.
pub(in crate::rest) fn from_json(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice::<Tree>(bytes).map(|tree| tree.0)
}

struct Tree(Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Tree)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Tree(element)) = elements.next_element()? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom(twice(&name)));
            }
            let Tree(value) = fields.next_value()?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_object_has_a_field_twice() {
        let read = |text: &str| from_json(text.as_bytes()).map_err(|error| error.to_string());
        let text = r#"{"a":[1,-2,0.5,null,true,"x"],"b":{"a":{}}}"#;
        assert_eq!(read(text), Ok(json!({"a": [1, -2, 0.5, null, true, "x"], "b": {"a": {}}})));
        assert_eq!(read(r#"{"a":1,"a":2}"#), Err("Duplicate field 'a' at line 1 column 10".into()));
        assert!(read("{").is_err());
        assert!(read(&"[".repeat(1_000)).is_err_and(|error| error.contains("recursion limit")));
    }
}
