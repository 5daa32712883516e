//! The arena: every election algorithm in the same scenarios, measured from outside.
//!
//! A [`Trial`] is one algorithm in a world; [`FIELD`] is the table of algorithms that can enter it, Zen among them. A
//! [`Scenario`] hurts a bout and heals it, [`run`] makes one such run and measures it, [`median`] puts runs of several
//! seeds together. A [`Story`] plays a script of commands, for the golden traces of `tests/lab`.
//!
//! All is judged by where processes stand: who would act as leader, and who takes whom for it.

mod algorithms;
mod figures;
mod record;
mod scenario;
mod story;
mod trial;

pub use algorithms::{Entry, FIELD, entry};
pub use figures::{Figures, Recovery, Summary, median};
pub use record::{Arrow, Record, Remark, Stance, Turn};
pub use scenario::{SCENARIOS, Scenario, TrialOutcome, run, scenario};
pub use story::{Story, StoryError};
pub use trial::Trial;
