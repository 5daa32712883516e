//! Times as users write them, and times and sizes as people like to read them.
//!
//! Mirrors `TimeValue` and `ByteSizeValue` (6.8), whose messages clients see.

use super::error::RestError;
use crate::settings::TIME_UNITS;
use std::time::{Duration, SystemTime};

/// Longer times are cut to this: nobody waits longer for an answer.
const TIME_MAX: Duration = Duration::from_secs(365 * 86_400);

/// What time it is, since 1970.
#[expect(clippy::disallowed_methods, reason = "users are told what time it is; nothing is decided by it")]
pub(super) fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// The time of day in UTC, so many seconds after 1970.
pub(super) fn clock(seconds: u64) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60)
}

/// Reads a time: a whole number and a unit, or a bare 0 or -1. What is -1 lasts no time.
pub(super) fn parse(name: &str, text: &str) -> Result<Duration, RestError> {
    let value = text.trim();
    if value == "-1" || !value.is_empty() && value.bytes().all(|digit| digit == b'0') {
        return Ok(Duration::ZERO);
    }
    let refuse = |why: &str| {
        let reason = format!("failed to parse setting [{name}] with value [{text}] as a time value: {why}");
        Err(RestError::illegal(reason))
    };
    let Some((number, unit)) = split(value) else {
        return refuse("unit is missing or unrecognized");
    };
    match number.parse::<i64>() {
        Ok(..=-2) => refuse("negative durations are not supported"),
        Ok(number) => Ok(of(u128::try_from(number).unwrap_or(0).saturating_mul(unit.into()))),
        Err(_) if number.parse::<f64>().is_ok() => {
            let reason = format!("failed to parse [{text}], fractional time values are not supported");
            Err(RestError::illegal(reason).caused_by(RestError::no_number(number)))
        }
        Err(_) => Err(RestError::illegal(format!("failed to parse [{text}]")).caused_by(RestError::no_number(number))),
    }
}

/// The number and the size of its unit. Only the `m` of minutes must not be a capital.
fn split(value: &str) -> Option<(&str, u64)> {
    let (unit, size) = TIME_UNITS.iter().find(|(unit, _)| {
        let at = value.len().checked_sub(unit.len());
        let end = at.and_then(|at| value.get(at..));
        end.is_some_and(|end| if *unit == "m" { end == "m" } else { end.eq_ignore_ascii_case(unit) })
    })?;
    Some((value[..value.len() - unit.len()].trim(), *size))
}

fn of(nanos: u128) -> Duration {
    let nanos = nanos.min(TIME_MAX.as_nanos());
    Duration::new((nanos / 1_000_000_000) as u64, (nanos % 1_000_000_000) as u32)
}

/// A time in the largest unit that fits, with a digit behind the point unless it is 0.
pub(super) fn human_time(time: Duration) -> String {
    let nanos = time.as_nanos();
    if nanos == 0 {
        return "0s".into();
    }
    let unit = TIME_UNITS.iter().rev().find(|(_, size)| nanos >= u128::from(*size));
    let (unit, size) = unit.copied().unwrap_or(TIME_UNITS[0]);
    tenths(nanos, size.into()) + unit
}

/// A number of bytes in the largest unit that fits.
pub(super) fn human_bytes(bytes: u64) -> String {
    let units = ["b", "kb", "mb", "gb", "tb", "pb"];
    let power = (0..units.len() as u32).rev().find(|power| bytes >= 1 << (10 * power)).unwrap_or(0);
    tenths(bytes.into(), 1 << (10 * power)) + units[power as usize]
}

/// How often `size` fits, with one digit that is cut off and not rounded.
fn tenths(number: u128, size: u128) -> String {
    match number % size * 10 / size {
        0 => (number / size).to_string(),
        tenth => format!("{}.{tenth}", number / size),
    }
}

