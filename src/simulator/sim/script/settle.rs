//! Lets time pass: for a while, until something is so, or until nothing is left to do.

use super::mistake::{Mistake, ScriptError};
use super::script_world::{ScriptWorld, StoryWorld};
use super::show;
use super::story::moment;
use super::words::{Words, rank, time};
use crate::cluster::{ClusterState, NodeId, Term, Version};
use crate::protocol::Protocol;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How long a script waits unless it says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn advance(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let span = time(words.need("how long")?)?;
    words.end()?;
    Ok(stage.world.run_for(span)?)
}

/// Runs until one master leads these nodes, all at its version, and nobody waits for anything.
pub(super) fn stabilise(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let patience = patience(words)?;
    let nodes = stage.nodes(words)?;
    let took = run(stage, patience, |world| settled_master(world, &nodes).is_some())?;
    match (took, settled_master(&stage.world, &nodes)) {
        (Some(took), Some(master)) => {
            let told = show::mastership(stage, master);
            stage.say(format!("stable after {}: {told}", moment(took)));
        }
        _ => {
            stage.gave_up = true;
            stage.say(format!("not stable within {}", moment(patience)));
            show::masters(stage, &mut Words::of(""))?;
        }
    }
    Ok(())
}

fn patience(words: &mut Words<'_>) -> Result<Duration, Mistake> {
    Ok(words.after("within")?.map(time).transpose()?.unwrap_or(PATIENCE))
}

/// Runs until `is_so`, and tells how long that took if it came about in time.
fn run(
    stage: &mut ScriptWorld,
    patience: Duration,
    is_so: impl Fn(&StoryWorld) -> bool,
) -> Result<Option<Duration>, ScriptError> {
    let began = stage.world.now();
    let came = stage.world.run_while(began + patience, |world| !is_so(world))?;
    Ok(came.then(|| stage.world.now().since(began)))
}

/// The one master that all these nodes follow as far as they run, with nothing under way.
fn settled_master(world: &StoryWorld, nodes: &[usize]) -> Option<usize> {
    let running: Vec<usize> = nodes.iter().copied().filter(|node| world.is_running(*node)).collect();
    let master = running.iter().copied().find(|node| leads(world, *node))?;
    world.participant(master).filter(|member| member.is_settled())?;
    let ids = |nodes: &[usize]| -> BTreeSet<NodeId> {
        nodes.iter().filter_map(|node| Some(world.participant(*node)?.local().id.clone())).collect()
    };
    let shown = world.view(master)?;
    let members: BTreeSet<NodeId> = shown.nodes.iter().map(|node| node.id.clone()).collect();
    let is_with_it = |node: &usize| {
        let leader = world.participant(*node).and_then(|other| other.standing().leader);
        let is_shown = |view: &Arc<ClusterState>| view.id() == shown.id() && view.nodes.master == shown.nodes.master;
        leader.as_ref() == Some(world.peer(master)) && world.view(*node).is_some_and(is_shown)
    };
    let is_answered = world.watch.0.questions.values().all(|(asked, _)| !running.contains(asked));
    let is_settled = members == ids(&running) && running.iter().all(is_with_it) && is_answered;
    is_settled.then_some(master)
}

fn leads(world: &StoryWorld, node: usize) -> bool {
    world.participant(node).is_some_and(|zen| zen.standing().leader.as_ref() == Some(world.peer(node)))
}

/// Something that a script waits for.
enum Condition {
    SomeMaster,
    NoMaster,
    Answered,
    Leads(usize),
    Follows(usize, usize),
    Is(usize, &'static str),
    Holds(usize, (Term, Version)),
    Shows(usize, (Term, Version)),
}

const CONDITIONS: &str = "`master`, `no master`, `answered`, `a leads`, `a follows b`, `a is finding` (or electing, \
                          joining, leading, following), `a holds 1/3`, `a shows 1/3`";

const MODES: [&str; 5] = ["finding", "electing", "joining", "leading", "following"];

impl Condition {
    fn read(stage: &ScriptWorld, words: &[&str]) -> Result<Condition, Mistake> {
        let unknown = || Mistake::new(format!("`{}` as a condition", words.join(" ")), CONDITIONS);
        Ok(match words {
            ["master"] => Condition::SomeMaster,
            ["no", "master"] => Condition::NoMaster,
            ["answered"] => Condition::Answered,
            [name, "leads"] => Condition::Leads(stage.node(name)?),
            [name, "follows", master] => Condition::Follows(stage.node(name)?, stage.node(master)?),
            [name, "is", mode] => {
                let mode = MODES.iter().find(|known| *known == mode).ok_or_else(unknown)?;
                Condition::Is(stage.node(name)?, mode)
            }
            [name, "holds", id] => Condition::Holds(stage.node(name)?, rank(id)?),
            [name, "shows", id] => Condition::Shows(stage.node(name)?, rank(id)?),
            _ => return Err(unknown()),
        })
    }

    fn is_so(&self, world: &StoryWorld) -> bool {
        let of = |node: usize| world.participant(node);
        match self {
            Condition::SomeMaster => (0..world.len()).any(|node| leads(world, node)),
            Condition::NoMaster => !(0..world.len()).any(|node| leads(world, node)),
            Condition::Answered => world.watch.0.questions.is_empty(),
            Condition::Leads(node) => leads(world, *node),
            Condition::Follows(node, master) => {
                node != master && of(*node).and_then(|zen| zen.standing().leader).as_ref() == Some(world.peer(*master))
            }
            Condition::Is(node, mode) => of(*node).is_some_and(|member| member.mode_name() == *mode),
            Condition::Holds(node, rank) => world.disk(*node).accepted.as_ref().is_some_and(|own| own.rank() == *rank),
            Condition::Shows(node, rank) => world.view(*node).is_some_and(|view| view.rank() == *rank),
        }
    }
}

pub(super) fn until(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let patience = patience(words)?;
    let said = words.rest();
    let condition = Condition::read(stage, &said)?;
    match run(stage, patience, |world| condition.is_so(world))? {
        Some(took) => stage.say(format!("{} after {}", said.join(" "), moment(took))),
        None => {
            stage.gave_up = true;
            stage.say(format!("not so within {}: {}", moment(patience), said.join(" ")));
        }
    }
    Ok(())
}
