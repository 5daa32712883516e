//! Which members answer this node.
//!
//! They are tried in the background when somebody looks, and at the most once in a while however many look. So the links of a
//! cluster can be shown between any two members, of which the protocol itself only uses those to and from the master.

use super::{HERE_PATH, Here};
use crate::cluster::{Node, NodeId};
use crate::runtime::figures::{Silence, of_all};
use crate::runtime::handle::Handle;
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a member may take to answer.
const TIMEOUT: Duration = Duration::from_millis(400);

/// How long it takes from the beginning of one round to that of the next, if somebody looks.
const PAUSE: Duration = Duration::from_millis(900);

/// A round that is younger is as good as another one.
const FRESH: Duration = Duration::from_millis(300);

/// How many members are tried.
const MEMBERS_MAX: usize = 32;

/// What became of trying a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReachOutcome {
    /// It answered.
    Answered,
    /// No connection could be made.
    NotConnected,
    /// Nothing came back in time.
    TimedOut,
    /// Another process answered.
    OtherProcess,
}

/// One member, tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// Who.
    pub node: NodeId,
    /// What became of it.
    pub outcome: ReachOutcome,
    /// How long that took.
    pub micros: u64,
}

/// The members as they were last tried.
#[derive(Debug, Default)]
pub struct Reaches(Mutex<Rounds>);

#[derive(Debug, Default)]
struct Rounds {
    began: Option<Instant>,
    /// When the round began that these were found in.
    found_from: Option<Instant>,
    found: Vec<Reach>,
}

impl Reaches {
    /// What the last round found; begins another one if that was a while ago.
    pub(super) fn look(&self, handle: &Handle) -> Vec<Reach> {
        let mut rounds = self.0.lock();
        let now = Instant::now();
        if rounds.began.is_none_or(|began| now.duration_since(began) >= PAUSE) {
            rounds.began = Some(now);
            let handle = handle.clone();
            tokio::spawn(async move { handle.reaches().go_round(&handle).await });
        }
        rounds.found.clone()
    }

    /// What is found now.
    pub(super) async fn look_now(&self, handle: &Handle) -> Vec<Reach> {
        let is_fresh = |from: Option<Instant>| from.is_some_and(|from| from.elapsed() < FRESH);
        if !is_fresh(self.0.lock().found_from) {
            self.go_round(handle).await;
        }
        self.0.lock().found.clone()
    }

    async fn go_round(&self, handle: &Handle) {
        let from = Instant::now();
        let found = round(handle).await;
        let mut rounds = self.0.lock();
        if rounds.found_from.is_none_or(|before| before <= from) {
            (rounds.found_from, rounds.found) = (Some(from), found);
        }
    }
}

/// Tries each member once.
async fn round(handle: &Handle) -> Vec<Reach> {
    let state = handle.state();
    let others = state.nodes.iter().filter(|node| !node.same_process(handle.local()));
    join_all(others.take(MEMBERS_MAX).map(|node| one(handle, node))).await
}

async fn one(handle: &Handle, node: &Arc<Node>) -> Reach {
    let began = Instant::now();
    let here = || std::future::ready(Some(Here::of(handle)));
    let asked = of_all(handle, vec![node.clone()], (HERE_PATH, TIMEOUT), here).await;
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    let told = asked.into_iter().next().map_or(Err(Silence::Strange), |(_, told)| told);
    let outcome = match told {
        Ok(Here { process, .. }) if process == node.ephemeral_id => ReachOutcome::Answered,
        Ok(_) | Err(Silence::Strange) => ReachOutcome::OtherProcess,
        Err(Silence::NotConnected) => ReachOutcome::NotConnected,
        Err(Silence::TimedOut(_)) => ReachOutcome::TimedOut,
    };
    Reach { node: node.id.clone(), outcome, micros }
}
