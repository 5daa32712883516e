//! Where in a text of JSON a byte stands: the path of fields and indices that leads there.
//!
//! Used only to explain why a message was refused, so that reading those that fit costs nothing. The text is JSON
//! already known to be whole; on any other one the answer may be wrong, but there is one.

use super::error::shortened;
use std::fmt::Write;

/// How much of a field's name, and how many steps from the top, a path shows.
const NAME_MAX: usize = 40;
const STEPS_MAX: usize = 12;

/// Where something stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    /// The fields and indices that lead there, each behind its separator.
    pub(super) path: String,
    /// How many objects and lists are open there.
    pub(super) depth: usize,
    /// The text from the beginning of the value that stands there.
    pub(super) text: &'a str,
}

/// An object or a list that is open.
enum Open<'a> {
    /// An object, and the name of the present field.
    Object(Option<&'a str>),
    /// A list, and the present index.
    List(usize),
}

/// Finds the value that byte `end` belongs to, or that ends before it.
pub(super) fn place(text: &str, end: usize) -> Place<'_> {
    let bytes = text.as_bytes();
    let mut open: Vec<Open<'_>> = Vec::new();
    // Where the present value begins, on each level.
    let mut starts: Vec<usize> = vec![0];
    let mut awaits_name = false;
    let mut at = 0;
    while at < end.min(bytes.len()) {
        let behind = if bytes[at] == b'"' { end_of_string(bytes, at) } else { at + 1 };
        match (bytes[at], open.last_mut()) {
            (b'"', Some(Open::Object(name))) if awaits_name => {
                *name = text.get(at + 1..behind.saturating_sub(1));
                awaits_name = false;
                starts.truncate(open.len());
                starts.push(at);
            }
            (sign @ (b'{' | b'['), _) => {
                awaits_name = sign == b'{';
                open.push(if awaits_name { Open::Object(None) } else { Open::List(0) });
                starts.push(behind);
            }
            (b'}' | b']', _) => {
                open.pop();
                starts.truncate(open.len() + 1);
                awaits_name = false;
            }
            (b',', Some(Open::Object(_))) => awaits_name = true,
            (sign @ (b',' | b':'), Some(inner)) => {
                if let (b',', Open::List(index)) = (sign, inner) {
                    *index += 1;
                }
                starts.truncate(open.len());
                starts.push(behind);
            }
            _ => {}
        }
        at = behind;
    }
    let start = starts.last().copied().unwrap_or(0);
    Place { path: path(&open), depth: open.len(), text: text.get(start..).unwrap_or_default().trim_start() }
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn path(open: &[Open<'_>]) -> String {
    let mut path = String::new();
    for step in open.iter().take(STEPS_MAX) {
        match step {
            Open::Object(Some(name)) => {
                path.push('.');
                path.push_str(&shortened(name, NAME_MAX));
            }
            Open::Object(None) => {}
            Open::List(index) => {
                let _ = write!(path, "[{index}]");
            }
        }
    }
    if open.len() > STEPS_MAX {
        path.push('…');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_path_to_the_value_that_ends_there() {
        let text = r#"{"a": [10, {"b\"c": "x,]", "d": -1.5e3}, []], "e": true}"#;
        let rows = [
            ("10", ".a[0]", "10, {"),
            ("\"x,]\"", ".a[1].b\\\"c", "\"x,]\""),
            ("-1.5e3", ".a[1].d", "-1.5e3}"),
            ("-1.5e3}", ".a[1]", "{\"b"),
            ("[]", ".a[2]", "[]]"),
            ("[]]", ".a", "[10"),
            ("\"e\"", ".e", "\"e\": true"),
            ("\"d\":", ".a[1].d", "-1.5"),
            ("\"a\": [", ".a[0]", "10"),
            ("true", ".e", "true}"),
            ("true}", "", "{\"a"),
        ];
        for (until, path, start) in rows {
            let end = text.find(until).expect("it stands there") + until.len();
            let place = place(text, end);
            assert_eq!(place.path, path, "up to {until}");
            assert!(place.text.starts_with(start), "up to {until}: {}", place.text);
        }
    }

    #[test]
    fn any_text_and_any_byte_have_a_place() {
        for text in ["", "]}", "\"\\", "{\"a", "[[[[", "é{\"é\":é", ",,:"] {
            for end in 0..text.len() + 3 {
                let _ = place(text, end);
            }
        }
        let deep = "[".repeat(1_000);
        let place = place(&deep, 1_000);
        assert_eq!(place.depth, 1_000);
        assert_eq!(place.path, "[0]".repeat(STEPS_MAX) + "…");
    }
}
