//! A tree in CBOR (RFC 8949), with objects and lists of no stated length, as Elasticsearch writes them.

use super::Json;
use serde_json::Number;

const UNSIGNED: u8 = 0 << 5;
const NEGATIVE: u8 = 1 << 5;
const TEXT: u8 = 3 << 5;
const LIST_OPEN: u8 = 0x9f;
const OBJECT_OPEN: u8 = 0xbf;
const CLOSE: u8 = 0xff;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
const DOUBLE: u8 = 0xfb;

/// The tree in bytes.
pub(in crate::rest) fn cbor(json: &Json) -> Vec<u8> {
    let mut out = Vec::new();
    write(json, &mut out);
    out
}

fn write(json: &Json, out: &mut Vec<u8>) {
    match json {
        Json::Null => out.push(NULL),
        Json::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
        Json::Number(value) => number(value, out),
        Json::Text(value) => text(value, out),
        Json::List(values) => {
            out.push(LIST_OPEN);
            values.iter().for_each(|value| write(value, out));
            out.push(CLOSE);
        }
        Json::Object(fields) => {
            out.push(OBJECT_OPEN);
            for (name, value) in fields {
                text(name, out);
                write(value, out);
            }
            out.push(CLOSE);
        }
    }
}

fn number(number: &Number, out: &mut Vec<u8>) {
    if let Some(number) = number.as_u64() {
        head(UNSIGNED, number, out);
    } else if let Some(number) = number.as_i64() {
        // The number -1 - n is written as n.
        head(NEGATIVE, number.unsigned_abs() - 1, out);
    } else {
        out.push(DOUBLE);
        out.extend_from_slice(&number.as_f64().unwrap_or(f64::NAN).to_be_bytes());
    }
}

fn text(text: &str, out: &mut Vec<u8>) {
    head(TEXT, text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// A kind and a number in as few bytes as it fits in.
fn head(kind: u8, number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let (code, len) = match number {
        0..24 => return out.push(kind | bytes[7]),
        24..0x100 => (24, 1),
        0x100..0x1_0000 => (25, 2),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 8),
    };
    out.push(kind | code);
    out.extend_from_slice(&bytes[8 - len..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_bytes_that_elasticsearch_sends() {
        let row = Json::object([("id", "ab".into()), ("n", Json::Null)]);
        let rows: Json = [row].into_iter().collect();
        assert_eq!(cbor(&rows), b"\x9f\xbf\x62id\x62ab\x61n\xf6\xff\xff");
        let percent = Json::object([("p", 100.0.into()), ("t", false.into())]);
        assert_eq!(cbor(&percent), b"\xbf\x61p\xfb\x40\x59\0\0\0\0\0\0\x61t\xf4\xff");
    }

    #[test]
    fn numbers_and_lengths_take_as_few_bytes_as_they_can() {
        let cases: [(Json, &[u8]); 8] = [
            (23_u64.into(), b"\x17"),
            (24_u64.into(), b"\x18\x18"),
            (255_u64.into(), b"\x18\xff"),
            (256_u64.into(), b"\x19\x01\0"),
            (65_536_u64.into(), b"\x1a\0\x01\0\0"),
            (u64::MAX.into(), b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff"),
            (Json::Number((-1).into()), b"\x20"),
            (Json::Number(i64::MIN.into()), b"\x3b\x7f\xff\xff\xff\xff\xff\xff\xff"),
        ];
        for (json, expected) in cases {
            assert_eq!(cbor(&json), expected, "{json:?}");
        }
        assert_eq!(cbor(&"x".repeat(24).into())[..2], *b"\x78\x18");
    }
}
