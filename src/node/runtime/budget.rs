//! How much memory requests and answers of users may take that are under way: one account for all of them.
//!
//! Whoever needs some takes it first, and gives it back with what it was for. What is small is let through for longer than
//! what is large, so that a few large ones do not lock all others out. Mirrors `HierarchyCircuitBreakerService` and its
//! breaker `in_flight_requests` (6.8).

use super::proc;
use crate::settings::MemoryLimit;
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is small.
const SMALL: u64 = 64 << 10;

/// The part of the account that only small ones may take: one of so many.
const KEPT_FOR_SMALL: u64 = 8;

/// What is counted on where the system does not tell how much memory there is.
const MEMORY_UNKNOWN: u64 = 1 << 30;

/// The account.
#[derive(Debug)]
pub struct Budget {
    all: u64,
    taken: AtomicU64,
    refused: AtomicU64,
}

/// Why nothing is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// Others have it; later there will be some.
    Taken(Shortage),
    /// There is never so much.
    TooLarge(Shortage),
}

impl fmt::Display for NoRoom {
    /// In the words of Elasticsearch's breaker.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (NoRoom::Taken(shortage) | NoRoom::TooLarge(shortage)) = self;
        let Shortage { wanted, allowed } = shortage;
        write!(f, "[http_request] Data too large, data for [<http_request>] would be [{wanted}b], ")?;
        match self {
            NoRoom::Taken(_) => write!(f, "and of the limit of [{allowed}b] too much is in use; try again later"),
            NoRoom::TooLarge(_) => write!(f, "which is larger than the limit of [{allowed}b]"),
        }
    }
}

/// What was wanted, and what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// How much was wanted altogether, in bytes.
    pub wanted: u64,
    /// How much all may have together.
    pub allowed: u64,
}

/// Some of it, given back when this is dropped.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    /// An account of so many bytes, or of this part of the memory that the process may have.
    pub fn new(limit: MemoryLimit) -> Arc<Self> {
        let memory = || proc::memory().unwrap_or(MEMORY_UNKNOWN);
        let all = match limit {
            MemoryLimit::Bytes(bytes) => bytes,
            MemoryLimit::Percent(percent) => memory() / 100 * u64::from(percent),
        };
        Arc::new(Budget { all, taken: AtomicU64::new(0), refused: AtomicU64::new(0) })
    }

    /// How much there is.
    pub fn all(&self) -> u64 {
        self.all
    }

    /// How much of it is taken.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// How often nothing was given.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn refuse(&self, why: NoRoom) -> Result<(), NoRoom> {
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(why)
    }

    /// A share of nothing, which can grow.
    pub fn share(self: &Arc<Self>) -> Share {
        Share { budget: self.clone(), bytes: 0 }
    }

    /// A share of so much.
    pub fn take(self: &Arc<Self>, bytes: u64) -> Result<Share, NoRoom> {
        let mut share = self.share();
        share.grow(bytes).map(|()| share)
    }

    /// Bytes that are paid for as long as somebody has them.
    pub fn hold(self: &Arc<Self>, bytes: impl Into<Bytes>) -> Result<Bytes, NoRoom> {
        let bytes = bytes.into();
        Ok(self.take(bytes.len() as u64)?.hold(bytes))
    }

    /// How much one may have of it: what is small all, what is large not quite.
    fn limit(&self, wanted: u64) -> u64 {
        if wanted <= SMALL { self.all } else { self.all - self.all / KEPT_FOR_SMALL }
    }
}

impl Share {
    /// Bytes for which this is given back when nobody has any of them.
    pub fn hold(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Held { bytes, _share: self })
    }

    /// Takes so much more, or nothing.
    pub fn grow(&mut self, more: u64) -> Result<(), NoRoom> {
        let wanted = self.bytes.saturating_add(more);
        let allowed = self.budget.limit(wanted);
        let shortage = Shortage { wanted, allowed };
        if wanted > allowed {
            return self.budget.refuse(NoRoom::TooLarge(shortage));
        }
        let fits = |taken: u64| taken.checked_add(more).filter(|taken| *taken <= allowed);
        match self.budget.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => {
                self.bytes = wanted;
                Ok(())
            }
            Err(_) => self.budget.refuse(NoRoom::Taken(shortage)),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Bytes with what they cost.
struct Held {
    bytes: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortage(wanted: u64, allowed: u64) -> Shortage {
        Shortage { wanted, allowed }
    }

    #[test]
    fn what_is_taken_is_given_back() {
        let budget = Budget::new(MemoryLimit::Bytes(8 << 20));
        let mut first = budget.share();
        assert_eq!(first.grow(4 << 20), Ok(()));
        assert_eq!(first.grow(2 << 20), Ok(()));
        let mut second = budget.share();
        assert_eq!(second.grow(2 << 20), Err(NoRoom::Taken(shortage(2 << 20, 7 << 20))));
        assert_eq!(second.grow(1 << 20), Ok(()));
        drop(first);
        assert_eq!(budget.share().grow(6 << 20), Ok(()));
        drop(second);
        assert_eq!(budget.taken.load(Ordering::Relaxed), 0);
        let [part, rest] = {
            let whole = budget.hold(vec![7; 1 << 20]).expect("there is room");
            [whole.slice(..10), whole.slice(10..)]
        };
        drop(rest);
        assert_eq!((part.len(), budget.taken.load(Ordering::Relaxed)), (10, 1 << 20), "a part keeps all of it");
        drop(part);
        assert_eq!(budget.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn large_ones_leave_room_for_small_ones_and_what_never_fits_is_told_so() {
        let budget = Budget::new(MemoryLimit::Bytes(8 << 20));
        let mut large = budget.share();
        assert_eq!(large.grow(7 << 20), Ok(()));
        assert_eq!(large.grow(1), Err(NoRoom::TooLarge(shortage((7 << 20) + 1, 7 << 20))));
        let small: Vec<Bytes> = (0..16).map(|_| budget.hold(vec![0; 64 << 10]).expect("it is small")).collect();
        assert_eq!(budget.hold(vec![0; 1]), Err(NoRoom::Taken(shortage(1, 8 << 20))));
        drop((large, small));
        assert_eq!(budget.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_part_of_the_memory_is_less_than_all_of_it() {
        let half = Budget::new(MemoryLimit::Percent(50)).all;
        let all = Budget::new(MemoryLimit::Percent(100)).all;
        assert!(all > 1 << 20 && half.abs_diff(all / 2) < 100, "{half} of {all}");
    }
}
