//! Reads SMILE into a tree.
//!
//! Nests no deeper than JSON is read, and becomes not much larger than what was sent, though texts may be referred to.

use super::fields::put;
use super::smile::NAMES_MAX;
use serde_json::{Map, Number, Value};

/// How deep a body may nest.
const DEPTH_MAX: usize = 64;
/// How many bytes texts may have that are referred to, for each byte of the body, and besides.
const REFERRED_MAX: usize = 4;
const REFERRED_FREE: usize = 1 << 16;
/// How long texts are that are remembered.
const SHARED_MAX: usize = 64;

/// Reads a body.
pub(in crate::rest) fn from_smile(bytes: &[u8]) -> Result<Value, String> {
    let Some([flags, rest @ ..]) = bytes.strip_prefix(b":)\n") else {
        return Err("it does not begin with `:)`".into());
    };
    if flags >> 4 != 0 {
        return Err(format!("version {} of the format is not known", flags >> 4));
    }
    let mut reader = Reader {
        rest,
        names: Shared::new(flags & 1 != 0),
        texts: Shared::new(flags & 2 != 0),
        room: bytes.len() * REFERRED_MAX + REFERRED_FREE,
    };
    let kind = reader.byte()?;
    let value = reader.value(kind, DEPTH_MAX)?;
    match reader.rest {
        [] | [0xff, ..] => Ok(value),
        [next, ..] => Err(format!("byte {next:#04x} follows the end")),
    }
}

/// Texts that came before, by their numbers.
struct Shared {
    texts: Option<Vec<String>>,
}

impl Shared {
    fn new(is_on: bool) -> Self {
        Shared { texts: is_on.then(Vec::new) }
    }

