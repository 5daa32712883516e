//! Rows of cells, and the order that they are in.

use super::super::paint::Tone;
use std::cmp::Ordering;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) tone: Tone,
    /// What it is sorted by if it is a number.
    number: Option<f64>,
}

impl Cell {
    /// Some text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Cell { text: text.into(), tone: Tone::Plain, number: None }
    }

    /// A number, as it is shown.
    pub(super) fn number(number: f64, text: impl Into<String>) -> Self {
        Cell { text: text.into(), tone: Tone::Plain, number: Some(number) }
    }

    /// A count.
    pub(super) fn count(count: u64) -> Self {
        Cell::number(count as f64, count.to_string())
    }

    /// Nothing that is known.
    pub(super) fn dash() -> Self {
        Cell::text("-").toned(Tone::Faint)
    }

    /// The same in another look.
    pub(super) fn toned(self, tone: Tone) -> Self {
        Cell { tone, ..self }
    }

    /// Whether it stands at the right of its column.
    pub(super) fn is_number(&self) -> bool {
        self.number.is_some()
    }

    /// Numbers before texts.
    fn order(&self, other: &Cell) -> Ordering {
        match (self.number, other.number) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.text.cmp(&other.text),
        }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// What it is known by, however it moves.
    pub(super) id: String,
    pub(super) cells: Vec<Cell>,
}

impl Row {
    pub(super) fn new(id: impl Into<String>, cells: impl IntoIterator<Item = Cell>) -> Self {
        Row { id: id.into(), cells: cells.into_iter().collect() }
    }
}

/// Rows under their heads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sheet {
    pub(super) heads: Vec<&'static str>,
    pub(super) rows: Vec<Row>,
}

impl Sheet {
    pub(super) fn new(heads: &[&'static str], rows: impl IntoIterator<Item = Row>) -> Self {
        Sheet { heads: heads.to_vec(), rows: rows.into_iter().collect() }
    }

    /// Puts the rows in the order of a column; those that are alike stay as they are.
    pub(super) fn sort(&mut self, column: usize, is_reversed: bool) {
        self.rows.sort_by(|one, other| {
            let order = match (one.cells.get(column), other.cells.get(column)) {
                (Some(one), Some(other)) => one.order(other),
                (Some(_) | None, None) | (None, Some(_)) => Ordering::Equal,
            };
            if is_reversed { order.reverse() } else { order }
        });
    }

    /// How wide each column is.
    pub(super) fn widths(&self) -> Vec<usize> {
        let width = |(column, head): (usize, &&str)| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
            // The head of the column that is sorted by has a mark behind it.
            cells.map(|cell| cell.text.chars().count()).max().unwrap_or(0).max(head.chars().count() + 1)
        };
        self.heads.iter().enumerate().map(width).collect()
    }
}

/// Bytes, as people read them.
pub(super) fn bytes(count: u64) -> Cell {
    const UNITS: [&str; 5] = ["b", "kb", "mb", "gb", "tb"];
    let (mut size, mut unit) = (count as f64, 0);
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let text = if unit == 0 { format!("{count}b") } else { format!("{size:.1}{}", UNITS[unit]) };
    Cell::number(count as f64, text)
}

/// A time, as people read it.
pub(super) fn span(millis: u64) -> Cell {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let unit = UNITS.iter().find(|(length, _)| millis >= *length);
    let text = match unit {
        Some((length, name)) => format!("{:.1}{name}", millis as f64 / *length as f64),
        None => format!("{millis}ms"),
    };
    Cell::number(millis as f64, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let sizes = [(0, "0b"), (1_023, "1023b"), (1_536, "1.5kb"), (7 << 20, "7.0mb"), (u64::MAX, "16777216.0tb")];
        for (count, expected) in sizes {
            assert_eq!(bytes(count).text, expected);
        }
        for (millis, expected) in [(0, "0ms"), (999, "999ms"), (1_500, "1.5s"), (90_000, "1.5m"), (172_800_000, "2.0d")]
        {
            assert_eq!(span(millis).text, expected);
        }
    }

    #[test]
    fn numbers_are_sorted_as_numbers_and_before_dashes() {
        let row = |id: &str, cell| Row::new(id, [Cell::text(id), cell]);
        let rows = [row("a", Cell::count(10)), row("b", Cell::dash()), row("c", Cell::count(9))];
        let mut sheet = Sheet::new(&["name", "count"], rows);
        let ids = |sheet: &Sheet| sheet.rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>().concat();
        sheet.sort(1, false);
        assert_eq!(ids(&sheet), "cab");
        sheet.sort(1, true);
        assert_eq!(ids(&sheet), "bac");
        sheet.sort(7, false);
        assert_eq!(ids(&sheet), "bac", "there is no such column");
        assert_eq!(sheet.widths(), [5, 6]);
    }
}
