//! A deterministic world of many nodes: virtual time, network, disks, processes and their faults, from one seed.
//!
//! The [`World`] drives any [`Protocol`](crate::protocol::Protocol) and knows none: what is right or wrong is for a
//! [`Watch`] to say. One thread, no wall clock; the same seed and the same calls give the same events. Zen enters it in
//! [`cluster_world`], is judged in [`check`], hurt at random in `run`, and tells its stories in [`script`], near which
//! [`trace_mutation`] looks. What Zen itself did wrong is shown in [`flaws`].
//!
//! A run: [`World::new`], [`World::add`] for each node, [`World::start_all`]; then [`World::run_plan`] or one
//! [`World::inject`] after the other; then [`Fault::Heal`], and a verdict. A run that fails is made once more with
//! [`World::trace`] on.
//!
//! ```text
//!   Plan ──Fault──▶ World ──Input──▶ participant ──Effect──▶ World (network, disk, clock) ──▶ queue ──▶ …
//!                     └──────────────── after each event ────────────────▶ Watch, Trace, Counters
//! ```

mod afflict;
mod baseline;
mod calls;
pub mod check;
mod clients;
mod clock;
pub mod cluster_world;
mod counters;
mod disk;
mod effects;
pub mod explore;
mod fault;
pub mod flaws;
mod gate;
pub mod graphs;
mod half_well;
mod history;
mod host;
mod inject;
mod lease_holders;
mod lifeline;
mod linking;
mod liveness;
pub mod member;
mod message_filter;
mod network;
mod operation;
mod plan;
mod queue;
mod quorum_analysis;
mod recoveries;
mod run;
mod run_params;
mod run_world;
pub mod scale;
pub mod script;
mod step;
mod trace;
pub mod trace_mutation;
mod transit;
mod watch;
mod watchers;
mod wiped;
mod witness;
mod world;

pub use baseline::Baseline;
pub use check::{Histories, Peak, Service, Storms, Tally, WatcherTotals};
pub use clients::{Clients, Habits, Request};
pub use clock::REAL_TIME_PPM;
pub use counters::{Counters, Traffic};
pub use fault::{Fault, NotAFault};
pub use host::Boot;
pub use member::Member;
pub use message_filter::{MessageFilter, Passage, Stop};
pub use network::{Mode, Quality};
pub use plan::Plan;
pub use recoveries::{PACE, PACE_HALF_WELL, Pace, Recoveries};
pub use run::{Failure, Report, run};
pub use run_params::{Healing, RunOptions, RunParams};
pub use trace::Detail;
pub use watch::{Unwatched, Violation, Watch};
pub use world::World;
