//! What is given for a setting, and where it comes from.

use std::fmt;
use std::sync::Arc;

/// What is given for a setting: the texts as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One text; where a list is meant, its elements have commas between them.
    Text(String),
    /// A list that was written as one.
    List(Vec<String>),
}

impl Value {
    /// Its elements, without those that are empty.
    pub fn elements(&self) -> Vec<String> {
        let trimmed = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        match self {
            Value::Text(text) => text.split(',').filter_map(trimmed).collect(),
            Value::List(elements) => elements.iter().filter_map(|element| trimmed(element)).collect(),
        }
    }

    /// Its text, if it is not a list.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::List(_) => None,
        }
    }

    /// It on one line, without a sign that it is a list.
    pub fn joined(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::List(elements) => elements.join(", "),
        }
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            Value::Text(text) => text.is_empty(),
            Value::List(elements) => elements.is_empty(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.into())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => write!(f, "{text}"),
            Value::List(elements) => write!(f, "[{}]", elements.join(", ")),
        }
    }
}

/// Where a value comes from; each wins over those after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line, for a setting that the cluster would change.
    Override,
    /// The command line.
    CommandLine,
    /// This environment variable.
    Environment(String),
    /// A place in a file.
    File(Place),
    /// Another setting that was given, which this one follows.
    Follows(&'static str),
    /// Nobody gave one.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Override => write!(f, "command line, over the cluster's"),
            Origin::CommandLine => write!(f, "command line"),
            Origin::Environment(variable) => write!(f, "{variable}"),
            Origin::File(place) => write!(f, "{place}"),
            Origin::Follows(key) => write!(f, "follows {key}"),
            Origin::Default => write!(f, "default"),
        }
    }
}

/// A place in a file, counted from 1 in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
