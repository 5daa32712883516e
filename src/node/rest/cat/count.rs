//! `/_cat/count`: how many documents there are: none.

use super::empty::of_local_indices;
use crate::rest::column::{Cell, Column, Row};
use crate::rest::error::RestError;
use crate::rest::route::Call;
use crate::rest::search_body::check_count;
use crate::rest::time::{clock, since_1970};

pub(super) static COLUMNS: [Column; 3] = [
    Column::new("epoch", &["t", "time"], "seconds since 1970-01-01 00:00:00").shown(),
    Column::new("timestamp", &["ts", "hms", "hhmmss"], "time of day in UTC, HH:MM:SS").shown(),
    Column::new("count", &["dc", "docs.count", "docsCount"], "how many documents there are").shown(),
];

/// One row, unless an index is named that is missing.
pub(super) async fn rows(call: Call) -> Result<Vec<Row>, RestError> {
    check_count(&call)?;
    of_local_indices(call).await?;
    let seconds = since_1970().as_secs();
    Ok(vec![vec![Cell::Count(seconds), Cell::text(clock(seconds)), Cell::Count(0)]])
}
