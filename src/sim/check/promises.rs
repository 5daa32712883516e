//! S6: a restart forgets no promise, and no node votes twice in a term.
//!
//! A promise counts from the moment in which another node could hear of it.

use super::broken;
use crate::cluster::{NodeId, StateId, Term};
use crate::sim::watch::Violation;
use crate::zen::Zen;
use crate::zen::message::Message;
use std::collections::BTreeMap;

/// What each node, by its id, has told others.
#[derive(Clone, Debug, Default, Hash)]
pub struct Promises {
    ids: BTreeMap<usize, NodeId>,
    terms: BTreeMap<NodeId, Term>,
    accepted: BTreeMap<NodeId, StateId>,
    votes: BTreeMap<(NodeId, Term), NodeId>,
}

impl Promises {
    pub(super) fn booted(&mut self, node: usize, zen: &Zen) -> Result<(), Violation> {
        let id = zen.local().id.clone();
        let term = self.terms.get(&id).copied().unwrap_or_default();
        let accepted = self.accepted.get(&id).copied().unwrap_or(StateId::NONE);
        let ledger = zen.ledger();
        if ledger.promise.term < term {
            let now = ledger.promise.term;
            return broken("S6 a restart forgets no promise", format!("{id} promised term {term} and is in {now}"));
        }
        if ledger.accepted.rank() < accepted.rank() {
            let now = ledger.accepted.id();
            return broken("S6 a restart forgets no promise", format!("{id} accepted {accepted} and has {now}"));
        }
        self.ids.insert(node, id);
        Ok(())
    }

    pub(super) fn sent(&mut self, from: usize, message: &Message) -> Result<(), Violation> {
        let Some(id) = self.ids.get(&from).cloned() else {
            return Ok(());
        };
        // A vote goes to its candidate as a join; every report names the vote of its term.
        if let Message::Report(report) = message {
            self.promise(&id, report.term, report.accepted);
            if let Some(vote) = &report.vote {
                return self.vote(id, report.term, vote.clone());
            }
        } else if let Message::Join { join, .. } = message
            && join.vote
        {
            self.promise(&id, join.term, join.accepted);
        }
        Ok(())
    }

    fn promise(&mut self, id: &NodeId, term: Term, accepted: StateId) {
        let known = self.terms.entry(id.clone()).or_default();
        *known = term.max(*known);
        let known = self.accepted.entry(id.clone()).or_insert(StateId::NONE);
        *known = accepted.max(*known);
    }

    fn vote(&mut self, id: NodeId, term: Term, vote: NodeId) -> Result<(), Violation> {
        let known = self.votes.entry((id.clone(), term)).or_insert_with(|| vote.clone());
        if *known == vote {
            return Ok(());
        }
        broken("S6 one vote per term", format!("{id} voted for {known} and for {vote} in term {term}"))
    }
}
