//! Several changes of users' keys that are made together or not at all.

use crate::cluster::{Blob, Condition, Holding};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A key to write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Put {
    /// The key.
    pub key: Arc<str>,
    /// Its new value.
    pub value: Blob,
    /// The lease that it vanishes with, which must be held; none keeps it until it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Holding>,
}

/// Changes of users' keys, made together if all conditions hold, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Txn {
    /// What must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The keys to write; each key stands once, here or among the deletes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub puts: Vec<Put>,
    /// The keys to delete; one that is not there is as good as deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deletes: Vec<Arc<str>>,
}

impl Txn {
    /// Writes one key.
    pub fn put(key: impl Into<Arc<str>>, value: impl Into<Blob>) -> Self {
        Txn { puts: vec![Put { key: key.into(), value: value.into(), lease: None }], ..Txn::default() }
    }

    /// Deletes one key.
    pub fn delete(key: impl Into<Arc<str>>) -> Self {
        Txn { deletes: vec![key.into()], ..Txn::default() }
    }

    /// The same under one more condition.
    #[must_use]
    pub fn only_if(mut self, condition: impl Into<Option<Condition>>) -> Self {
        self.conditions.extend(condition.into());
        self
    }

    /// The same with keys that vanish with a lease, which must be held.
    #[must_use]
    pub fn with_lease(mut self, lease: Option<Holding>) -> Self {
        self.puts.iter_mut().for_each(|put| put.lease = lease.clone());
        self
    }

    /// How many conditions, puts and deletes it has.
    pub fn len(&self) -> usize {
        self.conditions.len() + self.puts.len() + self.deletes.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The source of its task: what it does, as far as one line takes it.
impl fmt::Display for Txn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.puts.as_slice(), self.deletes.as_slice()) {
            ([], []) => write!(f, "check-keys ({} conditions)", self.conditions.len()),
            ([put], []) => write!(f, "put-key [{}]", put.key),
            ([], [key]) => write!(f, "delete-key [{key}]"),
            (puts, deletes) => write!(f, "change-keys ({} puts, {} deletes)", puts.len(), deletes.len()),
        }
    }
}
