//! Sizes and ports, as Elasticsearch writes them; times are known to `zen`.

use super::{MemoryLimit, PortRange, Ports};

/// The units of sizes; each is 1024 times the one before it.
const UNITS: [&[&str]; 6] = [&["b"], &["kb", "k"], &["mb", "m"], &["gb", "g"], &["tb", "t"], &["pb", "p"]];

/// A size: a number, which may have a fraction, and a unit; only 0 needs none.
pub(super) fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    if number == "0" && unit.is_empty() {
        return Some(0);
    }
    let power = UNITS.iter().position(|names| names.contains(&unit.trim_start()))?;
    let size = 1_u64 << (10 * power);
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(size);
    }
    let bytes = number.parse::<f64>().ok()? * size as f64;
    // Beyond this a fraction of a byte cannot be told, and no setting means it.
    (bytes < (1_u64 << 53) as f64).then_some(bytes as u64)
}

/// A size, or a part of the memory that there is: `25%`. A fraction of a percent does not count.
pub(super) fn parse_memory(text: &str) -> Option<MemoryLimit> {
    let Some(number) = text.trim().strip_suffix('%') else {
        return parse_bytes(text).map(MemoryLimit::Bytes);
    };
    let percent = number.parse::<f64>().ok().filter(|percent| (1.0..=100.0).contains(percent))?;
    Some(MemoryLimit::Percent(percent as u8))
}

/// One port, or the first and the last of several with `-` between them, or several of both with `,` between them.
pub(super) fn parse_ports(text: &str) -> Option<Ports> {
    let mut ranges = text.split(',').map(parse_range);
    let first = ranges.next()??;
    Some(Ports { first, others: ranges.collect::<Option<_>>()? })
}

fn parse_range(text: &str) -> Option<PortRange> {
    let port = |text: &str| text.trim().parse::<u16>().ok();
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (port(first)?, port(last)?),
        None => (port(text)?, port(text)?),
    };
    (first <= last && (first > 0 || last == 0)).then_some(PortRange { first, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_elasticsearch_reads_them() {
        let cases = [
            ("0", Some(0)),
            ("1b", Some(1)),
            ("100mb", Some(100 << 20)),
            ("1.5mb", Some(3 << 19)),
            ("1 MB", Some(1 << 20)),
            ("2G", Some(2 << 30)),
            ("3k", Some(3 << 10)),
            ("1tb", Some(1 << 40)),
            ("1pb", Some(1 << 50)),
            ("100", None),
            ("-1", None),
            ("-1b", None),
            ("mb", None),
            ("1.2.3mb", None),
            ("1eb", None),
            ("99999999pb", None),
            ("99999999.5pb", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn memory_is_a_size_or_a_part_of_what_there_is() {
        let cases = [
            ("175mb", Some(MemoryLimit::Bytes(175 << 20))),
            ("25%", Some(MemoryLimit::Percent(25))),
            ("100.0%", Some(MemoryLimit::Percent(100))),
            ("2.9%", Some(MemoryLimit::Percent(2))),
            ("0%", None),
            ("101%", None),
            ("%", None),
            ("NaN%", None),
            ("25", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_memory(text), expected, "{text}");
        }
    }

    #[test]
    fn ports_rise() {
        let range = |first, last| Some(PortRange { first, last }.into());
        let cases = [
            ("9200", range(9200, 9200)),
            ("9200-9300", range(9200, 9300)),
            (" 9200 - 9300 ", range(9200, 9300)),
            ("0", range(0, 0)),
            ("0-5", None),
            ("9300-9200", None),
            ("65536", None),
            ("9200,", None),
            ("9200,9300-9200", None),
            ("-1", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_ports(text), expected, "{text}");
        }
        let several = parse_ports("9200, 9300-9302,9250").expect("a list is allowed");
        assert_eq!(several.iter().collect::<Vec<_>>(), [9200, 9300, 9301, 9302, 9250], "they are tried in this order");
        assert_eq!(several.to_string(), "9200,9300-9302,9250");
    }
}
