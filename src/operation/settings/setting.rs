//! One setting, as data.

use super::setting;
use super::spell;
use super::{Kind, NodeSettings, SettingsError, Value, Why};
use crate::zen::{Tuning, parse_time};

/// One setting, or a family of settings that differ in the end of their names.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name; that of a family ends in `*`.
    pub key: &'static str,
    /// What it is about.
    pub topic: Topic,
    /// What its value is.
    pub kind: Kind,
    /// Its value when none is given.
    pub default: DefaultValue,
    /// What Elasticsearch 6.8 has in the place of the default or the bounds, where that differs.
    pub original: Option<&'static str>,
    /// When it may change.
    pub changes: Changes,
    /// On what it has an effect, and how it is taken over.
    pub effect: Effect,
    /// What it means, with the formula that it enters and what is gained and lost by changing it; a sentence a line.
    pub doc: &'static str,
}

/// What a setting is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Who a node is and what it does.
    Node,
    /// Where its files lie.
    Paths,
    /// Addresses for all that listens.
    Network,
    /// Where nodes are listened to.
    Transport,
    /// Where users are listened to.
    Http,
    /// Where other nodes are looked for.
    Hosts,
    /// Finding other nodes.
    Pinging,
    /// Choosing a master and joining it.
    Election,
    /// Noticing that a node is gone.
    FaultDetection,
    /// Bringing a cluster state to all nodes.
    Publishing,
    /// What a master does with the state.
    Service,
    /// Coming back after a full restart.
    Gateway,
    /// Who is let in.
    Security,
    /// What is run when the master or the members change.
    Hooks,
    /// What is logged, and how.
    Logging,
    /// What only tests need.
    Testing,
}

impl Topic {
    /// All of them, in the order of their pages.
    pub const ALL: [Topic; 16] = [
        Topic::Node,
        Topic::Paths,
        Topic::Network,
        Topic::Transport,
        Topic::Http,
        Topic::Hosts,
        Topic::Pinging,
        Topic::Election,
        Topic::FaultDetection,
        Topic::Publishing,
        Topic::Service,
        Topic::Gateway,
        Topic::Security,
        Topic::Hooks,
        Topic::Logging,
        Topic::Testing,
    ];

    /// The title above its settings.
    pub fn title(self) -> &'static str {
        match self {
            Topic::Node => "Cluster and node",
            Topic::Paths => "Paths",
            Topic::Network => "Network",
            Topic::Transport => "Transport",
            Topic::Http => "HTTP",
            Topic::Hosts => "Discovery and seed hosts",
            Topic::Pinging => "Pinging",
            Topic::Election => "Election and join",
            Topic::FaultDetection => "Fault detection",
            Topic::Publishing => "Publishing",
            Topic::Service => "Cluster service",
            Topic::Gateway => "Gateway",
            Topic::Security => "Security",
            Topic::Hooks => "Hooks",
            Topic::Logging => "Logging",
            Topic::Testing => "Testing",
        }
    }
}

/// A value that holds when none is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
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
    /// That of the first of other settings that is given and not empty; an own value that is empty stands for none.
    First {
        /// The other settings.
        keys: &'static [&'static str],
        /// What holds if none is given.
        otherwise: &'static str,
    },
    /// None.
    Unset {
        /// How it may be given, as a line of a file.
        example: &'static str,
    },
}

/// When a setting may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// When the node starts.
    Static,
    /// At any time, by a committed state.
    Dynamic,
}

/// On what a setting has an effect. The functions take a text over that fits its kind, or give none.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// On nothing here: Elasticsearch has it, and what gives it is accepted.
    None,
    /// On the settings that follow it.
    Others,
    /// On what the protocol runs by; known to `zen`, which takes it over from committed states as well.
    Cluster,
    /// On what the protocol runs by.
    Protocol(fn(&mut Tuning, &str) -> Option<()>),
    /// On the node around the protocol.
    Node(fn(&mut NodeSettings, &str) -> Option<()>),
    /// On the node around the protocol, by a list.
    Elements(fn(&mut NodeSettings, Vec<String>)),
    /// On the node around the protocol, each by the end of its name.
    Family(fn(&mut NodeSettings, &str, &str) -> Option<()>),
}