/// How many of the unit with this name a time lasts, if there is such a unit.
pub(super) fn in_unit(time: Duration, unit: &str) -> Option<u128> {
    let (_, size) = TIME_UNITS.iter().find(|(name, _)| *name == unit)?;
    Some(time.as_nanos() / u128::from(*size))
}

/// How many of the unit with this name there are in some bytes, if there is such a unit.
pub(super) fn bytes_in_unit(bytes: u64, unit: &str) -> Option<u64> {
    let power = match unit {
        "b" => 0,
        "k" | "kb" => 1,
        "m" | "mb" => 2,
        "g" | "gb" => 3,
        "t" | "tb" => 4,
        "p" | "pb" => 5,
        _ => return None,
    };
    Some(bytes >> (10 * power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_elasticsearch_reads_them() {
        let cases = [
            ("0", Duration::ZERO),
            ("-1", Duration::ZERO),
            ("-1s", Duration::ZERO),
            ("-0s", Duration::ZERO),
            ("1MS", Duration::from_millis(1)),
            (" 1 s ", Duration::from_secs(1)),
            ("2m", Duration::from_secs(120)),
            ("3H", Duration::from_secs(10_800)),
            ("7micros", Duration::from_micros(7)),
            ("7nanos", Duration::from_nanos(7)),
            ("9999999999999999d", TIME_MAX),
        ];
        for (text, expected) in cases {
            assert_eq!(parse("timeout", text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn bad_times_are_refused_in_the_words_of_elasticsearch() {
        let unit = "as a time value: unit is missing or unrecognized";
        let cases = [
            ("10", format!("failed to parse setting [timeout] with value [10] {unit}")),
            ("", format!("failed to parse setting [timeout] with value [] {unit}")),
            ("1M", format!("failed to parse setting [timeout] with value [1M] {unit}")),
            ("5 é", format!("failed to parse setting [timeout] with value [5 é] {unit}")),
            ("1.5s", "failed to parse [1.5s], fractional time values are not supported".into()),
            ("99999999999999999999s", "failed to parse [99999999999999999999s], fractional time values are not supported".into()),
            ("xs", "failed to parse [xs]".into()),
            ("s", "failed to parse [s]".into()),
            ("-5s", "failed to parse setting [timeout] with value [-5s] as a time value: negative durations are not supported".into()),
        ];
        for (text, expected) in cases {
            let error = parse("timeout", text).map_err(|error| error.to_string());
            assert_eq!(error, Err(format!("IllegalArgumentException[{expected}]")), "{text}");
        }
    }

    #[test]
    fn times_and_sizes_are_written_for_people() {
        let times = [
            (0, "0s"),
            (86, "86ms"),
            (1_500, "1.5s"),
            (1_999, "1.9s"),
            (30_000, "30s"),
            (75_000, "1.2m"),
            (37_500_000, "10.4h"),
            (172_800_000, "2d"),
        ];
        for (millis, expected) in times {
            assert_eq!(human_time(Duration::from_millis(millis)), expected);
        }
        assert_eq!(human_time(Duration::from_nanos(1_500)), "1.5micros");
        let sizes = [
            (0, "0b"),
            (1_023, "1023b"),
            (1_024, "1kb"),
            (106_430_464, "101.5mb"),
            (8_267_825_152, "7.7gb"),
            (u64::MAX, "16383.9pb"),
        ];
        for (bytes, expected) in sizes {
            assert_eq!(human_bytes(bytes), expected);
        }
    }

    #[test]
    fn units_that_are_asked_for_cut_off_what_is_left() {
        assert_eq!(in_unit(Duration::from_millis(61_999), "m"), Some(1));
        assert_eq!(in_unit(Duration::from_millis(61_999), "ms"), Some(61_999));
        assert_eq!(in_unit(Duration::ZERO, "x"), None);
        assert_eq!(bytes_in_unit(2_047, "k"), Some(1));
        assert_eq!(bytes_in_unit(2_047, "b"), Some(2_047));
        assert_eq!(bytes_in_unit(1, "x"), None);
    }
}
