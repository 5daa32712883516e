//! What is known of a cluster so far, as far as nodes told it.

use super::super::ask::{Place, Silence};
use super::super::status::View;
use super::super::stopwatch::Stopwatch;
use super::overview::Overview;
use super::page::Page;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is known of a cluster.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) overview: Option<(Box<Overview>, Place, Stopwatch)>,
    pub(super) findings: Option<Box<View>>,
    pub(super) pages: BTreeMap<Page, Value>,
    /// Who was asked in vain since the last answer.
    pub(super) silent: Vec<(Place, Silence)>,
}

impl Seen {
    /// How old what all see is.
    pub(super) fn age(&self) -> Option<Duration> {
        self.overview.as_ref().map(|(.., told)| told.elapsed())
    }
}
