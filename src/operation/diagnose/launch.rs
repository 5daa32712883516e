//! What a node was given besides its file when it was started: arguments, and variables of its environment.

use serde::{Deserialize, Serialize};

/// An environment variable that settings of a node came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The key that it gives; none if it stands for a placeholder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives: Option<String>,
}

/// What a node was given besides its file, as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Launch {
    /// Keys and values from the command line.
    pub arguments: Vec<(String, String)>,
    /// What came from the environment.
    pub variables: Vec<Variable>,
    /// What came besides and is kept secret: keys, and names of variables.
    pub withheld: Vec<String>,
}

impl Launch {
    /// Whether there is nothing of it.
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty() && self.variables.is_empty() && self.withheld.is_empty()
    }

    /// Whether it gives this setting, so that the file does not.
    pub fn gives(&self, key: &str) -> bool {
        let of_variable = |variable: &Variable| variable.gives.as_deref() == Some(key);
        self.arguments.iter().any(|(given, _)| is_of(given, key)) || self.variables.iter().any(of_variable)
    }
}

/// Whether an argument gives a setting, or an element of it.
pub(super) fn is_of(given: &str, key: &str) -> bool {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    given.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.').is_some_and(is_number))
}
