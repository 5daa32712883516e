//! `${NAME}` and `${NAME:default}` in values: environment variables, else other settings.
//!
//! Names and values may hold placeholders themselves. Mirrors `PropertyPlaceholder` (6.8).

use std::fmt;

/// Longer texts do not come out of placeholders.
const LENGTH_MAX: usize = 1 << 16;
/// So many placeholders are replaced in one value.
const REPLACED_MAX: usize = 1_000;
/// So deep may placeholders stand in each other.
const DEPTH_MAX: usize = 32;

/// Why a placeholder cannot be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unresolved {
    /// Nothing has this name.
    Unknown(String),
    /// It leads back to itself.
    Circular(String),
    /// The text grows too long, or the placeholders too many or too deep.
    TooLarge,
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unresolved::Unknown(name) => write!(
                f,
                "Could not resolve placeholder '{name}', allowed are environment variables, settings and ${{{name}:default}}"
            ),
            Unresolved::Circular(name) => {
                write!(f, "Circular placeholder reference '{name}' in property definitions")
            }
            Unresolved::TooLarge => write!(
                f,
                "placeholders make this too large, allowed are {LENGTH_MAX} bytes, {REPLACED_MAX} placeholders and \
                 {DEPTH_MAX} in each other"
            ),
        }
    }
}

/// A text with the values of its placeholders in their places.
pub(super) fn resolve(text: &str, find: &dyn Fn(&str) -> Option<String>) -> Result<String, Unresolved> {
    Resolver { find, replaced: 0, open: Vec::new() }.resolve(text)
}

struct Resolver<'a> {
    find: &'a dyn Fn(&str) -> Option<String>,
    replaced: usize,
    /// The placeholders that are being replaced, from the outermost on.
    open: Vec<String>,
}

impl Resolver<'_> {
    fn resolve(&mut self, text: &str) -> Result<String, Unresolved> {
        let mut rest = text;
        let mut out = String::new();
        while let Some((before, inside, behind)) = next_placeholder(rest) {
            out.push_str(before);
            out.push_str(&self.replace(inside)?);
            if out.len() > LENGTH_MAX {
                return Err(Unresolved::TooLarge);
            }
            rest = behind;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// The value of one placeholder, given what is between its braces.
    fn replace(&mut self, inside: &str) -> Result<String, Unresolved> {
        if self.open.iter().any(|open| open == inside) {
            return Err(Unresolved::Circular(inside.to_owned()));
        }
        self.replaced += 1;
        if self.replaced > REPLACED_MAX || self.open.len() == DEPTH_MAX {
            return Err(Unresolved::TooLarge);
        }
        self.open.push(inside.to_owned());
        let inside = self.resolve(inside)?;
        let (name, default) = match inside.split_once(':') {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (inside.as_str(), None),
        };
        let value = (self.find)(name).or(default).ok_or_else(|| Unresolved::Unknown(name.to_owned()))?;
        let value = self.resolve(&value)?;
        self.open.pop();
        Ok(value)
    }
}

/// Longer names are none of variables that anybody has.
const NAME_MAX: usize = 256;

/// What the placeholders of a text may name, those in others included.
pub(super) fn names(text: &str) -> Vec<String> {
    let name = |(at, open): (usize, &str)| {
        let inside = &text[at + open.len()..];
        let (end, _) = inside.char_indices().take(NAME_MAX).find(|(_, c)| matches!(c, ':' | '}'))?;
        Some(inside[..end].to_owned())
    };
    text.match_indices("${").filter_map(name).collect()
}

/// What stands before the first placeholder, in it and behind it.
fn next_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find("${")?;
    let inside = &text[start + 2..];
    let mut depth = 0;
    let mut last = ' ';
    for (at, c) in inside.char_indices() {
        match (last, c) {
            ('$', '{') => depth += 1,
            (_, '}') if depth == 0 => return Some((&text[..start], &inside[..at], &inside[at + 1..])),
            (_, '}') => depth -= 1,
            _ => {}
        }
        last = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str) -> Option<String> {
        let values = [
            ("HOME", "/root"),
            ("A", "${B}"),
            ("B", "b"),
            ("LOOP", "${LOOP}"),
            ("EMPTY", ""),
            ("E2", "${EMPTY}${EMPTY}"),
        ];
        let doubled = name.strip_prefix("D").and_then(|depth| depth.parse::<u32>().ok());
        let doubled = doubled.map(|depth| format!("${{D{0}}}${{D{0}}}", depth + 1));
        values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()).or(doubled)
    }

    #[test]
    fn placeholders_are_replaced_as_elasticsearch_replaces_them() {
        let cases = [
            ("plain", Ok("plain")),
            ("${HOME}/data", Ok("/root/data")),
            ("${NONE:x}/${HOME}", Ok("x//root")),
            ("${NONE:a:b}", Ok("a:b")),
            ("${NONE:}", Ok("")),
            ("${${NONE:HO}ME}", Ok("/root")),
            ("${A}", Ok("b")),
            ("${NONE:${B}}", Ok("b")),
            ("$HOME", Ok("$HOME")),
            ("${HOME", Ok("${HOME")),
            ("$${HOME}", Ok("$/root")),
            ("{HOME}}", Ok("{HOME}}")),
            ("${E2}", Ok("")),
            ("${NONE}", Err(Unresolved::Unknown("NONE".into()))),
            ("${}", Err(Unresolved::Unknown(String::new()))),
            ("${LOOP}", Err(Unresolved::Circular("LOOP".into()))),
        ];
        for (text, expected) in cases {
            assert_eq!(resolve(text, &find), expected.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn nothing_grows_without_bound() {
        let deep = format!("{}{}", "${".repeat(5_000), "}".repeat(5_000));
        let long = "${HOME}".repeat(20_000);
        for text in ["${D0}", &deep, &long] {
            assert_eq!(resolve(text, &find), Err(Unresolved::TooLarge));
        }
    }
}
