//! The changes from each committed state to the next, for those who wait at this node.
//!
//! A node that follows a master has them of its own states. One that is cut off from the master alone has none to come: as
//! long as somebody asks for changes now and then, it follows those of another member. Takes the place of nothing: Elasticsearch (6.8) has no
//! watches.

use super::applied;
use super::handle::Handle;
use crate::cluster::{Address, ClusterState, Revision, StateId, Term, Version};
use crate::service::watch::{ChangeLog, Resume, Step};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use reqwest::StatusCode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
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

type Rank = (Term, Version);

/// What this node knows of changes.
#[derive(Debug, Default)]
pub struct Changes {
    log: Mutex<ChangeLog>,
    followed: Notify,
    /// Until when those of others are followed, if they are: by one task for all that wait.
    wanted: Mutex<Option<Instant>>,
}

impl Changes {
    /// Takes the next applied state in.
    pub fn advance(&self, state: &Arc<ClusterState>) {
        self.log.lock().advance(state);
    }

    /// How a watcher goes on from a state, or begins.
    pub fn resume(&self, from: Option<Rank>, steps_max: usize, bytes_max: usize) -> Resume {
        let log = self.log.lock();
        match from {
            Some(from) => log.resume(from, steps_max, bytes_max),
            None => log.newest().cloned().map_or(Resume::Ahead, Resume::Compacted),
        }
    }

    /// Ends with the next changes that come from others, from now on.
    pub fn followed(&self) -> Notified<'_> {
        self.followed.notified()
    }

    fn newest(&self) -> Option<StateId> {
        self.log.lock().newest().map(|state| state.id())
    }

    fn follow(&self, steps: Vec<Arc<Step>>) {
        let mut log = self.log.lock();
        for step in steps {
            log.follow(step);
        }
        drop(log);
        self.followed.notify_waiters();
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
    match applied::first_of_others(handle, |address| next_of_one(handle, address, known)).await {
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

async fn next_of_one(handle: &Handle, address: Address, known: StateId) -> Option<Told> {
    applied::ask_one(handle, address, format!("{PATH}?{known}"), WAIT + ARRIVAL).await
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

/// The next changes; none if this node has no master either.
async fn next(handle: &Handle, from: Rank) -> Option<Told> {
    let deadline = Instant::now() + WAIT;
    let mut states = handle.states();
    loop {
        states.borrow_and_update().nodes.master.as_ref()?;
        match handle.changes().resume(Some(from), STEPS_MAX, BYTES_MAX) {
            Resume::Compacted(state) => return Some(Told::Compacted(state.id())),
            Resume::Steps(steps) if !steps.is_empty() => return Some(Told::Steps(steps)),
            Resume::Steps(_) | Resume::Ahead => {}
        }
        match tokio::time::timeout_at(deadline, states.changed()).await {
            Ok(changed) => changed.ok()?,
            Err(_) => return Some(Told::Steps(Vec::new())),
        }
    }
}
