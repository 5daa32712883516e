//! The page for a browser: tables, plots, and runs to step through, in one file that loads nothing.

use super::tables::Sheet;
use crate::arena::{Arrow, Entry, Remark, Scenario, TrialOutcome, Turn};
use crate::cli::{CommandError, failed};
use serde::Serialize;
use std::io::Write;

/// The page, with a place for the data.
const PAGE: &str = include_str!("page.html");
const PLACE: &str = "/*DATA*/";

/// So many arrows of one run are shown at most, those that keep watch left out.
const ARROWS_MAX: usize = 250;
/// So many remarks and turns at most.
const REMARKS_MAX: usize = 400;

/// One run that can be shown.
#[derive(Debug, Serialize)]
pub(super) struct Film {
    pub(super) algorithm: &'static str,
    pub(super) about: &'static str,
    pub(super) scenario: &'static str,
    pub(super) happens: &'static str,
    pub(super) nodes: usize,
    began_us: u64,
    healed_us: u64,
    pub(super) began: crate::protocol::Time,
    turns: Vec<Turn>,
    arrows: Vec<Arrow>,
    pub(super) remarks: Vec<Remark>,
}

impl Film {
    pub(super) fn of(entry: &Entry, scenario: &Scenario, outcome: &TrialOutcome) -> Film {
        let record = outcome.bout.record();
        let arrows = record.arrows.iter().filter(|arrow| !arrow.is_watch);
        Film {
            algorithm: entry.name,
            about: entry.about,
            scenario: scenario.name,
            happens: scenario.about,
            nodes: outcome.bout.size(),
            began_us: outcome.began.as_micros(),
            healed_us: outcome.healed.as_micros(),
            began: outcome.began,
            turns: record.turns.iter().copied().take(REMARKS_MAX).collect(),
            arrows: arrows.take(ARROWS_MAX).cloned().collect(),
            remarks: record.remarks.iter().take(REMARKS_MAX).cloned().collect(),
        }
    }
}

#[derive(Serialize)]
struct Data<'a> {
    sheets: &'a [Sheet],
    films: &'a [Film],
}

pub(super) fn write(sheets: &[Sheet], films: &[Film], out: &mut impl Write) -> Result<(), CommandError> {
    let data =
        serde_json::to_string(&Data { sheets, films }).map_err(|error| failed("write the runs as JSON", error))?;
    // Inside of a script only this would end it early.
    let data = data.replace("</", "<\\/");
    Ok(out.write_all(PAGE.replacen(PLACE, &data, 1).as_bytes())?)
}
