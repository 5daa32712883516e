//! What an election or a commit must be backed by, as this node knows it: the voting sets of the accepted state, the operator's
//! number, and before a cluster is formed those who must take part.
//!
//! Whether given nodes are enough for it is decided in `quorum`. Takes the place of `ElectMasterService` (6.8).

use super::message::{PeerStatus, Sender};
use super::node::NodeState;
use super::quorum::{BootstrapSet, Requirement};
use super::rules::Protection;
use super::{Bootstrap, Promise, Write, Zen};
use crate::cluster::{Node, NodeId, StateId, VotingSets};
use crate::protocol::Effects;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// So many can leave out a node that cannot be master before there is a cluster.
const LEFT_OUT_MAX: usize = 64;

impl NodeState {
    /// Whether others may have formed a cluster without this node, since it told them that it cannot be master. It forms one
    /// only with all of its hosts then, and with all of those.
    pub(super) fn left_out_by(&self) -> Option<&BTreeSet<Arc<str>>> {
        self.if_left_out(&self.ledger.promise)
    }

    /// The same as a restart will find it: nobody is told of what is not on disk yet.
    pub(super) fn surely_left_out_by(&self) -> Option<&BTreeSet<Arc<str>>> {
        self.if_left_out(&self.ledger.durable.promise)
    }

    fn if_left_out<'a>(&self, promise: &'a Promise) -> Option<&'a BTreeSet<Arc<str>>> {
        let told = &promise.left_out;
        (!told.is_empty() && !self.is_formed() && self.keeps(Protection::RolesOnDisk)).then_some(told)
    }

    /// Remembers that it tells a node that may form a cluster that it cannot be master. The next one is told of those, who
    /// may have formed a cluster by then; and nobody leaves a node out that does not remember it. Whether it stores that now,
    /// and what it says next is held back until then.
    pub(super) fn note_left_out_by(&mut self, asker: &Sender, out: &mut Effects<Zen>) -> bool {
        let may_form = asker.cluster_uuid.is_none() && asker.node.is_master_eligible();
        let is_able = self.local.is_master_eligible() || self.is_formed();
        let (known, asker) = (&self.ledger.promise.left_out, Arc::from(asker.node.address.as_str()));
        let is_new = may_form && !is_able && known.len() < LEFT_OUT_MAX && !known.contains(&asker);
        if is_new {
            let mut promise = self.ledger.promise.clone();
            promise.left_out.insert(asker);
            self.store(Write::Promise(promise), out);
        }
        is_new
    }

    /// What an election or a commit on the accepted state must be backed by.
    pub(super) fn requirement(&self, mut bootstrap: BTreeSet<BootstrapSet>) -> Requirement {
        let mut sets = self.accepted_sets();
        if !self.keeps(Protection::OldMajority) {
            sets.committed = sets.own.clone();
        }
        if !self.keeps(Protection::NewMajority) {
            sets.own = sets.committed.clone();
        }
        if !self.keeps(Protection::CarriedSets) {
            sets.committed = self.applied.metadata.voting.own.clone();
        }
        if !self.keeps(Protection::BootstrapCounted) {
            bootstrap.clear();
        }
        Requirement { sets, minimum: self.minimum(), bootstrap }
    }

    /// How many the operator asks for.
    pub(super) fn minimum(&self) -> usize {
        if self.keeps(Protection::MinimumCounted) { self.tuning.minimum() } else { 0 }
    }

    /// The two voting sets that the accepted state stands for.
    pub(super) fn accepted_sets(&self) -> VotingSets {
        let voting = &self.ledger.accepted.metadata.voting;
        if self.ledger.is_settled() {
            VotingSets { committed: voting.own.clone(), own: voting.own.clone() }
        } else {
            voting.clone()
        }
    }

    /// Counts a node that did not answer, where half of the votes is taken for more than half.
    pub(super) fn count_one_more(&self, backers: &mut BTreeMap<NodeId, Arc<Node>>) {
        let mut known = self.ledger.accepted.nodes.eligible().chain(self.search.backers.values());
        let absent = known.find(|node| !backers.contains_key(&node.id)).cloned();
        backers.extend(absent.map(|node| (node.id.clone(), node)));
    }

    /// Who must take part in the first forming, as this node was told; none once it knows of a committed state.
    pub(super) fn own_bootstrap(&self) -> Option<BootstrapSet> {
        if self.is_formed() {
            return None;
        }
        let own: Arc<str> = self.local.address.as_str().into();
        Some(match &self.config.bootstrap {
            Bootstrap::Hosts(hosts) => {
                let found = self.search.initial.clone();
                let mut set = found.unwrap_or_else(|| BootstrapSet::majority_of(hosts.clone()));
                self.search.on_loopback(&self.local).for_each(|(published, named)| set.also_goes_by(published, named));
                if !set.has(&self.local) {
                    set.members.insert(own.clone());
                }
                self.strike(&mut set, &own);
                set
            }
            Bootstrap::Found => {
                let found = self.search.backers.values().map(|node| Arc::from(node.address.as_str()));
                BootstrapSet { all: true, ..BootstrapSet::majority_of(found.chain([own]).collect()) }
            }
        })
    }

    /// Strikes those hosts out that cannot be master, and remember that they said so, or that others left out. Who left them
    /// out as well and is none of the hosts may have formed a cluster, and must take part.
    fn strike(&self, set: &mut BootstrapSet, own: &Arc<str>) {
        set.all |= self.left_out_by().is_some();
        let asks = self.keeps(Protection::RolesOnDisk) && self.local.is_master_eligible();
        let remembers = |sight: &PeerStatus| !asks || sight.left_out_by.contains(own);
        let is_left_out = |sight: &PeerStatus| match sight.node.is_master_eligible() {
            true => !sight.left_out_by.is_empty() && !set.all,
            false => remembers(sight),
        };
        let seen = || self.search.seen.values().map(|seen| &seen.sight);
        let (mut struck, mut leavers) = (Vec::new(), BTreeSet::new());
        for sight in seen().filter(|sight| set.has(&sight.node) && is_left_out(sight)) {
            struck.push(sight.node.clone());
            leavers.extend(sight.left_out_by.iter().cloned());
        }
        leavers.extend(self.left_out_by().into_iter().flatten().cloned());
        struck.extend((!self.local.is_master_eligible()).then(|| self.local.clone()));
        struck.iter().for_each(|other| set.leave_out(other));
        let has_formed_nothing =
            |sight: &&PeerStatus| !sight.node.is_master_eligible() && sight.accepted == StateId::NONE;
        for sight in seen().filter(has_formed_nothing) {
            leavers.remove(sight.node.address.as_str());
        }
        leavers.retain(|address| address != own && !set.has_address(address));
        set.besides = leavers;
    }

    /// Whether somebody might listen at a silent port, and no list of hosts says that it does not matter.
    pub(super) fn is_premature(&self) -> bool {
        self.is_forming_of_all() && !self.search.is_complete()
    }

    /// Whether a cluster is to be formed of whoever is found, so that nobody may be left out.
    pub(super) fn is_forming_of_all(&self) -> bool {
        self.config.bootstrap == Bootstrap::Found && !self.is_formed()
    }

    /// Whether this node never had a state, being new or wiped, and saw one that knows the cluster: it cannot form
    /// another, and leads only with a state that it fetched.
    pub(super) fn is_blank_among_formed(&self) -> bool {
        !self.is_formed()
            && self.ledger.accepted.id() == StateId::NONE
            && !self.search.formed.is_empty()
            && self.keeps(Protection::BlankForms)
    }
}
