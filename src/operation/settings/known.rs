//! The settings that Elasticsearch 6.8 accepts and that have neither a meaning nor a page here.
//!
//! `known.txt` was recorded from Elasticsearch 6.8.23: a line for each setting with its key, the form of its values and
//! its default, apart by tabs. A `*` stands for a name, and at the end of a key for one or more. Families of x-pack and
//! of plugins are known by their first names only.

use super::units::parse_bytes;
use super::{SettingsError, Value, Why, kind};
use crate::zen::parse_time;
use std::sync::LazyLock;
use std::time::Duration;

/// How the settings begin that Elasticsearch has only with plugins, or had before: files may give them, a cluster has none.
const OF_PLUGINS: &[&str] = &[
    "azure.",
    "ccr.",
    "cloud.",
    "discovery.azure.",
    "discovery.ec2.",
    "discovery.gce.",
    "gcs.",
    "indices.lifecycle.",
    "ingest.",
    "node.ml",
    "reindex.",
    "repositories.url.",
    "s3.",
    "script.painless.",
    "tribe.",
    "xpack.",
];

/// A setting without a meaning here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name; `*` stands for any.
    pub key: &'static str,
    /// Its default in Elasticsearch, with commas between the elements of a list.
    pub default: &'static str,
    form: Form,
}

/// What a value looks like. Bounds are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Boolean,
    Integer,
    Number,
    Time,
    Bytes,
    /// A size, or a part of the memory in percent.
    Memory,
    List,
    /// Anything.
    Text,
}

static KNOWN: LazyLock<Vec<Known>> =
    LazyLock::new(|| include_str!("known.txt").lines().filter_map(Known::from_line).collect());

/// The known setting with this key.
pub fn known(key: &str) -> Option<Known> {
    KNOWN.iter().find(|known| known.covers(key)).copied()
}

/// The names of all known settings, those of families with their `*`.
pub(super) fn known_keys() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.key)
}

/// The defaults of those that are neither families nor of plugins.
pub(super) fn defaults() -> impl Iterator<Item = (String, Value)> {
    let singles = KNOWN.iter().filter(|known| !known.key.contains('*') && !is_of_plugin(known.key));
    singles.map(|known| {
        let text = Value::from(known.default);
        let value = if known.form == Form::List { Value::List(text.elements()) } else { text };
        (known.key.to_owned(), value)
    })
}

/// Whether Elasticsearch has a setting only with a plugin, or had it before.
pub(super) fn is_of_plugin(key: &str) -> bool {
    OF_PLUGINS.iter().any(|stem| key.starts_with(stem))
}

/// Whether a key is one of a family, whose key has a `*` in it.
pub(super) fn is_of_family(family: &str, key: &str) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let Some((before, behind)) = family.split_once('*') else {
        return false;
    };
    let name = key.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
    name.is_some_and(|name| if behind.is_empty() { name.split('.').all(is_name) } else { is_name(name) })
}

impl Known {
    fn from_line(line: &'static str) -> Option<Known> {
        let mut columns = line.split('\t');
        let (key, form) = (columns.next()?, Form::of_name(columns.next()?)?);
        Some(Known { key, form, default: columns.next().unwrap_or_default() })
    }

    fn covers(&self, key: &str) -> bool {
        self.key == key || is_of_family(self.key, key)
    }

    /// Whether values are read as `true` or `false`.
    pub(super) fn is_boolean(&self) -> bool {
        self.form == Form::Boolean
    }

    /// Whether a value may have several elements.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.form, Form::List | Form::Text)
    }

    /// Whether a value fits; the key is for the error, as a family has many.
    pub(super) fn check(&self, key: &str, value: &Value) -> Result<(), SettingsError> {
        let refuse = |value: String, why| Err(SettingsError::Value { key: key.into(), value, why });
        match (self.form, value) {
            (Form::List | Form::Text, _) => Ok(()),
            (_, Value::List(elements)) => refuse(elements.join(", "), Why::IsAList),
            (form, Value::Text(text)) => form.fault(text).map_or(Ok(()), |why| refuse(text.clone(), why)),
        }
    }
}

impl Form {
    fn of_name(name: &str) -> Option<Form> {
        match name {
            "boolean" => Some(Form::Boolean),
            "integer" => Some(Form::Integer),
            "number" => Some(Form::Number),
            "time" => Some(Form::Time),
            "bytes" => Some(Form::Bytes),
            "memory" => Some(Form::Memory),
            "list" => Some(Form::List),
            "text" => Some(Form::Text),
            _ => None,
        }
    }

    fn fault(self, text: &str) -> Option<Why> {
        let (is_fine, why) = match self {
            Form::Boolean => (matches!(text, "true" | "false"), Why::NotABoolean),
            Form::Integer => (text.parse::<i64>().is_ok(), Why::NotANumber { allowed: "a whole number" }),
            Form::Number => (text.parse::<f64>().is_ok(), Why::NotANumber { allowed: "a number" }),
            Form::Time => (text == "-1" || parse_time(text).is_some(), kind::why_no_time(text, Duration::ZERO)),
            Form::Bytes => (is_size(text), Why::NotASize),
            Form::Memory => (is_size(text) || is_percentage(text), Why::NotASize),
            Form::List | Form::Text => return None,
        };
        (!is_fine).then_some(why)
    }
}

/// Whether a text is a size, or one below zero, which stands for none.
fn is_size(text: &str) -> bool {
    matches!(text, "-1" | "-1b") || parse_bytes(text).is_some()
}

fn is_percentage(text: &str) -> bool {
    text.strip_suffix('%').is_some_and(|number| number.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::{REGISTRY, setting};
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_line_is_understood_and_every_key_stands_once() {
        let lines = include_str!("known.txt").lines().count();
        let keys: BTreeSet<&str> = known_keys().collect();
        assert_eq!((KNOWN.len(), keys.len()), (lines, lines));
        let both: Vec<&str> = keys.into_iter().filter(|key| setting(key).is_ok()).collect();
        assert_eq!(both, Vec::<&str>::new(), "these have a place in the table of settings, remove them from known.txt");
        assert!(REGISTRY.iter().all(|setting| known(setting.key).is_none()));
    }

    #[test]
    fn a_default_is_a_value() {
        for known in KNOWN.iter().filter(|known| !known.default.is_empty()) {
            assert_eq!(known.check(known.key, &known.default.into()), Ok(()), "{}", known.key);
        }
    }

    #[test]
    fn a_family_has_many_keys() {
        let cases = [
            ("xpack.*", "xpack.security.enabled", true),
            ("xpack.*", "xpack", false),
            ("xpack.*", "xpack.", false),
            ("xpack.*", "xpack..a", false),
            ("xpack.*", "xpack.a b", false),
            ("transport.profiles.*.port", "transport.profiles.client.port", true),
            ("transport.profiles.*.port", "transport.profiles.a.b.port", false),
            ("transport.profiles.*.port", "transport.profiles.port", false),
            ("transport.profiles.*.port", "transport.profiles.client.porter", false),
        ];
        for (family, key, expected) in cases {
            assert_eq!(is_of_family(family, key), expected, "{family}: {key}");
        }
    }
}
