//! Every committed change from a client's side: one long poll after the other, with the place where to go on.

use super::{Ask, Client, ClientError};
use crate::cluster::{Blob, Holding};
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How long one poll waits.
const WAIT: Duration = Duration::from_secs(20);

/// A key as a cluster shows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Its last change.
    #[serde(deserialize_with = "revision")]
    pub revision: crate::cluster::Revision,
    /// What it holds.
    #[serde(default)]
    pub value: Blob,
    /// The lease that it vanishes with, if it does.
    #[serde(default)]
    pub lease: Option<Holding>,
}

fn revision<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<crate::cluster::Revision, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

/// A node as a watcher is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NodeView {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where other nodes find it.
    pub transport_address: String,
}

/// A lease as others see it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LeaseView {
    /// Its name.
    pub name: String,
    /// Who holds it.
    pub holder: String,
    /// The fencing token of the grant.
    pub token: u64,
}

/// One thing that changed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// Another node is master, by its id.
    Master {
        /// The master, if there is one.
        master: Option<String>,
    },
    /// A node joined.
    Joined {
        /// The node.
        node: NodeView,
    },
    /// A node left.
    Left {
        /// The node.
        node: NodeView,
    },
    /// A setting of the cluster was changed.
    Setting {
        /// `persistent` or `transient`.
        set: String,
        /// The setting.
        key: String,
        /// Its value; none if it was removed.
        value: Option<String>,
    },
    /// A key was written.
    Put {
        /// What it holds.
        entry: Entry,
    },
    /// A key was deleted.
    Delete {
        /// The key.
        key: String,
    },
    /// A lease was granted.
    Granted {
        /// The lease.
        lease: LeaseView,
    },
    /// A grant ended.
    Ended {
        /// The name of the lease.
        name: String,
    },
}

/// What a watcher is told next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// How things are: at the beginning, and where the changes are remembered no longer.
    State {
        /// The state that this is.
        at: String,
        /// The keys that are wanted.
        keys: Vec<Entry>,
        /// The leases, if they are wanted.
        leases: Vec<LeaseView>,
        /// The master, if that is wanted and there is one.
        master: Option<String>,
        /// The settings, if they are wanted: persistent ones, then transient ones.
        settings: [BTreeMap<String, String>; 2],
    },
    /// What one committed state changed.
    Changes {
        /// The state.
        at: String,
        /// The changes.
        changes: Vec<Change>,
    },
}

#[derive(Deserialize)]
struct Polled {
    at: String,
    steps: Vec<Step>,
    #[serde(default)]
    state: Option<State>,
}

#[derive(Deserialize)]
struct Step {
    at: String,
    changes: Vec<Change>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct State {
    master: Option<String>,
    keys: Vec<Entry>,
    leases: Vec<LeaseView>,
    persistent: BTreeMap<String, String>,
    transient: BTreeMap<String, String>,
}

/// A watch of some kinds of changes.
pub struct Watch {
    client: Client,
    query: Vec<(&'static str, String)>,
    from: Option<String>,
    told: VecDeque<News>,
}

impl Watch {
    pub(super) fn new(client: Client, query: Vec<(&'static str, String)>) -> Watch {
        Watch { client, query, from: None, told: VecDeque::new() }
    }

    /// Goes on from a state that an earlier watch told as its `at`.
    #[must_use]
    pub fn from(self, at: impl Into<String>) -> Watch {
        Watch { from: Some(at.into()), ..self }
    }

    /// Waits for what comes next. May be dropped and asked again: nothing is lost.
    pub async fn next(&mut self) -> Result<News, ClientError> {
        loop {
            if let Some(news) = self.told.pop_front() {
                return Ok(news);
            }
            let mut ask = Ask { query: self.query.clone(), wait: WAIT, ..Ask::read("/_zazen/watch") };
            ask = ask.with("wait_for", format!("{}s", WAIT.as_secs()));
            if let Some(from) = &self.from {
                ask = ask.with("from", from);
            }
            let Polled { at, steps, state } = match self.client.json(ask).await {
                Ok(polled) => polled,
                // No node is in touch with a master: there is nothing to tell until one is.
                Err(error) if error.is_without_master() && self.from.is_some() => continue,
                Err(error) => return Err(error),
            };
            self.told.extend(state.map(|State { master, keys, leases, persistent, transient }| News::State {
                at: at.clone(),
                keys,
                leases,
                master,
                settings: [persistent, transient],
            }));
            self.told.extend(steps.into_iter().map(|Step { at, changes }| News::Changes { at, changes }));
            self.from = Some(at);
        }
    }
}
