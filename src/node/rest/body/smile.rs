//! A tree in SMILE, as Jackson writes it: names that were written before are referred to by their numbers.
//!
//! The format is described at <https://github.com/FasterXML/smile-format-specification>. Reading stands in `from_smile`.

use super::Json;
use serde_json::Number;
use std::collections::BTreeMap;

/// What every text begins with: a smile, and that names are shared and bytes raw.
const HEAD: &[u8] = b":)\n\x05";

const EMPTY: u8 = 0x20;
const NULL: u8 = 0x21;
const FALSE: u8 = 0x22;
const TRUE: u8 = 0x23;
const INT: u8 = 0x24;
const LONG: u8 = 0x25;
const BIG: u8 = 0x26;
const DOUBLE: u8 = 0x29;
const SMALL: u8 = 0xc0;
const LIST_OPEN: u8 = 0xf8;
const LIST_CLOSE: u8 = 0xf9;
const OBJECT_OPEN: u8 = 0xfa;
const OBJECT_CLOSE: u8 = 0xfb;
const TEXT_END: u8 = 0xfc;

/// How many names are remembered; then all are forgotten.
pub(super) const NAMES_MAX: usize = 1024;
/// How many of them are referred to in one byte.
const NEAR_MAX: usize = 64;
/// Longer texts say where they end, and not how long they are; names of so many bytes beyond ASCII are not shared.
const SHORT_MAX: usize = 64;
const SHORT_UNICODE_NAME_MAX: usize = 56;

/// The tree in bytes.
pub(in crate::rest) fn smile(json: &Json) -> Vec<u8> {
    let mut writer = Writer { out: HEAD.to_vec(), names: BTreeMap::new() };
    writer.value(json);
    writer.out
}

struct Writer<'a> {
    out: Vec<u8>,
    names: BTreeMap<&'a str, usize>,
}

impl<'a> Writer<'a> {
    fn value(&mut self, json: &'a Json) {
        match json {
            Json::Null => self.out.push(NULL),
            Json::Bool(value) => self.out.push(if *value { TRUE } else { FALSE }),
            Json::Number(value) => self.number(value),
            Json::Text(value) => self.text(value),
            Json::List(values) => {
                self.out.push(LIST_OPEN);
                values.iter().for_each(|value| self.value(value));
                self.out.push(LIST_CLOSE);
            }
            Json::Object(fields) => {
                self.out.push(OBJECT_OPEN);
                for (name, value) in fields {
                    self.name(name);
                    self.value(value);
                }
                self.out.push(OBJECT_CLOSE);
            }
        }
    }

    fn number(&mut self, number: &Number) {
        if let Some(number) = number.as_i64() {
            let folded = (number.unsigned_abs() << 1).wrapping_sub(u64::from(number < 0));
            if folded < 32 {
                self.out.push(SMALL | folded.to_le_bytes()[0]);
            } else {
                self.out.push(if i32::try_from(number).is_ok() { INT } else { LONG });
                self.count(folded);
            }
        } else if let Some(number) = number.as_u64() {
            // It has the highest bit set, so that the sign takes a byte more.
            self.out.push(BIG);
            self.count(9);
            self.sevens(u128::from(number), 72);
        } else {
            self.out.push(DOUBLE);
            self.sevens(number.as_f64().unwrap_or(f64::NAN).to_bits().into(), 64);
        }
    }

    /// A number in groups of seven bits, the last one of six with the highest bit set.
    fn count(&mut self, number: u64) {
        let low = |bits: u64| bits.to_le_bytes()[0];
        let mut groups = vec![0x80 | low(number & 0x3f)];
        let mut rest = number >> 6;
        while rest > 0 {
            groups.push(low(rest & 0x7f));
            rest >>= 7;
        }
        self.out.extend(groups.iter().rev());
    }

