//! Drops, holds and releases messages between nodes.

use super::mistake::ScriptError;
use super::rules::{Chosen, Kinds};
use super::script_world::ScriptWorld;
use super::words::Words;
use crate::sim::Passage;

fn chosen(stage: &ScriptWorld, words: &mut Words<'_>) -> Result<Chosen, ScriptError> {
    let from = words.after("from")?.map(|name| stage.node(name)).transpose()?;
    let to = words.after("to")?.map(|name| stage.node(name)).transpose()?;
    let kinds = Kinds::read(words.need("a kind of message, or `all`")?)?;
    Ok(Chosen { kinds, from, to })
}

fn stop(stage: &mut ScriptWorld, words: &mut Words<'_>, passage: Passage) -> Result<(), ScriptError> {
    let times = words.parsed("times", "a number")?;
    let chosen = chosen(stage, words)?;
    words.end()?;
    stage.rules.borrow_mut().add(chosen, passage, times);
    Ok(())
}

pub(super) fn drop_them(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    stop(stage, words, Passage::Drop)
}

pub(super) fn hold(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    stop(stage, words, Passage::Hold)
}

/// Lets some of what is held go on; the rules that hold it stay.
pub(super) fn deliver(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let chosen = chosen(stage, words)?;
    words.end()?;
    let count = stage.world.release(|from, to, message| chosen.contains(from, to, message));
    stage.say(format!("{count} delivered"));
    Ok(())
}

pub(super) fn release(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    words.end()?;
    stage.rules.borrow_mut().end(Passage::Hold);
    let count = stage.world.release(|_, _, _| true);
    stage.say(format!("{count} released"));
    Ok(())
}

pub(super) fn pass(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    words.end()?;
    stage.rules.borrow_mut().end(Passage::Drop);
    Ok(())
}
