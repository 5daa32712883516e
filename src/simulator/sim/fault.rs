//! Everything that can be broken or mended, as data and as a line of text.
//!
//! Nodes are written `n0`, `n1`, … by index, lists with commas. A mode that is left out is `hole`.

use super::network::{Mode, Quality};
use std::fmt;
use std::str::FromStr;

/// Something that is broken or mended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Starts a process where none runs.
    Start(usize),
    /// Ends a process; its machine refuses from then on.
    Kill(usize),
    /// Ends a process and silences its machine until the next start.
    PowerLoss(usize),
    /// Stops a process in its tracks: what reaches it waits.
    Pause(usize),
    /// Lets a paused process go on.
    Resume(usize),
    /// Ends a process if one runs, and empties the disk.
    Wipe(usize),
    /// Changes how long a synced write takes, in microseconds; a disk that hung goes on.
    Disk(usize, u64, u64),
    /// A disk finishes no write, what it is writing included, until it is mended.
    DiskHangs(usize),
    /// Changes the rate of a node's clock, in millionths.
    Clock(usize, u64),
    /// A node's clock jumps forward by so many microseconds.
    Jump(usize, u64),
    /// Looking up the seeds is answered, or is not.
    Seeds(usize, bool),
    /// Nobody else can make a connection to a node; those that it made itself work both ways.
    Unreachable(usize, Mode),
    /// Ends that.
    Reachable(usize),
    /// All connections between two nodes break, whoever made them, and can be made anew.
    Reset(usize, usize),
    /// What goes to and from a node is carried at so many bytes a second; zero ends that.
    Rate(usize, u64),
    /// Sets one direction, from the first to the second.
    Link(usize, usize, Mode),
    /// Sets both directions between two nodes.
    Cut(usize, usize, Mode),
    /// Sets both directions between a node and all others.
    Isolate(usize, Mode),
    /// Only nodes of the same group reach each other.
    Partition(Vec<Vec<usize>>, Mode),
    /// Two sides reach each other only through the nodes between: left, between, right.
    Bridge([Vec<usize>; 3], Mode),
    /// Nodes reach their two neighbours in this order only.
    Ring(Vec<usize>, Mode),
    /// Only these arrows work: a bit for each ordered pair of different nodes, in order, from the lowest bit.
    Graph(u64, Mode),
    /// All links are up; their quality stays.
    Mend,
    /// Both directions between two nodes are up.
    MendPair(usize, usize),
    /// Changes the quality of all links that have none of their own.
    Weather(Quality),
    /// Gives one direction a quality of its own.
    LinkWeather(usize, usize, Quality),
    /// What is wrong with the disk, the address and the speed of a node stays when everything is healed.
    Lasting(usize),
    /// Ends a process for good: none is started until the node arrives again.
    Retire(usize),
    /// A node that was taken out, or was kept back, is started.
    Arrive(usize),
    /// All links up and good, all nodes started and resumed, disks fast, seeds answered; clocks keep their rates.
    Heal,
    /// The same for these nodes and the links among them; the rest stays as it is.
    HealOnly(Vec<usize>),
}

impl Fault {
    /// The word that it begins with.
    pub fn kind(&self) -> &'static str {
        match self {
            Fault::Start(_) => "start",
            Fault::Kill(_) => "kill",
            Fault::PowerLoss(_) => "power-loss",
            Fault::Pause(_) => "pause",
            Fault::Resume(_) => "resume",
            Fault::Wipe(_) => "wipe",
            Fault::Disk(..) => "disk",
            Fault::DiskHangs(_) => "disk-hangs",
            Fault::Clock(..) => "clock",
            Fault::Jump(..) => "jump",
            Fault::Seeds(..) => "seeds",
            Fault::Unreachable(..) => "unreachable",
            Fault::Reachable(_) => "reachable",
            Fault::Reset(..) => "reset",
            Fault::Rate(..) => "rate",
            Fault::Link(..) => "link",
            Fault::Cut(..) => "cut",
            Fault::Isolate(..) => "isolate",
            Fault::Partition(..) => "partition",
            Fault::Bridge(..) => "bridge",
            Fault::Ring(..) => "ring",
            Fault::Graph(..) => "graph",
            Fault::Mend | Fault::MendPair(..) => "mend",
            Fault::Weather(_) => "weather",
            Fault::LinkWeather(..) => "link-weather",
            Fault::Lasting(_) => "lasting",
            Fault::Retire(_) => "retire",
            Fault::Arrive(_) => "arrive",
            Fault::Heal => "heal",
            Fault::HealOnly(_) => "heal-only",
        }
    }
}

