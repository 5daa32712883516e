//! What somebody meant who wrote a line of a file that makes no sense: how the line is mended.
//!
//! A key becomes the nearest one that may have the value, a value the nearest that is allowed, or the default if that is
//! none of a place. What resembles nothing is removed, which is as if it had not been said; of what resembles something
//! that it cannot be nothing is known.

use super::fault::{Remedy, Way};
use super::layer::{At, Given};
use super::nearest::{edit_distance, nearest};
use super::sources::{FileText, Span};
use super::{DefaultValue, Kind, REGISTRY, Setting, SettingsError, Value, Why, known, setting};

/// What programs for texts make of quotes.
const QUOTES_OF_TEXTS: [char; 5] = ['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}'];

/// Words at a larger edit distance resemble nothing.
const DISTANCE_MAX: usize = 2;

/// What to do about an error in a file.
pub(super) fn remedy(file: &FileText<'_>, given: &Given, error: &SettingsError) -> Option<Remedy> {
    let At::File { key, value } = &given.at else { return None };
    let way = match error {
        SettingsError::Unknown { key: full, .. } if full == ROLES => Way::Line(roles(file, *key, &given.value)?),
        SettingsError::Unknown { key: full, nearest: Some(nearest) } => {
            let written = file.written(*key)?;
            let meant = in_place(&written, full, nearest)?;
            Way::Key(written, meant)
        }
        SettingsError::Unknown { key, nearest: None } if nearest(key).is_some() => return None,
        SettingsError::Value { key, why, .. } => value_meant(key, file.written(*value)?, why)?,
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

/// What Elasticsearch 7 has in the place of a truth for each role.
const ROLES: &str = "node.roles";

/// A line for each role; nothing if a role is among them that no node has here.
fn roles(file: &FileText<'_>, key: Span, value: &Value) -> Option<String> {
    let given = value.elements();
    let is_of_data = |role: &str| role == "data" || role.starts_with("data_");
    // These have no meaning here, and neither do their absence.
    let is_known = |role: &str| {
        is_of_data(role) || matches!(role, "master" | "ingest" | "ml" | "transform" | "remote_cluster_client")
    };
    if !given.iter().all(|role| is_known(role)) {
        return None;
    }
    let line = file.text.lines().nth(key.line.checked_sub(1)?)?;
    let before: String = line.chars().take(key.column.checked_sub(1)?).collect();
    let above = ROLES.strip_suffix(file.written(key)?.as_str())?;
    let has = |role: &str| given.iter().any(|one| one == role || role == "data" && is_of_data(one));
    let line = |role: &str| {
        let name = format!("node.{role}");
        Some(format!("{before}{}: {}", name.strip_prefix(above)?, has(role)))
    };
    let lines: Option<Vec<String>> = ["master", "data", "ingest"].into_iter().map(line).collect();
    lines.filter(|_| before.trim().is_empty()).map(|lines| lines.join("\n"))
}

/// What becomes of a key that nothing is given for: nothing, unless somebody must say where that is.
pub(super) fn remedy_of_nothing(key: &str, line: usize) -> Option<Remedy> {
    let is_unset = |setting: &Setting| matches!(setting.default, DefaultValue::Unset { .. });
    let is_section = || REGISTRY.iter().any(|one| one.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')));
    let is_in_doubt = setting(key)
        .map_or_else(|_| known(key).is_none() && !is_section(), |setting| has_place(setting) && !is_unset(setting));
    (!is_in_doubt).then_some(Remedy { line, way: Way::Remove })
}

/// Whether a value is a place or a name, which is nowhere by default.
fn has_place(setting: &Setting) -> bool {
    matches!(
        setting.kind,
        Kind::Ports | Kind::Port | Kind::Name { .. } | Kind::String | Kind::List | Kind::Hook | Kind::Url
    )
}

/// How the key that was meant is written where its first parts stand in lines above.
fn in_place(written: &str, full: &str, meant: &str) -> Option<String> {
    let above = full.strip_suffix(written)?;
    meant.strip_prefix(above).filter(|rest| !rest.is_empty()).map(ToOwned::to_owned)
}

/// The error for an unknown key, with no other named that cannot have been meant, as it does not take the value.
pub(super) fn plausible(error: SettingsError, given: &Given) -> SettingsError {
    if let SettingsError::Unknown { key, nearest: Some(nearest) } = &error
        && !takes(nearest, given)
    {
        return SettingsError::Unknown { key: key.clone(), nearest: None };
    }
    error
}

/// Whether somebody who gave this value may have meant this key. Any text is a name or a file, but nobody gives one that
/// is called `true`.
fn takes(key: &str, given: &Given) -> bool {
    let Ok(setting) = setting(key) else {
        return known(key).is_some_and(|known| known.check(key, &given.canonical(known.is_boolean())).is_ok());
    };
    let is_any_text = matches!(setting.kind, Kind::Name { .. } | Kind::String | Kind::List | Kind::Hook);
    let value = given.canonical(setting.kind == Kind::Boolean);
    let is_truth = matches!(value.text(), Some("true" | "false"));
    setting.kind.check(key, &value).is_ok() && !(is_any_text && is_truth)
}

/// What becomes of a value: the one that was meant, or the default. A port, a host or a path is nowhere by default, so
/// somebody must say which one it is.
fn value_meant(key: &str, written: String, why: &Why) -> Option<Way> {
    let Ok(setting) = setting(key) else { return Some(Way::Remove) };
    let bare = written.trim_matches(QUOTES_OF_TEXTS);
    // A list of one where there may be no list.
    let bare = if *why == Why::IsAList { bare.trim_matches(['[', ']', ' ']) } else { bare };
    if bare != written && !bare.is_empty() && setting.check(bare).is_ok() {
        let bare = bare.to_owned();
        return Some(Way::Value(written, bare));
    }
    let meant = if let Kind::Enum { words, .. } = &setting.kind {
        nearest_word(&written, words)
    } else if setting.kind == Kind::Boolean {
        nearest_word(&written, &["false", "true"])
    } else {
        let is_allowed = |time: &String| *why == Why::NotATime && setting.check(time).is_ok();
        digits(&written, setting).or_else(|| times(&written).into_iter().find(is_allowed))
    };
    if let Some(meant) = meant.filter(|meant| setting.check(meant).is_ok()) {
        return Some(Way::Value(written, meant));
    }
    if has_place(setting) {
        return None;
    }
    match setting.default {
        DefaultValue::Fixed("") => Some(Way::Remove),
        DefaultValue::Fixed(default) => Some(Way::Value(written, default.to_owned())),
        DefaultValue::Follows { .. } | DefaultValue::First { .. } | DefaultValue::Unset { .. } => Some(Way::Remove),
    }
}

/// A value of the setting with digits in the place of letters that look like them.
fn digits(written: &str, setting: &Setting) -> Option<String> {
    let digit = |letter: char| match letter {
        'l' | 'I' | '|' => '1',
        'O' | 'o' => '0',
        other => other,
    };
    if matches!(setting.kind, Kind::Name { .. } | Kind::String | Kind::List | Kind::Hook | Kind::Url) {
        return None;
    }
    let bare = written.trim_matches(['"', '\'']);
    // `no` is no number.
    let is_number = bare.contains(|letter: char| letter.is_ascii_digit());
    let mended: String = bare.chars().map(digit).collect();
    (is_number && mended != bare && setting.check(&mended).is_ok()).then_some(mended)
}

/// The times that somebody may have meant: by a unit that is written out, or by none, for which milliseconds are meant most often.
fn times(written: &str) -> Vec<String> {
    let bare = written.trim_matches(['"', '\'']).trim().to_ascii_lowercase();
    let (number, word) = bare.split_at(bare.find(|c: char| !c.is_ascii_digit()).unwrap_or(bare.len()));
    let units: &[&str] = match word.trim() {
        "" => &["ms", "s"],
        "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => &["ms"],
        "sec" | "secs" | "second" | "seconds" => &["s"],
        "min" | "mins" | "minute" | "minutes" => &["m"],
        "hr" | "hrs" | "hour" | "hours" => &["h"],
        _ => &[],
    };
    units.iter().filter(|_| !number.is_empty()).map(|unit| format!("{number}{unit}")).collect()
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
        super::super::remedies(&sources, &faults)
    }

    #[test]
    fn a_slip_becomes_what_was_meant() {
        let key = |from: &str, to: &str| Way::Key(from.into(), to.into());
        let value = |from: &str, to: &str| Way::Value(from.into(), to.into());
        let line = |to: &str| Way::Line(to.into());
        let cases = [
            ("node.nmae: a", key("node.nmae", "node.name")),
            ("node:\n  nmae: a", key("nmae", "name")),
            ("discovery.zen.fd.ping_interval: 500", value("500", "500ms")),
            ("discovery.zen.fd.ping_interval: soon", value("soon", "200ms")),
            ("node.master: perhaps", value("perhaps", "true")),
            ("zazen.log.format: Jsn", value("Jsn", "json")),
            ("http.port: \u{201c}9201\u{201d}", value("\u{201c}9201\u{201d}", "9201")),
            ("cluster.name: [shop]", value("[shop]", "shop")),
            ("http.port: 3l202", value("3l202", "31202")),
            ("http.port: \"92OO-93oo\"", value("\"92OO-93oo\"", "9200-9300")),
            ("discovery.zen.fd.ping_timeout: l0s", value("l0s", "10s")),
            ("discovery.zen.ping_timeout: 2sec", value("2sec", "2s")),
            ("discovery.zen.ping_timeout: 500", value("500", "500ms")),
            ("discovery.zen.ping_timeout: 3", value("3", "3s")),
            ("discovery.zen.fd.ping_retries: l0", value("l0", "10")),
            ("node.master: flase", value("flase", "false")),
            ("node.data: ture", value("ture", "true")),
            ("discovery.seed_hosts: [a, b]", key("discovery.seed_hosts", "discovery.zen.ping.unicast.hosts")),
            ("discovery:\n  seed_hosts: a", key("seed_hosts", "zen.ping.unicast.hosts")),
            ("node.atr.rack: r9", key("node.atr.rack", "node.attr.rack")),
            ("node.roles: [master, data]", line("node.master: true\nnode.data: true\nnode.ingest: false")),
            ("node:\n  roles: [ data_hot, ml ]", line("  master: false\n  data: true\n  ingest: false")),
            ("node.roles: []", line("node.master: false\nnode.data: false\nnode.ingest: false")),
            ("discovery.zen.commit_timeout:", Way::Remove),
            ("path.logs:", Way::Remove),
            ("discovery.zen.hosts_provider: dns", Way::Remove),
            ("cluster.name:shop", line("cluster.name: shop")),
            ("transport.port: 9300\nhttp.port: 9300", value("9300", "9200")),
            ("no.such.thing.at.all: 1", Way::Remove),
        ];
        for (text, way) in cases {
            let line = text.lines().count();
            assert_eq!(remedies(text), Some(vec![Remedy { line, way }]), "{text}");
        }
    }

    #[test]
    fn arguments_and_variables_become_what_was_meant() {
        let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let meant = |arguments: &[(&str, &str)], variables: &[(&str, &str)]| {
            let arguments: Vec<_> = arguments.iter().copied().map(pair).collect();
            let environment = variables.iter().copied().map(pair).collect();
            let sources =
                Sources { file: None, environment: &environment, arguments: &arguments, path_conf: "c".into() };
            super::super::meant_besides(&sources)
                .map(|meant| (meant.arguments, meant.environment.into_values().collect()))
        };
        let both = |arguments: &[(&str, &str)], values: &[&str]| {
            let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            Some((arguments.iter().copied().map(pair).collect::<Vec<_>>(), values))
        };
        let told =
            meant(&[("node.mster", "true"), ("http.port", "9201")], &[("ZAZEN_NODE_DATA", "flase"), ("HOME", "/")]);
        assert_eq!(told, both(&[("node.master", "true"), ("http.port", "9201")], &["/", "false"]));
        assert_eq!(meant(&[("http.port", "none")], &[]), None, "somebody must say which");
        assert_eq!(meant(&[("no.such.thing.at.all", "1")], &[]), both(&[], &[]));
    }

    #[test]
    fn of_what_is_given_twice_the_later_one_is_meant() {
        let gone = |line| Remedy { line, way: Way::Remove };
        assert_eq!(remedies("node.name: a\nnode.name: b"), Some(vec![gone(1)]));
        assert_eq!(remedies("node.name: a\nnode:\n  name: b"), Some(vec![gone(1)]));
        let value = Remedy { line: 2, way: Way::Value("a".into(), "\"b c\"".into()) };
        assert_eq!(remedies("node:\n  name: a\nnode.name: \"b c\""), Some(vec![value, gone(3)]));
        for several in [
            "path:\n  data:\n    - a\npath.data: b",
            "path.data:\n  - a\npath.data: b",
            "path.data: [a,\n  b]\npath.data: c",
        ] {
            assert_eq!(remedies(several), None, "a list of several lines stays: {several}");
        }
    }

    #[test]
    fn what_was_meant_is_not_guessed() {
        let unclear = [
            // Only a file can be a secret, and `true` is none that anybody has.
            "zazen.security.insecure: true",
            "discovery.zen.ping_timout: [1s, 2s]",
            "http.port: \"many\"",
            "http.port: 99999",
            "transport.publish_port: none",
            "cluster.name: a:b",
            "node.name: \"h0 \\t lol\"",
            "network.host: [[a]]",
            "network.host:",
            "node.roles: [master, voting_only]",
            // It would have to stand elsewhere in the file.
            "cluster:\n  join.timeout: 5s",
        ];
        for text in unclear {
            assert_eq!(remedies(text), None, "{text}");
        }
    }

    #[test]
    fn of_several_faults_all_are_mended_or_none() {
        let both = remedies("node.nmae: a\ndiscovery.zen.commit_timeout: fast\n").expect("both are known");
        assert_eq!(both.iter().map(|remedy| remedy.line).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(remedies("node.nmae: a\nnode: {1"), None, "this is not YAML");
        let all = remedies("cluster.name: \"a\nhttp.prot: 9200\nnode.name:b\n").expect("all are known");
        assert_eq!(
            all.iter().map(|remedy| remedy.line).collect::<Vec<_>>(),
            [1, 3, 2],
            "what can be read then as well"
        );
    }
}
