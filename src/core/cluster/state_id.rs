//! What orders states: the term of the master that made one, its version, and the uuid that tells twins apart.
//!
//! Both numbers stop at 2^53, the last one that every JSON reader keeps exact.

use super::Uuid;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;

macro_rules! counters {
    ($($(#[$doc:meta])+ $name:ident, $noun:literal;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// The least one.
            pub const ZERO: $name = $name(0);
            /// The greatest one, 2^53.
            pub const MAX: $name = $name(1 << 53);

            /// The one with this number, unless it is above 2^53.
            pub const fn new(number: u64) -> Option<Self> {
                if number <= Self::MAX.0 { Some($name(number)) } else { None }
            }

            /// Its number.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The one after it; the greatest one is its own successor.
            #[must_use]
            pub const fn next(self) -> Self {
                if self.0 < Self::MAX.0 { $name(self.0 + 1) } else { self }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number = u64::deserialize(deserializer)?;
                $name::new(number).ok_or_else(|| de::Error::custom(format_args!("{} {number} is above 2^53", $noun)))
            }
        }
    )+};
}

counters! {
    /// The mastership of at most one master.
    Term, "term";
    /// Counts the states of a cluster: each published one has the next.
    Version, "version";
}

/// Names one state: no two states of a cluster have the same term and version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StateId {
    /// The term of the master that made it.
    pub term: Term,
    /// Its place among the states.
    pub version: Version,
    /// Drawn when it was made.
    pub uuid: Uuid,
}

impl StateId {
    /// The state before all states.
    pub const NONE: StateId = StateId { term: Term::ZERO, version: Version::ZERO, uuid: Uuid::ZERO };

    /// What elections and publishing compare.
    pub const fn rank(self) -> (Term, Version) {
        (self.term, self.version)
    }
}

impl fmt::Display for StateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.term, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_stop_at_the_last_number_that_json_keeps_exact() {
        assert_eq!(Term::new(1 << 53), Some(Term::MAX));
        assert_eq!(Term::new((1 << 53) + 1), None);
        assert_eq!(Version::MAX.next(), Version::MAX);
        assert_eq!(Version::ZERO.next().get(), 1);
        assert_eq!(serde_json::from_str::<Term>("9007199254740992").ok(), Some(Term::MAX));
        let refusal = serde_json::from_str::<Term>("9007199254740993").map_err(|error| error.to_string());
        assert_eq!(refusal, Err("term 9007199254740993 is above 2^53".into()));
    }

    #[test]
    fn states_order_by_term_before_version() {
        let id =
            |term, version, uuid| StateId { term: Term(term), version: Version(version), uuid: Uuid::from_u128(uuid) };
        assert!(id(2, 9, 1) < id(3, 1, 0));
        assert!(id(3, 1, 0) < id(3, 1, 1));
        assert!(StateId::NONE < id(0, 1, 0));
        assert_eq!(id(3, 17, 5).to_string(), "3/17");
    }
}
