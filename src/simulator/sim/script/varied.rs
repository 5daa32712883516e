//! Stories near a story: its own commands, with a few of them changed by chance.
//!
//! A rare order that was found once stands in a story. What is wrong a little beside it is found here: a change lets more
//! or less time pass, leaves a command out, says it twice, lets it change places with the next one, or breaks something
//! else. In the end everything heals, and a master must be found. Texts only; who plays them is not said here.

use super::text::{Block, Line, Script};
use super::words::{Words, time};
use crate::protocol::Rng;
use crate::zen::Message;

/// How many changes are made at most.
const CHANGES_MAX: u64 = 3;

/// Who waits for a master that is gone is told so after a minute at the latest.
const STABLE: &str = "stabilise within 90s";

/// Commands that say who plays and what is printed. Without them there is no story.
const SETUP: [&str; 6] = ["nodes", "node", "configure", "rules", "notes", "messages"];

/// Commands that only look.
const LOOKS: [&str; 5] = ["state", "masters", "explain", "timers", "oracle"];

impl Script {
    /// A story near this one, a command a block; the same seed gives the same story. None if no node plays in it.
    pub fn varied(&self, seed: u64) -> Option<Script> {
        let mut draft = Draft::of(self, seed)?;
        for _ in 0..draft.rng.between(1, CHANGES_MAX) {
            draft.change();
        }
        Some(draft.healed(&format!("A story that was changed by chance: seed {seed}.")))
    }

    /// The story as it is, but that everything heals in the end.
    pub fn healed(&self) -> Option<Script> {
        Some(Draft::of(self, 0)?.healed("A story after which everything heals."))
    }
}

/// A story that is being changed.
struct Draft {
    lines: Vec<String>,
    names: Vec<String>,
    rng: Rng,
}

impl Draft {
    fn of(script: &Script, seed: u64) -> Option<Draft> {
        let lines: Vec<String> = script.blocks().flat_map(Block::commands).map(|line| line.text.clone()).collect();
        let names: Vec<String> = lines.iter().flat_map(|line| names(line)).collect();
        let is_played = lines.iter().any(|line| verb(line) == "start");
        (is_played && !names.is_empty()).then(|| Draft { lines, names, rng: Rng::new(seed ^ 0x7a7a_0009) })
    }

    fn change(&mut self) {
        match self.rng.below(8) {
            0 => self.stretch(),
            1 => self.leave_out(),
            2 => self.repeat(),
            3 => self.swap(),
            _ => self.insert(),
        }
    }

    /// Where something is done, of which there is a choice; none if there is nothing to choose from.
    fn place(&mut self, is_meant: impl Fn(&str) -> bool) -> Option<usize> {
        let places: Vec<usize> = (0..self.lines.len()).filter(|place| is_meant(&self.lines[*place])).collect();
        self.rng.pick(&places).copied()
    }

    /// Another time than before passes somewhere.
    fn stretch(&mut self) {
        let Some(place) = self.place(|line| verb(line) == "advance") else {
            return self.insert();
        };
        let mut words = Words::of(&self.lines[place]);
        if let Some(span) = words.next().and_then(|_| time(words.next()?).ok()) {
            let eighths = *self.rng.pick(&[1, 4, 6, 7, 9, 12, 24]).unwrap_or(&8);
            self.lines[place] = format!("advance {}micros", (span * eighths / 8).as_micros());
        }
    }

    fn leave_out(&mut self) {
        if let Some(place) = self.place(does) {
            self.lines.remove(place);
        }
    }

    fn repeat(&mut self) {
        if let Some(from) = self.place(does) {
            let to = self.rng.between(from as u64 + 1, self.lines.len() as u64) as usize;
            self.lines.insert(to, self.lines[from].clone());
        }
    }

    fn swap(&mut self) {
        let is_free = |line: &String| !SETUP.contains(&verb(line));
        if let Some(place) = self.place(does).filter(|place| self.lines.get(place + 1).is_some_and(is_free)) {
            self.lines.swap(place, place + 1);
        }
    }

    /// Something else happens, anywhere behind the first start.
    fn insert(&mut self) {
        let behind =
            self.lines.iter().position(|line| verb(line) == "start").map_or(self.lines.len(), |first| first + 1);
        let place = self.rng.between(behind as u64, self.lines.len() as u64) as usize;
        let event = self.event();
        self.lines.insert(place, event);
    }

