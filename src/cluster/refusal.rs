//! Why a change of a cluster state is refused, and the conditions under which it is asked for.

use super::{Forward, Holding, RequestId, Revision};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What must hold for a change to be made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The key was last changed by exactly this change.
    Changed {
        /// The key.
        key: Arc<str>,
        /// The change.
        by: Revision,
    },
    /// The key does not exist.
    Absent {
        /// The key.
        key: Arc<str>,
    },
    /// The key exists.
    Present {
        /// The key.
        key: Arc<str>,
    },
    /// The lease is held under this token: a write of a holder that was overtaken changes nothing.
    Held(Holding),
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Changed { key, by } => write!(f, "[{key}] was last changed by {by}"),
            Condition::Absent { key } => write!(f, "[{key}] does not exist"),
            Condition::Present { key } => write!(f, "[{key}] exists"),
            Condition::Held(holding) => write!(f, "lease {holding} is held"),
        }
    }
}

/// Why a task was not carried out: a fact about the request, not a failure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It cannot be carried out as it is.
    Invalid(String),
    /// A condition does not hold.
    Conflict {
        /// The condition.
        condition: Condition,
        /// The last change of its key, if that exists.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found: Option<Revision>,
    },
    /// Another grant of the lease has not ended.
    Held {
        /// The grant.
        holding: Holding,
        /// Who has it.
        holder: Arc<str>,
    },
    /// The lease is not held under this token: it ran out, was released, or was never granted.
    NotHeld(Holding),
    /// It is too much for a cluster state.
    TooLarge(String),
    /// The request may have been carried out before, but what became of it is remembered no longer.
    Forgotten(RequestId),
    /// The same of a change that a node sent on.
    ForgottenForward(Forward),
    /// The cluster does not take changes at the moment, or no such changes.
    Blocked {
        /// What Elasticsearch says of such blocks.
        why: String,
        /// The HTTP status of the refusal.
        status: u16,
        /// Whether waiting may help.
        retryable: bool,
    },
    /// Too much is queued already.
    Overloaded(String),
}

impl Refusal {
    /// Whether it tells something of the state, and is true only if that was committed.
    pub fn is_of_state(&self) -> bool {
        match self {
            Refusal::Conflict { .. } | Refusal::Held { .. } | Refusal::NotHeld(_) => true,
            Refusal::Invalid(_)
            | Refusal::TooLarge(_)
            | Refusal::Forgotten(_)
            | Refusal::ForgottenForward(_)
            | Refusal::Blocked { .. }
            | Refusal::Overloaded(_) => false,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Invalid(why) | Refusal::TooLarge(why) | Refusal::Overloaded(why) => f.write_str(why),
            Refusal::Blocked { why, .. } => f.write_str(why),
            Refusal::Conflict { condition: Condition::Changed { key, by }, found: Some(found) } => {
                write!(f, "[{key}] was last changed by {found}, not by {by}")
            }
            Refusal::Conflict { condition: Condition::Changed { key, by }, found: None } => {
                write!(f, "[{key}] does not exist, and was not last changed by {by}")
            }
            Refusal::Conflict { condition: Condition::Absent { key }, found } => {
                write!(f, "[{key}] exists")?;
                found.map_or(Ok(()), |found| write!(f, ", last changed by {found}"))
            }
            Refusal::Conflict { condition: Condition::Present { key }, .. } => write!(f, "[{key}] does not exist"),
            Refusal::Conflict { condition: Condition::Held(holding), .. } => write!(f, "lease {holding} is not held"),
            Refusal::Held { holding, holder } => write!(f, "lease {holding} is held by [{holder}]"),
            Refusal::NotHeld(holding) => write!(f, "lease {holding} is not held"),
            Refusal::ForgottenForward(name) => {
                write!(f, "change [{name}] may have been carried out, but what became of it is remembered no longer")
            }
            Refusal::Forgotten(request) => {
                write!(
                    f,
                    "request [{request}] may have been carried out, but what became of it is remembered no longer"
                )
            }
        }
    }
}
