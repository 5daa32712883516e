//! What a user keeps under a key, and which change made it what it is.

use super::{Blob, Holding, Revision};
use serde::{Deserialize, Serialize};

/// What a user stored under a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyValue {
    /// What is stored.
    pub value: Blob,
    /// The change that made it so.
    pub changed: Revision,
    /// The lease that the key vanishes with, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Holding>,
}

impl KeyValue {
    /// A value that vanishes with no lease.
    pub fn new(value: impl Into<Blob>, changed: impl Into<Revision>) -> Self {
        KeyValue { value: value.into(), changed: changed.into(), lease: None }
    }
}
