//! Accepting states and recording commits, as any node does that is not their master.
//!
//! Accepting a state of a higher term is a vote for its master. How the master sees it stands in `leading`. Mirrors
//! `PublishClusterStateAction.handleIncomingClusterStateRequest`, `PendingClusterStatesQueue` and
//! `ClusterApplierService` (6.8); of the queue only the last state is left, and it is stored.

use super::message::{Body, Message, Report, Sender};
use super::mode::Stance;
use super::node::NodeState;
use super::rules::Protection;
use super::{Mode, Note, Write, Zen};
use crate::cluster::{ClusterState, Diff, Node, StateId, Term};
use crate::protocol::{Effects, Exchange, Time};
use std::sync::Arc;

impl Zen {
    pub(super) fn on_publish(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Sender,
        (term, committed): (Term, StateId),
        body: Body,
        out: &mut Effects<Zen>,
    ) {
        let id = body.id();
        let own = self.node.ledger.accepted.id();
        let is_again = id == own;
        let is_lower = term < self.node.ledger.promise.term && self.node.keeps(Protection::LowerTerms);
        let is_stale = is_lower || !is_again && id.rank() <= own.rank() && self.node.keeps(Protection::RisingStates);
        if is_stale || matches!(self.mode, Mode::Leading(_)) && term == self.node.ledger.promise.term {
            return self.reply_report(exchange, out);
        }
        let base = body.base();
        let passed = body.passed(&self.node.ledger.accepted);
        let state = match self.assemble(body) {
            Ok(state) => state,
            Err(report) => return self.node.reply(exchange, Message::Report(report), out),
        };
        if let Some(why) = self.node.objection(&state, from, term) {
            return self.node.reply(exchange, Message::Rejected(why.into()), out);
        }
        if term > self.node.ledger.promise.term && self.node.keeps(Protection::AcceptingVotes) {
            self.node.promise(term, &from.node.id, out);
        }
        if let Some(uuid) =
            state.cluster_uuid.filter(|_| !self.node.is_formed() && !self.node.keeps(Protection::IdentityOnCommit))
        {
            self.node.store(Write::Identity(uuid), out);
        }
        if !is_again {
            self.as_follower(now, out, |follower| follower.commit_before(committed, &from.node));
            self.node.accept(state, base, &passed, out);
        }
        self.follow(now, &from.node, out);
        if !self.node.keeps(Protection::CommittedApplies) {
            self.apply(self.node.ledger.accepted.clone(), out);
        }
        let report = if is_again { self.node.report(self.mode.stance()) } else { self.report_once_stored() };
        self.node.reply(exchange, Message::Report(Box::new(report)), out);
    }

    /// The state that a publish stands for, or what to say if it cannot be made out.
    fn assemble(&self, body: Body) -> Result<Arc<ClusterState>, Box<Report>> {
        let own = &self.node.ledger.accepted;
        if body.id() == own.id() {
            return Ok(own.clone());
        }
        match body {
            Body::Full(state) => Ok(state),
            Body::Diff(diff) if !self.node.keeps(Protection::DiffBase) => {
                let anyhow = Diff { from: own.id(), ..(*diff).clone() };
                anyhow.apply(own).map(Arc::new).map_err(|_| Box::new(self.node.report(self.mode.stance())))
            }
            Body::Diff(diff) => match diff.apply(own) {
                Ok(state) => Ok(Arc::new(state)),
                Err(_) => Err(Box::new(Report { needs_full: true, ..self.node.report(self.mode.stance()) })),
            },
        }
    }

    /// What this node says in a batch that stores something: the reply waits until all of it is durable.
    pub(super) fn report_once_stored(&self) -> Report {
        let promise = &self.node.ledger.promise;
        let accepted = self.node.ledger.accepted.id();
        Report {
            term: promise.term,
            vote: promise.vote.clone(),
            accepted,
            storing: None,
            ..self.node.report(self.mode.stance())
        }
    }

