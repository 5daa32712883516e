//! How much is logged, by module: what is configured, and over it what the cluster state says.
//!
//! Prints nothing. Mirrors `Loggers` and the `logger.*` settings of `ClusterSettings` (6.8).

use crate::cluster::{Metadata, Settings};
use crate::settings::LogSettings;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::{Registry, reload};

/// The beginning of the settings' keys.
const PREFIX: &str = "logger.";
/// The level of all modules.
const LEVEL: &str = "logger.level";
/// The name that stands for all modules as well, and wins.
const ROOT: &str = "_root";
/// What all names of Elasticsearch's loggers begin with; it may be left out.
const ELASTICSEARCH: &str = "org.elasticsearch";
/// The packages of the program that write to the log; their names may be left out as well.
const PACKAGES: [&str; 2] = ["zazen", "zazen_node"];
/// What comes with the program and tells its own makers more than operators: warnings only, unless it is named.
const FOREIGN: [&str; 7] = ["axum", "hyper", "hyper_util", "mio", "reqwest", "tokio", "tower"];

/// Of more loggers than these the levels are not heeded: each is looked at again whenever one changes.
const HEEDED_MAX: usize = 256;

/// A word that is no level, or a level too much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LevelError {
    /// The word.
    Word {
        /// The setting.
        key: String,
        /// The word.
        found: String,
    },
    /// How many loggers have a level of their own.
    TooMany(usize),
}

impl std::error::Error for LevelError {}

impl fmt::Display for LevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LevelError::Word { key, found } => write!(
                f,
                "{key}: Unknown level constant [{found}]; allowed: OFF, FATAL, ERROR, WARN, INFO, DEBUG, TRACE, ALL"
            ),
            LevelError::TooMany(count) => {
                write!(f, "{PREFIX}*: [{count}] loggers have a level, of which the first [{HEEDED_MAX}] are heeded")
            }
        }
    }
}

/// The levels of a process. Clones are handles of the same ones.
#[derive(Clone)]
pub struct Levels(Arc<Shared>);

struct Shared {
    filter: reload::Handle<Targets, Registry>,
    heeded: Mutex<Heeded>,
}

/// What was last heeded.
struct Heeded {
    configured: BTreeMap<String, LevelFilter>,
    persistent: Settings,
    transient: Settings,
}

/// What decides whether a line is printed.
pub type Filter = reload::Layer<Targets, Registry>;

impl Levels {
    /// The configured levels, and the filter that keeps to them.
    pub fn new(settings: &LogSettings) -> Result<(Self, Filter), LevelError> {
        let configured = configured(settings)?;
        let (filter, handle) = reload::Layer::new(targets(&configured));
        let heeded = Heeded { configured, persistent: Settings::default(), transient: Settings::default() };
        Ok((Levels(Arc::new(Shared { filter: handle, heeded: heeded.into() })), filter))
    }

    /// Takes other levels as the configured ones. Returns the words that are no levels; then nothing is changed.
    pub fn configure(&self, settings: &LogSettings) -> Vec<LevelError> {
        match configured(settings) {
            Ok(configured) => {
                let mut heeded = self.0.heeded.lock();
                heeded.configured = configured;
                self.keep_to(&heeded)
            }
            Err(fault) => vec![fault],
        }
    }

    /// Heeds the `logger.*` settings of a cluster state: transient over persistent over configured ones. What is
    /// removed from them is as it was configured again. Returns the words that are no levels and were passed over.
    pub fn apply(&self, metadata: &Metadata) -> Vec<LevelError> {
        let mut heeded = self.0.heeded.lock();
        let Heeded { persistent, transient, .. } = &*heeded;
        if persistent.ptr_eq(&metadata.persistent) && transient.ptr_eq(&metadata.transient) {
            return Vec::new();
        }
        let is_news = loggers(persistent).ne(loggers(&metadata.persistent))
            || loggers(transient).ne(loggers(&metadata.transient));
        heeded.persistent = metadata.persistent.clone();
        heeded.transient = metadata.transient.clone();
        if is_news { self.keep_to(&heeded) } else { Vec::new() }
    }

