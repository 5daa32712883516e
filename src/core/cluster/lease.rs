//! Leases: what one holder at a time has, under a number that is never given twice.
//!
//! The state holds no time but the length of a lease: when one runs out is known to the master alone, as long as it
//! leads. What holders may rely on is told in `docs/leases.md`.

use super::Revision;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A fencing token: each grant of any lease has a greater one than every grant before, in the whole life of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Token(u64);

impl Token {
    /// The one before all that are given.
    pub const ZERO: Token = Token(0);
    /// The greatest one, 2^53, which is not given.
    pub const MAX: Token = Token(1 << 53);

    /// The one with this number, unless it is above 2^53.
    pub const fn new(number: u64) -> Option<Self> {
        if number <= Self::MAX.0 { Some(Token(number)) } else { None }
    }

    /// Its number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The one after it; none once all are given.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        if self.0 + 1 < Self::MAX.0 { Some(Token(self.0 + 1)) } else { None }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        Token::new(number).ok_or_else(|| de::Error::custom(format_args!("token {number} is above 2^53")))
    }
}

/// A lease that is held.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// Who holds it, as he calls himself.
    pub holder: Arc<str>,
    /// What tells this grant from all others.
    pub token: Token,
    /// For how long it is held from each sign of life on.
    #[serde(rename = "ttl_ms", with = "millis")]
    pub ttl: Duration,
    /// The change that granted it.
    pub granted: Revision,
}

/// One grant of one lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holding {
    /// The name of the lease.
    pub name: Arc<str>,
    /// The token of the grant.
    pub token: Token,
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] under token {}", self.name, self.token)
    }
}

/// Lengths of time in JSON: whole milliseconds, up to a year.
pub(crate) mod millis {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use std::time::Duration;

    const MAX_MS: u64 = 365 * 86_400 * 1_000;

    pub(crate) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(span.as_millis()).unwrap_or(MAX_MS).min(MAX_MS))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let millis = u64::deserialize(deserializer)?;
        if millis > MAX_MS {
            return Err(de::Error::custom(format_args!("a span of {millis} milliseconds is above a year")));
        }
        Ok(Duration::from_millis(millis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_rise_until_none_is_left() {
        assert_eq!(Token::ZERO.next(), Token::new(1));
        let last = Token::new((1 << 53) - 1).expect("it is below 2^53");
        assert_eq!(last.next(), None);
        assert_eq!(Token::MAX.next(), None);
        assert!(serde_json::from_str::<Token>("9007199254740993").is_err());
    }
}
