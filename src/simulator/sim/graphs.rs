//! Every way in which a few nodes can reach each other, and what must come of it.
//!
//! Each arrow between two nodes works or swallows what is sent along it. A graph is met by nodes that have never seen a
//! cluster, and by a cluster that was formed before. What must always hold is checked after every event. Where some node
//! has links in both directions to a quorum, one master must lead after the bound on recoveries, stay for a minute, and
//! be followed by everybody who has links to it in both directions.

use super::check::Checkers;
use super::cluster_world::{NodeSpec, add, address};
use super::{Fault, Mode, Violation, World};
use crate::protocol::{Protocol, Rng};
use crate::zen::rules::Rules;
use crate::zen::{Tuning, Zen};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

type Cluster = World<Zen, Checkers>;

/// How long a master must stay.
const CALM: Duration = Duration::from_secs(60);

/// Of so many nodes every graph is another one; of more, those that differ in nothing but the names are one.
const NAMED_MAX: usize = 4;

/// More nodes have too many graphs.
pub const NODES_MAX: usize = 5;

/// One graph, and who meets it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// How many nodes there are.
    pub nodes: usize,
    /// A bit for each ordered pair of different nodes, as in [`Fault::Graph`].
    pub arrows: u64,
    /// Whether the nodes formed a cluster before.
    pub is_warm: bool,
}

/// What came of a case that went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// No node has links to a quorum, so no master was demanded.
    NoneDemanded,
    /// One master leads, and stayed.
    OneMaster,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { nodes, arrows, is_warm } = self;
        write!(f, "graph {arrows} of {nodes} nodes, {}:", if *is_warm { "warm" } else { "cold" })?;
        let pairs = (0..*nodes).flat_map(|from| (0..*nodes).map(move |to| (from, to)));
        pairs.filter(|(from, to)| self.has(*from, *to)).try_for_each(|(from, to)| write!(f, " {from}→{to}"))
    }
}

/// Every `step`th case of so many nodes. Of five, graphs that differ in nothing but the names of the nodes are one case,
/// with names that are drawn.
pub fn cases(nodes: usize, step: usize) -> Vec<Case> {
    assert!((2..=NODES_MAX).contains(&nodes), "graphs of {nodes} nodes are not counted");
    let graphs = if nodes > NAMED_MAX { shapes(nodes) } else { (0..1 << (nodes * (nodes - 1))).collect() };
    let chosen = graphs.into_iter().step_by(step);
    chosen.flat_map(|arrows| [false, true].map(|is_warm| Case { nodes, arrows, is_warm })).collect()
}

/// One graph of each shape, with names that are drawn.
fn shapes(nodes: usize) -> Vec<u64> {
    let orders = orders(nodes);
    let mut is_known = vec![false; 1 << (nodes * (nodes - 1))];
    let mut rng = Rng::new(nodes as u64);
    let mut shapes = Vec::new();
    for arrows in 0..is_known.len() as u64 {
        if !is_known[arrows as usize] {
            let alike: Vec<u64> = orders.iter().map(|order| renamed(arrows, order)).collect();
            alike.iter().for_each(|arrows| is_known[*arrows as usize] = true);
            shapes.extend(rng.pick(&alike));
        }
    }
    shapes
}

/// Every order of so many nodes.
fn orders(nodes: usize) -> Vec<Vec<usize>> {
    (0..nodes).fold(vec![Vec::new()], |orders, node| {
        let places = |order: Vec<usize>| {
            (0..=order.len()).map(move |place| {
                let mut longer = order.clone();
                longer.insert(place, node);
                longer
            })
        };
        orders.into_iter().flat_map(places).collect()
    })
}

/// The same graph, with the nodes in another order.
fn renamed(arrows: u64, order: &[usize]) -> u64 {
    let pairs = (0..order.len()).flat_map(|from| (0..order.len()).map(move |to| (from, to)));
    let there = pairs.filter(|(from, to)| from != to && arrows >> place(order.len(), *from, *to) & 1 == 1);
    there.fold(0, |renamed, (from, to)| renamed | 1 << place(order.len(), order[from], order[to]))
}

/// Where the bit of an arrow is.
fn place(nodes: usize, from: usize, to: usize) -> usize {
    from * (nodes - 1) + to - usize::from(to > from)
}

impl Case {
    fn has(self, from: usize, to: usize) -> bool {
        from != to && self.arrows >> place(self.nodes, from, to) & 1 == 1
    }

