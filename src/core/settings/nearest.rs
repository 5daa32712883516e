//! Which known key somebody may have meant: the one at the smallest edit distance.

use super::REGISTRY;
use super::known::known_keys;

/// Keys with more characters resemble none, so that no text takes long to compare.
const LENGTH_MAX: usize = 200;

/// The known key nearest to an unknown one, if at least half of the two agrees. The first parts of a key may be left out.
pub(super) fn nearest(unknown: &str) -> Option<&'static str> {
    let length = unknown.chars().count();
    if length > LENGTH_MAX {
        return None;
    }
    let near = |key: &'static str| {
        tails(key).map(|tail| edit_distance(tail, unknown)).min().map(|edit_distance| (edit_distance, key))
    };
    // What is documented here comes first among equals.
    let documented = REGISTRY.iter().filter_map(|setting| near(setting.key)).min();
    let other = known_keys().filter_map(near).min();
    let (edit_distance, key) = match (documented, other) {
        (Some(documented), Some(other)) if documented.0 <= other.0 => documented,
        (Some(documented), None) => documented,
        (_, other) => other?,
    };
    (edit_distance * 2 <= length).then_some(key)
}
/// The key, and what is left of it without its first part, its first two and so on.
fn tails(key: &str) -> impl Iterator<Item = &str> {
    std::iter::once(key).chain(key.match_indices('.').map(|(at, _)| &key[at + 1..]))
}

/// How many characters must be inserted, removed or replaced to make one text of the other (Levenshtein's distance).
pub fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for column in 0..other.len() {
            let replaced = diagonal + usize::from(other[column] != letter);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        for (one, other, expected) in [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("flaw", "lawn", 2)] {
            assert_eq!(edit_distance(one, other), expected, "{one} and {other}");
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
            ("", None),
        ];
        for (unknown, expected) in cases {
            assert_eq!(nearest(unknown), expected, "{unknown}");
        }
    }
}
