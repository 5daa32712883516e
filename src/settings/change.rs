//! What may be changed of a running cluster's settings, in Elasticsearch's words.
//!
//! Judges one key and its value at a time; what a change does to a state, and what only the state can tell of it, is the
//! business of `service`. Mirrors `AbstractScopedSettings.updateSettings` (6.8).

use super::{REGISTRY, SettingsError, Value, known, setting};
use std::collections::BTreeMap;
use std::fmt;

/// Which of the two sets of a cluster's settings is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The set that ends with a full restart, and goes over the other one.
    Transient,
    /// The set that survives it.
    Persistent,
}

impl Scope {
    /// Both, in the order in which they are checked.
    pub const ALL: [Scope; 2] = [Scope::Transient, Scope::Persistent];

    /// Its name in requests and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Transient => "transient",
            Scope::Persistent => "persistent",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a cluster takes this value for this key or, without one, lets go of it. A pattern may only be let go of.
pub fn check_change(scope: Scope, key: &str, value: Option<&Value>) -> Result<(), SettingsError> {
    let is_pattern = key.contains('*');
    if is_pattern && value.is_none() {
        return Ok(());
    }
    let not_dynamic = || Err(SettingsError::NotDynamic { scope, key: key.into() });
    let check = |is_dynamic: bool, check: &dyn Fn(&Value) -> Result<(), SettingsError>| match value {
        _ if !is_dynamic => not_dynamic(),
        Some(value) => check(value),
        None => Ok(()),
    };
    match (setting(key).ok(), known(key)) {
        (Some(setting), _) if !is_pattern => check(setting.is_dynamic(), &|value| setting.kind.check(key, value)),
        (None, Some(known)) if !is_pattern => check(known.is_dynamic, &|value| known.check(key, value)),
        (Some(_) | None, _) => {
            let nearest = super::nearest::nearest(key);
            Err(SettingsError::NotRecognized { scope, key: key.into(), nearest })
        }
    }
}

/// What every setting is on a node that was given these: what was given, and the defaults of all others that have one.
pub fn in_full(given: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut all: BTreeMap<String, Value> = known::defaults().collect();
    for setting in REGISTRY.iter().filter(|setting| !setting.is_family()) {
        if let Some(value) = setting.presumed(&|key| given.get(key)).value {
            let is_list = setting.kind.is_list();
            all.insert(setting.key.into(), if is_list { Value::List(value.elements()) } else { value });
        }
    }
    all.extend(given.iter().map(|(key, value)| (key.clone(), value.clone())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(key: &str, value: Option<&str>) -> String {
        let value = value.map(Value::from);
        let checked = check_change(Scope::Transient, key, value.as_ref());
        checked.map_or_else(|error| error.to_string(), |()| "taken".into())
    }

    #[test]
    fn dynamic_settings_are_taken_and_all_others_refused_in_elasticsearchs_words() {
        let cases = [
            ("discovery.zen.fd.ping_interval", Some("300ms"), "taken"),
            ("discovery.zen.fd.ping_interval", None, "taken"),
            ("logger.discovery", Some("DEBUG"), "taken"),
            ("cluster.metadata.mine", Some("anything"), "taken"),
            ("cluster.routing.allocation.enable", Some("none"), "taken"),
            ("discovery.*", None, "taken"),
            ("cluster.name", Some("x"), "transient setting [cluster.name], not dynamically updateable"),
            ("cluster.name", None, "transient setting [cluster.name], not dynamically updateable"),
            ("path.repo", Some("x"), "transient setting [path.repo], not dynamically updateable"),
            ("logger.level", Some("debug"), "transient setting [logger.level], not dynamically updateable"),
            ("qqqqqqqqqqqqqqqqqq", Some("x"), "transient setting [qqqqqqqqqqqqqqqqqq], not recognized"),
            (
                "discovery.zen.minimum_master_node",
                Some("2"),
                "transient setting [discovery.zen.minimum_master_node], not recognized, did you mean \
                 [discovery.zen.minimum_master_nodes]?",
            ),
            (
                "discovery.zen.fd.ping_retries",
                Some("0"),
                "Failed to parse value [0] for setting [discovery.zen.fd.ping_retries] must be >= 1",
            ),
        ];
        for (key, value, expected) in cases {
            assert_eq!(verdict(key, value), expected, "{key}: {value:?}");
        }
        assert!(verdict("logger.*", Some("debug")).contains("not recognized"));
    }

    #[test]
    fn in_full_there_is_what_was_given_what_follows_it_and_what_holds_anyway() {
        let given = BTreeMap::from([
            ("discovery.zen.ping_timeout".to_owned(), Value::from("2s")),
            ("node.attr.rack".to_owned(), Value::from("r1")),
        ]);
        let all = in_full(&given);
        let text = |key: &str| all.get(key).map(ToString::to_string);
        assert_eq!(text("discovery.zen.ping_timeout").as_deref(), Some("2s"));
        assert_eq!(text("discovery.zen.join_timeout").as_deref(), Some("40s"));
        assert_eq!(text("node.attr.rack").as_deref(), Some("r1"));
        assert_eq!(text("cluster.max_shards_per_node").as_deref(), Some("1000"));
        assert_eq!(text("cluster.initial_master_nodes"), None);
        assert_eq!(all.get("discovery.zen.hosts_provider"), Some(&Value::List(Vec::new())));
    }
}
