//! `zazen events`: what became of a cluster, as its nodes saw it.
//!
//! Every node keeps a history of its own; they are asked one by one and put in the order of their clocks. What is recorded
//! is decided in `runtime::events`.

use super::ask::{Asker, Place, UrlArgs, nobody};
use super::status::nodes_of;
use super::{CommandError, CommandOutcome};
use crate::runtime::events::{Entry, Kind};
use crate::runtime::log::timestamp;
use crate::runtime::printable::line;
use clap::Args;
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// How long a node may take to tell its history.
const HISTORY_MAX: Duration = Duration::from_secs(2);

/// How often it is asked again.
const AGAIN: Duration = Duration::from_millis(500);

/// How many nodes are asked at a time.
const ASKED_AT_A_TIME: usize = 16;

/// Tell what became of a cluster: elections, joins and leaves, changed settings.
///
/// Every node that answers is asked for what it saw, and keeps the last 1,000 transitions over restarts. What the kinds mean
/// stands in docs/history.md.
///
/// Exit codes: 0 some node answered, 1 none did, 2 the arguments make no sense.
#[derive(Debug, Args)]
pub(super) struct EventsArgs {
    #[command(flatten)]
    urls: UrlArgs,
    /// Go on with what happens, until Ctrl-C.
    #[arg(long, short)]
    follow: bool,
    /// Show so many at the beginning, the newest ones.
    #[arg(long, value_name = "COUNT", default_value_t = 40)]
    size: usize,
    /// Only what this node saw, by name.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Print JSON, one object a line.
    #[arg(long)]
    json: bool,
}

/// What a node answers.
#[derive(Debug, Deserialize)]
struct History {
    node: Teller,
    last: u64,
    entries: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
struct Teller {
    name: String,
}

/// How far each place has told.
type Positions = BTreeMap<Place, u64>;

impl EventsArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let runtime = super::runtime()?;
        runtime.block_on(self.tell(out))
    }

    async fn tell(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let (asker, mut told) = (Asker::new(&self.urls.access()?)?, Positions::new());
        let (places, silent) = nodes_of(&asker, &self.urls.places(), &self.urls.given()).await;
        let mut first = self.newer(&asker, &places, &mut told).await;
        if told.is_empty() {
            return Err(CommandError::Failed(self.refusal(&asker, &places).await.unwrap_or_else(|| nobody(&silent))));
        }
        let surplus = first.len().saturating_sub(self.size);
        self.print(first.split_off(surplus), out)?;
        if self.follow { self.go_on(&asker, &places, &mut told, out).await } else { Ok(CommandOutcome::Fine) }
    }

    /// What a node answers that is there and tells nothing.
    async fn refusal(&self, asker: &Asker, places: &[Place]) -> Option<String> {
        let place = places.first()?;
        let told = asker.ask::<History>(place, "/_zazen/history?since=0", HISTORY_MAX).await;
        told.err().map(|why| format!("cannot read the history of [{place}]: {why}"))
    }

    /// Tells what happens, until Ctrl-C.
    async fn go_on(
        &self,
        asker: &Asker,
        places: &[Place],
        told: &mut Positions,
        out: &mut impl Write,
    ) -> Result<CommandOutcome, CommandError> {
        let interrupted = tokio::signal::ctrl_c();
        tokio::pin!(interrupted);
        loop {
            out.flush()?;
            tokio::select! {
                () = tokio::time::sleep(AGAIN) => {}
                _ = &mut interrupted => return Ok(CommandOutcome::Fine),
            }
            // Who came since is asked as well.
            let (now, _) = nodes_of(asker, places, places).await;
            let newer = self.newer(asker, &now, told).await;
            self.print(newer, out)?;
        }
    }

    /// What all of these have to tell that was not told, in the order of their clocks.
    async fn newer(&self, asker: &Asker, places: &[Place], told: &mut Positions) -> Vec<(String, Entry)> {
        let asked: Vec<(Place, u64)> =
            places.iter().map(|place| (place.clone(), told.get(place).copied().unwrap_or(0))).collect();
        let ask = |(place, since): (Place, u64)| async move {
            let path = |since| format!("/_zazen/history?since={since}");
            let history: Result<History, _> = asker.ask(&place, &path(since), HISTORY_MAX).await;
            // A node whose history is gone counts anew, and nothing of that was told.
            if history.as_ref().is_ok_and(|history| history.last < since) {
                let anew = asker.ask(&place, &path(0), HISTORY_MAX).await;
                return (place, anew);
            }
            (place, history)
        };
        let answers: Vec<_> = stream::iter(asked).map(ask).buffered(ASKED_AT_A_TIME).collect().await;
        let mut newer = Vec::new();
        for (place, history) in answers {
            if let Ok(history) = history {
                told.insert(place, history.last);
                let name = history.node.name;
                newer.extend(history.entries.into_iter().map(|entry| (name.clone(), entry)));
            }
        }
        newer.retain(|(name, _)| self.node.as_ref().is_none_or(|wanted| wanted == name));
        newer.sort_by_key(|(name, entry)| (entry.timestamp_millis, name.clone(), entry.sequence));
        newer
    }

    fn print(&self, entries: Vec<(String, Entry)>, out: &mut impl Write) -> io::Result<()> {
        let width = entries.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, entry) in entries {
            if self.json {
                let mut value = serde_json::to_value(&entry)?;
                value["seen_by"] = json!(name);
                writeln!(out, "{value}")?;
            } else {
                line(out, format_args!("{} {name:<width$} {}", stamp(entry.timestamp_millis), words(&entry)))?;
            }
        }
        Ok(())
    }
}

