//! Zen as it was in Elasticsearch 6.8: what it did where this protocol does otherwise, for the simulator alone.
//!
//! A node of an old [`Dialect`] has no terms (all are zero) and gives no votes that last. It counts joins that were sent to
//! it at any time, believes everybody who names a master, and counts against the number that a person typed. `round` has
//! its two phases, `gateway` what it finds on disks, `rivals` how two masters meet. All else is shared: the search, the
//! queue, the fault detectors, clients. Mirrors `ZenDiscovery`, `NodeJoinController` and `ElectMasterService` (6.8).
//!
//! It differs from them in what no failure of Zen came from: joins are validated by a live master only, all states are
//! sent in full, and a recovered state goes on with the versions that were found, where Zen began anew.

mod gateway;
mod rivals;
mod round;

use super::elect::Candidate;
use super::leadership::Leadership;
use super::message::Message;
use super::mode::{Ballot, Candidacy};
use super::quorum::Requirement;
use super::rules::Dialect;
use super::{Mode, Note, REMEMBERED_MAX, Timer, Tuning, Zen};
use crate::cluster::{Block, ClusterState, Node, NodeId, StateId, Term, Version, VotingSets};
use crate::protocol::{Effect, Effects, Exchange, Time};
use crate::service::{Batch, Task};
use gateway::Gateway;
use round::Round;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How many nodes a master told that it stops.
const TOLD_OF_STOP: usize = 4;
/// How long a stopping node waited for its master.
const GOOD_BYE: Duration = Duration::from_secs(1);

/// What only an old node keeps, all of it in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Old {
    /// States that it acknowledged and does not know to be committed.
    pending: VecDeque<Arc<ClusterState>>,
    /// The publish under way.
    round: Round,
    /// Pings of other masters' fault detectors since it leads, or since it last did something about them.
    foreign_pings: u32,
    /// The recovery of what disks hold.
    gateway: Gateway,
    /// Joins that came before the node knew whether it would wait for them.
    early_joins: BTreeMap<NodeId, (Arc<Node>, Exchange)>,
}

impl Zen {
    /// Whether it speaks an old dialect.
    pub(super) fn is_old(&self) -> bool {
        self.rules.is_old()
    }

    fn speaks(&self, dialect: Dialect) -> bool {
        self.rules.dialect() == dialect
    }

    /// The number that a person typed, and nothing else.
    pub(super) fn typed_requirement(&self) -> Requirement {
        let (sets, minimum) = (VotingSets::default(), self.tuning.minimum());
        Requirement { sets, minimum, bootstrap: BTreeSet::new() }
    }

    /// The state that its pings tell: the committed one, unless it is yet to be recovered. Before 5.0 they told none, and
    /// from 1.4 on whether it had joined a cluster: one version for all that had, since it is the first thing compared.
    pub(super) fn recovered_id(&self) -> StateId {
        const HAS_JOINED: StateId = StateId { version: Version::ZERO.next(), ..StateId::NONE };
        let told = match self.rules.dialect() {
            Dialect::Zen13 => None,
            Dialect::Zen14 => (self.applied.id() != StateId::NONE).then_some(HAS_JOINED),
            Dialect::Zen68 | Dialect::Fd56 | Dialect::Zazen => is_recovered(&self.applied).then(|| self.applied.id()),
        };
        told.unwrap_or(StateId::NONE)
    }

    /// Everybody who can be master is a candidate; of equals the first one stays first, and oneself comes last.
    pub(super) fn old_candidates(&self) -> Vec<Candidate> {
        let candidate = |node: &Arc<Node>, accepted: StateId| Candidate {
            node: node.clone(),
            accepted: accepted.rank(),
            sees_quorum: true,
            unwell: false,
        };
        let seen = self.search.seen.values().filter(|seen| self.counts(seen)).map(|seen| &seen.sight);
        let eligible = seen.filter(|sight| sight.node.is_master_eligible());
        let mut candidates: Vec<Candidate> = eligible.map(|sight| candidate(&sight.node, sight.accepted)).collect();
        if self.local.is_master_eligible() {
            candidates.push(candidate(&self.local, self.recovered_id()));
        }
        candidates
    }

