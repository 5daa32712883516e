//! The log of a node: what its core notes goes out as events of Elasticsearch's loggers.
//!
//! ```text
//!   Note ──► Log ──► tracing ──► Filter ──► Lines ──► Writer ──► the output, or LogFile
//!             └ Repeats            └ Levels
//! ```
//!
//! The notes are worded in `zen`; which lines are printed and how stands in the modules below, where they go in `cli`.

mod file;
mod levels;
mod lines;
mod panics;
mod repeats;
mod writer;

pub use file::{LogFile, Rotation};
pub use levels::{Filter, LevelError, Levels};
pub use lines::{Form, Lines, Origin, timestamp};
pub use panics::tell_panics;
pub use writer::{Flusher, Writer};

use crate::cluster::{ClusterName, ClusterState, Node};
use crate::protocol::{Level, Remark};
use crate::settings::LogSettings;
use crate::zen::Note;
pub(super) use repeats::{Repeats, Topic};
use std::fmt;
use std::time::Instant;

/// The logger of a node's start and end.
pub const NODE: &str = "org.elasticsearch.node.Node";
/// The logger of the transport between nodes.
pub const TRANSPORT: &str = "org.elasticsearch.transport.TransportService";
/// The logger of what is kept on disk.
pub const STORE: &str = "org.elasticsearch.gateway.GatewayMetaState";
/// The logger of the users' side.
pub const HTTP: &str = "org.elasticsearch.http.AbstractHttpServerTransport";

macro_rules! loggers {
    ($($name:ident = $target:literal,)+) => {
        /// The loggers of Elasticsearch that tell what the core notes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Logger {
            $($name,)+
        }

        impl Logger {
            fn say(self, level: Level, text: fmt::Arguments<'_>) {
                match (self, level) {
                    $(
                        (Logger::$name, Level::Debug) => tracing::debug!(target: $target, "{text}"),
                        (Logger::$name, Level::Info) => tracing::info!(target: $target, "{text}"),
                        (Logger::$name, Level::Warn) => tracing::warn!(target: $target, "{text}"),
                    )+
                }
            }
        }
    };
}

loggers! {
    ZenDiscovery = "org.elasticsearch.discovery.zen.ZenDiscovery",
    NodeJoinController = "org.elasticsearch.discovery.zen.NodeJoinController",
    ElectMaster = "org.elasticsearch.discovery.zen.ElectMasterService",
    UnicastZenPing = "org.elasticsearch.discovery.zen.UnicastZenPing",
    FaultDetection = "org.elasticsearch.discovery.zen.NodesFaultDetection",
    Publish = "org.elasticsearch.discovery.zen.PublishClusterStateAction",
    MasterService = "org.elasticsearch.cluster.service.MasterService",
    ClusterApplier = "org.elasticsearch.cluster.service.ClusterApplierService",
    ClusterSettings = "org.elasticsearch.common.settings.ClusterSettings",
    Gateway = "org.elasticsearch.gateway.GatewayService",
    ThreadPool = "org.elasticsearch.threadpool.ThreadPool",
}

/// The log of one node.
pub struct Log {
    levels: Levels,
    repeats: Repeats,
    began: Instant,
}

impl Log {
    /// A log whose levels are these.
    #[expect(clippy::disallowed_methods, reason = "how often a line is repeated is counted by the real clock")]
    pub fn new(levels: Levels) -> Self {
        Log { levels, repeats: Repeats::default(), began: Instant::now() }
    }

    /// Tells what the core noted. What others can provoke at will is told once in a while.
    pub fn note(&mut self, note: &Note) {
        let repeated = match topic(note) {
            Some(topic) => self.repeats.admit(self.began.elapsed(), topic),
            None => Some(0),
        };
        match repeated {
            None => {}
            Some(0) => logger(note).say(note.level(), format_args!("{note}")),
            Some(times) => logger(note).say(note.level(), format_args!("{note} (repeated {times} times)")),
        }
    }

    /// Heeds the `logger.*` settings of a new state.
    pub fn heed(&self, state: &ClusterState) {
        self.warn_of(self.levels.apply(&state.metadata));
    }

    /// Logs on these levels from now on, below what the cluster says.
    pub fn retune(&self, settings: &LogSettings) {
        self.warn_of(self.levels.configure(settings));
    }

