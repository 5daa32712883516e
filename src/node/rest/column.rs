//! Columns and cells: what a table tells. Which of them are shown, and how, is told in `cat`.

use super::time::{bytes_in_unit, human_bytes, human_time, in_unit};
use std::cmp::Ordering;
use std::time::Duration;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// What it is called.
    pub(super) name: &'static str,
    /// What it is called for short.
    pub(super) aliases: &'static [&'static str],
    /// What it tells.
    pub(super) doc: &'static str,
    /// Whether its cells are aligned to the right.
    pub(super) is_right: bool,
    /// Whether it is shown to those who do not choose.
    pub(super) is_default: bool,
}

impl Column {
    /// A column that is aligned to the left and shown on request.
    pub(super) const fn new(name: &'static str, aliases: &'static [&'static str], doc: &'static str) -> Self {
        Column { name, aliases, doc, is_right: false, is_default: false }
    }

    /// The same, aligned to the right.
    pub(super) const fn right(self) -> Self {
        Column { is_right: true, ..self }
    }

    /// The same, shown to all.
    pub(super) const fn shown(self) -> Self {
        Column { is_default: true, ..self }
    }
}

/// A cell for each column.
pub(super) type Row = Vec<Cell>;

/// What a row tells in a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    /// Nothing is known.
    Empty,
    /// A text.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number with two digits behind the point.
    Decimal(f64),
    /// A size.
    Bytes(u64),
    /// A time.
    Time(Duration),
}

/// In which units sizes and times are wanted; in the best one for people if that is not said.
#[derive(Clone, Debug, Default)]
pub(super) struct Units {
    pub(super) bytes: Option<String>,
    pub(super) time: Option<String>,
}

impl Cell {
    /// A text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }

    /// What is shown of it; a unit that does not exist counts as none.
    pub(super) fn show(&self, units: &Units) -> Option<String> {
        match self {
            Cell::Empty => None,
            Cell::Text(text) => Some(text.clone()),
            Cell::Count(count) => Some(count.to_string()),
            Cell::Decimal(number) => Some(format!("{number:.2}")),
            Cell::Bytes(bytes) => {
                let wanted = units.bytes.as_deref().and_then(|unit| bytes_in_unit(*bytes, unit));
                Some(wanted.map_or_else(|| human_bytes(*bytes), |bytes| bytes.to_string()))
            }
            Cell::Time(time) => {
                let wanted = units.time.as_deref().and_then(|unit| in_unit(*time, unit));
                Some(wanted.map_or_else(|| human_time(*time), |time| time.to_string()))
            }
        }
    }

    /// How two cells of a column are sorted: by what they mean, not by how they look; empty ones first.
    pub(super) fn order(&self, other: &Cell) -> Ordering {
        match (self, other) {
            (Cell::Text(one), Cell::Text(other)) => one.cmp(other),
            (Cell::Count(one), Cell::Count(other)) | (Cell::Bytes(one), Cell::Bytes(other)) => one.cmp(other),
            (Cell::Decimal(one), Cell::Decimal(other)) => one.total_cmp(other),
            (Cell::Time(one), Cell::Time(other)) => one.cmp(other),
            (one, other) => one.kind().cmp(&other.kind()),
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Cell::Empty => 0,
            Cell::Count(_) => 1,
            Cell::Decimal(_) => 2,
            Cell::Bytes(_) => 3,
            Cell::Time(_) => 4,
            Cell::Text(_) => 5,
        }
    }
}
