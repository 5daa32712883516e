//! A member of a cluster, for tests that need any.

use crate::cluster::{Node, Roles};
use std::sync::Arc;

/// One of this name, in its first process.
pub(crate) fn node(name: &str) -> Node {
    Node {
        id: name.into(),
        ephemeral_id: format!("{name}-1").as_str().into(),
        name: name.into(),
        address: format!("{name}:9300").as_str().into(),
        roles: Roles::ALL,
        attributes: Arc::default(),
        version: "6.8.23".into(),
    }
}
