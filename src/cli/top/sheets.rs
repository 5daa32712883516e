//! What of a cluster is on each page, as rows.

use super::super::events::{stamp, words};
use super::super::paint::Tone;
use super::cells::{Cell, Row, Sheet, bytes, span};
use super::member;
use super::overview::{Overview, entries, name};
use super::page::Page;
use super::seen::Seen;
use crate::runtime::sight::ReachOutcome;
use serde_json::Value;
use std::collections::BTreeSet;

/// The rows of a page.
pub(super) fn sheet(page: Page, seen: &Seen) -> Sheet {
    let overview = seen.overview.as_ref().map(|(overview, ..)| &**overview);
    let told = seen.pages.get(&page).unwrap_or(&Value::Null);
    match (page, overview) {
        (Page::Members, Some(overview)) => member::sheet(overview),
        (Page::Links, Some(overview)) => links(overview),
        (Page::Events, Some(overview)) => events(overview),
        (Page::Members | Page::Links | Page::Events, None) => Sheet::default(),
        (Page::Keys, _) => keys(told),
        (Page::Leases, _) => leases(told),
        (Page::Tasks, _) => tasks(told),
        (Page::Settings, overview) => settings(told, overview),
    }
}

/// All that is known of one row, in lines.
pub(super) fn detail(page: Page, seen: &Seen, id: &str) -> Vec<String> {
    let overview = seen.overview.as_ref().map(|(overview, ..)| &**overview);
    let member = overview.and_then(|overview| overview.members.iter().find(|member| member.id.as_str() == id));
    if let (Page::Members, Some(overview), Some(member)) = (page, overview, member) {
        return member::detail(overview, member);
    }
    let sheet = sheet(page, seen);
    let Some(row) = sheet.rows.iter().find(|row| row.id == id) else { return vec!["It is gone.".into()] };
    let width = sheet.heads.iter().map(|head| head.chars().count()).max().unwrap_or(0);
    let line = |(head, cell): (&&str, &Cell)| format!("{head:<width$}  {}", cell.text);
    sheet.heads.iter().zip(&row.cells).map(line).collect()
}

fn links(overview: &Overview) -> Sheet {
    let tried = overview.members.iter().flat_map(|member| {
        let reaches = member.sight.iter().flat_map(|sight| &sight.reaches);
        reaches.map(move |reach| (member, reach))
    });
    let rows = tried.map(|(member, reach)| {
        let (tone, outcome) = match reach.outcome {
            ReachOutcome::Answered => (Tone::Good, "answers"),
            ReachOutcome::NotConnected => (Tone::Bad, "no connection"),
            ReachOutcome::TimedOut => (Tone::Bad, "no answer in time"),
            ReachOutcome::OtherProcess => (Tone::Odd, "another process answers"),
        };
        let millis = reach.micros as f64 / 1e3;
        let cells = [
            Cell::text(member.name.clone()),
            Cell::text(name(overview, &reach.node)),
            Cell::number(millis, format!("{millis:.1}ms")),
            Cell::text(outcome).toned(tone),
        ];
        Row::new(format!("{} {}", member.id, reach.node), cells)
    });
    Sheet::new(&["from", "to", "took", "outcome"], rows)
}

fn events(overview: &Overview) -> Sheet {
    let rows = entries(overview).map(|(member, entry)| {
        let at = stamp(entry.timestamp_millis);
        let cells = [
            // A node's events of the same millisecond stay in their order.
            Cell::number(entry.timestamp_millis as f64, at),
            Cell::text(member.name.clone()),
            Cell::text(words(&entry)),
        ];
        Row::new(format!("{} {}", member.id, entry.sequence), cells)
    });
    Sheet::new(&["when (UTC)", "seen by", "what"], rows)
}

fn list<'a>(told: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    told[name].as_array().into_iter().flatten()
}

fn text(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::dash(),
        Value::String(text) => Cell::text(text.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Cell::text(value.to_string()),
    }
}

fn figure(value: &Value, show: fn(u64) -> Cell) -> Cell {
    value.as_u64().map_or_else(Cell::dash, show)
}

fn keys(told: &Value) -> Sheet {
    let rows = list(told, "keys").map(|key| {
        let cells = [text(&key["key"]), figure(&key["bytes"], bytes), text(&key["revision"]), text(&key["lease"])];
        Row::new(key["key"].as_str().unwrap_or_default(), cells)
    });
    Sheet::new(&["key", "size", "revision", "lease"], rows)
}

fn leases(told: &Value) -> Sheet {
    let rows = list(told, "leases").map(|lease| {
        let cells = [
            text(&lease["name"]),
            figure(&lease["token"], Cell::count),
            figure(&lease["ttl_millis"], span),
            text(&lease["granted"]),
            text(&lease["holder"]),
        ];
        Row::new(lease["name"].as_str().unwrap_or_default(), cells)
    });
    Sheet::new(&["lease", "token", "ttl", "granted", "holder"], rows)
}

fn tasks(told: &Value) -> Sheet {
    let rows = list(told, "tasks").map(|task| {
        let order = figure(&task["insert_order"], Cell::count);
        let cells = [
            order.clone(),
            text(&task["priority"]),
            figure(&task["time_in_queue_millis"], span),
            text(&task["executing"]),
            text(&task["source"]),
        ];
        Row::new(order.text, cells)
    });
    Sheet::new(&["order", "priority", "waits", "runs", "source"], rows)
}

/// What each node was told, and what the cluster was; one row for a setting that all nodes have alike.
fn settings(told: &Value, overview: Option<&Overview>) -> Sheet {
    let cluster = ["persistent", "transient"].into_iter().flat_map(|set| {
        let settings = told[set].as_object().into_iter().flatten();
        settings.map(move |(key, value)| setting(key, text(value).text, "cluster", set))
    });
    let members = overview.into_iter().flat_map(|overview| &overview.members);
    let own = members.flat_map(|member| {
        let settings = member.sight.iter().flat_map(|sight| &sight.settings);
        settings.map(move |(key, told)| setting(key, told.value.clone(), &member.name, &told.from))
    });
    let mut ids = BTreeSet::new();
    let rows: Vec<Row> = cluster.chain(own).filter(|row| ids.insert(row.id.clone())).collect();
    Sheet::new(&["key", "value", "whose", "from"], rows)
}

fn setting(key: &str, value: String, whose: &str, from: &str) -> Row {
    let cells = [Cell::text(key), Cell::text(value), Cell::text(whose), Cell::text(from)];
    Row::new(format!("{key} {whose} {from}"), cells)
}
