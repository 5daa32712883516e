//! Which of the protocol's protections a node keeps.
//!
//! Every node keeps all of them, and no configuration can change that: only the simulator gives a node other rules, to
//! show what happens without one of them, and that its checkers see it.

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

/// The protections that are switched off: none, in every real node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    off: u128,
}

impl Rules {
    /// All protections but this one.
    pub fn without(self, protection: Protection) -> Rules {
        Rules { off: self.off | 1 << protection as u32 }
    }

    /// Whether a protection is kept.
    pub fn keep(self, protection: Protection) -> bool {
        self.off >> protection as u32 & 1 == 0
    }
}
