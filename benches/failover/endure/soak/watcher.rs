//! One who follows every change of keys and leases, through deaths and cuts, and writes down what he is told.

use super::desk::Desk;
use super::door::{client, runtime, straight};
use crate::clock::pause;
use crate::http::Http;
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use zazen::client::{Entry, LeaseView, News, Watch};
use zazen::cluster::{KeyValue, Lease, Revision, Term, Token, Version};
use zazen::protocol::Rng;
use zazen::service::watch::Change;
use zazen::sim::check::heard::Known;

/// How long one question waits for a change.
const WAIT: &str = "700ms";

/// The pause after a node that could not help.
const AGAIN: Duration = Duration::from_millis(20);

/// How long the library's client tries one question beyond what that waits.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) struct Watcher<'a> {
    number: usize,
    rng: Rng,
    desk: &'a Desk,
}

/// What a node answers to a question.
#[derive(Deserialize)]
struct Polled {
    at: String,
    steps: Vec<Step>,
    #[serde(default)]
    state: Option<State>,
}

#[derive(Deserialize)]
struct Step {
    at: String,
    changes: Vec<zazen::client::Change>,
}

#[derive(Deserialize)]
struct State {
    keys: Vec<Entry>,
    leases: Vec<LeaseView>,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(number: usize, rng: Rng, desk: &'a Desk) -> Self {
        Watcher { number, rng, desk }
    }

    /// Goes on until all is told.
    pub(super) fn run(mut self) {
        let outcome = if self.number.is_multiple_of(2) { self.by_library() } else { self.straight() };
        if let Err(what) = outcome {
            self.desk.tell(format!("watcher {}: {what}", self.number));
        }
    }

    fn is_over(&self) -> bool {
        self.desk.is_over(self.desk.chronicle.lock().heard.at(self.number))
    }

    /// The library's client goes where it finds an answer.
    fn by_library(&mut self) -> Result<(), String> {
        let (runtime, client) = (runtime()?, client(self.desk, PATIENCE)?);
        let mut watch: Watch = client.watch_kinds(&["keys", "leases"]);
        while !self.is_over() {
            match runtime.block_on(async { tokio::time::timeout(PATIENCE, watch.next()).await }) {
                Ok(Ok(News::State { at, keys, leases, .. })) => self.whole(&at, keys, &leases)?,
                Ok(Ok(News::Changes { at, changes })) => self.step(&at, changes)?,
                // What was asked is asked again, and nothing is lost by it.
                Ok(Err(_)) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// One node after the other, whoever leads.
    fn straight(&mut self) -> Result<(), String> {
        let mut nodes = straight(self.desk);
        let (mut at, mut from) = (0, None);
        while !self.is_over() {
            if self.rng.percent(10) {
                at = self.rng.below(nodes.len() as u64) as usize;
                self.desk.counts.moves.fetch_add(1, Ordering::Relaxed);
            }
            let Some(polled) = poll(&mut nodes[at], from.as_deref()) else {
                at = self.rng.below(nodes.len() as u64) as usize;
                pause(AGAIN);
                continue;
            };
            if let Some(State { keys, leases }) = polled.state {
                self.whole(&polled.at, keys, &leases)?;
            }
            polled.steps.into_iter().try_for_each(|step| self.step(&step.at, step.changes))?;
            from = Some(polled.at);
        }
        Ok(())
    }

    fn whole(&self, at: &str, keys: Vec<Entry>, leases: &[LeaseView]) -> Result<(), String> {
        let known = Known {
            keys: keys.into_iter().map(key).collect(),
            leases: leases.iter().map(lease).collect::<Result<_, _>>()?,
        };
        let verdict = self.desk.chronicle.lock().heard.whole(self.number, rank(at)?, known);
        verdict.map_err(|violation| violation.to_string())
    }

    fn step(&self, at: &str, changes: Vec<zazen::client::Change>) -> Result<(), String> {
        let changes = changes.into_iter().map(change).collect::<Result<_, _>>()?;
        let verdict = self.desk.chronicle.lock().heard.step(self.number, rank(at)?, changes);
        verdict.map_err(|violation| violation.to_string())
    }
}

fn poll(node: &mut Http, from: Option<&str>) -> Option<Polled> {
    let from = from.map(|from| format!("&from={from}")).unwrap_or_default();
    let reply = node.get(&format!("/_zazen/watch?kinds=keys,leases&wait_for={WAIT}{from}")).ok()?;
    serde_json::from_value(reply.json()?).ok()
}

fn rank(at: &str) -> Result<(Term, Version), String> {
    at.parse().map(|at: Revision| at.rank()).map_err(|_| format!("[{at}] names no state"))
}

fn key(entry: Entry) -> (Arc<str>, KeyValue) {
    (entry.key.into(), KeyValue { value: entry.value, changed: entry.revision, lease: entry.lease })
}

/// Whoever holds it; the rest is not told.
fn lease(view: &LeaseView) -> Result<(Arc<str>, Lease), String> {
    let token = Token::new(view.token).ok_or_else(|| format!("{} is no token", view.token))?;
    let (holder, ttl, granted) = (view.holder.as_str().into(), Duration::ZERO, Revision::default());
    Ok((view.name.as_str().into(), Lease { holder, token, ttl, granted }))
}

fn change(told: zazen::client::Change) -> Result<Change, String> {
    use zazen::client::Change as Told;
    match told {
        Told::Put { entry } => {
            let (key, value) = key(entry);
            Ok(Change::Key { key, value: Some(value) })
        }
        Told::Delete { key } => Ok(Change::Key { key: key.into(), value: None }),
        Told::Granted { lease: view } => {
            let (name, lease) = lease(&view)?;
            Ok(Change::Lease { name, lease: Some(lease) })
        }
        Told::Ended { name } => Ok(Change::Lease { name: name.into(), lease: None }),
        other @ (Told::Master { .. } | Told::Joined { .. } | Told::Left { .. } | Told::Setting { .. }) => {
            Err(format!("nobody asked for {other:?}"))
        }
    }
}
