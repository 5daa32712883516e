//! Plays the script of a flaw among nodes of this protocol, or of Zen as it was.

use super::Flaw;
use crate::sim::script::{Script, ScriptError, ScriptWorld};
use crate::zen68::Dialect;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a script showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayOutcome {
    /// The flaw, and how it was seen.
    Flawed(String),
    /// The oracle stayed silent.
    Clean,
    /// The script could not be played to its end.
    Broken(String),
}

/// Plays the script of a flaw among nodes of this Zen, or of none.
pub fn play(flaw: &Flaw, dialect: Option<Dialect>) -> PlayOutcome {
    match catch_unwind(AssertUnwindSafe(|| perform(flaw, dialect))) {
        Ok(Ok(Some(Ok(())))) => PlayOutcome::Clean,
        Ok(Ok(Some(Err(evidence)))) => PlayOutcome::Flawed(evidence),
        Ok(Ok(None)) => PlayOutcome::Broken("the script asks no oracle".into()),
        Ok(Err(trouble)) => PlayOutcome::Broken(format!("line {}: {trouble}", trouble.line())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            PlayOutcome::Broken(format!("a node panicked: {text}"))
        }
    }
}

fn perform(flaw: &Flaw, dialect: Option<Dialect>) -> Result<Option<Result<(), String>>, ScriptError> {
    let script = Script::parse(flaw.script)?;
    let mut stage = ScriptWorld::under(dialect);
    for block in script.blocks() {
        stage.play(block)?;
    }
    Ok(stage.verdict())
}
