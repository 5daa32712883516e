//! The types of settings, and which texts are values of them.

use super::node::is_url;
use super::spell::{time, words};
use super::units::{parse_bytes, parse_memory, parse_ports};
use super::{Hook, SettingsError, Value, Why};
use crate::zen::{Tuning, parse_time};
use std::fmt;
use std::time::Duration;

/// The levels of a logger.
pub(super) const LEVELS: &[&str] = &["off", "fatal", "error", "warn", "info", "debug", "trace", "all"];

/// What a setting's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number and a unit, as in `200ms`; at most a year.
    Time {
        /// The shortest that is allowed.
        min: Duration,
    },
    /// A whole number of 32 bits with a sign.
    Integer {
        /// The smallest that is allowed.
        min: i32,
        /// A smaller number that stands for none.
        none: Option<i32>,
    },
    /// A number and a unit, as in `100mb`.
    Bytes {
        /// The fewest that are allowed.
        min: u64,
    },
    /// The same, or a part of the memory that the process may have, as in `25%`.
    Memory,
    /// A port, or the first and the last of several.
    Ports,
    /// A port that others are told of; `-1` stands for the one that was bound.
    Port,
    /// `true` or `false`.
    Boolean,
    /// One of these words.
    Enum {
        /// What the words stand for.
        what: &'static str,
        /// The words.
        words: &'static [&'static str],
    },
    /// The level of a logger, in capitals or not.
    Level,
    /// A text in one line that is not empty.
    Name {
        /// What must not be in it.
        without: Option<char>,
    },
    /// Any text.
    String,
    /// Texts, as a list or with commas between them.
    List,
    /// Some of these words, as a list or with commas between them.
    Words {
        /// What the words stand for.
        what: &'static str,
        /// The words.
        words: &'static [&'static str],
    },
    /// A program with its arguments, or the address of a webhook.
    Hook,
    /// The address of a server, `http://…` or `https://…`.
    Url,
}

impl Kind {
    /// Whether a value may have several elements.
    pub fn is_list(self) -> bool {
        matches!(self, Kind::List | Kind::Words { .. } | Kind::Hook)
    }

    /// Whether a value is one of this kind; the key is for the error.
    pub fn check(self, key: &str, value: &Value) -> Result<(), SettingsError> {
        let refuse = |value: String, why| Err(SettingsError::Value { key: key.into(), value, why });
        match (self, value) {
            (Kind::List, _) => Ok(()),
            (Kind::Hook, _) if Hook::of(&value.elements()).is_some() => Ok(()),
            (Kind::Hook, _) => refuse(value.elements().join(", "), Why::NotAHook),
            (Kind::Words { what, words }, _) => {
                let strange = value.elements().into_iter().find(|element| !words.contains(&element.as_str()));
                strange.map_or(Ok(()), |element| refuse(element, Why::NotOneOf { what, words }))
            }
            (_, Value::List(elements)) => refuse(elements.join(", "), Why::IsAList),
            (_, Value::Text(text)) => self.fault(text).map_or(Ok(()), |why| refuse(text.clone(), why)),
        }
    }

    /// Why a text is none of this kind, if it is none.
    fn fault(self, text: &str) -> Option<Why> {
        let one_of = |word: &str, what, words: &'static [&'static str]| {
            (!words.contains(&word)).then_some(Why::NotOneOf { what, words })
        };
        match self {
            Kind::Time { min } => time_fault(text, min),
            Kind::Integer { min, none } => {
                let is_allowed = text.parse().is_ok_and(|number: i32| number >= min || Some(number) == none);
                (!is_allowed).then_some(Why::NotACount { min, none })
            }
            Kind::Bytes { min } => match parse_bytes(text) {
                Some(bytes) => (bytes < min).then_some(Why::TooSmall { min }),
                None => Some(Why::NotASize),
            },
            Kind::Memory => parse_memory(text).is_none().then_some(Why::NotAPartOfMemory),
            Kind::Ports => parse_ports(text).is_none().then_some(Why::NotPorts),
            Kind::Port => {
                let is_port = text == "-1" || text.parse::<u16>().is_ok_and(|port| port > 0);
                (!is_port).then_some(Why::NotAPort)
            }
            Kind::Boolean => (!matches!(text, "true" | "false")).then_some(Why::NotABoolean),
            Kind::Enum { what, words } => one_of(text, what, words),
            Kind::Level => one_of(&text.to_ascii_lowercase(), "level", LEVELS),
            Kind::Name { without } => {
                let is_strange = |c: char| c.is_control() || Some(c) == without;
                (text.is_empty() || text.contains(is_strange)).then_some(Why::NotAName { without })
            }
            Kind::Url => (!is_url(text)).then_some(Why::NotAUrl),
            Kind::String | Kind::List | Kind::Words { .. } | Kind::Hook => None,
        }
    }
}

fn time_fault(text: &str, min: Duration) -> Option<Why> {
    match parse_time(text) {
        Some(time) if time >= min => None,
        Some(_) => Some(Why::TimeOutOfBounds { min, max: Tuning::TIME_MAX }),
        None => Some(why_no_time(text, min)),
    }
}

/// Says what is wrong with a text that is not understood as a time: its bounds, if one digit in the place of its number
/// would make it a time.
pub(super) fn why_no_time(text: &str, min: Duration) -> Why {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
    let number = &text[..text.len() - unit.len()];
    let has_unit = parse_time(&format!("1{unit}")).is_some();
    if has_unit && number.parse::<i128>().is_ok() || text == "-1" {
        Why::TimeOutOfBounds { min, max: Tuning::TIME_MAX }
    } else if has_unit && number.parse::<f64>().is_ok() {
        Why::FractionalTime
    } else {
        Why::NotATime
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Time { min } => write!(f, "time, `{}` to `{}`", time(*min), time(Tuning::TIME_MAX)),
            Kind::Integer { min, none: None } => write!(f, "integer, at least `{min}`"),
            Kind::Integer { min, none: Some(none) } => write!(f, "integer, at least `{min}`, or `{none}` for none"),
            Kind::Bytes { min: 0 } => write!(f, "size, a number and `b`, `kb`, `mb`, `gb`, `tb` or `pb`"),
            Kind::Bytes { min } => {
                write!(f, "size, a number and `b`, `kb`, `mb`, `gb`, `tb` or `pb`, at least `{min}b`")
            }
            Kind::Memory => write!(f, "size as `175mb`, or a part of the memory, `1%` to `100%`"),
            Kind::Ports => write!(f, "ports, as `9200`, `9200-9300` or `9200,9300-9400`"),
            Kind::Port => write!(f, "port, `1` to `65535`, or `-1` for the bound one"),
            Kind::Boolean => write!(f, "boolean, `true` or `false`"),
            Kind::Enum { words: allowed, .. } => write!(f, "enum, {}", words(allowed)),
            Kind::Level => write!(f, "level, {}", words(LEVELS)),
            Kind::Name { without: None } => write!(f, "string in one line"),
            Kind::Name { without: Some(c) } => write!(f, "string in one line without `{c}`"),
            Kind::String => write!(f, "string"),
            Kind::List => write!(f, "list"),
            Kind::Words { words: allowed, .. } => write!(f, "list of {}", words(allowed)),
            Kind::Hook => {
                write!(f, "list of a program and its arguments, or the address of a webhook, `http://…` or `https://…`")
            }
            Kind::Url => write!(f, "address, `http://HOST:PORT` or `https://HOST:PORT`"),
        }
    }
}
