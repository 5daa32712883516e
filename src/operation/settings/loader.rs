//! What all sources give together, each key once: checked, and taken over by the entries of the table.

use super::fault::{FAULTS_MAX, Fault, Remedy};
use super::layer::{Given, Layer, Part};
use super::meant::{plausible, remedy};
use super::setting::Presumed;
use super::{DefaultValue, Effect, FileText, Kind, NodeSettings, Origin, REGISTRY, Setting, Value, known, setting};
use crate::zen::Tuning;
use std::collections::BTreeMap;

/// A setting that takes effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Where that comes from.
    pub origin: Origin,
}

/// A setting that was given and has no meaning here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unheeded {
    /// Its key.
    pub key: String,
    /// Where it was given.
    pub origin: Origin,
}

/// What was given, ready to be taken over.
pub(super) struct Loader<'a> {
    pub(super) file: Option<&'a FileText<'a>>,
    pub(super) given: Layer,
}

impl Loader<'_> {
    /// What was given for a key.
    pub(super) fn given(&self, key: &str) -> Option<&Given> {
        self.given.get(key)
    }

    /// A fault in the value of a key that was given, or in the settings as a whole.
    pub(super) fn fault(&self, key: &str, message: String) -> Fault {
        match self.given(key) {
            Some(given) => given.fault(self.file, Part::Value, message),
            None => Fault::new("settings", message),
        }
    }

    /// Gives a key that stands in the file another value.
    pub(super) fn remedy_to(&self, key: &str, value: &str) -> Option<Remedy> {
        self.given(key).zip(self.file).and_then(|(given, file)| given.remedy_to(file, value))
    }

    /// Every key must be known and have a value of its kind.
    pub(super) fn check(&self, faults: &mut Vec<Fault>) {
        for given in self.given.values() {
            if faults.len() >= FAULTS_MAX {
                break;
            }
            let (part, result) = match (setting(&given.key), known(&given.key)) {
                (Ok(setting), _) => {
                    (Part::Value, setting.kind.check(&given.key, &given.canonical(setting.kind == Kind::Boolean)))
                }
                (Err(_), Some(known)) => (Part::Value, known.check(&given.key, &given.canonical(known.is_boolean()))),
                (Err(error), None) => (Part::Key, Err(plausible(error, given))),
            };
            if let Err(error) = result {
                let remedy = self.file.and_then(|file| remedy(file, given, &error));
                faults.push(given.fault(self.file, part, error.to_string()).with_remedy(remedy));
            }
        }
    }

    /// The settings of the node, by the table.
    pub(super) fn build(&self) -> Result<(NodeSettings, Vec<Effective>), Fault> {
        let mut node = NodeSettings::default();
        let mut effective = Vec::new();
        for setting in REGISTRY.iter().filter(|setting| setting.has_effect()) {
            for one in self.values(setting) {
                let taken = take_over(setting, &one, &mut node);
                taken.ok_or_else(|| self.fault(&one.key, setting.not_understood(&one.value.joined()).to_string()))?;
                effective.push(one);
            }
        }
        let is_override = |key: &&str| self.given(key).is_some_and(Given::is_override);
        node.tuning.overrides = Tuning::dynamic_keys().filter(is_override).collect();
        Ok((node, effective))
    }

    /// The value of a setting, if it has one; those of a family that were given.
    fn values(&self, setting: &'static Setting) -> Vec<Effective> {
        let of_given = |given: &Given| Effective {
            key: given.key.clone(),
            value: listed(given.canonical(setting.kind == Kind::Boolean), setting),
            origin: given.origin(self.file),
        };
        if setting.is_family() {
            let of_family = |given: &&Given| super::setting(&given.key).is_ok_and(|found| found.key == setting.key);
            return self.given.values().filter(of_family).map(of_given).collect();
        }
        let follows_others = matches!(setting.default, DefaultValue::First { .. });
        let own = self.given(setting.key).filter(|given| !(follows_others && given.value.is_empty()));
        if let Some(given) = own {
            return vec![of_given(given)];
        }
        let Presumed { value, follows } = setting.presumed(&|key| self.given(key).map(|given| &given.value));
        let origin = follows.map_or(Origin::Default, Origin::Follows);
        value
            .map(|value| Effective { key: setting.key.into(), value: listed(value, setting), origin })
            .into_iter()
            .collect()
    }

    /// All that was given, as it is understood.
    pub(super) fn canonical(&self) -> BTreeMap<String, Value> {
        self.given.iter().map(|(key, given)| (key.clone(), given.canonical(is_boolean(key)))).collect()
    }

    /// Where what was given was given.
    pub(super) fn origins(&self) -> BTreeMap<String, String> {
        self.given.iter().map(|(key, given)| (key.clone(), given.origin(self.file).to_string())).collect()
    }

    pub(super) fn without_meaning(&self) -> Vec<Unheeded> {
        let has_none = |given: &&Given| setting(&given.key).map_or(true, |setting| !setting.has_effect());
        let unheeded = |given: &Given| Unheeded { key: given.key.clone(), origin: given.origin(self.file) };
        self.given.values().filter(has_none).map(unheeded).collect()
    }
}

/// Whether a value is read as `true` or `false`.
pub(super) fn is_boolean(key: &str) -> bool {
    match setting(key) {
        Ok(setting) => setting.kind == Kind::Boolean,
        Err(_) => known(key).is_some_and(|known| known.is_boolean()),
    }
}

/// Lets a setting take effect.
fn take_over(setting: &Setting, one: &Effective, node: &mut NodeSettings) -> Option<()> {
    let text = || one.value.text();
    match setting.effect {
        Effect::None | Effect::Others => Some(()),
        Effect::Cluster => node.tuning.set_dynamic(setting.key, text()?),
        Effect::Protocol(set) => set(&mut node.tuning, text()?),
        Effect::Node(set) => set(node, text()?),
        Effect::Family(set) => set(node, one.key.strip_prefix(setting.stem())?, text()?),
        Effect::Elements(set) => {
            set(node, one.value.elements());
            Some(())
        }
    }
}

/// The same as a list, where a list is meant.
fn listed(value: Value, setting: &Setting) -> Value {
    if setting.kind.is_list() { Value::List(value.elements()) } else { value }
}
