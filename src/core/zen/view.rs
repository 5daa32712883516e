//! What may be looked at of a node: for those who show it, drive it or check it. Nothing is decided here.

use super::{Explanation, Ledger, Mode, Timer, Tuning, Zen, quorum};
use crate::cluster::{ClusterState, Node, StateId, Term};
use crate::protocol::{Time, Timers};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Zen {
    /// Why there is a master, or none.
    pub fn explain(&self, now: Time) -> Explanation {
        self.node.explain(now, self.mode.stance())
    }

    /// The names of the nodes that may be elected at present, itself included.
    pub fn candidate_names(&self) -> Vec<String> {
        self.node.candidate_names(self.mode.stance())
    }

    /// The master that readers see, itself included.
    pub fn open_master(&self) -> Option<&Arc<Node>> {
        self.node.open_master(self.mode.stance())
    }

    /// The node itself.
    pub fn local(&self) -> &Arc<Node> {
        &self.node.local
    }

    /// What the node has decided, and what of it is durable.
    pub fn ledger(&self) -> &Ledger {
        &self.node.ledger
    }

    /// What the node is doing.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// The term that the node leads in, if it is master.
    pub fn mastership(&self) -> Option<Term> {
        match &self.mode {
            Mode::Leading(lead) => Some(lead.term),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => None,
        }
    }

    /// The newest state that this master made, and the one that it was made from.
    pub fn made(&self) -> Option<(StateId, StateId)> {
        match &self.mode {
            Mode::Leading(lead) => lead.publish.as_ref().map(|publish| (publish.state.id(), publish.base.id())),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => None,
        }
    }

    /// Whether a state of this master is on its way and not committed yet, or about to be sent.
    pub fn is_publishing(&self) -> bool {
        match &self.mode {
            Mode::Leading(lead) => {
                lead.wish.is_some() || lead.publish.as_ref().is_some_and(|publish| !publish.is_committed)
            }
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => false,
        }
    }

    /// What an election or a commit on the accepted state must be backed by, once the cluster is formed.
    pub fn quorum(&self) -> quorum::Requirement {
        self.node.requirement(BTreeSet::new())
    }

    /// The newest state that it could give back if all others were gone.
    pub fn newest_held(&self) -> StateId {
        self.node.ledger.accepted.id().max(self.node.ledger.durable_id())
    }

    /// The newest committed state that was applied.
    pub fn applied(&self) -> &Arc<ClusterState> {
        &self.node.applied
    }

    /// What readers see.
    pub fn shown(&self) -> &Arc<ClusterState> {
        &self.node.shown
    }

    /// The numbers it runs by at present.
    pub fn tuning(&self) -> &Tuning {
        &self.node.tuning
    }

    /// The deadlines that are set.
    pub fn timers(&self) -> &Timers<Timer> {
        &self.node.timers
    }

    /// How many requests of this node are on their way.
    pub fn open_calls(&self) -> usize {
        self.node.calls.len()
    }

    /// How many clients' questions are open.
    pub fn open_questions(&self) -> usize {
        self.node.asks.len()
    }
}

#[cfg(test)]
mod tests {
    use crate::cluster::{Block, ClusterState, Node, NodeId, Roles, StateId, Term, Version};
    use crate::protocol::Rng;
    use crate::zen::{Bootstrap, Config, Memory, Tuning, Zen};
    use std::sync::Arc;

    fn node() -> Node {
        Node {
            id: "n".into(),
            ephemeral_id: "e".into(),
            name: "n".into(),
            address: "h:9300".into(),
            roles: Roles::ALL,
            attributes: Arc::default(),
            version: "6.8.23".into(),
        }
    }

    fn started(memory: Memory) -> Zen {
        let bootstrap = Bootstrap::Hosts(["h:9300".into()].into());
        let tuning = Tuning::default();
        let config = Config { cluster_name: "prod".into(), node: node(), bootstrap, tuning, rule: |_| Ok(()) };
        Zen::new(config, memory, Rng::new(1))
    }

    #[test]
    fn before_the_first_round_of_pings_there_is_no_master_not_even_that_of_the_last_run() {
        let fresh = started(Memory::default());
        assert!(fresh.shown().nodes.master_node().is_none());
        assert!(fresh.shown().blocks.contains(Block::NO_MASTER_WRITES.id));
        assert!(fresh.shown().blocks.contains(Block::STATE_NOT_RECOVERED.id));

        let mut last = ClusterState::initial("prod".into());
        last.nodes.insert(Arc::new(node()));
        last.nodes.master = Some(NodeId::from("n"));
        (last.term, last.version) = (Term::new(3).expect("small"), Version::new(7).expect("small"));
        let id: StateId = last.id();
        let again = started(Memory { accepted: Some(Arc::new(last)), committed: Some(id), ..Memory::default() });
        assert_eq!(again.applied().id(), id, "what was committed is shown");
        assert!(again.shown().nodes.master_node().is_none());
        assert!(again.shown().blocks.contains(Block::NO_MASTER_WRITES.id));
        assert!(!again.shown().blocks.contains(Block::STATE_NOT_RECOVERED.id));
    }
}
