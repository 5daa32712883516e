//! How numbers are written for people.

use std::time::Duration;

/// A number with a comma between thousands.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of a whole in percent; nothing if there is no whole.
pub(super) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return String::new();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    format!("{percent:.1} %")
}

/// How many there are in a second.
pub(super) fn rate(number: u64, time: Duration) -> String {
    let rate = number as f64 / time.as_secs_f64().max(1e-9);
    if rate < 100.0 { format!("{rate:.1}/s") } else { format!("{}/s", count(rate as u64)) }
}

/// A span: below ten seconds in milliseconds, then in seconds, then in hours.
pub(super) fn span(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{} ms", count(time.as_millis() as u64)),
        10..1_000 => format!("{:.1} s", time.as_secs_f64()),
        1_000..36_000 => format!("{} s", count(time.as_secs())),
        _ => format!("{:.1} h", time.as_secs_f64() / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let counts =
            [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")].map(|(n, text)| (count(n), text));
        let percents = [(percent(1, 8), "12.5 %"), (percent(0, 0), "")].map(|(found, text)| (found, text));
        let second = Duration::from_secs(1);
        let rates = [(rate(5, second * 2), "2.5/s"), (rate(4_321, second), "4,321/s")];
        let spans = [(span(second * 9), "9,000 ms"), (span(second * 90), "90.0 s"), (span(second * 72_000), "20.0 h")];
        for (found, expected) in counts.into_iter().chain(percents).chain(rates).chain(spans) {
            assert_eq!(found, expected);
        }
    }
}
