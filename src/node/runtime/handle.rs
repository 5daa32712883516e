//! What the rest of a process has of its node: the newest state, and a way to ask.
//!
//! Readers take an `Arc` and are never waited for; questions go to the task that owns the node.

use super::budget::Budget;
use super::changes::Changes;
use super::clock::Clock;
use super::coding::Coding;
use super::counts::{Counts, LastCounts};
use super::current::Current;
use super::drained::Drain;
use super::events::Events;
use super::faults::Faults;
use super::figures::{AskedRounds, Meter};
use super::sight::{DiskTrial, Reaches, Tries, Views};
use super::spans::Spans;
use super::surroundings::Surroundings;
use crate::cluster::{ClusterState, Node};
use crate::service::{Answer, Question};
use crate::settings::NodeSettings;
use crate::zen::Explanation;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// What reaches the task that owns the node from within its process.
pub(super) enum Request {
    /// A user asked.
    Ask(Question, oneshot::Sender<Answer>),
    /// A user wants to know why there is a master or none.
    Explain(oneshot::Sender<Explanation>),
    /// Dynamic settings were read again.
    Retune(Box<NodeSettings>),
    /// The node is to end.
    Stop(oneshot::Sender<()>),
}

/// A running node. Clones are handles of the same node, and cheap: every request takes some.
#[derive(Clone)]
pub struct Handle(Arc<Parts>);

/// What a handle shares with its clones.
pub(super) struct Parts {
    pub(super) settings: Current,
    pub(super) local: Arc<Node>,
    pub(super) requests: mpsc::Sender<Request>,
    pub(super) states: watch::Receiver<Arc<ClusterState>>,
    pub(super) counts: LastCounts,
    pub(super) changes: Arc<Changes>,
    pub(super) faults: Arc<Faults>,
    pub(super) meter: Arc<Meter>,
    pub(super) budget: Arc<Budget>,
    pub(super) events: Events,
    pub(super) tries: Arc<Tries>,
    pub(super) surroundings: Arc<Surroundings>,
    pub(super) drain: Arc<Drain>,
    pub(super) spans: Arc<Spans>,
    pub(super) coding: Coding,
    pub(super) rounds: Arc<AskedRounds>,
}

/// The other end of a handle: where its questions arrive and where its states come from.
pub struct RequestReceiver {
    requests: mpsc::Receiver<Request>,
    states: watch::Sender<Arc<ClusterState>>,
    changes: Arc<Changes>,
}

/// How many questions may wait at a desk.
const DESK_MAX: usize = 1_024;

impl RequestReceiver {
    /// The next question, and where its answer goes; none when all handles are gone.
    pub async fn next(&mut self) -> Option<(Question, oneshot::Sender<Answer>)> {
        loop {
            match self.requests.recv().await? {
                Request::Ask(question, answer) => return Some((question, answer)),
                // Nobody waits in vain: what is dropped is answered with nothing.
                Request::Explain(_) | Request::Retune(_) | Request::Stop(_) => {}
            }
        }
    }

    /// Shows a state to all that hold the handle.
    pub fn show(&self, state: Arc<ClusterState>) {
        self.changes.advance(&state);
        self.states.send_replace(state);
    }
}

impl Handle {
    pub(super) fn of(parts: Parts) -> Handle {
        Handle(Arc::new(parts))
    }

    /// A handle without a node behind it: whoever has the desk answers in its place.
    pub fn without_node(
        settings: NodeSettings,
        local: Arc<Node>,
        state: Arc<ClusterState>,
    ) -> (Handle, RequestReceiver) {
        let (asked, requests) = mpsc::channel(DESK_MAX);
        let (states, newest) = watch::channel(state);
        let faults = Arc::new(Faults::new(settings.faults));
        let changes = Arc::new(Changes::new());
        changes.advance(&newest.borrow());
        let desk = RequestReceiver { requests, states, changes: changes.clone() };
        let budget = Budget::new(settings.rest.memory);
        let settings = Current::new(settings);
        let meter = Arc::new(Meter::new(local.id.clone(), settings.clone()));
        let (events, drain, tries) = (Events::default(), Arc::default(), Arc::default());
        let requests = asked;
        let handle = Handle::of(Parts {
            settings,
            local,
            requests,
            states: newest,
            counts: LastCounts::default(),
            changes,
            faults,
            meter,
            budget,
            events,
            drain,
            spans: Arc::new(Spans::off(Clock::start())),
            tries,
            surroundings: Arc::default(),
            coding: Coding::start(),
            rounds: Arc::default(),
        });
        (handle, desk)
    }

