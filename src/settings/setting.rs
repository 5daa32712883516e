//! One setting, as data.

use super::setting;
use super::spell;
use super::{Kind, SettingsError};
use crate::zen::{Tuning, parse_time};

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub key: &'static str,
    /// What it is about.
    pub topic: Topic,
    /// What its value is.
    pub kind: Kind,
    /// Its value when none is given.
    pub preset: Preset,
    /// What Elasticsearch 6.8 has in the place of the default or the bounds, where that differs.
    pub original: Option<&'static str>,
    /// When it may change, and how it is taken over.
    pub update: Update,
    /// What it means, with the formula that it enters and what is gained and lost by changing it; a sentence a line.
    pub doc: &'static str,
}

/// What a setting is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Finding other nodes.
    Pinging,
    /// Choosing a master and joining it.
    Election,
    /// Noticing that a node is gone.
    FaultDetection,
    /// Bringing a cluster state to all nodes.
    Publishing,
}

impl Topic {
    /// All of them, in the order of their pages.
    pub const ALL: [Topic; 4] = [Topic::Pinging, Topic::Election, Topic::FaultDetection, Topic::Publishing];

    /// The title above its settings.
    pub fn title(self) -> &'static str {
        match self {
            Topic::Pinging => "Pinging",
            Topic::Election => "Election and join",
            Topic::FaultDetection => "Fault detection",
            Topic::Publishing => "Publishing",
        }
    }
}

/// A value that holds when none is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Always the same.
    Fixed(&'static str),
    /// That of another setting, a time, so many times over.
    Follows {
        /// The other setting.
        key: &'static str,
        /// What it is multiplied with.
        times: u32,
        /// What it is divided by.
        by: u32,
    },
}

/// When a setting may change.
#[derive(Clone, Copy, Debug)]
pub enum Update {
    /// When the node starts. The function gives none if it does not understand the text.
    Static(fn(&mut Tuning, &str) -> Option<()>),
    /// At any time, by a committed state; how it is taken over is known to `zen`.
    Dynamic,
}

impl Setting {
    /// Whether a committed state may change it while the node runs.
    pub fn is_dynamic(&self) -> bool {
        matches!(self.update, Update::Dynamic)
    }

    /// Whether a text is a value of this setting.
    pub fn check(&self, value: &str) -> Result<(), SettingsError> {
        self.kind.check(self.key, value)
    }

    /// Takes a text over.
    pub fn set(&self, tuning: &mut Tuning, value: &str) -> Result<(), SettingsError> {
        self.check(value)?;
        let taken = match self.update {
            Update::Static(set) => set(tuning, value),
            Update::Dynamic => tuning.set_dynamic(self.key, value),
        };
        taken.ok_or_else(|| SettingsError::NotUnderstood { key: self.key, value: value.into() })
    }

    /// Its value when these are given, none of which needs be this one.
    pub fn effective<S: AsRef<str>>(&self, given: &[(S, S)]) -> String {
        let own = given.iter().find(|(key, _)| key.as_ref() == self.key);
        match (own, self.preset) {
            (Some((_, value)), _) => value.as_ref().to_owned(),
            (None, Preset::Fixed(value)) => value.to_owned(),
            (None, Preset::Follows { key, times, by }) => {
                let followed = setting(key).map(|setting| setting.effective(given)).unwrap_or_default();
                let time = parse_time(&followed).unwrap_or_default();
                spell::time((time * times / by).min(Tuning::TIME_MAX))
            }
        }
    }
}
