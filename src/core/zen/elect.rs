//! Whom to follow: the choice that a ping round ends with.
//!
//! Pure functions over what the answers say. Mirrors `ElectMasterService` and `ZenDiscovery.findMaster` (6.8), with the
//! accepted (term, version) in the place of the committed version, and only candidates that see a quorum.

use super::message::PeerStatus;
use crate::cluster::{EphemeralId, Node, Term, Version};
use crate::protocol::Time;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a ping round came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// There is a master: join it.
    Join(Arc<Node>),
    /// There is none: this node shall lead; vote for it.
    Elect(Arc<Node>),
}

/// An answer to a ping of one's own, and when that ping was sent.
#[derive(Clone, Debug, Hash)]
pub struct Seen {
    /// What the node said.
    pub sight: PeerStatus,
    /// It was said after this.
    pub asked: Time,
}

/// A master that this node followed no longer, or could not join.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lost {
    /// When.
    pub at: Time,
    /// Why, as operators read it.
    pub why: Arc<str>,
}

/// Which pings count: all, or only those of nodes that can be master.
pub fn counts(sight: &PeerStatus, ignore_non_master_pings: bool) -> bool {
    !ignore_non_master_pings || sight.node.is_master_eligible()
}

/// The masters that others follow. Never oneself; one that was lost counts only if it was heard of after that, or if it
/// answered a ping that was sent when it had been lost. Each comes with the term that it leads in.
pub fn active_masters<'a>(
    seen: impl Iterator<Item = &'a Seen>,
    local: &Node,
    lost: &BTreeMap<EphemeralId, Lost>,
) -> Vec<(Term, Arc<Node>)> {
    seen.filter_map(|seen| {
        let (master, ago) = seen.sight.master.as_ref()?;
        // It was heard later than that by as long as the ping travelled, so the same instant will do.
        let heard = seen.asked - *ago;
        let is_first_hand = master.same_process(&seen.sight.node);
        let is_later = |lost: &Lost| heard > lost.at || is_first_hand && heard == lost.at;
        let is_back = lost.get(&master.ephemeral_id).is_none_or(is_later);
        // Whoever stood at this node's address before is gone.
        let is_other = master.id != local.id && master.address != local.address;
        // Whoever follows a master is in its term.
        (is_other && is_back).then(|| (seen.sight.term, master.clone()))
    })
    .collect()
}

/// Of several active masters, the one that every node picks: the one of the highest term, since the others are deposed
/// already, and then one that is eligible first, then the lowest id.
pub fn tie_break(masters: Vec<(Term, Arc<Node>)>) -> Option<Arc<Node>> {
    fn rank((term, master): &(Term, Arc<Node>)) -> impl Ord + '_ {
        (Reverse(*term), !master.is_master_eligible(), &master.id, &master.ephemeral_id)
    }
    masters.into_iter().min_by(|a, b| rank(a).cmp(&rank(b))).map(|(_, master)| master)
}

/// A node that might lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The node.
    pub node: Arc<Node>,
    /// The (term, version) of its accepted state.
    pub accepted: (Term, Version),
    /// Whether it sees a quorum that follows no master.
    pub sees_quorum: bool,
    /// Whether others come first: it says that it is not well, or leading did not work out with it lately.
    pub unwell: bool,
}

impl Candidate {
    /// The candidate that a node's word makes, if it can lead and follows nobody.
    pub fn of(sight: &PeerStatus) -> Option<Candidate> {
        (sight.masterless && sight.node.is_master_eligible()).then(|| Candidate {
            node: sight.node.clone(),
            accepted: sight.accepted.rank(),
            sees_quorum: sight.sees_quorum,
            unwell: sight.unwell,
        })
    }

    /// The order of candidates: those that are well, then the newest accepted state, then the lowest id.
    pub fn rank(&self) -> (bool, Reverse<(Term, Version)>, &str) {
        (self.unwell, Reverse(self.accepted), self.node.id.as_str())
    }
}

/// The best candidate that sees a quorum, if there are as many candidates as the operator asks for.
pub fn best_candidate(candidates: &[Candidate], minimum: usize) -> Option<&Candidate> {
    let enough = candidates.len() >= minimum.max(1);
    let standing = candidates.iter().filter(|candidate| candidate.sees_quorum);
    standing.min_by(|a, b| a.rank().cmp(&b.rank())).filter(|_| enough)
}
