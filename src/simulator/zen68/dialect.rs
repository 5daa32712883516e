//! Which Zen: that of 6.8, or 6.8 with what an older version did otherwise.

use std::fmt;

/// Whose protocol a node speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// Zen as it was in Elasticsearch 6.8.
    Zen68,
    /// The same with two faults of 5.x: nodes are pinged with the version -1, and an apply that failed counts as done.
    Fd56,
    /// As 6.8, but pings tell no version, only whether a node had joined a cluster since it began (1.4 to 2.x): those
    /// that had are preferred.
    Zen14,
    /// As 6.8 with what only versions before 1.4 did: a lost master is replaced from the last known list of nodes,
    /// without joins, and what a master publishes is applied at once, whoever it is.
    Zen13,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 4] = [Dialect::Zen68, Dialect::Fd56, Dialect::Zen14, Dialect::Zen13];

    /// What it is called on the command line and in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Zen68 => "zen68",
            Dialect::Fd56 => "fd56",
            Dialect::Zen14 => "zen14",
            Dialect::Zen13 => "zen13",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Whether a state is acknowledged before it is applied, and masters that meet settle who leads (since 1.4).
    pub(super) fn has_two_phases(self) -> bool {
        self != Dialect::Zen13
    }

    /// Whether clients are told of nodes that answered with an error (since 6.3).
    pub(super) fn tells_errors(self) -> bool {
        self == Dialect::Zen68
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