    fn warn_of(&self, faults: Vec<LevelError>) {
        for fault in faults {
            let what = if matches!(fault, LevelError::Word { .. }) { "; left as it was" } else { "" };
            Logger::ClusterSettings.say(Level::Warn, format_args!("{fault}{what}"));
        }
    }
}

/// The span that tells of which node a line is; all that a node logs belongs inside.
pub fn node_span(node: &Node, cluster: &ClusterName) -> tracing::Span {
    let (name, id, cluster) = (&*node.name, node.id.as_str(), cluster.as_str());
    tracing::error_span!(target: "org.elasticsearch.node.Node", "node", node_name = name, cluster_name = cluster, node_id = id)
}

fn logger(note: &Note) -> Logger {
    match note {
        Note::Searching { .. } => Logger::ZenDiscovery,
        Note::NotEnoughMasters { .. } => Logger::ZenDiscovery,
        Note::NoMaster { .. } => Logger::ZenDiscovery,
        Note::Stands { .. } => Logger::NodeJoinController,
        Note::Votes { .. } => Logger::NodeJoinController,
        Note::Joins { .. } => Logger::ZenDiscovery,
        Note::JoinFailed { .. } => Logger::ZenDiscovery,
        Note::Abandoned { .. } => Logger::NodeJoinController,
        Note::Fetches { .. } => Logger::NodeJoinController,
        Note::Won { .. } => Logger::NodeJoinController,
        Note::Published { .. } => Logger::MasterService,
        Note::Applied { .. } => Logger::ClusterApplier,
        Note::VotingSet { .. } => Logger::ZenDiscovery,
        Note::TakesTerm { .. } => Logger::ZenDiscovery,
        Note::HandsOver { .. } => Logger::ZenDiscovery,
        Note::SlowPublish { .. } => Logger::MasterService,
        Note::Behind { .. } => Logger::Publish,
        Note::DelaysRecovery { .. } => Logger::Gateway,
        Note::Archives { .. } => Logger::ClusterSettings,
        Note::Recovers { .. } => Logger::Gateway,
        Note::CommitFailed { .. } => Logger::Publish,
        Note::TakesBack { .. } => Logger::ZenDiscovery,
        Note::SteppedDown { .. } => Logger::ZenDiscovery,
        Note::MasterLeft { .. } => Logger::ZenDiscovery,
        Note::PingFailed { .. } => Logger::FaultDetection,
        Note::NodeFailed { .. } => Logger::FaultDetection,
        Note::OtherCluster { .. } => Logger::UnicastZenPing,
        Note::DuplicateId { .. } => Logger::UnicastZenPing,
        Note::MinimumTooLow { .. } => Logger::ElectMaster,
        Note::BadSetting { .. } => Logger::ClusterSettings,
        Note::Stalled { .. } => Logger::ThreadPool,
        Note::TurnedAway { .. } => Logger::NodeJoinController,
        Note::JoinRejected { .. } => Logger::ZenDiscovery,
        Note::TimeoutRaised { .. } => Logger::FaultDetection,
        Note::WriteOverdue { .. } | Note::SlowWrite { .. } => Logger::Gateway,
    }
}

