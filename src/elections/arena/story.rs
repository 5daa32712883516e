//! Plays a script with an algorithm of the field: commands, and what its processes say and do to that.
//!
//! The shape of the text is that of all scripts ([`crate::sim::script::Script`]); `docs/golden.md` describes it, and the
//! commands of this stage. Nothing is left to chance: a hop takes a millisecond. Processes go by rank, the first node
//! has rank 1.

use super::algorithms::{FIELD, entry};
use super::record::Record;
use super::trial::Trial;
use crate::protocol::Time;
use crate::sim::Fault;
use crate::sim::script::{Block, Line};
use std::fmt;
use std::time::Duration;

/// A line that has no meaning, or a rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryError {
    /// The line of the script.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for StoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for StoryError {}

/// Where a script is played.
#[derive(Default)]
pub struct Story {
    bout: Option<Box<dyn Trial>>,
    hides_notes: bool,
    shows_messages: bool,
    shows_watch: bool,
    /// How much of the record was printed.
    told: WrittenUpTo,
    lines: Vec<String>,
}

#[derive(Clone, Copy, Default)]
struct WrittenUpTo {
    since: Time,
    arrows: usize,
    remarks: usize,
    sent: usize,
}

impl Story {
    /// An empty stage.
    pub fn new() -> Self {
        Story::default()
    }

    /// Carries out the commands of a block and tells what they print.
    pub fn play(&mut self, block: &Block) -> Result<Vec<String>, StoryError> {
        self.lines.clear();
        self.told = self.bout.as_deref().map_or_else(WrittenUpTo::default, told);
        for line in block.commands() {
            self.command(line).map_err(|what| StoryError { line: line.number, what })?;
        }
        self.tell();
        if self.lines.is_empty() {
            self.lines.push("ok".into());
        }
        Ok(self.lines.clone())
    }

    fn command(&mut self, line: &Line) -> Result<(), String> {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        match words[..] {
            ["algorithm", name, nodes] => self.enter(name, nodes),
            ["messages", what @ ("on" | "off" | "all")] => {
                (self.shows_messages, self.shows_watch) = (what != "off", what == "all");
                Ok(())
            }
            ["notes", what @ ("on" | "off")] => {
                self.hides_notes = what == "off";
                Ok(())
            }
            ["start"] => self.each(|bout, node| bout.inject(Fault::Start(node))),
            ["elect", ref ranks @ ..] => self.of(ranks, |bout, node| bout.notice(node)),
            ["advance", span] => {
                let span = span_of(span)?;
                self.bout()?.run_for(span);
                Ok(())
            }
            ["leaders"] => self.leaders(),
            ["count"] => self.count(),
            [verb @ ("start" | "kill" | "power-loss" | "pause" | "resume"), ref ranks @ ..] => {
                self.of(ranks, |bout, node| {
                    if let Ok(fault) = format!("{verb} n{node}").parse() {
                        bout.inject(fault);
                    }
                })
            }
            _ => self.fault(&words),
        }
    }

    fn enter(&mut self, name: &str, nodes: &str) -> Result<(), String> {
        let names = || FIELD.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
        let entry = entry(name).ok_or_else(|| format!("`{name}` is no algorithm; allowed: {}", names()))?;
        let count = nodes.strip_prefix("nodes=").and_then(|count| count.parse().ok()).filter(|&count| count > 1);
        let count: usize = count.ok_or_else(|| format!("`{nodes}` is no size; allowed: nodes=5"))?;
        let mut bout = entry.enter_plainly(count);
        bout.keep(true);
        self.bout = Some(bout);
        Ok(())
    }

    fn bout(&mut self) -> Result<&mut Box<dyn Trial>, String> {
        self.bout.as_mut().ok_or_else(|| "no algorithm plays; allowed: algorithm bully nodes=5 first".to_owned())
    }

    fn each(&mut self, act: impl Fn(&mut dyn Trial, usize)) -> Result<(), String> {
        let bout = self.bout()?;
        (0..bout.size()).for_each(|node| act(bout.as_mut(), node));
        Ok(())
    }

    fn of(&mut self, ranks: &[&str], act: impl Fn(&mut dyn Trial, usize)) -> Result<(), String> {
        let bout = self.bout()?;
        for rank in ranks {
            let node = node_of(rank).filter(|&node| node < bout.size());
            let node = node.ok_or_else(|| format!("`{rank}` is none of the {} processes", bout.size()))?;
            act(bout.as_mut(), node);
        }
        Ok(())
    }

