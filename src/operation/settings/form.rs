//! What values of Elasticsearch's own dynamic settings look like, and in which words it refuses others.
//!
//! Numbers, times and sizes are read by `figure`. Mirrors `Setting` and the enumerations and validators of the settings
//! themselves (6.8).

use super::figure::{boolean, decimal, memory, nanos, ratio, size, time, whole};
use super::objection::{Exception, Objection};
use super::{Value, kind};

/// In nanoseconds.
const MINUTE: i128 = 60_000_000_000;

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// `true` or `false`.
    Boolean,
    /// A whole number of 32 bits.
    Integer {
        /// The smallest.
        min: i32,
        /// The largest.
        max: i32,
    },
    /// A whole number of 64 bits that is not below 1.
    Long,
    /// A number that is not below 0.
    Decimal,
    /// A time, of any length or not below one that is written so.
    Time {
        /// The shortest, as Elasticsearch writes it.
        min: Option<&'static str>,
    },
    /// A size.
    Bytes,
    /// A size, or a part of the memory.
    Memory,
    /// A size, or a part of a disk.
    Watermark,
    /// One of these words in any case.
    Words {
        /// What comes before and behind the word that is refused.
        told: (&'static str, &'static str),
        /// The words, in capitals.
        words: &'static [&'static str],
    },
    /// When shards may be moved.
    AllowRebalance,
    /// Which indices are made when they are written to.
    AutoCreate,
    /// Which nodes get shards, by an attribute, the name of which may stand for an address.
    Filter,
    /// A host and a port, or nothing.
    Address,
    /// Hosts and ports.
    Addresses,
    /// How many scripts are compiled in a time.
    Rate,
    /// The level of a logger.
    Level,
    /// What is refused while there is no master.
    MasterBlock,
    /// Texts.
    List,
    /// Any text.
    Text,
}

impl Form {
    /// Says why a value is none, if it is none.
    pub(super) fn check(self, key: &str, value: &Value) -> Result<(), Objection> {
        let text = &match value {
            Value::Text(text) => text.clone(),
            Value::List(elements) => format!("[{}]", elements.join(", ")),
        };
        match self {
            Form::Boolean => boolean(text),
            Form::Integer { min, max } => whole(key, text, (min.into(), max.into()), i32::MIN.into()..=i32::MAX.into()),
            Form::Long => whole(key, text, (1, i64::MAX), i64::MIN..=i64::MAX),
            Form::Decimal => decimal(key, text),
            Form::Time { min } => time(key, text, min),
            Form::Bytes => size(key, text).map(drop).map_err(|objection| unreadable(key, text, objection)),
            Form::Memory => memory(key, text).map_err(|objection| unreadable(key, text, objection)),
            Form::Watermark => watermark(key, text).map_err(|objection| unreadable(key, text, objection)),
            Form::Words { told, words } => word(key, text, told, words),
            Form::AllowRebalance => allow_rebalance(key, text),
            Form::AutoCreate => auto_create(key, text),
            Form::Filter => filter(key, text),
            Form::Address if text.is_empty() => Ok(()),
            Form::Address => address(text),
            Form::Addresses => value.elements().iter().try_for_each(|element| address(element)),
            Form::Rate => rate(text),
            Form::Level => level(text),
            Form::MasterBlock if matches!(text.as_str(), "all" | "write") => Ok(()),
            Form::MasterBlock => Err(Objection::illegal(format!("invalid master block [{text}]"))),
            Form::List | Form::Text => Ok(()),
        }
    }
}

/// A number that Java itself did not understand is told with the setting, all else as it is.
fn unreadable(key: &str, text: &str, objection: Objection) -> Objection {
    match objection.exception {
        Exception::NumberFormat => {
            Objection::illegal(format!("Failed to parse value [{text}] for setting [{key}]")).caused_by(objection)
        }
        Exception::IllegalArgument | Exception::Parse => objection.wrapped(),
    }
}

