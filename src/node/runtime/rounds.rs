//! One round of questions to all nodes for all who ask the same at about the same time.
//!
//! Unlike [`Latest`](super::latest) nobody is told what is older than his question: who comes soon after a round began waits
//! for the next one, which begins some moments later, with all who came until then.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// So long after a round the next one begins at the earliest.
const SPACING: Duration = Duration::from_millis(25);

/// The last round.
pub struct Rounds<K, T>(Mutex<Option<Round<K, T>>>);

struct Round<K, T> {
    question: K,
    begins: Instant,
    answer: Answer<T>,
}

/// What comes of a round; none if whoever carried it out ended.
type Answer<T> = Shared<BoxFuture<'static, Option<T>>>;

impl<K, T> Default for Rounds<K, T> {
    fn default() -> Self {
        Rounds(Mutex::new(None))
    }
}

impl<K: PartialEq, T: Clone + Send + Sync + 'static> Rounds<K, T> {
    /// What comes of the next round with this question.
    pub fn next(&self, question: K, now: Instant, ask: impl Future<Output = T> + Send + 'static) -> Answer<T> {
        let mut last = self.0.lock();
        let same = last.as_ref().filter(|round| round.question == question);
        if let Some(round) = same.filter(|round| round.begins > now) {
            return round.answer.clone();
        }
        let begins = same.map_or(now, |round| now.max(round.begins + SPACING));
        // On a task of its own, so that it goes on if who asked first hangs up.
        let asked = tokio::spawn(async move {
            tokio::time::sleep_until(begins).await;
            ask.await
        });
        let answer = asked.map(Result::ok).boxed().shared();
        *last = Some(Round { question, begins, answer: answer.clone() });
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[tokio::test]
    async fn who_comes_before_a_round_begins_is_told_what_came_of_it_and_nobody_what_is_older() {
        let (rounds, asked, begin) = (Rounds::default(), Arc::new(AtomicU64::new(0)), Instant::now());
        let next = |question: &'static str, at: u64| {
            let asked = asked.clone();
            let ask = async move { asked.fetch_add(1, Ordering::Relaxed) + 1 };
            rounds.next(question, begin + Duration::from_millis(at), ask)
        };
        let all = [next("a", 0), next("a", 1), next("a", 24), next("a", 25), next("b", 26), next("b", 52)];
        let mut told = Vec::new();
        for answer in all {
            told.push(answer.await);
        }
        let [first, second, third, fourth, other, last] = told[..] else { panic!("{told:?}") };
        assert_eq!([first, second], [Some(1), third], "the second round waits");
        assert_eq!(asked.load(Ordering::Relaxed), 5);
        assert_ne!(third, fourth, "the second round has begun");
        assert_ne!(other, last);
    }
}
