//! Which known key somebody may have meant: the one that Elasticsearch 7 calls so, else the one at the smallest edit
//! distance. A family is never meant, but one of its keys may be.

use super::REGISTRY;
use super::known::{is_of_family, known_keys};
use rapidfuzz::distance::levenshtein::{Args, BatchComparator};
use std::borrow::Cow;

/// Keys with more characters resemble none, so that no text takes long to compare.
const LENGTH_MAX: usize = 200;

/// What Elasticsearch 7 calls settings that it has from 6.8, and their names here. It has two sets for the fault detection,
/// one for each direction.
const OF_SEVEN: [(&str, &str); 13] = [
    ("cluster.fault_detection.follower_check.interval", "discovery.zen.fd.ping_interval"),
    ("cluster.fault_detection.follower_check.retry_count", "discovery.zen.fd.ping_retries"),
    ("cluster.fault_detection.follower_check.timeout", "discovery.zen.fd.ping_timeout"),
    ("cluster.fault_detection.leader_check.interval", "discovery.zen.fd.ping_interval"),
    ("cluster.fault_detection.leader_check.retry_count", "discovery.zen.fd.ping_retries"),
    ("cluster.fault_detection.leader_check.timeout", "discovery.zen.fd.ping_timeout"),
    ("cluster.join.timeout", "discovery.zen.join_timeout"),
    ("cluster.no_master_block", "discovery.zen.no_master_block"),
    ("discovery.seed_hosts", "discovery.zen.ping.unicast.hosts"),
    ("discovery.seed_providers", "discovery.zen.hosts_provider"),
    ("discovery.seed_resolver.max_concurrent_resolvers", "discovery.zen.ping.unicast.concurrent_connects"),
    ("discovery.seed_resolver.timeout", "discovery.zen.ping.unicast.hosts.resolve_timeout"),
    ("transport.connect_timeout", "transport.tcp.connect_timeout"),
];

/// The known key nearest to an unknown one, if at least half of the two agrees. The first parts of a key may be left out.
pub(super) fn nearest(unknown: &str) -> Option<String> {
    if let Some((_, here)) = OF_SEVEN.iter().find(|(seven, _)| *seven == unknown) {
        return Some((*here).to_owned());
    }
    let length = unknown.chars().count();
    if length > LENGTH_MAX {
        return None;
    }
    let unknown = Unknown::of(unknown);
    // What is documented here comes first among equals.
    let documented = nearest_of(REGISTRY.iter().map(|setting| setting.key), &unknown, length / 2);
    let most = documented.as_ref().map_or(length / 2, |(distance, _)| *distance);
    let (_, key) = match (documented, nearest_of(known_keys(), &unknown, most)) {
        (Some(documented), Some(other)) if documented.0 <= other.0 => documented,
        (Some(documented), None) => documented,
        (_, other) => other?,
    };
    Some(key.into_owned())
}

/// What somebody wrote, to be compared with all keys.
struct Unknown<'a> {
    whole: BatchComparator<char>,
    /// What stands before each of its dots, with the dot, and behind it.
    heads: Vec<(BatchComparator<char>, &'a str)>,
}

impl<'a> Unknown<'a> {
    fn of(text: &'a str) -> Self {
        let heads = text.match_indices('.').map(|(at, _)| text.split_at(at + 1));
        let heads = heads.map(|(head, name)| (BatchComparator::new(head.chars()), name)).collect();
        Unknown { whole: BatchComparator::new(text.chars()), heads }
    }
}

/// The nearest of some keys, the first of them among equals, if its edit distance is at most this.
fn nearest_of(
    keys: impl Iterator<Item = &'static str>,
    unknown: &Unknown<'_>,
    most: usize,
) -> Option<(usize, Cow<'static, str>)> {
    keys.fold(None, |best, key| {
        let most = best.as_ref().map_or(most, |(distance, _)| *distance);
        best.into_iter().chain(near(key, unknown, most)).min()
    })
}

