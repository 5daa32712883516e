//! JSON as Elasticsearch lets it be sent: in any encoding of Unicode, with comments in it and anything behind it.
//!
//! Makes of it the JSON that strict readers take, letter for letter in its place. Reads no values. Mirrors what Jackson is
//! told to take in `JsonXContent`, and its `ByteSourceJsonBootstrapper` (6.8).

use crate::settings::double_text;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::ops::Range;

/// What was sent, without what strict readers refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::rest) struct Plain<'a> {
    /// The first value.
    pub(in crate::rest) text: Cow<'a, str>,
    /// Whether something that is no comment stands behind it.
    pub(in crate::rest) has_more: bool,
}

/// Makes plain what was sent, or tells why it is no text.
pub(in crate::rest) fn plain(bytes: &[u8]) -> Result<Plain<'_>, String> {
    let mut bytes = decoded(bytes)?;
    let end = blank_comments(&mut bytes);
    let has_more = bytes.get(end..).is_some_and(is_more);
    let text = match bytes {
        Cow::Borrowed(bytes) => {
            std::str::from_utf8(&bytes[..end]).map(Cow::Borrowed).map_err(|error| error.to_string())
        }
        Cow::Owned(mut bytes) => {
            bytes.truncate(end);
            String::from_utf8(bytes).map(Cow::Owned).map_err(|error| error.to_string())
        }
    };
    text.map(|text| Plain { text, has_more }).map_err(|why| format!("the body is no text: {why}"))
}

