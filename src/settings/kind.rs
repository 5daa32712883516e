//! The types of settings, and which texts are values of them.

use super::SettingsError;
use super::spell::{time, words};
use crate::zen::{Tuning, parse_time};
use std::fmt;
use std::time::Duration;

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
    /// `true` or `false`.
    Boolean,
    /// One of these words.
    Enum {
        /// What the words stand for.
        what: &'static str,
        /// The words.
        words: &'static [&'static str],
    },
    /// Any text.
    String,
    /// Texts with commas between them.
    List,
}

impl Kind {
    /// Whether a text is a value of this kind; the key is for the error.
    pub fn check(self, key: &'static str, value: &str) -> Result<(), SettingsError> {
        match self {
            Kind::Time { min } => check_time(key, value, min),
            Kind::Integer { min, none } => match value.parse::<i32>() {
                Ok(number) if number >= min || Some(number) == none => Ok(()),
                Ok(_) | Err(_) => Err(SettingsError::NotACount { key, value: value.into(), min, none }),
            },
            Kind::Boolean if matches!(value, "true" | "false") => Ok(()),
            Kind::Boolean => Err(SettingsError::NotABoolean { key, value: value.into() }),
            Kind::Enum { words, .. } if words.contains(&value) => Ok(()),
            Kind::Enum { what, words } => Err(SettingsError::NotOneOf { key, value: value.into(), what, words }),
            Kind::String | Kind::List => Ok(()),
        }
    }
}

fn check_time(key: &'static str, value: &str, min: Duration) -> Result<(), SettingsError> {
    match parse_time(value) {
        Some(time) if time >= min => Ok(()),
        Some(_) => Err(out_of_bounds(key, value, min)),
        None => Err(why_no_time(key, value, min)),
    }
}

fn out_of_bounds(key: &'static str, value: &str, min: Duration) -> SettingsError {
    SettingsError::TimeOutOfBounds { key, value: value.into(), min, max: Tuning::TIME_MAX }
}

/// Says what is wrong with a text that is not understood as a time: its bounds, if one digit in the place of its number
/// would make it a time.
fn why_no_time(key: &'static str, value: &str, min: Duration) -> SettingsError {
    let text = value.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
    let number = &text[..text.len() - unit.len()];
    let has_unit = parse_time(&format!("1{unit}")).is_some();
    if has_unit && number.parse::<i128>().is_ok() || text == "-1" {
        out_of_bounds(key, value, min)
    } else if has_unit && number.parse::<f64>().is_ok() {
        SettingsError::FractionalTime { key, value: value.into() }
    } else {
        SettingsError::NotATime { key, value: value.into() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Time { min } => write!(f, "time, `{}` to `{}`", time(*min), time(Tuning::TIME_MAX)),
            Kind::Integer { min, none: None } => write!(f, "integer, at least `{min}`"),
            Kind::Integer { min, none: Some(none) } => write!(f, "integer, at least `{min}`, or `{none}` for none"),
            Kind::Boolean => write!(f, "boolean, `true` or `false`"),
            Kind::Enum { words: allowed, .. } => write!(f, "enum, {}", words(allowed)),
            Kind::String => write!(f, "string"),
            Kind::List => write!(f, "list, with commas between its elements"),
        }
    }
}
