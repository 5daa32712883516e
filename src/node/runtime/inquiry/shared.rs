//! One diagnosis for all who ask at about the same time and do not mind that it is some moments old, as pages that stay open.
//!
//! What a diagnosis is stands in `inquiry`; who may be told an old one is decided by who asks.

use super::diagnosis;
use crate::diagnose::Diagnosis;
use crate::runtime::Handle;
use crate::zen::Explanation;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What is wrong, and what the asked node itself says; nothing once it has ended.
pub type Known = Option<Arc<(Explanation, Diagnosis)>>;

/// When the last one was begun, and what comes or came of it.
#[derive(Default)]
pub(super) struct LastDiagnosis(Mutex<Option<(Instant, Shared<BoxFuture<'static, Known>>)>>);

impl LastDiagnosis {
    /// The last one, if it was begun no longer ago than this; else a new one.
    fn get(
        &self,
        now: Instant,
        max_age: Duration,
        begin: impl FnOnce() -> BoxFuture<'static, Known>,
    ) -> Shared<BoxFuture<'static, Known>> {
        let mut last = self.0.lock();
        if let Some((_, known)) = last.as_ref().filter(|(begun, _)| now - *begun <= max_age) {
            return known.clone();
        }
        let begun = begin().shared();
        *last = Some((now, begun.clone()));
        begun
    }
}

/// What is wrong, as it was told no longer ago than this, or as it is now.
pub async fn diagnosis_of_late(handle: &Handle, max_age: Duration) -> Known {
    let of = handle.clone();
    let begin = || {
        // On a task of its own, so that it goes on if who asked first hangs up.
        let asked = tokio::spawn(async move { diagnosis(&of, false).await.map(Arc::new) });
        asked.map(|told| told.ok().flatten()).boxed()
    };
    let known = handle.surroundings.last.get(Instant::now(), max_age, begin);
    known.await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::ready;

    #[test]
    fn one_is_made_for_all_who_ask_within_its_age() {
        let (last, made, begin) = (LastDiagnosis::default(), Cell::new(0), Instant::now());
        let get = |at: u64, max_age: u64| {
            let make = || {
                made.set(made.get() + 1);
                ready(None).boxed()
            };
            drop(last.get(begin + Duration::from_millis(at), Duration::from_millis(max_age), make));
            made.get()
        };
        assert_eq!([get(0, 1_000), get(0, 1_000), get(1_500, 2_000)], [1, 1, 1]);
        assert_eq!([get(1_500, 1_000), get(1_600, 1_000)], [2, 2], "it is older than that");
    }
}
