//! The secret that the nodes of a cluster share, and the one that takes its place.

use super::file::{FileError, read_private};
use super::random_hex;
use ring::hmac::{HMAC_SHA256, Key};
use std::fmt;
use std::path::Path;

/// A shorter secret can be guessed.
const LENGTH_MIN: usize = 32;
const LENGTH_MAX: usize = 256;

/// One that is used, and one that is on its way in or out.
const SECRETS_MAX: usize = 2;

/// The secrets of a node: the first signs, each of them is accepted. They are never shown.
#[derive(Clone)]
pub struct Secrets(Vec<Key>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} not shown)", self.0.len())
    }
}

impl Secrets {
    /// Reads a file of one or two secrets, each in a line of its own; what begins with `#` is none.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = read_private(path)?;
        Secrets::parse(&text).map_err(|why| FileError::Strange(path.to_owned(), why))
    }

    /// The same from a text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines =
            text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let mut keys = Vec::new();
        for (at, line) in lines {
            let is_fit =
                (LENGTH_MIN..=LENGTH_MAX).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_graphic());
            if !is_fit {
                return Err(format!(
                    "line {}: a secret has {LENGTH_MIN} to {LENGTH_MAX} visible ASCII letters, as `zazen setup` makes them",
                    at + 1
                ));
            }
            keys.push(Key::new(HMAC_SHA256, line.as_bytes()));
        }
        if keys.is_empty() || keys.len() > SECRETS_MAX {
            return Err(format!(
                "there are {} secrets in it, allowed: one, and a second one while it is changed",
                keys.len()
            ));
        }
        Ok(Secrets(keys))
    }

    /// The one that signs.
    pub(super) fn first(&self) -> &Key {
        &self.0[0]
    }

    /// All that are accepted.
    pub(super) fn all(&self) -> &[Key] {
        &self.0
    }
}

/// A secret that nobody can guess; none if the system gives no entropy.
pub fn fresh_secret() -> Option<String> {
    random_hex::<32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_or_two_long_secrets_are_a_file_of_secrets() {
        let (one, two) = ("a".repeat(32), "b".repeat(256));
        let cases = [
            (one.clone(), Ok(1)),
            (format!("# old\n{one}\n\n  {two}  \n"), Ok(2)),
            (String::new(), Err("there are 0 secrets")),
            (format!("{one}\n{two}\n{one}"), Err("there are 3 secrets")),
            (format!("\n{}", "a".repeat(31)), Err("line 2: ")),
            (format!("{one} {two}"), Err("line 1: ")),
        ];
        for (text, expected) in cases {
            match (Secrets::parse(&text), expected) {
                (Ok(secrets), Ok(count)) => assert_eq!(secrets.all().len(), count, "{text}"),
                (Err(why), Err(begin)) => assert!(why.starts_with(begin) && !why.contains(&one), "{text}: {why}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
        assert!(fresh_secret().is_some_and(|secret| Secrets::parse(&secret).is_ok()));
    }
}
