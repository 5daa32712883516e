//! `/_prometheus/metrics`: what the node counts and measures of itself, for Prometheus.
//!
//! Answered from what is there, with a master and without. What there is stands in `runtime::metrics`.

use super::error::{Kind, RestError};
use super::reply::Reply;
use super::route::Call;
use crate::runtime::metrics::{Format, scrape};
use axum::body::Body;
use axum::http::header;

/// The whole page.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let accept = call.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let format = Format::wanted(accept);
    let text = scrape(&call.handle, format).await;
    let text = text.map_err(|_| RestError::new(Kind::IllegalState, "the metrics cannot be written"))?;
    let length = text.len().to_string();
    Ok(Reply::stream(format.content_type(), Body::from(text)).with_header(header::CONTENT_LENGTH, length))
}
