//! What a cluster remembers: settings, voting sets, keys, leases, requests, indices, templates.
//!
//! Gives no meaning to any of it. Mirrors `MetaData` (6.8).

use super::{Forwards, KeyValue, Lease, Requests, Table, Token, VotingSets};
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
    /// How many bytes the keys and their values have together.
    pub key_bytes: u64,
    /// The leases that are held, by name.
    pub leases: Table<Arc<str>, Lease>,
    /// The last fencing token that was given.
    pub last_token: Token,
    /// The recent requests, so that none is carried out twice.
    pub requests: Requests,
    /// The last changes that nodes sent on, for the same reason.
    pub forwards: Forwards,
    /// Indices by name.
    pub indices: Table<Arc<str>, Arc<Value>>,
    /// Index templates by name.
    pub templates: Table<Arc<str>, Arc<Value>>,
}
