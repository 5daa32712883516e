//! What somebody meant who wrote a line of a file that makes no sense: how the line is mended.
//!
//! A key becomes the nearest one, a value the nearest that is allowed, or the default. What resembles nothing is removed,
//! which is as if it had not been said.

use super::fault::{Remedy, Span, Way};
use super::layer::{At, Given};
use super::load::FileText;
use super::nearest::edit_distance;
use super::{DefaultValue, Kind, SettingsError, Why, setting};

/// Words at a larger edit distance resemble nothing.
const DISTANCE_MAX: usize = 2;

/// What to do about an error in a file.
pub(super) fn remedy(file: &FileText<'_>, given: &Given, error: &SettingsError) -> Option<Remedy> {
    let At::File { key, value } = &given.at else { return None };
    let way = match error {
        SettingsError::Unknown { key: full, nearest: Some(nearest) } => {
            let written = written(file, *key)?;
            let meant = in_place(&written, full, nearest);
            meant.map_or(Way::Remove, |meant| Way::Key(written, meant))
        }
        SettingsError::Value { key, why, .. } => {
            let written = written(file, *value)?;
            let meant = value_meant(key, &written, why);
            meant.map_or(Way::Remove, |meant| Way::Value(written, meant))
        }
        SettingsError::Unknown { .. }
        | SettingsError::Below { .. }
        | SettingsError::Above { .. }
        | SettingsError::AlreadySet { .. }
        | SettingsError::OfAnIndex { .. }
        | SettingsError::WithoutMeaning { .. }
        | SettingsError::NotOfTheProtocol { .. } => Way::Remove,
    };
    // Of what is written over several lines nothing is known.
    let is_one_line = key.line == value.line;
    Some(Remedy { line: value.line, way }).filter(|_| is_one_line)
}

/// The text of a file at a place.
fn written(file: &FileText<'_>, span: Span) -> Option<String> {
    let line = file.text.lines().nth(span.line.checked_sub(1)?)?;
    let text: String = line.chars().skip(span.column.checked_sub(1)?).take(span.width).collect();
    Some(text).filter(|text| !text.is_empty())
}

/// How the key that was meant is written where its first parts stand in lines above.
fn in_place(written: &str, full: &str, meant: &str) -> Option<String> {
    let above = full.strip_suffix(written)?;
    meant.strip_prefix(above).filter(|rest| !rest.is_empty()).map(ToOwned::to_owned)
}

/// The value that was meant, or the default.
fn value_meant(key: &str, written: &str, why: &Why) -> Option<String> {
    let setting = setting(key).ok()?;
    let default = match setting.default {
        DefaultValue::Fixed(value) => Some(value.to_owned()),
        DefaultValue::Follows { .. } | DefaultValue::First { .. } | DefaultValue::Unset { .. } => None,
    };
    let meant = if let Kind::Enum { words, .. } = &setting.kind {
        nearest_word(written, words)
    } else {
        // Where a unit is missing, milliseconds are meant most often.
        (*why == Why::NotATime).then(|| format!("{written}ms"))
    };
    meant.filter(|meant| setting.check(meant).is_ok()).or(default)
}

fn nearest_word(written: &str, words: &[&str]) -> Option<String> {
    let near = words.iter().map(|word| (edit_distance(word, &written.to_ascii_lowercase()), *word)).min()?;
    (near.0 <= DISTANCE_MAX).then(|| near.1.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::settings::{FileText, Remedy, Sources, Way, load};
    use std::collections::BTreeMap;

    fn remedies(text: &str) -> Option<Vec<Remedy>> {
        let file = Some(FileText { name: "z.yml", text });
        let environment = BTreeMap::new();
        let sources = Sources { file, environment: &environment, arguments: &[], path_conf: "c".into() };
        let faults = load(&sources).expect_err("it makes no sense");
        Some(faults.remedies()?.into_iter().cloned().collect())
    }

    #[test]
    fn a_slip_becomes_what_was_meant() {
        let key = |from: &str, to: &str| Way::Key(from.into(), to.into());
        let value = |from: &str, to: &str| Way::Value(from.into(), to.into());
        let cases = [
            ("node.nmae: a", key("node.nmae", "node.name")),
            ("node:\n  nmae: a", key("nmae", "name")),
            ("discovery.zen.fd.ping_interval: 500", value("500", "500ms")),
            ("discovery.zen.fd.ping_interval: soon", value("soon", "200ms")),
            ("node.master: perhaps", value("perhaps", "true")),
            ("zazen.log.format: Jsn", value("Jsn", "json")),
            ("http.port: \"many\"", value("\"many\"", "9200-9300")),
            ("no.such.thing.at.all: 1", Way::Remove),
            ("node.name: a\nnode.name: b", Way::Remove),
        ];
        for (text, way) in cases {
            let line = text.lines().count();
            assert_eq!(remedies(text), Some(vec![Remedy { line, way }]), "{text}");
        }
    }

    #[test]
    fn of_several_faults_all_are_mended_or_none() {
        let both = remedies("node.nmae: a\ndiscovery.zen.commit_timeout: fast\n").expect("both are known");
        assert_eq!(both.iter().map(|remedy| remedy.line).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(remedies("node.nmae: a\nnode: [1"), None, "this is not YAML");
    }
}
