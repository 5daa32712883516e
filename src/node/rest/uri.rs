//! What stands in a request line: the pieces of a path, the pairs of a query, and what `%` and `+` mean in them.
//!
//! Pieces are compared as they were sent; only what a route captures is decoded. Mirrors `RestUtils` (6.8), whose messages
//! clients see.

use std::collections::BTreeMap;

/// The pieces of a path. Slashes at its end mean nothing.
pub(super) fn pieces(path: &str) -> Vec<&str> {
    let path = path.trim_end_matches('/');
    path.strip_prefix('/').map_or_else(Vec::new, |path| path.split('/').collect())
}

/// The same, with all that is behind the first ones in the last of so many.
pub(super) fn first_pieces(path: &str, count: usize) -> Vec<&str> {
    let path = path.trim_end_matches('/');
    path.strip_prefix('/').map_or_else(Vec::new, |path| path.splitn(count, '/').collect())
}

/// The pairs of a query, between which stands `&` or `;`. A name without a value has an empty one; of equal names the
/// last one counts.
pub(super) fn pairs(query: &str) -> Result<BTreeMap<String, String>, String> {
    let mut pairs = BTreeMap::new();
    for pair in query.split(['&', ';']).map(|pair| pair.trim_start_matches('=')).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        pairs.insert(decode(name)?, decode(value)?);
    }
    Ok(pairs)
}

/// The text that was meant: `+` is a blank, `%41` a byte, `%%` a percent sign.
///
/// Differs from ES: bytes that are no UTF-8 are refused and not replaced, for two names must not become one.
pub(super) fn decode(text: &str) -> Result<String, String> {
    if !text.contains(['%', '+']) {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    let raw = text.as_bytes();
    while let Some(&byte) = raw.get(at) {
        at += 1;
        match byte {
            b'+' => bytes.push(b' '),
            b'%' if raw.get(at) == Some(&b'%') => {
                bytes.push(b'%');
                at += 1;
            }
            b'%' => {
                bytes.push(escaped(text, at - 1)?);
                at += 2;
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes)
        .map_err(|_| format!("the bytes that [{text}] stands for are no UTF-8; allowed: UTF-8 only"))
}

/// The byte of the escape that begins at `at`.
fn escaped(text: &str, at: usize) -> Result<u8, String> {
    let left = &text.as_bytes()[at + 1..];
    match left {
        [] => Err(format!("unterminated escape sequence at end of string: {text}")),
        [_] => Err(format!("partial escape sequence at end of string: {text}")),
        [high, low, ..] => match (hex(*high), hex(*low)) {
            (Some(high), Some(low)) => Ok(high << 4 | low),
            _ => {
                let found = String::from_utf8_lossy(&text.as_bytes()[at..at + 3]);
                Err(format!("invalid escape sequence `{found}' at index {at} of: {text}"))
            }
        },
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_falls_into_pieces() {
        assert_eq!(pieces("/"), Vec::<&str>::new());
        assert_eq!(pieces("//"), Vec::<&str>::new());
        assert_eq!(pieces("/_cluster/health//"), ["_cluster", "health"]);
        assert_eq!(pieces("//_cluster"), ["", "_cluster"]);
        assert_eq!(pieces("/a%2Fb"), ["a%2Fb"]);
        assert_eq!(pieces("*"), Vec::<&str>::new());
    }

    #[test]
    fn pairs_are_found_as_elasticsearch_finds_them() {
        let cases: [(&str, &[(&str, &str)]); 8] = [
            ("", &[]),
            ("pretty", &[("pretty", "")]),
            ("a=1&b=2;c=3", &[("a", "1"), ("b", "2"), ("c", "3")]),
            ("a=1&a=2", &[("a", "2")]),
            ("a=b=c&&;&d=", &[("a", "b=c"), ("d", "")]),
            ("=x&==y=z", &[("x", ""), ("y", "z")]),
            ("h=%3E%3d2&s=a+b", &[("h", ">=2"), ("s", "a b")]),
            ("a%26=%3B", &[("a&", ";")]),
        ];
        for (query, expected) in cases {
            let expected = expected.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            assert_eq!(pairs(query), Ok(expected), "{query}");
        }
    }

    #[test]
    fn escapes_are_undone_and_bad_ones_named() {
        assert_eq!(decode("a%20b+c%%%c3%A9"), Ok("a b c%é".into()));
        for (text, error) in [
            ("%", "unterminated escape sequence at end of string: %"),
            ("a%4", "partial escape sequence at end of string: a%4"),
            ("a%zz", "invalid escape sequence `%zz' at index 1 of: a%zz"),
            ("a%ff", "the bytes that [a%ff] stands for are no UTF-8; allowed: UTF-8 only"),
            ("%4é", "invalid escape sequence `%4\u{fffd}' at index 0 of: %4é"),
        ] {
            assert_eq!(decode(text), Err(error.into()));
        }
    }
}
