//! Why a script cannot be carried out to its end.

use crate::sim::Violation;
use std::fmt;

/// Something in a script that has no meaning: where, what was read, and what is allowed there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line of the script; zero until it is known.
    pub line: usize,
    /// What was read.
    pub read: String,
    /// What is allowed.
    pub allowed: String,
}

impl Mistake {
    /// A mistake in a line that is yet to be named.
    pub(super) fn new(read: impl Into<String>, allowed: impl Into<String>) -> Self {
        Mistake { line: 0, read: read.into(), allowed: allowed.into() }
    }

    /// The same, in this line.
    pub(super) fn at(self, line: usize) -> Self {
        Mistake { line, ..self }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; allowed: {}", self.read, self.allowed)
    }
}

impl std::error::Error for Mistake {}

/// What keeps a script from going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The script says something that has no meaning.
    Mistake(Mistake),
    /// The nodes did what they must never do.
    Violation {
        /// The line of the script; zero until it is known.
        line: usize,
        /// What they did.
        violation: Violation,
    },
}

impl Trouble {
    /// The line of the script.
    pub fn line(&self) -> usize {
        match self {
            Trouble::Mistake(mistake) => mistake.line,
            Trouble::Violation { line, .. } => *line,
        }
    }

    pub(super) fn at(self, line: usize) -> Self {
        match self {
            Trouble::Mistake(mistake) => Trouble::Mistake(mistake.at(line)),
            Trouble::Violation { violation, .. } => Trouble::Violation { line, violation },
        }
    }
}

impl From<Mistake> for Trouble {
    fn from(mistake: Mistake) -> Self {
        Trouble::Mistake(mistake)
    }
}

impl From<Violation> for Trouble {
    fn from(violation: Violation) -> Self {
        Trouble::Violation { line: 0, violation }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Mistake(mistake) => mistake.fmt(f),
            Trouble::Violation { violation, .. } => write!(f, "a rule was broken: {violation}"),
        }
    }
}

impl std::error::Error for Trouble {}
