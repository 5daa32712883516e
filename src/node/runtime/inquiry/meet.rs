//! Meets the members that are new: each is asked where it has its data and how it was started, and what it tells is kept.

use super::ask;
use crate::cluster::{Address, EphemeralId};
use crate::diagnose::Distant;
use crate::runtime::Handle;
use crate::runtime::addresses::is_here;
use crate::runtime::proc;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Beside more nodes nobody is asked: so many on one host are a trial of it.
const NEIGHBOURS_MAX: usize = 16;

/// How often it is looked for new ones at the most.
const PAUSE: Duration = Duration::from_millis(20);

/// How often one is asked at the most.
const ASKED_MAX: u8 = 3;

/// A member, as far as this is about it.
struct Other {
    is_here: bool,
    is_eligible: bool,
    /// How often it is still asked.
    left: u8,
}

/// Who is asked: everybody of few, and of many on other hosts those whose votes count, if these are few.
struct Worth {
    here: bool,
    elsewhere: bool,
    eligible: bool,
}

impl Worth {
    fn of<'a>(others: impl Iterator<Item = &'a Other> + Clone) -> Self {
        let are_few =
            |is_one: fn(&Other) -> bool| others.clone().filter(|other| is_one(other)).count() <= NEIGHBOURS_MAX;
        Worth {
            here: are_few(|other| other.is_here),
            elsewhere: are_few(|other| !other.is_here),
            eligible: are_few(|other| !other.is_here && other.is_eligible),
        }
    }

    fn asks(&self, other: &Other) -> bool {
        if other.is_here { self.here } else { self.elsewhere || other.is_eligible && self.eligible }
    }
}

/// Asks each member that is new where it has its data and how it was started, until the node has ended. Who does not tell
/// is asked again with another state, a few times.
pub async fn meet_neighbours(handle: Handle) {
    let mut states = handle.states();
    let mut others: BTreeMap<EphemeralId, Other> = BTreeMap::new();
    let own = handle.local().ephemeral_id.clone();
    loop {
        let state = states.borrow_and_update().clone();
        others.retain(|known, _| state.nodes.iter().any(|node| node.ephemeral_id == *known));
        for node in state.nodes.iter().filter(|node| node.ephemeral_id != own) {
            let is_eligible = node.is_master_eligible();
            let new = || Other { is_here: is_on_this_host(&node.address), is_eligible, left: ASKED_MAX };
            others.entry(node.ephemeral_id.clone()).or_insert_with(new);
        }
        let worth = Worth::of(others.values());
        for node in state.nodes.iter() {
            let Some(other) = others.get_mut(&node.ephemeral_id).filter(|other| other.left > 0) else { continue };
            if worth.asks(other) {
                other.left = if meet(&handle, &node.address).await { 0 } else { other.left - 1 };
            }
        }
        tokio::time::sleep(PAUSE).await;
        if states.changed().await.is_err() {
            return;
        }
    }
}

fn is_on_this_host(address: &Address) -> bool {
    address.as_str().parse::<SocketAddr>().is_ok_and(|at| is_here(&at.ip()))
}

/// Whether it tells. Other namespaces may have the same addresses, and other files.
async fn meet(handle: &Handle, address: &Address) -> bool {
    let Some(report) = ask(handle, address.clone()).await else { return false };
    let is_here = report.facts.machine == proc::machine() && report.facts.machine.is_some();
    let handle = handle.clone();
    let keep = move || {
        let (met, data) = (&handle.surroundings().met, &handle.settings().path_data);
        if is_here {
            met.keep(data, |kept| kept.add_directory(report.facts.data.into()));
        } else if let Some(distant) = Distant::of(&report).filter(|distant| !distant.address.is_loopback()) {
            met.keep(data, |kept| kept.add_distant(distant));
        }
    };
    let _ = tokio::task::spawn_blocking(keep).await;
    true
}
