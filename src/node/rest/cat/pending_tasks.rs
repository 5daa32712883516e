//! `/_cat/pending_tasks`: what waits for the master.

use crate::rest::column::{Cell, Column, Row};
use crate::rest::error::RestError;
use crate::rest::pending::{age, tasks};
use crate::rest::route::Call;
use crate::service::PendingTask;

pub(super) static COLUMNS: [Column; 4] = [
    Column::new("insertOrder", &["o"], "its place in the order of arrival").right().shown(),
    Column::new("timeInQueue", &["t"], "how long it has been waiting").right().shown(),
    Column::new("priority", &["p"], "how urgent it is").shown(),
    Column::new("source", &["s"], "what it is").shown(),
];

/// A row for each task, in the order in which they are carried out.
pub(super) async fn rows(call: Call) -> Result<Vec<Row>, RestError> {
    let tasks = tasks(&call).await?;
    let row = |task: PendingTask| {
        let time = Cell::Time(age(&task));
        vec![Cell::Count(task.insert_order), time, Cell::text(task.priority.to_string()), Cell::text(task.source)]
    };
    Ok(tasks.into_iter().map(row).collect())
}