    fn keep_to(&self, heeded: &Heeded) -> Vec<LevelError> {
        let mut levels = heeded.configured.clone();
        let mut faults = Vec::new();
        for (name, word) in loggers(&heeded.persistent).chain(loggers(&heeded.transient)) {
            match level(name, word) {
                Ok(level) => drop(levels.insert(short(name), level)),
                Err(fault) => faults.push(fault),
            }
        }
        if levels.len() > HEEDED_MAX {
            faults.push(LevelError::TooMany(levels.len()));
            let beyond = levels.keys().filter(|name| *name != ROOT).nth(HEEDED_MAX).cloned();
            let of_all = levels.get_key_value(ROOT).map(|(root, level)| (root.clone(), *level));
            beyond.into_iter().for_each(|beyond| drop(levels.split_off(&beyond)));
            levels.extend(of_all);
        }
        // The filter is gone only when the process ends.
        let _ = self.0.filter.reload(targets(&levels));
        faults
    }
}

fn configured(settings: &LogSettings) -> Result<BTreeMap<String, LevelFilter>, LevelError> {
    settings.levels.iter().map(|(name, word)| Ok((short(name), level(name, word)?))).collect()
}

/// The levels among the settings, by the names of their loggers; `logger.level` is a weaker `logger._root`.
fn loggers(settings: &Settings) -> impl Iterator<Item = (&str, &str)> {
    let of_all = settings.get(LEVEL).map(|word| (ROOT, &**word));
    let named = settings.range_from(PREFIX).take_while(|(key, _)| key.starts_with(PREFIX));
    let named = named.filter(|(key, _)| &***key != LEVEL).map(|(key, word)| (&key[PREFIX.len()..], &**word));
    of_all.into_iter().chain(named)
}

fn level(name: &str, word: &str) -> Result<LevelFilter, LevelError> {
    match word.to_ascii_uppercase().as_str() {
        "OFF" => Ok(LevelFilter::OFF),
        "FATAL" | "ERROR" => Ok(LevelFilter::ERROR),
        "WARN" => Ok(LevelFilter::WARN),
        "INFO" => Ok(LevelFilter::INFO),
        "DEBUG" => Ok(LevelFilter::DEBUG),
        "TRACE" | "ALL" => Ok(LevelFilter::TRACE),
        _ => Err(LevelError::Word { key: format!("{PREFIX}{name}"), found: word.into() }),
    }
}

/// The name of a logger as a module is called for short: Elasticsearch's own ones begin all alike.
fn short(name: &str) -> String {
    match name.strip_prefix(ELASTICSEARCH) {
        Some("") => ROOT.into(),
        Some(rest) => rest.strip_prefix('.').unwrap_or(name).into(),
        None => name.into(),
    }
}