/// What a note has in common with its repetitions, if others can make the node repeat it without end.
fn topic(note: &Note) -> Option<Topic> {
    let (kind, subject) = match note {
        Note::OtherCluster { node, .. } => ("other cluster", node.address.to_string()),
        Note::DuplicateId { node } => ("duplicate id", node.address.to_string()),
        Note::NotEnoughMasters { .. } => ("not enough masters", note.to_string()),
        Note::NoMaster { .. } => ("no master", note.to_string()),
        Note::JoinFailed { node, .. } => ("join failed", node.id.to_string()),
        Note::MinimumTooLow { .. } => ("minimum too low", note.to_string()),
        Note::BadSetting { what } => ("bad setting", what.clone()),
        Note::SlowPublish { .. } => ("slow publish", String::new()),
        Note::Stalled { .. } => ("stalled", String::new()),
        Note::TurnedAway { node, .. } => ("turned away", node.id.to_string()),
        Note::JoinRejected { master, .. } => ("join rejected", master.id.to_string()),
        Note::TimeoutRaised { node, .. } => ("timeout raised", node.address.to_string()),
        Note::WriteOverdue { .. } => ("write overdue", String::new()),
        Note::SlowWrite { .. } => ("slow write", String::new()),
        Note::Searching { .. }
        | Note::Stands { .. }
        | Note::Votes { .. }
        | Note::Joins { .. }
        | Note::Abandoned { .. }
        | Note::Fetches { .. }
        | Note::Won { .. }
        | Note::Published { .. }
        | Note::Applied { .. }
        | Note::VotingSet { .. }
        | Note::TakesTerm { .. }
        | Note::HandsOver { .. }
        | Note::Behind { .. }
        | Note::DelaysRecovery { .. }
        | Note::Archives { .. }
        | Note::Recovers { .. }
        | Note::CommitFailed { .. }
        | Note::TakesBack { .. }
        | Note::SteppedDown { .. }
        | Note::MasterLeft { .. }
        | Note::PingFailed { .. }
        | Note::NodeFailed { .. } => return None,
    };
    Some(Topic { kind, subject })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Metadata;
    use crate::settings::LogSettings;
    use parking_lot::Mutex;
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::registry;

    fn node(name: &str) -> Arc<Node> {
        Arc::new(crate::runtime::sample::node(name))
    }

    fn state(key: &str, word: &str) -> ClusterState {
        let mut state = ClusterState::initial("prod".into());
        state.metadata =
            Metadata { transient: [(key.into(), word.into())].into_iter().collect(), ..Metadata::default() };
        state
    }

    /// What is printed of what a log is told.
    fn printed(work: impl FnOnce(&mut Log)) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let taker = lines.clone();
        let now = || SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let layer = Lines::new(Form::Plain, Origin::default(), now, move |line| taker.lock().push(line));
        let (levels, filter) = Levels::new(&LogSettings::default()).expect("there are no levels to be wrong");
        tracing::subscriber::with_default(registry().with(filter).with(layer), || {
            let _entered = node_span(&node("n1"), &"prod".into()).entered();
            work(&mut Log::new(levels));
        });
        std::mem::take(&mut lines.lock())
    }

    #[test]
    fn a_note_is_a_line_of_the_logger_that_tells_it_in_elasticsearch() {
        let lines = printed(|log| {
            log.note(&Note::MasterLeft { master: node("m"), reason: "shut_down".into() });
            log.note(&Note::Searching { reason: "started".into() });
            log.note(&Note::MinimumTooLow { minimum: 1, eligible: 3 });
        });
        assert_eq!(
            lines[0],
            "[1970-01-01T00:00:01,000][INFO ][o.e.d.z.ZenDiscovery     ] [n1] master_left [{m}{m}{m-1}{m}{m:9300}], reason [shut_down]"
        );
        assert!(
            lines[1].starts_with("[1970-01-01T00:00:01,000][WARN ][o.e.d.z.ElectMasterService] [n1] value for setting"),
            "{lines:?}"
        );
        assert_eq!(lines.len(), 2, "what is said at DEBUG is not printed: {lines:?}");
    }

    #[test]
    fn a_stranger_fills_no_log() {
        let stranger = |name: &str| Note::OtherCluster { node: node(name), what: "cluster name [x] is not [y]".into() };
        let lines = printed(|log| {
            for _ in 0..1_000 {
                log.note(&stranger("s"));
            }
            log.note(&stranger("t"));
            for _ in 0..3 {
                log.note(&Note::SteppedDown { reason: "not enough".into() });
            }
        });
        assert_eq!(lines.iter().filter(|line| line.contains("is of another cluster")).count(), 2);
        assert_eq!(lines.iter().filter(|line| line.ends_with("steps down: not enough")).count(), 3);
    }

    #[test]
    fn a_state_turns_a_logger_up_and_down_while_the_node_runs() {
        let lines = printed(|log| {
            let search = |reason: &str| Note::Searching { reason: reason.into() };
            log.note(&search("one"));
            log.heed(&state("logger.org.elasticsearch.discovery", "DEBUG"));
            log.note(&search("two"));
            log.heed(&state("logger.discovery", "loud"));
            log.note(&search("three"));
        });
        let texts: Vec<&str> = lines.iter().filter_map(|line| line.split("[n1] ").nth(1)).collect();
        assert_eq!(texts[0], "looking for a master: two");
        assert!(texts[1].starts_with("logger.discovery: Unknown level constant [loud]; allowed: "), "{texts:?}");
        assert_eq!(texts.len(), 2);
    }
}
