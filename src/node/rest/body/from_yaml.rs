//! A body that was sent as YAML, as the tree that its JSON would be.
//!
//! Words that are not quoted mean what Elasticsearch's parser takes them for: numbers, nothing, and `yes` or `off` besides
//! `true` and `false`. Aliases and keys that are no texts are refused. Mirrors `YamlXContentParser` (6.8).

use super::fields::put;
use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

/// How deep a body may nest.
const DEPTH_MAX: usize = 64;

/// Reads the first document of a text; an empty one holds nothing.
pub(in crate::rest) fn from_yaml(text: &str) -> Result<Value, String> {
    let mut reader = Reader(Parser::new_from_str(text));
    loop {
        match reader.next()? {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(Value::Null),
            event @ (Event::Alias(_)
            | Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::SequenceEnd
            | Event::MappingStart(..)
            | Event::MappingEnd) => return reader.value(event, DEPTH_MAX),
        }
    }
}

struct Reader<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.0.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(error.to_string()),
            None => Ok(Event::StreamEnd),
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, String> {
        if depth == 0 {
            return Err(format!("it nests more than {DEPTH_MAX} levels deep"));
        }
        match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) => Ok(plain(&text)),
            Event::Scalar(text, ..) => Ok(Value::String(text.into_owned())),
            Event::SequenceStart(..) => self.list(depth - 1),
            Event::MappingStart(..) => self.map(depth - 1),
            Event::Alias(_) => Err("it holds an alias, allowed are values".into()),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => Err("it ends where a value should stand".into()),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        let mut values = Vec::new();
        loop {
            let event = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Value::Array(values));
            }
            values.push(self.value(event, depth)?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, String> {
        let mut fields = Map::new();
        loop {
            let event = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Value::Object(fields));
            }
            let Event::Scalar(name, ..) = event else {
                return Err("it has a key that is no text".into());
            };
            let event = self.next()?;
            let value = self.value(event, depth)?;
            put(&mut fields, name.into_owned(), value)?;
        }
    }
}

/// What a text without quotes means.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Value::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Value::Bool(false),
        _ => serde_json::from_str(text).map_or_else(|_| Value::String(text.into()), Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_yaml_text_is_the_tree_that_its_json_would_be() {
        let text = "---\na:\n  b.c: 3\n  d: yes\n  e: [x, '3', 1.50, 0x10]\n  f: ~\n  g:\nh: {}\n";
        let tree = json!({"a": {"b.c": 3, "d": true, "e": ["x", "3", 1.5, "0x10"], "f": null, "g": null}, "h": {}});
        assert_eq!(from_yaml(text), Ok(tree));
        assert_eq!(from_yaml(r#"{"transient":{"a":"7"}}"#), Ok(json!({"transient": {"a": "7"}})), "JSON is YAML");
        assert_eq!(from_yaml("2001-01-01"), Ok(json!("2001-01-01")));
        assert_eq!(from_yaml(""), Ok(Value::Null));
    }

    #[test]
    fn what_is_no_yaml_or_too_much_of_it_is_refused() {
        for text in ["a: [", "[1]: x", "a: &x 1\nb: *x", "a: b: c"] {
            assert!(from_yaml(text).is_err(), "{text}");
        }
        for text in ["a: 1\nb: 2\na: 3", "{a: 1, \"a\": 3}"] {
            assert_eq!(from_yaml(text), Err("Duplicate field 'a'".into()), "{text}");
        }
        let deep = format!("{}1{}", "[".repeat(DEPTH_MAX + 1), "]".repeat(DEPTH_MAX + 1));
        assert_eq!(from_yaml(&deep), Err("it nests more than 64 levels deep".into()));
    }
}
