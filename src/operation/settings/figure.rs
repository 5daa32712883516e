//! Numbers, times and sizes as Elasticsearch reads them in settings, and its words for those that it cannot read.
//!
//! What is read here is only looked at; what a node runs by is read by `kind`, within bounds of its own. Mirrors `Setting`,
//! `Booleans`, `TimeValue`, `ByteSizeValue`, `MemorySizeValue` and `RatioValue` (6.8).

use super::objection::Objection;
use std::ops::RangeInclusive;

/// The units of times, with their lengths in nanoseconds, the endings that must be tried first in front.
pub const TIME_UNITS: [(&str, u64); 7] = [
    ("nanos", 1),
    ("micros", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// The units of sizes but for the byte itself.
const SIZES: [(&str, i128); 10] = [
    ("k", 1 << 10),
    ("kb", 1 << 10),
    ("m", 1 << 20),
    ("mb", 1 << 20),
    ("g", 1 << 30),
    ("gb", 1 << 30),
    ("t", 1 << 40),
    ("tb", 1 << 40),
    ("p", 1 << 50),
    ("pb", 1 << 50),
];

pub(super) fn boolean(text: &str) -> Result<(), Objection> {
    if matches!(text, "true" | "false") {
        return Ok(());
    }
    Err(Objection::illegal(format!("Failed to parse value [{text}] as only [true] or [false] are allowed.")))
}

/// A whole number within bounds, if it is a number of its type at all.
pub(super) fn whole(key: &str, text: &str, (min, max): (i64, i64), all: RangeInclusive<i64>) -> Result<(), Objection> {
    let failed = || format!("Failed to parse value [{text}] for setting [{key}]");
    match text.parse::<i64>() {
        Ok(number) if !all.contains(&number) => Err(Objection::illegal(failed()).caused_by(Objection::number(text))),
        Ok(number) if number < min => Err(Objection::illegal(format!("{} must be >= {min}", failed()))),
        Ok(number) if number > max => Err(Objection::illegal(format!("{} must be <= {max}", failed()))),
        Ok(_) => Ok(()),
        Err(_) => Err(Objection::illegal(failed()).caused_by(Objection::number(text))),
    }
}

/// A number that is not below 0.
pub(super) fn decimal(key: &str, text: &str) -> Result<(), Objection> {
    let failed = || format!("Failed to parse value [{text}] for setting [{key}]");
    match double(text) {
        Ok(number) if number < 0.0 => Err(Objection::illegal(format!("{} must be >= 0.0", failed()))),
        Ok(_) => Ok(()),
        Err(objection) => Err(Objection::illegal(failed()).caused_by(objection)),
    }
}

/// A number with a fraction, as Java reads it.
fn double(text: &str) -> Result<f64, Objection> {
    let trimmed = text.trim();
    let digits = trimmed.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(trimmed);
    let is_figure = digits.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let named = matches!(trimmed.trim_start_matches(['+', '-']), "NaN" | "Infinity");
    if trimmed.is_empty() {
        return Err(Objection::number_because("empty String"));
    }
    let number = if named { trimmed.parse() } else { digits.parse() };
    match number {
        Ok(number) if is_figure || named => Ok(number),
        _ if has_two_points(trimmed) => Err(Objection::number_because("multiple points")),
        _ => Err(Objection::number(trimmed)),
    }
}

/// A number as Java writes it: with a fraction, and far from 1 with an exponent.
pub fn double_text(number: f64) -> String {
    match number.abs() {
        size if size.is_infinite() => format!("{}Infinity", if number < 0.0 { "-" } else { "" }),
        0.0 | 0.001..10_000_000.0 => format!("{number:?}"),
        size if size.is_nan() => "NaN".to_owned(),
        _ => {
            let text = format!("{number:e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{digits}{}E{exponent}", if digits.contains('.') { "" } else { ".0" })
        }
    }
}

/// Whether a second point comes before anything that is neither a digit nor a point.
fn has_two_points(text: &str) -> bool {
    let figures = text.trim_start_matches(['+', '-']);
    figures
        .chars()
        .take_while(|letter| letter.is_ascii_digit() || *letter == '.')
        .filter(|letter| *letter == '.')
        .count()
        > 1
}

/// A time that is not below one that is written so.
pub(super) fn time(key: &str, text: &str, min: Option<&str>) -> Result<(), Objection> {
    let length = nanos(key, text)?;
    match min {
        Some(min) if length < nanos(key, min)? => {
            Err(Objection::illegal(format!("failed to parse value [{text}] for setting [{key}], must be >= [{min}]")))
        }
        Some(_) | None => Ok(()),
    }
}

/// How long a time is.
pub(super) fn nanos(key: &str, text: &str) -> Result<i128, Objection> {
    let value = text.trim();
    let bare = value.trim_start_matches('-').trim_start_matches('0');
    if !value.is_empty() && (value.trim_start_matches('0').is_empty() || value.starts_with('-') && bare == "1") {
        return Ok(if bare == "1" { -1_000_000 } else { 0 });
    }
    let Some((number, unit)) = TIME_UNITS.iter().find_map(|(unit, size)| Some((without_unit(value, unit)?, *size)))
    else {
        let reason = format!("failed to parse setting [{key}] with value [{text}] as a time value");
        return Err(Objection::illegal(format!("{reason}: unit is missing or unrecognized")));
    };
    match number.parse::<i64>() {
        Ok(number) => Ok(i128::from(number) * i128::from(unit)),
        Err(_) if double(&number).is_ok() => {
            let reason = format!("failed to parse [{text}], fractional time values are not supported");
            Err(Objection::illegal(reason).caused_by(Objection::number(&number)))
        }
        Err(_) => Err(Objection::illegal(format!("failed to parse [{text}]")).caused_by(Objection::number(&number))),
    }
}

/// The number in front of a unit of time, in small letters. Only the `m` of minutes must not be a capital.
fn without_unit(value: &str, unit: &str) -> Option<String> {
    let lower = value.to_lowercase();
    let number = lower.strip_suffix(unit)?;
    (unit != "m" || value.ends_with('m')).then(|| number.trim().to_owned())
}

/// How many bytes a size has.
pub(super) fn size(key: &str, text: &str) -> Result<i64, Objection> {
    let lower = text.to_lowercase();
    let lower = lower.trim();
    if let Some((number, unit)) = SIZES.iter().find_map(|(unit, size)| Some((lower.strip_suffix(unit)?.trim(), *size)))
    {
        return bytes_of(key, text, number, unit);
    }
    match (lower, lower.strip_suffix('b').map(str::trim)) {
        (_, Some(number)) => number.parse().map_err(|_| Objection::number(number)),
        ("-1", None) => Ok(-1),
        ("0", None) => Ok(0),
        _ => {
            let reason = format!("failed to parse setting [{key}] with value [{text}] as a size in bytes");
            Err(Objection::parse(format!("{reason}: unit is missing or unrecognized")))
        }
    }
}

fn bytes_of(key: &str, text: &str, number: &str, unit: i128) -> Result<i64, Objection> {
    match (number.parse::<i64>(), double(number)) {
        (Ok(whole), _) => i64::try_from(i128::from(whole) * unit).map_err(|_| {
            let max = i64::MAX;
            let why = Objection::illegal(format!(
                "Values greater than {max} bytes are not supported: {number}{}",
                name(unit)
            ));
            Objection::parse(format!("failed to parse setting [{key}] with value [{text}] as a size in bytes"))
                .caused_by(why)
        }),
        (Err(_), Ok(part)) => Ok((part * unit as f64) as i64),
        (Err(_), Err(_)) => {
            Err(Objection::parse(format!("failed to parse [{text}]")).caused_by(Objection::number(number)))
        }
    }
}

/// What Elasticsearch warns of in a size that it takes.
pub(super) fn size_warnings(key: &str, text: &str) -> Vec<String> {
    let below = |shown: String| {
        format!(
            "Values less than -1 bytes are deprecated and will not be supported in the next major version: [{shown}]"
        )
    };
    let lower = text.trim().to_lowercase();
    let unit = SIZES.iter().find(|(unit, _)| lower.ends_with(unit)).map_or("b", |(_, size)| name(*size));
    let number = lower.trim_end_matches(|letter: char| letter.is_ascii_lowercase()).trim();
    let bytes = size(key, text).unwrap_or_default();
    if number.parse::<i64>().is_ok() {
        return Vec::from_iter((bytes < -1).then(|| below(format!("{number}{unit}"))));
    }
    let fraction = (double(number).is_ok() && lower.ends_with(|letter: char| letter.is_ascii_lowercase())).then(|| {
        format!(
            "Fractional bytes values are deprecated. Use non-fractional bytes values instead: [{text}] found for setting [{key}]"
        )
    });
    fraction.into_iter().chain((bytes < -1).then(|| below(format!("{bytes}b")))).collect()
}

fn name(unit: i128) -> &'static str {
    SIZES.iter().rev().find(|(_, size)| *size == unit).map_or("b", |(name, _)| name)
}

/// A size, or a part of the memory.
pub(super) fn memory(key: &str, text: &str) -> Result<(), Objection> {
    let Some(percent) = text.strip_suffix('%') else {
        return size(key, text).map(drop);
    };
    match double(percent) {
        Ok(number) if (0.0..=100.0).contains(&number) || number.is_nan() => Ok(()),
        Ok(_) => Err(Objection::parse(format!("percentage should be in [0-100], got [{percent}]"))),
        Err(cause) => Err(Objection::parse(format!("failed to parse [{percent}] as a double")).caused_by(cause)),
    }
}

/// A part of something, in percent.
pub(super) fn ratio(text: &str) -> Result<f64, Objection> {
    if let Some(percent) = text.strip_suffix('%') {
        return match double(percent) {
            Ok(number) if (0.0..=100.0).contains(&number) || number.is_nan() => Ok(number),
            Ok(_) => Err(Objection::parse(format!("Percentage should be in [0-100], got [{percent}]"))),
            Err(cause) => Err(Objection::parse(format!("Failed to parse [{percent}] as a double")).caused_by(cause)),
        };
    }
    match double(text) {
        Ok(number) if (0.0..=1.0).contains(&number) || number.is_nan() => Ok(100.0 * number),
        Ok(number) => Err(Objection::parse(format!("Ratio should be in [0-1.0], got [{}]", double_text(number)))),
        Err(_) => Err(Objection::parse(format!("Invalid ratio or percentage [{text}]"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_java_does() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.001, "0.001"),
            (0.000_999_9, "9.999E-4"),
            (9_999_999.9, "9999999.9"),
            (1e7, "1.0E7"),
            (-12_345_678.5, "-1.23456785E7"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (number, text) in cases {
            assert_eq!(double_text(number), text);
        }
    }

    #[test]
    fn sizes_that_will_be_refused_are_warned_of() {
        let fraction = "Fractional bytes values are deprecated. Use non-fractional bytes values instead: ";
        let below = "Values less than -1 bytes are deprecated and will not be supported in the next major version: ";
        let cases = [
            ("1gb", vec![]),
            ("-1", vec![]),
            ("-1b", vec![]),
            ("1.5 gb ", vec![format!("{fraction}[1.5 gb ] found for setting [k]")]),
            ("-2 KB", vec![format!("{below}[-2kb]")]),
            ("-1k", vec![format!("{below}[-1kb]")]),
            ("-0.5gb", vec![format!("{fraction}[-0.5gb] found for setting [k]"), format!("{below}[-536870912b]")]),
        ];
        for (text, expected) in cases {
            assert_eq!(size_warnings("k", text), expected, "{text}");
        }
    }
}
