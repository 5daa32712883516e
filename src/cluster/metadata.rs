//! What a cluster remembers: settings, voting sets, keys, indices, templates.
//!
//! Gives no meaning to any of it. Mirrors `MetaData` (6.8).

use super::{Table, Term, Version, VotingSets};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Settings by key.
pub type Settings = Table<Arc<str>, Arc<str>>;

/// The part of a state that survives a full restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Settings that survive a full restart.
    pub persistent: Settings,
    /// Settings that go over the persistent ones and end with a full restart.
    pub transient: Settings,
    /// Who counts in elections and commits.
    pub voting: VotingSets,
    /// The users' keys.
    pub keys: Table<Arc<str>, KeyValue>,
    /// Indices by name.
    pub indices: Table<Arc<str>, Arc<Value>>,
    /// Index templates by name.
    pub templates: Table<Arc<str>, Arc<Value>>,
}

/// What a user stored under a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyValue {
    /// What is stored.
    pub value: Arc<str>,
    /// The rank of the state that last changed it.
    pub changed: (Term, Version),
}
