//! Looks for what a node sees of its cluster, when somebody asks.
//!
//! Whoever asks gets what is known at once. Nothing here is asked for unless somebody watches: members are tried in the
//! background when somebody looks.

use super::ask::of_all;
use super::figures::{Meter, Silence};
use super::handle::Handle;
use super::sight::{Configured, HERE_PATH, Here, Reach, ReachOutcome, Sight, Wanted};
use crate::cluster::Node;
use crate::settings::Value;
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a member may take to answer.
const TIMEOUT: Duration = Duration::from_millis(400);

/// How many members are tried.
const MEMBERS_MAX: usize = 32;

/// What this node sees; nothing once it has ended.
pub(crate) async fn look(handle: Handle, wanted: Wanted) -> Option<Sight> {
    let explanation = serde_json::to_value(handle.explain().await?).ok()?;
    let figures = handle.meter().read(Meter::measure).await;
    let (reaches, disk) = match wanted.trial {
        true => {
            let settings = handle.settings();
            tokio::join!(reaches_now(&handle), handle.trial().run(&settings.path_data))
        }
        false => (reaches_of_late(&handle), None),
    };
    let events = handle
        .events()
        .since(None, wanted.events)
        .iter()
        .filter_map(|event| serde_json::to_value(event).ok())
        .collect();
    let (node, drained) = (handle.local().id.clone(), handle.drain().is_on());
    Some(Sight { node, explanation, drained, disk, figures, settings: told(&handle), reaches, events })
}

fn told(handle: &Handle) -> BTreeMap<String, Configured> {
    let settings = handle.settings();
    let told = |(key, value): (&String, &Value)| {
        let from = settings.origins.get(key).cloned().unwrap_or_default();
        (key.clone(), Configured { value: value.joined(), from })
    };
    settings.given.iter().map(told).collect()
}

/// What the last round found; begins another one if that was a while ago.
fn reaches_of_late(handle: &Handle) -> Vec<Reach> {
    if handle.reaches().take_turn() {
        let handle = handle.clone();
        tokio::spawn(async move { go_round(&handle).await });
    }
    handle.reaches().found()
}

/// What is found now.
async fn reaches_now(handle: &Handle) -> Vec<Reach> {
    if !handle.reaches().are_fresh() {
        go_round(handle).await;
    }
    handle.reaches().found()
}

async fn go_round(handle: &Handle) {
    let from = Instant::now();
    handle.reaches().keep(from, round(handle).await);
}

/// Tries each member once.
async fn round(handle: &Handle) -> Vec<Reach> {
    let state = handle.state();
    let others = state.nodes.iter().filter(|node| !node.same_process(handle.local()));
    join_all(others.take(MEMBERS_MAX).map(|node| one(handle, node))).await
}

async fn one(handle: &Handle, node: &Arc<Node>) -> Reach {
    let began = Instant::now();
    let here = || std::future::ready(Some(Here::of(handle.local())));
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
