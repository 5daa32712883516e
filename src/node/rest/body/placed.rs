//! JSON that was sent, with the place of each of its parts, for messages that name the place of a mistake.
//!
//! Mirrors `XContentLocation` (6.8).

use serde_json::Value;
use std::fmt;

/// A line and a column, both from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rest) struct Place {
    pub(in crate::rest) line: usize,
    pub(in crate::rest) column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A value, where it begins, and where its last letter stands.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::rest) struct Placed {
    pub(in crate::rest) begin: Place,
    pub(in crate::rest) end: Place,
    pub(in crate::rest) part: Part,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::rest) enum Part {
    /// Nothing, a flag, a number or a text.
    Leaf(Value),
    /// Values in order.
    List(Vec<Placed>),
    /// Named values in order.
    Object(Vec<Field>),
}

/// A named value, and where its name begins.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::rest) struct Field {
    pub(in crate::rest) place: Place,
    pub(in crate::rest) name: String,
    pub(in crate::rest) value: Placed,
}

impl Placed {
    /// Reads a text that is known to be JSON.
    pub(in crate::rest) fn read(text: &str) -> Placed {
        Reader { text, at: 0, line: 1, line_begins: 0 }.value()
    }

    /// What begins with it, as Elasticsearch calls it.
    pub(in crate::rest) fn token(&self) -> &'static str {
        match &self.part {
            Part::Leaf(Value::Null) => "VALUE_NULL",
            Part::Leaf(Value::Bool(_)) => "VALUE_BOOLEAN",
            Part::Leaf(Value::Number(_)) => "VALUE_NUMBER",
            Part::Leaf(Value::String(_) | Value::Array(_) | Value::Object(_)) => "VALUE_STRING",
            Part::List(_) => "START_ARRAY",
            Part::Object(_) => "START_OBJECT",
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    line_begins: usize,
}

impl Reader<'_> {
    /// The next letter that is not blank; at the end of the text one that closes all.
    fn next(&mut self) -> u8 {
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b'\n' => (self.line, self.line_begins) = (self.line + 1, self.at + 1),
                b' ' | b'\t' | b'\r' => {}
                other => return *other,
            }
            self.at += 1;
        }
        b'}'
    }

    fn place(&self) -> Place {
        Place { line: self.line, column: self.at + 1 - self.line_begins }
    }

    fn value(&mut self) -> Placed {
        let first = self.next();
        let begin = self.place();
        let part = match first {
            b'{' => self.object(),
            b'[' => self.list(),
            _ => Part::Leaf(self.leaf()),
        };
        let end = Place { column: self.place().column.saturating_sub(1), ..self.place() };
        Placed { begin, end, part }
    }

    fn object(&mut self) -> Part {
        let mut fields = Vec::new();
        self.at += 1;
        loop {
            match self.next() {
                b'}' => break,
                b',' => self.at += 1,
                _ => {
                    let place = self.place();
                    let name = self.leaf().as_str().unwrap_or_default().to_owned();
                    self.next();
                    self.at += ":".len();
                    fields.push(Field { place, name, value: self.value() });
                }
            }
        }
        self.at += 1;
        Part::Object(fields)
    }

    fn list(&mut self) -> Part {
        let mut values = Vec::new();
        self.at += 1;
        loop {
            match self.next() {
                b']' | b'}' => break,
                b',' => self.at += 1,
                _ => values.push(self.value()),
            }
        }
        self.at += 1;
        Part::List(values)
    }

    fn leaf(&mut self) -> Value {
        let begin = self.at.min(self.text.len());
        let rest = self.text.as_bytes().get(begin..).unwrap_or_default();
        let length = match rest {
            [b'"', inner @ ..] => closing_quote(inner) + "\"\"".len(),
            _ => rest.iter().position(|byte| b",]} \t\r\n".contains(byte)).unwrap_or(rest.len()),
        };
        self.at = (begin + length).min(self.text.len());
        serde_json::from_str(&self.text[begin..self.at]).unwrap_or_default()
    }
}

/// Where a text ends whose first quote was passed.
fn closing_quote(text: &[u8]) -> usize {
    let mut is_escaped = false;
    let is_end = |byte: &u8| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    };
    text.iter().position(is_end).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_knows_its_place() {
        let text = "{\"a\\\"b\": [1, -2.5e3 ,null],\n  \"c\":{\"d\":\"}\"} , \"e\":true}";
        let Placed { begin, end, part } = Placed::read(text);
        assert_eq!((begin.to_string(), end.to_string()), ("1:1".into(), "2:27".into()));
        let Part::Object(fields) = part else { panic!("it is an object") };
        let told: Vec<String> = fields
            .iter()
            .map(|Field { place, name, value }| {
                format!("{place} {name} {}-{} {}", value.begin, value.end, value.token())
            })
            .collect();
        let expected =
            ["1:2 a\"b 1:10-1:26 START_ARRAY", "2:3 c 2:7-2:15 START_OBJECT", "2:19 e 2:23-2:26 VALUE_BOOLEAN"];
        assert_eq!(told, expected);
        let Part::List(values) = &fields[0].value.part else { panic!("it is a list") };
        let tokens: Vec<&str> = values.iter().map(Placed::token).collect();
        assert_eq!(tokens, ["VALUE_NUMBER", "VALUE_NUMBER", "VALUE_NULL"]);
    }

    #[test]
    fn a_text_that_ends_early_ends() {
        for text in ["", "{", "[", "{\"a", "{\"a\":", "[1,", "{\"a\":[{", "[}", "é", "\"\\"] {
            Placed::read(text);
        }
    }
}
