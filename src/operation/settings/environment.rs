//! Settings from environment variables.
//!
//! `ZAZEN_` and the key in capitals, with `_` for everything that is neither letter nor digit, is the variable of a
//! setting: `ZAZEN_DISCOVERY_ZEN_PING_TIMEOUT`. In a family, `ZAZEN_NODE_ATTR_` or `ZAZEN_LOGGER_` is followed by the
//! name, which is read in small letters, with `__` for a dot. A test holds that no two settings share a variable.

use super::layer::{At, Given};
use super::{REGISTRY, Setting, Value};
use std::collections::BTreeMap;

/// What the variables of settings begin with.
const PREFIX: &str = "ZAZEN_";

impl Setting {
    /// The environment variable that gives it; that of a family ends before the name.
    pub fn variable(&self) -> String {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        PREFIX.chars().chain(self.stem().chars().map(letter)).collect()
    }
}

/// What the environment gives, and the variables that look as if they did and name no setting. An empty variable gives
/// nothing.
pub(super) fn given(environment: &BTreeMap<String, String>) -> (Vec<Given>, Vec<String>) {
    let (mut given, mut strange) = (Vec::new(), Vec::new());
    for (variable, value) in environment.range(PREFIX.to_owned()..).take_while(|(name, _)| name.starts_with(PREFIX)) {
        match key(variable) {
            Some(_) if value.is_empty() => {}
            Some(key) => {
                let at = At::Environment(variable.clone());
                given.push(Given { key, value: Value::Text(value.clone()), is_plain: true, at });
            }
            None => strange.push(variable.clone()),
        }
    }
    (given, strange)
}

/// The key that a variable gives.
pub(super) fn key(variable: &str) -> Option<String> {
    let single = REGISTRY.iter().find(|setting| !setting.is_family() && setting.variable() == variable);
    if let Some(setting) = single {
        return Some(setting.key.to_owned());
    }
    REGISTRY.iter().filter(|setting| setting.is_family()).find_map(|family| {
        let name = variable.strip_prefix(&family.variable())?;
        let key = format!("{}{}", family.stem(), name.to_lowercase().replace("__", "."));
        super::known::is_of_family(family.key, &key).then_some(key)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_settings_share_a_variable() {
        let mut settings: BTreeMap<String, &str> = BTreeMap::new();
        for setting in REGISTRY {
            let other = settings.insert(setting.variable(), setting.key);
            assert_eq!(other, None, "{} has the variable of another setting", setting.key);
        }
    }

    #[test]
    fn a_variable_gives_the_setting_that_it_spells() {
        let cases = [
            ("ZAZEN_DISCOVERY_ZEN_PING_TIMEOUT", Some("discovery.zen.ping_timeout")),
            ("ZAZEN_DISCOVERY_ZEN_PING_UNICAST_HOSTS", Some("discovery.zen.ping.unicast.hosts")),
            ("ZAZEN_ZAZEN_LOG_FORMAT", Some("zazen.log.format")),
            ("ZAZEN_NODE_ATTR_RACK", Some("node.attr.rack")),
            ("ZAZEN_NODE_ATTR_RACK_ROW", Some("node.attr.rack_row")),
            ("ZAZEN_LOGGER_ORG__ELASTICSEARCH", Some("logger.org.elasticsearch")),
            ("ZAZEN_LOGGER_LEVEL", Some("logger.level")),
            ("ZAZEN_LOGGER_", None),
            ("ZAZEN_LOGGER___A", None),
            ("ZAZEN_", None),
            ("ZAZEN_BOOTSTRAP_MEMORY_LOCK", None),
            ("ZAZEN_discovery_zen_ping_timeout", None),
        ];
        for (variable, expected) in cases {
            assert_eq!(key(variable).as_deref(), expected, "{variable}");
        }
    }
}
