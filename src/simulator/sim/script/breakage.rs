//! Breaks and mends: the world's faults, with names in the place of indices.

use super::mistake::{Mistake, ScriptError};
use super::script_world::ScriptWorld;
use super::words::Words;
use crate::sim::Fault;

/// The world's faults as scripts write them. A mode is `hole`, `refuse` or `requests`, and `hole` unless it is said.
pub(super) const FAULTS: &[&str] = &[
    "kill a…",
    "power-loss a…",
    "pause a…",
    "resume a…",
    "wipe a…",
    "clock a 1100000",
    "jump a 5000000",
    "seeds a down|up",
    "unreachable a [<mode>]",
    "reachable a…",
    "reset a b",
    "rate a 100000",
    "link a b [<mode>|up]",
    "cut a b [<mode>]",
    "isolate a [<mode>]",
    "partition a,b c… [<mode>]",
    "bridge a,b c d,e [<mode>]",
    "ring a,b,c [<mode>]",
    "mend [a b]",
    "weather delay=1000..1000 [loss=5] [duplicates=5] [rate=100000]",
    "link-weather a b delay=1000..1000 [loss=5] [duplicates=5] [rate=100000]",
    "retire a…",
    "arrive a…",
    "heal",
    "heal-only a,b",
];

/// Those that befall one node, of which a command may name several.
const OF_ONE: [&str; 8] = ["kill", "power-loss", "pause", "resume", "wipe", "reachable", "retire", "arrive"];

/// What the faults are called.
pub(super) fn verbs() -> impl Iterator<Item = &'static str> {
    FAULTS.iter().filter_map(|usage| usage.split(' ').next())
}

/// Injects what a line names.
pub(super) fn fault(stage: &mut ScriptWorld, text: &str) -> Result<(), ScriptError> {
    let words: Vec<String> = text.split_whitespace().map(|word| with_indices(stage, word)).collect();
    let verb = words.first().cloned().unwrap_or_default();
    let lines = match words.as_slice() {
        [verb, nodes @ ..] if OF_ONE.contains(&verb.as_str()) && !nodes.is_empty() => {
            nodes.iter().map(|node| format!("{verb} {node}")).collect()
        }
        words => vec![words.join(" ")],
    };
    for line in lines {
        let fault: Fault = line.parse().map_err(|_| {
            let usage = FAULTS.iter().find(|usage| usage.split(' ').next() == Some(&verb)).unwrap_or(&"");
            Mistake::new(format!("`{text}`"), *usage)
        })?;
        stage.world.inject(fault);
    }
    Ok(())
}

/// A word with the indices of nodes for their names, if it is names with commas between them.
fn with_indices(stage: &ScriptWorld, word: &str) -> String {
    let indices: Result<Vec<String>, _> =
        word.split(',').map(|name| stage.node(name).map(|node| format!("n{node}"))).collect();
    indices.map_or_else(|_| word.to_owned(), |indices| indices.join(","))
}

pub(super) fn start(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    for node in stage.nodes(words)? {
        stage.world.inject(Fault::Start(node));
    }
    Ok(())
}

pub(super) fn restart(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    for node in stage.nodes(words)? {
        stage.world.inject(Fault::Kill(node));
        stage.world.inject(Fault::Start(node));
    }
    Ok(())
}