    /// What takes the figures of this node.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.0.meter
    }

    /// The memory that requests and answers of users may take.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.0.budget
    }

    /// Which members answer this node.
    pub fn reaches(&self) -> &Reaches {
        &self.0.tries.reaches
    }

    /// What tries its disk.
    pub fn trial(&self) -> &DiskTrial {
        &self.0.tries.trial
    }

    /// What all members were seen to see last.
    pub fn views(&self) -> &Views {
        &self.0.tries.views
    }

    /// What it found out about the nodes around it.
    pub(super) fn surroundings(&self) -> &Arc<Surroundings> {
        &self.0.surroundings
    }

    /// What takes the spans of this node.
    pub fn spans(&self) -> &Arc<Spans> {
        &self.0.spans
    }

    /// The rounds in which nodes are asked for what they use and are.
    pub fn rounds(&self) -> &AskedRounds {
        &self.0.rounds
    }

    /// What writes and reads large messages.
    pub(super) fn coding(&self) -> &Coding {
        &self.0.coding
    }

    /// Whether the node is to be stopped soon.
    pub fn drain(&self) -> &Arc<Drain> {
        &self.0.drain
    }

    /// Cancelled when the node is about to leave: users who wait for something that may come late are told that it has not
    /// come, and ask another node.
    pub fn closing(&self) -> &CancellationToken {
        self.0.drain.closing()
    }

    /// Whether the node takes part no more.
    pub fn has_ended(&self) -> bool {
        self.0.requests.is_closed()
    }

    /// What the node runs by.
    pub fn settings(&self) -> Arc<NodeSettings> {
        self.0.settings.get()
    }

    /// Lets the node run by these from now on. What is not dynamic must be as it was.
    pub async fn retune(&self, settings: NodeSettings) {
        self.0.settings.set(settings.clone());
        // A node that has ended needs none.
        let _ = self.0.requests.send(Request::Retune(Box::new(settings))).await;
    }

    /// The node itself.
    pub fn local(&self) -> &Arc<Node> {
        &self.0.local
    }

    /// The newest state: the last applied one, without its master while there is none.
    pub fn state(&self) -> Arc<ClusterState> {
        self.0.states.borrow().clone()
    }

    /// The states as they come; a slow reader misses some, never the newest.
    pub fn states(&self) -> watch::Receiver<Arc<ClusterState>> {
        self.0.states.clone()
    }

    /// What is counted of a state, most often the newest one.
    pub fn counts(&self, state: &Arc<ClusterState>) -> Counts {
        self.0.counts.of(state)
    }

    /// The last changes from each applied state to the next. A change is there before its state is shown.
    pub fn changes(&self) -> &Changes {
        &self.0.changes
    }

    /// What became of the cluster, as this node saw it.
    pub fn events(&self) -> &Events {
        &self.0.events
    }

    /// The links of this node that are cut by request.
    pub fn faults(&self) -> &Arc<Faults> {
        &self.0.faults
    }

    /// Asks a question and waits for the answer.
    pub async fn ask(&self, question: Question) -> Answer {
        let (answer, answered) = oneshot::channel();
        let changes_nothing = matches!(question, Question::Read { .. } | Question::PendingTasks { .. });
        if self.0.requests.send(Request::Ask(question, answer)).await.is_err() {
            // No master was ever asked.
            return Answer::NoMaster;
        }
        let unknown = || Answer::Unknown { reason: "the node is shutting down".to_string() };
        answered.await.unwrap_or_else(|_| if changes_nothing { Answer::NoMaster } else { unknown() })
    }

    /// Why there is a master or none; nothing once the node has ended.
    pub async fn explain(&self) -> Option<Explanation> {
        let (explained, explanation) = oneshot::channel();
        self.0.requests.send(Request::Explain(explained)).await.ok()?;
        explanation.await.ok()
    }

    /// Leaves the cluster in good order: a follower says so, a master hands over. Returns when the cluster can do without
    /// this node, or did not answer in time.
    pub async fn leave(&self) {
        self.ask(Question::Leave).await;
    }

    /// Waits until the node takes part no more, whatever the reason.
    pub async fn ended(&self) {
        self.0.requests.closed().await;
    }

    /// Ends the node, and returns when it takes part no more.
    pub(super) async fn stop(&self) {
        let (stopped, ended) = oneshot::channel();
        if self.0.requests.send(Request::Stop(stopped)).await.is_ok() {
            // It ended by itself if it does not answer.
            let _ = ended.await;
        }
    }
}