/// What holds for a setting that is not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Presumed {
    /// The value, if there is one.
    pub(super) value: Option<Value>,
    /// The setting that was given and is followed.
    pub(super) follows: Option<&'static str>,
}

impl Presumed {
    fn fixed(value: &str) -> Self {
        Presumed { value: Some(value.into()), follows: None }
    }
}

/// What is given for a key, if anything is.
pub(super) type Given<'a> = &'a dyn Fn(&str) -> Option<&'a Value>;

impl Setting {
    /// Whether a committed state may change it while the node runs.
    pub fn is_dynamic(&self) -> bool {
        self.changes == Changes::Dynamic
    }

    /// Whether it takes effect here.
    pub fn has_effect(&self) -> bool {
        !matches!(self.effect, Effect::None)
    }

    /// Whether it is part of what the protocol runs by.
    pub fn is_of_protocol(&self) -> bool {
        matches!(self.effect, Effect::Cluster | Effect::Protocol(_))
    }

    /// Its name, or that of its family, without the `*`.
    pub fn stem(&self) -> &'static str {
        self.key.strip_suffix('*').unwrap_or(self.key)
    }

    /// Whether it is a family.
    pub fn is_family(&self) -> bool {
        self.key.ends_with('*')
    }

    /// Whether a text is a value of this setting.
    pub fn check(&self, value: &str) -> Result<(), SettingsError> {
        self.kind.check(self.key, &value.into())
    }

    /// Takes a text over into what the protocol runs by.
    pub fn set(&self, tuning: &mut Tuning, value: &str) -> Result<(), SettingsError> {
        self.check(value)?;
        let taken = match self.effect {
            Effect::Protocol(set) => set(tuning, value),
            Effect::Cluster => tuning.set_dynamic(self.key, value),
            Effect::None | Effect::Others | Effect::Node(_) | Effect::Elements(_) | Effect::Family(_) => {
                return Err(SettingsError::NotOfTheProtocol { key: self.key.into() });
            }
        };
        taken.ok_or_else(|| self.not_understood(value))
    }

    /// The error for a text that fits the kind and is not understood all the same.
    pub(super) fn not_understood(&self, value: &str) -> SettingsError {
        SettingsError::Value { key: self.key.into(), value: value.into(), why: Why::NotUnderstood }
    }

    /// Its value when these are given, none of which needs be this one.
    pub fn effective<S: AsRef<str>>(&self, given: &[(S, S)]) -> Option<String> {
        let values: Vec<(&str, Value)> =
            given.iter().map(|(key, value)| (key.as_ref(), value.as_ref().into())).collect();
        let find = |wanted: &str| values.iter().find(|(key, _)| *key == wanted).map(|(_, value)| value);
        let own = find(self.key).cloned();
        own.or_else(|| self.presumed(&find).value).map(|value| value.to_string())
    }

    /// What holds for it when it is not given itself.
    pub(super) fn presumed(&self, given: Given<'_>) -> Presumed {
        match self.default {
            DefaultValue::Fixed(value) => Presumed::fixed(value),
            DefaultValue::Unset { .. } => Presumed { value: None, follows: None },
            DefaultValue::First { keys, otherwise } => {
                let first = keys.iter().find_map(|key| Some((*key, given(key).filter(|value| !value.is_empty())?)));
                let follows = |(key, value): (_, &Value)| Presumed { value: Some(value.clone()), follows: Some(key) };
                first.map_or_else(|| Presumed::fixed(otherwise), follows)
            }
            DefaultValue::Follows { key, times, by } => {
                let (followed, follows) = match (given(key), setting(key)) {
                    (Some(value), _) => (Some(value.clone()), Some(key)),
                    (None, Ok(setting)) => {
                        let Presumed { value, follows } = setting.presumed(given);
                        (value, follows)
                    }
                    (None, Err(_)) => (None, None),
                };
                let time = followed.as_ref().and_then(Value::text).and_then(parse_time).unwrap_or_default();
                let value = spell::time((time * times / by).min(Tuning::TIME_MAX));
                Presumed { value: Some(Value::Text(value)), follows }
            }
        }
    }
}