    /// Follows the master whose state was accepted. One that was lost, and has answered nothing since, may reach this node and
    /// not be reached: it would be lost again at once, with each state that it sends.
    fn follow(&mut self, now: Time, master: &Arc<Node>, out: &mut Effects<Zen>) {
        let is_followed = matches!(&self.mode, Mode::Following(following) if following.master.same_process(master));
        if !is_followed && self.is_out_of_reach(master) {
            return;
        }
        if !is_followed {
            if matches!(self.mode, Mode::Leading(_)) {
                out.note(Note::SteppedDown { reason: format!("another master {master} leads in a higher term") });
            }
            self.enter_following(now, master, out);
        }
        self.as_follower(now, out, |follower| follower.hear(master));
        // A state that was known to be committed before its master was lost is shown again at once.
        if self.node.ledger.is_settled() && !self.node.shows(master) {
            let state = self.node.ledger.accepted.clone();
            self.as_follower(now, out, |follower| follower.show_committed(state));
        }
    }

    /// A master whose last state was stored while it was out of reach is followed at its next beat: it does not send that state
    /// again.
    pub(super) fn follow_again(&mut self, now: Time, master: &Arc<Node>, term: Term, out: &mut Effects<Zen>) {
        let (own, promised) = (&self.node.ledger.accepted, self.node.ledger.promise.term);
        let made_it = own.nodes.master_node().is_some_and(|maker| maker.same_process(master));
        let is_of_this_mastership =
            made_it && own.term == term && promised == term && own.nodes.contains_process(&self.node.local);
        if is_of_this_mastership && matches!(self.mode, Mode::Finding) {
            self.follow(now, master, out);
        }
    }

    /// Whether a master was lost and has answered no ping since.
    fn is_out_of_reach(&self, master: &Node) -> bool {
        let lost = self.node.lost.get(&master.ephemeral_id).filter(|_| matches!(self.mode, Mode::Finding));
        let seen = self.node.search.seen.get(&master.address).filter(|seen| seen.sight.node.same_process(master));
        lost.is_some_and(|lost| seen.is_none_or(|seen| seen.asked < lost.at))
    }

    /// A commit of exactly the accepted state is recorded in any mode; only a follower shows its master with it.
    pub(super) fn on_commit(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Node,
        id: StateId,
        out: &mut Effects<Zen>,
    ) {
        self.as_follower(now, out, |follower| follower.hear(from));
        let own = self.node.ledger.accepted.id();
        if (id == own || !self.node.keeps(Protection::ExactCommits)) && own != self.node.ledger.committed {
            let state = self.node.ledger.accepted.clone();
            self.node.record_commit(&state, out);
            if matches!(self.mode, Mode::Following(_)) {
                self.as_follower(now, out, |follower| follower.show_committed(state));
            } else {
                self.apply(state, out);
                self.node.search_again_for_quorum();
            }
        }
        self.reply_report(exchange, out);
    }
}

impl NodeState {
    /// Whether readers see this master: a state of it is known to be committed.
    pub(super) fn shows(&self, master: &Node) -> bool {
        self.shown.nodes.master_node().is_some_and(|shown| shown.same_process(master))
    }

    /// The master that readers see, itself included.
    pub(super) fn open_master<'a>(&'a self, stance: Stance<'a>) -> Option<&'a Arc<Node>> {
        match stance {
            Stance::Leads(lead) if lead.is_settled => Some(&self.local),
            Stance::Follows(following) if self.shows(&following.master) => Some(&following.master),
            Stance::Finds | Stance::Stands(_) | Stance::Joins(_) | Stance::Leads(_) | Stance::Follows(_) => None,
        }
    }

    /// Why a state is not acceptable from this sender, if it is not.
    pub(super) fn objection(&self, state: &ClusterState, from: &Sender, term: Term) -> Option<String> {
        let is_foreign = matches!(
            (state.cluster_uuid, self.ledger.cluster_uuid),
            (Some(theirs), Some(ours)) if theirs != ours && self.keeps(Protection::UuidChecked)
        );
        if state.cluster_name != self.config.cluster_name || is_foreign {
            Some("received state from a node that is not part of the cluster".into())
        } else if state.term != term || state.nodes.master.as_ref() != Some(&from.node.id) {
            Some(format!("state {} in term {term} is not its master's own", state.id()))
        } else if !state.nodes.contains_process(&self.local) {
            Some("received state with a local node that does not match the current local node".into())
        } else {
            None
        }
    }
}
