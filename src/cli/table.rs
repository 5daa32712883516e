//! Tables of labels, figures and remarks, aligned.

use std::fmt;

/// Spaces for each step that a row is below another one.
const INDENT: usize = 2;

/// One line.
#[derive(Clone, Debug)]
struct Row {
    label: String,
    figure: String,
    remark: String,
}

/// Lines whose columns are aligned: labels to the left, figures to the right.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds a line.
    pub(super) fn row(&mut self, label: &str, figure: impl ToString, remark: impl Into<String>) {
        self.rows.push(Row { label: label.into(), figure: figure.to_string(), remark: remark.into() });
    }

    /// Adds a line that is a part of one above it.
    pub(super) fn part(&mut self, depth: usize, label: &str, figure: impl ToString, remark: impl Into<String>) {
        self.row(&format!("{}{label}", " ".repeat(depth * INDENT)), figure, remark);
    }

    fn width(&self, column: fn(&Row) -> &str) -> usize {
        self.rows.iter().map(|row| column(row).chars().count()).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (labels, figures) = (self.width(|row| &row.label), self.width(|row| &row.figure));
        for Row { label, figure, remark } in &self.rows {
            let line = format!("{label:<labels$}  {figure:>figures$}  {remark}");
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::default();
        table.row("runs", 1_000, "from seed 1");
        table.part(1, "failed", 2, "");
        assert_eq!(table.to_string(), "runs      1000  from seed 1\n  failed     2\n");
    }
}
