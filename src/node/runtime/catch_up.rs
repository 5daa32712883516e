//! The changes that a node cannot have of its own states, brought from other members for those who wait at it; and what it
//! tells others of its own.
//!
//! What it missed, or what was before it was started, it asks other members for, once somebody wants it. One that is cut off
//! from the master alone has none to come: as long as somebody asks for changes now and then, it follows those of another
//! member.

use super::applied;
use super::changes::Rank;
use super::handle::Handle;
use crate::cluster::{Address, Revision, StateId};
use crate::service::watch::{Resume, Step};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use reqwest::StatusCode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Where a node's transport tells what changed.
pub(super) const PATH: &str = "/_zen/changes";

/// How many steps are told at a time, and about how many bytes.
const STEPS_MAX: usize = 256;
const BYTES_MAX: usize = 1 << 20;

/// How long a member waits for a change before it tells none.
const WAIT: Duration = Duration::from_secs(5);

/// How much longer its answer may take.
const ARRIVAL: Duration = Duration::from_secs(1);

/// How long a node is without a master before it asks others, for most have another one sooner; and how long it waits before it
/// asks again.
const PAUSE: Duration = Duration::from_millis(50);

/// How long after somebody asked for changes they are followed.
const INTEREST: Duration = Duration::from_secs(10);

/// How many members are asked for what this node missed, and how long each is waited for. The master comes first.
const ASKED_MAX: usize = 3;
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a watcher waits for them at the least, and for those whose turn it is before.
const FILLED_WITHIN: Duration = Duration::from_secs(2);

/// What none of them knew they are not asked again within this time.
const ASKED_AGAIN: Duration = Duration::from_secs(1);

/// How a watcher goes on from a state, or begins: by what is known here or, if that is told in time, elsewhere.
pub(crate) async fn resume(
    handle: &Handle,
    from: Option<Rank>,
    (steps_max, bytes_max): (usize, usize),
    deadline: Instant,
) -> Resume {
    let changes = handle.changes();
    let known = changes.resume(from, steps_max, bytes_max);
    let (Some(missed), Resume::Compacted(_)) = (from, &known) else {
        return known;
    };
    let deadline = deadline.max(Instant::now() + FILLED_WITHIN);
    // Late or in vain: the log says what it has.
    let _ = tokio::time::timeout_at(deadline, fill_in_turn(handle, missed)).await;
    changes.resume(from, steps_max, bytes_max)
}

/// Asks others for what is missing, unless somebody did before, or nobody knew it a moment ago.
async fn fill_in_turn(handle: &Handle, from: Rank) {
    let changes = handle.changes();
    let Ok(_turn) = changes.turn.acquire().await else {
        return;
    };
    let is_missing = matches!(changes.resume(Some(from), 0, 0), Resume::Compacted(_));
    // What was known before something was missed leads on from there.
    let from = changes.gap(from).unwrap_or(from);
    let is_unknown = changes.unknown.lock().is_some_and(|(rank, at)| from <= rank && at.elapsed() < ASKED_AGAIN);
    if is_missing && !is_unknown && !fill(handle, from).await {
        *changes.unknown.lock() = Some((from, Instant::now()));
    }
}

/// Fills the log with what leads from a state to the first one in it, if a member knows all of that.
async fn fill(handle: &Handle, from: Rank) -> bool {
    let changes = handle.changes();
    let (mut steps, mut at) = (Vec::new(), from);
    loop {
        let oldest = changes.log.lock().oldest();
        let of_one = |address| async move {
            match next_of_one(handle, address, at, PATIENCE).await? {
                Told::Steps(steps) if !steps.is_empty() => Some(steps),
                Told::Steps(_) | Told::Compacted(_) => None,
            }
        };
        let Some(next) = applied::first_of_others(handle, ASKED_MAX, of_one).await else {
            return false;
        };
        steps.extend(next.into_iter().take_while(|step| step.at.rank() <= oldest));
        let reached = steps.last().map_or(from, |step: &Arc<Step>| step.at.rank());
        let mut log = changes.log.lock();
        if log.fill(from, &steps) {
            return true;
        }
        if reached == at || !log.has_room_for(&steps) {
            return false;
        }
        at = reached;
    }
}

