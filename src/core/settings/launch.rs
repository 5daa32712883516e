//! What a node was given besides its file, as it was written: so it can be started again as it ran.
//!
//! Values that let somebody in are not repeated, only named.

use super::{Sources, environment, placeholder};
use std::collections::BTreeSet;

/// What shows that a value is to be kept: parts of names of variables, and of keys without a meaning here.
const SECRET: [&str; 6] = ["password", "passphrase", "secret", "token", "credential", "_key"];

/// An environment variable that settings came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The key that it gives; none if it stands for a placeholder.
    pub gives: Option<String>,
}

/// What a node was given besides its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Keys and values from the command line.
    pub arguments: Vec<(String, String)>,
    /// What came from the environment.
    pub variables: Vec<Variable>,
    /// What came besides and is kept secret: keys, and names of variables.
    pub withheld: Vec<String>,
}

impl Launch {
    /// What the arguments gave, and those variables that give settings or stand for placeholders.
    pub fn of(sources: &Sources<'_>) -> Self {
        let placeholders = placeholders(sources);
        let mut launch = Launch::default();
        for (key, value) in sources.arguments {
            if is_secret(key) {
                launch.withheld.push(key.clone());
            } else {
                launch.arguments.push((key.clone(), value.clone()));
            }
        }
        for (name, value) in sources.environment {
            let gives = environment::key(name).filter(|_| !value.is_empty());
            if gives.is_none() && !placeholders.contains(name) {
                continue;
            }
            if gives.as_deref().map_or_else(|| is_secret_name(name), is_secret) {
                launch.withheld.push(name.clone());
            } else {
                launch.variables.push(Variable { name: name.clone(), value: value.clone(), gives });
            }
        }
        launch
    }
}

/// What is named by placeholders, wherever they stand.
fn placeholders(sources: &Sources<'_>) -> BTreeSet<String> {
    let file = sources.file.map(|file| file.text).into_iter();
    let texts = file.chain(sources.arguments.iter().map(|(_, value)| value.as_str()));
    let of_settings = sources.environment.iter().filter(|(name, _)| environment::key(name).is_some());
    let all = texts.chain(of_settings.map(|(_, value)| value.as_str()));
    all.flat_map(placeholder::names).collect()
}

/// What is run may hold anything; settings that take effect here name files of secrets, and no secrets.
fn is_secret(key: &str) -> bool {
    match super::setting(key) {
        Ok(setting) if setting.has_effect() => setting.key.starts_with("hooks."),
        Ok(_) | Err(_) => is_secret_name(key),
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::super::{FileText, load};
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_was_given_besides_the_file_is_kept_as_it_was_written() {
        let pairs = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
        };
        let environment = pairs(&[
            ("HOME", "/root"),
            ("PLACE", "a"),
            ("PASSWORD", "of somebody"),
            ("RACK", "r1"),
            ("ZAZEN_HTTP_PORT", "9201"),
            ("ZAZEN_HOOKS_ON_STEP_DOWN", "post,me"),
        ]);
        let environment: BTreeMap<String, String> = environment.into_iter().collect();
        let text = "node.name: ${NAME:n-${PLACE}}\nnode.attr.rack: ${PASSWORD}";
        let arguments = pairs(&[("path.data", "data/${RACK}"), ("cloud.token", "x"), ("http.host", "_local_")]);
        let file = Some(FileText { name: "zazen.yml", text });
        let launch =
            Launch::of(&Sources { file, environment: &environment, arguments: &arguments, path_conf: "config".into() });
        assert_eq!(launch.arguments, pairs(&[("path.data", "data/${RACK}"), ("http.host", "_local_")]));
        let variables: Vec<(&str, &str, Option<&str>)> =
            launch.variables.iter().map(|one| (&*one.name, &*one.value, one.gives.as_deref())).collect();
        let port = ("ZAZEN_HTTP_PORT", "9201", Some("http.port"));
        assert_eq!(variables, [("PLACE", "a", None), ("RACK", "r1", None), port]);
        assert_eq!(launch.withheld, ["cloud.token", "PASSWORD", "ZAZEN_HOOKS_ON_STEP_DOWN"]);
        let arguments = pairs(&[("node.name", "n1")]);
        let sources = Sources { file, environment: &environment, arguments: &arguments, path_conf: "config".into() };
        assert_eq!(load(&sources).expect("it makes sense").settings.launch.arguments, arguments);
    }
}
