//! Values of settings, as they are written in a file or in a shell.

use super::yaml::{in_quotes, yaml};

/// A value of a setting, to be written in a file or in a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Worth {
    /// A text.
    Text(String),
    /// A number or a word that YAML has for something else than a text.
    Plain(String),
    /// A list.
    List(Vec<String>),
}

impl Worth {
    /// As a file has it.
    pub fn in_file(&self) -> String {
        match self {
            Worth::Text(text) => yaml(text),
            Worth::Plain(word) => word.clone(),
            Worth::List(elements) => {
                format!("[{}]", elements.iter().map(|one| in_quotes(one)).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// As an argument has it.
    pub(super) fn as_argument(&self) -> String {
        match self {
            Worth::Text(text) | Worth::Plain(text) => text.clone(),
            Worth::List(elements) => elements.join(","),
        }
    }
}
