//! What keeps a node from being started: a slip in its configuration, or something in its way.
//!
//! What is told of nodes that have one is in `hindered`.

use super::{Code, Mend};
use serde::{Deserialize, Serialize};

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slip {
    /// What and where.
    pub fault: String,
    /// The command that puts it right, if it is known what was meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
    /// Whether only a start tells it, as the file may hold what is secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_withheld: bool,
}

/// What would keep a node from starting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacle {
    /// What it is.
    pub code: Code,
    /// The same in words.
    pub fault: String,
    /// What to do about it, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<Mend>,
}