/// Writes a list of nodes.
struct List<'a>(&'a [usize]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, node) in self.0.iter().enumerate() {
            write!(f, "{}n{node}", if position == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match self {
            Fault::Start(node)
            | Fault::Kill(node)
            | Fault::PowerLoss(node)
            | Fault::Pause(node)
            | Fault::Resume(node)
            | Fault::Wipe(node)
            | Fault::DiskHangs(node)
            | Fault::Reachable(node)
            | Fault::Lasting(node)
            | Fault::Retire(node)
            | Fault::Arrive(node) => write!(f, " n{node}"),
            Fault::Disk(node, min_us, max_us) => write!(f, " n{node} {min_us} {max_us}"),
            Fault::Clock(node, number) | Fault::Jump(node, number) | Fault::Rate(node, number) => {
                write!(f, " n{node} {number}")
            }
            Fault::Seeds(node, answered) => write!(f, " n{node} {}", if *answered { "up" } else { "down" }),
            Fault::Link(one, two, mode) | Fault::Cut(one, two, mode) => write!(f, " n{one} n{two} {mode}"),
            Fault::Isolate(node, mode) | Fault::Unreachable(node, mode) => write!(f, " n{node} {mode}"),
            Fault::Partition(groups, mode) => {
                groups.iter().try_for_each(|group| write!(f, " {}", List(group)))?;
                write!(f, " {mode}")
            }
            Fault::Bridge(parts, mode) => {
                parts.iter().try_for_each(|part| write!(f, " {}", List(part)))?;
                write!(f, " {mode}")
            }
            Fault::Ring(order, mode) => write!(f, " {} {mode}", List(order)),
            Fault::Graph(arrows, mode) => write!(f, " {arrows} {mode}"),
            Fault::Mend | Fault::Heal => Ok(()),
            Fault::MendPair(one, two) | Fault::Reset(one, two) => write!(f, " n{one} n{two}"),
            Fault::Weather(quality) => write!(f, " {quality}"),
            Fault::LinkWeather(from, to, quality) => write!(f, " n{from} n{to} {quality}"),
            Fault::HealOnly(nodes) => write!(f, " {}", List(nodes)),
        }
    }
}

/// A line that names no fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAFault(String);

impl fmt::Display for NotAFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no fault", self.0)
    }
}

impl std::error::Error for NotAFault {}

impl FromStr for Fault {
    type Err = NotAFault;

    fn from_str(text: &str) -> Result<Self, NotAFault> {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let kind = if words.is_empty() { "" } else { words.remove(0) };
        let mode = words.last().and_then(|word| mode(word));
        let args = if mode.is_some() { &words[..words.len() - 1] } else { &words[..] };
        let mode = mode.unwrap_or(Mode::Hole);
        parse_life(kind, &words).or_else(|| parse_links(kind, args, mode)).ok_or_else(|| NotAFault(text.to_owned()))
    }
}

fn parse_life(kind: &str, words: &[&str]) -> Option<Fault> {
    Some(match (kind, words) {
        ("start", &[n]) => Fault::Start(node(n)?),
        ("kill", &[n]) => Fault::Kill(node(n)?),
        ("power-loss", &[n]) => Fault::PowerLoss(node(n)?),
        ("pause", &[n]) => Fault::Pause(node(n)?),
        ("resume", &[n]) => Fault::Resume(node(n)?),
        ("wipe", &[n]) => Fault::Wipe(node(n)?),
        ("disk", &[n, min, max]) => Fault::Disk(node(n)?, min.parse().ok()?, max.parse().ok()?),
        ("retire", &[n]) => Fault::Retire(node(n)?),
        ("arrive", &[n]) => Fault::Arrive(node(n)?),
        ("lasting", &[n]) => Fault::Lasting(node(n)?),
        ("disk-hangs", &[n]) => Fault::DiskHangs(node(n)?),
        ("clock", &[n, rate]) => Fault::Clock(node(n)?, rate.parse().ok().filter(|&rate| rate > 0)?),
        ("reachable", &[n]) => Fault::Reachable(node(n)?),
        ("jump", &[n, span]) => Fault::Jump(node(n)?, span.parse().ok()?),
        ("rate", &[n, bytes]) => Fault::Rate(node(n)?, bytes.parse().ok()?),
        ("reset", &[one, two]) => Fault::Reset(node(one)?, node(two)?),
        ("seeds", &[n, "up"]) => Fault::Seeds(node(n)?, true),
        ("seeds", &[n, "down"]) => Fault::Seeds(node(n)?, false),
        ("mend", &[]) => Fault::Mend,
        ("mend", &[one, two]) => Fault::MendPair(node(one)?, node(two)?),
        ("weather", words) => Fault::Weather(quality(words)?),
        ("link-weather", [from, to, words @ ..]) => Fault::LinkWeather(node(from)?, node(to)?, quality(words)?),
        ("heal", &[]) => Fault::Heal,
        ("heal-only", &[nodes]) => Fault::HealOnly(list(nodes)?),
        _ => return None,
    })
}