    /// A fault of the world, with ranks in the place of indices. Numbers that are no rank stay what they are.
    fn fault(&mut self, words: &[&str]) -> Result<(), String> {
        let size = self.bout()?.size();
        let index = |rank: &str| node_of(rank).filter(|&node| node < size).map(|node| format!("n{node}"));
        let indices = |word: &&str| {
            let nodes: Option<Vec<String>> = word.split(',').map(index).collect();
            nodes.map_or_else(|| (*word).to_owned(), |nodes| nodes.join(","))
        };
        let line = words.iter().map(indices).collect::<Vec<_>>().join(" ");
        let allowed =
            "algorithm, start, elect, advance, leaders, count, messages, notes, or a fault as in partition 1,2 3,4,5";
        let fault = line.parse().map_err(|_| format!("`{}` is no command; allowed: {allowed}", words.join(" ")))?;
        self.bout()?.inject(fault);
        Ok(())
    }

    /// Writes down what happened since the last time.
    fn tell(&mut self) {
        let Some(bout) = self.bout.as_deref() else {
            return;
        };
        let record = bout.record();
        let since = self.told.since;
        let mut lines: Vec<(Time, String)> = Vec::new();
        for remark in &record.remarks[self.told.remarks..] {
            if let Some(node) = remark.node.filter(|_| !self.hides_notes) {
                lines.push((remark.at, format!("{:>9} {}      {}", clock(remark.at, since), node + 1, remark.text)));
            }
        }
        let is_shown = |is_watch: bool| self.shows_messages && (self.shows_watch || !is_watch);
        for arrow in record.arrows[self.told.arrows..].iter().filter(|arrow| is_shown(arrow.is_watch)) {
            let (at, fate) = arrow.arrived.map_or((arrow.sent, "  (lost)"), |at| (at, ""));
            let (from, to) = (arrow.from + 1, arrow.to + 1);
            lines.push((at, format!("{:>9} {from} > {to}  {}{fate}", clock(at, since), arrow.text)));
        }
        lines.sort_by_key(|(at, _)| *at);
        self.lines.extend(lines.into_iter().map(|(_, line)| line));
        self.told = WrittenUpTo { since, sent: self.told.sent, ..told(bout) };
    }

    fn leaders(&mut self) -> Result<(), String> {
        self.tell();
        let bout = self.bout()?;
        let of = |(node, stance): (usize, &Option<crate::arena::Stance>)| {
            let whom = match stance {
                None => "down".to_owned(),
                Some(stance) => match stance.leader {
                    None => "follows nobody".to_owned(),
                    Some(leader) if leader == node => "leads".to_owned(),
                    Some(leader) => format!("follows {}", leader + 1),
                },
            };
            format!("{} {whom}", node + 1)
        };
        let line = bout.record().stances.iter().enumerate().map(of).collect::<Vec<_>>().join(", ");
        self.lines.push(line);
        Ok(())
    }

    /// How many messages of an election were sent in this block.
    fn count(&mut self) -> Result<(), String> {
        let before = self.told.sent;
        self.tell();
        let count = self.bout()?.record().sent.len() - before;
        self.told.sent = before + count;
        self.lines.push(format!("{count} messages"));
        Ok(())
    }
}

fn told(bout: &dyn Trial) -> WrittenUpTo {
    let record: &Record = bout.record();
    WrittenUpTo {
        since: bout.now(),
        arrows: record.arrows.len(),
        remarks: record.remarks.len(),
        sent: record.sent.len(),
    }
}

fn node_of(rank: &str) -> Option<usize> {
    rank.parse::<usize>().ok()?.checked_sub(1)
}

fn clock(at: Time, since: Time) -> String {
    let micros = at.since(since).as_micros();
    format!("{}.{}ms", micros / 1_000, micros % 1_000 / 100)
}

fn span_of(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no span; allowed: 500ms, 3s");
    let (number, unit): (&str, fn(u64) -> Duration) = match text.strip_suffix("ms") {
        Some(number) => (number, Duration::from_millis),
        None => (text.strip_suffix('s').ok_or_else(wrong)?, Duration::from_secs),
    };
    number.parse().map(unit).map_err(|_| wrong())
}
