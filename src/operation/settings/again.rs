//! Settings that are read again while a node runs by others: what is dynamic takes effect, all else waits for a start.
//!
//! Pure; what makes a node read its settings again, and who is told, is decided by the command line.

use super::{NodeSettings, setting};
use std::collections::{BTreeMap, BTreeSet};

/// The settings of a node that were read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// What the node runs by from now on.
    pub settings: NodeSettings,
    /// The keys of what took effect.
    pub applied: Vec<String>,
    /// The keys of what takes effect with the next start.
    pub waiting: Vec<String>,
}

impl NodeSettings {
    /// These settings with what is dynamic of others.
    pub fn read_again(&self, other: &NodeSettings) -> Again {
        let keys: BTreeSet<&String> = self.given.keys().chain(other.given.keys()).collect();
        let changed = keys.into_iter().filter(|key| self.given.get(*key) != other.given.get(*key)).cloned();
        let has_effect = |key: &String| setting(key).is_ok_and(|setting| setting.has_effect());
        let is_dynamic = |key: &String| setting(key).is_ok_and(|setting| setting.is_dynamic());
        let (applied, waiting) = changed.filter(has_effect).partition(is_dynamic);
        let mut settings = self.clone();
        settings.tuning.take_dynamic(&other.tuning);
        for key in &applied {
            take(&mut settings.given, &other.given, key);
            take(&mut settings.origins, &other.origins, key);
        }
        settings.log.levels = settings.levels();
        Again { settings, applied, waiting }
    }

    /// The levels of the log that were given; `logger.level` is a weaker `logger._root`.
    fn levels(&self) -> BTreeMap<String, String> {
        let given = |key: &str| self.given.get(key).map(|level| level.joined().to_ascii_lowercase());
        let root = ("_root".to_owned(), given("logger.level").unwrap_or_else(|| "info".into()));
        let named = self.given.keys().filter(|key| *key != "logger.level");
        let named = named.filter_map(|key| Some((key.strip_prefix("logger.")?.to_owned(), given(key)?)));
        std::iter::once(root).chain(named).collect()
    }
}

/// Makes an entry what it is elsewhere.
fn take<T: Clone>(to: &mut BTreeMap<String, T>, from: &BTreeMap<String, T>, key: &String) {
    match from.get(key) {
        Some(value) => drop(to.insert(key.clone(), value.clone())),
        None => drop(to.remove(key)),
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::{FileText, Loaded, Sources, load};
    use std::collections::BTreeMap;

    fn loaded(text: &str) -> Loaded {
        let file = Some(FileText { name: "z.yml", text });
        let environment = BTreeMap::new();
        load(&Sources { file, environment: &environment, arguments: &[], path_conf: "c".into() }).expect("it is sound")
    }

    #[test]
    fn what_is_dynamic_takes_effect_and_all_else_waits() {
        let before = "node.name: a\nlogger.level: warn\nlogger.discovery: trace\ndiscovery.zen.fd.ping_retries: 5\n";
        let after = "node.name: b\nlogger.level: debug\nlogger.rest: debug\ndiscovery.zen.commit_timeout: 9s\n\
                     xpack.ml.enabled: false\n";
        let (before, after) = (loaded(before).settings, loaded(after).settings);
        let again = before.read_again(&after);
        let keys = |keys: &[String]| keys.join(" ");
        let dynamic = "discovery.zen.commit_timeout discovery.zen.fd.ping_retries logger.discovery logger.rest";
        assert_eq!((keys(&again.applied), keys(&again.waiting)), (dynamic.into(), "logger.level node.name".into()));
        assert_eq!(again.settings.tuning, after.tuning);
        assert_eq!(again.settings.node_name, before.node_name);
        let expected = [("_root", "warn"), ("rest", "debug")].map(|(name, level)| (name.into(), level.into()));
        assert_eq!(again.settings.log.levels, expected.into());
        assert!(again.settings.given.contains_key("logger.rest"));
        let once_more = again.settings.read_again(&after);
        assert_eq!((once_more.applied.len(), once_more.waiting), (0, again.waiting), "what waits is told again");
    }

    #[test]
    fn what_is_loaded_has_the_levels_that_were_given() {
        let settings = loaded("logger.level: WARN\nlogger._root: debug\nlogger.discovery: TRACE\n").settings;
        assert_eq!(settings.levels(), settings.log.levels);
        assert_eq!(loaded("node.name: a").settings.levels(), loaded("node.name: a").settings.log.levels);
    }
}
