//! The numbers that the protocol runs by, and which of them a committed state may change.
//!
//! Knows the keys of the dynamic settings only, and the least value of every time; all keys with their documentation stand
//! in `settings`, which refers to these values.
//! Mirrors the settings of `ZenDiscovery`, `FaultDetection`, `DiscoverySettings` and `ElectMasterService` (6.8).

use super::gateway::Gateway;
use crate::cluster::{Block, ClusterState, Metadata, StateId};
use crate::service::MINIMUM_MASTER_NODES;
use std::collections::BTreeSet;
use std::time::Duration;

/// What the protocol runs by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// How long a ping round lasts at the most.
    pub ping_timeout: Duration,
    /// How long a joiner goes on asking a master that answers.
    pub join_timeout: Duration,
    /// How often a join is tried at a node that says it does not lead.
    pub join_retry_attempts: u32,
    /// The pause between these tries.
    pub join_retry_delay: Duration,
    /// How long a candidate waits for joins.
    pub wait_for_joins_timeout: Duration,
    /// Whether pings of nodes that cannot be master are left out of the search for one.
    pub ignore_non_master_pings: bool,
    /// The pause between two pings of a fault detector.
    pub fd_ping_interval: Duration,
    /// When a ping of a fault detector has failed.
    pub fd_ping_timeout: Duration,
    /// How many pings in a row must fail.
    pub fd_ping_retries: u32,
    /// How long a publish may lack acknowledgements.
    pub commit_timeout: Duration,
    /// Whether changes are sent as diffs.
    pub publish_diff: bool,
    /// What a node without a master refuses.
    pub no_master_block: NoMasterBlock,
    /// The quorum that the operator asks for besides the automatic one.
    pub minimum_master_nodes: Option<u32>,
    /// What is waited for after a full restart.
    pub gateway: Gateway,
    /// The dynamic settings that are this node's own, as its command line gives them: the cluster's do not go over these.
    pub overrides: BTreeSet<&'static str>,
    /// More hosts than these are a crowd, of which a quarter as many look for everybody. No setting changes it; random
    /// runs make crowds of few.
    pub crowd: usize,
}

/// What a node without a master refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMasterBlock {
    /// Writes only.
    Write,
    /// Everything.
    All,
}

impl NoMasterBlock {
    /// A state as readers see it while there is no master.
    pub fn masterless(self, state: &ClusterState) -> ClusterState {
        let mut state = state.clone();
        state.nodes.master = None;
        state.blocks.add(match self {
            NoMasterBlock::Write => Block::NO_MASTER_WRITES,
            NoMasterBlock::All => Block::NO_MASTER_ALL,
        });
        if state.id() == StateId::NONE {
            state.blocks.add(Block::STATE_NOT_RECOVERED);
        }
        state
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            ping_timeout: Duration::from_secs(1),
            join_timeout: Duration::from_secs(20),
            join_retry_attempts: 3,
            join_retry_delay: Duration::from_millis(100),
            wait_for_joins_timeout: Duration::from_secs(10),
            ignore_non_master_pings: false,
            fd_ping_interval: Duration::from_millis(200),
            fd_ping_timeout: Duration::from_millis(250),
            fd_ping_retries: 3,
            commit_timeout: Duration::from_secs(5),
            publish_diff: true,
            no_master_block: NoMasterBlock::Write,
            minimum_master_nodes: None,
            gateway: Gateway::default(),
            overrides: BTreeSet::new(),
            crowd: 32,
        }
    }
}

impl Tuning {
    /// How long a formed cluster waits for silent hosts once a choice is possible.
    pub const GRACE: Duration = Duration::from_millis(100);

    /// The shortest time that a write may take.
    const WRITE_PATIENCE_MIN: Duration = Duration::from_millis(500);

    /// The shortest time that a member may take to store a state.
    const LAG_PATIENCE_MIN: Duration = Duration::from_secs(2);

    /// The longest rest after a round that most of a crowd did not answer, in rounds.
    pub(super) const CROWD_REST_MAX: u32 = 8;

    /// The least [`Tuning::ping_timeout`]: a ping opens a connection and is answered, which takes tens of milliseconds
    /// between sites.
    pub const PING_TIMEOUT_MIN: Duration = Duration::from_millis(50);

    /// The least [`Tuning::join_timeout`]: two of the shortest rounds are waited for in any case.
    pub const JOIN_TIMEOUT_MIN: Duration = Duration::from_millis(100);

    /// The least [`Tuning::join_retry_delay`]: whatever waits for a master asks a hundred times a second.
    pub const JOIN_RETRY_DELAY_MIN: Duration = Duration::from_millis(10);