    /// An old master did not take over a number that its nodes cannot meet, not even one that it recovered.
    pub(super) fn without_refused_minimum(&self, tuning: Tuning, state: &ClusterState) -> Tuning {
        let is_new = tuning.minimum_master_nodes != self.tuning.minimum_master_nodes;
        let is_met = tuning.minimum() <= state.nodes.eligible().count();
        if !self.is_old() || !is_new || is_met || self.reign().is_none() {
            return tuning;
        }
        Tuning { minimum_master_nodes: self.tuning.minimum_master_nodes, ..tuning }
    }

    /// Every join of a node that can be master was a vote, for whoever got it.
    pub(super) fn old_vote(&self) -> Option<Term> {
        (self.is_old() && self.local.is_master_eligible()).then_some(Term::ZERO)
    }

    /// Waits for joins, beginning with those that came while it was pinging, whatever their senders do since.
    pub(super) fn wait_for_joins(&mut self, now: Time, reason: &'static str, out: &mut Effects<Zen>) {
        let early = std::mem::take(&mut self.old.early_joins);
        self.leave_mode(now, out);
        out.note(Note::Stands { term: Term::ZERO, reason });
        self.mode = Mode::Electing(Candidacy::new(now, Term::ZERO));
        self.timers.set(Timer::Candidacy, now + self.tuning.wait_for_joins_timeout);
        for (node, exchange) in early.into_values() {
            self.take_old_join(now, exchange, &node, out);
        }
        self.count_joins(now, out);
    }

    /// Keeps a join until this node knows whether it waits for any.
    pub(super) fn hold_join(&mut self, exchange: Exchange, node: &Arc<Node>, out: &mut Effects<Zen>) {
        let early = &mut self.old.early_joins;
        if early.len() >= REMEMBERED_MAX && !early.contains_key(&node.id) {
            return self.rebuff(exchange, out);
        }
        if let Some((_, earlier)) = early.insert(node.id.clone(), (node.clone(), exchange)) {
            self.rebuff(earlier, out);
        }
    }

    /// Tells those whose joins were kept that there is nothing to join.
    pub(super) fn forget_early_joins(&mut self, out: &mut Effects<Zen>) {
        for (_, exchange) in std::mem::take(&mut self.old.early_joins).into_values() {
            self.rebuff(exchange, out);
        }
    }

    pub(super) fn take_old_join(&mut self, now: Time, exchange: Exchange, node: &Arc<Node>, out: &mut Effects<Zen>) {
        if !matches!(self.mode, Mode::Electing(_)) {
            // Those before it were enough.
            return self.rebuff(exchange, out);
        }
        let votes = node.is_master_eligible();
        self.take_ballot(Ballot { node: node.clone(), votes, accepted: StateId::NONE, awake: false });
        self.reply(exchange, Message::Joining(super::message::JoinAnswer::Noted), out);
        self.count_joins(now, out);
    }

    /// Leads once the typed number of joins is there. Before 2.0 nobody waited for any.
    pub(super) fn count_joins(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Mode::Electing(candidacy) = &mut self.mode else {
            return;
        };
        let voters = candidacy.joins.values().filter(|ballot| ballot.votes).map(|ballot| ballot.node.clone());
        let mut backers: BTreeMap<NodeId, Arc<Node>> = voters.map(|node| (node.id.clone(), node)).collect();
        let joiners: Vec<Arc<Node>> = candidacy.joins.values().map(|ballot| ballot.node.clone()).collect();
        backers.insert(self.local.id.clone(), self.local.clone());
        if self.speaks(Dialect::Zen13) || self.typed_requirement().is_met_by(&backers) {
            out.note(Note::Won { term: Term::ZERO, votes: backers.into_keys().collect() });
            self.begin_old_reign(now, &joiners, None, out);
        }
    }

    /// Publishes the first state of a reign: the last one that was committed here, with the joiners.
    fn begin_old_reign(&mut self, now: Time, joiners: &[Arc<Node>], lost: Option<&Node>, out: &mut Effects<Zen>) {
        self.leave_mode(now, out);
        self.mode = Mode::Leading(Box::new(Leadership::new(Term::ZERO, StateId::NONE)));
        let mut batch = Batch::new(self.next_old_state(), self.config.rule);
        if let Some(lost) = lost {
            batch.state.nodes.remove(&lost.id);
        }
        for node in joiners.iter().chain([&self.local]) {
            // A join of a node is never refused.
            let _ = batch.carry_out(&Task::Join { node: node.clone() });
        }
        let mut state = batch.state;
        state.nodes.master = Some(self.local.id.clone());
        if self.applied.id() == StateId::NONE {
            state.blocks.add(Block::STATE_NOT_RECOVERED);
        }
        let reason = format!("zen-disco-elected-as-master ([{}] nodes joined)", joiners.len());
        self.start_publish(now, self.ledger.accepted.clone(), state, Vec::new(), reason, out);
        self.route_asks(now, out);
    }

