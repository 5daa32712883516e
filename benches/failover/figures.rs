//! Samples of one quantity, and what is told of them.

/// What is told of the samples of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) trials: usize,
    pub(crate) minimum: f64,
    pub(crate) median: f64,
    /// The smallest sample that 99 of a hundred do not exceed; of fewer than a hundred samples, the largest.
    pub(crate) p99: f64,
    pub(crate) maximum: f64,
}

impl Summary {
    /// Sums up samples in any order; nothing is told of none.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (trials, maximum) = (sorted.len(), *sorted.last()?);
        let rank = (trials * 99).div_ceil(100);
        let median = (sorted[(trials - 1) / 2] + sorted[trials / 2]) / 2.0;
        Some(Summary { trials, minimum: sorted[0], median, p99: sorted[rank - 1], maximum })
    }
}

/// A figure with three digits that mean something, and commas between thousands.
pub(crate) fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        0.0..1.0 => 3,
        1.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", grouped(whole)),
        None => grouped(&text),
    }
}

/// How many there are, with commas between thousands.
pub(crate) fn count(number: u64) -> String {
    grouped(&number.to_string())
}

fn grouped(whole: &str) -> String {
    let mut text = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