    fn links(self, one: usize, two: usize) -> bool {
        one == two || self.has(one, two) && self.has(two, one)
    }

    /// Whether some node reaches, and is reached by, a majority of these, counting itself if it is one of them.
    pub fn allows_master(self, voters: &[usize]) -> bool {
        (0..self.nodes).any(|node| voters.iter().filter(|voter| self.links(node, **voter)).count() * 2 > voters.len())
    }

    /// What became of it, or what went wrong.
    pub fn play(self, rules: Rules) -> Result<Ending, Violation> {
        let played = catch_unwind(AssertUnwindSafe(|| self.play_out(rules)));
        played.unwrap_or_else(|panic| Err(Violation::assertion(panic.as_ref())))
    }

    fn play_out(self, rules: Rules) -> Result<Ending, Violation> {
        let mut world = self.stage(rules);
        let mut voters: Vec<usize> = (0..self.nodes).collect();
        let graph = Fault::Graph(self.arrows, Mode::Hole);
        if self.is_warm {
            self.start(&mut world);
            world.run_for(Tuning::default().recovery_bound())?;
            let master = reigning(&world)?;
            let zen = world.participant(master).expect("a master runs");
            let own = zen.ledger().accepted.metadata.voting.own.clone();
            voters.retain(|node| own.contains(&name(*node).into()));
            world.inject(graph);
        } else {
            world.inject(graph);
            self.start(&mut world);
        }
        world.run_for(Tuning::default().recovery_bound())?;
        if !self.allows_master(&voters) {
            return Ok(Ending::NoneDemanded);
        }
        let master = reigning(&world)?;
        let is_over = world.now() + CALM;
        let is_there = move |world: &Cluster| reigning(world).as_ref() == Ok(&master);
        if world.run_while(is_over, is_there)? {
            let when = CALM.saturating_sub(is_over.since(world.now()));
            let what = format!("{} did not stay master, {when:?} later {}", name(master), stances(&world));
            return Err(Violation { checker: "L2 a healthy master is never replaced", what });
        }
        self.demand_followers(&world, master)
    }

    fn stage(self, rules: Rules) -> Cluster {
        let mut world = World::new(self.arrows, Checkers::default());
        let hosts: Vec<_> = (0..self.nodes).map(address).collect();
        for node in 0..self.nodes {
            add(&mut world, NodeSpec { rules, ..NodeSpec::new(&name(node), address(node), &hosts) });
        }
        world
    }

    fn start(self, world: &mut Cluster) {
        (0..self.nodes).for_each(|node| world.inject(Fault::Start(node)));
    }

    fn demand_followers(self, world: &Cluster, master: usize) -> Result<Ending, Violation> {
        let leader = Some(address(master));
        let follows = |node: usize| world.participant(node).and_then(|zen| zen.standing().leader) == leader;
        match (0..self.nodes).find(|node| self.links(*node, master) && !follows(*node)) {
            Some(node) => no_master(format!("{} does not follow {}: {}", name(node), name(master), stances(world))),
            None => Ok(Ending::OneMaster),
        }
    }
}

fn no_master<T>(what: String) -> Result<T, Violation> {
    Err(Violation { checker: "L1 one master within the bound", what })
}

fn name(node: usize) -> String {
    format!("n{node}")
}

/// The one node that leads.
fn reigning(world: &Cluster) -> Result<usize, Violation> {
    let masters: Vec<usize> =
        world.participants().filter(|(_, zen)| zen.mastership().is_some()).map(|(node, _)| node).collect();
    match masters.as_slice() {
        [master] => Ok(*master),
        [] => no_master(format!("no master: {}", stances(world))),
        _ => no_master(format!("more than one master: {}", stances(world))),
    }
}

fn stances(world: &Cluster) -> String {
    let stances = world.participants().map(|(node, zen)| {
        let standing = zen.standing();
        format!("{} {} in term {} at {}", name(node), standing.mode, standing.term, zen.applied().id())
    });
    stances.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_that_differ_in_nothing_but_the_names_are_counted_once() {
        // The numbers of directed graphs without names, as the literature has them.
        assert_eq!([2, 3, 4, 5].map(|nodes| shapes(nodes).len()), [3, 16, 218, 9_608]);
        assert_eq!([3, 4, 5].map(|nodes| cases(nodes, 1).len()), [128, 8_192, 19_216]);
        assert_eq!(orders(4).len(), 24);
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
}