fn watermark(key: &str, text: &str) -> Result<(), Objection> {
    match ratio(text) {
        Ok(_) => Ok(()),
        Err(no_ratio) => size(key, text).map(drop).map_err(|no_size| match no_size.exception {
            Exception::NumberFormat => no_size,
            Exception::IllegalArgument | Exception::Parse => no_size.suppressing(no_ratio),
        }),
    }
}

fn word(key: &str, text: &str, (before, behind): (&str, &str), words: &[&str]) -> Result<(), Objection> {
    let upper = text.to_uppercase();
    if words.contains(&upper.as_str()) {
        return Ok(());
    }
    Err(Objection::illegal(format!("{before}[{upper}]{}", behind.replace("KEY", key))))
}

/// Elasticsearch shows the setting itself, as JSON that is spread out.
fn allow_rebalance(key: &str, text: &str) -> Result<(), Objection> {
    let words =
        ["always", "indices_primaries_active", "indicesPrimariesActive", "indices_all_active", "indicesAllActive"];
    if words.iter().any(|word| word.eq_ignore_ascii_case(text)) {
        return Ok(());
    }
    let setting = format!(
        "{{\n  \"key\" : \"{key}\",\n  \"properties\" : [\n    \"Dynamic\",\n    \"NodeScope\"\n  ],\n  \
         \"is_group_setting\" : false,\n  \"default\" : \"indices_all_active\"\n}}"
    );
    Err(Objection::illegal(format!("Illegal value for {setting}: {text}")))
}

fn auto_create(key: &str, text: &str) -> Result<(), Objection> {
    let Err(no_boolean) = boolean(text) else {
        return Ok(());
    };
    let refuse = |why: String| {
        let reason = format!("Can't parse [{text}] for setting [{key}] must {why}");
        Err(Objection::illegal(reason).suppressing(no_boolean.clone()))
    };
    for pattern in text.split(',').map(str::trim).filter(|_| !text.is_empty()) {
        match pattern {
            "" => return refuse("be either [true, false, or a comma separated list of index patterns]".into()),
            "-" | "+" => return refuse(format!("contain an index name after [{pattern}]")),
            _ => {}
        }
    }
    Ok(())
}

/// What ends in one of these names an address.
const ADDRESSES: [&str; 3] = ["_ip", "_host_ip", "_publish_ip"];

fn filter(key: &str, text: &str) -> Result<(), Objection> {
    let attribute = key.rsplit('.').next().unwrap_or_default();
    if !ADDRESSES.contains(&attribute) {
        return Ok(());
    }
    let is_fine = |address: &str| address.contains('*') || is_ip(address);
    match text.split(',').map(str::trim).find(|address| !address.is_empty() && !is_fine(address)) {
        Some(address) => Err(Objection::illegal(format!("invalid IP address [{address}] for [{key}]"))),
        None => Ok(()),
    }
}

/// Whether a text is an address of IP, of either version.
fn is_ip(text: &str) -> bool {
    let is_byte = |piece: &str| !piece.is_empty() && piece.len() <= 3 && piece.parse::<u8>().is_ok();
    let is_v4 = |text: &str| text.split('.').count() == 4 && text.split('.').all(is_byte);
    let is_group = |piece: &str| (1..=4).contains(&piece.len()) && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
    // An address of the old version counts as two groups at the end of one of the new.
    let groups = |half: &str| -> Option<usize> {
        let pieces: Vec<&str> = half.split(':').filter(|_| !half.is_empty()).collect();
        let (last, others) = pieces.split_last().unwrap_or((&"0", &[]));
        let are_fine = others.iter().all(|piece| is_group(piece)) && (is_group(last) || is_v4(last));
        are_fine.then(|| pieces.len() + usize::from(is_v4(last)))
    };
    let is_v6 = match text.split_once("::") {
        Some((before, behind)) => groups(before).zip(groups(behind)).is_some_and(|(one, two)| one + two < 8),
        None => groups(text) == Some(8),
    };
    is_v4(text) || is_v6
}

