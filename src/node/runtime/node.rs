//! The task that owns a node: brings it what happens, and carries out what it wants.
//!
//! It decides nothing. What piled up is handled before a deadline that passed meanwhile, so that a stalled process sees
//! the answers that waited for it before it counts anybody's silence. Takes the place of the threads of `MasterService`,
//! `ClusterApplierService` and `ZenDiscovery` (6.8).

use super::changes::Changes;
use super::clock::Clock;
use super::events::Recorder;
use super::figures::Tally;
use super::handle::Request;
use super::journal::{Journal, Written};
use super::log::Log;
use super::metrics::Observer;
use super::seeds::Seeds;
use super::spans::PublishSpans;
use super::store::StoreError;
use super::transport::{CallOutcome, Caller, EncodeCache, Inbound, LinkId, Links, Manner, Received, ReplyTo};
use super::versions::{self, Spoken};
use crate::cluster::{Address, ClusterState};
use crate::protocol::{
    Call, Disk, Effect, Effects, Exchange, Failure, Input, Protocol, Resolution, StoreId, Ticket, Time,
};
use crate::service::{Answer, Question};
use crate::settings::NodeSettings;
use crate::zen::message::Body;
use crate::zen::{Memory, Message, Note, Zen};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// How many things that are ready are handled before the deadlines are looked at.
const BURST: usize = 256;

/// Sleeps are no longer than this; the node has always something to do earlier.
const SLEEP_MAX: Duration = Duration::from_secs(3_600);

/// What happened outside the core, from this process.
pub(super) enum Local {
    /// Writes are durable, or will never be.
    Written(Written),
    /// The seed hosts were looked up.
    Resolved(Resolution<Address>),
}

/// The ways in.
pub(super) struct Inboxes {
    /// From other nodes; bounded, so that they wait while this node is busy.
    pub(super) nodes: mpsc::Receiver<Inbound>,
    /// From the users of this process; bounded as well.
    pub(super) requests: mpsc::Receiver<Request>,
    /// What this node waits for itself: as much as it asked for.
    pub(super) outcomes: mpsc::UnboundedReceiver<CallOutcome>,
    /// The same, of its disk and its seed hosts.
    pub(super) local: mpsc::UnboundedReceiver<Local>,
}

/// What woke the task.
enum First {
    Local(Local),
    Outcome(CallOutcome),
    Request(Request),
    Inbound(Inbound),
}

/// How the task ended.
#[derive(Debug)]
pub enum Ended {
    /// It was asked to.
    Stopped,
    /// The disk failed: what it holds is not known, so the node takes part no more.
    DiskFailed(StoreError),
}

/// The node with all that it needs.
pub(super) struct Driver {
    pub(super) zen: Zen,
    pub(super) clock: Clock,
    pub(super) caller: Caller,
    pub(super) encode_cache: EncodeCache,
    pub(super) links: Links,
    pub(super) journal: Journal,
    pub(super) seeds: Arc<Seeds>,
    pub(super) log: Log,
    pub(super) recorder: Recorder,
    pub(super) states: watch::Sender<Arc<ClusterState>>,
    pub(super) publish_spans: PublishSpans,
    pub(super) changes: Arc<Changes>,
    pub(super) local: mpsc::UnboundedSender<Local>,
    pub(super) waiting: Waiting,
    pub(super) tally: Arc<Tally>,
    pub(super) observer: Observer,
    pub(super) spoken: Spoken,
    /// The version of what is kept that was agreed on.
    pub(super) disk: u32,
}

/// Who and what waits for the core or for the disk.
#[derive(Default)]
pub(super) struct Waiting {
    /// Effects that wait for a write.
    held: BTreeMap<StoreId, Vec<Effect<Zen>>>,
    replies: BTreeMap<Exchange, ReplyTo>,
    answers: BTreeMap<Ticket, oneshot::Sender<Answer>>,
    exchanges: u64,
    tickets: u64,
    stop: Option<oneshot::Sender<()>>,
    failure: Option<StoreError>,
}

/// When replies that nobody waits for any more are looked for.
const REPLIES_SWEEP: usize = 4_096;

