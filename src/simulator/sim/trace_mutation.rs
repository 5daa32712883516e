//! Random runs around stories: a script with a few of its commands changed by chance, and everything healed in the end.
//!
//! What must always hold must hold in them too. Where the story itself ends with a master, so must the changed one. Each
//! seed takes another story and changes it otherwise; [`Script::varied`] draws what is changed.

use super::liveness::ONE_MASTER;
use super::script::{Block, Script, ScriptError, ScriptWorld};
use super::watch::Violation;
use crate::zen::rules::{Protection, Rules};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What operators must not do to more nodes than a cluster can bear; a change may let them.
const OPERATORS: [&str; 3] = ["wipe ", "copy-disk ", "configure "];

/// How a story sets up nodes that are to form different clusters, or that may: a node without hosts forms one with whom it
/// meets on loopback, and there may be nobody left.
const APART: [&str; 4] = [" initial=", " cluster=", " apart", " hosts=none"];

/// Stories that can be changed.
#[derive(Clone, Debug)]
pub struct Stories(Vec<Story>);

#[derive(Clone, Debug)]
struct Story {
    name: String,
    script: Script,
    /// Whether a master leads everybody once everything healed.
    recovers: bool,
    /// Whether all that is promised holds in it, however it is changed.
    is_judged: bool,
}

/// What came of a story.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// Each command that could be carried out, and what it printed, as a script has them.
    pub told: String,
    /// What went wrong.
    pub broken: Option<Violation>,
    /// Which commands waited for something that did not come.
    in_vain: BTreeSet<usize>,
}

impl Stories {
    /// Those in which somebody plays, under their names. There must be one if a story shall be played.
    pub fn of(scripts: impl IntoIterator<Item = (String, Script)>) -> Stories {
        Stories(scripts.into_iter().filter_map(|(name, script)| Story::new(name, script)).collect())
    }

    /// How many there are, and how many of them are judged.
    pub fn count(&self) -> (usize, usize) {
        (self.0.len(), self.0.iter().filter(|story| story.is_judged).count())
    }

    /// Plays the story of a seed; tells its name as well.
    pub fn play(&self, seed: u64) -> (&str, Played) {
        let story = self.story(seed);
        let mut played = story.play(seed, Rules::default());
        played.broken.take_if(|_| !story.is_judged);
        (&story.name, played)
    }

    /// The same without a protection. What goes wrong with the whole protocol as well says nothing of it; what comes with
    /// the whole protocol, and without it does not, is missed.
    pub fn play_without(&self, seed: u64, protection: Protection) -> (&str, Played) {
        let story = self.story(seed);
        let mut played = story.play(seed, Rules::default().without(protection));
        if played.broken.is_some() || !played.in_vain.is_empty() {
            let whole = story.play(seed, Rules::default());
            let late = || late(format!("what was waited for comes with {protection} only"));
            let misses = !played.in_vain.is_subset(&whole.in_vain);
            played.broken = played.broken.or_else(|| misses.then(late)).filter(|_| whole.broken.is_none());
        }
        (&story.name, played)
    }

    fn story(&self, seed: u64) -> &Story {
        &self.0[(seed % self.0.len() as u64) as usize]
    }
}

impl Story {
    fn new(name: String, script: Script) -> Option<Story> {
        let recovers = play(&script.healed()?, Rules::default(), true).broken.is_none();
        let is_judged = !script.blocks().flat_map(Block::commands).any(|line| may_break(&line.text));
        Some(Story { name, script, recovers, is_judged })
    }

    fn play(&self, seed: u64, rules: Rules) -> Played {
        self.script.varied(seed).map(|script| play(&script, rules, self.recovers)).unwrap_or_default()
    }
}

/// Whether a command, done at another time or to somebody else, can take more from a cluster than it can bear.
fn may_break(command: &str) -> bool {
    OPERATORS.iter().any(|verb| command.starts_with(verb)) || APART.iter().any(|option| command.contains(option))
}

/// Plays a script until a rule is broken. Commands that make no sense any more, because others were changed, are left out.
fn play(script: &Script, rules: Rules, recovers: bool) -> Played {
    let mut stage = ScriptWorld::keeping(rules);
    let mut played = Played::default();
    for (number, block) in script.blocks().enumerate() {
        played.broken = match catch_unwind(AssertUnwindSafe(|| stage.play(block))) {
            Ok(Ok(_)) => None,
            Ok(Err(ScriptError::Mistake(_))) => continue,
            Ok(Err(ScriptError::Violation { violation, .. })) => Some(violation),
            Err(panic) => Some(Violation::assertion(panic.as_ref())),
        };
        played.told += &format!("{}\n", block.with_output(stage.printed()));
        if played.broken.is_some() {
            return played;
        }
        if stage.gave_up() {
            played.in_vain.insert(number);
        }
    }
    let last = script.blocks().count().saturating_sub(1);
    if recovers && played.in_vain.contains(&last) {
        played.broken = Some(late("no master leads all after everything healed".into()));
    }
    played
}

fn late(what: String) -> Violation {
    Violation { checker: ONE_MASTER, what }
}
