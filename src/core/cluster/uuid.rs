//! Random names of states and clusters, printed as Elasticsearch prints them.
//!
//! Draws nothing itself: whoever needs a fresh one hands 128 random bits in. Mirrors `UUIDs.randomBase64UUID`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt::{self, Write};
use std::str::FromStr;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const LENGTH: usize = 22;

/// 128 bits that name one thing; 22 characters of URL-safe base64 as text.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(u128);

impl Uuid {
    /// All bits zero: the uuid of a state that nobody produced.
    pub const ZERO: Uuid = Uuid(0);

    /// The uuid with these bits.
    pub const fn from_u128(bits: u128) -> Self {
        Uuid(bits)
    }

    /// Its bits.
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

/// Why a text is no uuid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadUuid {
    /// The text is too short or too long.
    Length {
        /// How many bytes it has.
        found: usize,
    },
    /// A character is not of the alphabet.
    Character {
        /// The first such character.
        found: char,
    },
    /// The last character says more than 128 bits can hold.
    Overflow,
}

impl fmt::Display for BadUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadUuid::Length { found } => write!(f, "a uuid has {LENGTH} characters, not {found}"),
            BadUuid::Character { found } => {
                write!(f, "a uuid is made of `A` to `Z`, `a` to `z`, `0` to `9`, `-` and `_`, not {found:?}")
            }
            BadUuid::Overflow => f.write_str("a uuid ends with one of `A`, `Q`, `g` and `w`"),
        }
    }
}

impl std::error::Error for BadUuid {}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for index in 0..LENGTH {
            let shift = 122 - 6 * index as i32;
            let bits = if shift < 0 { self.0 << -shift } else { self.0 >> shift };
            f.write_char(char::from(ALPHABET[(bits & 63) as usize]))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Uuid {
    type Err = BadUuid;

    fn from_str(text: &str) -> Result<Self, BadUuid> {
        if text.len() != LENGTH {
            return Err(BadUuid::Length { found: text.len() });
        }
        let mut bits: u128 = 0;
        for (index, character) in text.chars().enumerate() {
            let digit = digit_of(character).ok_or(BadUuid::Character { found: character })?;
            bits = if index + 1 < LENGTH {
                bits << 6 | digit
            } else if digit & 15 == 0 {
                bits << 2 | digit >> 4
            } else {
                return Err(BadUuid::Overflow);
            };
        }
        Ok(Uuid(bits))
    }
}

fn digit_of(character: char) -> Option<u128> {
    let byte = u8::try_from(character).ok()?;
    let digit = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    };
    Some(u128::from(digit))
}

impl Serialize for Uuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Uuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_reads_as_it_prints_and_as_elasticsearch_prints_it() {
        for (bits, text) in [
            (0, "AAAAAAAAAAAAAAAAAAAAAA"),
            (0x0123_4567_89ab_cdef_fedc_ba98_7654_3210, "ASNFZ4mrze_-3LqYdlQyEA"),
            (u128::MAX, "_____________________w"),
        ] {
            assert_eq!(Uuid::from_u128(bits).to_string(), text);
            assert_eq!(text.parse(), Ok(Uuid::from_u128(bits)));
        }
    }

    #[test]
    fn what_is_no_uuid_is_refused_with_the_reason() {
        let refusal = |text: &str| text.parse::<Uuid>().map_err(|error| error.to_string());
        assert_eq!(refusal("_na_"), Err("a uuid has 22 characters, not 4".into()));
        assert_eq!(refusal("AAAAAAAAAAAAAAAAAAAAAB"), Err("a uuid ends with one of `A`, `Q`, `g` and `w`".into()));
        assert_eq!("AAAAAAAAAA+AAAAAAAAAAA".parse::<Uuid>(), Err(BadUuid::Character { found: '+' }));
        assert_eq!("AAAAAAAAAAAAAAAAAAAAé".parse::<Uuid>(), Err(BadUuid::Character { found: 'é' }));
    }
}
