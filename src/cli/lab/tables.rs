//! The tables of a comparison, as text.

use crate::arena::{Scenario, Summary};
use crate::cli::figures::count;
use serde::Serialize;

/// One algorithm in one scenario.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Row {
    pub(super) algorithm: &'static str,
    pub(super) summary: Summary,
}

/// One scenario.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Sheet {
    pub(super) scenario: &'static str,
    pub(super) heading: String,
    pub(super) rows: Vec<Row>,
}

/// What the columns are called.
pub(super) const COLUMNS: [&str; 10] = [
    "algorithm",
    "messages",
    "bytes",
    "link delays",
    "elections",
    "no leader",
    "two leaders",
    "two acknowledge",
    "lost writes",
    "recovered",
];

/// What a table is about.
pub(super) fn heading(scenario: &Scenario, nodes: usize, seeds: u64) -> String {
    let seeds = if seeds == 1 { "one seed".to_owned() } else { format!("medians of {seeds} seeds") };
    format!("{}: {}; {nodes} nodes, {seeds}", scenario.name, scenario.about)
}

/// The cells of a row, as they are printed.
pub(super) fn cells(row: &Row) -> [String; 10] {
    let figures = &row.summary.median;
    [
        row.algorithm.to_owned(),
        count(figures.messages),
        count(figures.bytes),
        figures.hops.map_or_else(|| "never".to_owned(), count),
        count(figures.elections),
        range(figures.none_ms, figures.none_ms, " ms"),
        range(figures.two_ms, row.summary.two_ms_max, " ms"),
        range(figures.two_acknowledge_ms, row.summary.two_acknowledge_ms_max, " ms"),
        range(figures.lost_writes, row.summary.lost_writes_max, ""),
        format!("{} of {}", row.summary.recovery.recovered, row.summary.recovery.runs),
    ]
}

/// The median, and the most where that differs.
fn range(median: u64, most: u64, unit: &str) -> String {
    match (median, most) {
        (0, 0) => "–".to_owned(),
        (median, most) if median == most => format!("{}{unit}", count(median)),
        (median, most) => format!("{} (≤ {}){unit}", count(median), count(most)),
    }
}

/// A table whose columns are aligned.
pub(super) fn text(heading: &str, rows: &[Row]) -> String {
    let mut lines: Vec<[String; 10]> = vec![COLUMNS.map(str::to_owned)];
    lines.extend(rows.iter().map(cells));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let mut text = format!("{heading}\n");
    for line in &lines {
        let mut row = String::new();
        for (column, cell) in line.iter().enumerate() {
            let gap = " ".repeat(widths[column] - cell.chars().count());
            row += &if column == 0 { format!("  {cell}{gap}") } else { format!("  {gap}{cell}") };
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}