    /// The successor of the last state. Its cluster has no identity before a recovery gives it one.
    fn next_old_state(&mut self) -> ClusterState {
        let cluster_uuid = self.ledger.accepted.cluster_uuid;
        ClusterState { cluster_uuid, ..self.next_state(Term::ZERO) }
    }

    /// Before 1.4, whoever came first in the last known list took the place of a lost master and asked nobody.
    pub(super) fn succeed_unasked(&mut self, now: Time, lost: &Node, out: &mut Effects<Zen>) {
        if !self.speaks(Dialect::Zen13) || !matches!(self.mode, Mode::Finding) {
            return;
        }
        let known = self.applied.nodes.eligible().filter(|node| node.id != lost.id);
        let known: BTreeMap<NodeId, Arc<Node>> = known.map(|node| (node.id.clone(), node.clone())).collect();
        let is_first = known.keys().next() == Some(&self.local.id);
        if is_first && self.typed_requirement().is_met_by(&known) {
            self.begin_old_reign(now, &[], Some(lost), out);
        }
    }

    /// What was accepted and not committed went with the master.
    pub(super) fn forget_accepted(&mut self) {
        if self.is_old() && matches!(self.mode, Mode::Following(_) | Mode::Leading(_)) {
            self.old = Old::default();
            self.ledger.go_back_to(self.applied.clone());
        }
    }

    /// Why a master cannot take a node in: an earlier process of it, or one at its address, is still listed.
    pub(super) fn old_objection(&self, node: &Node) -> Option<String> {
        let is_rival =
            |known: &&Arc<Node>| !known.same_process(node) && (known.id == node.id || known.address == node.address);
        let rival = self.ledger.accepted.nodes.iter().filter(|_| self.is_old()).find(is_rival)?;
        Some(format!("can't add node {node}, found existing node {rival}"))
    }

    /// A stopping master told a few others and waited for none.
    pub(super) fn begin_old_leave(&mut self, now: Time, out: &mut Effects<Zen>) {
        match &self.mode {
            Mode::Leading(_) => {
                let eligible = self.ledger.accepted.nodes.eligible().filter(|node| node.id != self.local.id);
                let told: Vec<_> = eligible.take(TOLD_OF_STOP).map(|node| node.address.clone()).collect();
                for to in told {
                    out.push(Effect::Tell { to, message: Message::Leave { from: self.sender.clone() } });
                }
                self.has_left(out);
            }
            Mode::Following(_) => {
                self.timers.set(Timer::Leave, now + GOOD_BYE);
                self.say_good_bye(out);
            }
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) => self.has_left(out),
        }
    }

    pub(super) fn on_old_leave(&mut self, now: Time, exchange: Exchange, from: &Arc<Node>, out: &mut Effects<Zen>) {
        self.reply(exchange, Message::Gone, out);
        if matches!(&self.mode, Mode::Following(following) if following.master.same_process(from)) {
            return self.master_gone(now, "shut_down", out);
        }
        let Some(peer) = self.lead().and_then(|lead| lead.peers.get_mut(&from.id)) else {
            return;
        };
        if peer.node.same_process(from) && peer.failed.is_none() {
            peer.failed = Some("left".into());
            let (id, ephemeral_id) = (from.id.clone(), from.ephemeral_id.clone());
            self.judge_quorum(now, out);
            self.enqueue(now, Task::Remove { id, ephemeral_id, reason: "left".into(), left: true }, out);
        }
    }

    /// Where this protocol's pings name a term, an old master's name a version; until 6.3 that was always -1, which no
    /// version is below.
    pub(super) fn node_ping_term(&self) -> Term {
        if !self.is_old() {
            return self.ledger.promise.term;
        }
        let version = if self.speaks(Dialect::Fd56) { Version::ZERO } else { self.applied.version };
        Term::new(version.get()).unwrap_or_default()
    }
}

/// Whether the metadata in a state is the cluster's own.
fn is_recovered(state: &ClusterState) -> bool {
    state.id() != StateId::NONE && !state.blocks.contains(Block::STATE_NOT_RECOVERED.id)
}
