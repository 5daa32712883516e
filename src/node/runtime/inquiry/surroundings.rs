//! What lies around a node on its host: its neighbours, and who listens where. Looked at once for all who ask within a
//! second: it takes long, and a cluster that lost its master asks itself all at once.

use super::left::{abandoned, strays};
use super::lookups::LookUps;
use super::met::{Kept, Met};
use super::siblings::{Files, Look, siblings};
use crate::cluster::{Address, NodeId};
use crate::diagnose::{Distant, Process, Sibling};
use crate::runtime::proc;
use crate::settings::NodeSettings;
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// For so long what was seen is told.
const FRESH: Duration = Duration::from_secs(1);

/// What was seen last. Whoever asks while somebody looks waits for what that one sees.
#[derive(Default)]
pub(in crate::runtime) struct Surroundings {
    neighbours: Mutex<Seen<Neighbours>>,
    processes: Mutex<Seen<(Vec<Address>, Vec<Process>)>>,
    files: Mutex<Files>,
    pub(super) met: Met,
    pub(super) look_ups: LookUps,
}

/// The other nodes of a host and members of others, and data directories that were moved or that the node itself left.
#[derive(Clone, Default)]
pub(super) struct Neighbours {
    pub(super) siblings: Vec<Sibling>,
    pub(super) strays: Vec<(Address, String)>,
    pub(super) abandoned: Option<String>,
    pub(super) distant: Vec<Distant>,
}

/// Something, and when it was seen.
struct Seen<T>(Option<(Instant, T)>);

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Seen(None)
    }
}

impl<T: Clone> Seen<T> {
    /// What was seen a moment ago, if it will do, else what is seen now.
    fn get(&mut self, now: Instant, will_do: impl Fn(&T) -> bool, look: impl FnOnce() -> T) -> T {
        let is_fresh = |(at, seen): &&(Instant, T)| now < *at + FRESH && will_do(seen);
        if let Some((_, seen)) = self.0.as_ref().filter(is_fresh) {
            return seen.clone();
        }
        let seen = look();
        self.0 = Some((now, seen.clone()));
        seen
    }
}

impl Surroundings {
    pub(super) fn neighbours(&self, settings: &NodeSettings, id: &NodeId) -> Neighbours {
        let look = || {
            let Kept { directories, distant } = self.met.all(&settings.path_data);
            let siblings = siblings(settings, &directories, &mut Look::around(&mut self.files.lock()));
            Neighbours { strays: strays(settings, &siblings), abandoned: abandoned(settings, id), siblings, distant }
        };
        let mut seen = self.neighbours.lock();
        seen.get(Instant::now(), |_| true, look)
    }

    /// Who listens at some addresses of this host.
    pub(super) fn processes(&self, addresses: Vec<Address>) -> Vec<Process> {
        let look = || {
            let found = proc::listeners(&addresses);
            (addresses.clone(), found)
        };
        let mut seen = self.processes.lock();
        seen.get(Instant::now(), |(asked, _)| *asked == addresses, look).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_looks_for_all_who_ask_within_a_second() {
        let (mut seen, begin) = (Seen::default(), Instant::now());
        let soon = begin + FRESH / 2;
        assert_eq!(seen.get(begin, |_| true, || 1), 1);
        assert_eq!(seen.get(soon, |_| true, || 2), 1);
        assert_eq!(seen.get(soon, |seen| *seen == 3, || 3), 3, "another question");
        assert_eq!(seen.get(begin + FRESH, |_| true, || 4), 3);
        assert_eq!(seen.get(soon + FRESH, |_| true, || 5), 5);
    }
}