    /// The least [`Tuning::wait_for_joins_timeout`]: half of the least join timeout, as which it is preset.
    pub const WAIT_FOR_JOINS_TIMEOUT_MIN: Duration = Duration::from_millis(50);

    /// The least [`Tuning::fd_ping_interval`]: a hundred pings a second to every peer.
    pub const FD_PING_INTERVAL_MIN: Duration = Duration::from_millis(10);

    /// The least [`Tuning::fd_ping_timeout`]: a process that is healthy may be late by tens of milliseconds.
    pub const FD_PING_TIMEOUT_MIN: Duration = Duration::from_millis(50);

    /// The least [`Tuning::commit_timeout`]: with less than a slow disk takes for a write, masterships end as they begin, and
    /// no change comes through that could set it right.
    pub const COMMIT_TIMEOUT_MIN: Duration = Duration::from_millis(500);

    /// The longest time that is understood: more is a slip of the pen, and sums of these never overflow.
    pub const TIME_MAX: Duration = Duration::from_secs(365 * 86_400);

    /// How many master-eligible nodes the operator asks for.
    pub fn minimum(&self) -> usize {
        self.minimum_master_nodes.unwrap_or(0) as usize
    }

    /// How long a vote waits for the candidate to lead: two rounds, since one would miss a round that began just before.
    pub fn vote_timeout(&self) -> Duration {
        self.ping_timeout * 2
    }

    /// How long a candidate waits for joins: at least four rounds, so that voters can come back to it.
    pub fn candidacy_timeout(&self) -> Duration {
        self.wait_for_joins_timeout.max(self.ping_timeout * 4)
    }

    /// How long a follower waits for the next ping of its master before it pings itself: a little longer than the master
    /// takes between two.
    pub fn patience_with_master(&self) -> Duration {
        self.fd_ping_interval + self.fd_ping_interval / 8
    }

    /// How long a publish may lack acknowledgements: at least two beats, since one that was lost comes with the next beat.
    pub fn commit_patience(&self) -> Duration {
        self.commit_timeout.max(self.fd_ping_interval * 2)
    }

    /// A publish lasts no longer than this, but for the time that a whole state takes to arrive: one that is on its way at
    /// the end is waited for until it has arrived or is known to be lost.
    pub fn publish_timeout(&self) -> Duration {
        self.commit_patience() + self.fd_ping_timeout
    }

    /// A publish that takes longer than this is worth a warning: half of what it may take, and as in Elasticsearch no more
    /// than 10 s.
    pub fn slow_publish(&self) -> Duration {
        (self.commit_timeout / 2).min(Duration::from_secs(10))
    }

    /// So long a peer that was heard of is silent before it is lost.
    pub fn silence(&self) -> Duration {
        self.fd_ping_timeout * self.fd_ping_retries
    }

    /// A write that takes longer than this is overdue: as long as a silent peer is waited for, within bounds.
    pub fn write_patience(&self) -> Duration {
        self.silence().min(self.commit_timeout / 2).max(Self::WRITE_PATIENCE_MIN)
    }

    /// A member that stores nothing for longer than this, besides what a state takes to get to it, is removed.
    pub fn lag_patience(&self) -> Duration {
        (self.commit_timeout * 2 / 5).max(Self::LAG_PATIENCE_MIN)
    }

    /// Within this time a fault detector finds out that a peer is silent.
    pub fn detection_bound(&self) -> Duration {
        self.patience_with_master() + self.fd_ping_timeout * self.fd_ping_retries
    }

    /// Within this time one master leads all who reach it once nothing fails any more: the fault detectors find out that
    /// a master is gone, a publish that lacks acknowledgements gives up, votes given elsewhere run out, two rounds bring
    /// the nodes together, and the election, the joins and their publishes take their round trips.
    pub fn recovery_bound(&self) -> Duration {
        self.detection_bound() + self.commit_patience() + self.vote_timeout() + self.ping_timeout * 2
    }

    /// Extra recovery time of a cluster of so many hosts, if that is large: until as many of them look for everybody as
    /// is needed, and the longest rest of a round.
    pub fn crowd_bound(&self, hosts: usize) -> Duration {
        if hosts <= self.crowd {
            return Duration::ZERO;
        }
        let rounds = hosts.div_ceil(self.front()).next_power_of_two().ilog2();
        self.ping_timeout * (rounds + Self::CROWD_REST_MAX)
    }

    /// For so long after it asked, a node that was not taken in because it could not be reached counts as one that runs.
    pub(super) fn asking_patience(&self) -> Duration {
        self.vote_timeout().max(self.fd_ping_interval * 2)
    }

