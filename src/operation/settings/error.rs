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
        nearest: Option<String>,
    },
    /// There is no setting with this key, and one that it would have to stand below takes a value.
    Below {
        /// The key.
        key: String,
        /// The setting.
        setting: &'static str,
    },
    /// There is no setting with this key, but there are some below it.
    Above {
        /// The key.
        key: String,
        /// One of them.
        setting: &'static str,
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
    /// The setting is one of an index, and was given to a node.
    OfAnIndex {
        /// The key.
        key: String,
    },
    /// Elasticsearch has the setting, and nothing here heeds it.
    WithoutMeaning {
        /// The key.
        key: String,
    },
    /// The setting is one of the node around the protocol.
    NotOfTheProtocol {
        /// The key.
        key: String,
    },
    /// The setting has no such value.
    Value {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// Why not.
        why: Why,
    },
}

/// Why a text is no value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is a list.
    IsAList,
    /// It is no whole number with a unit.
    NotATime,
    /// It is a time with a fraction.
    FractionalTime,
    /// It is a time that is not allowed.
    TimeOutOfBounds {
        /// The shortest that is allowed.
        min: Duration,
        /// The longest that is allowed.
        max: Duration,
    },
    /// It is not among the whole numbers that are allowed.
    NotACount {
        /// The smallest that is allowed.
        min: i32,
        /// A smaller number that stands for none.
        none: Option<i32>,
    },
    /// It is no number.
    NotANumber {
        /// What is allowed.
        allowed: &'static str,
    },
    /// It is no size.
    NotASize,
    /// It is a size that is too small.
    TooSmall {
        /// The smallest that is allowed.
        min: u64,
    },
    /// It is neither a size nor a part of the memory.
    NotAPartOfMemory,
    /// It is neither a port nor a range of ports.
    NotPorts,
    /// It is no port that one could connect to.
    NotAPort,
    /// It is neither `true` nor `false`.
    NotABoolean,
    /// It is not one of the words that are allowed.
    NotOneOf {
        /// What the words stand for.
        what: &'static str,
        /// The words.
        words: &'static [&'static str],
    },
    /// It cannot be a name.
    NotAName {
        /// What must not be in it.
        without: Option<char>,
    },
    /// It is neither a program nor a webhook.
    NotAHook,
    /// It is no address of a server.
    NotAUrl,
    /// It cannot be understood.
    NotUnderstood,
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
            SettingsError::Below { key, setting } => {
                write!(f, "unknown setting [{key}], for [{setting}] takes a value and has no settings below it")
            }
            SettingsError::Above { key, setting } => {
                write!(f, "unknown setting [{key}], it takes no value but has settings below it, such as [{setting}]")
            }
            SettingsError::AlreadySet { key, first, second } => {
                write!(f, "setting [{key}] already set, saw [{first}] and [{second}]")
            }
            SettingsError::OfAnIndex { key } => {
                write!(f, "unknown setting [{key}], settings of an index are given to the index and not to a node")
            }
            SettingsError::WithoutMeaning { key } => {
                write!(f, "setting [{key}] has no meaning here, those that have one are listed in docs/settings.md")
            }
            SettingsError::NotOfTheProtocol { key } => {
                write!(f, "setting [{key}] is not one that the protocol runs by, those are listed in docs/settings.md")
            }
            SettingsError::Value { key, value, why } => why.fmt(f, key, value),
        }
    }
}

impl std::error::Error for SettingsError {}

impl Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>, key: &str, value: &str) -> fmt::Result {
        let failed = format!("Failed to parse value [{value}] for setting [{key}]");
        match self {
            Why::IsAList => {
                write!(f, "found a list [{value}] for setting [{key}], must be one value")
            }
            Why::NotATime => write!(
                f,
                "failed to parse setting [{key}] with value [{value}] as a time value: unit is missing or unrecognized, \
                 must be a whole number and one of [nanos, micros, ms, s, m, h, d]"
            ),
            Why::FractionalTime => {
                write!(f, "failed to parse [{value}] for setting [{key}], fractional time values are not supported")
            }
            Why::TimeOutOfBounds { min, max } => {
                let (min, max) = (time(*min), time(*max));
                write!(f, "failed to parse value [{value}] for setting [{key}], must be >= [{min}] and <= [{max}]")
            }
            Why::NotACount { min, none: None } => write!(f, "{failed} must be >= {min}"),
            Why::NotACount { min, none: Some(none) } => write!(f, "{failed} must be >= {min}, or {none} for none"),
            Why::NotANumber { allowed } => write!(f, "{failed} must be {allowed}"),
            Why::NotAPartOfMemory => write!(
                f,
                "failed to parse setting [{key}] with value [{value}] as a size in bytes or a percentage: allowed are 1% to \
                 100%, or a number and one of [b, kb, mb, gb, tb, pb]"
            ),
            Why::TooSmall { min } => write!(f, "{failed} must be >= {min}b"),
            Why::NotASize => write!(
                f,
                "failed to parse setting [{key}] with value [{value}] as a size in bytes: unit is missing or \
                 unrecognized, must be a number and one of [b, kb, mb, gb, tb, pb]"
            ),
            Why::NotPorts => {
                write!(f, "{failed} must be a port, or two with - between them, the first not above the last")
            }
            Why::NotAPort => write!(f, "{failed} must be >= 1 and <= 65535, or -1 for the bound port"),
            Why::NotABoolean => write!(f, "{failed} as only [true] or [false] are allowed."),
            Why::NotOneOf { what, words } => {
                write!(f, "invalid {what} [{value}] for setting [{key}], must be one of [{}]", words.join(", "))
            }
            Why::NotAName { without: None } => write!(f, "{failed} must be one line and not empty"),
            Why::NotAName { without: Some(c) } => write!(f, "{failed} must be one line, not empty and without '{c}'"),
            Why::NotAHook => write!(
                f,
                "{failed} must be a program and its arguments as a list, [\"/usr/local/bin/hook\", \"argument\"], or one address \
                 http://… or https://…"
            ),
            Why::NotAUrl => write!(
                f,
                "{failed} must be http:// or https:// and a host, with a port and a path if need be, as http://127.0.0.1:4318"
            ),
            Why::NotUnderstood => write!(f, "{failed}"),
        }
    }
}