fn address(text: &str) -> Result<(), Objection> {
    let Some((_, port)) = text.rsplit_once(':') else {
        let reason = format!("remote hosts need to be configured as [host:port], found [{text}] instead");
        return Err(Objection::illegal(reason));
    };
    match port.parse::<i32>() {
        Ok(number @ ..=0) => Err(Objection::illegal(format!("port number must be > 0 but was: [{number}]"))),
        Ok(_) => Ok(()),
        Err(_) => Err(Objection::illegal("failed to parse port").caused_by(Objection::number(port))),
    }
}

fn rate(text: &str) -> Result<(), Objection> {
    let parts = text.split_once('/').filter(|(count, _)| !count.is_empty() && !text.ends_with('/'));
    let Some((count, length)) = parts else {
        let reason = "parameter must contain a positive integer and a timevalue, i.e. 10/1m, but was";
        return Err(Objection::illegal(format!("{reason} [{text}]")));
    };
    let Ok(number) = count.parse::<i32>() else {
        let reason = format!("could not parse [{count}] as integer in value [{text}]");
        return Err(Objection::illegal(reason).caused_by(Objection::number(count)));
    };
    if number < 0 {
        return Err(Objection::illegal(format!("rate [{number}] must be positive")));
    }
    match nanos("script.max_compilations_rate", length)? {
        ..=0 => Err(Objection::illegal(format!("time value [{length}] must be positive"))),
        1..MINUTE => {
            Err(Objection::illegal(format!("time value [{length}] must be at least on a one minute resolution")))
        }
        MINUTE.. => Ok(()),
    }
}

fn level(text: &str) -> Result<(), Objection> {
    if kind::LEVELS.iter().any(|level| level.eq_ignore_ascii_case(text)) {
        return Ok(());
    }
    Err(Objection::illegal(format!("Unknown level constant [{}].", text.trim().to_uppercase())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_either_version_are_told_from_other_texts() {
        for text in ["10.0.0.1", "::", "::1", "fe80::1:2", "1:2:3:4:5:6:7:8", "::ffff:10.0.0.1"] {
            assert!(is_ip(text), "{text}");
        }
        for text in ["", "x", "10.0.0", "10.0.0.256", "1:2:3", "1::2::3", ":1", "12345::", "1:2:3:4:5:6:7:8:9"] {
            assert!(!is_ip(text), "{text}");
        }
    }

    #[test]
    fn values_are_refused_in_elasticsearchs_words() {
        let words = Form::Words { told: ("Illegal value ", " for [KEY]"), words: &["ALL"] };
        let cases = [
            (Form::Boolean, "x", "Failed to parse value [x] as only [true] or [false] are allowed."),
            (Form::Integer { min: 1, max: 5 }, "6", "Failed to parse value [6] for setting [k] must be <= 5"),
            (Form::Decimal, "-1", "Failed to parse value [-1] for setting [k] must be >= 0.0"),
            (Form::Time { min: Some("10s") }, "5s", "failed to parse value [5s] for setting [k], must be >= [10s]"),
            (Form::Memory, "101%", "percentage should be in [0-100], got [101]"),
            (words, "x", "Illegal value [X] for [k]"),
            (Form::AutoCreate, "-", "Can't parse [-] for setting [k] must contain an index name after [-]"),
            (Form::Address, "a", "remote hosts need to be configured as [host:port], found [a] instead"),
            (Form::Rate, "5/1s", "time value [1s] must be at least on a one minute resolution"),
            (Form::Level, "x", "Unknown level constant [X]."),
        ];
        for (form, text, expected) in cases {
            let told = form.check("k", &text.into()).map_err(|objection| objection.reason);
            assert_eq!(told, Err(expected.to_owned()), "{text}");
        }
        assert_eq!(Form::Bytes.check("k", &"1.5gb".into()), Ok(()));
    }
}
