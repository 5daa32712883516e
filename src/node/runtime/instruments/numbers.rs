//! What counts and measures: numbers that any thread may add to without waiting, and that are read without stopping it.
//!
//! A histogram has a fixed number of buckets, so nothing here grows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bounds of steps of a thread that should never be busy for long, in microseconds.
pub(super) const STEPS: &[u64] = &[10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
/// Bounds of what takes a disk or a network, in microseconds.
pub(super) const TRIPS: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
];
/// Bounds of what people notice, in microseconds.
pub(super) const SPELLS: &[u64] = &[
    1_000,
    3_000,
    10_000,
    30_000,
    100_000,
    300_000,
    1_000_000,
    3_000_000,
    10_000_000,
    30_000_000,
    100_000_000,
    300_000_000,
];
/// Bounds of messages, in bytes.
pub(super) const SIZES: &[u64] =
    &[256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20];

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn inc(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    /// How much it is.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that is what it was set to last.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// It is this now.
    pub fn set(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    /// How much it is.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// One more, until what this returns is dropped.
    pub fn enter(self: &std::sync::Arc<Self>) -> Entered {
        self.0.fetch_add(1, Ordering::Relaxed);
        Entered(self.clone())
    }
}

/// Counts for one as long as it lives.
#[derive(Debug)]
pub struct Entered(std::sync::Arc<Gauge>);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How often what was how large.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One for each bound, and one for what is larger than all of them.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [u64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Histogram { bounds, counts, sum: AtomicU64::new(0) }
    }

    /// Something took so long.
    pub fn took(&self, time: Duration) {
        self.observe(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// Something was so large.
    pub fn observe(&self, size: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < size);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(size, Ordering::Relaxed);
    }

    /// What was seen so far, in a unit that `scale` of ours make one of.
    pub(in crate::runtime) fn read(&self, scale: f64) -> Reading {
        let bounds = self.bounds.iter().map(|bound| *bound as f64 / scale).chain([f64::INFINITY]);
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        Reading { sum: self.sum.load(Ordering::Relaxed) as f64 / scale, count, buckets }
    }
}

/// What a histogram saw: each bucket by itself.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::runtime) struct Reading {
    pub(in crate::runtime) sum: f64,
    pub(in crate::runtime) count: u64,
    pub(in crate::runtime) buckets: Vec<(f64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn what_is_seen_falls_into_the_first_bucket_that_holds_it() {
        let histogram = Histogram::new(&[10, 100]);
        for size in [0, 10, 11, 100, 101, 5_000] {
            histogram.observe(size);
        }
        let reading = histogram.read(10.0);
        assert_eq!(reading.buckets, [(1.0, 2), (10.0, 2), (f64::INFINITY, 2)]);
        assert_eq!((reading.count, reading.sum), (6, 522.2));
    }

    #[test]
    fn who_entered_counts_until_it_leaves() {
        let gauge = Arc::new(Gauge::default());
        let first = gauge.enter();
        let second = gauge.enter();
        assert_eq!(gauge.get(), 2);
        drop(first);
        assert_eq!(gauge.get(), 1);
        drop(second);
        assert_eq!(gauge.get(), 0);
    }
}
