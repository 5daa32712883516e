//! What a node was given besides its file, as it was written: so it can be started again as it ran.
//!
//! Values that let somebody in are not repeated, only named. A file that was read from a pipe or from an open descriptor
//! cannot be named again, so what it gave is repeated as if it had been given besides.

use super::layer::{At, Given};
use super::{Launch, Sources, Value, Variable, environment, placeholder};
use crate::zen::Tuning;
use std::collections::BTreeSet;

/// What shows that a value is to be kept: parts of names of variables, and of keys without a meaning here.
const SECRET: [&str; 7] = ["password", "passphrase", "secret", "token", "credential", "_key", "apikey"];

impl Launch {
    /// What the arguments gave, and those variables that give settings or stand for placeholders.
    pub fn of(sources: &Sources<'_>) -> Self {
        let placeholders = placeholders(sources);
        let mut launch = Launch::default();
        for (key, value) in sources.arguments {
            if is_secret(key, value) {
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
            let is_named_so = || is_secret_name(name) || has_password(value);
            if gives.as_deref().map_or_else(is_named_so, |key| is_secret(key, value)) {
                launch.withheld.push(name.clone());
            } else {
                launch.variables.push(Variable { name: name.clone(), value: value.clone(), gives });
            }
        }
        launch
    }

    /// Adds what a file gave that cannot be named again, as it was written.
    pub(super) fn take_in(&mut self, given: &Given, value: &Value) {
        if !matches!(given.at, At::File { .. }) || value.text() == Some("") {
            return;
        }
        let key = &given.key;
        if is_secret(key, &value.joined()) {
            return self.withheld.push(key.clone());
        }
        // An argument would go over what the cluster is told, which a file does not.
        let dynamic = super::setting(key).ok().filter(|_| Tuning::dynamic_keys().any(|dynamic| dynamic == key));
        match (dynamic, value) {
            (Some(setting), value) => {
                let (name, value) = (setting.variable(), value.joined());
                self.variables.push(Variable { name, value, gives: Some(key.clone()) });
            }
            (None, Value::Text(text)) => self.arguments.push((key.clone(), text.clone())),
            // A text with nothing between commas is an empty list.
            (None, Value::List(elements)) if elements.is_empty() => self.arguments.push((key.clone(), ",".into())),
            (None, Value::List(elements)) if elements.iter().any(|element| element.contains(',')) => {
                let each = elements.iter().enumerate().map(|(at, element)| (format!("{key}.{at}"), element.clone()));
                self.arguments.extend(each);
            }
            (None, Value::List(elements)) => self.arguments.push((key.clone(), elements.join(","))),
        }
    }
}

/// Whether a file stands for what was open when it was read: it is another one, or none, for everybody else.
pub fn is_passing(file: &str) -> bool {
    let of_process = |rest: &str| rest.split_once('/').is_some_and(|(_, rest)| rest.starts_with("fd/"));
    file == "/dev/stdin" || file.starts_with("/dev/fd/") || file.strip_prefix("/proc/").is_some_and(of_process)
}

/// What is named by placeholders, wherever they stand.
fn placeholders(sources: &Sources<'_>) -> BTreeSet<String> {
    let file = sources.file.map(|file| file.text).into_iter();
    let texts = file.chain(sources.arguments.iter().map(|(_, value)| value.as_str()));
    let of_settings = sources.environment.iter().filter(|(name, _)| environment::key(name).is_some());
    let all = texts.chain(of_settings.map(|(_, value)| value.as_str()));
    all.flat_map(placeholder::names).collect()
}

/// What is run may hold anything, and so may attributes; other settings that take effect here name files of secrets, and no
/// secrets. An address may have a password in it, wherever it stands.
fn is_secret(key: &str, value: &str) -> bool {
    let by_name = match super::setting(key) {
        Ok(setting) if setting.has_effect() && !key.starts_with("node.attr.") => setting.key.starts_with("hooks."),
        Ok(_) | Err(_) => is_secret_name(key),
    };
    by_name || has_password(value)
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// Whether a text has an address with a user, or one of a webhook, which is a secret itself.
fn has_password(text: &str) -> bool {
    let of_user = |rest: &str| rest.split(['/', '?', ' ', ',']).next().is_some_and(|host| host.contains('@'));
    text.split("://").skip(1).any(|rest| of_user(rest) || rest.starts_with("hooks."))
}

/// Whether a line of a file may hold what is to be kept.
pub fn may_be_secret(line: &str) -> bool {
    is_secret_name(line) || has_password(line) || line.trim_start().starts_with("hooks.")
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

    #[test]
    fn what_came_through_a_pipe_is_given_besides() {
        let text = "node.name: ${NAME}\nnode.master: yes\nhooks.on_no_master: [\"/bin/a\", \"b,c\"]\nhttp.port: 9201\n\
                    discovery.zen.ping.unicast.hosts: []\ndiscovery.zen.minimum_master_nodes: 2\n\
                    network.host: [a, b]\nhttp.host: \"\"\n";
        let environment = BTreeMap::from([("NAME".to_owned(), "n1".to_owned())]);
        let arguments = [("http.port".to_owned(), "9202".to_owned())];
        let of = |name| {
            let file = Some(FileText { name, text });
            let sources =
                Sources { file, environment: &environment, arguments: &arguments, path_conf: "config".into() };
            load(&sources).expect("it makes sense").settings
        };
        let piped = of("/dev/fd/63");
        let given: Vec<String> = piped.launch.arguments.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let expected = [
            "http.port=9202",
            "discovery.zen.ping.unicast.hosts=,",
            "network.host=a,b",
            "node.master=true",
            "node.name=${NAME}",
        ];
        assert_eq!(given, expected);
        let variables: Vec<&str> = piped.launch.variables.iter().map(|one| &*one.name).collect();
        assert_eq!(variables, ["NAME", "ZAZEN_DISCOVERY_ZEN_MINIMUM_MASTER_NODES"]);
        assert_eq!((piped.launch.withheld, piped.file), (vec!["hooks.on_no_master".to_owned()], None));
        for passing in ["/dev/stdin", "/proc/self/fd/3", "/proc/17/fd/pipe"] {
            assert!(is_passing(passing), "{passing}");
        }
        for file in ["/etc/zazen/fd/n.yml", "/proc/fd", "/dev/shm/n.yml"] {
            assert!(!is_passing(file) && of(file).launch.arguments == arguments, "{file}");
        }
        let again = Sources {
            file: None,
            environment: &environment.into_iter().chain([(variables[1].to_owned(), "2".to_owned())]).collect(),
            arguments: &piped.launch.arguments,
            path_conf: "config".into(),
        };
        let again = load(&again).expect("it makes sense").settings;
        assert_eq!((again.transport, again.discovery, again.tuning), (piped.transport, piped.discovery, piped.tuning));
    }
}