/// A key that may be meant, and its edit distance, if that is at most this.
fn near(key: &'static str, unknown: &Unknown<'_>, most: usize) -> Option<(usize, Cow<'static, str>)> {
    if key.contains('*') {
        return near_in_family(key, unknown).filter(|(distance, _)| *distance <= most);
    }
    let distance = tails(key).filter_map(|tail| distance_within(&unknown.whole, tail, most)).min()?;
    Some((distance, Cow::Borrowed(key)))
}

/// One of a family: the name is the user's, so only what stands before it can be a slip. That must agree for the most
/// part, as any name goes with any family.
fn near_in_family(family: &'static str, unknown: &Unknown<'_>) -> Option<(usize, Cow<'static, str>)> {
    let stem = family.strip_suffix('*').filter(|stem| !stem.contains('*'))?;
    let slips = unknown.heads.iter().filter_map(|(head, name)| {
        let slip = |tail: &str| distance_within(head, tail, tail.chars().count() / 5);
        let distance = tails(stem).filter(|tail| !tail.is_empty()).filter_map(slip).min()?;
        Some((distance, format!("{stem}{name}")))
    });
    let (distance, key) = slips.filter(|(_, key)| is_of_family(family, key)).min()?;
    Some((distance, Cow::Owned(key)))
}

/// The key, and what is left of it without its first part, its first two and so on.
fn tails(key: &str) -> impl Iterator<Item = &str> {
    std::iter::once(key).chain(key.match_indices('.').map(|(at, _)| &key[at + 1..]))
}

/// How many characters must be inserted, removed or replaced to make one text of the other, if it is at most so many.
fn distance_within(one: &BatchComparator<char>, other: &str, most: usize) -> Option<usize> {
    one.distance_with_args(other.chars(), &Args::default().score_cutoff(most))
}

/// How many characters must be inserted, removed or replaced to make one text of the other (Levenshtein's distance).
pub fn edit_distance(one: &str, other: &str) -> usize {
    rapidfuzz::distance::levenshtein::distance(one.chars(), other.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        for (one, other, expected) in [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("flaw", "lawn", 2)] {
            assert_eq!(edit_distance(one, other), expected, "{one} and {other}");
            let one = BatchComparator::new(one.chars());
            assert_eq!(distance_within(&one, other, expected), Some(expected), "{other}");
            assert!(expected == 0 || distance_within(&one, other, expected - 1).is_none(), "{other}");
        }
    }

    #[test]
    fn the_nearest_key_is_named_unless_nothing_is_near() {
        let cases = [
            ("discovery.zen.ping_timout", Some("discovery.zen.ping_timeout")),
            ("discovery.zen.fd.ping_timout", Some("discovery.zen.fd.ping_timeout")),
            ("minimum_master_node", Some("discovery.zen.minimum_master_nodes")),
            ("fd.retries", Some("discovery.zen.fd.ping_retries")),
            ("index.number_of_replicas", None),
            ("node.atr.rack", Some("node.attr.rack")),
            ("attr.rack", Some("node.attr.rack")),
            ("loger.discovery", Some("logger.discovery")),
            ("xpak.security.enabled", Some("xpack.security.enabled")),
            ("discovery.seed_hosts", Some("discovery.zen.ping.unicast.hosts")),
            ("", None),
        ];
        for (unknown, expected) in cases {
            assert_eq!(nearest(unknown).as_deref(), expected, "{unknown}");
        }
    }

    #[test]
    fn every_name_of_elasticsearch_7_stands_for_a_setting_and_no_family_is_meant() {
        for (seven, here) in OF_SEVEN {
            assert!(super::super::setting(seven).is_err() && super::super::setting(here).is_ok(), "{seven}: {here}");
        }
        for unknown in ["discovery.ec.x", "discovery.seed_hostss", "transport.profile.a.port", "node.attr", "s4.x"] {
            assert!(nearest(unknown).is_none_or(|meant| !meant.contains('*')), "{unknown}");
        }
    }
}
