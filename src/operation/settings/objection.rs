//! Why Elasticsearch refuses a change of a setting: in its words, with what led to that.
//!
//! What it becomes for a user is told where answers are made. Mirrors the exceptions of `Setting` and of the classes that
//! read its values (6.8).

use std::fmt;

/// What kind of exception it is in Elasticsearch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception {
    /// An argument makes no sense.
    IllegalArgument,
    /// A text is no number.
    NumberFormat,
    /// A text cannot be read.
    Parse,
}

/// Why a change is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// What kind of exception it is.
    pub exception: Exception,
    /// What it says.
    pub reason: String,
    /// What led to it.
    pub cause: Option<Box<Objection>>,
    /// What else went wrong on the way to it.
    pub suppressed: Option<Box<Objection>>,
}

impl Objection {
    /// An argument that makes no sense.
    pub(super) fn illegal(reason: impl Into<String>) -> Self {
        Objection::new(Exception::IllegalArgument, reason)
    }

    /// A text that cannot be read.
    pub(super) fn parse(reason: impl Into<String>) -> Self {
        Objection::new(Exception::Parse, reason)
    }

    /// A text that is no number.
    pub(super) fn number(text: &str) -> Self {
        Objection::new(Exception::NumberFormat, format!("For input string: \"{text}\""))
    }

    /// The same kind of exception as Java's own readers of numbers throw.
    pub(super) fn number_because(reason: &str) -> Self {
        Objection::new(Exception::NumberFormat, reason)
    }

    fn new(exception: Exception, reason: impl Into<String>) -> Self {
        Objection { exception, reason: reason.into(), cause: None, suppressed: None }
    }

    /// Adds what led to it.
    pub(super) fn caused_by(self, cause: Objection) -> Self {
        Objection { cause: Some(Box::new(cause)), ..self }
    }

    /// Adds what else went wrong.
    pub(super) fn suppressing(self, other: Objection) -> Self {
        Objection { suppressed: Some(Box::new(other)), ..self }
    }

    /// The same as an argument that makes no sense, which is what Elasticsearch turns all mistakes in values into.
    pub(super) fn wrapped(self) -> Self {
        match self.exception {
            Exception::IllegalArgument => self,
            Exception::NumberFormat | Exception::Parse => Objection::illegal(self.reason.clone()).caused_by(self),
        }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}
