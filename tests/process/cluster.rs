//! Some nodes that know of each other, and what tests wait for in them.

use super::node::{Node, PATIENCE, wait_for};
use super::place::{Scratch, Turn};
use super::ports::free_port;
use super::view::View;
use std::collections::BTreeSet;

/// How often a cluster is started anew when somebody else took one of its ports.
const STARTS: usize = 3;

/// A cluster under test. Its nodes are called `n0`, `n1` and so on.
pub(crate) struct Cluster {
    // In this order, so that the nodes end before their files and the turn do.
    pub(crate) nodes: Vec<Node>,
    pub(crate) scratch: Scratch,
    _turn: Turn,
}

impl Cluster {
    /// Starts nodes that differ in nothing but their names, and waits until they have formed a cluster.
    pub(crate) fn start(count: usize) -> Self {
        Self::start_with(count, |_, _| {})
    }

    /// The same, after the test has changed what it wants of the nodes.
    pub(crate) fn start_with(count: usize, change: impl Fn(usize, &mut Node)) -> Self {
        let cluster = Self::start_apart(count, change);
        let all: Vec<usize> = (0..count).collect();
        cluster.wait_redundant(&all);
        cluster
    }

    /// The same without waiting for a cluster: the nodes run.
    pub(crate) fn start_apart(count: usize, change: impl Fn(usize, &mut Node)) -> Self {
        let turn = Turn::wait();
        let scratch = Scratch::new();
        for _ in 0..STARTS {
            let nodes = run(&scratch, count, &change);
            if nodes.iter().any(|node| node.log().contains("cannot listen on")) {
                continue;
            }
            return Cluster { nodes, scratch, _turn: turn };
        }
        panic!("ports are taken faster than nodes can listen; run fewer other things beside this test");
    }

    /// A node of its own, with a seed list that names this cluster. It is not started.
    pub(crate) fn stranger(&self, cluster: &str, name: &str) -> Node {
        let mut node = Node::new(self.scratch.path(), cluster, name, (free_port(), free_port()));
        node.seeds(&self.transports());
        node
    }

    pub(crate) fn transports(&self) -> Vec<u16> {
        self.nodes.iter().map(|node| node.transport).collect()
    }

    /// All but these.
    pub(crate) fn others(&self, without: &[usize]) -> Vec<usize> {
        (0..self.nodes.len()).filter(|at| !without.contains(at)).collect()
    }

    pub(crate) fn kill(&mut self, at: usize) {
        self.nodes[at].kill();
    }

    pub(crate) fn restart(&mut self, at: usize) {
        self.nodes[at].start();
    }

    pub(crate) fn view(&self, at: usize) -> View {
        self.wait(&format!("n{at} answers"), || self.nodes[at].view())
    }

    /// Waits for something, or shows what all nodes say.
    pub(crate) fn wait<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        wait_for(look).unwrap_or_else(|| {
            let tails: Vec<String> = self.nodes.iter().map(Node::tail).collect();
            panic!("not within {PATIENCE:?}: {what}\n{}", tails.join(""))
        })
    }

    /// Waits until these nodes hold one state that lists just them and has one of them as its master; tells which.
    pub(crate) fn wait_master(&self, among: &[usize]) -> usize {
        self.wait_alike(among, |one, other| one == other)
    }

    /// Waits until these are a cluster, and none of them is about to get a vote: who may be killed then, and not before.
    pub(crate) fn wait_redundant(&self, among: &[usize]) -> usize {
        self.wait("all vote who will", || {
            let master = self.wait_master(among);
            let told = self.nodes[master].get("/_cluster/health").ok()?;
            // Those that let nobody in say something else.
            (told.status != 200 || told.json()["status"] == "green").then_some(())
        });
        self.wait_master(among)
    }

    /// A cluster of just these while clients write: no two nodes need hold one state at a time, but follow one master and
    /// list just these.
    pub(crate) fn wait_master_under_load(&self, among: &[usize]) -> usize {
        self.wait_alike(among, |one, other| {
            (one.term, &one.master, &one.members) == (other.term, &other.master, &other.members)
        })
    }

    fn wait_alike(&self, among: &[usize], is_alike: fn(&View, &View) -> bool) -> usize {
        let names: BTreeSet<String> = among.iter().map(|at| self.nodes[*at].name.clone()).collect();
        let agree = || {
            let views: Option<Vec<View>> = among.iter().map(|at| self.nodes[*at].view()).collect();
            let views = views?;
            let first = views.first()?;
            let is_fit = |view: &View| is_alike(view, first) && view.members == names && view.blocks.is_empty();
            views.iter().all(is_fit).then_some(first.master.clone()?)
        };
        let master = self.wait(&format!("{names:?} form a cluster of just them"), agree);
        among
            .iter()
            .copied()
            .find(|at| self.nodes[*at].name == master)
            .expect("the master is one of the nodes it lists")
    }

    /// Waits until a node says that it has no master.
    pub(crate) fn wait_no_master(&self, at: usize) -> View {
        self.wait(&format!("n{at} has no master"), || self.nodes[at].view().filter(|view| view.master.is_none()))
    }
}

fn run(scratch: &Scratch, count: usize, change: &impl Fn(usize, &mut Node)) -> Vec<Node> {
    let ports: Vec<(u16, u16)> = (0..count).map(|_| (free_port(), free_port())).collect();
    let transports: Vec<u16> = ports.iter().map(|(_, transport)| *transport).collect();
    let mut nodes = Vec::new();
    for (at, ports) in ports.into_iter().enumerate() {
        let mut node = Node::new(scratch.path(), "tested", &format!("n{at}"), ports);
        // The log tells whether a port was taken, in this attempt.
        let _ = std::fs::remove_file(node.home().join("log"));
        node.seeds(&transports);
        change(at, &mut node);
        node.start();
        nodes.push(node);
    }
    let is_asked = |node: &Node| !node.settings.iter().any(|line| line == "http.enabled: false");
    let is_there = |node: &mut Node| !node.is_alive() || !is_asked(node) || node.state().is_some();
    wait_for(|| nodes.iter_mut().all(is_there).then_some(()));
    nodes
}
