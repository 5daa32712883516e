//! The tables of `/_cat`, for people.
//!
//! A table is a list of columns and, for each row, a cell for each column; what of it is shown, in which order and how, is
//! the user's choice and the same for all tables. Mirrors `AbstractCatAction` and `RestTable` (6.8).

mod column;
mod display;
mod health;
mod master;
mod node_columns;
mod nodes;
mod pending_tasks;

pub(super) use column::{Column, Row};
pub(super) use display::{DISPLAY, Display};

use super::reply::Reply;
use super::route::{Answering, Answers, Call, Route};
use super::routes::ROUTES;

pub(super) const MASTER: Answers = Answers::Table(&master::COLUMNS, |call| Box::pin(master::rows(call)));
pub(super) const NODES: Answers = Answers::Table(&node_columns::COLUMNS, |call| Box::pin(nodes::rows(call)));
pub(super) const HEALTH: Answers = Answers::Table(&health::COLUMNS, |call| Box::pin(health::rows(call)));
pub(super) const PENDING_TASKS: Answers =
    Answers::Table(&pending_tasks::COLUMNS, |call| Box::pin(pending_tasks::rows(call)));

/// Answers with the paths of all tables.
pub(super) fn list(_: Call) -> Answering<Reply> {
    let is_table = |route: &&Route| matches!(route.answers, Answers::Table(..));
    let paths = ROUTES.iter().filter(is_table).flat_map(|route| route.paths);
    let text = paths.fold("=^.^=\n".to_owned(), |text, path| text + path + "\n");
    Box::pin(async { Ok(Reply::text(text)) })
}
