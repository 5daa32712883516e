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
use tokio::sync::{mpsc, oneshot, watch};
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

/// Why a hook that failed is not tried again.
#[derive(Clone, Copy, Debug, Default)]
struct Haste {
    /// The node ends.
    is_ending: bool,
    /// How often it was told to have stepped down: each of these is waited for by those whom an address belongs to now.
    step_downs: u64,
}

/// The hooks of a running node.
pub struct Hooks {
    settings: HookSettings,
    stop: oneshot::Sender<()>,
    haste: watch::Sender<Haste>,
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
        let (haste, hurries) = watch::channel(Haste::default());
        let told = Queue { events: queue, haste: haste.clone(), settings: settings.clone(), tally: tally.clone() };
        tokio::spawn(watch_states(handle.clone(), told, stopped));
        let worker = Worker { settings: settings.clone(), tally, haste: hurries, step_downs: 0 };
        tokio::spawn(async move {
            worker.run(events).await;
            // Nobody waits if the process is killed.
            let _ = finished.send(());
        });
        Some(Hooks { settings, stop, haste, done })
    }

    /// The node has ended: if it was master until then it is told to have stepped down, once the hook that runs is done or
    /// its time is over; all others that wait are run as long as one of them may take.
    pub async fn finish(self) {
        self.haste.send_modify(|haste| haste.is_ending = true);
        let _ = self.stop.send(());
        // One hook may be under way, and one that tells of the end behind it.
        let longest = self.settings.timeout.saturating_mul(2).saturating_add(SETTLED);
        if tokio::time::timeout(longest, self.done).await.is_err() {
            tracing::warn!(target: LOGGER, "the hooks are not done within [{longest:?}] of the end, and are given up");
        }
    }
}

/// Where events wait for their hooks.
struct Queue {
    events: mpsc::Sender<(Instant, Event)>,
    haste: watch::Sender<Haste>,
    settings: HookSettings,
    tally: Arc<Tally>,
}

impl Queue {
    /// Those that have a hook wait from now on.
    fn push(&self, events: Vec<Event>) {
        for event in events.into_iter().filter(|event| self.settings.on.contains_key(event.trigger.name())) {
            let trigger = event.trigger;
            if self.events.try_send((Instant::now(), event)).is_err() {
                self.tally.count(trigger, HookOutcome::Dropped);
                tracing::warn!(target: LOGGER, "[{}] is dropped: [{QUEUE_MAX}] events wait for their hooks", trigger.name());
            } else if trigger == Trigger::StepDown {
                self.haste.send_modify(|haste| haste.step_downs += 1);
            }
        }
    }
}

/// Turns states into events, until the node ends.
async fn watch_states(handle: Handle, queue: Queue, mut stopped: oneshot::Receiver<()>) {
    let mut states = handle.states();
    let mut watcher = Watcher::new(handle.local().clone());
    queue.push(watcher.begin(&handle.state()));
    loop {
        let state = states.borrow_and_update().clone();
        queue.push(watcher.see(&state));
        tokio::select! {
            changed = states.changed() => {
                if changed.is_err() {
                    break;
                }
            }
            _ = &mut stopped => break,
        }
    }
    queue.push(watcher.end());
}

/// What runs the hooks, one after the other.
struct Worker {
    settings: HookSettings,
    tally: Arc<Tally>,
    haste: watch::Receiver<Haste>,
    /// How many of those that tell that it is master no more were begun.
    step_downs: u64,
}

impl Worker {
    /// Runs what comes, until no more does.
    async fn run(mut self, mut events: mpsc::Receiver<(Instant, Event)>) {
        while let Some((at, event)) = events.recv().await {
            if event.trigger == Trigger::StepDown {
                self.step_downs += 1;
            } else {
                // At the end, and before what tells that it is master no more, nothing is waited for.
                self.hurries_within((at + SETTLED).saturating_duration_since(Instant::now())).await;
            }
            if self.haste.borrow().is_ending {
                return self.run_last(event, events).await;
            }
            let outcome = self.carry_out(&event).await;
            self.tally.count(event.trigger, outcome);
        }
    }

    /// Runs what waits at the end of the node: first what tells that it is master no more, whatever came before.
    async fn run_last(&self, first: Event, mut events: mpsc::Receiver<(Instant, Event)>) {
        let until = Instant::now() + self.settings.timeout;
        let mut waiting = vec![first];
        // There are no more of them once the states end.
        while let Some((_, event)) = events.recv().await {
            waiting.push(event);
        }
        waiting.sort_by_key(|event| event.trigger != Trigger::StepDown);
        for event in waiting {
            // What was under way may have taken all the time that there is for the others.
            let deadline =
                if event.trigger == Trigger::StepDown { Instant::now() + self.settings.timeout } else { until };
            let outcome = tokio::time::timeout_at(deadline, self.carry_out(&event)).await;
            let outcome = outcome.unwrap_or_else(|_| {
                let Event { trigger, number, term, .. } = &event;
                tracing::warn!(target: LOGGER, "[{}], event [{number}] of term [{term}], is given up at the end", trigger.name());
                HookOutcome::GivenUp
            });
            self.tally.count(event.trigger, outcome);
        }
    }

    /// Tries a hook until it succeeds, or as often as it may be tried; no more after it failed when the node ends meanwhile or
    /// the one that tells that it is master no more waits behind it. That one is tried as often as it may be.
    async fn carry_out(&self, event: &Event) -> HookOutcome {
        let (settings, name, mut pause) = (&self.settings, event.trigger.name(), PAUSE);
        let Some(hook) = settings.on.get(name) else { return HookOutcome::Done };
        let gives_way = event.trigger != Trigger::StepDown && !self.haste.borrow().is_ending;
        for attempt in 1..=settings.attempts {
            let began = Instant::now();
            match run(hook, event, attempt, settings.timeout).await {
                Ok(()) => {
                    tracing::debug!(target: LOGGER, "[{name}] in term [{}] took [{:?}]", event.term, began.elapsed());
                    return HookOutcome::Done;
                }
                Err(why) => {
                    let (number, of) = (event.number, settings.attempts);
                    tracing::warn!(
                        target: LOGGER,
                        "[{name}], event [{number}] of term [{}], failed ({attempt} of {of}): {why}", event.term
                    );
                }
            }
            if attempt < settings.attempts {
                match gives_way {
                    // What waits behind it has little time then.
                    true if self.hurries_within(pause).await => break,
                    true => {}
                    false => tokio::time::sleep(pause).await,
                }
                pause *= 2;
            }
        }
        HookOutcome::GivenUp
    }

    /// Waits for so long, or until the node ends or steps down, and tells whether it does.
    async fn hurries_within(&self, pause: Duration) -> bool {
        let mut haste = self.haste.clone();
        let hurry = async { haste.wait_for(|now| now.is_ending || now.step_downs > self.step_downs).await.is_ok() };
        tokio::time::timeout(pause, hurry).await.is_ok_and(|hurries| hurries)
    }
}
