//! Hooks: programs that a node runs, and addresses that it posts to, when its master or its members change.
//!
//! ```text
//!   states ──► events ──► queue ──► one worker: exec or webhook, one after the other, each tried again a few times
//! ```
//!
//! Which ones there are is said by the local file alone: nothing that comes from the network, the cluster's settings included,
//! can make a node run anything. A hook never holds the node up. Elasticsearch 6.8 has nothing like it; etcd and Consul have
//! watches that run programs.

mod event;
mod run;

pub use event::{Event, Trigger};

use super::Handle;
use crate::settings::HookSettings;
use event::Watcher;
use parking_lot::Mutex;
use run::run;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// The logger of hooks.
pub const LOGGER: &str = "org.elasticsearch.watcher.Hooks";

/// How many events may wait for their hooks.
const QUEUE_MAX: usize = 256;

/// So long after what happened its hook is run: an election takes a third of that, and has the processors to itself meanwhile. A
/// node that is master no more is told at once.
const SETTLED: Duration = Duration::from_millis(20);

/// The pause before a hook is tried again; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);

/// What became of the hooks of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookOutcome {
    /// It was carried out.
    Done,
    /// It failed as often as it is tried.
    GivenUp,
    /// There was no room for it.
    Dropped,
}

impl HookOutcome {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            HookOutcome::Done => "done",
            HookOutcome::GivenUp => "given up",
            HookOutcome::Dropped => "dropped",
        }
    }
}

/// How often hooks ended how.
#[derive(Debug, Default)]
pub struct Tally(Mutex<BTreeMap<(Trigger, HookOutcome), u64>>);

impl Tally {
    fn count(&self, trigger: Trigger, outcome: HookOutcome) {
        *self.0.lock().entry((trigger, outcome)).or_default() += 1;
    }

    /// All of it.
    pub fn counts(&self) -> BTreeMap<(Trigger, HookOutcome), u64> {
        self.0.lock().clone()
    }
}

/// The hooks of a running node.
pub struct Hooks {
    settings: HookSettings,
    stop: oneshot::Sender<()>,
    done: oneshot::Receiver<()>,
}

impl Hooks {
    /// Watches a node from now on, on the runtime that this is called on; none if no hook is configured.
    pub fn start(handle: &Handle) -> Option<Hooks> {
        let settings = handle.settings().hooks.clone();
        if settings.on.is_empty() {
            return None;
        }
        let (stop, stopped) = oneshot::channel();
        let (finished, done) = oneshot::channel();
        let (queue, events) = mpsc::channel(QUEUE_MAX);
        let tally = handle.meter().hooks().clone();
        tokio::spawn(watch(handle.clone(), settings.clone(), queue, stopped, tally.clone()));
        let worker = work(settings.clone(), events, tally);
        tokio::spawn(async move {
            worker.await;
            // Nobody waits if the process is killed.
            let _ = finished.send(());
        });
        Some(Hooks { settings, stop, done })
    }

    /// The node has ended: if it was master until then it is told to have stepped down, and the hooks that wait are run, as
    /// long as one of them may take.
    pub async fn finish(self) {
        let _ = self.stop.send(());
        if tokio::time::timeout(self.settings.timeout, self.done).await.is_err() {
            tracing::warn!(target: LOGGER, "hooks that are not done within [{:?}] of the end are given up", self.settings.timeout);
        }
    }
}

/// Turns states into events, until the node ends.
async fn watch(
    handle: Handle,
    settings: HookSettings,
    queue: mpsc::Sender<(Instant, Event)>,
    mut stopped: oneshot::Receiver<()>,
    tally: Arc<Tally>,
) {
    let mut states = handle.states();
    let mut watcher = Watcher::new(handle.local().clone());
    let push = |events: Vec<Event>| {
        for event in events.into_iter().filter(|event| settings.on.contains_key(event.trigger.name())) {
            let trigger = event.trigger;
            if queue.try_send((Instant::now(), event)).is_err() {
                tally.count(trigger, HookOutcome::Dropped);
                tracing::warn!(target: LOGGER, "[{}] is dropped: [{QUEUE_MAX}] events wait for their hooks", trigger.name());
            }
        }
    };
    push(watcher.begin(&handle.state()));
    loop {
        let state = states.borrow_and_update().clone();
        push(watcher.see(&state));
        tokio::select! {
            changed = states.changed() => {
                if changed.is_err() {
                    break;
                }
            }
            _ = &mut stopped => break,
        }
    }
    push(watcher.end());
}

async fn work(settings: HookSettings, mut events: mpsc::Receiver<(Instant, Event)>, tally: Arc<Tally>) {
    while let Some((at, event)) = events.recv().await {
        let Some(hook) = settings.on.get(event.trigger.name()) else {
            continue;
        };
        if event.trigger != Trigger::StepDown {
            tokio::time::sleep_until(at + SETTLED).await;
        }
        let outcome = carry_out(&settings, hook, &event).await;
        tally.count(event.trigger, outcome);
    }
}

/// Tries a hook until it succeeds, or as often as it may be tried.
async fn carry_out(settings: &HookSettings, hook: &crate::settings::Hook, event: &Event) -> HookOutcome {
    let (name, mut pause) = (event.trigger.name(), PAUSE);
    for attempt in 1..=settings.attempts {
        let began = Instant::now();
        match run(hook, event, attempt, settings.timeout).await {
            Ok(()) => {
                tracing::debug!(target: LOGGER, "[{name}] in term [{}] took [{:?}]", event.term, began.elapsed());
                return HookOutcome::Done;
            }
            Err(why) => {
                let of = settings.attempts;
                tracing::warn!(target: LOGGER, "[{name}] in term [{}] failed ({attempt} of {of}): {why}", event.term);
            }
        }
        if attempt < settings.attempts {
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
    HookOutcome::GivenUp
}
