//! Whether seed hosts that had no address when a master was looked for have one now. A name server may not answer: one look-up
//! of all goes on at a time, however many ask, and nobody waits for it for long.

use crate::protocol::Unresolved;
use crate::runtime::seeds::places_of;
use crate::settings::NodeSettings;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// For so long what was found is told.
const FRESH: Duration = Duration::from_secs(10);

/// How long one who asks waits.
const PATIENCE: Duration = Duration::from_millis(300);

/// What was found last.
#[derive(Clone)]
pub(in crate::runtime) struct LookUps {
    turn: Arc<Semaphore>,
    found: Arc<Mutex<Option<Found>>>,
}

/// Those that had an address, and when.
struct Found {
    at: Instant,
    hosts: BTreeSet<Arc<str>>,
}

impl Default for LookUps {
    fn default() -> Self {
        LookUps { turn: Arc::new(Semaphore::new(1)), found: Arc::default() }
    }
}

impl LookUps {
    /// Those that have no address as far as is known.
    pub(in crate::runtime) async fn still_unresolved(
        &self,
        settings: &Arc<NodeSettings>,
        mut hosts: Vec<Unresolved>,
    ) -> Vec<Unresolved> {
        if !hosts.is_empty() {
            self.look(settings, &hosts).await;
        }
        if let Some(found) = &*self.found.lock() {
            hosts.retain(|host| !found.hosts.contains(&host.host));
        }
        hosts
    }

    /// Looks them up, unless somebody did a moment ago, or does.
    async fn look(&self, settings: &Arc<NodeSettings>, hosts: &[Unresolved]) {
        let is_fresh = self.found.lock().as_ref().is_some_and(|found| found.at.elapsed() < FRESH);
        let Some(turn) = self.turn.clone().try_acquire_owned().ok().filter(|_| !is_fresh) else { return };
        let (settings, found) = (settings.clone(), self.found.clone());
        let names: Vec<Arc<str>> = hosts.iter().map(|host| host.host.clone()).collect();
        let looking = tokio::spawn(async move {
            let one = |name: Arc<str>| {
                let settings = &settings;
                async move { places_of(settings, &name).await.is_ok().then_some(name) }
            };
            let hosts = join_all(names.into_iter().map(one)).await.into_iter().flatten().collect();
            *found.lock() = Some(Found { at: Instant::now(), hosts });
            drop(turn);
        });
        // It goes on for those who ask later.
        let _ = timeout(PATIENCE, looking).await;
    }
}
