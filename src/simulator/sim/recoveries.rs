//! How long clusters took to recover, over a batch of runs, and what that may be.
//!
//! The bound of a single run is a sum of settings (`Tuning::recovery_bound`); it must bear the worst that can be drawn.
//! Over a batch the times must be near what is usual, so that a protocol that became slower is seen.

use super::watch::Violation;
use std::time::Duration;

/// What recoveries at default timings may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Half of them.
    pub median: Duration,
    /// 99 of 100.
    pub most: Duration,
    /// All of them.
    pub longest: Duration,
}

/// The pace that is demanded of a batch at default timings.
pub const PACE: Pace = Pace {
    median: Duration::from_millis(50),
    most: Duration::from_millis(1_200),
    longest: Duration::from_millis(4_000),
};

/// The same where nodes are half well now and then: who comes back may have been slow just before, and is passed over for a
/// while.
pub const PACE_HALF_WELL: Pace = Pace {
    median: Duration::from_millis(100),
    most: Duration::from_millis(1_200),
    longest: Duration::from_millis(4_000),
};

/// Of fewer recoveries the slowest are a matter of chance.
const ENOUGH: usize = 200;

/// The rule that a batch recovers at the pace.
const RULE: &str = "L1 recovery times of a batch";

/// How long recoveries took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recoveries {
    times: Vec<Duration>,
    /// The longest one, and the seed of its run.
    longest: Option<(Duration, u64)>,
}

impl Recoveries {
    /// Adds those of the run of a seed.
    pub fn add(&mut self, seed: u64, times: &[Duration]) {
        self.times.extend(times);
        let longest = times.iter().max().map(|time| (*time, seed));
        self.longest = longest.into_iter().chain(self.longest).max_by_key(|(time, _)| *time);
    }

    /// The seed of the run in which one took the longest.
    pub fn slowest_seed(&self) -> Option<u64> {
        self.longest.map(|(_, seed)| seed)
    }

    /// How many there were.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The times within which so many of a thousand came; none where there was none.
    pub fn within<const N: usize>(&self, permilles: [usize; N]) -> [Option<Duration>; N] {
        let mut times = self.times.clone();
        times.sort_unstable();
        let place = |permille: usize| (times.len() * permille).div_ceil(1_000).saturating_sub(1);
        permilles.map(|permille| times.get(place(permille)).copied())
    }

    /// Whether a batch at default timings keeps the pace; one of few recoveries is not judged.
    pub fn judge(&self, pace: Pace) -> Result<(), Violation> {
        if self.len() < ENOUGH {
            return Ok(());
        }
        let [half, most, all] = self.within([500, 990, 1_000]);
        for (percent, time, max) in [(50, half, pace.median), (99, most, pace.most), (100, all, pace.longest)] {
            if let Some(time) = time.filter(|time| *time > max) {
                let slowest =
                    self.slowest_seed().map_or_else(String::new, |seed| format!(", the longest one in seed {seed}"));
                let took = format!("{percent} % of {} recoveries took up to {time:?}", self.len());
                let what = format!("{took}, {max:?} is allowed{slowest}");
                return Err(Violation { checker: RULE, what });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(times: impl Iterator<Item = u64>) -> Recoveries {
        let times: Vec<Duration> = times.map(Duration::from_millis).collect();
        let mut recoveries = Recoveries::default();
        recoveries.add(7, &times);
        recoveries
    }

    fn pace(median: u64, most: u64, longest: u64) -> Pace {
        let [median, most, longest] = [median, most, longest].map(Duration::from_millis);
        Pace { median, most, longest }
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_times() {
        let recoveries = millis((1..=1_000).rev());
        let found = recoveries.within([0, 1, 500, 900, 990, 999, 1_000]);
        assert_eq!(found, [1, 1, 500, 900, 990, 999, 1_000].map(|time| Some(Duration::from_millis(time))));
        assert_eq!(Recoveries::default().within([500]), [None]);
    }

    #[test]
    fn the_seed_of_the_longest_one_is_told_whenever_it_came() {
        let mut recoveries = millis(1..=5);
        recoveries.add(8, &[Duration::from_millis(3)]);
        assert_eq!(recoveries.slowest_seed(), Some(7));
        recoveries.add(9, &[Duration::from_millis(6), Duration::from_millis(2)]);
        assert_eq!(recoveries.slowest_seed(), Some(9));
        assert_eq!(Recoveries::default().slowest_seed(), None);
    }

    #[test]
    fn a_batch_slower_than_the_pace_is_caught_wherever_it_is_slow() {
        let recoveries = millis(1..=1_000);
        assert_eq!(recoveries.judge(pace(500, 990, 1_000)), Ok(()));
        for slow in [pace(499, 990, 1_000), pace(500, 989, 1_000), pace(500, 990, 999)] {
            let verdict = recoveries.judge(slow).map_err(|violation| violation.checker);
            assert_eq!(verdict, Err(RULE), "{slow:?}");
        }
        assert_eq!(millis(1..ENOUGH as u64).judge(pace(0, 0, 0)), Ok(()), "they are too few");
    }
}
