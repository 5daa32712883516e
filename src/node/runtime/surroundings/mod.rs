//! What lies around a node on its host: its neighbours, and who listens where. Looked at once for all who ask within a
//! second: it takes long, and a cluster that lost its master asks itself all at once. What a node tells others of itself is
//! looked at the more seldom the longer that takes.

mod failed_starts;
mod left;
mod lookups;
mod met;
mod obstacle;
mod siblings;

pub(super) use failed_starts::{FAILED_MAX, FailedStarts, text_of};
pub(super) use siblings::{leave_note, sibling};

use super::host::Configurations;
use super::latest::Latest;
use super::proc;
use crate::cluster::{Address, NodeId};
use crate::diagnose::{Diagnosis, Distant, Facts, Process, Sibling, Stray};
use crate::settings::NodeSettings;
use crate::zen::Explanation;
use left::{abandoned, strays};
use lookups::LookUps;
use met::{Kept, Met};
use obstacle::Held;
use parking_lot::Mutex;
use siblings::{Look, siblings};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// For so long what was seen on the host is told.
const FRESH: Duration = Duration::from_secs(1);

/// So many times as long as it took to look others are told the same: who looks all the time keeps a busy machine busy.
const TOLD_TIMES: u32 = 10;

/// For so long at the most.
const TOLD_MAX: Duration = Duration::from_secs(10);

/// What is wrong, as it was told last, and what the node itself says.
pub(super) type Told = Arc<(Explanation, Diagnosis)>;

/// What was seen last. Whoever asks while somebody looks waits for what that one sees.
#[derive(Default)]
pub(super) struct Surroundings {
    neighbours: Mutex<Seen<Neighbours>>,
    processes: Mutex<Seen<(Vec<Address>, Vec<Process>)>>,
    facts: Mutex<Seen<Facts>>,
    files: Mutex<Configurations>,
    held: Mutex<Held>,
    pub(super) met: Met,
    pub(super) failed: FailedStarts,
    pub(super) look_ups: LookUps,
    pub(super) last: Latest<(), Told>,
}

/// The other nodes of a host and members of others, and data directories that were moved or that the node itself left.
#[derive(Clone, Default)]
pub(super) struct Neighbours {
    pub(super) siblings: Vec<Sibling>,
    pub(super) strays: Vec<Stray>,
    pub(super) abandoned: Option<String>,
    pub(super) distant: Vec<Distant>,
}

/// Something, and until when it is told.
struct Seen<T>(Option<(Instant, T)>);

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Seen(None)
    }
}

impl<T: Clone> Seen<T> {
    /// What was seen a moment ago, if it will do, else what is seen now, for as long as follows from how long that took.
    fn get(
        &mut self,
        clock: impl Fn() -> Instant,
        lasts: impl Fn(Duration) -> Duration,
        will_do: impl Fn(&T) -> bool,
        look: impl FnOnce() -> T,
    ) -> T {
        let began = clock();
        let is_fresh = |(until, seen): &&(Instant, T)| began < *until && will_do(seen);
        if let Some((_, seen)) = self.0.as_ref().filter(is_fresh) {
            return seen.clone();
        }
        let seen = look();
        let ended = clock();
        self.0 = Some((ended + lasts(ended - began), seen.clone()));
        seen
    }
}

/// How long what was seen on the host is told, however long it took.
fn a_moment(_: Duration) -> Duration {
    FRESH
}

/// How long others are told what took so long to see.
fn while_it_pays(looking: Duration) -> Duration {
    (looking * TOLD_TIMES).min(TOLD_MAX)
}

impl Surroundings {
    pub(super) fn neighbours(&self, settings: &NodeSettings, id: &NodeId) -> Neighbours {
        let look = || {
            let Kept { directories, distant } = self.met.all(&settings.path_data);
            let siblings =
                siblings(settings, &directories, &mut Look::around(&mut self.files.lock(), &mut self.held.lock()));
            Neighbours { strays: strays(settings, &siblings), abandoned: abandoned(settings, id), siblings, distant }
        };
        let mut seen = self.neighbours.lock();
        seen.get(Instant::now, a_moment, |_| true, look)
    }

    /// What a node tells of itself besides what its core knows, and no more often than it can bear: a hundred neighbours
    /// without a master ask each other all the time.
    pub(super) fn facts(&self, look: impl FnOnce() -> Facts) -> Facts {
        self.facts.lock().get(Instant::now, while_it_pays, |_| true, look)
    }

    /// Who listens at some addresses of this host.
    pub(super) fn processes(&self, addresses: Vec<Address>) -> Vec<Process> {
        let look = || {
            let found = proc::listeners(&addresses);
            (addresses.clone(), found)
        };
        let mut seen = self.processes.lock();
        seen.get(Instant::now, a_moment, |(asked, _)| *asked == addresses, look).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn one_looks_for_all_who_ask_within_a_second() {
        let (mut seen, begin) = (Seen::default(), Instant::now());
        let soon = begin + FRESH / 2;
        let mut get = |at: Instant, will_do: fn(&u32) -> bool, now: u32| seen.get(|| at, a_moment, will_do, || now);
        assert_eq!(get(begin, |_| true, 1), 1);
        assert_eq!(get(soon, |_| true, 2), 1);
        assert_eq!(get(soon, |seen| *seen == 3, 3), 3, "another question");
        assert_eq!(get(begin + FRESH, |_| true, 4), 3);
        assert_eq!(get(soon + FRESH, |_| true, 5), 5);
    }

    #[test]
    fn what_took_long_to_see_is_told_to_others_for_ten_times_as_long() {
        let (mut seen, begin, clock) = (Seen::default(), Instant::now(), Cell::new(Duration::ZERO));
        let mut asked_at = |millis: u64, takes: u64, sees: u32| {
            clock.set(Duration::from_millis(millis));
            let look = || {
                clock.set(Duration::from_millis(millis + takes));
                sees
            };
            seen.get(|| begin + clock.get(), while_it_pays, |_| true, look)
        };
        assert_eq!([asked_at(0, 7, 1), asked_at(76, 7, 2), asked_at(77, 5_000, 3)], [1, 1, 3]);
        assert_eq!([asked_at(15_076, 1, 4), asked_at(15_077, 1, 5)], [3, 5], "never for more than ten seconds");
    }
}