/// What happened, in a line.
pub(super) fn words(entry: &Entry) -> String {
    let subject = entry.node.as_ref().map(|node| node.name.to_string()).unwrap_or_default();
    let mut line = format!("{:<18} {subject:<8} term {} version {}", entry.kind.name(), entry.term, entry.version);
    if !entry.reason.is_empty() {
        line = format!("{line}  {}", entry.reason);
    }
    let details: Vec<String> = entry.details.iter().map(|(name, value)| detail(entry.kind, name, value)).collect();
    if details.is_empty() { line } else { format!("{line}  [{}]", details.join(", ")) }
}

fn detail(kind: Kind, name: &str, value: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "unset".into(),
        Value::Array(values) => {
            let names: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            format!("{{{}}}", names.join(","))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    };
    if kind == Kind::SettingsChanged {
        return format!("{name}: {} -> {}", text(&value["from"]), text(&value["to"]));
    }
    match name.strip_suffix("_millis") {
        Some(name) => format!("{name} {}ms", text(value)),
        None => format!("{name} {}", text(value)),
    }
}

/// A time of day and date that sorts, in UTC.
pub(super) fn stamp(millis: u64) -> String {
    timestamp(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_move_the_cursor_is_shown() {
        let entry: Entry = serde_json::from_value(json!({
            "sequence": 1, "timestamp_millis": 0, "kind": "node-left", "term": 2, "version": 3,
            "node": {"id": "i", "name": "a\u{1b}[2J", "address": "127.0.0.1:9300"}, "reason": "why\n1970", "details": {},
        }))
        .expect("it is an entry");
        let mut out = Vec::new();

        let urls = UrlArgs::default();
        let events = EventsArgs { urls, follow: false, size: 1, node: None, json: false };
        events.print(vec![("b\u{9b}".into(), entry)], &mut out).expect("it is memory");
        let line = String::from_utf8(out).expect("it is text");
        let end = "b\\u{9b} node-left          a\\u{1b}[2J    term 2 version 3  why\\n1970\n";
        assert!(line.ends_with(end), "{line:?}");
    }

    #[test]
    fn an_entry_is_a_line() {
        let entry = |kind: &str, details: Value| -> Entry {
            let value = json!({
                "sequence": 1, "timestamp_millis": 0, "kind": kind, "term": 2, "version": 3,
                "node": {"id": "i", "name": "a", "address": "127.0.0.1:9300"}, "reason": "why", "details": details,
            });
            serde_json::from_value(value).expect("it is an entry")
        };
        let won = entry("election-won", json!({"votes": ["a", "b"], "duration_millis": 7}));
        assert_eq!(words(&won), "election-won       a        term 2 version 3  why  [duration 7ms, votes {a,b}]");
        let changed = entry("settings-changed", json!({"k": {"set": "transient", "from": null, "to": "1"}}));
        assert_eq!(words(&changed), "settings-changed   a        term 2 version 3  why  [k: unset -> 1]");
        assert_eq!(stamp(1_000), "1970-01-01T00:00:01,000");
    }
}
