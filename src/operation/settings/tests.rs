//! What the registry promises as a whole.

use super::*;
use crate::zen::{NoMasterBlock, Tuning};
use std::collections::BTreeSet;
use std::time::Duration;

/// Texts of every kind, some of them of none.
const TEXTS: [&str; 30] = [
    "",
    "0",
    "1",
    "2",
    "-1",
    "-2",
    "+3",
    "007",
    "2147483647",
    "2147483648",
    "1.5",
    "0ms",
    "1ms",
    "999micros",
    "1s",
    "2S",
    "3m",
    "3M",
    "1 h",
    " 4ms ",
    "365d",
    "366d",
    "-1ms",
    "1.5h",
    "1w",
    "true",
    "TRUE",
    "false",
    "write",
    "all",
];

/// The settings that another one follows.
fn followed(setting: &Setting) -> Vec<&'static str> {
    match setting.default {
        DefaultValue::Fixed(_) | DefaultValue::Unset { .. } => Vec::new(),
        DefaultValue::Follows { key, .. } => vec![key],
        DefaultValue::First { keys, .. } => keys.to_vec(),
    }
}

/// The settings that the protocol runs by.
fn of_protocol() -> impl Iterator<Item = &'static Setting> {
    REGISTRY.iter().filter(|setting| setting.is_of_protocol())
}

fn refused(key: &str, value: &str) -> String {
    tuning(&[(key, value)]).expect_err("the value is refused").to_string()
}

#[test]
fn without_any_setting_the_defaults_are_those_of_the_protocol() {
    assert_eq!(tuning::<&str>(&[]), Ok(Tuning::default()));
}

#[test]
fn every_key_stands_once_and_every_default_is_allowed() {
    let keys: BTreeSet<&str> = REGISTRY.iter().map(|setting| setting.key).collect();
    assert_eq!(keys.len(), REGISTRY.len());
    for setting in REGISTRY {
        if let Some(value) = setting.effective::<&str>(&[]) {
            assert_eq!(setting.check(&value), Ok(()), "{}", setting.key);
        }
        for followed in followed(setting) {
            assert!(keys.contains(followed), "{} follows {followed}, which is no setting", setting.key);
        }
    }
}

#[test]
fn the_dynamic_settings_are_those_that_the_protocol_understands_and_mean_the_same() {
    let ours: BTreeSet<&str> = of_protocol().filter(|setting| setting.is_dynamic()).map(|one| one.key).collect();
    assert_eq!(ours, Tuning::dynamic_keys().collect(), "move the setting, or its entry in src/core/zen/tuning.rs");
    for key in ours {
        for text in TEXTS {
            let mut there = Tuning::default();
            let is_understood = there.set_dynamic(key, text).is_some();
            let here = tuning(&[(key, text)]);
            assert_eq!(here.ok(), is_understood.then_some(there), "{key}: {text}");
        }
    }
}

#[test]
fn what_passes_its_check_is_taken_over_and_nothing_else() {
    for setting in of_protocol() {
        for text in TEXTS {
            let mut tuning = Tuning::default();
            let taken = setting.set(&mut tuning, text);
            assert_eq!(taken, setting.check(text), "{}: {text}", setting.key);
        }
    }
}

#[test]
fn every_setting_of_the_protocol_changes_the_tuning() {
    for setting in of_protocol() {
        let changes = TEXTS.iter().any(|text| tuning(&[(setting.key, text)]).is_ok_and(|new| new != Tuning::default()));
        assert!(changes, "{} has no effect", setting.key);
    }
}