impl Driver {
    /// Runs the node until it is asked to stop, or cannot go on.
    pub(super) async fn run(mut self, mut inboxes: Inboxes) -> Ended {
        self.recorder.started(&self.zen);
        self.handle(Input::Started);
        loop {
            let deadline = self.deadline();
            let first = tokio::select! {
                biased;
                Some(local) = inboxes.local.recv() => Some(First::Local(local)),
                Some(outcome) = inboxes.outcomes.recv() => Some(First::Outcome(outcome)),
                Some(request) = inboxes.requests.recv() => Some(First::Request(request)),
                Some(inbound) = inboxes.nodes.recv() => Some(First::Inbound(inbound)),
                () = tokio::time::sleep_until(deadline) => None,
            };
            self.step(first, &mut inboxes);
            if let Some(error) = self.disk_failure(&mut inboxes) {
                return Ended::DiskFailed(error);
            }
            if let Some(stopped) = self.waiting.stop.take() {
                // Whoever asked may have gone away.
                let _ = stopped.send(());
                return Ended::Stopped;
            }
        }
    }

    /// Handles what woke the task and what is ready besides; how long that takes is counted, as nothing else is heard
    /// meanwhile.
    fn step(&mut self, first: Option<First>, inboxes: &mut Inboxes) {
        let began = self.clock.now();
        match first {
            Some(First::Local(local)) => self.on_local(local),
            Some(First::Outcome(outcome)) => self.on_outcome(outcome),
            Some(First::Request(request)) => self.on_request(request),
            Some(First::Inbound(inbound)) => self.on_inbound(inbound),
            None => {}
        }
        self.take_burst(inboxes);
        for (id, peer) in self.links.close_robbed() {
            self.on_link_closed(id, peer);
        }
        self.wake_if_due();
        self.look_around(inboxes);
        self.tally.stepped(self.clock.now().since(began));
    }

    /// Tells what is measured how it stands.
    fn look_around(&mut self, inboxes: &Inboxes) {
        let waiting = [inboxes.nodes.len(), inboxes.requests.len(), inboxes.outcomes.len(), inboxes.local.len()];
        self.observer.unsynced(self.waiting.held.len());
        self.observer.rested(self.clock.now(), &self.zen, waiting, self.links.count());
    }

    /// Why nothing more can be written, if that is so. Of a thread that ended the last word may still be under way.
    fn disk_failure(&mut self, inboxes: &mut Inboxes) -> Option<StoreError> {
        let ended = self.journal.failure();
        while ended.is_some()
            && self.waiting.failure.is_none()
            && let Ok(local) = inboxes.local.try_recv()
        {
            self.on_local(local);
        }
        self.waiting.failure.take().or(ended)
    }

    fn deadline(&self) -> tokio::time::Instant {
        let core = self.zen.next_deadline().map(|(at, _)| at);
        let next = core.into_iter().chain(self.links.next_due()).chain(self.journal.next_due()).min();
        let latest = self.clock.now() + SLEEP_MAX;
        self.clock.at(next.map_or(latest, |next| next.min(latest)))
    }

    /// Handles what is ready already, within bounds.
    fn take_burst(&mut self, inboxes: &mut Inboxes) {
        for _ in 0..BURST {
            if let Ok(local) = inboxes.local.try_recv() {
                self.on_local(local);
            } else if let Ok(outcome) = inboxes.outcomes.try_recv() {
                self.on_outcome(outcome);
            } else if let Ok(request) = inboxes.requests.try_recv() {
                self.on_request(request);
            } else if let Ok(inbound) = inboxes.nodes.try_recv() {
                self.on_inbound(inbound);
            } else {
                return;
            }
        }
    }

    fn wake_if_due(&mut self) {
        let now = self.clock.now();
        self.journal.flush_if_due(now);
        for call in self.links.expired(now) {
            self.handle(Input::Failed { call, why: Failure::TimedOut });
        }
        if let Some((at, _)) = self.zen.next_deadline().filter(|(at, _)| *at <= now) {
            self.observer.woke(now.since(at));
            self.handle(Input::Woke);
        }
    }

    fn on_local(&mut self, local: Local) {
        match local {
            Local::Written(Written::UpTo(id)) => self.on_written(id),
            Local::Written(Written::Failed(error)) => self.waiting.failure = Some(error),
            Local::Resolved(resolution) => self.handle(Input::Resolved(resolution)),
        }
    }

    fn on_outcome(&mut self, outcome: CallOutcome) {
        self.caller.ended(outcome.call());
        match outcome {
            CallOutcome::Replied(call, message) => {
                self.hear(&message);
                self.handle(Input::Replied { call, message });
            }
            CallOutcome::Failed(call, why) => self.handle(Input::Failed { call, why }),
        }
    }

