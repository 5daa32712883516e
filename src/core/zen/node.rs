//! What all modes of a node share: who it is, what it has promised and accepted, what it waits for.
//!
//! Nothing here depends on the mode, and no method changes it.

use super::ask::{Ask, Origin};
use super::elect::Lost;
use super::message::{Message, Report, Sender};
use super::mode::Stance;
use super::round_trip::RoundTrips;
use super::rules::{Protection, Rules};
use super::search::Search;
use super::setbacks::Setbacks;
use super::slots::Slots;
use super::strangers::Strangers;
use super::{CallPurpose, Config, Ledger, Memory, Promise, Timer, Tuning, Write, Zen};
use crate::cluster::{Address, Block, ClusterState, EphemeralId, Node, NodeId, StateId, Term};
use crate::protocol::{Call, Effect, Effects, Exchange, Rng, Ticket, Time, Timers};
use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// How many states are kept for those who want to know of every change, while nobody says that they are committed.
const UNFOLLOWED_MAX: usize = 256;

/// What a node has in every mode.
#[derive(Clone)]
pub(super) struct NodeState {
    pub(super) config: Config,
    pub(super) rules: Rules,
    pub(super) tuning: Tuning,
    pub(super) local: Arc<Node>,
    pub(super) sender: Arc<Sender>,
    pub(super) rng: Rng,
    pub(super) ledger: Ledger,
    /// The newest committed state that was applied.
    pub(super) applied: Arc<ClusterState>,
    /// The same as readers see it: without its master while there is none.
    pub(super) shown: Arc<ClusterState>,
    /// The last state that was shown with its master.
    pub(super) followed: StateId,
    /// Accepted states between that and the accepted one, each made from the one before: committed when it is. A node that
    /// loses its master keeps them: the next master goes on from them.
    pub(super) unfollowed: Vec<Arc<ClusterState>>,
    /// Whether this process has applied a recovered state of its master.
    pub(super) has_recovered_state: bool,
    pub(super) search: Search,
    /// Masters that were lost or could not be joined, and when.
    pub(super) lost: BTreeMap<EphemeralId, Lost>,
    /// With whom it did not work out lately, this node included.
    pub(super) setbacks: Setbacks,
    /// How long answers take at the least.
    pub(super) round_trips: RoundTrips,
    /// Another process that goes by this node's id, and when it was last heard of.
    pub(super) twin: Option<(Arc<Node>, Time)>,
    pub(super) masterless_log: MasterlessLog,
    pub(super) strangers: Strangers,
    pub(super) timers: Timers<Timer>,
    pub(super) calls: BTreeMap<Call, CallPurpose>,
    pub(super) called: u64,
    pub(super) asks: BTreeMap<Ticket, Ask>,
    pub(super) slots: Slots,
    pub(super) leaving: Option<Ticket>,
    /// After a hand-over was agreed: who is to be asked for a vote, in which term and for whom.
    pub(super) successor: Option<Successor>,
    /// When the present input came.
    pub(super) now: Time,
    /// The node was stalled and does not count silence before this.
    pub(super) doubts_until: Time,
}

/// A successor that was asked to stand.
#[derive(Clone, Debug, Hash)]
pub(super) struct Successor {
    pub(super) node: Arc<Node>,
    pub(super) term: Term,
    pub(super) followers: Vec<Arc<Node>>,
    pub(super) origin: Origin,
    /// Whether it stands, and the followers were asked to vote for it.
    pub(super) stands: bool,
}

/// A time with one master, or without.
#[derive(Clone, Debug, Default)]
pub(super) struct MasterlessLog {
    pub(super) master: Option<EphemeralId>,
    pub(super) since: Time,
    /// When the reason was last looked at, and what it was.
    pub(super) told: Option<(Time, String)>,
}

impl MasterlessLog {
    /// A process begins without a master.
    pub(super) fn begin(now: Time) -> Self {
        MasterlessLog { master: None, since: now, told: None }
    }

    /// When it began.
    pub(super) fn since(&self) -> Time {
        self.since
    }
}

