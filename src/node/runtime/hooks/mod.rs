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
mod queue;
mod run;

pub use super::hook_tally::{HookOutcome, Tally, Trigger};
pub use event::Event;

use super::Handle;
use crate::settings::HookSettings;
use event::Watcher;
use queue::Queue;
use run::run;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The logger of hooks.
pub const LOGGER: &str = "org.elasticsearch.watcher.Hooks";

/// So long after what happened its hook is run: an election takes a third of that, and has the processors to itself meanwhile. A
/// node that is master no more is told at once.
const SETTLED: Duration = Duration::from_millis(20);

/// So long it takes to tell what is given up at the end.
const SLACK: Duration = Duration::from_millis(500);

/// The pause before a hook is tried again; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);

/// The hooks of a running node.
pub struct Hooks {
    settings: HookSettings,
    queue: Arc<Queue>,
    stop: oneshot::Sender<()>,
    worker: JoinHandle<()>,
}

impl Hooks {
    /// Watches a node from now on, on the runtime that this is called on; none if no hook is configured.
    pub fn start(handle: &Handle) -> Option<Hooks> {
        let settings = handle.settings().hooks.clone();
        if settings.on.is_empty() {
            return None;
        }
        let (stop, stopped) = oneshot::channel();
        let tally = handle.meter().hooks().clone();
        let queue = Arc::new(Queue::new(tally.clone()));
        tokio::spawn(watch_states(handle.clone(), queue.clone(), stopped));
        let worker = Worker { settings: settings.clone(), tally, queue: queue.clone() };
        Some(Hooks { settings, queue, stop, worker: tokio::spawn(worker.run()) })
    }

    /// The node has ended: if it was master until then it is told to have stepped down, once the hook that runs is done or
    /// its time is over; all others that wait are run as long as one of them may take.
    pub async fn finish(mut self) {
        self.queue.end();
        let _ = self.stop.send(());
        // One hook may be under way, and one that tells of the end behind it.
        let longest = self.settings.timeout.saturating_mul(2).saturating_add(SETTLED).saturating_add(SLACK);
        if tokio::time::timeout(longest, &mut self.worker).await.is_err() {
            tracing::warn!(target: LOGGER, "the hooks are not done within [{longest:?}] of the end, and are given up");
            self.worker.abort();
            // What it runs is ended with it.
            let _ = self.worker.await;
        }
    }
}

