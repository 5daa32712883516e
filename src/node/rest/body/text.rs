//! JSON as text: in one line, or spread out as Elasticsearch does it for people.

use super::Json;
use serde_json::Number;
use std::borrow::Cow;
use std::fmt::Write;

/// What most answers fit into.
const ROOM: usize = 512;

/// In one line, without a blank.
pub(in crate::rest) fn compact(json: &Json) -> String {
    let mut out = String::with_capacity(ROOM);
    write(json, &Style { indent: None }, 0, &mut out);
    out
}

/// A line for each value, with blanks on both sides of a colon and a newline at the end.
pub(in crate::rest) fn pretty(json: &Json) -> String {
    let mut out = String::with_capacity(ROOM);
    write(json, &Style { indent: Some(2) }, 0, &mut out);
    out.push('\n');
    out
}

struct Style {
    indent: Option<usize>,
}

impl Style {
    fn line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = self.indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent * depth));
        }
    }

    fn empty(&self, open: char, close: char, out: &mut String) {
        out.push(open);
        out.extend(self.indent.map(|_| ' '));
        out.push(close);
    }

    fn colon(&self, out: &mut String) {
        out.push_str(if self.indent.is_some() { " : " } else { ":" });
    }
}

fn write(json: &Json, style: &Style, depth: usize, out: &mut String) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => write_number(number, out),
        Json::Text(text) => quoted(text, out),
        Json::List(values) if values.is_empty() => style.empty('[', ']', out),
        Json::Object(fields) if fields.is_empty() => style.empty('{', '}', out),
        Json::List(values) => write_list(values, style, depth, out),
        Json::Object(fields) => write_object(fields, style, depth, out),
    }
}

fn write_number(number: &Number, out: &mut String) {
    // Nothing that is written to a text fails.
    let _ = write!(out, "{number}");
}

fn write_list(values: &[Json], style: &Style, depth: usize, out: &mut String) {
    out.push('[');
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        style.line(depth + 1, out);
        write(value, style, depth + 1, out);
    }
    style.line(depth, out);
    out.push(']');
}

fn write_object(fields: &[(Cow<'static, str>, Json)], style: &Style, depth: usize, out: &mut String) {
    out.push('{');
    for (at, (name, value)) in fields.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        style.line(depth + 1, out);
        quoted(name, out);
        style.colon(out);
        write(value, style, depth + 1, out);
    }
    style.line(depth, out);
    out.push('}');
}

/// A text between quotation marks.
fn quoted(text: &str, out: &mut String) {
    out.push('"');
    // Most texts are written as they are; looking at all of one at once is quicker than at byte after byte.
    if !text.bytes().fold(false, |is_odd, byte| is_odd | (byte < 0x20) | (byte == b'"') | (byte == b'\\')) {
        out.push_str(text);
        out.push('"');
        return;
    }
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if (control as u32) < 0x20 => out.push_str(&format!("\\u{:04X}", control as u32)),
            letter => out.push(letter),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn sample() -> Json {
        Json::object([
            ("status", "green".into()),
            ("empty", Json::object([])),
            ("list", [1_u64, 2].into_iter().collect()),
            ("none", Json::List(Vec::new())),
            ("percent", 100.0.into()),
            ("inner", Json::object([("timed_out", false.into()), ("master", Json::Null)])),
        ])
    }

    #[test]
    fn fields_stay_in_their_order_and_a_line_has_no_blanks() {
        let expected = r#"{"status":"green","empty":{},"list":[1,2],"none":[],"percent":100.0,"inner":{"timed_out":false,"master":null}}"#;
        assert_eq!(compact(&sample()), expected);
    }

    #[test]
    fn the_spread_form_is_that_of_elasticsearch() {
        let expected = "{\n  \"status\" : \"green\",\n  \"empty\" : { },\n  \"list\" : [\n    1,\n    2\n  ],\n  \
                        \"none\" : [ ],\n  \"percent\" : 100.0,\n  \"inner\" : {\n    \"timed_out\" : false,\n    \
                        \"master\" : null\n  }\n}\n";
        assert_eq!(pretty(&sample()), expected);
        assert_eq!(pretty(&Json::object([])), "{ }\n");
    }

    #[test]
    fn any_text_comes_back_from_both_forms() {
        let odd: String = (0..0x300_u32).filter_map(char::from_u32).chain(['"', '\\', '\u{2028}', '🦀']).collect();
        for written in [compact(&odd.as_str().into()), pretty(&odd.as_str().into())] {
            assert_eq!(serde_json::from_str::<Value>(&written).ok(), Some(Value::String(odd.clone())));
        }
        assert_eq!(compact(&"\u{1f}\u{7f}é".into()), "\"\\u001F\u{7f}é\"");
    }

    #[test]
    fn what_is_no_number_is_null() {
        assert_eq!(compact(&f64::NAN.into()), "null");
        assert_eq!(compact(&Json::from(Some(f64::INFINITY))), "null");
    }
}
