//! Taking a higher term while staying master.
//!
//! Members of a higher term refuse every state of this one, so the master takes theirs, with the votes of a quorum. Zen had no
//! terms.

use crate::cluster::{Node, Term};
use crate::zen::message::Message;
use crate::zen::mode::leadership::{Leadership, TermBump};
use crate::zen::role::Role;
use crate::zen::rules::Protection;
use crate::zen::{CallPurpose, Note, Timer};
use std::collections::{BTreeMap, BTreeSet};

impl Role<'_, Leadership> {
    /// Takes a higher term and stays master meanwhile.
    pub(super) fn start_term_bump(&mut self, term: Term) {
        let from = self.node.ledger.promise.term;
        self.out.note(Note::TakesTerm { from, to: term });
        self.node.promise(term, &self.node.local.id.clone(), self.out);
        let timeout = self.now + self.node.tuning.commit_patience();
        self.node.timers.set(Timer::Commit, timeout);
        self.mode.term_bump = Some(TermBump { term, votes: BTreeMap::new() });
        self.call_votes();
    }

    /// Asks for the votes that are missing for the higher term, if one is being taken: at once, and with each beat.
    pub(super) fn call_votes(&mut self) {
        let Some(term_bump) = &self.mode.term_bump else {
            return;
        };
        let term = term_bump.term;
        let has_voted = |node: &Node| term_bump.votes.contains_key(&node.id);
        let nodes = self.mode.peers.values().map(|peer| &peer.node);
        let missing: Vec<_> = nodes.filter(|node| node.is_master_eligible() && !has_voted(node)).cloned().collect();
        for node in missing {
            let message =
                Message::CallVote { from: self.node.sender.clone(), term, candidate: self.node.local.clone() };
            let purpose = CallPurpose::CallVote { node: node.id.clone(), asked: self.now };
            let timeout = self.node.fd_timeout(&node.address);
            self.node.call(&node.address, message, purpose, timeout, self.out);
        }
    }

    /// With a quorum of votes the higher term is taken, and a state of it published.
    pub(super) fn count_term_bump(&mut self) {
        let durable = self.node.ledger.durable.promise.term;
        let requirement = self.node.requirement(BTreeSet::new());
        let (local, rules) = (self.node.local.clone(), self.node.rules);
        let lead = &mut *self.mode;
        let Some(term_bump) = lead.term_bump.as_ref().filter(|term_bump| term_bump.term == durable) else {
            return;
        };
        let mut backers = term_bump.votes.clone();
        backers.insert(local.id.clone(), local);
        if requirement.is_met_by(&backers) || !rules.keep(Protection::BumpVotes) {
            lead.term = term_bump.term;
            lead.term_bump = None;
            lead.is_settled = false;
            self.node.timers.stop(Timer::Commit);
            let state = self.node.next_state(durable);
            self.publish_tasks(state, true);
        }
    }
}
