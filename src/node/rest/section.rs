//! A part of an answer with figures in it: each size and each time gets a readable twin in front where people want one.
//!
//! Mirrors `XContentBuilder.humanReadable` (6.8).

use super::body::Json;
use super::time::{human_bytes, human_time};
use std::borrow::Cow;
use std::time::Duration;

/// Fields in their order.
#[derive(Debug)]
pub(super) struct Section {
    fields: Vec<(Cow<'static, str>, Json)>,
    is_human: bool,
}

impl Section {
    /// A part without fields.
    pub(super) fn new(is_human: bool) -> Self {
        Section { fields: Vec::new(), is_human }
    }

    /// Adds a field.
    #[must_use]
    pub(super) fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Json>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Adds a field, if there is a value.
    #[must_use]
    pub(super) fn with_some(self, name: &'static str, value: Option<impl Into<Json>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds a size, under its name and what tells the unit.
    #[must_use]
    pub(super) fn bytes(self, name: &str, bytes: u64) -> Self {
        self.twin(name, human_bytes(bytes)).with(format!("{name}_in_bytes"), bytes)
    }

    /// Adds a time, under its name and what tells the unit.
    #[must_use]
    pub(super) fn millis(self, name: &str, millis: u64) -> Self {
        self.twin(name, human_time(Duration::from_millis(millis))).with(format!("{name}_in_millis"), millis)
    }

    /// Adds a moment, under its name and what tells the unit.
    #[must_use]
    pub(super) fn moment(self, name: &str, millis: u64) -> Self {
        self.twin(name, iso(millis)).with(format!("{name}_in_millis"), millis)
    }

    fn twin(self, name: &str, twin: impl Into<Json>) -> Self {
        if self.is_human { self.with(name.to_owned(), twin) } else { self }
    }

    /// Adds figures that are told in one line of words: `count`, `size:b` for bytes, `time:t` for milliseconds, and
    /// `flag:f` for what is false; all of them are zero. A readable twin of another name stands in front: `twin=time:t`.
    #[must_use]
    pub(super) fn idle(self, words: &str) -> Self {
        words.split(' ').fold(self, |section, word| {
            let Some((names, kind)) = word.split_once(':') else {
                return section.with(word.to_owned(), 0_u64);
            };
            let (twin, name) = names.split_once('=').unwrap_or((names, names));
            match kind {
                "b" => section.twin(twin, "0b").with(format!("{name}_in_bytes"), 0_u64),
                "t" => section.twin(twin, "0s").with(format!("{name}_in_millis"), 0_u64),
                _ => section.with(name.to_owned(), false),
            }
        })
    }

    /// What it became.
    pub(super) fn json(self) -> Json {
        Json::Object(self.fields)
    }
}

impl From<Section> for Json {
    fn from(section: Section) -> Self {
        section.json()
    }
}

/// A moment as people and machines read it, `2026-11-21T03:28:55.123Z`.
pub(super) fn iso(millis: u64) -> String {
    let (seconds, millis) = (millis / 1_000, millis % 1_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The date so many days after 1970-01-01. Years are counted from March, so that a leap day is the last of its year.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::body::compact;

    #[test]
    fn readable_twins_stand_in_front_where_they_are_wanted() {
        let section =
            |is_human| Section::new(is_human).bytes("size", 2_048).millis("age", 1_500).idle("n w:f q:b p=r:t");
        assert_eq!(
            compact(&section(false).json()),
            r#"{"size_in_bytes":2048,"age_in_millis":1500,"n":0,"w":false,"q_in_bytes":0,"r_in_millis":0}"#
        );
        let expected = r#"{"size":"2kb","size_in_bytes":2048,"age":"1.5s","age_in_millis":1500,"n":0,"w":false,"q":"0b","q_in_bytes":0,"p":"0s","r_in_millis":0}"#;
        assert_eq!(compact(&section(true).json()), expected);
    }

    #[test]
    fn moments_are_dates() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_795_231_735_123, "2026-11-21T03:28:55.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        ];
        for (millis, expected) in cases {
            assert_eq!(iso(millis), expected);
        }
    }
}
