//! Takes the samples of metrics from what was counted, from the newest state and from the figures of the process.

use crate::cluster::{ClusterState, Node};
use crate::runtime::figures::{NodeFigures, Traffic};
use crate::runtime::hook_tally::{HookOutcome, Trigger};
use crate::runtime::instruments::{Instruments, Peer, Reading};
use crate::runtime::{Handle, VERSION};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Microseconds are told in seconds.
pub(super) const MICROS: f64 = 1e6;

/// One number, or one histogram.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Histogram(Reading),
}

/// A value with its labels, in the order of the table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) labels: Vec<String>,
    pub(super) value: Value,
}

/// What samples are taken of.
pub(super) struct Scraped<'a> {
    pub(super) handle: &'a Handle,
    pub(super) state: Arc<ClusterState>,
    /// None if the system did not tell them in time.
    pub(super) figures: Option<NodeFigures>,
}

pub(super) fn number(value: u64) -> Vec<Sample> {
    vec![labelled(&[], value as f64)]
}

pub(super) fn seconds(value: f64) -> Vec<Sample> {
    vec![labelled(&[], value)]
}

pub(super) fn histogram(reading: Reading) -> Vec<Sample> {
    vec![Sample { labels: Vec::new(), value: Value::Histogram(reading) }]
}

pub(super) fn indexed(names: &[&str], value: impl Fn(usize) -> f64) -> Vec<Sample> {
    names.iter().enumerate().map(|(place, name)| labelled(&[name], value(place))).collect()
}

pub(super) fn flag(is_so: bool) -> u64 {
    u64::from(is_so)
}

fn labelled(labels: &[&str], value: f64) -> Sample {
    spread(labels, Value::Number(value))
}

fn spread(labels: &[&str], value: Value) -> Sample {
    Sample { labels: labels.iter().map(|label| (*label).to_owned()).collect(), value }
}

impl Scraped<'_> {
    pub(super) fn told(&self) -> &Instruments {
        self.handle.meter().instruments()
    }

    pub(super) fn elections(&self) -> Vec<Sample> {
        let counted = self.told().elections.lock().clone();
        // Those that have not happened yet are there as well, so that the first one shows in a rate.
        let known = ["won", "abandoned"].map(|outcome| (("best candidate", outcome), 0));
        let all: BTreeMap<_, u64> = known.into_iter().chain(counted).collect();
        all.into_iter().map(|((cause, outcome), count)| labelled(&[cause, outcome], count as f64)).collect()
    }

    pub(super) fn nodes(&self) -> Vec<Sample> {
        let count =
            |is_counted: fn(&Node) -> bool| self.state.nodes.iter().filter(|node| is_counted(node)).count() as f64;
        vec![
            labelled(&["all"], self.state.nodes.len() as f64),
            labelled(&["master"], count(Node::is_master_eligible)),
            labelled(&["data"], count(Node::is_data)),
        ]
    }

    pub(super) fn voters_present(&self) -> Vec<Sample> {
        // The last state that there was would show them all while a quorum is gone.
        self.state.nodes.master.iter().flat_map(|_| number(self.state.voters_present() as u64)).collect()
    }

    pub(super) fn members(&self) -> Vec<Sample> {
        let member = |node: &Arc<Node>| labelled(&[node.id.as_str(), &node.name, node.address.as_str()], 1.0);
        self.state.nodes.iter().map(member).collect()
    }

    pub(super) fn state_bytes(&self) -> Vec<Sample> {
        let sizes = &self.told().state_bytes;
        [("full", &sizes.full), ("diff", &sizes.diff)]
            .map(|(form, sizes)| spread(&[form], Value::Histogram(sizes.read(1.0))))
            .into()
    }

    pub(super) fn publishes(&self) -> Vec<Sample> {
        [("commit", &self.told().commit), ("whole", &self.told().whole)]
            .map(|(phase, times)| spread(&[phase], Value::Histogram(times.read(MICROS))))
            .into()
    }

    pub(super) fn received(&self) -> Vec<Sample> {
        let publishes = self.handle.meter().tally().publishes();
        let forms = [("full", publishes.full), ("diff", publishes.compatible), ("misfit", publishes.incompatible)];
        forms.map(|(form, count)| labelled(&[form], count as f64)).into()
    }

    pub(super) fn peers(&self, value: impl Fn(&Peer) -> Value) -> Vec<Sample> {
        let peers = self.told().peers.lock().clone();
        peers.iter().map(|(address, peer)| spread(&[address.as_str()], value(peer))).collect()
    }

    pub(super) fn links(&self) -> [f64; 2] {
        [&self.told().links_held, &self.told().links_accepted].map(|links| links.get() as f64)
    }

    pub(super) fn traffic(&self) -> Traffic {
        self.handle.meter().tally().traffic()
    }

    pub(super) fn figure(&self, figure: impl Fn(&NodeFigures) -> Option<f64>) -> Vec<Sample> {
        self.figures.as_ref().and_then(figure).map(seconds).unwrap_or_default()
    }

    pub(super) fn requests(&self) -> Vec<Sample> {
        let requests = self.told().requests.lock().clone();
        let request =
            |((route, status), count): ((&str, u16), u64)| labelled(&[route, &status.to_string()], count as f64);
        requests.into_iter().map(request).collect()
    }

    pub(super) fn request_times(&self) -> Vec<Sample> {
        let times = self.told().request_times.lock().clone();
        times.iter().map(|(route, times)| spread(&[route], Value::Histogram(times.read(MICROS)))).collect()
    }

    pub(super) fn hooks(&self) -> Vec<Sample> {
        let settings = self.handle.settings();
        let configured = &settings.hooks.on;
        let triggers = Trigger::ALL.into_iter().filter(|trigger| configured.contains_key(trigger.name()));
        let outcomes = [HookOutcome::Done, HookOutcome::GivenUp, HookOutcome::Dropped];
        let counts = self.handle.meter().hooks().counts();
        let all = triggers.flat_map(|trigger| outcomes.map(|outcome| (trigger, outcome)));
        let sample = |(trigger, outcome): (Trigger, HookOutcome)| {
            let count = counts.get(&(trigger, outcome)).copied().unwrap_or(0);
            labelled(&[trigger.name(), outcome.name()], count as f64)
        };
        all.map(sample).collect()
    }

    pub(super) fn expiries(&self) -> Vec<Sample> {
        let expiries = self.told().expiries.lock();
        expiries.iter().map(|expiry| labelled(&[expiry.setting], expiry.at as f64)).collect()
    }

    pub(super) fn build(&self) -> Vec<Sample> {
        vec![labelled(&[env!("CARGO_PKG_VERSION"), VERSION], 1.0)]
    }

    pub(super) fn node(&self) -> Vec<Sample> {
        let (settings, node) = (self.handle.settings(), self.handle.local());
        let cluster = &settings.cluster_name;
        vec![labelled(&[cluster.as_str(), node.id.as_str(), &node.name, node.address.as_str()], 1.0)]
    }
}
