//! How Zen's messages travel: how many bytes they have, about, and which need no connection of their own.
//!
//! States are weighed and not written down, because that is done for every message on a link with a rate.

use crate::cluster::{ClusterState, Diff};
use crate::wire;
use crate::zen::message::{Body, Message};

/// What a state has besides its nodes, settings and keys, and what a change has besides the same.
const FRAME_BYTES: usize = 400;
/// A node as it is written, about.
const NODE_BYTES: usize = 300;
/// A key, a setting or a request besides its text, about.
const ENTRY_BYTES: usize = 40;
/// What random runs add to each state, which their clients do not make large.
const BULK_BYTES: usize = 300_000;
/// What is larger goes over a connection of its own, as in the runtime.
const OVER_LINK_MAX: usize = 32 << 10;

/// How many bytes a message has, about.
pub(super) fn bytes(message: &Message) -> usize {
    if let Message::Publish { body, .. } = message {
        return match body {
            Body::Full(state) => of_state(state),
            Body::Diff(diff) => of_diff(diff),
        };
    }
    if let Message::Fetched { state: Some(state), .. } = message { of_state(state) } else { wire::size(message) }
}

/// How many bytes a message would have if every state had so many more.
pub(super) fn bytes_in_bulk(message: &Message) -> usize {
    let is_full =
        matches!(message, Message::Publish { body: Body::Full(_), .. } | Message::Fetched { state: Some(_), .. });
    bytes(message) + if is_full { BULK_BYTES } else { 0 }
}

/// Whether a request goes over an open link between the two: a master and its followers keep asking after each other
/// there, and send what is small. What is said while nodes find each other or part needs a connection.
pub(super) fn goes_over_links(message: &Message) -> bool {
    let is_beat = matches!(message, Message::NodePing { .. } | Message::MasterPing { .. });
    let may_be_small = matches!(message, Message::Publish { .. } | Message::Commit { .. } | Message::Submit { .. });
    is_beat || may_be_small && bytes(message) <= OVER_LINK_MAX
}

fn of_state(state: &ClusterState) -> usize {
    let metadata = &state.metadata;
    let settings = metadata.persistent.len() + metadata.transient.len();
    let entries = metadata.keys.len() + metadata.leases.len() + settings;
    let keys = usize::try_from(metadata.key_bytes).unwrap_or(usize::MAX);
    FRAME_BYTES + state.nodes.len() * NODE_BYTES + entries * ENTRY_BYTES + keys
}

fn of_diff(diff: &Diff) -> usize {
    let keys = diff.metadata.keys.put.iter();
    let keys: usize = keys.map(|(key, held)| ENTRY_BYTES + key.len() + held.value.as_bytes().len()).sum();
    FRAME_BYTES + diff.nodes.put.len() * NODE_BYTES + diff.metadata.keys.removed.len() * ENTRY_BYTES + keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Time;
    use crate::service::{Put, Question, Task, Txn};
    use crate::sim::cluster_world::{self, NodeSpec, address};
    use crate::sim::{Violation, Watch, World};
    use crate::zen::Zen;
    use std::time::Duration;

    /// Writes down what each message has in bytes, and what it is taken for.
    #[derive(Default)]
    struct Scales(Vec<(&'static str, usize, usize)>);

    impl Watch<Zen> for Scales {
        fn sent(&mut self, _: Time, _: usize, _: usize, message: &Message) -> Result<(), Violation> {
            self.0.push((message.kind(), wire::size(message), bytes(message)));
            Ok(())
        }
    }

    #[test]
    fn what_a_message_is_taken_for_is_about_what_it_has() {
        let mut world = World::new(1, Scales::default());
        let hosts: Vec<_> = (0..3).map(address).collect();
        for (name, place) in ["a", "b", "c"].into_iter().zip(&hosts) {
            cluster_world::add(&mut world, NodeSpec::new(name, place.clone(), &hosts));
        }
        world.start_all();
        world.run_for(Duration::from_secs(3)).expect("nothing is checked");
        for number in 0..50 {
            let value = "v".repeat(number * 100);
            let puts = vec![Put { key: format!("key{number}").into(), value: value.as_str().into(), lease: None }];
            let (timeout, task) = (Duration::from_secs(1), Task::Txn(Txn { puts, ..Txn::default() }));
            world.ask(1, Question::Submit { task, timeout, master_timeout: timeout });
            world.run_for(Duration::from_millis(100)).expect("nothing is checked");
        }
        let off = world.watch.0.iter().filter(|(_, real, taken)| *taken > real * 2 || taken * 2 < *real);
        assert_eq!(off.collect::<Vec<_>>(), Vec::<&(&str, usize, usize)>::new());
        assert!(world.watch.0.iter().any(|(kind, real, _)| *kind == "publish" && *real > 4_000), "some were large");
    }
}
