//! The directed links between nodes: which way messages pass, how fast, and what is lost.
//!
//! A node reaches itself always. Shapes (partitions, bridges, rings, graphs) are sets of arrows that work; the others
//! get one mode. An address that cannot be reached refuses or swallows new connections, whoever makes them.

use super::calls::CallId;
use crate::protocol::{Rng, Time};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// What happens to what travels one way between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It arrives, as far as the quality of the link lets it.
    Up,
    /// Requests are refused at once, and what was established this way is reset; replies pass.
    Refuse,
    /// Requests, replies and notices vanish.
    Hole,
    /// Requests vanish; replies and notices pass.
    RequestHole,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Up => "up",
            Mode::Refuse => "refuse",
            Mode::Hole => "hole",
            Mode::RequestHole => "requests",
        })
    }
}

/// How well a link that is up carries messages. Delays are drawn for each message, so messages overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quality {
    /// The shortest delay.
    pub delay_min_us: u64,
    /// The longest delay of most messages.
    pub delay_max_us: u64,
    /// How many of a hundred messages vanish.
    pub loss_percent: u64,
    /// How many of a hundred requests are delivered twice.
    pub duplicate_percent: u64,
    /// How many of a thousand messages are held up.
    pub stall_permille: u64,
    /// The longest delay of a message that is held up.
    pub stall_max_us: u64,
    /// How many bytes a second the link carries; no end of them if zero.
    pub bytes_per_s: u64,
}

impl Default for Quality {
    fn default() -> Self {
        Quality {
            delay_min_us: 100,
            delay_max_us: 500,
            loss_percent: 0,
            duplicate_percent: 0,
            stall_permille: 0,
            stall_max_us: 0,
            bytes_per_s: 0,
        }
    }
}

/// What is carried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cargo {
    Request,
    Reply,
    /// That a connection ended. The kernels repeat it, so chance does not lose it.
    Notice,
}

/// What becomes of something that is sent.
pub(super) enum Route {
    Refused,
    Lost,
    /// It arrives after so many microseconds.
    After(u64),
}

/// Something large on a link with a rate.
struct Transfer {
    /// The call that it is of, if it is of one.
    call: Option<CallId>,
    /// When it is through.
    through: Time,
}

/// All links.
pub(super) struct Network {
    modes: Vec<Vec<Mode>>,
    pub(super) quality: Quality,
    /// Links with a quality of their own.
    pub(super) special: BTreeMap<(usize, usize), Quality>,
    /// How many bytes a second nodes send and receive, where that is limited.
    rates: BTreeMap<usize, u64>,
    /// What is large and under way on links with a rate.
    busy: BTreeMap<(usize, usize), Vec<Transfer>>,
    /// Nodes to whose addresses nobody else can make a connection, and what becomes of an attempt.
    unreachable: BTreeMap<usize, Mode>,
    pub(super) rng: Rng,
}

/// What is not larger than a packet goes between the packets of what is.
const PACKET_BYTES: u64 = 1_500;
/// The longest delay of what a node sends to itself.
const LOOPBACK_US: u64 = 10;

impl Network {
    pub(super) fn new(rng: Rng) -> Self {
        Network {
            modes: Vec::new(),
            quality: Quality::default(),
            special: BTreeMap::new(),
            rates: BTreeMap::new(),
            busy: BTreeMap::new(),
            unreachable: BTreeMap::new(),
            rng,
        }
    }

    pub(super) fn add_node(&mut self) {
        for row in &mut self.modes {
            row.push(Mode::Up);
        }
        self.modes.push(vec![Mode::Up; self.modes.len() + 1]);
    }

    pub(super) fn mode(&self, from: usize, to: usize) -> Mode {
        self.modes[from][to]
    }

    pub(super) fn set_mode(&mut self, from: usize, to: usize, mode: Mode) {
        if from != to {
            self.modes[from][to] = mode;
        }
    }

    /// From now on an attempt to connect to a node has this end, or may succeed again with [`Mode::Up`].
    pub(super) fn set_reach(&mut self, node: usize, mode: Mode) {
        match mode {
            Mode::Up => self.unreachable.remove(&node),
            Mode::Refuse | Mode::Hole | Mode::RequestHole => self.unreachable.insert(node, mode),
        };
    }

    pub(super) fn is_reachable(&self, node: usize) -> bool {
        !self.unreachable.contains_key(&node)
    }

    /// What stops a new connection to the address of a node, if something does.
    pub(super) fn bar(&self, from: usize, to: usize) -> Option<Route> {
        let mode = self.unreachable.get(&to).filter(|_| from != to)?;
        Some(if *mode == Mode::Refuse { Route::Refused } else { Route::Lost })
    }

