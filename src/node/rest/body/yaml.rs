//! A tree as a YAML document.
//!
//! Texts always stand between quotation marks, so that none is taken for a number or a word of YAML. Long ones are not
//! broken into lines, as Elasticsearch does it.

use super::Json;
use std::fmt::Write;

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

/// Writes a text between quotation marks. What YAML does not take as it is, stands for itself as SnakeYAML writes it.
fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        if let Some(sign) = sign_of(letter) {
            out.extend(['\\', sign]);
            continue;
        }
        // Writing to a text cannot fail.
        let _ = match letter {
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => write!(out, "\\x{:02x}", u32::from(letter)),
            '\u{fffe}' | '\u{ffff}' => write!(out, "\\u{:04x}", u32::from(letter)),
            '\u{10000}'.. => write!(out, "\\U{:08x}", u32::from(letter)),
            _ => out.write_char(letter),
        };
    }
    out.push('"');
}

/// What stands behind a backslash for a letter that has a sign of its own.
fn sign_of(letter: char) -> Option<char> {
    match letter {
        '"' | '\\' => Some(letter),
        '\0' => Some('0'),
        '\u{7}' => Some('a'),
        '\u{8}' => Some('b'),
        '\t' => Some('t'),
        '\n' => Some('n'),
        '\u{b}' => Some('v'),
        '\u{c}' => Some('f'),
        '\r' => Some('r'),
        '\u{1b}' => Some('e'),
        '\u{85}' => Some('N'),
        '\u{a0}' => Some('_'),
        '\u{2028}' => Some('L'),
        '\u{2029}' => Some('P'),
        _ => None,
    }
}

fn line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// A name stands there as it is where YAML's own signs allow it, though it may look like a number or a word of YAML: between
/// single quotes where they do not, and as a text is written where it has letters that these do not hold.
///
/// Mirrors what `Emitter` of SnakeYAML does with plain scalars.
fn key(name: &str, out: &mut String) {
    let is_special =
        |c: char| !matches!(c, ' '..='~' | '\u{a0}'..='\u{ffff}') || sign_of(c).is_some_and(|_| !c.is_ascii());
    if name.chars().any(|c| is_special(c) || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')) {
        quoted(name, out);
    } else if has_signs(name) {
        out.extend(["'", &name.replace('\'', "''"), "'"]);
    } else {
        out.push_str(name);
    }
}

/// Whether a name is none without quotes.
fn has_signs(name: &str) -> bool {
    let is_blank_behind = |at: usize| name[at..].chars().nth(1).is_none_or(|next| next == ' ');
    let begins = name.starts_with(|c| "#,[]{}&*!|>'\"%@`".contains(c))
        || name.starts_with(['?', '-']) && is_blank_behind(0)
        || ["---", "..."].iter().any(|mark| name.starts_with(mark));
    let has_colon = name.match_indices(':').any(|(at, _)| is_blank_behind(at));
    name.is_empty() || name.starts_with(' ') || name.ends_with(' ') || begins || has_colon || name.contains(" #")
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
                        type: \"x\"\nstatus: 400\nblocks:\n  2:\n    levels:\n    - \"write\"\nnone: []\nempty: {}\n";
        assert_eq!(yaml(&json), expected);
        assert_eq!(yaml(&Json::object([])), "--- {}\n");
        let rows: Json =
            [Json::object([("id", "a".into()), ("n", "b".into())]), Json::object([])].into_iter().collect();
        assert_eq!(yaml(&rows), "---\n- id: \"a\"\n  n: \"b\"\n- {}\n");
    }

    #[test]
    fn names_are_quoted_where_the_original_quotes_them() {
        let plain =
            ["5abc", "yes", "n", "0x", "1e5", "5", "-5", "null", "2001-01-01", "a b", "a#b", "a:b", "--", "ä", "a'b"];
        let single = [("-", "'-'"), ("---", "'---'"), ("", "''"), ("'a", "'''a'"), ("a: b", "'a: b'"), ("a:", "'a:'")];
        let double = [("a\tb", r#""a\tb""#), ("😀", r#""\U0001f600""#), ("a\u{2028}", r#""a\L""#)];
        let same = plain.map(|name| (name, name));
        for (name, expected) in same.into_iter().chain(single).chain(double) {
            assert_eq!(yaml(&Json::map([(name, Json::Null)])), format!("---\n{expected}: null\n"));
        }
    }

    #[test]
    fn letters_are_written_as_the_original_writes_them() {
        let text = "x\u{1}\u{7}\u{8}\u{b}\u{c}\u{1b}\u{7f}\u{80}\u{85}\u{9c}\u{a0}\u{a1}\u{ad}\u{2028}\u{2029}\u{feff}\u{fffd}\u{fffe}ü€\u{1f600}\"\\/'\t\n\r\0 ~";
        let expected = "--- \"x\\x01\\a\\b\\v\\f\\e\\x7f\\x80\\N\\x9c\\_\u{a1}\u{ad}\\L\\P\u{feff}\u{fffd}\\ufffeü€\\U0001f600\\\"\\\\/'\\t\\n\\r\\0 ~\"\n";
        assert_eq!(yaml(&Json::from(text)), expected);
    }

    #[test]
    fn lists_in_lists_and_odd_names_are_read_back_as_they_are() {
        let odd: String =
            (0..0x250_u32).chain(0x2020..0x2030).chain([0xfffe, 0x1f600]).filter_map(char::from_u32).collect();
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
            let Event::Scalar(text, ScalarStyle::DoubleQuoted | ScalarStyle::SingleQuoted | ScalarStyle::Plain, ..) =
                event
            else {
                return None;
            };
            Some(text.to_string())
        };
        let texts: Vec<String> =
            events.iter().filter_map(|(event, _)| text(event)).filter(|text| text != "null").collect();
        assert_eq!(texts, [odd.as_str(), "a", odd.as_str(), "yes", "a", odd.as_str(), "-a: b"], "{document}");
    }
}
