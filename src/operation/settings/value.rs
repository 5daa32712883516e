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

/// What begins the stored form of a value that its bare text does not tell; JSON stands behind it.
const MARK: char = '\u{1}';

impl Value {
    /// It as one text, as states hold settings: a text is as it was, and a list is told from any of them.
    pub fn stored(&self) -> String {
        match self {
            Value::Text(text) if !text.starts_with(MARK) => text.clone(),
            Value::Text(text) => format!("{MARK}{}", serde_json::Value::from(text.as_str())),
            Value::List(elements) => format!("{MARK}{}", serde_json::Value::from(elements.as_slice())),
        }
    }

    /// What a state holds of a setting; what cannot be told otherwise is a text.
    pub fn of_stored(stored: &str) -> Value {
        let told = stored.strip_prefix(MARK).and_then(|json| serde_json::from_str(json).ok());
        let elements = |list: Vec<serde_json::Value>| -> Option<Vec<String>> {
            list.into_iter().map(|element| element.as_str().map(str::to_owned)).collect()
        };
        let value = match told {
            Some(serde_json::Value::String(text)) => Some(Value::Text(text)),
            Some(serde_json::Value::Array(list)) => elements(list).map(Value::List),
            Some(_) | None => None,
        };
        value.unwrap_or_else(|| Value::Text(stored.to_owned()))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_stored_is_told_from_any_text() {
        let list = |elements: &[&str]| Value::List(elements.iter().map(|&element| element.to_owned()).collect());
        let values = [
            list(&[]),
            list(&["a", "b,c", ""]),
            list(&["\u{1}", "\"é"]),
            "".into(),
            "a,b".into(),
            "[\"a\"]".into(),
            "\u{1}".into(),
            "\u{1}[\"a\"]".into(),
        ];
        for value in values {
            assert_eq!(Value::of_stored(&value.stored()), value, "{value}");
        }
        assert_eq!(Value::from("a,b").stored(), "a,b", "texts are stored as they are");
        for odd in ["\u{1}", "\u{1}x", "\u{1}[1]", "\u{1}{}", "\u{1}[\"a\""] {
            assert_eq!(Value::of_stored(odd), odd.into());
        }
    }
}
