//! Who sends a request, and why a receiver does not even consider it.
//!
//! Whose requests a node considers is decided in `reject`.

use crate::cluster::{ClusterName, Node, Uuid};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Who sends a request, and of which cluster it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sender {
    /// The name of its cluster.
    pub cluster_name: ClusterName,
    /// The identity of its cluster, once it knows of a committed state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uuid: Option<Uuid>,
    /// The node.
    pub node: Arc<Node>,
}

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