impl NodeState {
    /// What a node begins with, of what its disk holds.
    pub(super) fn new(config: Config, mut disk: Memory, rng: Rng, rules: Rules) -> Self {
        if !rules.keep(Protection::DurableVote) {
            disk.promise = Promise { node_id: disk.promise.node_id, ..Promise::default() };
        }
        if !rules.keep(Protection::DurableState) {
            disk = Memory { accepted: None, committed: None, ..disk };
        }
        let mut node = config.node.clone();
        if !rules.keep(Protection::IdWithVote) {
            node.id = NodeId::from(&*node.name);
        }
        if let Some(id) = &disk.promise.node_id {
            node.id = id.clone();
        }
        let local = Arc::new(node);
        let ledger = Ledger::new(disk, ClusterState::initial(config.cluster_name.clone()));
        let mut initial = ClusterState::initial(config.cluster_name.clone());
        initial.nodes.insert(local.clone());
        let is_shown = ledger.is_settled() || !rules.keep(Protection::SettledRestart);
        let applied = if is_shown { ledger.accepted.clone() } else { Arc::new(initial) };
        let mut state = NodeState {
            tuning: config.tuning.clone(),
            sender: Arc::new(Sender {
                cluster_name: config.cluster_name.clone(),
                cluster_uuid: ledger.cluster_uuid,
                node: local.clone(),
            }),
            shown: applied.clone(),
            followed: applied.id(),
            applied,
            unfollowed: Vec::new(),
            has_recovered_state: false,
            config,
            rules,
            local,
            rng,
            ledger,
            search: Search::default(),
            lost: BTreeMap::new(),
            setbacks: Setbacks::default(),
            round_trips: RoundTrips::default(),
            twin: None,
            now: Time::ZERO,
            masterless_log: MasterlessLog::default(),
            strangers: Strangers::default(),
            timers: Timers::default(),
            calls: BTreeMap::new(),
            called: 0,
            asks: BTreeMap::new(),
            slots: Slots::default(),
            leaving: None,
            successor: None,
            doubts_until: Time::ZERO,
        };
        state.tuning = state.config.tuning.with_dynamic(&state.ledger.accepted.metadata).0;
        // Who reads before the first round of pings must not take the master of the last run for one that is there.
        state.shown = Arc::new(state.tuning.no_master_block.masterless(&state.applied));
        state
    }

    /// Whether this node keeps a protection, as every real one does.
    pub(super) fn keeps(&self, protection: Protection) -> bool {
        self.rules.keep(protection)
    }

    pub(super) fn call(
        &mut self,
        to: &Address,
        message: Message,
        purpose: CallPurpose,
        timeout: Duration,
        out: &mut Effects<Zen>,
    ) {
        self.called += 1;
        let call = Call(self.called);
        self.calls.insert(call, purpose);
        out.push(Effect::Send { to: to.clone(), call, message, timeout });
    }

    /// Takes out the calls whose outcome nobody waits for any more.
    pub(super) fn take_calls(&mut self, is_taken: impl Fn(&CallPurpose) -> bool) -> BTreeMap<Call, CallPurpose> {
        let (taken, kept) = mem::take(&mut self.calls).into_iter().partition(|(_, purpose)| is_taken(purpose));
        self.calls = kept;
        taken
    }

    pub(super) fn reply(&mut self, exchange: Exchange, message: Message, out: &mut Effects<Zen>) {
        out.push(Effect::Reply { exchange, message });
    }

    pub(super) fn store(&mut self, write: Write, out: &mut Effects<Zen>) {
        let id = self.ledger.change(self.now, &write);
        self.timers.set_earlier(Timer::Disk, self.now + self.tuning.write_patience());
        if let Write::Identity(uuid) = &write {
            self.sender = Arc::new(Sender { cluster_uuid: Some(*uuid), ..(*self.sender).clone() });
        }
        out.push(Effect::Store { id, write });
    }

    /// Votes: the term never moves without.
    pub(super) fn promise(&mut self, term: Term, vote: &NodeId, out: &mut Effects<Zen>) {
        assert!(term > self.ledger.promise.term, "a vote is only given in a term above the own one");
        let promise = Promise { term, vote: Some(vote.clone()), ..self.ledger.promise.clone() };
        self.store(Write::Promise(promise), out);
    }

