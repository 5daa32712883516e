//! The page docs/elections.md: what the lab shows, with the tables and traces that were measured.

use super::page::Film;
use super::tables::{COLUMNS, Row, Sheet, cells};
use crate::arena::FIELD;
use crate::cli::CommandError;
use crate::cli::figures::count;
use std::io::Write;

/// What stands above the tables.
const INTRODUCTION: &str = include_str!("introduction.txt");

/// The scenario whose traces are printed, and how many of their lines.
const TRACED: &str = "leader-crash";
const LINES: usize = 14;

pub(super) fn write(sheets: &[Sheet], films: &[Film], out: &mut impl Write) -> Result<(), CommandError> {
    write!(out, "{INTRODUCTION}")?;
    field(out)?;
    faults(sheets, out)?;
    writeln!(out, "\n## Measured\n")?;
    for sheet in sheets {
        table(sheet, out)?;
    }
    traces(films, out)
}

fn field(out: &mut impl Write) -> Result<(), CommandError> {
    writeln!(out, "\n## The field\n\n| name | what it is | source |\n|---|---|---|")?;
    for entry in FIELD {
        writeln!(out, "| `{}` | {} | `{}` |", entry.name, entry.about, entry.source)?;
    }
    Ok(())
}

/// For each algorithm where it had two leaders for longest, where it had none for longest, what it lost, and where it did
/// not recover.
fn faults(sheets: &[Sheet], out: &mut impl Write) -> Result<(), CommandError> {
    writeln!(out, "\n## What goes wrong with each\n")?;
    writeln!(
        out,
        "| algorithm | two lead | two would acknowledge a write | acknowledged and lost | nobody leads | does not recover in \
         |\n|---|---|---|---|---|---|"
    )?;
    for entry in FIELD {
        let rows: Vec<(&Sheet, &Row)> = sheets
            .iter()
            .flat_map(|sheet| sheet.rows.iter().map(move |row| (sheet, row)))
            .filter(|(_, row)| row.algorithm == entry.name)
            .collect();
        let lost: Vec<String> = rows
            .iter()
            .filter(|(_, row)| row.summary.recovery.recovered < row.summary.recovery.runs)
            .map(|(sheet, _)| format!("`{}`", sheet.scenario))
            .collect();
        let cells = [
            format!("`{}`", entry.name),
            worst(&rows, " ms", |row| row.summary.two_ms_max),
            worst(&rows, " ms", |row| row.summary.two_acknowledge_ms_max),
            worst(&rows, "", |row| row.summary.lost_writes_max),
            worst(&rows, " ms", |row| row.summary.median.none_ms),
            if lost.is_empty() { "–".to_owned() } else { lost.join(", ") },
        ];
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

/// The highest of a figure, and the scenario that it was seen in.
fn worst(rows: &[(&Sheet, &Row)], unit: &str, figure: fn(&Row) -> u64) -> String {
    let worst = rows.iter().max_by_key(|(_, row)| figure(row)).filter(|(_, row)| figure(row) > 0);
    worst.map_or_else(|| "–".to_owned(), |(sheet, row)| format!("{}{unit} in `{}`", count(figure(row)), sheet.scenario))
}

fn table(sheet: &Sheet, out: &mut impl Write) -> Result<(), CommandError> {
    let (_, about) = sheet.heading.split_once(": ").unwrap_or(("", &sheet.heading));
    writeln!(out, "### {}\n\n{about}.\n", sheet.scenario)?;
    writeln!(out, "| {} |\n|---|{}", COLUMNS.join(" | "), "--:|".repeat(COLUMNS.len() - 1))?;
    for row in &sheet.rows {
        writeln!(out, "| {} |", cells(row).join(" | "))?;
    }
    Ok(writeln!(out)?)
}

fn traces(films: &[Film], out: &mut impl Write) -> Result<(), CommandError> {
    writeln!(out, "## How each replaces a leader that crashed\n")?;
    writeln!(out, "What nodes told in `{TRACED}` with seed 1, from the crash on; nodes go by rank, the first is 1.\n")?;
    for film in films.iter().filter(|film| film.scenario == TRACED) {
        writeln!(out, "### {}\n\n```text", film.algorithm)?;
        for remark in film.remarks.iter().take(LINES) {
            let millis = remark.at.since(film.began).as_micros() as f64 / 1_000.0;
            let who = remark.node.map_or_else(|| "!".to_owned(), |node| (node + 1).to_string());
            let what = if remark.node.is_none() { ranked(&remark.text) } else { remark.text.clone() };
            writeln!(out, "{millis:>9.1} ms  {who}  {what}")?;
        }
        writeln!(out, "```\n")?;
    }
    Ok(())
}

/// A fault with ranks in the place of indices.
fn ranked(text: &str) -> String {
    let rank = |word: &str| word.strip_prefix('n').and_then(|index| index.parse::<usize>().ok()).map(|index| index + 1);
    let words = text.split(' ').map(|word| rank(word).map_or_else(|| word.to_owned(), |rank| rank.to_string()));
    words.collect::<Vec<_>>().join(" ")
}