    /// What waited for a write is carried out, before the core hears of it.
    fn on_written(&mut self, last: StoreId) {
        while let Some(entry) = self.waiting.held.first_entry().filter(|entry| *entry.key() <= last) {
            let (id, held) = entry.remove_entry();
            for effect in held {
                self.carry_out(effect);
            }
            self.handle(Input::Stored(id));
        }
    }

    fn on_request(&mut self, request: Request) {
        match request {
            Request::Ask(question, answer) => self.ask(question, Some(answer)),
            Request::Explain(explained) => {
                // Whoever asked may have gone away.
                let _ = explained.send(self.zen.explain(self.clock.now()));
            }
            Request::Retune(settings) => self.retune(*settings),
            Request::Stop(stopped) => self.waiting.stop = Some(stopped),
        }
    }

    /// Runs by other numbers and logs on other levels from now on.
    fn retune(&mut self, settings: NodeSettings) {
        self.log.retune(&settings.log);
        let now = self.clock.now();
        let mut effects = Effects::default();
        self.zen.retune(now, settings.tuning, &mut effects);
        self.carry_out_all(now, effects);
    }

    fn ask(&mut self, question: Question, answer: Option<oneshot::Sender<Answer>>) {
        self.waiting.tickets += 1;
        let ticket = Ticket(self.waiting.tickets);
        if let Some(answer) = answer {
            self.waiting.answers.insert(ticket, answer);
        }
        self.handle(Input::Asked { ticket, question });
    }

    fn on_inbound(&mut self, inbound: Inbound) {
        match inbound {
            Inbound::Message { message, reply } => self.receive(message, reply),
            Inbound::LinkOpened { id, peer, side, lines } => self.links.opened(id, peer, side, lines),
            Inbound::LinkFrame { id, peer, frame } => match self.links.received(id, &peer, frame) {
                Some(Received::Request(message, reply)) => self.receive(message, reply),
                Some(Received::Reply(call, message)) => self.handle(Input::Replied { call, message }),
                Some(Received::TooLong(call, form, due)) => {
                    self.caller.send(&peer, call, form, due.since(self.clock.now()));
                }
                None => {}
            },
            Inbound::LinkClosed { id, peer } => self.on_link_closed(id, peer),
        }
    }

    fn on_link_closed(&mut self, id: LinkId, peer: Address) {
        let is_current = self.links.closed(id, &peer);
        for call in self.links.lost(id) {
            self.handle(Input::Failed { call, why: Failure::Reset });
        }
        if is_current {
            self.handle(Input::LinkClosed { peer });
        }
    }

    fn receive(&mut self, message: Message, reply: ReplyTo) {
        self.hear(&message);
        if let Message::Publish { body, .. } = &message {
            self.tally.published(matches!(body, Body::Full(_)));
        }
        self.waiting.exchanges += 1;
        let exchange = Exchange(self.waiting.exchanges);
        self.publish_spans.received(exchange, &message);
        self.waiting.expect(exchange, reply);
        self.handle(Input::Received { exchange, message });
    }

    /// Lets the core handle an input and carries out what it wants.
    fn handle(&mut self, input: Input<Zen>) {
        let mut effects = Effects::default();
        let now = self.clock.now();
        self.observe(now, &input);
        self.zen.handle(now, input, &mut effects);
        self.carry_out_all(now, effects);
    }

    /// Carries out what the core wants. Nothing waits for a lazy write.
    fn carry_out_all(&mut self, now: Time, mut effects: Effects<Zen>) {
        let mut after = None;
        for effect in effects.drain() {
            match (effect, after) {
                (Effect::Store { id, write }, _) => {
                    self.waiting.held.insert(id, Vec::new());
                    after = if Memory::is_lazy(&write) { after } else { Some(id) };
                    self.journal.write(now, id, write);
                }
                (effect, Some(id)) => self.waiting.held.entry(id).or_default().push(effect),
                (effect, None) => self.carry_out(effect),
            }
        }
        self.observer.stepped(now, self.clock.now(), &self.zen);
        self.publish_spans.stepped(now, &self.zen);
    }

    fn observe(&mut self, now: Time, input: &Input<Zen>) {
        match input {
            Input::Replied { call, .. } => self.observer.replied(now, *call),
            Input::Failed { call, .. } => self.observer.failed(*call),
            Input::Started
            | Input::Received { .. }
            | Input::LinkClosed { .. }
            | Input::Woke
            | Input::Stored(_)
            | Input::Resolved(_)
            | Input::Asked { .. } => {}
        }
    }

