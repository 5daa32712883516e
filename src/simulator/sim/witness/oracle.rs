//! What a flaw is recognised by. The same words judge a story of any dialect, and a random run.

use std::time::Duration;

/// Something that must never be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oracle {
    /// Two nodes lead at once, for longer than the time that a cluster has to recover.
    TwoMasters,
    /// Two clusters are formed of the nodes of one.
    TwoClusters,
    /// Two states of one rank are committed.
    TwoStates,
    /// A process applies a state that lies before one that it had applied.
    TimeTravel,
    /// A node that belonged to one cluster follows another.
    IdentityChanged,
    /// An update that was acknowledged is not in the last state.
    LostUpdate,
    /// A read misses an update that was acknowledged before it began.
    StaleRead,
    /// A node does not hold what it had acknowledged, nor anything newer.
    ForgottenAck,
    /// A client is told that all nodes have applied its update, and one has not.
    EarlyAck,
    /// A running node has no master for longer than the time that a cluster has to recover.
    NoMaster,
    /// A node that is gone stays a member.
    DeadMember,
    /// An update takes longer than anybody waits for.
    SlowUpdate,
}

impl Oracle {
    /// All of them.
    pub const ALL: [Oracle; 12] = [
        Oracle::TwoMasters,
        Oracle::TwoClusters,
        Oracle::TwoStates,
        Oracle::TimeTravel,
        Oracle::IdentityChanged,
        Oracle::LostUpdate,
        Oracle::StaleRead,
        Oracle::ForgottenAck,
        Oracle::EarlyAck,
        Oracle::NoMaster,
        Oracle::DeadMember,
        Oracle::SlowUpdate,
    ];

    /// What it is called in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Oracle::TwoMasters => "two-masters",
            Oracle::TwoClusters => "two-clusters",
            Oracle::TwoStates => "two-states",
            Oracle::TimeTravel => "time-travel",
            Oracle::IdentityChanged => "identity-changed",
            Oracle::LostUpdate => "lost-update",
            Oracle::StaleRead => "stale-read",
            Oracle::ForgottenAck => "forgotten-ack",
            Oracle::EarlyAck => "early-ack",
            Oracle::NoMaster => "no-master",
            Oracle::DeadMember => "dead-member",
            Oracle::SlowUpdate => "slow-update",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Oracle> {
        Oracle::ALL.into_iter().find(|oracle| oracle.name() == name)
    }

    /// How long something must last to count, unless a script says otherwise.
    pub fn span(self) -> Duration {
        match self {
            Oracle::TwoMasters | Oracle::NoMaster | Oracle::DeadMember => Duration::from_secs(60),
            Oracle::SlowUpdate => Duration::from_secs(10),
            Oracle::TwoClusters
            | Oracle::TwoStates
            | Oracle::TimeTravel
            | Oracle::IdentityChanged
            | Oracle::LostUpdate
            | Oracle::StaleRead
            | Oracle::ForgottenAck
            | Oracle::EarlyAck => Duration::ZERO,
        }
    }
}
