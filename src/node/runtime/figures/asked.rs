//! What became of asking a node for what only it knows. Who asks is another's business.

use crate::cluster::Node;
use std::sync::Arc;
use std::time::Duration;

/// Why a node told nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It cannot be reached.
    NotConnected,
    /// It did not answer in time.
    TimedOut(Duration),
    /// Its answer was none to the question, or another process answered.
    Strange,
}

/// What became of asking a node.
pub type Asked<T> = (Arc<Node>, Result<T, Silence>);
