//! Small states, disks and messages, for those who test checkers.

use crate::cluster::{ClusterName, ClusterState, EphemeralId, Node, NodeId, Roles, Term, Version, VotingSet};
use crate::sim::Violation;
use crate::zen::message::Sender;
use crate::zen::{Memory, Promise};
use std::sync::Arc;

/// A master-eligible node of this name.
pub(in crate::sim) fn node(id: &str) -> Arc<Node> {
    Arc::new(Node {
        id: id.into(),
        ephemeral_id: EphemeralId::from("start"),
        name: id.into(),
        address: "h:1".into(),
        roles: Roles::ALL,
        attributes: Arc::default(),
        version: "6.8.23".into(),
    })
}

pub(in crate::sim) fn sender(id: &str) -> Arc<Sender> {
    Arc::new(Sender { cluster_name: ClusterName::from("one"), cluster_uuid: None, node: node(id) })
}

pub(in crate::sim) fn term(number: u64) -> Term {
    (0..number).fold(Term::ZERO, |term, _| term.next())
}

/// A state with these nodes, all of which vote.
pub(in crate::sim) fn state(version: u64, ids: &[&str]) -> ClusterState {
    let mut state = ClusterState::initial(ClusterName::from("one"));
    state.term = term(1);
    state.version = Version::new(version).expect("it is below 2^53");
    for id in ids {
        state.nodes.insert(node(id));
    }
    let voting = VotingSet::new(ids.iter().map(|id| NodeId::from(*id)));
    state.metadata.voting.own = voting.clone();
    state.metadata.voting.committed = voting;
    state
}

/// The disk of a node that voted in a term and accepted a state.
pub(in crate::sim) fn disk(id: &str, vote: (u64, &str), accepted: Option<&ClusterState>) -> Memory {
    let promise = Promise {
        node_id: Some(id.into()),
        term: term(vote.0),
        vote: Some(vote.1.into()),
        left_out: Default::default(),
    };
    Memory { promise, accepted: accepted.map(|state| Arc::new(state.clone())), ..Memory::default() }
}

/// The rule that was broken.
pub(in crate::sim) fn rule(verdict: Result<(), Violation>) -> Option<&'static str> {
    verdict.err().map(|violation| violation.checker)
}
