//! Reads CBOR (RFC 8949) into a tree. Tags are passed over; bytes that are no text are not taken.

use super::fields::put;
use serde_json::{Map, Number, Value};

/// How deep a body may nest.
const DEPTH_MAX: usize = 64;

/// Reads a body.
pub(in crate::rest) fn from_cbor(bytes: &[u8]) -> Result<Value, String> {
    let mut reader = Reader { rest: bytes };
    let value = reader.value(DEPTH_MAX)?;
    match reader.rest {
        [] => Ok(value),
        [next, ..] => Err(format!("byte {next:#04x} follows the end")),
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

const CUT: &str = "it ends too early";
const CLOSE: u8 = 0xff;
/// Stands for a length that only the end tells.
const OPEN: u8 = 31;

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(CUT)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    /// Whether what has no stated length ends here.
    fn closes(&mut self) -> bool {
        match self.rest.strip_prefix(&[CLOSE]) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn count(&mut self, code: u8) -> Result<u64, String> {
        let len = match code {
            0..=23 => return Ok(code.into()),
            24 => 1,
            25 => 2,
            26 => 4,
            27 => 8,
            _ => return Err(format!("a length of kind {code} is not known")),
        };
        Ok(self.bytes(len)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        let byte = self.byte()?;
        let (kind, code) = (byte >> 5, byte & 0x1f);
        let inner = || depth.checked_sub(1).ok_or_else(|| format!("it nests deeper than {DEPTH_MAX}"));
        match kind {
            0 => Ok(self.count(code)?.into()),
            1 => {
                let number = i64::try_from(self.count(code)?).map_err(|_| "a number is below -2^63")?;
                Ok((-1 - number).into())
            }
            3 => self.text(code).map(Value::String),
            4 => self.list(code, inner()?),
            5 => self.object(code, inner()?),
            6 => {
                self.count(code)?;
                self.value(inner()?)
            }
            7 => self.simple(code),
            _ => Err("bytes that are no text are not taken".into()),
        }
    }

    fn text(&mut self, code: u8) -> Result<String, String> {
        if code == OPEN {
            let mut text = String::new();
            while !self.closes() {
                match self.byte()? {
                    byte if byte >> 5 == 3 && byte & 0x1f != OPEN => text += self.piece(byte & 0x1f)?,
                    _ => return Err("a text has a part that is none".into()),
                }
            }
            return Ok(text);
        }
        self.piece(code).map(str::to_owned)
    }

    fn piece(&mut self, code: u8) -> Result<&'a str, String> {
        let len = usize::try_from(self.count(code)?).map_err(|_| CUT)?;
        str::from_utf8(self.bytes(len)?).map_err(|error| error.to_string())
    }

    fn list(&mut self, code: u8, depth: usize) -> Result<Value, String> {
        // A length that is stated is not believed before its values have come.
        let mut left = if code == OPEN { None } else { Some(self.count(code)?) };
        let mut values = Vec::new();
        while !self.is_over(&mut left) {
            values.push(self.value(depth)?);
        }
        Ok(Value::Array(values))
    }

    fn object(&mut self, code: u8, depth: usize) -> Result<Value, String> {
        let mut left = if code == OPEN { None } else { Some(self.count(code)?) };
        let mut fields = Map::new();
        while !self.is_over(&mut left) {
            let Value::String(name) = self.value(depth)? else {
                return Err("a field has a name that is no text".into());
            };
            put(&mut fields, name, self.value(depth)?)?;
        }
        Ok(Value::Object(fields))
    }

    /// Whether all values have come; counts one down otherwise.
    fn is_over(&mut self, left: &mut Option<u64>) -> bool {
        match left {
            None => self.closes(),
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
        }
    }

    fn simple(&mut self, code: u8) -> Result<Value, String> {
        let float = match code {
            20 | 21 => return Ok(Value::Bool(code == 21)),
            22 => return Ok(Value::Null),
            // Taken for nothing, it would take a setting away that nobody meant.
            23 => return Err("a value that is not defined is not taken".into()),
            25 => half(u16::try_from(self.count(code)?).unwrap_or_default()),
            26 => f32::from_bits(u32::try_from(self.count(code)?).unwrap_or_default()).into(),
            27 => f64::from_bits(self.count(code)?),
            _ => return Err(format!("a value of kind {code} is not known")),
        };
        Number::from_f64(float).map(Value::Number).ok_or_else(|| format!("{float} is no number in JSON"))
    }
}

/// A number in 16 bits: a sign, five of exponent, ten of fraction.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (fraction + 1024.0) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::super::cbor;
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_again() {
        let tree = json!({"a": [null, true, false, 0, 23, 24, 65_536, u64::MAX, -1, i64::MIN, 1.5], "ä": {"": "x".repeat(300)}});
        assert_eq!(from_cbor(&cbor(&(&tree).into())), Ok(tree));
    }

    #[test]
    fn stated_lengths_parts_tags_and_short_numbers_are_understood() {
        for (bytes, expected) in [
            (&b"\x82\x01\xa1\x61a\xf6"[..], json!([1, {"a": null}])),
            (b"\x7f\x61a\x62bc\xff", json!("abc")),
            (b"\xd9\xd9\xf7\xf9\x3e\x00", json!(1.5)),
            (b"\xfa\xc0\x20\x00\x00", json!(-2.5)),
        ] {
            assert_eq!(from_cbor(bytes), Ok(expected));
        }
    }

    #[test]
    fn whatever_comes_is_a_tree_or_an_error() {
        assert_eq!(from_cbor(&[0x9f; 100_000]), Err("it nests deeper than 64".into()));
        assert_eq!(from_cbor(&[0xd9; 100_001]), Err("it nests deeper than 64".into()));
        for (bytes, expected) in [
            (&b""[..], CUT),
            (b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x01", CUT),
            (b"\x7b\xff\xff\xff\xff\xff\xff\xff\xff", CUT),
            (b"\x41a", "bytes that are no text are not taken"),
            (b"\xa1\x01\x01", "a field has a name that is no text"),
            (b"\xa2\x61a\x01\x61a\x01", "Duplicate field 'a'"),
            (b"\xa1\x61a\xf7", "a value that is not defined is not taken"),
            (b"\xf9\x7c\x00", "inf is no number in JSON"),
            (b"\x01\x01", "byte 0x01 follows the end"),
        ] {
            assert_eq!(from_cbor(bytes), Err(expected.to_owned()));
        }
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                let _ = from_cbor(&[first, second, 0x41, 0x61, 0x80, 0xff]);
            }
        }
    }
}
