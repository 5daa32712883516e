//! Why a setting is refused, worded as Elasticsearch 6.8 words it; where that leaves out the key or what is allowed,
//! they are added at the end.

use super::spell::time;
use std::fmt;
use std::time::Duration;

/// Why a setting is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// There is no setting with this key.
    Unknown {
        /// The key.
        key: String,
        /// The known key that it resembles most, if it resembles any.
        nearest: Option<&'static str>,
    },
    /// Two values were given for one key.
    AlreadySet {
        /// The key.
        key: String,
        /// What was given first.
        first: String,
        /// What was given after that.
        second: String,
    },
    /// The value is no whole number with a unit.
    NotATime {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
    },
    /// The value is a time with a fraction.
    FractionalTime {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
    },
    /// The value is a time that is not allowed.
    TimeOutOfBounds {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// The shortest that is allowed.
        min: Duration,
        /// The longest that is allowed.
        max: Duration,
    },
    /// The value is not among the whole numbers that are allowed.
    NotACount {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// The smallest that is allowed.
        min: i32,
        /// A smaller number that stands for none.
        none: Option<i32>,
    },
    /// The value is neither `true` nor `false`.
    NotABoolean {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
    },
    /// The value is not one of the words that are allowed.
    NotOneOf {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// What the words stand for.
        what: &'static str,
        /// The words.
        words: &'static [&'static str],
    },
    /// The value cannot be understood.
    NotUnderstood {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingsError::Unknown { key, nearest: Some(nearest) } => {
                write!(f, "unknown setting [{key}] did you mean [{nearest}]?")
            }
            SettingsError::Unknown { key, nearest: None } => {
                write!(f, "unknown setting [{key}], all are listed in docs/settings.md")
            }
            SettingsError::AlreadySet { key, first, second } => {
                write!(f, "setting [{key}] already set, saw [{first}] and [{second}]")
            }
            SettingsError::NotATime { key, value } => write!(
                f,
                "failed to parse setting [{key}] with value [{value}] as a time value: unit is missing or unrecognized, \
                 must be a whole number and one of [nanos, micros, ms, s, m, h, d]"
            ),
            SettingsError::FractionalTime { key, value } => {
                write!(f, "failed to parse [{value}] for setting [{key}], fractional time values are not supported")
            }
            SettingsError::TimeOutOfBounds { key, value, min, max } => {
                let (min, max) = (time(*min), time(*max));
                write!(f, "failed to parse value [{value}] for setting [{key}], must be >= [{min}] and <= [{max}]")
            }
            SettingsError::NotACount { key, value, min, none } => {
                write!(f, "Failed to parse value [{value}] for setting [{key}] must be >= {min}")?;
                none.map_or(Ok(()), |none| write!(f, ", or {none} for none"))
            }
            SettingsError::NotABoolean { key, value } => {
                write!(f, "Failed to parse value [{value}] for setting [{key}] as only [true] or [false] are allowed.")
            }
            SettingsError::NotOneOf { key, value, what, words } => {
                write!(f, "invalid {what} [{value}] for setting [{key}], must be one of [{}]", words.join(", "))
            }
            SettingsError::NotUnderstood { key, value } => {
                write!(f, "Failed to parse value [{value}] for setting [{key}]")
            }
        }
    }
}

impl std::error::Error for SettingsError {}
