//! Every setting once: key, type, default, bounds, whether it changes at run time, and what it means.
//!
//! What is accepted, what is documented and what holds when nothing is said come from one table, [`REGISTRY`]. How
//! dynamic settings are taken over is written in `zen`, which must understand them in a committed state without this
//! module; the table refers to it. Where a value comes from (file, command line, cluster state) is not decided here.
//! Mirrors `Setting`, `ClusterSettings` and `AbstractScopedSettings` (6.8), their messages included.

mod error;
mod kind;
mod nearest;
mod node;
mod page;
mod registry;
mod setting;
mod spell;

#[cfg(test)]
mod tests;

pub use error::SettingsError;
pub use kind::Kind;
pub use node::{DiscoveryKind, DiscoverySettings, ListenSettings, LogSettings, NodeSettings, PortRange, RestSettings};
pub use page::page;
pub use registry::REGISTRY;
pub use setting::{Preset, Setting, Topic, Update};

use crate::zen::Tuning;

/// The setting with this key; else the error that names the nearest one.
pub fn setting(key: &str) -> Result<&'static Setting, SettingsError> {
    let found = REGISTRY.iter().find(|setting| setting.key == key);
    found.ok_or_else(|| SettingsError::Unknown { key: key.into(), nearest: nearest::nearest(key) })
}

/// What the protocol runs by when these settings are given, each as key and value; all others have their defaults, some
/// of which follow from what is given.
pub fn tuning<S: AsRef<str>>(given: &[(S, S)]) -> Result<Tuning, SettingsError> {
    for (at, (key, value)) in given.iter().enumerate() {
        setting(key.as_ref())?.check(value.as_ref())?;
        if let Some((_, first)) = given[..at].iter().find(|(other, _)| other.as_ref() == key.as_ref()) {
            let (key, first, second) = (key.as_ref().into(), first.as_ref().into(), value.as_ref().into());
            return Err(SettingsError::AlreadySet { key, first, second });
        }
    }
    let mut tuning = Tuning::default();
    for setting in REGISTRY {
        setting.set(&mut tuning, &setting.effective(given))?;
    }
    Ok(tuning)
}
