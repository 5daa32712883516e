//! What an elected master does with its state: typed tasks, their order, and how a batch of them changes the state.
//!
//! Pure: it knows neither messages nor the time. Who waits for a task, and until when, is the caller's to keep; a queue
//! carries it along without looking at it.

mod execute;
mod pattern;
mod question;
mod queue;
mod task;

pub use execute::{Verdict, execute};
pub use pattern::matches;
pub use question::{Answer, PendingTask, Question};
pub use queue::{Queue, Queued};
pub use task::{Kind, MINIMUM_MASTER_NODES, Priority, Refusal, SettingsPatch, Task};