/// What was sent as UTF-8; the others are told by where the first letter has zeros.
fn decoded(bytes: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let wide = |bytes: &[u8], word: fn([u8; 4]) -> u32| {
        let (words, rest) = bytes.as_chunks::<4>();
        let text: Option<String> = words.iter().map(|bytes| char::from_u32(word(*bytes))).collect();
        text.filter(|_| rest.is_empty())
            .map(String::into_bytes)
            .map(Cow::Owned)
            .ok_or("the body is no UTF-32".to_owned())
    };
    let narrow = |bytes: &[u8], word: fn([u8; 2]) -> u16| {
        let (words, rest) = bytes.as_chunks::<2>();
        let text: Result<String, _> = char::decode_utf16(words.iter().map(|bytes| word(*bytes))).collect();
        let text = text.ok().filter(|_| rest.is_empty());
        text.map(String::into_bytes).map(Cow::Owned).ok_or("the body is no UTF-16".to_owned())
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => Ok(Cow::Borrowed(rest)),
        [0xff, 0xfe, 0, 0, rest @ ..] => wide(rest, u32::from_le_bytes),
        [0, 0, 0xfe, 0xff, rest @ ..] => wide(rest, u32::from_be_bytes),
        [_, 0, 0, 0, ..] => wide(bytes, u32::from_le_bytes),
        [0, 0, 0, _, ..] => wide(bytes, u32::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => narrow(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => narrow(rest, u16::from_be_bytes),
        [1..=u8::MAX, 0, ..] => narrow(bytes, u16::from_le_bytes),
        [0, 1..=u8::MAX, ..] => narrow(bytes, u16::from_be_bytes),
        _ => Ok(Cow::Borrowed(bytes)),
    }
}

/// Blanks the comments of the first object or list, and tells where that ends.
fn blank_comments(bytes: &mut Cow<'_, [u8]>) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = behind_text(bytes, at),
            b'/' => match comment(bytes, at) {
                Some(comment) => {
                    at = comment.end;
                    let letters = bytes.to_mut()[comment].iter_mut();
                    letters.filter(|letter| **letter != b'\n').for_each(|letter| *letter = b' ');
                }
                // No reader goes on from here, and each one that is never closed would be looked for to the end.
                None => break,
            },
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' if depth <= 1 => return at + 1,
            b'}' | b']' => (at, depth) = (at + 1, depth - 1),
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The place behind a text whose first quote stands here.
fn behind_text(bytes: &[u8], begin: usize) -> usize {
    let mut is_escaped = false;
    let is_end = |byte: &u8| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    };
    let inner = begin + 1;
    bytes[inner..].iter().position(is_end).map_or(bytes.len(), |length| inner + length + 1)
}

/// The comment that begins here; one that is never closed is none.
fn comment(bytes: &[u8], begin: usize) -> Option<Range<usize>> {
    let inner = begin + 2;
    match bytes.get(begin..inner)? {
        b"//" => {
            let length = bytes[inner..].iter().position(|byte| *byte == b'\n');
            Some(begin..length.map_or(bytes.len(), |length| inner + length))
        }
        b"/*" => bytes[inner..].windows(2).position(|pair| pair == b"*/").map(|length| begin..inner + length + 2),
        _ => None,
    }
}

/// Whether there is anything but blanks and comments.
fn is_more(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii();
    match comment(rest, 0) {
        Some(comment) => rest[comment.end..].iter().any(|byte| !byte.is_ascii_whitespace()),
        None => !rest.is_empty(),
    }
}

/// The same JSON with texts in the place of numbers that no reader keeps as they were meant: Elasticsearch keeps what has
/// no fraction digit by digit, and writes what has one as Java does.
pub(in crate::rest) fn with_numbers_as_texts(json: &str) -> Cow<'_, str> {
    let (mut told, mut done, mut at) = (String::new(), 0, 0);
    while let Some(byte) = json.as_bytes().get(at) {
        match byte {
            b'"' => at = behind_text(json.as_bytes(), at),
            b'-' | b'0'..=b'9' => {
                let begin = at;
                let is_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                at += json.as_bytes()[begin..].iter().take_while(|byte| is_number(byte)).count();
                if let Some(number) = number_as_text(&json[begin..at]) {
                    told.extend([&json[done..begin], "\"", &number, "\""]);
                    done = at;
                }
            }
            _ => at += 1,
        }
    }
    match done {
        0 => Cow::Borrowed(json),
        _ => Cow::Owned(told + &json[done..]),
    }
}

fn number_as_text(number: &str) -> Option<String> {
    let is_json = serde_json::from_str::<IgnoredAny>(number).is_ok();
    let is_whole = !number.contains(['.', 'e', 'E']);
    match () {
        () if !is_json || is_whole && number.parse::<i64>().is_ok_and(|whole| whole != 0) || number == "0" => None,
        () if number == "-0" => Some("0".to_owned()),
        () if is_whole => Some(number.to_owned()),
        () => number.parse().ok().map(double_text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: &[u8]) -> Result<(String, bool), String> {
        plain(bytes).map(|plain| (plain.text.into_owned(), plain.has_more))
    }

    #[test]
    fn what_begins_comments_without_end_is_looked_through_once() {
        let many = format!("{{\"a\": {}", "/*".repeat(1 << 20));
        let told = plain(many.as_bytes()).expect("it is a text");
        assert_eq!((told.text.len(), told.has_more), (many.len(), false), "it is left to the reader to refuse");
    }

    #[test]
    fn comments_are_blanks_and_what_stands_behind_is_cut_off() {
        let cases = [
            ("{}", "{}", false),
            ("// c\n{\"a\":/*\n*/1}", "    \n{\"a\":  \n  1}", false),
            ("{\"a\":\"// \\\" /* \"} // z", "{\"a\":\"// \\\" /* \"}", false),
            ("[[1]]]", "[[1]]", true),
            ("{} /* z", "{}", true),
            ("{}x", "{}", true),
            ("{} /**/ {}", "{}", true),
            ("/* never closed {}", "/* never closed {}", false),
            ("/{}", "/{}", false),
            ("5 // five", "5        ", false),
            ("", "", false),
            ("\"", "\"", false),
            ("/", "/", false),
        ];
        for (sent, text, has_more) in cases {
            assert_eq!(told(sent.as_bytes()), Ok((text.to_owned(), has_more)), "{sent}");
        }
    }

    #[test]
    fn every_encoding_of_unicode_is_read() {
        let text = "{\"a\":\"é🦀\"}";
        let utf16 = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        let utf32 =
            |bytes: fn(u32) -> [u8; 4]| text.chars().flat_map(|letter| bytes(letter.into())).collect::<Vec<u8>>();
        let marked = |mark: &[u8], bytes: Vec<u8>| [mark, &bytes].concat();
        let all = [
            marked(b"\xef\xbb\xbf", text.into()),
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
            utf32(u32::to_le_bytes),
            utf32(u32::to_be_bytes),
            marked(b"\xff\xfe", utf16(u16::to_le_bytes)),
            marked(b"\xfe\xff", utf16(u16::to_be_bytes)),
            marked(b"\xff\xfe\0\0", utf32(u32::to_le_bytes)),
            marked(b"\0\0\xfe\xff", utf32(u32::to_be_bytes)),
        ];
        for bytes in all {
            assert_eq!(told(&bytes), Ok((text.to_owned(), false)), "{bytes:?}");
        }
        for odd in [&b"{\0\0\xd8"[..], b"{\0x", b"{\0\0\0x", b"\0\0\0{\xff\xff\xff\xff", b"{\"\xe9\"}"] {
            assert!(told(odd).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn numbers_are_kept_as_elasticsearch_keeps_them() {
        let cases = [
            ("12345678901234567890123", "\"12345678901234567890123\""),
            ("0.00001", "\"1.0E-5\""),
            ("123456789.123456789", "\"1.2345678912345679E8\""),
            ("-0", "\"0\""),
            ("1e400", "\"Infinity\""),
            ("-1e400", "\"-Infinity\""),
            ("1e3", "\"1000.0\""),
            ("7", "7"),
            ("-7", "-7"),
            ("01", "01"),
            ("1.", "1."),
            ("\"1e3\"", "\"1e3\""),
            ("[1.50,1, 0]", "[\"1.5\",1, 0]"),
        ];
        for (json, expected) in cases {
            assert_eq!(with_numbers_as_texts(json), expected, "{json}");
        }
    }
}
