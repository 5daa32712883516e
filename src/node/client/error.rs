//! Why a client did not get what it asked for, and what is known of what it asked.

use crate::protocol::Failure;
use serde_json::Value;
use std::fmt;

/// Why a client did not get what it asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientError {
    /// The client itself cannot be made, or the request cannot be written.
    Setup(String),
    /// The cluster refuses the request.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The name of the error.
        kind: String,
        /// The reason.
        reason: String,
    },
    /// A node does not answer.
    Silent(String, Failure),
    /// An answer is not what it should be.
    Strange(String),
    /// No node kept a lease alive in time.
    Late,
    /// It was not carried out: nobody who could do it was found in time.
    NotDone(Box<ClientError>),
    /// Whether it was carried out is not known: the time was over before anybody could tell.
    Unknown(Box<ClientError>),
}

/// What is known of a request that failed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Asking again would not help.
    Final,
    /// It was not carried out.
    NotDone,
    /// It may have been.
    Unknown,
}

impl ClientError {
    /// The refusal that a body tells of.
    pub(super) fn refused(status: u16, body: &[u8]) -> ClientError {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let error = &value["error"];
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let (kind, reason) = match error {
            Value::String(reason) => (String::new(), reason.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                (text(&error["type"]), text(&error["reason"]))
            }
        };
        ClientError::Refused { status, kind, reason }
    }

    pub(super) fn fate(&self) -> Fate {
        match self {
            ClientError::Silent(_, Failure::Refused) => Fate::NotDone,
            ClientError::Silent(_, Failure::Reset | Failure::TimedOut | Failure::BadAnswer) => Fate::Unknown,
            ClientError::Refused { status: 429 | 503, .. } => Fate::NotDone,
            ClientError::Refused { status: 500.., .. } => Fate::Unknown,
            ClientError::Setup(_)
            | ClientError::Refused { .. }
            | ClientError::Strange(_)
            | ClientError::Late
            | ClientError::NotDone(_)
            | ClientError::Unknown(_) => Fate::Final,
        }
    }

    /// Whether all nodes that were asked have no master.
    pub(super) fn is_without_master(&self) -> bool {
        matches!(self, ClientError::NotDone(last) if last.kind() == Some("master_not_discovered_exception"))
    }

    /// The name of the error, if the cluster refused the request.
    pub fn kind(&self) -> Option<&str> {
        match self {
            ClientError::Refused { kind, .. } => Some(kind),
            ClientError::Setup(_)
            | ClientError::Silent(..)
            | ClientError::Strange(_)
            | ClientError::Late
            | ClientError::NotDone(_)
            | ClientError::Unknown(_) => None,
        }
    }

    /// Whether there is no room for it now, and it may be asked again later.
    pub fn is_overload(&self) -> bool {
        self.kind() == Some("es_rejected_execution_exception")
    }

    /// Whether a condition does not hold.
    pub fn is_conflict(&self) -> bool {
        self.kind() == Some("version_conflict_engine_exception")
    }

    /// Whether there is nothing of the name.
    pub fn is_not_found(&self) -> bool {
        self.kind() == Some("resource_not_found_exception")
    }

    /// Whether another holds the lease.
    pub fn is_held(&self) -> bool {
        self.kind() == Some("lease_held_exception")
    }

    /// Whether the grant of the lease has ended.
    pub fn is_not_held(&self) -> bool {
        self.kind() == Some("lease_not_held_exception")
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Setup(why) => write!(f, "cannot ask: {why}"),
            ClientError::Refused { status, kind, reason } if kind.is_empty() && reason.is_empty() => {
                write!(f, "status {status} without a reason, as from no node's address for users")
            }
            ClientError::Refused { status, kind, reason } => write!(f, "{reason} ({status} {kind})"),
            ClientError::Silent(endpoint, why) => write!(f, "{endpoint} does not answer ({why})"),
            ClientError::Strange(what) => write!(f, "an answer makes no sense: {what}"),
            ClientError::Late => f.write_str("no node kept the lease alive in time"),
            ClientError::NotDone(last) => write!(f, "nobody could do it in time; last: {last}"),
            ClientError::Unknown(last) => {
                write!(f, "it may have been done, and nobody could tell in time; last: {last}")
            }
        }
    }
}

impl std::error::Error for ClientError {}
