//! One node on real sockets, a real disk and a real clock.
//!
//! One task owns the node and carries out what its core wants; nothing here decides anything.

pub mod figures;
mod handle;
mod proc;
mod target;

pub use handle::{Desk, Handle};
pub use target::Lenient;
