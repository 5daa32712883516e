//! One node on real sockets, a real disk and a real clock.
//!
//! One task owns the node and carries out what its core wants; nothing here decides anything.
//!
//! ```text
//!   other nodes ──► transport ──┐                    ┌──► transport ──► other nodes
//!   users ─────────► handle ────┤      ┌──────┐      ├──► journal ────► store
//!   seeds, journal, the clock ──┴────► │ node │ ─────┴──► log, handle
//!                                      └──────┘
//! ```

pub mod addresses;
pub(crate) mod applied;
pub(crate) mod ask;
pub mod budget;
pub(crate) mod catch_up;
pub(crate) mod changes;
mod clock;
mod coding;
mod counts;
mod current;
pub mod descriptors;
pub mod dns_srv;
pub mod drain;
mod drained;
pub mod events;
mod faults;
pub mod figures;
#[cfg(fuzzing)]
pub mod fuzz;
mod guard;
mod handle;
mod hook_tally;
pub mod hooks;
mod host;
pub mod inquiry;
mod instruments;
mod journal;
pub mod latest;
mod lenient_request_line;
pub mod listen;
pub mod log;
pub mod metrics;
mod node;
pub(crate) mod outlook;
mod outside;
mod peers;
pub mod printable;
mod proc;
mod program;
mod reach;
mod read_side;
pub mod rounds;
#[cfg(test)]
pub(crate) mod sample;
pub mod secure;
pub mod seeds;
pub mod sight;
pub mod spans;
mod start;
mod start_error;
pub mod start_failure;
pub mod store;
mod surroundings;
pub mod tasks;
mod transport;
mod versions;
pub mod wall;

pub use counts::Counts;
pub use current::Current;
pub use faults::{Cut, Faults};
pub use handle::{Handle, RequestReceiver};
pub use lenient_request_line::Lenient;
pub use node::Ended;
pub use peers::{client, failure, untrusted};
pub use proc::{go_behind, host_name, is_stopped, listener, listening, resident, stopped};
pub use program::program;
pub use reach::{Access, Reach, ReachError};
pub use start::{Running, published, start};
pub use start_error::StartError;
#[cfg(fuzzing)]
use transport::read_frame;

/// The release of Elasticsearch whose interface this node has; its clients look at it.
pub const VERSION: &str = "6.8.23";