/// A name stands for the logger of Elasticsearch, for the module of this program, and for a crate.
fn targets(levels: &BTreeMap<String, LevelFilter>) -> Targets {
    let root = levels.get(ROOT).copied().unwrap_or(LevelFilter::INFO);
    let foreign = FOREIGN.map(|name| (name.to_string(), root.min(LevelFilter::WARN)));
    let mut targets = Targets::new().with_default(root).with_targets(foreign);
    for (name, level) in levels.iter().filter(|(name, _)| *name != ROOT) {
        let path = name.replace('.', "::");
        targets = targets.with_target(format!("{ELASTICSEARCH}.{name}"), *level);
        targets = targets.with_targets(PACKAGES.map(|package| (format!("{package}::{path}"), *level)));
        targets = targets.with_target(path, *level);
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    fn settings(levels: &[(&str, &str)]) -> LogSettings {
        let levels = levels.iter().map(|(name, word)| (name.to_string(), word.to_string())).collect();
        LogSettings { levels, ..LogSettings::default() }
    }

    fn metadata(persistent: &[(&str, &str)], transient: &[(&str, &str)]) -> Metadata {
        let table =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(key, word)| (Arc::from(*key), Arc::from(*word))).collect();
        Metadata { persistent: table(persistent), transient: table(transient), ..Metadata::default() }
    }

    /// The most that is printed of a target.
    fn most(levels: &Levels, target: &str) -> Option<Level> {
        let all = [Level::TRACE, Level::DEBUG, Level::INFO, Level::WARN, Level::ERROR];
        let is_printed = |level: &Level| levels.0.filter.with_current(|targets| targets.would_enable(target, level));
        all.into_iter().find(|level| is_printed(level).expect("the filter is there"))
    }

    const ZEN: &str = "org.elasticsearch.discovery.zen.ZenDiscovery";

    #[test]
    fn without_settings_there_is_info_of_the_program_and_warnings_of_what_it_is_made_of() -> Result<(), LevelError> {
        let (levels, _filter) = Levels::new(&settings(&[]))?;
        for (target, expected) in
            [(ZEN, Level::INFO), ("zazen_node::runtime", Level::INFO), ("hyper_util::client", Level::WARN)]
        {
            assert_eq!(most(&levels, target), Some(expected), "{target}");
        }
        Ok(())
    }

    #[test]
    fn a_module_is_named_in_full_or_in_short_in_any_case_and_the_longest_name_counts() -> Result<(), LevelError> {
        let named = [
            ("_root", "warn"),
            ("org.elasticsearch.discovery", "Debug"),
            ("discovery.zen", "TRACE"),
            ("runtime", "off"),
            ("hyper_util", "all"),
            ("cluster.service", "fatal"),
        ];
        let (levels, _filter) = Levels::new(&settings(&named))?;
        let expected = [
            (ZEN, Some(Level::TRACE)),
            ("org.elasticsearch.discovery.DiscoveryModule", Some(Level::DEBUG)),
            ("org.elasticsearch.node.Node", Some(Level::WARN)),
            ("org.elasticsearch.cluster.service.MasterService", Some(Level::ERROR)),
            ("zazen_node::runtime::node", None),
            ("hyper_util::client", Some(Level::TRACE)),
            ("reqwest::connect", Some(Level::WARN)),
        ];
        for (target, level) in expected {
            assert_eq!(most(&levels, target), level, "{target}");
        }
        let (levels, _filter) = Levels::new(&settings(&[("org.elasticsearch", "debug")]))?;
        assert_eq!((most(&levels, ZEN), most(&levels, "zazen_node::rest")), (Some(Level::DEBUG), Some(Level::DEBUG)));
        Ok(())
    }

    #[test]
    fn a_word_that_is_no_level_is_refused_with_what_is_allowed() {
        let error = Levels::new(&settings(&[("discovery", "chatty")])).err().expect("it is no level").to_string();
        assert_eq!(
            error,
            "logger.discovery: Unknown level constant [chatty]; allowed: OFF, FATAL, ERROR, WARN, INFO, DEBUG, TRACE, ALL"
        );
    }

    #[test]
    fn of_very_many_loggers_the_first_are_heeded_and_that_of_all() -> Result<(), LevelError> {
        let (levels, _filter) = Levels::new(&settings(&[]))?;
        let names: Vec<String> = (0..300).map(|number| format!("logger.a{number:03}")).collect();
        let many = names.iter().map(|name| (name.as_str(), "debug")).chain([("logger._root", "error")]);
        let many = metadata(&many.collect::<Vec<_>>(), &[]);
        assert_eq!(levels.apply(&many), [LevelError::TooMany(301)]);
        for (target, expected) in
            [("a000", Level::DEBUG), ("a255", Level::DEBUG), ("a256", Level::ERROR), (ZEN, Level::ERROR)]
        {
            assert_eq!(most(&levels, target), Some(expected), "{target}");
        }
        Ok(())
    }

    #[test]
    fn a_cluster_state_changes_levels_and_gives_them_back() -> Result<(), LevelError> {
        let (levels, _filter) = Levels::new(&settings(&[("discovery", "warn")]))?;
        assert_eq!(most(&levels, ZEN), Some(Level::WARN));
        let key = "logger.org.elasticsearch.discovery";
        assert_eq!(levels.apply(&metadata(&[(key, "debug"), ("loggers", "x")], &[])), []);
        assert_eq!(most(&levels, ZEN), Some(Level::DEBUG));
        let both = metadata(&[(key, "debug")], &[("discovery.zen.ping_timeout", "1s"), (key, "TRACE")]);
        assert_eq!(levels.apply(&both), []);
        assert_eq!(most(&levels, ZEN), Some(Level::TRACE), "transient goes over persistent");
        let bad = metadata(&[(key, "debug")], &[(key, "loud"), ("logger._root", "error")]);
        assert_eq!(levels.apply(&bad), [LevelError::Word { key: key.into(), found: "loud".into() }]);
        assert_eq!(most(&levels, ZEN), Some(Level::DEBUG));
        assert_eq!(most(&levels, "zazen_node::rest"), Some(Level::ERROR));
        assert_eq!(levels.apply(&bad), [], "it is told once");
        assert_eq!(levels.apply(&metadata(&[("logger.level", "debug")], &[])), []);
        assert_eq!(most(&levels, "zazen_node::rest"), Some(Level::DEBUG));
        assert_eq!(levels.apply(&metadata(&[("logger.level", "debug"), ("logger._root", "warn")], &[])), []);
        assert_eq!(most(&levels, "zazen_node::rest"), Some(Level::WARN));
        assert_eq!(levels.apply(&metadata(&[], &[])), []);
        assert_eq!((most(&levels, ZEN), most(&levels, "zazen_node::rest")), (Some(Level::WARN), Some(Level::INFO)));
        Ok(())
    }
}
