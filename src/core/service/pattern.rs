//! Simple patterns, as in keys to delete and names to show. Mirrors `Regex.simpleMatch` (6.8).

/// Whether `text` fits a pattern in which `*` stands for anything. Each piece between stars is taken where it first
/// stands, so the work is bounded by the lengths of the two.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_anything() {
        let rows = [
            ("*", "a.b", true),
            ("a.*", "a.b", true),
            ("a.*", "b.a", false),
            ("*.b", "a.b", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("a*a", "a", false),
            ("a.b", "a.b", true),
            ("**", "", true),
            ("", "", true),
            ("", "a", false),
        ];
        for (pattern, text, fits) in rows {
            assert_eq!(matches(pattern, text), fits, "{pattern} against {text}");
        }
    }
}
