//! Stories as text: what happens to a cluster as commands, and what its nodes say to that.
//!
//! A [`Script`] is read from a text, its [`Block`]s are played on a [`ScriptWorld`] one after the other, and what they print is
//! compared with what was expected, or written in its place. The golden tests do the first, the command line can do
//! both. `docs/golden.md` describes the language; it reads no files itself.
//!
//! ```
//! use zazen_simulator::sim::script::{Script, ScriptWorld};
//!
//! let text = "# A node that is alone elects itself.\n\nnodes a\nstart\nnotes off\nstabilise\n----\n";
//! let script = Script::parse(text).expect("the script is well formed");
//! let mut stage = ScriptWorld::new();
//! for block in script.blocks() {
//!     let printed = stage.play(block).expect("the node does what it may");
//!     assert_eq!(printed, ["stable after 0.8ms: a leads alone in term 1 at 1/1, voting {a}"]);
//! }
//! ```

mod abbreviate;
mod answers;
mod breakage;
mod commands;
mod guards;
mod lease_holders;
mod messages;
mod mistake;
mod questions;
mod rules;
mod script_world;
mod settle;
mod setup;
mod show;
mod story;
mod tables;
mod text;
mod updates;
mod varied;
mod words;

pub use mistake::{Mistake, ScriptError};
pub use script_world::ScriptWorld;
pub use text::{Block, Line, Script};
