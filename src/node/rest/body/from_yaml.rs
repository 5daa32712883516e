//! A body that was sent as YAML, as the tree that its JSON would be.
//!
//! Words that are not quoted mean what Elasticsearch's parser takes them for: numbers, nothing, and `yes` or `off` besides
//! `true` and `false`. Aliases and keys that are no texts are refused. Mirrors `YamlXContentParser` (6.8).

use super::fields::put;
use crate::settings::double_text;
use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Number, Value};

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
        _ => number(text).unwrap_or_else(|| Value::String(text.into())),
    }
}

/// A number as Java reads it. One that is none in JSON is the text that Java makes of it.
fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // Octal digits are read as decimal ones, and what has others behind a zero as a number with a fraction.
    let is_odd = digits.len() > 1 && digits.starts_with('0') && digits.contains(['8', '9']);
    if is_whole && !is_odd {
        let kept = digits.trim_start_matches('0');
        let sign = if kept.is_empty() || digits == text { "" } else { "-" };
        let whole = format!("{sign}{}", if kept.is_empty() { "0" } else { kept });
        let short = whole.parse::<i64>().map(Value::from).or_else(|_| whole.parse::<u64>().map(Value::from));
        return Some(short.unwrap_or(Value::String(whole)));
    }
    let value = (is_whole || is_fraction(text)).then(|| text.replace('_', "").parse::<f64>().ok())??;
    Some(Number::from_f64(value).map_or_else(|| Value::String(double_text(value)), Value::Number))
}

/// Whether a text is a number with a fraction or an exponent, as YAML writes it: digits with `_` among them, and a dot or an
/// exponent at least.
fn is_fraction(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let has_digit = mantissa.bytes().any(|byte| byte.is_ascii_digit());
    let is_power = |text: &str| {
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    has_digit
        && !whole.starts_with('_')
        && (fraction.is_some() || exponent.is_some())
        && are_digits(whole)
        && fraction.is_none_or(are_digits)
        && exponent.is_none_or(is_power)
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
    fn numbers_are_those_that_java_reads() {
        let texts = ["0x10", "0b1", "+5", "1_000", "1_", "+", "1.5.2", "0o7", "1:30", ".", "._", "_1.5", "1e", "e5"];
        for text in texts {
            assert_eq!(from_yaml(&format!("[{text}]")), Ok(json!([text])));
        }
        let wholes = [("010", 10), ("00", 0), ("-010", -10), ("-7", -7), ("-0", 0)];
        for (text, number) in wholes {
            assert_eq!(from_yaml(text), Ok(json!(number)), "{text}");
        }
        let fractions = [
            ("1.", 1.0),
            (".5", 0.5),
            ("-.5", -0.5),
            ("+1.5", 1.5),
            ("1e5", 1e5),
            ("1.e5", 1e5),
            ("1_0.5", 10.5),
            ("008", 8.0),
            ("1.5e+3", 1.5e3),
            ("1e-400", 0.0),
        ];
        for (text, number) in fractions {
            assert_eq!(from_yaml(text), Ok(json!(number)), "{text}");
        }
        for (text, kept) in [("1e400", "Infinity"), ("12345678901234567890123", "12345678901234567890123")] {
            assert_eq!(from_yaml(text), Ok(json!(kept)), "{text}");
        }
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