    /// How many hosts of a crowd look for everybody at first.
    pub(super) fn front(&self) -> usize {
        (self.crowd / 4).max(1)
    }

    /// This tuning with what the cluster's settings change of it, and what is not heeded as it stands there: what cannot be
    /// understood, what is below its least value, and what this node's own goes over.
    pub fn with_dynamic(&self, metadata: &Metadata) -> (Tuning, Vec<String>) {
        let mut tuning = self.clone();
        let mut faults = Vec::new();
        for (key, place) in DYNAMIC {
            let value = metadata.transient.get(*key).or_else(|| metadata.persistent.get(*key));
            match value {
                None => {}
                Some(value) if self.overrides.contains(key) => {
                    faults.push(format!(
                        "setting [{key}] is [{value}] in the cluster: what this node was started with goes over that"
                    ));
                }
                Some(value) => faults.extend(place.heed(&mut tuning, key, value).err()),
            }
        }
        (tuning, faults)
    }

    /// Takes the text of a dynamic setting over; none if there is no such setting, or it is not allowed.
    pub fn set_dynamic(&mut self, key: &str, text: &str) -> Option<()> {
        let (_, place) = DYNAMIC.iter().find(|(known, _)| *known == key)?;
        place.set(self, text)
    }

    /// Takes over what may change while the node runs.
    pub fn take_dynamic(&mut self, other: &Tuning) {
        self.minimum_master_nodes = other.minimum_master_nodes;
        self.commit_timeout = other.commit_timeout;
        self.publish_diff = other.publish_diff;
        self.no_master_block = other.no_master_block;
        self.fd_ping_interval = other.fd_ping_interval;
        self.fd_ping_timeout = other.fd_ping_timeout;
        self.fd_ping_retries = other.fd_ping_retries;
    }

    /// The keys of the settings that a committed state may change while the node runs.
    pub fn dynamic_keys() -> impl Iterator<Item = &'static str> {
        DYNAMIC.iter().map(|(key, _)| *key)
    }
}

/// Where a dynamic setting has its place.
enum Place {
    /// A time that is not below the least one.
    Time(Duration, fn(&mut Tuning) -> &mut Duration),
    /// Anything else, which takes a text over or gives none.
    Text(fn(&mut Tuning, &str) -> Option<()>),
}

impl Place {
    /// Takes a text over, or gives none if it is not allowed.
    fn set(&self, tuning: &mut Tuning, text: &str) -> Option<()> {
        match self {
            Place::Time(least, time) => *time(tuning) = parse_time(text).filter(|given| given >= least)?,
            Place::Text(set) => set(tuning, text)?,
        }
        Some(())
    }

    /// Takes over what stands in a committed state, which may be from a release that allowed more.
    fn heed(&self, tuning: &mut Tuning, key: &str, text: &str) -> Result<(), String> {
        if let Place::Time(least, time) = self
            && parse_time(text).is_some_and(|given| given < *least)
        {
            *time(tuning) = *least;
            return Err(format!(
                "setting [{key}] is [{text}], below the least allowed value [{least:?}]: running by that"
            ));
        }
        self.set(tuning, text)
            .ok_or_else(|| format!("failed to parse value [{text}] for setting [{key}], left as it was"))
    }
}

/// The settings that a committed state may change while the node runs.
const DYNAMIC: &[(&str, Place)] = &[
    (
        MINIMUM_MASTER_NODES,
        Place::Text(|tuning, text| {
            tuning.minimum_master_nodes = if text == "-1" { None } else { Some(parse_count(text)?) };
            Some(())
        }),
    ),
    ("discovery.zen.commit_timeout", Place::Time(Tuning::COMMIT_TIMEOUT_MIN, |tuning| &mut tuning.commit_timeout)),
    (
        "discovery.zen.publish_diff.enable",
        Place::Text(|tuning, text| {
            tuning.publish_diff = text.parse().ok()?;
            Some(())
        }),
    ),
    (
        "discovery.zen.no_master_block",
        Place::Text(|tuning, text| {
            tuning.no_master_block = match text {
                "write" => NoMasterBlock::Write,
                "all" => NoMasterBlock::All,
                _ => return None,
            };
            Some(())
        }),
    ),
    (
        "discovery.zen.fd.ping_interval",
        Place::Time(Tuning::FD_PING_INTERVAL_MIN, |tuning| &mut tuning.fd_ping_interval),
    ),
    ("discovery.zen.fd.ping_timeout", Place::Time(Tuning::FD_PING_TIMEOUT_MIN, |tuning| &mut tuning.fd_ping_timeout)),
    (
        "discovery.zen.fd.ping_retries",
        Place::Text(|tuning, text| {
            tuning.fd_ping_retries = parse_count(text)?;
            Some(())
        }),
    ),
];

