//! One diagnosis for all who ask at about the same time and do not mind that it is some moments old, as pages that stay open.
//!
//! What a diagnosis is stands in `inquiry`; who may be told an old one is decided by who asks.

use super::diagnosis;
use crate::runtime::Handle;
use crate::runtime::surroundings::Told;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What is wrong, and what the asked node itself says; nothing once the node has ended.
pub type Known = Option<Told>;

/// What is wrong, as it was told no longer ago than this, or as it is now.
pub async fn diagnosis_of_late(handle: &Handle, max_age: Duration) -> Known {
    let of = handle.clone();
    let ask = async move { diagnosis(&of, false).await.map(Arc::new) };
    handle.surroundings().last.get((), (Instant::now(), max_age), ask).await
}
