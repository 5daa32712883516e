//! What is waited for after a full restart, before users get the state back.
//!
//! The state itself is there as soon as a master is: a quorum had it on disk. But whoever acts on it may want more nodes
//! to be there first, and until then a block refuses users' requests. That holds if nobody whom the new master heard of, itself
//! included, has applied a state since it was started. Transient settings end then as well, if the master heard of every
//! node of the last state. Mirrors `GatewayService` and `Gateway.performStateRecovery` (6.8).

use crate::cluster::Nodes;
use std::time::Duration;

/// The rules of `gateway.*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gateway {
    /// With so many master-eligible and data nodes nothing more is waited for.
    pub expected_nodes: Option<u32>,
    /// With so many master-eligible nodes nothing more is waited for.
    pub expected_master_nodes: Option<u32>,
    /// With so many data nodes nothing more is waited for.
    pub expected_data_nodes: Option<u32>,
    /// With fewer master-eligible and data nodes the state is not given back.
    pub recover_after_nodes: Option<u32>,
    /// With fewer master-eligible nodes the state is not given back.
    pub recover_after_master_nodes: Option<u32>,
    /// With fewer data nodes the state is not given back.
    pub recover_after_data_nodes: Option<u32>,
    /// How long the expected nodes are waited for.
    pub recover_after_time: Option<Duration>,
}

/// Whether users may have the state back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// They may.
    Ready,
    /// They may after a time.
    After(Duration, String),
    /// They may not.
    NotYet,
}

impl Gateway {
    /// How long Elasticsearch waits for nodes that are expected, if it is not told.
    pub const EXPECTED_WAIT: Duration = Duration::from_secs(300);

    /// Judges by the nodes that are there.
    pub fn readiness(&self, nodes: &Nodes) -> Readiness {
        let masters = nodes.eligible().count();
        let data = nodes.data().count();
        let all = nodes.iter().filter(|node| node.is_master_eligible() || node.is_data()).count();
        let is_below = |found: usize, wanted: Option<u32>| wanted.is_some_and(|wanted| found < wanted as usize);
        if is_below(all, self.recover_after_nodes)
            || is_below(data, self.recover_after_data_nodes)
            || is_below(masters, self.recover_after_master_nodes)
        {
            return Readiness::NotYet;
        }
        let expected = [
            (all, self.expected_nodes, "nodes"),
            (data, self.expected_data_nodes, "data nodes"),
            (masters, self.expected_master_nodes, "master nodes"),
        ];
        let expects = expected.iter().any(|(_, wanted, _)| wanted.is_some());
        let missing = expected.iter().find(|(found, wanted, _)| is_below(*found, *wanted));
        let default = if expects { Some(Self::EXPECTED_WAIT) } else { None };
        let wait = self.recover_after_time.or(default).filter(|wait| !wait.is_zero());
        match (wait, missing) {
            (Some(wait), Some((found, wanted, what))) => {
                let wanted = wanted.unwrap_or(0);
                Readiness::After(wait, format!("expecting [{wanted}] {what}, but only have [{found}]"))
            }
            (Some(wait), None) if !expects => {
                Readiness::After(wait, format!("recover_after_time was set to [{wait:?}]"))
            }
            (Some(_) | None, _) => Readiness::Ready,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Node, Roles};
    use std::sync::Arc;

    fn nodes(masters: u32, data: u32) -> Nodes {
        let node = |id: u32| {
            Arc::new(Node {
                id: format!("n{id}").into(),
                ephemeral_id: format!("e{id}").into(),
                name: "n".into(),
                address: format!("h:{id}").into(),
                roles: Roles { master: id < masters, data: id >= masters, ingest: false },
                attributes: Arc::default(),
                version: "6.8.23".into(),
            })
        };
        (0..masters + data).map(node).collect()
    }

    #[test]
    fn floors_come_before_expectations_and_both_before_the_time() {
        let free = Gateway::default();
        assert_eq!(free.readiness(&nodes(1, 0)), Readiness::Ready);
        let floor = Gateway { recover_after_data_nodes: Some(2), ..free.clone() };
        assert_eq!(floor.readiness(&nodes(3, 1)), Readiness::NotYet);
        assert_eq!(floor.readiness(&nodes(3, 2)), Readiness::Ready);
        let wait = Duration::from_secs(5);
        let time = Gateway { recover_after_time: Some(wait), ..free.clone() };
        let reason = "recover_after_time was set to [5s]".to_string();
        assert_eq!(
            time.readiness(&nodes(9, 9)),
            Readiness::After(wait, reason),
            "as in Elasticsearch, whoever is there"
        );
        let expects = Gateway { expected_nodes: Some(3), expected_master_nodes: Some(2), ..free.clone() };
        let reason = "expecting [2] master nodes, but only have [1]".to_string();
        assert_eq!(expects.readiness(&nodes(1, 2)), Readiness::After(Gateway::EXPECTED_WAIT, reason));
        assert_eq!(expects.readiness(&nodes(2, 1)), Readiness::Ready);
        let hasty = Gateway { recover_after_time: Some(Duration::ZERO), ..expects };
        assert_eq!(hasty.readiness(&nodes(1, 0)), Readiness::Ready, "it waits no time");
    }
}