/// A number of which there must be at least one; as large as Elasticsearch's, which are 32 bits with a sign.
pub fn parse_count(text: &str) -> Option<u32> {
    text.parse::<i32>().ok().filter(|count| *count >= 1).map(i32::unsigned_abs)
}

/// A time as Elasticsearch writes it: a whole number and a unit. Only the `m` of minutes must not be a capital.
pub fn parse_time(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = number.parse().ok()?;
    let seconds = |factor: u64| number.checked_mul(factor).map(Duration::from_secs);
    let time = match (unit.trim_start(), unit.trim_start().to_ascii_lowercase().as_str()) {
        (_, "nanos") => Some(Duration::from_nanos(number)),
        (_, "micros") => Some(Duration::from_micros(number)),
        (_, "ms") => Some(Duration::from_millis(number)),
        (_, "s") => Some(Duration::from_secs(number)),
        ("m", _) => seconds(60),
        (_, "h") => seconds(3_600),
        (_, "d") => seconds(86_400),
        ("", _) if number == 0 => Some(Duration::ZERO),
        _ => None,
    };
    time.filter(|time| *time <= Tuning::TIME_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a tuning becomes in a cluster with this setting, and what is told of it.
    fn with(tuning: &Tuning, key: &str, value: &str) -> (Tuning, Vec<String>) {
        let mut metadata = Metadata::default();
        metadata.transient.insert(key.into(), value.into());
        tuning.with_dynamic(&metadata)
    }

    #[test]
    fn a_state_sets_no_time_that_the_protocol_cannot_run_by() {
        let key = "discovery.zen.fd.ping_interval";
        let with = |value: &str| {
            let (tuning, faults) = with(&Tuning::default(), key, value);
            (tuning.fd_ping_interval, faults)
        };
        assert_eq!(with("10ms"), (Tuning::FD_PING_INTERVAL_MIN, Vec::new()));
        assert_eq!(with("365d").0, Tuning::TIME_MAX);
        for value in ["366d", "18446744073709551615s", "-1", "1"] {
            let fault = format!("failed to parse value [{value}] for setting [{key}], left as it was");
            assert_eq!(with(value), (Tuning::default().fd_ping_interval, vec![fault]));
        }
    }

    #[test]
    fn a_state_below_the_least_value_is_not_obeyed() {
        let of = |key: &str, value: &str| {
            let (tuning, faults) = with(&Tuning::default(), key, value);
            ([tuning.commit_timeout, tuning.fd_ping_interval, tuning.fd_ping_timeout], faults)
        };
        let [commit, interval, timeout] = [5_000, 200, 250].map(Duration::from_millis);
        let cases = [
            ("discovery.zen.commit_timeout", "500ms", [Tuning::COMMIT_TIMEOUT_MIN, interval, timeout]),
            ("discovery.zen.fd.ping_interval", "10ms", [commit, Tuning::FD_PING_INTERVAL_MIN, timeout]),
            ("discovery.zen.fd.ping_timeout", "50ms", [commit, interval, Tuning::FD_PING_TIMEOUT_MIN]),
        ];
        for (key, least, expected) in cases {
            assert_eq!(of(key, least), (expected, Vec::new()));
            for value in ["0", "0ms", "999micros", "1ms"] {
                let fault =
                    format!("setting [{key}] is [{value}], below the least allowed value [{least}]: running by that");
                assert_eq!(of(key, value), (expected, vec![fault]));
            }
        }
    }

    #[test]
    fn a_setting_of_the_command_line_goes_over_that_of_the_cluster() {
        for key in Tuning::dynamic_keys() {
            let value = ["2s", "2", "all", "false"].into_iter().find(|text| {
                Tuning::default().set_dynamic(key, text).is_some() && with(&Tuning::default(), key, text).1.is_empty()
            });
            let value = value.expect("one of them is a value of it");
            let changed = with(&Tuning::default(), key, value).0;
            assert_ne!(changed, Tuning::default(), "{key} changes");
            let mut taken = Tuning::default();
            taken.take_dynamic(&changed);
            assert_eq!(taken, changed, "{key} is taken over");
            let own = Tuning { overrides: [key].into(), ..Tuning::default() };
            let told =
                format!("setting [{key}] is [{value}] in the cluster: what this node was started with goes over that");
            assert_eq!(with(&own, key, value), (own.clone(), vec![told]));
        }
    }
}