/// What a member tells of changes.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Steps(Vec<Arc<Step>>),
    /// What led to it is remembered no longer.
    Compacted(StateId),
}

/// Lets a node that has no master follow the changes of other members for a while.
pub(crate) fn follow_others(handle: &Handle) {
    let before = handle.changes().wanted.lock().replace(Instant::now() + INTEREST);
    if before.is_none() {
        tokio::spawn(follow(handle.clone()));
    }
}

async fn follow(handle: Handle) {
    loop {
        tokio::time::sleep(PAUSE).await;
        let is_over = |until: &mut Instant| *until <= Instant::now() || handle.has_ended();
        if handle.changes().wanted.lock().take_if(is_over).is_some() {
            return;
        }
        if handle.state().nodes.master.is_none() {
            follow_once(&handle).await;
        }
    }
}

async fn follow_once(handle: &Handle) {
    let changes = handle.changes();
    let Some(known) = changes.newest() else {
        return;
    };
    let of_one = |address| next_of_one(handle, address, known.rank(), WAIT + ARRIVAL);
    let told = applied::first_of_others(handle, usize::MAX, of_one).await;
    if told.is_some() {
        changes.hear();
    }
    match told {
        Some(Told::Steps(steps)) if steps.is_empty() => {}
        Some(Told::Steps(steps)) => changes.follow(steps),
        Some(Told::Compacted(at)) => {
            if let Some(state) = applied::of_others(handle, at).await {
                changes.advance(&state);
                changes.followed.notify_waiters();
            }
        }
        None => {}
    }
}

async fn next_of_one(handle: &Handle, address: Address, from: Rank, patience: Duration) -> Option<Told> {
    let (term, version) = from;
    let known = StateId { term, version, ..StateId::NONE };
    applied::ask_one(handle, address, format!("{PATH}?{known}"), patience).await
}

/// What changed behind the state that a query names, as soon as something did.
pub(super) async fn told(handle: &Handle, query: Option<&str>) -> Response {
    let Some(from) = query.and_then(|query| query.parse().ok()).map(Revision::rank) else {
        return (StatusCode::BAD_REQUEST, "the query names a state: TERM/VERSION, as in 3/17\n").into_response();
    };
    let Some(told) = next(handle, from).await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    match tokio::task::spawn_blocking(move || serde_json::to_vec(&told)).await {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Ok(Err(_)) | Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// The next changes; none if none are known and this node has no master either.
async fn next(handle: &Handle, from: Rank) -> Option<Told> {
    let deadline = Instant::now() + WAIT;
    let mut states = handle.states();
    loop {
        let has_master = states.borrow_and_update().nodes.master.is_some();
        let mut known = handle.changes().resume(Some(from), STEPS_MAX, BYTES_MAX);
        if matches!(known, Resume::Compacted(_)) && handle.changes().gap(from).is_some() {
            // In vain: the log says what it has.
            let _ = tokio::time::timeout(PATIENCE, fill_in_turn(handle, from)).await;
            known = handle.changes().resume(Some(from), STEPS_MAX, BYTES_MAX);
        }
        match known {
            Resume::Steps(steps) if !steps.is_empty() => return Some(Told::Steps(steps)),
            // It does not know whether there is more.
            Resume::Compacted(_) | Resume::Steps(_) | Resume::Ahead if !has_master => return None,
            Resume::Compacted(state) => return Some(Told::Compacted(state.id())),
            Resume::Steps(_) | Resume::Ahead => {}
        }
        match tokio::time::timeout_at(deadline, states.changed()).await {
            Ok(changed) => changed.ok()?,
            Err(_) => return Some(Told::Steps(Vec::new())),
        }
    }
}
