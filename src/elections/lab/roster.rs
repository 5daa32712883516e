//! The table of the lab's algorithms: what each is called, what it is, and how a process of it is made.
//!
//! Whoever wants to run one of them without knowing its types is a [`Stage`]: the arena makes a world of it, the live
//! nodes a process.

use super::bully::{Bully, Repairs};
use super::bully_failover::BullyFailover;
use super::candidates::Candidates;
use super::emergent::{Emergent, Heartbeats, Setup};
use super::invitation::Invitation;
use super::kafka::Kafka;
use super::paxos_lease::PaxosLease;
use super::redis_cluster::ClusterNode;
use super::ring::Ring;
use super::sentinel::Sentinel;
use super::zookeeper::{Server, Trust};
use super::zookeeper_old::OldServer;
use super::{Algorithm, Rank};

/// One algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is called, on the command line and as `discovery.type`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Where it is described.
    pub source: &'static str,
}

const fn part(name: &'static str, source: &'static str, about: &'static str) -> Part {
    Part { name, about, source }
}

/// All of them.
pub const ROSTER: &[Part] = &[
    part("bully", "src/elections/lab/bully.rs", "the highest id leads"),
    part("bully-majority", "src/elections/lab/bully.rs", "Bully, newest transaction first, more than half take part"),
    part("bully-steady", "src/elections/lab/bully.rs", "Bully, those first who were alive all the time"),
    part("bully-failover", "src/elections/lab/bully_failover.rs", "Bully, the leader names alternates"),
    part("candidates", "src/elections/lab/candidates.rs", "only candidates lead, others ask them"),
    part("invitation", "src/elections/lab/invitation.rs", "groups merge by invitation, several leaders allowed"),
    part("ring", "src/elections/lab/ring.rs", "ids are collected around a ring"),
    part("ring-highest", "src/elections/lab/ring.rs", "the highest id goes around a ring"),
    part("paxos-lease", "src/elections/lab/paxos_lease.rs", "a lease from a majority, diskless"),
    part("fast-leader-election", "src/elections/lab/zookeeper.rs", "ZooKeeper: votes for the newest data"),
    part(
        "auth-fast-leader-election",
        "src/elections/lab/zookeeper.rs",
        "ZooKeeper: the same votes, senders are challenged",
    ),
    part("leader-election", "src/elections/lab/zookeeper_old.rs", "ZooKeeper's first: servers poll each other"),
    part("redis-sentinel", "src/elections/lab/sentinel.rs", "watchers agree, elect one, it promotes a replica"),
    part("redis-cluster", "src/elections/lab/redis_cluster.rs", "masters vote for a replica"),
    part(
        "kafka-controller",
        "src/elections/lab/kafka.rs",
        "first to create an ephemeral node, the last process is the service",
    ),
    part("emergent-leader", "src/elections/lab/emergent.rs", "the oldest member leads"),
    part("emergent-leader-ring", "src/elections/lab/emergent.rs", "the oldest member leads, heartbeats along a ring"),
    part(
        "emergent-leader-minimum",
        "src/elections/lab/emergent.rs",
        "the oldest member leads, if more than half are there",
    ),
];

/// Runs an algorithm whatever its types are.
pub trait Stage {
    /// What comes of it.
    type Run;

    /// Runs processes that `make` makes, of their rank and what their disk holds.
    fn play<A: Algorithm + 'static>(self, make: impl Fn(Rank, A::Persisted) -> A + 'static) -> Self::Run;
}

/// Runs the algorithm of this name among so many; none if there is none.
pub fn play<S: Stage>(name: &str, nodes: usize, stage: S) -> Option<S::Run> {
    Some(match name {
        "bully" => bully(stage, nodes, Repairs::default()),
        "bully-majority" => bully(stage, nodes, Repairs { newest_first: true, steady_first: false }),
        "bully-steady" => bully(stage, nodes, Repairs { newest_first: false, steady_first: true }),
        "bully-failover" => stage.play::<BullyFailover>(|me, ()| BullyFailover::new(me)),
        "candidates" => {
            let candidates = candidates(nodes);
            stage.play::<Candidates>(move |me, ()| Candidates::new(me, &candidates))
        }
        "invitation" => stage.play::<Invitation>(|me, ()| Invitation::new(me)),
        "ring" => stage.play::<Ring>(|me, ()| Ring::new(me, true)),
        "ring-highest" => stage.play::<Ring>(|me, ()| Ring::new(me, false)),
        "paxos-lease" => stage.play::<PaxosLease>(|me, ()| PaxosLease::new(me)),
        "fast-leader-election" => stage.play::<Server>(|me, data| Server::new(me, data, Trust::Open, &[])),
        "auth-fast-leader-election" => stage.play::<Server>(|me, data| Server::new(me, data, Trust::Challenged, &[])),
        "leader-election" => stage.play::<OldServer>(OldServer::new),
        "redis-sentinel" => {
            let quorum = nodes / 2 + 1;
            stage.play::<Sentinel>(move |me, kept| Sentinel::new(me, Rank(1), quorum, 100, kept))
        }
        "redis-cluster" => {
            let masters: Vec<Rank> = (2..=if nodes < 9 { 3 } else { 5 }).map(Rank).collect();
            stage.play::<ClusterNode>(move |me, kept| ClusterNode::new(me, Rank(1), &masters, kept))
        }
        "kafka-controller" => stage.play::<Kafka>(move |me, epoch| Kafka::new(me, Rank(nodes as u32), epoch)),
        "emergent-leader" => emergent(stage, Heartbeats::All, 1),
        "emergent-leader-ring" => emergent(stage, Heartbeats::Ring, 1),
        "emergent-leader-minimum" => emergent(stage, Heartbeats::All, nodes / 2 + 1),
        _ => return None,
    })
}

/// The lowest third, two at least, and the highest.
fn candidates(nodes: usize) -> Vec<Rank> {
    let low = (nodes / 3).max(2) as u32;
    (1..=low).chain([nodes as u32]).map(Rank).collect()
}

fn bully<S: Stage>(stage: S, nodes: usize, repairs: Repairs) -> S::Run {
    // What was replicated to whom: the newest transactions are those of the middle.
    let middle = nodes.div_ceil(2) as u32;
    let transaction = move |me: Rank| u64::from(middle.saturating_sub(me.0.abs_diff(middle)));
    stage.play::<Bully>(move |me, ()| Bully::new(me, repairs, transaction(me)))
}

fn emergent<S: Stage>(stage: S, heartbeats: Heartbeats, minimum: usize) -> S::Run {
    let setup = Setup { seeds: vec![Rank(1), Rank(2)], heartbeats, minimum };
    stage.play::<Emergent>(move |me, ()| Emergent::new(me, setup.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Stage for Nothing {
        type Run = ();

        fn play<A: Algorithm + 'static>(self, make: impl Fn(Rank, A::Persisted) -> A + 'static) {
            make(Rank(1), A::Persisted::default());
        }
    }

    #[test]
    fn every_part_of_the_roster_can_be_played_and_nothing_else() {
        for part in ROSTER {
            assert_eq!(play(part.name, 5, Nothing), Some(()), "{}", part.name);
        }
        assert_eq!(play("zen", 5, Nothing), None);
    }
}
