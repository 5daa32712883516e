//! Zen's documented failures: how each is brought about, how it is recognised, and what it shows under which rules.
//!
//! [`FLAWS`] has a row for each. A row's script is played under the rules that it names and under this protocol's, and its
//! [`Oracle`] judges both by what the same [`Witness`] saw; the witness also looks at random runs. `docs/flaws.md` is
//! made of it.

mod page;
mod play;
mod random;
mod table;

pub use page::row;
pub use play::{PlayOutcome, play};
pub use random::{Kind, Typed, witnessed};
pub use table::{FLAWS, Flaw};

pub use super::witness::{Oracle, Witness};
