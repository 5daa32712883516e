//! What was measured, as tables for people and as JSON for programs.

use super::figures::{Summary, figure};
use super::meter::Shares;
use super::peer::Peer;
use super::rows::{Bar, ROWS, Row, Unit};
use super::table::{Mark, table};
use super::trial::Samples;
use serde_json::{Value, json};
use std::fmt::Write;

/// What the lines around the newest tables in a page say.
pub(crate) const MARK: Mark =
    Mark { begin: "<!-- measured: written by scripts/bench -->", end: "<!-- end of measured -->" };

/// One peer and its samples.
pub(crate) struct Column {
    pub(crate) peer: &'static dyn Peer,
    pub(crate) samples: Samples,
}

impl Column {
    fn summary(&self, row: &Row) -> Option<Summary> {
        Summary::of(self.samples.rows.get(row.key)?)
    }

    /// How many processors the nodes took, the clients and all others, if that was looked at.
    fn shares(&self, row: &Row) -> [String; 3] {
        let shares = self.samples.shares.get(row.key).map_or(&[][..], Vec::as_slice);
        let median = |share: fn(&Shares) -> f64| {
            let summary = Summary::of(&shares.iter().map(share).collect::<Vec<_>>());
            summary.map_or("–".into(), |summary| format!("{:.2}", summary.median))
        };
        [median(|shares| shares.nodes), median(|shares| shares.clients), median(|shares| shares.foreign)]
    }
}

/// All that was measured in one run.
pub(crate) struct Report {
    pub(crate) columns: Vec<Column>,
}

impl Report {
    /// Both tables.
    pub(crate) fn tables(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut text =
            format!("Medians, and how many times Zazen's each is; measured in one run on {cores} cores.\n\n");
        text += &table(&self.comparison());
        text += "\nThe 99th of a hundred is the largest where there are fewer trials. \
                 The last three columns tell how many processors the nodes took, the clients or observers, and all others; \
                 the median of the trials.\n\n";
        text += &table(&self.details());
        for column in &self.columns {
            if let Some(pace) = column.samples.slowest {
                let (who, pace) = (column.peer.title(), figure(pace.floor()));
                let _ = write!(text, "\nThe slowest observer of {who} looked {pace} times a second.");
            }
        }
        for column in self.columns.iter().filter(|column| !column.samples.warming.is_empty()) {
            let rates: Vec<String> = column.samples.warming.iter().map(|rate| figure(rate.floor())).collect();
            let (who, rates) = (column.peer.title(), rates.join(", "));
            let _ = write!(text, "\n{who} while it warmed, updates a second: {rates}.");
        }
        text + "\n"
    }

    /// The rows of which anything was measured.
    fn rows(&self) -> impl Iterator<Item = &'static Row> {
        ROWS.iter().filter(|row| self.columns.iter().any(|column| column.summary(row).is_some()))
    }

    fn zazen(&self, row: &Row) -> Option<Summary> {
        self.columns.iter().find(|column| column.peer.key() == "zazen")?.summary(row)
    }

    fn comparison(&self) -> Vec<Vec<String>> {
        let mut lines = vec![vec!["what".to_string(), "bar".into(), "met".into()]];
        lines[0].extend(self.columns.iter().map(|column| column.peer.title()));
        for row in self.rows() {
            let ours = self.zazen(row);
            let met = verdict(row.bar, ours).map_or("–", |is_met| if is_met { "yes" } else { "no" });
            let mut line =
                vec![row.title.to_string(), row.bar.map_or("–".into(), |bar| bar_text(bar, row.unit)), met.into()];
            line.extend(self.columns.iter().map(|column| comparison(column, row, ours)));
            lines.push(line);
        }
        lines
    }

    fn details(&self) -> Vec<Vec<String>> {
        let head =
            ["what", "who", "unit", "trials", "minimum", "median", "99th", "maximum", "nodes", "clients", "others"];
        let mut lines = vec![head.map(String::from).to_vec()];
        for row in self.rows() {
            for column in &self.columns {
                let Some(summary) = column.summary(row) else { continue };
                let figures = [summary.minimum, summary.median, summary.p99, summary.maximum].map(figure);
                let unit = row.unit.name().to_string();
                let mut line = vec![row.title.into(), column.peer.title(), unit, summary.trials.to_string()];
                line.extend(figures);
                line.extend(column.shares(row));
                lines.push(line);
            }
        }
        lines
    }

    /// Everything, samples included.
    pub(crate) fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows().map(|row| self.row_json(row)).collect();
        let paces: Vec<Value> = self.columns.iter().map(|column| {
            json!({ "peer": column.peer.key(), "title": column.peer.title(), "slowest_observer_hz": column.samples.slowest })
        }).collect();
        json!({ "cores": std::thread::available_parallelism().map_or(1, usize::from), "peers": paces, "rows": rows })
    }

    fn row_json(&self, row: &Row) -> Value {
        let ours = self.zazen(row);
        let figures: Vec<Value> = self
            .columns
            .iter()
            .filter_map(|column| {
                let summary = column.summary(row)?;
                Some(json!({
                    "peer": column.peer.key(),
                    "trials": summary.trials,
                    "minimum": summary.minimum,
                    "median": summary.median,
                    "p99": summary.p99,
                    "maximum": summary.maximum,
                    "ratio": ours.map(|ours| summary.median / ours.median),
                    "samples": column.samples.rows.get(row.key),
                }))
            })
            .collect();
        json!({
            "row": row.key,
            "title": row.title,
            "unit": row.unit.name(),
            "bar": row.bar.map(|bar| json!({ "median": bar.median, "p99": bar.p99, "is_least": bar.is_least })),
            "met": verdict(row.bar, ours),
            "figures": figures,
        })
    }

    /// Whether a bar was missed.
    pub(crate) fn misses(&self) -> bool {
        self.rows().any(|row| verdict(row.bar, self.zazen(row)) == Some(false))
    }
}

/// Whether Zazen's figures are within a bar, if there are both.
fn verdict(bar: Option<Bar>, ours: Option<Summary>) -> Option<bool> {
    let (bar, ours) = (bar?, ours?);
    let is_met = if bar.is_least { ours.median >= bar.median } else { ours.median <= bar.median };
    Some(is_met && bar.p99.is_none_or(|p99| ours.p99 <= p99))
}

fn bar_text(bar: Bar, unit: Unit) -> String {
    let sign = if bar.is_least { '≥' } else { '≤' };
    let median = format!("{sign} {} {}", bar.median, unit.name());
    match bar.p99 {
        Some(p99) => format!("{median}, 99th ≤ {p99}"),
        None => median,
    }
}

fn comparison(column: &Column, row: &Row, ours: Option<Summary>) -> String {
    let Some(summary) = column.summary(row) else {
        return "–".into();
    };
    let median = format!("{} {}", figure(summary.median), row.unit.name());
    match ours {
        Some(ours) if column.peer.key() != "zazen" => format!("{median}, {}×", figure(summary.median / ours.median)),
        Some(_) | None => median,
    }
}
