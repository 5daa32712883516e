//! How a master goes, or what else is done to a cluster under its clients.

use crate::clock::pause;
use crate::cluster::Cluster;
use clap::ValueEnum;
use rustix::process::Signal;
use std::fmt;
use std::time::Duration;

/// How long a master is stopped, and how long a link is cut.
const STOPPED: Duration = Duration::from_secs(5);
const CUT: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Way {
    /// Nothing, which is what the others are to be read beside.
    Nothing,
    /// The master gets SIGKILL.
    Kill,
    /// The master gets SIGSTOP, and SIGCONT five seconds later.
    Stop,
    /// The master gets SIGTERM.
    Term,
    /// The master is asked to hand over, and stays.
    HandOver,
    /// Nothing passes between the master and one other node for three seconds.
    Cut,
    /// Five nodes get SIGTERM one after the other, each when the one before follows again.
    Rolling,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Nothing => "nothing",
            Way::Kill => "SIGKILL of the master",
            Way::Stop => "SIGSTOP of the master for 5 s",
            Way::Term => "SIGTERM of the master",
            Way::HandOver => "hand-over",
            Way::Cut => "master and one other cut off from each other for 3 s",
            Way::Rolling => "rolling restart of five nodes",
        })
    }
}

impl Way {
    pub(super) fn nodes(self) -> usize {
        match self {
            Way::Nothing | Way::Kill | Way::Stop | Way::Term | Way::HandOver | Way::Cut => 3,
            Way::Rolling => 5,
        }
    }

    /// Whether links are cut, for which each node has a network of its own.
    pub(super) fn is_wired(self) -> bool {
        self == Way::Cut
    }

    /// Whether clients ask at the master as well.
    pub(super) fn is_for_all(self) -> bool {
        self == Way::Rolling
    }

    /// Does it, the whole of it but for what the clients need not wait for.
    pub(super) fn go(self, cluster: &mut Cluster<'_>, master: usize, trial: usize) -> Result<(), String> {
        match self {
            Way::Nothing => {}
            Way::Kill => drop(cluster.node(master).signal(Signal::KILL)),
            Way::Term => drop(cluster.node(master).signal(Signal::TERM)),
            Way::Stop => {
                cluster.node(master).signal(Signal::STOP);
                pause(STOPPED);
                cluster.node(master).signal(Signal::CONT);
            }
            Way::HandOver => {
                let asked = cluster.peer.hand_over(&cluster.running(), master);
                return asked.unwrap_or_else(|| Err("its master cannot be asked to hand over".into()));
            }
            Way::Cut => {
                let others: Vec<usize> = (0..self.nodes()).filter(|node| *node != master).collect();
                let other = others[trial % others.len()];
                let wires = cluster.site.wires.as_ref().ok_or("the nodes have no networks of their own")?;
                wires.cut(master, other)?;
                wires.cut(other, master)?;
                pause(CUT);
                wires.mend()?;
            }
            Way::Rolling => {
                for node in 0..self.nodes() {
                    cluster.node(node).signal(Signal::TERM);
                    cluster.wait(node)?;
                    cluster.launch(node)?;
                    cluster.settle()?;
                }
            }
        }
        Ok(())
    }

    /// Makes the cluster whole again.
    pub(super) fn mend(self, cluster: &mut Cluster<'_>, master: usize) -> Result<(), String> {
        match self {
            Way::Kill | Way::Term => {
                cluster.wait(master)?;
                cluster.launch(master)?;
            }
            Way::Nothing | Way::Stop | Way::HandOver | Way::Cut | Way::Rolling => {}
        }
        cluster.settle().map(drop)
    }
}