    fn carry_out(&mut self, effect: Effect<Zen>) {
        match effect {
            Effect::Send { to, call, message, timeout } => self.send(&to, call, message, timeout),
            // What is small went over the link at once.
            Effect::Cancel { call } => self.caller.cancel(call),
            Effect::Tell { to, message } => self.caller.tell(&to, &message, self.spoken.of(&to)),
            Effect::Reply { exchange, message } => self.reply(exchange, message),
            Effect::Store { id, write } => self.journal.write(self.clock.now(), id, write),
            Effect::Link { to } => self.links.hold(to),
            Effect::Unlink { to } => self.links.let_go(&to),
            Effect::Resolve => self.resolve(),
            Effect::Apply(state) => self.apply(state),
            Effect::Answer { ticket, answer } => self.waiting.answer(ticket, answer),
            Effect::Note(note) => self.note(&note),
        }
    }

    /// Whoever speaks tells what he understands.
    fn hear(&mut self, message: &Message) {
        if let Some(from) = message.sender() {
            self.spoken.heard(&from.node);
        }
    }

    /// Takes up what all members of a state understand.
    fn agree(&mut self, state: &ClusterState) {
        if state.nodes.ptr_eq(&self.states.borrow().nodes) {
            return;
        }
        state.nodes.iter().for_each(|node| self.spoken.heard(node));
        // Nobody agrees without a master: who is alone may be one that was left behind.
        let disk = versions::disk_of(&state.nodes);
        if state.nodes.master.is_some() && disk > self.disk {
            self.disk = disk;
            self.journal.raise(disk);
        }
    }

    fn note(&mut self, note: &Note) {
        self.observer.noted(note);
        self.log.note(note);
        self.recorder.note(&self.zen, note);
    }

    fn apply(&mut self, state: Arc<ClusterState>) {
        self.log.heed(&state);
        self.observer.applied(self.clock.now(), &state);
        self.publish_spans.applied(&state);
        self.tally.applied();
        self.recorder.apply(&self.zen, &state);
        self.agree(&state);
        self.changes.advance(&state);
        // Readers need not be there.
        self.states.send_replace(state);
    }

    /// What is said often goes over the link to the peer, if there is one; everything else is a request of its own.
    fn send(&mut self, to: &Address, call: Call, message: Message, timeout: Duration) {
        let manner = Manner::of(&message);
        self.observer.sent(self.clock.now(), to, call, &message);
        let form = self.encode_cache.of(self.spoken.of(to), message);
        if !self.links.ask(to, call, (manner, &form), self.clock.now() + timeout) {
            self.caller.send(to, call, form, timeout);
        }
    }

    fn reply(&mut self, exchange: Exchange, message: Message) {
        if matches!(&message, Message::Report(report) if report.needs_full) {
            self.tally.misfitted();
        }
        self.publish_spans.replied(exchange);
        match self.waiting.replies.remove(&exchange) {
            // A caller that went away is told nothing.
            Some(ReplyTo::Caller(caller)) => drop(caller.send(message)),
            Some(ReplyTo::Link { lines, peer, number }) => {
                let version = self.spoken.of(&peer);
                self.links.reply(&lines, (&peer, version), number, &message);
            }
            Some(ReplyTo::Nobody) | None => {}
        }
    }

    fn resolve(&self) {
        let (seeds, local) = (self.seeds.clone(), self.local.clone());
        tokio::spawn(async move {
            // Nobody is left to be told when the node has ended.
            let _ = local.send(Local::Resolved(seeds.resolve().await));
        });
    }
}

impl Waiting {
    fn expect(&mut self, exchange: Exchange, reply: ReplyTo) {
        if self.replies.len() >= REPLIES_SWEEP && self.replies.len().is_multiple_of(REPLIES_SWEEP) {
            self.replies.retain(|_, reply| match reply {
                ReplyTo::Caller(caller) => !caller.is_closed(),
                ReplyTo::Link { lines, .. } => !lines.is_closed(),
                ReplyTo::Nobody => false,
            });
        }
        match reply {
            ReplyTo::Nobody => {}
            ReplyTo::Caller(_) | ReplyTo::Link { .. } => drop(self.replies.insert(exchange, reply)),
        }
    }

    fn answer(&mut self, ticket: Ticket, answer: Answer) {
        if let Some(asker) = self.answers.remove(&ticket) {
            // Whoever asked may have gone away.
            let _ = asker.send(answer);
        }
    }
}
