//! What a run consisted of, in numbers.

use std::collections::BTreeMap;
use std::fmt;

/// What one node sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages it sent.
    pub sent: u64,
    /// Messages that reached it.
    pub received: u64,
    /// Bytes it sent, if the world was told how to measure messages.
    pub sent_bytes: u64,
}

/// What a run consisted of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events that were carried out.
    pub events: u64,
    /// Inputs that participants handled.
    pub inputs: u64,
    /// Requests sent.
    pub requests: u64,
    /// Replies sent.
    pub replies: u64,
    /// Messages sent that need no reply.
    pub tells: u64,
    /// Bytes of all messages sent, if the world was told how to measure them.
    pub bytes: u64,
    /// Messages that were swallowed, by chance or by a black hole.
    pub lost: u64,
    /// Messages that were delivered a second time.
    pub duplicated: u64,
    /// Writes asked for.
    pub stores: u64,
    /// Writes that a crash took back or tore.
    pub writes_lost: u64,
    /// Faults, by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// What each node sent and received, by index.
    pub nodes: Vec<Traffic>,
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} events, {} inputs, {} requests, {} replies, {} tells, {} bytes, {} lost, {} duplicated, {} stores, \
             {} writes lost; faults:",
            self.events,
            self.inputs,
            self.requests,
            self.replies,
            self.tells,
            self.bytes,
            self.lost,
            self.duplicated,
            self.stores,
            self.writes_lost
        )?;
        for (kind, count) in &self.faults {
            write!(f, " {kind} {count}")?;
        }
        Ok(())
    }
}
