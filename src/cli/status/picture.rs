//! A survey for people, and for programs.

use super::super::ask::{Silence, nobody};
use super::super::paint::{Paint, Tone};
use super::super::verdict::tell;
use super::survey::{Agreement, Seat, Survey, called};
use crate::runtime::printable::printable;
use serde_json::{Value, json};
use std::fmt::Write;

/// What stands above the columns.
const HEADS: [&str; 8] = ["", "node", "http", "does", "master", "term", "version", "answers"];

/// A cell, with its look.
type Cell = (Tone, String);

/// Says in one line what comes of a survey.
pub(super) fn headline(survey: &Survey) -> String {
    let count = survey.seats.len();
    let term = survey.views().map(|view| view.term).max().map_or_else(String::new, |term| term.to_string());
    match survey.verdict() {
        Agreement::Nobody => nobody(&survey.silent),
        Agreement::Agreed(master) => {
            let is_unasked = |seat: &&Seat| matches!(seat.told, Err(Silence::NotAsked));
            let unasked = survey.seats.iter().filter(is_unasked).count();
            let nodes = match (survey.views().count(), unasked) {
                (1, 0) => "the only node sees it".into(),
                (members, 0) => format!("all {members} nodes agree"),
                (members, unasked) => format!("all {members} nodes agree that can be asked, {unasked} cannot"),
            };
            format!("{master} is master of term {term}, {nodes}")
        }
        Agreement::Partly { master, blind, silent } => {
            let blind = (blind > 0).then(|| format!("{blind} of {count} nodes see no master"));
            let silent = (silent > 0).then(|| format!("{silent} of {count} nodes do not answer"));
            let parts: Vec<String> = blind.into_iter().chain(silent).collect();
            format!("{master} is master of term {term}, but {}", parts.join(" and "))
        }
        Agreement::Several(masters) => format!("nodes see different masters: {}", masters.join(", ")),
        Agreement::NoMaster => format!("no node sees a master, {} of {count} answer", survey.views().count()),
    }
}

/// The whole survey as text.
pub(super) fn picture(survey: &Survey, paint: Paint) -> String {
    let verdict = survey.verdict();
    let tone = match verdict {
        Agreement::Agreed(_) => Tone::Good,
        Agreement::Partly { .. } => Tone::Odd,
        Agreement::Nobody | Agreement::Several(_) | Agreement::NoMaster => Tone::Bad,
    };
    let cluster = survey.views().next().map(|view| format!("cluster {}: ", view.cluster_name)).unwrap_or_default();
    let mut text = format!(
        "{}{}\n",
        paint.paint(Tone::Strong, &printable(&cluster)),
        paint.paint(tone, &printable(&headline(survey)))
    );
    if !survey.seats.is_empty() {
        let heads = HEADS.map(|head| (Tone::Faint, head.to_owned()));
        let shown = |row: [Cell; 8]| row.map(|(tone, cell)| (tone, printable(&cell)));
        let rows: Vec<[Cell; 8]> = std::iter::once(heads).chain(survey.seats.iter().map(row).map(shown)).collect();
        let _ = write!(text, "\n{}", table(&rows, paint));
    }
    for finding in &survey.findings {
        let mut told = Vec::new();
        let _ = tell(finding, &mut told);
        text.push_str(&String::from_utf8_lossy(&told));
    }
    if let Some(place) = &survey.untold {
        let _ = writeln!(text, "\nwhether something is wrong is not known: {place} did not tell in time");
    }
    let blind = survey.views().find(|view| view.master_node.is_none());
    if let Some(view) = blind.filter(|_| survey.findings.is_empty()) {
        let _ = writeln!(text, "\n{}: {}", printable(&called(&view.node)), printable(&view.summary));
        for advice in &view.advice {
            let _ = writeln!(text, "  - {}", printable(advice));
        }
    }
    text
}

fn row(seat: &Seat) -> [Cell; 8] {
    let plain = |text: String| (Tone::Plain, text);
    let (name, place) = (plain(seat.name.clone()), plain(seat.place.clone()));
    let (view, time) = match &seat.told {
        Ok(told) => told,
        Err(why) => {
            let dash = || (Tone::Faint, "-".to_owned());
            let left = if seat.is_member { "" } else { ", not a member" };
            let why = (Tone::Bad, format!("{why}{left}"));
            return [(Tone::Plain, String::new()), name, place, dash(), dash(), dash(), dash(), why];
        }
    };
    let is_master = view.master_node.as_ref().is_some_and(|master| master.id == view.node.id);
    let star = (Tone::Good, if is_master { "*" } else { "" }.to_owned());
    let master = match &view.master_node {
        Some(master) => plain(called(master)),
        None => (Tone::Bad, "none".into()),
    };
    let mode = (if is_master { Tone::Good } else { Tone::Plain }, view.does());
    let (term, version) = (plain(view.term.to_string()), plain(view.committed.version.to_string()));
    [star, name, place, mode, master, term, version, (Tone::Faint, format!("{:.1} ms", time.as_secs_f64() * 1e3))]
}

/// Columns, aligned to the left; the painting takes no place.
fn table(rows: &[[Cell; 8]], paint: Paint) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].1.chars().count()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let last = row.len() - 1;
        for (column, (tone, cell)) in row.iter().enumerate() {
            let gap = if column == last { 0 } else { widths[column] - cell.chars().count() + 2 };
            let _ = write!(text, "{}{:gap$}", paint.paint(*tone, cell), "");
        }
        text.push('\n');
    }
    text
}

/// The whole survey as data.
pub(super) fn data(survey: &Survey) -> Value {
    let seats: Vec<Value> = survey.seats.iter().map(seat).collect();
    let master = match survey.verdict() {
        Agreement::Agreed(master) => Some(master),
        Agreement::Nobody | Agreement::Partly { .. } | Agreement::Several(_) | Agreement::NoMaster => None,
    };
    let summary = headline(survey);
    let verdicts = &survey.findings;
    let mut all = json!({ "agreed": master.is_some(), "master": master, "summary": summary, "verdicts": verdicts, "nodes": seats });
    if let Some(place) = &survey.untold {
        all["untold"] = place.to_string().into();
    }
    all
}

fn seat(seat: &Seat) -> Value {
    let common = |rest: Value| {
        let mut all = json!({ "name": seat.name, "http": seat.place, "member": seat.is_member });
        if let (Value::Object(all), Value::Object(rest)) = (&mut all, rest) {
            all.extend(rest);
        }
        all
    };
    match &seat.told {
        Err(why) => common(json!({ "error": why.to_string() })),
        Ok((view, time)) => common(json!({
            "id": view.node.id,
            "master": view.master_node.as_ref().map(called),
            "mode": view.mode,
            "drained": view.drained,
            "term": view.term,
            "version": view.committed.version,
            "millis": time.as_secs_f64() * 1e3,
            "summary": view.summary,
            "advice": view.advice,
        })),
    }
}