    /// So many bits in groups of seven; of bytes the last group keeps what is left, of numbers the first one.
    fn sevens(&mut self, bits: u128, count: u32) {
        let is_bytes = count > 64;
        let groups = count.div_ceil(7);
        let spare = groups * 7 - count;
        let low = |bits: u128| bits.to_le_bytes()[0] & 0x7f;
        if !is_bytes {
            return self.out.extend((0..groups).rev().map(|group| low(bits >> (group * 7))));
        }
        let whole = (1..groups).rev().map(|group| low(bits >> (group * 7 - spare)));
        self.out.extend(whole);
        self.out.push(low(bits) & (0x7f >> spare));
    }

    fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let len = bytes.len();
        let code = match (text.is_ascii(), len) {
            (_, 0) => return self.out.push(EMPTY),
            (true, 1..=32) => 0x40 + len - 1,
            (true, 33..=SHORT_MAX) => 0x60 + len - 33,
            (false, 2..=33) => 0x80 + len - 2,
            (false, 34..=SHORT_MAX) => 0xa0 + len - 34,
            (is_ascii, _) => {
                self.out.push(if is_ascii { 0xe0 } else { 0xe4 });
                self.out.extend_from_slice(bytes);
                return self.out.push(TEXT_END);
            }
        };
        self.out.push(code.to_le_bytes()[0]);
        self.out.extend_from_slice(bytes);
    }

    fn name(&mut self, name: &'a str) {
        if let Some(number) = self.names.get(name).copied().filter(|number| number % 256 < 0xfe) {
            let [low, high, ..] = number.to_le_bytes();
            return match number < NEAR_MAX {
                true => self.out.push(0x40 | low),
                false => self.out.extend([0x30 | high, low]),
            };
        }
        let bytes = name.as_bytes();
        let code = match (name.is_ascii(), bytes.len()) {
            (_, 0) => return self.out.push(EMPTY),
            (true, len @ 1..=SHORT_MAX) => 0x80 + len - 1,
            (false, len @ 2..=SHORT_UNICODE_NAME_MAX) => 0xc0 + len - 2,
            (_, _) => {
                self.out.push(0x34);
                self.out.extend_from_slice(bytes);
                return self.out.push(TEXT_END);
            }
        };
        if self.names.len() == NAMES_MAX {
            self.names.clear();
        }
        // Whoever reads counts names in the order in which they come in full.
        let number = self.names.len();
        self.names.insert(name, number);
        self.out.push(code.to_le_bytes()[0]);
        self.out.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::from_smile;
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn an_answer_has_the_bytes_that_jackson_writes() {
        let tree = Json::object([("status", "green".into()), ("n", 3_u64.into()), ("p", 100.0.into())]);
        assert_eq!(
            smile(&tree),
            b":)\n\x05\xfa\x85status\x44green\x80n\xc6\x80p\x29\x00\x40\x2c\x40\x00\x00\x00\x00\x00\x00\xfb"
        );
        let row = || Json::object([("id", "ab".into())]);
        assert_eq!(
            smile(&[row(), row()].into_iter().collect()),
            b":)\n\x05\xf8\xfa\x81id\x41ab\xfb\xfa\x40\x41ab\xfb\xf9"
        );
    }

    #[test]
    fn what_is_written_is_read_again() {
        let many: Vec<Value> = (0..3_000).map(|number| json!({ format!("name-{}", number % 1_500): number })).collect();
        let trees = [
            json!(null),
            json!([true, false, "", "ä", "x".repeat(32), "x".repeat(33), "x".repeat(64), "x".repeat(65)]),
            json!(["ä".repeat(16), "ä".repeat(17), "ä".repeat(32), "ä".repeat(33)]),
            json!([0, -1, 15, -16, 16, -17, 63, 64, -65, i32::MAX, i32::MIN, i64::MAX, i64::MIN, u64::MAX, 1.5, -0.0]),
            json!({"": 1, "ä".repeat(28): 2, "ä".repeat(29): 3, "x".repeat(64): 4, "x".repeat(65): {"x": [{"x": {}}]}}),
            json!(many),
        ];
        for tree in trees {
            assert_eq!(from_smile(&smile(&(&tree).into())), Ok(tree));
        }
    }
}
