//! Which of the protocol's protections a node keeps.
//!
//! Every node keeps all of them, and no configuration can change that: only the simulator gives a node other rules, to
//! show what happens without one of them, and that its checkers see it. An old [`Dialect`] lacks all that this protocol
//! adds to Zen; what it does instead stands in `zen68`.

use std::fmt;

/// Makes the table of protections: each with its name on the command line and what it says.
macro_rules! protections {
    ($($variant:ident $name:literal $doc:literal,)*) => {
        /// One protection of the protocol, which can be switched off alone.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Protection {
            $(#[doc = $doc] $variant,)*
        }

        impl Protection {
            /// All of them.
            pub const ALL: &'static [Protection] = &[$(Protection::$variant,)*];

            /// What it is called on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Protection::$variant => $name,)* }
            }

            /// What it says.
            pub fn says(self) -> &'static str {
                match self { $(Protection::$variant => $doc,)* }
            }
        }
    };
}

protections! {
    DurableVote "durable-vote" "A vote is on disk before it is told, so a restart does not forget it.",
    SelfDoubt "self-doubt" "A node whose own loop stalled doubts itself before it doubts others.",
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whose protocol a node speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// This one.
    #[default]
    Zazen,
    /// Zen as it was in Elasticsearch 6.8.
    Zen68,
    /// The same with two faults of 5.x: nodes are pinged with the version -1, and an apply that failed counts as done.
    Fd56,
    /// The same with what only versions before 1.4 did: a lost master is replaced from the last known list of nodes,
    /// without joins, and what a master publishes is applied at once, whoever it is.
    Zen13,
}

impl Dialect {
    /// The old ones.
    pub const OLD: [Dialect; 3] = [Dialect::Zen68, Dialect::Fd56, Dialect::Zen13];

    /// What it is called on the command line and in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Zazen => "zazen",
            Dialect::Zen68 => "zen68",
            Dialect::Fd56 => "fd56",
            Dialect::Zen13 => "zen13",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Dialect> {
        [Dialect::Zazen].into_iter().chain(Dialect::OLD).find(|dialect| dialect.name() == name)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The protections that are switched off: none, in every real node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    off: u128,
    dialect: Dialect,
}

impl Rules {
    /// The rules of a dialect. What an old one does in its own way stands in `zen68`.
    pub fn of(dialect: Dialect) -> Rules {
        match dialect {
            Dialect::Zazen => Rules::default(),
            Dialect::Zen68 | Dialect::Fd56 | Dialect::Zen13 => {
                let rules = Rules { dialect, ..Rules::default() };
                rules.without(Protection::DurableVote).without(Protection::SelfDoubt)
            }
        }
    }

    /// All protections but this one.
    pub fn without(self, protection: Protection) -> Rules {
        Rules { off: self.off | 1 << protection as u32, ..self }
    }

    /// Whether a protection is kept.
    pub fn keep(self, protection: Protection) -> bool {
        self.off >> protection as u32 & 1 == 0
    }

    /// Whose protocol it is.
    pub fn dialect(self) -> Dialect {
        self.dialect
    }

    /// Whether it is Zen's as it was, without terms and without promises that last.
    pub fn is_old(self) -> bool {
        self.dialect != Dialect::Zazen
    }
}
