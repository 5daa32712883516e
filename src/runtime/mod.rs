//! One node on real sockets, a real disk and a real clock.
//!
//! One task owns the node and carries out what its core wants; nothing here decides anything.

pub mod addresses;
mod handle;
pub mod log;
pub mod seeds;
pub mod srv;

pub use handle::Handle;
