//! Plays a script of a file, and prints it with what the nodes say.
//!
//! Where the script says what it expects, that is compared. The language is that of [`crate::sim::script`].

use crate::cli::quiet::quietly;
use crate::cli::{CommandError, CommandOutcome};
use crate::sim::script::{Block, Script, ScriptError as Stop, ScriptWorld};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Why a story ends before its file does.
enum Ending {
    /// Something in the file has no meaning.
    Mistake(usize, String),
    /// The nodes did what they must never do.
    Broken(usize, String),
}

/// Reads the script of a file.
pub(super) fn read(file: &Path) -> Result<Script, CommandError> {
    let name = file.display();
    let text = fs::read_to_string(file).map_err(|error| CommandError::Usage(format!("cannot read {name}: {error}")))?;
    Script::parse(&text).map_err(|mistake| CommandError::Usage(format!("{name}:{}: {mistake}", mistake.line)))
}

/// Plays the script of a file on a stage, and compares what came with what it expects if the rules are those it names.
pub(super) fn play(
    file: &Path,
    mut stage: ScriptWorld,
    compares: bool,
    out: &mut impl Write,
) -> Result<CommandOutcome, CommandError> {
    let name = file.display();
    let script = read(file)?;
    let mut outputs = Vec::new();
    for block in script.blocks() {
        match play_block(&mut stage, block) {
            Ok(printed) => outputs.push(printed),
            Err(ending) => {
                for line in stage.printed() {
                    writeln!(out, "{line}")?;
                }
                return end(&name.to_string(), ending);
            }
        }
    }
    write!(out, "{}", script.with_outputs(&outputs))?;
    if !compares {
        return Ok(CommandOutcome::Fine);
    }
    let differing = script.blocks().zip(&outputs).filter(|(block, told)| is_other(block, told));
    let lines: Vec<String> = differing.map(|(block, _)| format!("{name}:{}", block.number())).collect();
    for line in &lines {
        eprintln!("{line}: the nodes say something else than expected here");
    }
    Ok(if lines.is_empty() { CommandOutcome::Fine } else { CommandOutcome::Broken })
}

/// A block that expects nothing is one whose output is yet to be written.
fn is_other(block: &Block, told: &[String]) -> bool {
    !block.expected.is_empty() && block.expected != told
}

fn play_block(stage: &mut ScriptWorld, block: &Block) -> Result<Vec<String>, Ending> {
    let quiet = quietly(|| stage.play(block));
    match quiet.result {
        Ok(Ok(printed)) => Ok(printed),
        Ok(Err(Stop::Mistake(mistake))) => Err(Ending::Mistake(mistake.line, mistake.to_string())),
        Ok(Err(Stop::Violation { line, violation })) => Err(Ending::Broken(line, violation.to_string())),
        Err(message) => {
            let place = quiet.place.unwrap_or_default();
            Err(Ending::Broken(block.number(), format!("assertion: {message}, {place}")))
        }
    }
}

fn end(name: &str, ending: Ending) -> Result<CommandOutcome, CommandError> {
    match ending {
        Ending::Mistake(line, what) => Err(CommandError::Usage(format!("{name}:{line}: {what}"))),
        Ending::Broken(line, what) => {
            eprintln!("{name}:{line}: FAIL {what}");
            Ok(CommandOutcome::Broken)
        }
    }
}