#[test]
fn timeouts_follow_each_other() {
    let ping = ("discovery.zen.ping_timeout", "200ms");
    let derived = tuning(&[ping]).expect("the value is allowed");
    assert_eq!(derived.join_timeout, Duration::from_secs(4));
    assert_eq!(derived.wait_for_joins_timeout, Duration::from_secs(2));

    let between = tuning(&[("discovery.zen.join_timeout", "7s"), ping]).expect("the values are allowed");
    assert_eq!(between.join_timeout, Duration::from_secs(7));
    assert_eq!(between.wait_for_joins_timeout, Duration::from_millis(3_500));

    let longest = tuning(&[("discovery.zen.ping_timeout", "365d")]).expect("the value is allowed");
    assert_eq!(longest.join_timeout, Tuning::TIME_MAX);
}

#[test]
fn every_time_of_the_protocol_has_a_least_value() {
    let least = [
        ("discovery.zen.ping_timeout", Tuning::PING_TIMEOUT_MIN),
        ("discovery.zen.join_timeout", Tuning::JOIN_TIMEOUT_MIN),
        ("discovery.zen.join_retry_delay", Tuning::JOIN_RETRY_DELAY_MIN),
        ("discovery.zen.master_election.wait_for_joins_timeout", Tuning::WAIT_FOR_JOINS_TIMEOUT_MIN),
        ("discovery.zen.fd.ping_interval", Tuning::FD_PING_INTERVAL_MIN),
        ("discovery.zen.fd.ping_timeout", Tuning::FD_PING_TIMEOUT_MIN),
        ("discovery.zen.commit_timeout", Tuning::COMMIT_TIMEOUT_MIN),
        // It is waited for once after a full restart, if anything is: none is fine.
        ("gateway.recover_after_time", Duration::ZERO),
    ];
    let times = of_protocol().filter_map(|setting| {
        let Kind::Time { min } = setting.kind else { return None };
        Some((setting.key, min))
    });
    assert_eq!(times.collect::<Vec<_>>(), least);
    for (key, min) in least.into_iter().filter(|(_, min)| !min.is_zero()) {
        let (least, below) = (min.as_millis(), min.as_millis() - 1);
        assert!(tuning(&[(key, &*format!("{least}ms"))]).is_ok(), "{key}");
        let expected =
            format!("failed to parse value [{below}ms] for setting [{key}], must be >= [{least}ms] and <= [365d]");
        assert_eq!(refused(key, &format!("{below}ms")), expected);
    }
    let shortest = tuning(&[("discovery.zen.ping_timeout", "50ms")]).expect("what follows from the least is allowed");
    assert_eq!(shortest.wait_for_joins_timeout, Duration::from_millis(500));
    assert!(tuning(&[("discovery.zen.join_timeout", "100ms")]).is_ok(), "half of the least join timeout is allowed");
}

#[test]
fn values_are_taken_over() {
    let given = [
        ("discovery.zen.minimum_master_nodes", "2"),
        ("discovery.zen.no_master_block", "all"),
        ("discovery.zen.publish_diff.enable", "false"),
        ("discovery.zen.master_election.ignore_non_master_pings", "true"),
        ("discovery.zen.join_retry_attempts", "5"),
        ("discovery.zen.join_retry_delay", "20ms"),
        ("discovery.zen.fd.ping_interval", "1s"),
        ("discovery.zen.fd.ping_timeout", "30s"),
        ("discovery.zen.fd.ping_retries", "4"),
        ("discovery.zen.commit_timeout", "1m"),
    ];
    let expected = Tuning {
        minimum_master_nodes: Some(2),
        no_master_block: NoMasterBlock::All,
        publish_diff: false,
        ignore_non_master_pings: true,
        join_retry_attempts: 5,
        join_retry_delay: Duration::from_millis(20),
        fd_ping_interval: Duration::from_secs(1),
        fd_ping_timeout: Duration::from_secs(30),
        fd_ping_retries: 4,
        commit_timeout: Duration::from_secs(60),
        ..Tuning::default()
    };
    assert_eq!(tuning(&given), Ok(expected));
}

