//! A tree as a YAML document.
//!
//! Texts always stand between quotation marks, so that none is taken for a number or a word of YAML. Long ones are not
//! broken into lines, as Elasticsearch does it.

use super::Json;
use super::text::quoted;

/// The tree as a document of its own, with a newline at its end.
pub(in crate::rest) fn yaml(json: &Json) -> String {
    let mut out = "---".to_owned();
    block(json, 0, &mut out);
    out.push('\n');
    out
}

/// Writes a value behind what leads to it: on the same line, or on lines of its own.
fn block(json: &Json, depth: usize, out: &mut String) {
    match json {
        Json::Null => out.push_str(" null"),
        Json::Bool(value) => out.push_str(if *value { " true" } else { " false" }),
        Json::Number(number) => out.push_str(&format!(" {number}")),
        Json::Text(text) => {
            out.push(' ');
            quoted(text, out);
        }
        Json::List(values) if values.is_empty() => out.push_str(" []"),
        Json::Object(fields) if fields.is_empty() => out.push_str(" {}"),
        Json::List(values) => {
            // A list stands as far to the left as the name that it belongs to.
            let depth = depth.saturating_sub(1);
            for value in values {
                line(depth, out);
                out.push('-');
                item(value, depth + 1, out);
            }
        }
        Json::Object(fields) => {
            for (name, value) in fields {
                line(depth, out);
                entry(name, value, depth, out);
            }
        }
    }
}

/// Writes an element behind its dash; the first field of an object stands on the same line.
fn item(value: &Json, depth: usize, out: &mut String) {
    let Json::Object(fields) = value else {
        return block(value, depth + 1, out);
    };
    if fields.is_empty() {
        return block(value, depth, out);
    }
    for (at, (name, value)) in fields.iter().enumerate() {
        if at == 0 {
            out.push(' ');
        } else {
            line(depth, out);
        }
        entry(name, value, depth, out);
    }
}

fn entry(name: &str, value: &Json, depth: usize, out: &mut String) {
    key(name, out);
    out.push(':');
    block(value, depth + 1, out);
}

fn line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// A name that YAML might take for something else stands between quotation marks.
fn key(name: &str, out: &mut String) {
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let is_taken = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if is_word && !is_taken.contains(&name.to_ascii_lowercase().as_str()) {
        out.push_str(name);
    } else {
        quoted(name, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saphyr_parser::{Event, Parser, ScalarStyle};

    #[test]
    fn a_document_looks_as_elasticsearch_writes_it() {
        let cause = Json::object([("type", "x".into()), ("reason", Json::Null)]);
        let json = Json::object([
            (
                "error",
                Json::object([("root_cause", [cause.clone(), cause].into_iter().collect()), ("type", "x".into())]),
            ),
            ("status", 400_u64.into()),
            ("blocks", Json::map([("2", Json::object([("levels", ["write"].into_iter().collect())]))])),
            ("none", Json::List(Vec::new())),
            ("empty", Json::object([])),
        ]);
        let expected = "---\nerror:\n  root_cause:\n  - type: \"x\"\n    reason: null\n  - type: \"x\"\n    reason: null\n  \
                        type: \"x\"\nstatus: 400\nblocks:\n  \"2\":\n    levels:\n    - \"write\"\nnone: []\nempty: {}\n";
        assert_eq!(yaml(&json), expected);
        assert_eq!(yaml(&Json::object([])), "--- {}\n");
        let rows: Json =
            [Json::object([("id", "a".into()), ("n", "b".into())]), Json::object([])].into_iter().collect();
        assert_eq!(yaml(&rows), "---\n- id: \"a\"\n  \"n\": \"b\"\n- {}\n");
    }

    #[test]
    fn lists_in_lists_and_odd_names_are_read_back_as_they_are() {
        let odd: String = (1..0x250_u32).filter_map(char::from_u32).collect();
        let inner: Json =
            [Json::Null, [Json::from("a"), Json::from(odd.as_str())].into_iter().collect()].into_iter().collect();
        let json =
            Json::map([(odd.as_str(), inner.clone()), ("yes", [inner].into_iter().collect()), ("-a: b", Json::Null)]);
        let document = yaml(&json);
        let events: Result<Vec<_>, _> = Parser::new_from_str(&document).collect();
        let events = events.unwrap_or_else(|error| panic!("{error}\n{document}"));
        let count = |is_such: fn(&Event<'_>) -> bool| events.iter().filter(|(event, _)| is_such(event)).count();
        let opened = count(|event| matches!(event, Event::SequenceStart(..) | Event::MappingStart(..)));
        assert_eq!(opened, count(|event| matches!(event, Event::SequenceEnd | Event::MappingEnd)));
        let text = |event: &Event<'_>| {
            let Event::Scalar(text, ScalarStyle::DoubleQuoted, ..) = event else { return None };
            Some(text.to_string())
        };
        let texts: Vec<String> = events.iter().filter_map(|(event, _)| text(event)).collect();
        assert_eq!(texts, [odd.as_str(), "a", odd.as_str(), "yes", "a", odd.as_str(), "-a: b"], "{document}");
    }
}
