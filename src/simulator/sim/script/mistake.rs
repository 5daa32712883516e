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
pub enum ScriptError {
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

impl ScriptError {
    /// The line of the script.
    pub fn line(&self) -> usize {
        match self {
            ScriptError::Mistake(mistake) => mistake.line,
            ScriptError::Violation { line, .. } => *line,
        }
    }

    pub(super) fn at(self, line: usize) -> Self {
        match self {
            ScriptError::Mistake(mistake) => ScriptError::Mistake(mistake.at(line)),
            ScriptError::Violation { violation, .. } => ScriptError::Violation { line, violation },
        }
    }
}

impl From<Mistake> for ScriptError {
    fn from(mistake: Mistake) -> Self {
        ScriptError::Mistake(mistake)
    }
}

impl From<Violation> for ScriptError {
    fn from(violation: Violation) -> Self {
        ScriptError::Violation { line: 0, violation }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptError::Mistake(mistake) => mistake.fmt(f),
            ScriptError::Violation { violation, .. } => write!(f, "a rule was broken: {violation}"),
        }
    }
}

impl std::error::Error for ScriptError {}