fn parse_links(kind: &str, words: &[&str], mode: Mode) -> Option<Fault> {
    Some(match (kind, words) {
        ("link", &[one, two]) => Fault::Link(node(one)?, node(two)?, mode),
        ("cut", &[one, two]) => Fault::Cut(node(one)?, node(two)?, mode),
        ("unreachable", &[n]) => Fault::Unreachable(node(n)?, mode),
        ("isolate", &[n]) => Fault::Isolate(node(n)?, mode),
        ("partition", groups) => Fault::Partition(groups.iter().map(|group| list(group)).collect::<Option<_>>()?, mode),
        ("bridge", &[left, between, right]) => Fault::Bridge([list(left)?, list(between)?, list(right)?], mode),
        ("ring", &[order]) => Fault::Ring(list(order)?, mode),
        ("graph", &[arrows]) => Fault::Graph(arrows.parse().ok()?, mode),
        _ => return None,
    })
}

fn node(word: &str) -> Option<usize> {
    word.strip_prefix('n')?.parse().ok()
}

fn list(word: &str) -> Option<Vec<usize>> {
    word.split(',').map(node).collect()
}

fn mode(word: &str) -> Option<Mode> {
    [Mode::Up, Mode::Refuse, Mode::Hole, Mode::RequestHole].into_iter().find(|mode| mode.to_string() == word)
}

/// Reads what the `Display` of a quality writes; what is left out is as in a good network.
fn quality(words: &[&str]) -> Option<Quality> {
    let mut quality = Quality::default();
    for word in words {
        let (key, value) = word.split_once('=')?;
        let (low, high) = value.split_once("..").unwrap_or((value, value));
        let (low, high) = (low.parse().ok()?, high.parse().ok()?);
        match key {
            "delay" => (quality.delay_min_us, quality.delay_max_us) = (low, high),
            "loss" => quality.loss_percent = low,
            "duplicates" => quality.duplicate_percent = low,
            "stalls" => (quality.stall_permille, quality.stall_max_us) = (low, high),
            "rate" => quality.bytes_per_s = low,
            _ => return None,
        }
    }
    Some(quality)
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "delay={}..{} loss={} duplicates={} stalls={}..{}",
            self.delay_min_us,
            self.delay_max_us,
            self.loss_percent,
            self.duplicate_percent,
            self.stall_permille,
            self.stall_max_us
        )?;
        if self.bytes_per_s > 0 { write!(f, " rate={}", self.bytes_per_s) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_read_back_from_its_text() {
        let lines = "start n0; kill n1; power-loss n2; pause n3; resume n4; wipe n5; disk n0 100 9000; disk-hangs n0; \
                     clock n1 990000; seeds n0 down; seeds n0 up; unreachable n1 refuse; reachable n1; jump n1 5; reset n0 n1; rate n0 9; \
                     lasting n0; retire n1; arrive n1; \
                     link n0 n1 refuse; cut n0 n1 hole; isolate n2 requests; \
                     partition n0,n1 n2 hole; bridge n0,n1 n2 n3,n4 hole; ring n0,n2,n1 refuse; graph 63 hole; mend; \
                     mend n0 n1; weather delay=1..2 loss=3 duplicates=4 stalls=5..6; \
                     link-weather n0 n1 delay=1..2 loss=3 duplicates=4 stalls=5..6 rate=7; heal; heal-only n0,n2";
        for line in lines.split("; ") {
            assert_eq!(line.parse::<Fault>().map(|fault| fault.to_string()), Ok(line.to_owned()));
        }
        assert_eq!("cut n0 n1".parse(), Ok(Fault::Cut(0, 1, Mode::Hole)));
        assert_eq!("cut n0".parse::<Fault>(), Err(NotAFault("cut n0".to_owned())));
    }
}