    fn quality_of(&self, from: usize, to: usize) -> Quality {
        if self.special.is_empty() {
            return self.quality;
        }
        *self.special.get(&(from, to)).unwrap_or(&self.quality)
    }

    /// Whether what travels this way gets nowhere at this moment.
    pub(super) fn swallows(&self, from: usize, to: usize, cargo: Cargo) -> bool {
        match self.mode(from, to) {
            Mode::Up => false,
            Mode::Hole => true,
            Mode::Refuse | Mode::RequestHole => cargo == Cargo::Request,
        }
    }

    pub(super) fn route(&mut self, from: usize, to: usize, cargo: Cargo) -> Route {
        if from == to {
            return Route::After(self.rng.between(1, LOOPBACK_US));
        }
        if self.swallows(from, to, cargo) {
            let refused = self.mode(from, to) == Mode::Refuse;
            return if refused { Route::Refused } else { Route::Lost };
        }
        let quality = self.quality_of(from, to);
        if cargo != Cargo::Notice && quality.loss_percent > 0 && self.rng.percent(quality.loss_percent) {
            return Route::Lost;
        }
        Route::After(self.delay(quality))
    }

    fn delay(&mut self, quality: Quality) -> u64 {
        if quality.stall_permille > 0 && self.rng.below(1_000) < quality.stall_permille {
            return self.rng.between(quality.delay_max_us, quality.stall_max_us);
        }
        self.rng.between(quality.delay_min_us, quality.delay_max_us).max(1)
    }

    /// Whether what is larger takes longer this way.
    pub(super) fn has_rate(&self, from: usize, to: usize) -> bool {
        from != to && self.rate(from, to).is_some()
    }

    /// The least that either node and the link carry in a second.
    fn rate(&self, from: usize, to: usize) -> Option<u64> {
        let own = Some(self.quality_of(from, to).bytes_per_s).filter(|rate| *rate > 0);
        let limits = [own, self.rates.get(&from).copied(), self.rates.get(&to).copied()];
        limits.into_iter().flatten().min()
    }

    /// What goes to and from a node is carried at so many bytes a second, or at any with zero.
    pub(super) fn set_rate(&mut self, node: usize, bytes_per_s: u64) {
        if bytes_per_s == 0 {
            self.rates.remove(&node);
        } else {
            self.rates.insert(node, bytes_per_s);
        }
    }

    /// Forgets what is under way and wanted by nobody any more: nothing waits for it.
    pub(super) fn give_up_transfers(&mut self, from: usize, to: usize, mut is_wanted: impl FnMut(CallId) -> bool) {
        if let Some(under_way) = self.busy.get_mut(&(from, to)) {
            under_way.retain(|transfer| transfer.call.is_none_or(&mut is_wanted));
        }
    }

    /// How much longer what is large and under way takes: a link that carries more again hastens nothing that was sent before.
    pub(super) fn transfer_left(&self, now: Time) -> Duration {
        let through = self.busy.values().flatten().map(|transfer| transfer.through).max();
        through.map_or(Duration::ZERO, |through| through.since(now))
    }

    /// How much longer something takes because of its size, and of what is large and was sent before it.
    pub(super) fn transfer(&mut self, now: Time, (from, to): (usize, usize), what: (Option<CallId>, u64)) -> u64 {
        let (call, bytes) = what;
        let takes_us = bytes.saturating_mul(1_000_000) / self.rate(from, to).unwrap_or(u64::MAX);
        if bytes <= PACKET_BYTES {
            return takes_us;
        }
        let under_way = self.busy.entry((from, to)).or_default();
        under_way.retain(|transfer| transfer.through > now);
        let free = under_way.iter().map(|transfer| transfer.through).max().unwrap_or(now);
        let through = Time::from_micros(free.as_micros().saturating_add(takes_us));
        under_way.push(Transfer { call, through });
        through.as_micros() - now.as_micros()
    }

    /// How long something takes to get from one node to another, whatever the mode.
    pub(super) fn delay_between(&mut self, from: usize, to: usize) -> u64 {
        self.delay(self.quality_of(from, to))
    }

    /// If a request that arrived arrives once more: how much later.
    pub(super) fn duplicate(&mut self, from: usize, to: usize) -> Option<u64> {
        let quality = self.quality_of(from, to);
        let again = from != to && quality.duplicate_percent > 0 && self.rng.percent(quality.duplicate_percent);
        again.then(|| self.delay(quality))
    }
}
