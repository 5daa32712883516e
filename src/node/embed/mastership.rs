//! Who leads, as an embedding program is told of it.

use crate::cluster::{ClusterState, Node, NodeId, Term};
use std::sync::Arc;

/// Who leads, as far as a node knows. What it does not know yet may have changed already: whoever acts on it in the outside
/// world fences that with the term, or with a lease and its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mastership {
    /// This node leads.
    Leading {
        /// In this term, in which nobody else ever leads.
        term: Term,
    },
    /// Another node leads.
    Following {
        /// The master.
        master: Arc<Node>,
        /// In this term.
        term: Term,
    },
    /// Nobody is known to lead.
    Nobody,
}

impl Mastership {
    /// Who leads in this state, as its reader with this id sees it.
    pub fn of(state: &ClusterState, local: &NodeId) -> Mastership {
        let term = state.term;
        match state.nodes.master_node() {
            Some(master) if master.id == *local => Mastership::Leading { term },
            Some(master) => Mastership::Following { master: master.clone(), term },
            None => Mastership::Nobody,
        }
    }
}