    fn remember(&mut self, text: &str) {
        if let Some(texts) = self.texts.as_mut().filter(|_| text.len() <= SHARED_MAX) {
            if texts.len() == NAMES_MAX {
                texts.clear();
            }
            texts.push(text.to_owned());
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    names: Shared,
    texts: Shared,
    room: usize,
}

const CUT: &str = "it ends too early";

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8, String> {
        let [byte, rest @ ..] = self.rest else { return Err(CUT.into()) };
        self.rest = rest;
        Ok(*byte)
    }

    fn bytes(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(CUT)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<Value, String> {
        Ok(match kind {
            0x01..=0x1f => Value::String(self.referred(false, usize::from(kind) - 1)?),
            0x20 => Value::String(String::new()),
            0x21 => Value::Null,
            0x22 | 0x23 => Value::Bool(kind == 0x23),
            0x24 | 0x25 => unfolded(self.count()?).into(),
            0x26 => self.big()?,
            0x28 => {
                let bits = u32::try_from(self.sevens(5)? & u64::from(u32::MAX)).unwrap_or_default();
                number(f32::from_bits(bits).into())?
            }
            0x29 => {
                let bits = self.sevens(10)?;
                number(f64::from_bits(bits))?
            }
            0x40..=0x5f => self.short(usize::from(kind) - 0x40 + 1)?,
            0x60..=0x7f => self.short(usize::from(kind) - 0x60 + 33)?,
            0x80..=0x9f => self.short(usize::from(kind) - 0x80 + 2)?,
            0xa0..=0xbf => self.short(usize::from(kind) - 0xa0 + 34)?,
            0xc0..=0xdf => unfolded((kind & 0x1f).into()).into(),
            0xe0 | 0xe4 => Value::String(self.long()?.to_owned()),
            0xec..=0xef => {
                let low = self.byte()?;
                Value::String(self.referred(false, usize::from(kind & 3) << 8 | usize::from(low))?)
            }
            0xf8 => self.list(inner(depth)?)?,
            0xfa => self.object(inner(depth)?)?,
            _ => return Err(format!("a value of kind {kind:#04x} is not taken")),
        })
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        let mut values = Vec::new();
        loop {
            match self.byte()? {
                0xf9 => return Ok(Value::Array(values)),
                kind => values.push(self.value(kind, depth)?),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        let mut fields = Map::new();
        loop {
            let kind = self.byte()?;
            if kind == 0xfb {
                return Ok(Value::Object(fields));
            }
            let name = self.name(kind)?;
            let kind = self.byte()?;
            put(&mut fields, name, self.value(kind, depth)?)?;
        }
    }

    fn name(&mut self, kind: u8) -> Result<String, String> {
        let len = match kind {
            0x20 => return Ok(String::new()),
            0x30..=0x33 => {
                let low = self.byte()?;
                return self.referred(true, usize::from(kind & 3) << 8 | usize::from(low));
            }
            0x34 => return Ok(self.long()?.to_owned()),
            0x40..=0x7f => return self.referred(true, (kind & 0x3f).into()),
            0x80..=0xbf => usize::from(kind) - 0x80 + 1,
            0xc0..=0xf7 => usize::from(kind) - 0xc0 + 2,
            _ => return Err(format!("a name of kind {kind:#04x} is not taken")),
        };
        let name = text(self.bytes(len)?)?;
        self.names.remember(name);
        Ok(name.to_owned())
    }

    fn short(&mut self, len: usize) -> Result<Value, String> {
        let text = text(self.bytes(len)?)?;
        self.texts.remember(text);
        Ok(Value::String(text.to_owned()))
    }

    /// A text up to its mark.
    fn long(&mut self) -> Result<&'a str, String> {
        let len = self.rest.iter().position(|byte| *byte == 0xfc).ok_or(CUT)?;
        let bytes = self.bytes(len)?;
        self.byte()?;
        text(bytes)
    }

    fn referred(&mut self, is_name: bool, number: usize) -> Result<String, String> {
        let shared = if is_name { &self.names } else { &self.texts };
        let text = shared.texts.as_ref().and_then(|texts| texts.get(number));
        let text = text.ok_or_else(|| format!("text {number} is referred to before it came"))?;
        self.room = self.room.checked_sub(text.len()).ok_or("its texts are referred to too often")?;
        Ok(text.clone())
    }

    /// A number in groups of seven bits, the last one of six with the highest bit set.
    fn count(&mut self) -> Result<u64, String> {
        let mut number: u64 = 0;
        loop {
            let byte = self.byte()?;
            let (bits, group) = if byte & 0x80 == 0 { (7, byte) } else { (6, byte & 0x3f) };
            if number.leading_zeros() < bits {
                return Err("a whole number has more than 64 bits".into());
            }
            number = number << bits | u64::from(group);
            if bits == 6 {
                return Ok(number);
            }
        }
    }

    /// So many groups of seven bits; what is above 64 bits is cut off.
    fn sevens(&mut self, groups: usize) -> Result<u64, String> {
        Ok(self.bytes(groups)?.iter().fold(0, |bits, byte| bits << 7 | u64::from(byte & 0x7f)))
    }

    /// A whole number of any length, of which those below 2^64 are taken.
    fn big(&mut self) -> Result<Value, String> {
        let len = usize::try_from(self.count()?).map_err(|_| CUT)?;
        if !(1..=9).contains(&len) {
            return Err(format!("a whole number of {len} bytes is not taken"));
        }
        let count = len * 8;
        let groups = self.bytes(count.div_ceil(7))?;
        let spare = groups.len() * 7 - count;
        let whole = &groups[..groups.len() - 1];
        let bits = whole.iter().fold(0_u128, |bits, byte| bits << 7 | u128::from(byte & 0x7f));
        let last = groups.last().copied().unwrap_or_default();
        let bits = bits << (7 - spare) | u128::from(last & (0x7f >> spare));
        let is_negative = bits >> (count - 1) & 1 == 1;
        let refuse = || "a whole number beyond 64 bits is not taken".to_owned();
        match is_negative {
            true => {
                let number = i128::try_from(bits).map_err(|_| refuse())? - (1_i128 << count);
                i64::try_from(number).map(Value::from).map_err(|_| refuse())
            }
            false => u64::try_from(bits).map(Value::from).map_err(|_| refuse()),
        }
    }
}

fn inner(depth: usize) -> Result<usize, String> {
    depth.checked_sub(1).ok_or_else(|| format!("it nests deeper than {DEPTH_MAX}"))
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    str::from_utf8(bytes).map_err(|error| error.to_string())
}

/// The sign stands in the lowest bit.
fn unfolded(folded: u64) -> i64 {
    let half = (folded >> 1).cast_signed();
    if folded & 1 == 0 { half } else { !half }
}

fn number(value: f64) -> Result<Value, String> {
    Number::from_f64(value).map(Value::Number).ok_or_else(|| format!("{value} is no number in JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_that_came_before_may_be_referred_to() {
        assert_eq!(
            from_smile(b":)\n\x03\xf8\x40a\x01\xfa\x80n\x01\xfb\xfa\x40\xec\x00\xfb\xf9\xff"),
            Ok(json!(["a", "a", {"n": "a"}, {"n": "a"}]))
        );
    }

    #[test]
    fn whatever_comes_is_a_tree_or_an_error() {
        let mut deep = b":)\n\x00".to_vec();
        deep.extend([0xf8; 100_000]);
        assert_eq!(from_smile(&deep), Err("it nests deeper than 64".into()));
        let mut many = b":)\n\x02\xf8\x7f".to_vec();
        many.extend([b'x'; 64]);
        many.extend([0x01; 100_000]);
        assert_eq!(from_smile(&many), Err("its texts are referred to too often".into()));
        for (bytes, expected) in [
            (&b"{}"[..], "it does not begin with `:)`"),
            (b":)\n\x10\x21", "version 1 of the format is not known"),
            (b":)\n\x00", "it ends too early"),
            (b":)\n\x00\x45ab", "it ends too early"),
            (b":)\n\x00\x01", "text 0 is referred to before it came"),
            (b":)\n\x00\xfa\x40\x21\xfb", "text 0 is referred to before it came"),
            (b":)\n\x00\xfd\x81a", "a value of kind 0xfd is not taken"),
            (b":)\n\x00\x24\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x80", "a whole number has more than 64 bits"),
            (b":)\n\x01\xfa\x80n\x21\x40\x21\xfb", "Duplicate field 'n'"),
            (b":)\n\x00\x21\x21", "byte 0x21 follows the end"),
        ] {
            assert_eq!(from_smile(bytes), Err(expected.to_owned()));
        }
        // Every value of every byte behind a short beginning.
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                let _ = from_smile(&[b':', b')', b'\n', 3, first, second, 0x80, 0x41, 0x81, 0xfb]);
            }
        }
    }
}