#[test]
fn a_refusal_says_what_was_tried_and_what_is_allowed() {
    let (time, count) = ("discovery.zen.ping_timeout", "discovery.zen.fd.ping_retries");
    let unit = "as a time value: unit is missing or unrecognized, must be a whole number and one of \
                [nanos, micros, ms, s, m, h, d]";
    let cases = [
        (time, "100", format!("failed to parse setting [{time}] with value [100] {unit}")),
        (time, "soon", format!("failed to parse setting [{time}] with value [soon] {unit}")),
        (
            time,
            "1.5h",
            format!("failed to parse [1.5h] for setting [{time}], fractional time values are not supported"),
        ),
        (time, "0", format!("failed to parse value [0] for setting [{time}], must be >= [50ms] and <= [365d]")),
        (time, "49ms", format!("failed to parse value [49ms] for setting [{time}], must be >= [50ms] and <= [365d]")),
        (time, "-1", format!("failed to parse value [-1] for setting [{time}], must be >= [50ms] and <= [365d]")),
        (time, "-5s", format!("failed to parse value [-5s] for setting [{time}], must be >= [50ms] and <= [365d]")),
        (time, "400d", format!("failed to parse value [400d] for setting [{time}], must be >= [50ms] and <= [365d]")),
        (count, "0", format!("Failed to parse value [0] for setting [{count}] must be >= 1")),
        (count, "many", format!("Failed to parse value [many] for setting [{count}] must be >= 1")),
    ];
    for (key, value, expected) in cases {
        assert_eq!(refused(key, value), expected);
    }
}

#[test]
fn a_refused_word_names_the_words_that_are_allowed() {
    let cases = [
        (
            "discovery.zen.minimum_master_nodes",
            "0",
            "Failed to parse value [0] for setting [discovery.zen.minimum_master_nodes] must be >= 1, or -1 for none",
        ),
        (
            "discovery.zen.publish_diff.enable",
            "yes",
            "Failed to parse value [yes] for setting [discovery.zen.publish_diff.enable] as only [true] or [false] are \
             allowed.",
        ),
        (
            "discovery.zen.no_master_block",
            "read",
            "invalid master block [read] for setting [discovery.zen.no_master_block], must be one of [write, all]",
        ),
        (
            "discovery.zen.ping_timout",
            "1s",
            "unknown setting [discovery.zen.ping_timout] did you mean [discovery.zen.ping_timeout]?",
        ),
        ("cats.and.dogs", "1s", "unknown setting [cats.and.dogs], all are listed in docs/settings.md"),
        (
            "index.number_of_shards",
            "1",
            "unknown setting [index.number_of_shards], settings of an index are given to the index and not to a node",
        ),
        (
            "http.pipelining",
            "true",
            "setting [http.pipelining] has no meaning here, those that have one are listed in docs/settings.md",
        ),
        (
            "node.attr.rack",
            "r1",
            "setting [node.attr.*] is not one that the protocol runs by, those are listed in docs/settings.md",
        ),
    ];
    for (key, value, expected) in cases {
        assert_eq!(refused(key, value), expected);
    }
}

#[test]
fn a_key_is_given_once() {
    let twice = [("discovery.zen.fd.ping_retries", "2"), ("discovery.zen.fd.ping_retries", "3")];
    let error = tuning(&twice).expect_err("a key is given twice").to_string();
    assert_eq!(error, "setting [discovery.zen.fd.ping_retries] already set, saw [2] and [3]");
}

#[test]
fn what_takes_effect_through_others_is_followed_by_some() {
    let followed: BTreeSet<&str> = REGISTRY.iter().flat_map(followed).collect();
    for setting in REGISTRY.iter().filter(|setting| matches!(setting.effect, Effect::Others)) {
        // Relative paths start from it, which is no matter of defaults.
        let is_base = setting.key == "path.home";
        assert!(is_base || followed.contains(setting.key), "nothing follows {}", setting.key);
    }
}

#[test]
fn every_setting_has_a_topic_that_is_shown() {
    assert!(REGISTRY.iter().all(|setting| Topic::ALL.contains(&setting.topic)));
    assert!(Topic::ALL.is_sorted());
}
