//! One answer for all who ask the same at about the same time and do not mind that it is some moments old, as pages that stay
//! open.
//!
//! Who may be told an old one is decided by who asks.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// The last answer of its kind.
pub struct Latest<K, T>(Mutex<Option<Asked<K, T>>>);

/// When it was asked what, and what comes or came of it.
type Asked<K, T> = (Instant, K, Shared<BoxFuture<'static, Option<T>>>);

impl<K, T> Default for Latest<K, T> {
    fn default() -> Self {
        Latest(Mutex::new(None))
    }
}

impl<K: PartialEq, T: Clone + Send + Sync + 'static> Latest<K, T> {
    /// The last answer, if this was asked and no longer ago than that; else what comes of asking now.
    pub fn get(
        &self,
        question: K,
        (now, max_age): (Instant, Duration),
        ask: impl Future<Output = Option<T>> + Send + 'static,
    ) -> Shared<BoxFuture<'static, Option<T>>> {
        let mut last = self.0.lock();
        let is_fit = |(begun, of, _): &&Asked<K, T>| *of == question && now - *begun < max_age;
        if let Some((_, _, answer)) = last.as_ref().filter(is_fit) {
            return answer.clone();
        }
        // On a task of its own, so that it goes on if who asked first hangs up.
        let asked = tokio::spawn(ask);
        let answer = asked.map(|told| told.ok().flatten()).boxed().shared();
        *last = Some((now, question, answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[tokio::test]
    async fn one_is_asked_for_all_who_ask_the_same_within_its_age() {
        let (last, asked, begin) = (Latest::default(), Arc::new(AtomicU64::new(0)), Instant::now());
        let get = async |question: &'static str, at: u64, max_age: u64| {
            let asked = asked.clone();
            let ask = async move { Some(asked.fetch_add(1, Ordering::Relaxed) + 1) };
            last.get(question, (begin + Duration::from_millis(at), Duration::from_millis(max_age)), ask).await
        };
        assert_eq!([get("a", 0, 1_000).await, get("a", 0, 1_000).await], [Some(1), Some(1)]);
        assert_eq!(get("a", 1_500, 2_000).await, Some(1), "it is not older than that");
        assert_eq!(get("b", 1_500, 2_000).await, Some(2), "it is another question");
        assert_eq!([get("b", 3_000, 1_000).await, get("b", 3_000, 0).await], [Some(3), Some(4)], "it is too old");
    }
}
