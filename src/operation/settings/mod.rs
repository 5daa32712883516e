//! Every setting once: key, type, default, bounds, whether it changes at run time, and what it means; and how what a user
//! gives becomes the settings of a node.
//!
//! What is accepted, what is documented and what holds when nothing is said come from one table, [`REGISTRY`]; what
//! Elasticsearch has besides, and nothing here heeds, is [`known()`]. How dynamic settings are taken over is written in
//! `zen`, which must understand them in a committed state without this module; the table refers to it. [`load()`] reads
//! text, environment and arguments that it is handed; finding them is not its business.
//! Mirrors `Setting`, `ClusterSettings` and `AbstractScopedSettings` (6.8), their messages included.

mod again;
mod combine;
mod dynamic;
mod environment;
mod error;
mod fault;
mod figure;
mod form;
mod full;
mod kind;
mod known;
mod launch;
mod layer;
mod load;
mod loader;
mod meant;
mod nearest;
mod node;
mod objection;
mod page;
mod placeholder;
mod registry;
mod repair;
mod rule;
mod sample;
mod setting;
mod sources;
mod spell;
mod together;
mod units;
mod value;
mod weakness;
mod yaml;

#[cfg(test)]
mod tests;

pub use again::Again;
pub use combine::OWN_ATTRIBUTES;
pub use error::{SettingsError, Why};
pub use fault::{Fault, Faults, Remedy, Way};
pub use figure::{TIME_UNITS, double_text};
pub use full::in_full;
pub use kind::Kind;
pub use known::{Known, known};
pub use launch::{is_passing, may_be_secret};
pub use load::{Besides, Loaded, load, meant_besides, remedies};
pub use loader::{Effective, Unheeded};
pub use nearest::edit_distance;
pub use node::{
    CorsSettings, DiscoveryKind, DiscoverySettings, EXPERIMENTS, Hook, HookSettings, KAFKA, Launch, ListenSettings,
    LogSettings, MemoryLimit, NodeSettings, PortRange, Ports, RestSettings, SecuritySettings, TracingSettings,
    Variable,
};
pub use objection::{Exception, Objection};
pub use page::page;
pub use registry::REGISTRY;
pub use repair::mended;
pub use rule::{hint, objection, rule, warnings};
pub use sample::sample;
pub use setting::{Changes, DefaultValue, Effect, Setting, Topic};
pub use sources::{FileText, Sources};
pub use together::{demand_seeds, together};
pub use value::{Origin, Place, Value};
pub use weakness::{Weakness, weaknesses};

use crate::zen::Tuning;

/// The setting, or the family of settings, with this key; else the error that names the nearest one.
pub fn setting(key: &str) -> Result<&'static Setting, SettingsError> {
    let found = REGISTRY.iter().find(|setting| setting.key == key);
    let found = found.or_else(|| REGISTRY.iter().find(|setting| known::is_of_family(setting.key, key)));
    found.ok_or_else(|| unknown(key))
}

/// Why a key is not in the table.
fn unknown(key: &str) -> SettingsError {
    let below = |one: &&str, other: &str| other.strip_prefix(*one).is_some_and(|rest| rest.starts_with('.'));
    let singles = || REGISTRY.iter().filter(|setting| !setting.is_family());
    if known(key).is_some() {
        return SettingsError::WithoutMeaning { key: key.into() };
    }
    if let Some(setting) = singles().find(|setting| !setting.kind.is_list() && below(&setting.key, key)) {
        return SettingsError::Below { key: key.into(), setting: setting.key };
    }
    if let Some(setting) = singles().find(|setting| below(&key, setting.key)) {
        return SettingsError::Above { key: key.into(), setting: setting.key };
    }
    if key.starts_with("index.") {
        return SettingsError::OfAnIndex { key: key.into() };
    }
    SettingsError::Unknown { key: key.into(), nearest: nearest::nearest(key) }
}

/// What the protocol runs by when these settings are given, each as key and value; all others have their defaults, some
/// of which follow from what is given.
pub fn tuning<S: AsRef<str>>(given: &[(S, S)]) -> Result<Tuning, SettingsError> {
    let mut tuning = Tuning::default();
    for (at, (key, value)) in given.iter().enumerate() {
        setting(key.as_ref())?.set(&mut tuning, value.as_ref())?;
        if let Some((_, first)) = given[..at].iter().find(|(other, _)| other.as_ref() == key.as_ref()) {
            let (key, first, second) = (key.as_ref().into(), first.as_ref().into(), value.as_ref().into());
            return Err(SettingsError::AlreadySet { key, first, second });
        }
    }
    for setting in REGISTRY.iter().filter(|setting| setting.is_of_protocol()) {
        if let Some(value) = setting.effective(given) {
            setting.set(&mut tuning, &value)?;
        }
    }
    Ok(tuning)
}
