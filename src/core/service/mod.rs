//! What an elected master does with its state: typed tasks, their order, and how a batch of them changes the state.
//!
//! Pure: it knows neither messages nor the time. Who waits for a task, and until when, is the caller's to keep; a queue
//! carries it along without looking at it.

mod account;
mod change_keys;
mod execute;
mod grant;
pub mod limits;
mod pattern;
mod put_settings;
mod question;
mod queue;
mod setting;
mod task;
mod txn;
pub mod watch;

pub use account::Account;
pub use execute::{Batch, TaskResult};
pub use pattern::matches;
pub use put_settings::{ARCHIVED, restore_settings};
pub use question::{Answer, Query, Question};
pub use queue::{PendingTask, Queue, Queued};
pub use setting::{MINIMUM_MASTER_NODES, SettingRule, SettingsPatch, Update};
pub use task::{Kind, Priority, Task};
pub use txn::{Put, Txn};

pub use crate::cluster::{Condition, Refusal};
