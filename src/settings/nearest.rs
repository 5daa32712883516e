//! Which known key somebody may have meant: the one with the fewest slips of the pen between.

use super::REGISTRY;

/// The known key nearest to an unknown one, if at least half of the two agrees. The first parts of a key may be left out.
pub(super) fn nearest(unknown: &str) -> Option<&'static str> {
    let near = |key: &'static str| tails(key).map(|tail| slips(tail, unknown)).min().map(|slips| (slips, key));
    let (slips, key) = REGISTRY.iter().filter_map(|setting| near(setting.key)).min()?;
    (slips * 2 <= unknown.chars().count()).then_some(key)
}

/// The key, and what is left of it without its first part, its first two and so on.
fn tails(key: &str) -> impl Iterator<Item = &str> {
    std::iter::once(key).chain(key.match_indices('.').map(|(at, _)| &key[at + 1..]))
}

/// How many characters must be inserted, removed or replaced to make one text of the other (Levenshtein's distance).
pub fn slips(one: &str, other: &str) -> usize {
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
            assert_eq!(slips(one, other), expected, "{one} and {other}");
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
