//! All that the nodes of a cluster agree on.
//!
//! Only a master makes new ones, and no two that differ have the same rank; neither is checked here. Mirrors
//! `ClusterState` (6.8).

use super::{Blocks, ClusterName, Metadata, Nodes, StateId, Table, Term, Uuid, Version, VotingSet};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// One state of a cluster. A clone shares everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterState {
    /// The term of the master that made it.
    pub term: Term,
    /// Its place among the states.
    pub version: Version,
    /// Drawn when it was made.
    pub uuid: Uuid,
    /// What the user calls the cluster.
    pub cluster_name: ClusterName,
    /// Drawn when the cluster was first formed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uuid: Option<Uuid>,
    /// Its members and its master.
    #[serde(default)]
    pub nodes: Nodes,
    /// What survives a full restart.
    #[serde(default)]
    pub metadata: Metadata,
    /// What is refused at the moment.
    #[serde(default)]
    pub blocks: Blocks,
    /// Where the shards of each index are.
    #[serde(default)]
    pub routing: Table<Arc<str>, Arc<Value>>,
}

impl ClusterState {
    /// How many of those whose votes count are members.
    pub fn voters_present(&self) -> usize {
        self.metadata.voting.own.iter().filter(|voter| self.nodes.contains(voter)).count()
    }

    /// Whether votes of members do not count yet that will: the nodes of a new cluster are members a moment before they vote,
    /// and one of three that is lost then may be the only voter.
    pub fn awaits_votes(&self) -> bool {
        let voters = self.metadata.voting.own.len();
        let eligible = self.nodes.iter().filter(|node| node.is_master_eligible()).count();
        voters < VotingSet::most_of(eligible)
    }

    /// Whether just a majority of a voting set is there that could do without somebody when it is whole.
    pub fn is_reduced(&self) -> bool {
        let voters = self.metadata.voting.own.len();
        self.nodes.master.is_some() && voters > 2 && self.voters_present() <= voters / 2 + 1
    }

    /// The state before all states: nothing in it but the name.
    pub fn initial(cluster_name: ClusterName) -> Self {
        ClusterState {
            term: Term::ZERO,
            version: Version::ZERO,
            uuid: Uuid::ZERO,
            cluster_name,
            cluster_uuid: None,
            nodes: Nodes::new(),
            metadata: Metadata::default(),
            blocks: Blocks::new(),
            routing: Table::new(),
        }
    }

    /// What names it.
    pub fn id(&self) -> StateId {
        StateId { term: self.term, version: self.version, uuid: self.uuid }
    }

    /// What elections and publishing compare.
    pub fn rank(&self) -> (Term, Version) {
        (self.term, self.version)
    }
}

/// The id stands for the content.
impl Hash for ClusterState {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.id().hash(hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Node, Roles};

    /// A state with so many members that could be master, one that could not, and so many voters.
    fn with(members: usize, voters: usize) -> ClusterState {
        let name = |number: usize| format!("n{number}");
        let node = |(name, roles): (String, Roles)| {
            Arc::new(Node {
                id: name.as_str().into(),
                ephemeral_id: name.as_str().into(),
                name: name.as_str().into(),
                address: "127.0.0.1:9300".into(),
                roles,
                attributes: Arc::default(),
                version: "6.8.23".into(),
            })
        };
        let mut state = ClusterState::initial("shop".into());
        let all = (0..members).map(|number| (name(number), Roles::ALL));
        let other = ("data".to_owned(), Roles { master: false, ..Roles::ALL });
        state.nodes = all.chain([other]).map(node).collect();
        state.metadata.voting.own = VotingSet::new((0..voters).map(|number| name(number).as_str().into()));
        state
    }

    #[test]
    fn votes_are_awaited_until_as_many_count_as_ever_will() {
        let cases =
            [(1, 1, false), (2, 1, false), (3, 1, true), (3, 3, false), (4, 3, false), (5, 3, true), (2, 3, false)];
        for (members, voters, is_awaited) in cases {
            assert_eq!(with(members, voters).awaits_votes(), is_awaited, "{voters} of {members}");
        }
    }
}