/// Turns states into events, until the node ends.
async fn watch_states(handle: Handle, queue: Arc<Queue>, mut stopped: oneshot::Receiver<()>) {
    let mut states = handle.states();
    let mut watcher = Watcher::new(handle.local().clone());
    let settings = handle.settings().hooks.clone();
    let push = |events: Vec<Event>| {
        let hooked = events.into_iter().filter(|event| settings.on.contains_key(event.trigger.name()));
        hooked.for_each(|event| queue.push(event));
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
    queue.close();
}

/// What runs the hooks, one after the other.
struct Worker {
    settings: HookSettings,
    tally: Arc<Tally>,
    queue: Arc<Queue>,
}

impl Worker {
    /// Runs what comes, until no more does.
    async fn run(self) {
        while let Some((at, event)) = self.queue.next().await {
            if event.trigger != Trigger::StepDown {
                // At the end, and before what tells that it is master no more, nothing is waited for.
                self.queue.hurries_within((at + SETTLED).saturating_duration_since(Instant::now())).await;
            }
            if self.queue.is_ending() {
                return self.run_last(event).await;
            }
            let outcome = self.carry_out(&event).await;
            self.tally.count(event.trigger, outcome);
        }
    }

    /// Runs what waits at the end of the node. First comes what tells that it is master no more, with a time of its own; then
    /// the others, but for what was said of masters before the end, which would undo it.
    async fn run_last(&self, first: Event) {
        let until = Instant::now() + self.settings.timeout;
        let mut waiting = vec![first];
        while let Some((_, event)) = self.queue.next().await {
            waiting.push(event);
        }
        let last = |trigger| waiting.iter().rposition(|event| event.trigger == trigger);
        let (step_down, no_master) = (last(Trigger::StepDown), last(Trigger::NoMaster));
        if let Some(event) = step_down.map(|at| &waiting[at]) {
            self.run_until(Instant::now() + self.settings.timeout, event).await;
        }
        for (at, event) in waiting.iter().enumerate().filter(|(at, _)| Some(*at) != step_down) {
            match event.trigger {
                Trigger::StepDown | Trigger::MasterElected => self.give_up(event),
                Trigger::NoMaster if Some(at) != no_master => self.give_up(event),
                Trigger::NoMaster | Trigger::NodeJoined | Trigger::NodeLeft | Trigger::Reduced => {
                    self.run_until(until, event).await;
                }
            }
        }
    }

    /// Carries an event out if that is done in time.
    async fn run_until(&self, deadline: Instant, event: &Event) {
        if Instant::now() >= deadline {
            return self.give_up(event);
        }
        match tokio::time::timeout_at(deadline, self.carry_out(event)).await {
            Ok(outcome) => self.tally.count(event.trigger, outcome),
            Err(_) => self.give_up(event),
        }
    }

    fn give_up(&self, event: &Event) {
        let (name, Event { number, term, .. }) = (event.trigger.name(), event);
        tracing::warn!(target: LOGGER, "[{name}], event [{number}] of term [{term}], is given up at the end");
        self.tally.count(event.trigger, HookOutcome::GivenUp);
    }

    /// Tries a hook until it succeeds, or as often as it may be tried; no more after it failed when the node ends meanwhile or
    /// the one that tells that it is master no more waits behind it. That one is tried as often as it may be.
    async fn carry_out(&self, event: &Event) -> HookOutcome {
        let (settings, name, mut pause) = (&self.settings, event.trigger.name(), PAUSE);
        let Some(hook) = settings.on.get(name) else { return HookOutcome::Done };
        let gives_way = event.trigger != Trigger::StepDown && !self.queue.is_ending();
        for attempt in 1..=settings.attempts {
            let began = Instant::now();
            match run(hook, event, attempt, settings.timeout).await {
                Ok(()) => {
                    tracing::debug!(target: LOGGER, "[{name}] in term [{}] took [{:?}]", event.term, began.elapsed());
                    return HookOutcome::Done;
                }
                Err(why) => {
                    let (number, of) = (event.number, settings.attempts);
                    let end = if attempt == of { ", and is given up" } else { "" };
                    tracing::warn!(
                        target: LOGGER,
                        "[{name}], event [{number}] of term [{}], failed ({attempt} of {of}){end}: {why}", event.term
                    );
                }
            }
            if attempt < settings.attempts {
                match gives_way {
                    // What waits behind it has little time then.
                    true if self.queue.hurries_within(pause).await => {
                        let number = event.number;
                        tracing::warn!(target: LOGGER, "[{name}], event [{number}], is given up for what waits behind it");
                        break;
                    }
                    true => {}
                    false => tokio::time::sleep(pause).await,
                }
                pause *= 2;
            }
        }
        HookOutcome::GivenUp
    }
}

#[cfg(test)]
mod tests {
    use super::event::{Member, Summary};
    use super::*;
    use crate::settings::Hook;

    fn event(trigger: Trigger, number: u64) -> Event {
        let node = || Member { id: "a".into(), name: "a".into(), address: "a:1".into(), host: "a".into() };
        let (nodes, voting) = (Vec::new(), Vec::new());
        let state = Summary { version: 1, cluster_uuid: None, nodes, voting, voting_present: 1 };
        let (term, fencing_token, cluster_name) = (number, number, "prod".to_owned());
        let (node, master, is_master, subject) = (node(), None, false, None);
        Event { trigger, number, cluster_name, node, term, fencing_token, master, is_master, subject, state }
    }

    fn worker(events: impl IntoIterator<Item = (Trigger, u64)>) -> Worker {
        let hook = |trigger: Trigger| {
            let hook = Hook::Exec { program: "/bin/true".into(), arguments: Vec::new() };
            (trigger.name().to_owned(), hook)
        };
        let settings = HookSettings { on: Trigger::ALL.into_iter().map(hook).collect(), ..HookSettings::default() };
        let tally = Arc::new(Tally::default());
        let queue = Arc::new(Queue::new(tally.clone()));
        events.into_iter().for_each(|(trigger, number)| queue.push(event(trigger, number)));
        Worker { settings, tally, queue }
    }

    #[tokio::test]
    async fn at_the_end_the_last_step_down_is_told_and_nothing_of_masters_before_it() {
        use Trigger::{MasterElected, NoMaster, NodeJoined, StepDown};
        let before = [(MasterElected, 1), (StepDown, 2), (NoMaster, 3), (MasterElected, 4), (NodeJoined, 5)];
        let worker = worker(before.into_iter().chain([(StepDown, 6), (NoMaster, 7)]));
        let tally = worker.tally.clone();
        worker.queue.end();
        worker.queue.close();
        worker.run().await;
        let expected = [
            ((MasterElected, HookOutcome::GivenUp), 2),
            ((StepDown, HookOutcome::Done), 1),
            ((StepDown, HookOutcome::GivenUp), 1),
            ((NoMaster, HookOutcome::Done), 1),
            ((NoMaster, HookOutcome::GivenUp), 1),
            ((NodeJoined, HookOutcome::Done), 1),
        ];
        assert_eq!(tally.counts(), expected.into());
    }

    #[tokio::test]
    async fn of_too_many_the_oldest_goes_but_for_a_step_down() {
        let many = (2..400).map(|number| (Trigger::MasterElected, number));
        let worker = worker([(Trigger::StepDown, 1)].into_iter().chain(many));
        let dropped = worker.tally.counts();
        assert_eq!(dropped, [((Trigger::MasterElected, HookOutcome::Dropped), 143)].into());
        let first = worker.queue.next().await.map(|(_, event)| event.number);
        let second = worker.queue.next().await.map(|(_, event)| event.number);
        assert_eq!((first, second), (Some(1), Some(145)));
    }
}
