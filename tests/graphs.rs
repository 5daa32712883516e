//! Every way in which three nodes can reach each other, and a seventh of the ways of four.
//!
//! Each arrow between two nodes works or swallows what is sent along it. A graph is met by nodes that have never seen a
//! cluster, and by a cluster that was formed before. What must always hold is checked after every event. Where some node
//! has links in both directions to a quorum, one master must lead after the bound on recoveries, stay for a minute, and
//! be followed by everybody who has links to it in both directions.

use std::fmt;
use std::time::Duration;
use zazen::protocol::Protocol;
use zazen::sim::check::Checkers;
use zazen::sim::cluster_world::{NodeSpec, add, address};
use zazen::sim::{Fault, Mode, Violation, World};
use zazen::zen::{Tuning, Zen};

type Cluster = World<Zen, Checkers>;

/// How long a master must stay.
const CALM: Duration = Duration::from_secs(60);

/// One graph, and who meets it.
#[derive(Clone, Copy)]
struct Case {
    nodes: usize,
    /// A bit for each ordered pair of different nodes, as in [`Fault::Graph`].
    arrows: u64,
    is_warm: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { nodes, arrows, is_warm } = self;
        write!(f, "graph {arrows} of {nodes} nodes, {}:", if *is_warm { "warm" } else { "cold" })?;
        let pairs = (0..*nodes).flat_map(|from| (0..*nodes).map(move |to| (from, to)));
        pairs.filter(|(from, to)| self.has(*from, *to)).try_for_each(|(from, to)| write!(f, " {from}→{to}"))
    }
}

impl Case {
    fn has(self, from: usize, to: usize) -> bool {
        let place = from * (self.nodes - 1) + to - usize::from(to > from);
        from != to && self.arrows >> place & 1 == 1
    }

    fn links(self, one: usize, two: usize) -> bool {
        one == two || self.has(one, two) && self.has(two, one)
    }

    /// Whether some node reaches, and is reached by, a majority of these, counting itself if it is one of them.
    fn allows_master(self, voters: &[usize]) -> bool {
        (0..self.nodes).any(|node| voters.iter().filter(|voter| self.links(node, **voter)).count() * 2 > voters.len())
    }

    /// What went wrong, if anything did.
    fn play(self) -> Result<(), String> {
        let mut world = self.stage();
        let mut voters: Vec<usize> = (0..self.nodes).collect();
        let graph = Fault::Graph(self.arrows, Mode::Hole);
        if self.is_warm {
            self.start(&mut world);
            world.run_for(Tuning::default().recovery_bound()).map_err(told)?;
            let master = reigning(&world)?;
            let zen = world.participant(master).expect("a master runs");
            let own = zen.ledger().accepted.metadata.voting.own.clone();
            voters.retain(|node| own.contains(&name(*node).into()));
            world.inject(graph);
        } else {
            world.inject(graph);
            self.start(&mut world);
        }
        world.run_for(Tuning::default().recovery_bound()).map_err(told)?;
        if !self.allows_master(&voters) {
            return Ok(());
        }
        let master = reigning(&world)?;
        let is_over = world.now() + CALM;
        let is_gone = move |world: &Cluster| reigning(world).as_ref() != Ok(&master);
        if world.run_while(is_over, |world| !is_gone(world)).map_err(told)? {
            let when = CALM.saturating_sub(is_over.since(world.now()));
            return Err(format!("{} did not stay master, {when:?} later {}", name(master), stances(&world)));
        }
        self.demand_followers(&world, master)
    }

    fn stage(self) -> Cluster {
        let mut world = World::new(self.arrows, Checkers::default());
        let hosts: Vec<_> = (0..self.nodes).map(address).collect();
        for node in 0..self.nodes {
            add(&mut world, NodeSpec::new(&name(node), address(node), &hosts));
        }
        world
    }

    fn start(self, world: &mut Cluster) {
        (0..self.nodes).for_each(|node| world.inject(Fault::Start(node)));
    }

    fn demand_followers(self, world: &Cluster, master: usize) -> Result<(), String> {
        let leader = Some(address(master));
        let follows = |node: usize| world.participant(node).and_then(|zen| zen.standing().leader) == leader;
        match (0..self.nodes).find(|node| self.links(*node, master) && !follows(*node)) {
            Some(node) => Err(format!("{} does not follow {}: {}", name(node), name(master), stances(world))),
            None => Ok(()),
        }
    }
}

fn name(node: usize) -> String {
    format!("n{node}")
}

/// The one node that reigns.
fn reigning(world: &Cluster) -> Result<usize, String> {
    let masters: Vec<usize> =
        world.participants().filter(|(_, zen)| zen.reign().is_some()).map(|(node, _)| node).collect();
    match masters.as_slice() {
        [master] => Ok(*master),
        [] => Err(format!("no master: {}", stances(world))),
        _ => Err(format!("more than one master: {}", stances(world))),
    }
}

fn stances(world: &Cluster) -> String {
    let stances = world.participants().map(|(node, zen)| {
        let standing = zen.standing();
        format!("{} {} in term {} at {}", name(node), standing.mode, standing.term, zen.applied().id())
    });
    stances.collect::<Vec<_>>().join(", ")
}

fn told(violation: Violation) -> String {
    violation.to_string()
}

/// Plays every `step`th graph of so many nodes, cold and warm.
fn demand_all(nodes: usize, step: usize) {
    let graphs = (0..1_u64 << (nodes * (nodes - 1))).step_by(step);
    let cases: Vec<Case> =
        graphs.flat_map(|arrows| [false, true].map(|is_warm| Case { nodes, arrows, is_warm })).collect();
    let failures: Vec<String> =
        cases.iter().filter_map(|case| case.play().err().map(|why| format!("{case}: {why}"))).collect();
    assert!(
        failures.is_empty(),
        "{} of {} cases failed; play one as a script with `link`:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

#[test]
fn three_nodes_find_a_master_in_every_graph_that_allows_one() {
    demand_all(3, 1);
}

#[test]
fn four_nodes_find_a_master_in_every_seventh_graph_that_allows_one() {
    // An odd step leaves no arrow broken in all of them.
    demand_all(4, 7);
}

#[test]
fn a_graph_that_allows_a_master_is_told_from_one_that_does_not() {
    let case = |arrows| Case { nodes: 3, arrows, is_warm: false };
    let all = [0, 1, 2];
    assert!(case(0b11_11_11).allows_master(&all));
    // 0→1, 1→0.
    assert!(case(0b00_01_01).allows_master(&all));
    // A circle: 0→1, 1→2, 2→0.
    assert!(!case(0b01_10_01).allows_master(&all));
    assert!(!case(0).allows_master(&all));
}