    fn event(&mut self) -> String {
        let (one, two) = (self.name(), self.name());
        let times = self.rng.between(1, 3);
        let kind = *self.rng.pick(&Message::KINDS).unwrap_or(&"all");
        match self.rng.below(18) {
            0 => format!("kill {one}"),
            1 => format!("power-loss {one}"),
            2 => format!("restart {one}"),
            3 => format!("start {one}"),
            4 => format!("pause {one}"),
            5 => format!("resume {one}"),
            6 => format!("isolate {one}"),
            7 => format!("link {one} {two} hole"),
            8 => "mend".into(),
            9 => format!("disk {one} {}ms", self.rng.between(1, 400)),
            10 => format!("drop {kind} from {one} times={times}"),
            11 => format!("drop {kind} to {two} times={times}"),
            12 => format!("hold {kind} from {one} to {two}"),
            13 => format!("hold all from {one} to {two} times={times}"),
            14 => "release".into(),
            15 => format!("advance {}ms", self.rng.between(1, 600)),
            16 => format!("put k{times} {one} via {two}"),
            _ => format!("link-weather {one} {two} delay=1..{}", self.rng.between(1, 20) * 1_000),
        }
    }

    fn name(&mut self) -> String {
        self.rng.pick(&self.names).cloned().unwrap_or_default()
    }

    /// What is left, and that everything heals then.
    fn healed(self, says: &str) -> Script {
        let fast = self.names.iter().map(|name| format!("disk {name} fast"));
        let open = ["pass", "release"].map(str::to_owned).into_iter();
        let healing = open.chain(fast).chain(["heal", STABLE].map(str::to_owned));
        let lines = self.lines.into_iter().chain(healing);
        let blocks = lines
            .enumerate()
            .map(|(number, text)| Block { lines: vec![Line { number: number + 1, text }], expected: Vec::new() });
        Script::of(says, blocks)
    }
}

fn verb(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

/// Whether a command does something to somebody.
fn does(line: &str) -> bool {
    !SETUP.contains(&verb(line)) && !LOOKS.contains(&verb(line))
}

/// The nodes that a command adds.
fn names(line: &str) -> Vec<String> {
    let mut words = Words::of(line);
    match words.next() {
        Some("nodes" | "node") => {
            let is_name = |word: &&str| !word.contains('=') && *word != "apart";
            words.rest().into_iter().filter(is_name).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: &str =
        "# It shows something.\n\nnodes a b hosts=a\nnode c\nnotes off\nstart\nadvance 8s\nkill a\n----\n";

    fn commands(script: &Script) -> Vec<&str> {
        script.blocks().flat_map(Block::commands).map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn everything_heals_in_the_end() {
        let script = Script::parse(STORY).expect("it is well formed");
        let healed = script.healed().expect("somebody plays in it");
        let expected = ["nodes a b hosts=a", "node c", "notes off", "start", "advance 8s", "kill a"];
        assert_eq!(commands(&healed)[..6], expected);
        let healing = ["pass", "release", "disk a fast", "disk b fast", "disk c fast", "heal", "stabilise within 90s"];
        assert_eq!(commands(&healed)[6..], healing);
    }

    #[test]
    fn the_same_seed_gives_the_same_story_and_who_plays_stays() {
        let script = Script::parse(STORY).expect("it is well formed");
        let varied = |seed| script.varied(seed).expect("somebody plays in it");
        for seed in 1..200 {
            let story = varied(seed);
            assert_eq!(story, varied(seed));
            assert_eq!(commands(&story)[..3], ["nodes a b hosts=a", "node c", "notes off"]);
        }
        let unchanged = script.healed().expect("somebody plays in it");
        let differs = |seed: &u64| commands(&varied(*seed)) != commands(&unchanged);
        assert!((1..200).filter(differs).count() > 190);
    }

    #[test]
    fn a_table_is_no_story() {
        let table = "# A table.\n\nmajority {a,b,c} {a,b}\n----\nyes\n";
        assert_eq!(Script::parse(table).expect("it is well formed").varied(1), None);
    }
}
