//! The words of one command, taken out one after the other as they are understood.
//!
//! A word is an argument, an option (`key=value`) or a link word that names the next (`via a`). What is left over at the
//! end was not understood, and that is a mistake.

use super::mistake::Mistake;
use crate::cluster::{Term, Version};
use crate::zen::parse_time;
use std::collections::VecDeque;
use std::str::FromStr;
use std::time::Duration;

/// The words of a command that are yet to be understood.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    left: VecDeque<&'a str>,
}

impl<'a> Words<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Words { left: text.split_whitespace().collect() }
    }

    /// The next word, whatever it is.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        self.left.pop_front()
    }

    /// The next word, which must be there.
    pub(super) fn need(&mut self, what: &str) -> Result<&'a str, Mistake> {
        self.next().ok_or_else(|| Mistake::new("the end of the line", what))
    }

    /// The value of an option.
    pub(super) fn option(&mut self, key: &str) -> Option<&'a str> {
        let value = |word: &&'a str| word.strip_prefix(key)?.strip_prefix('=');
        let place = self.left.iter().position(|word| value(word).is_some())?;
        self.left.remove(place).as_ref().and_then(value)
    }

    /// The value of an option, if it is there and of its type.
    pub(super) fn parsed<T: FromStr>(&mut self, key: &str, allowed: &str) -> Result<Option<T>, Mistake> {
        let Some(value) = self.option(key) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| Mistake::new(format!("`{value}` for `{key}`"), allowed))
    }

    /// A time as an option.
    pub(super) fn time(&mut self, key: &str) -> Result<Option<Duration>, Mistake> {
        self.option(key).map(time).transpose()
    }

    /// The word behind a link word.
    pub(super) fn after(&mut self, link: &str) -> Result<Option<&'a str>, Mistake> {
        let Some(place) = self.left.iter().position(|word| *word == link) else {
            return Ok(None);
        };
        self.left.remove(place);
        let named = self.left.remove(place);
        named.map(Some).ok_or_else(|| Mistake::new(format!("nothing behind `{link}`"), "a word"))
    }

    /// Whether a word that means something by itself is there; it is taken out.
    pub(super) fn flag(&mut self, flag: &str) -> bool {
        let place = self.left.iter().position(|word| *word == flag);
        place.is_some_and(|place| self.left.remove(place).is_some())
    }

    /// All words that are left.
    pub(super) fn rest(&mut self) -> Vec<&'a str> {
        self.left.drain(..).collect()
    }

    /// Nothing may be left.
    pub(super) fn end(&self) -> Result<(), Mistake> {
        match self.left.front() {
            None => Ok(()),
            Some(word) => Err(Mistake::new(format!("`{word}`, which means nothing here"), "the end of the line")),
        }
    }
}

/// Reads a time.
pub(super) fn time(word: &str) -> Result<Duration, Mistake> {
    parse_time(word)
        .ok_or_else(|| Mistake::new(format!("`{word}` as a time"), "a number and `micros`, `ms`, `s` or `m`"))
}

/// Reads a term and a version, `3/17`.
pub(super) fn rank(word: &str) -> Result<(Term, Version), Mistake> {
    let numbers = || {
        let (term, version) = word.split_once('/')?;
        Some((Term::new(term.parse().ok()?)?, Version::new(version.parse().ok()?)?))
    };
    numbers().ok_or_else(|| Mistake::new(format!("`{word}` as a state"), "term and version, as in `3/17`"))
}
