//! Whom a node does not talk to: nodes of other clusters, doubles of itself, and itself.
//!
//! Nothing that they say is used. What else a node does not do for others is refused where it is asked for. Mirrors the
//! checks of `UnicastZenPing`, `MembershipAction` and the fault detectors (6.8), which each made their own.

use super::message::{Message, Sender};
use super::{Note, Zen};
use crate::cluster::{Node, Uuid};
use crate::protocol::Effects;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Why a request was not even considered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// The receiver is of another cluster: it has another name, or another UUID.
    OtherCluster(Arc<Sender>),
    /// The receiver goes by the id of the sender.
    DuplicateId(Arc<Node>),
    /// The receiver is the sender.
    Itself,
    /// Anything else, in words.
    Because(Arc<str>),
}

impl From<&str> for Rejection {
    fn from(why: &str) -> Self {
        Rejection::Because(why.into())
    }
}

impl From<String> for Rejection {
    fn from(why: String) -> Self {
        Rejection::Because(why.into())
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::OtherCluster(its) => {
                write!(f, "it is of cluster [{}]", its.cluster_name)?;
                its.cluster_uuid.map_or(Ok(()), |uuid| write!(f, " with uuid [{uuid}]"))
            }
            Rejection::DuplicateId(node) => write!(f, "found existing node {node} with the same id"),
            Rejection::Itself => f.write_str("it is the sender itself"),
            Rejection::Because(why) => f.write_str(why),
        }
    }
}

impl Zen {
    /// Why a message is not considered, if it is not.
    pub(super) fn refuses(&self, message: &Message, out: &mut Effects<Zen>) -> Option<Rejection> {
        let from = message.sender()?;
        if self.is_foreign(from) {
            out.note(Note::OtherCluster { node: from.node.clone(), what: self.difference(from) });
            Some(Rejection::OtherCluster(self.sender.clone()))
        } else if from.node.id == self.local.id && from.node.same_process(&self.local) {
            // One of its own addresses may be among the seed hosts.
            Some(Rejection::Itself)
        } else if self.is_itself(&from.node) {
            out.note(Note::DuplicateId { node: from.node.clone() });
            Some(Rejection::DuplicateId(self.local.clone()))
        } else {
            None
        }
    }

    /// What sets the cluster of a node apart from the own one.
    fn difference(&self, from: &Sender) -> String {
        if from.cluster_name != self.config.cluster_name {
            return format!("cluster name [{}] is not [{}]", from.cluster_name, self.config.cluster_name);
        }
        let name = |uuid: Option<Uuid>| uuid.map_or_else(|| "none".into(), |uuid| uuid.to_string());
        format!("cluster uuid [{}] is not [{}]", name(from.cluster_uuid), name(self.ledger.cluster_uuid))
    }

    /// Whether a node goes by the id of this one, or by that of its process.
    pub(super) fn is_itself(&self, node: &Node) -> bool {
        node.id == self.local.id || node.same_process(&self.local)
    }

    pub(super) fn is_foreign(&self, from: &Sender) -> bool {
        from.cluster_name != self.config.cluster_name
            || matches!((from.cluster_uuid, self.ledger.cluster_uuid), (Some(theirs), Some(ours)) if theirs != ours)
    }
}
