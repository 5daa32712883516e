//! How values are written for people: the way in which they may be given.

use std::time::Duration;

/// The units of times, in nanoseconds, the longest first.
const UNITS: [(u128, &str); 7] = [
    (86_400_000_000_000, "d"),
    (3_600_000_000_000, "h"),
    (60_000_000_000, "m"),
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1_000, "micros"),
    (1, "nanos"),
];

/// A time in the longest unit that needs no fraction.
pub(super) fn time(time: Duration) -> String {
    let nanos = time.as_nanos();
    let unit = UNITS.iter().find(|(size, _)| nanos > 0 && nanos.is_multiple_of(*size));
    unit.map_or_else(|| "0ms".into(), |(size, name)| format!("{}{name}", nanos / size))
}

/// Words between which one may choose.
pub(super) fn words(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zen::parse_time;

    #[test]
    fn a_time_is_written_as_it_may_be_given() {
        for text in ["0ms", "1nanos", "1500micros", "1500ms", "2s", "90s", "2m", "25h", "365d"] {
            assert_eq!(parse_time(text).map(time).as_deref(), Some(text));
        }
        assert_eq!(time(Duration::from_secs(120)), "2m");
    }
}