    pub(super) fn is_formed(&self) -> bool {
        self.ledger.cluster_uuid.is_some()
    }

    /// Accepts a state, sent as a change of `base`. If it was made from the one accepted before, by way of those that it
    /// passed, they are committed when it is, and shown before it to those who want to know of every change.
    pub(super) fn accept(
        &mut self,
        state: Arc<ClusterState>,
        base: StateId,
        passed: &[Arc<ClusterState>],
        out: &mut Effects<Zen>,
    ) {
        let before = self.ledger.accepted.clone();
        let chain: Vec<_> = std::iter::once(&before).chain(passed).cloned().collect();
        let mut pairs = chain.iter().zip(passed.iter().chain(std::iter::once(&state)));
        let is_next = base == before.id() && pairs.all(|(one, next)| is_made_from(next, one));
        if !is_next || self.unfollowed.len() + chain.len() > UNFOLLOWED_MAX {
            self.unfollowed.clear();
        }
        if is_next {
            let followed = self.followed;
            self.unfollowed.extend(chain.into_iter().filter(|one| one.id() != followed));
        }
        self.store(Write::Accepted(state), out);
    }

    /// Remembers that a state is committed, and of which cluster this node is from then on.
    pub(super) fn record_commit(&mut self, state: &Arc<ClusterState>, out: &mut Effects<Zen>) {
        if let Some(uuid) = state.cluster_uuid.filter(|uuid| self.ledger.cluster_uuid != Some(*uuid)) {
            self.store(Write::Identity(uuid), out);
        }
        let voting = &state.metadata.voting;
        let is_change = voting.committed != voting.own && !voting.committed.is_empty();
        let write = if is_change { Write::Settled } else { Write::Committed };
        self.store(write(state.id()), out);
    }

    /// What the node has promised and knows. All of it is durable.
    pub(super) fn report(&self, stance: Stance<'_>) -> Report {
        let durable = &self.ledger.durable;
        let stored =
            if self.keeps(Protection::StoredReports) { self.ledger.durable_id() } else { self.ledger.accepted.id() };
        let follows = match stance {
            Stance::Leads(_) => Some(self.local.id.clone()),
            Stance::Follows(following) => Some(following.master.id.clone()),
            Stance::Finds | Stance::Stands(_) | Stance::Joins(_) => None,
        };
        Report {
            ephemeral_id: self.local.ephemeral_id.clone(),
            term: durable.promise.term,
            vote: durable.promise.vote.clone(),
            follows,
            accepted: stored,
            committed: self.ledger.committed,
            needs_full: false,
            storing: Some(self.ledger.accepted.id()).filter(|id| *id != self.ledger.durable_id()),
        }
    }

    /// Shows readers a committed state of the master that this node has.
    pub(super) fn apply(&mut self, state: Arc<ClusterState>, out: &mut Effects<Zen>) {
        self.tune(&state, out);
        self.applied = state.clone();
        self.followed = state.id();
        mem::take(&mut self.unfollowed).into_iter().for_each(|one| out.push(Effect::Apply(one)));
        self.has_recovered_state |= !state.blocks.contains(Block::STATE_NOT_RECOVERED.id);
        self.shown = state.clone();
        out.push(Effect::Apply(state));
    }

    /// Shows readers a committed state without its master, since this node has none.
    pub(super) fn apply_masterless(&mut self, state: Arc<ClusterState>, out: &mut Effects<Zen>) {
        self.tune(&state, out);
        self.applied = state;
        self.show_masterless(out);
    }

    /// Shows readers the last applied state without its master.
    pub(super) fn show_masterless(&mut self, out: &mut Effects<Zen>) {
        self.shown = Arc::new(self.tuning.no_master_block.masterless(&self.applied));
        out.push(Effect::Apply(self.shown.clone()));
    }
}

/// Whether a state was made from one that the same master sent. What is sent as a change of a state need not be made from it:
/// a state that takes a proposal back is made from the one before that, and so are all that come after it.
fn is_made_from(state: &ClusterState, before: &ClusterState) -> bool {
    state.version == before.version.next() && state.metadata.voting.committed == before.metadata.voting.own
}
