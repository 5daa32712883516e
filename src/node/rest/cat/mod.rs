//! The tables of `/_cat`, for people.
//!
//! A table is a list of columns and, for each row, a cell for each column; what of it is shown, in which order and how, is
//! the user's choice and the same for all tables. Mirrors `AbstractCatAction` and `RestTable` (6.8).

mod allocation;
mod count;
mod display;
mod empty;
mod health;
mod index_columns;
mod master;
mod node_columns;
mod node_row;
mod nodeattrs;
mod nodes;
mod pending_tasks;
mod plugins;
mod tasks;
mod thread_pool;

pub(super) use display::{DISPLAY, Display};

use super::reply::Reply;
use super::route::{Answers, Route};

pub(super) const MASTER: Answers = Answers::Table(&master::COLUMNS, |call| Box::pin(master::rows(call)));
pub(super) const NODES: Answers = Answers::Table(&node_columns::COLUMNS, |call| Box::pin(nodes::rows(call)));
pub(super) const HEALTH: Answers = Answers::Table(&health::COLUMNS, |call| Box::pin(health::rows(call)));
pub(super) const PENDING_TASKS: Answers =
    Answers::Table(&pending_tasks::COLUMNS, |call| Box::pin(pending_tasks::rows(call)));

pub(super) const ALLOCATION: Answers = Answers::Table(&allocation::COLUMNS, |call| Box::pin(allocation::rows(call)));
pub(super) const NODEATTRS: Answers = Answers::Table(&nodeattrs::COLUMNS, |call| Box::pin(nodeattrs::rows(call)));
pub(super) const THREAD_POOL: Answers = Answers::Table(&thread_pool::COLUMNS, |call| Box::pin(thread_pool::rows(call)));
pub(super) const TASKS: Answers = Answers::Table(&tasks::COLUMNS, |call| Box::pin(tasks::rows(call)));
pub(super) const COUNT: Answers = Answers::Table(&count::COLUMNS, |call| Box::pin(count::rows(call)));
pub(super) const PLUGINS: Answers = Answers::Table(&plugins::COLUMNS, |call| Box::pin(empty::of_state(call)));
pub(super) const INDICES: Answers = Answers::Table(&index_columns::INDICES, |call| Box::pin(empty::of_indices(call)));
pub(super) const SHARDS: Answers = Answers::Table(&index_columns::SHARDS, |call| Box::pin(empty::of_indices(call)));
pub(super) const SEGMENTS: Answers = Answers::Table(&empty::SEGMENTS, |call| Box::pin(empty::of_indices(call)));
pub(super) const RECOVERY: Answers = Answers::Table(&empty::RECOVERY, |call| Box::pin(empty::of_recoveries(call)));
pub(super) const FIELDDATA: Answers = Answers::Table(&empty::FIELDDATA, |_| Box::pin(async { Ok(Vec::new()) }));
pub(super) const ALIASES: Answers = Answers::Table(&empty::ALIASES, |call| Box::pin(empty::of_state(call)));
pub(super) const TEMPLATES: Answers = Answers::Table(&empty::TEMPLATES, |call| Box::pin(empty::of_state(call)));
pub(super) const REPOSITORIES: Answers = Answers::Table(&empty::REPOSITORIES, |call| Box::pin(empty::of_state(call)));
pub(super) const SNAPSHOTS: Answers = Answers::Table(&empty::SNAPSHOTS, |call| Box::pin(empty::of_repository(call)));

/// Paths of tables that Elasticsearch does not list, though it has them.
const UNLISTED: [&str; 3] = ["/_cat/allocation/{nodes}", "/_cat/snapshots", "/_cat/templates/{name}"];

/// Answers with the paths of all tables among these routes.
pub(super) fn list(routes: impl Iterator<Item = &'static Route>) -> Reply {
    let is_table = |route: &&'static Route| matches!(route.answers, Answers::Table(..));
    let paths = routes.filter(is_table).flat_map(|route| route.paths).filter(|path| !UNLISTED.contains(path));
    let text = paths.fold("=^.^=\n".to_owned(), |text, path| text + &path.replace("_pool_patterns", "_pools") + "\n");
    Reply::text(text)
}
