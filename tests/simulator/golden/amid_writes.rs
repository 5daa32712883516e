//! A master that goes while clients write and read through the others, with other delays each time: everybody is answered in
//! the time of a few round trips.
//!
//! What takes a moment longer in one order of a thousand is found by no story that somebody thought of.

use zazen::protocol::Rng;

/// So many stories are told of each way to go.
pub(crate) const SEEDS: u64 = 250;

/// Within this time after the last was asked all are answered. A message takes 4.6 ms at most, and a disk 1.5 ms; who waits
/// for 100 ms before asking again is too late.
const LIMIT: &str = "85ms";

/// So many writes are asked for, and as many reads.
pub(crate) const WRITES: u64 = 60;

/// How a master goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Kill,
    HandOver,
    Leave,
}

impl Way {
    pub(crate) const ALL: [Way; 3] = [Way::Kill, Way::HandOver, Way::Leave];

    fn command(self) -> &'static str {
        match self {
            Way::Kill => "kill a",
            Way::HandOver => "handover a",
            Way::Leave => "leave a",
        }
    }
}

/// Three nodes, of which a leads; b and c are asked for sixty writes and reads, and amid them a goes. On some links messages
/// hardly differ in how long they take, on others the later one may come first.
pub(crate) fn story(way: Way, seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut lines: Vec<String> =
        ["# Amid writes.", "", "notes off", "nodes a b c", "start", "stabilise"].map(String::from).into();
    for (from, to) in [("a", "b"), ("a", "c"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "b")] {
        let delay = rng.between(30, 500);
        let most = delay + (1 << rng.below(13));
        lines.push(format!("link-weather {from} {to} delay={delay}..{most}"));
    }
    for node in ["a", "b", "c"] {
        lines.push(format!("disk {node} {}micros", rng.between(100, 1_500)));
    }
    lines.extend(["----", ""].map(String::from));
    let (pause, goes_at) = (100 << rng.below(4), rng.between(15, 45));
    for write in 0..WRITES {
        for what in [format!("put k{write} 1"), "read k0".to_owned()] {
            lines.push(format!("{what} via {}", if rng.percent(50) { "b" } else { "c" }));
        }
        lines.extend((write == goes_at).then(|| way.command().into()));
        lines.push(format!("advance {}micros", rng.between(10, pause)));
    }
    lines.push(format!("until answered within {LIMIT}"));
    lines.push("----\n".into());
    lines.join("\n")
}
