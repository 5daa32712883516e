//! Many updates one after the other, and what the witness says of what became of them.

use super::mistake::{Mistake, ScriptError};
use super::questions;
use super::script_world::ScriptWorld;
use super::settle;
use super::words::{Words, time};
use crate::sim::witness::Oracle;

/// So many updates at the most, so that a slip of the pen ends.
const UPDATES_MAX: usize = 1_000;
/// How long each may take before the next is asked for.
const PATIENCE: &str = "answered within 2m";

/// Writes `u1`, `u2` and so on, each when the one before was answered, and says how that ended.
pub(super) fn updates(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let count: usize = words
        .need("how many")?
        .parse()
        .ok()
        .filter(|count| *count <= UPDATES_MAX)
        .ok_or_else(|| Mistake::new("no number of updates", format!("a number up to {UPDATES_MAX}")))?;
    let (options, before) = (words.rest().join(" "), stage.world.watch.0.lines.len());
    for number in 1..=count {
        questions::put(stage, &mut Words::of(&format!("u{number} v{number} {options}")))?;
        settle::until(stage, &mut Words::of(PATIENCE))?;
    }
    let done = stage.world.watch.0.lines.split_off(before);
    let done = done.iter().filter(|line| line.contains(": done at")).count();
    stage.say(format!("{done} of {count} updates done"));
    Ok(())
}

/// Asks the witness whether a flaw showed.
pub(super) fn oracle(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let span = words.after("for")?.map(time).transpose()?;
    let name = words.need("a flaw")?;
    let oracle = Oracle::named(name).ok_or_else(|| {
        let names: Vec<&str> = Oracle::ALL.iter().map(|oracle| oracle.name()).collect();
        Mistake::new(format!("`{name}` as a flaw"), names.join(", "))
    })?;
    let nodes: Vec<usize> = words.rest().into_iter().map(|name| stage.node(name)).collect::<Result<_, _>>()?;
    let now = stage.world.now();
    let found = stage.world.watch.1.1.judge(oracle, now, &nodes, span.unwrap_or_else(|| oracle.span()));
    stage.say(match &found {
        Some(evidence) => format!("flaw: {evidence}"),
        None => "no flaw".into(),
    });
    stage.verdict = Some(found.map_or(Ok(()), Err));
    Ok(())
}
