//! Breaks and mends what a fault names.
//!
//! Everything that is done to a world on purpose passes through here, is counted, and is part of the trace.

use super::calls::{CallId, Pending};
use super::fault::Fault;
use super::network::Mode;
use super::trace::Detail;
use super::watch::Watch;
use super::world::{Event, World};
use crate::protocol::{Failure, Input, Protocol};

impl<P: Protocol, W: Watch<P>> World<P, W> {
    /// Breaks or mends something. What cannot be done to a node in its state (killing the dead) does nothing.
    pub fn inject(&mut self, fault: Fault) {
        self.record_fault(&fault);
        match fault {
            Fault::Start(node) => self.start(node),
            Fault::Kill(node) => self.end(node, true),
            Fault::PowerLoss(node) => self.end(node, false),
            Fault::Pause(node) => self.pause(node),
            Fault::Resume(node) => self.resume(node),
            Fault::Wipe(node) => {
                self.end(node, true);
                self.hosts[node].disk.wipe();
            }
            Fault::Disk(node, min_us, max_us) => self.mend_disk(node, (min_us, max_us)),
            Fault::DiskHangs(node) => self.hosts[node].disk.hang(),
            Fault::Clock(node, rate_ppm) => self.set_rate(node, rate_ppm),
            Fault::Jump(node, span_us) => self.jump(node, span_us),
            Fault::Seeds(node, answered) => self.hosts[node].resolves = answered,
            Fault::Unreachable(node, mode) => self.network.set_reach(node, mode),
            Fault::Reachable(node) => self.network.set_reach(node, Mode::Up),
            Fault::Reset(one, two) => self.reset(one, two),
            Fault::Rate(node, bytes_per_s) => self.network.set_rate(node, bytes_per_s),
            Fault::Link(from, to, mode) => self.set_link(from, to, mode),
            Fault::Cut(one, two, mode) => self.cut(one, two, mode),
            Fault::Isolate(node, mode) => (0..self.hosts.len()).for_each(|other| self.cut(node, other, mode)),
            Fault::Partition(groups, mode) => {
                self.shape(mode, |from, to| groups.iter().any(|group| group.contains(&from) && group.contains(&to)))
            }
            Fault::Bridge([left, between, right], mode) => self.shape(mode, |from, to| {
                let side = |side: &[usize]| side.contains(&from) && side.contains(&to);
                between.contains(&from) || between.contains(&to) || side(&left) || side(&right)
            }),
            Fault::Ring(order, mode) => self.shape(mode, |from, to| are_neighbours(&order, from, to)),
            Fault::Graph(arrows, mode) => self.graph(arrows, mode),
            Fault::Mend => self.shape(Mode::Up, |_, _| true),
            Fault::MendPair(one, two) => self.cut(one, two, Mode::Up),
            Fault::Weather(quality) => self.network.quality = quality,
            Fault::LinkWeather(from, to, quality) => {
                self.network.special.insert((from, to), quality);
            }
            Fault::Lasting(node) => self.hosts[node].lasting = true,
            Fault::Retire(node) => {
                self.end(node, true);
                self.hosts[node].retired = true;
            }
            Fault::Arrive(node) => {
                self.hosts[node].retired = false;
                self.start(node);
            }
            Fault::Heal => self.heal(),
            Fault::HealOnly(nodes) => self.heal_only(&nodes),
        }
    }

    /// Starts a process where none runs.
    pub(super) fn start(&mut self, node: usize) {
        if self.hosts[node].process.is_some() || self.hosts[node].retired {
            return;
        }
        let verdict = self.watch.synced(self.now, node, self.hosts[node].disk.contents());
        self.judge(verdict);
        self.hosts[node].boot(node, self.now);
        self.reset_stale_lines_of(node);
        if let Some(process) = &self.hosts[node].process {
            let verdict = self.watch.booted(self.now, node, &process.participant);
            self.judge(verdict);
        }
        self.handle(node, Input::Started);
    }

    fn end(&mut self, node: usize, powered: bool) {
        let host = &mut self.hosts[node];
        host.powered &= powered;
        let Some(process) = host.process.take() else {
            return;
        };
        self.counters.writes_lost += host.disk.crash(&mut host.rng, self.normal.loses_unsynced);
        self.close_calls_of(node, process.life, powered);
        self.close_lines_of(node, powered);
        for &ticket in &process.asked {
            let verdict = self.watch.lost(self.now, node, ticket);
            self.judge(verdict);
        }
        let verdict = self.watch.ended(self.now, node);
        self.judge(verdict);
        if self.trace.is_on(Detail::Short) {
            self.trace.stands(self.now, self.counters.events, node, None);
        }
    }

    /// Its own calls have no outcome; those that it received are reset, if its machine is there to say so.
    fn close_calls_of(&mut self, node: usize, life: u32, powered: bool) {
        let own = self.calls_where(|call| call.from == node);
        for (id, _) in own {
            self.calls.close(id);
        }
        if powered {
            let received = self.calls_where(|call| call.to == node && call.to_life == life && !call.replying);
            for (id, from) in received {
                self.send_failure(id, (node, from), Failure::Reset);
            }
        }
    }

    fn calls_where(&self, is_meant: impl Fn(&Pending) -> bool) -> Vec<(CallId, usize)> {
        let meant = self.calls.iter().filter(|(_, call)| is_meant(call));
        meant.map(|&(id, call)| (id, call.from)).collect()
    }

    fn pause(&mut self, node: usize) {
        if let Some(process) = &mut self.hosts[node].process {
            process.paused = true;
            let verdict = self.watch.paused(self.now, node, true);
            self.judge(verdict);
        }
    }

    fn resume(&mut self, node: usize) {
        let Some(process) = self.hosts[node].process.as_mut().filter(|process| process.paused) else {
            return;
        };
        process.paused = false;
        if !process.backlog.is_empty() {
            let life = process.life;
            self.after(0, Event::Backlog { node, life });
        }
        let verdict = self.watch.paused(self.now, node, false);
        self.judge(verdict);
    }

    fn mend_disk(&mut self, node: usize, latency_us: (u64, u64)) {
        self.hosts[node].disk.mend(latency_us);
        self.begin_write(node);
    }

    fn set_rate(&mut self, node: usize, rate_ppm: u64) {
        let host = &mut self.hosts[node];
        host.clock.set_rate(self.now, rate_ppm);
        if let Some(process) = &mut host.process {
            process.alarm = None;
        }
        self.set_alarm(node);
    }

    fn jump(&mut self, node: usize, span_us: u64) {
        self.hosts[node].clock.jump(span_us);
        if let Some(process) = &mut self.hosts[node].process {
            process.alarm = None;
        }
        self.set_alarm(node);
    }

    /// Calls fail whose request may have been heard, and links close.
    fn reset(&mut self, one: usize, two: usize) {
        let between = |from, to| (from, to) == (one, two) || (from, to) == (two, one);
        let broken = self.calls_where(|call| between(call.from, call.to));
        for (call, _) in broken {
            self.after(1, Event::Fail { call, why: Failure::Reset });
        }
        self.refuse_lines(one, two);
        self.refuse_lines(two, one);
    }

    fn set_link(&mut self, from: usize, to: usize, mode: Mode) {
        let before = self.network.mode(from, to);
        self.network.set_mode(from, to, mode);
        if mode == Mode::Refuse && before != mode && from != to {
            let broken = self.calls_where(|call| call.from == from && call.to == to);
            for (call, _) in broken {
                self.after(1, Event::Fail { call, why: Failure::Reset });
            }
            self.refuse_lines(from, to);
        }
    }

    fn cut(&mut self, one: usize, two: usize, mode: Mode) {
        self.set_link(one, two, mode);
        self.set_link(two, one, mode);
    }

    /// Lets only those arrows work that `works` names; the others get `mode`.
    fn shape(&mut self, mode: Mode, works: impl Fn(usize, usize) -> bool) {
        for from in 0..self.hosts.len() {
            for to in 0..self.hosts.len() {
                self.set_link(from, to, if works(from, to) { Mode::Up } else { mode });
            }
        }
    }

    fn graph(&mut self, arrows: u64, mode: Mode) {
        let count = self.hosts.len();
        assert!(count <= 8, "the arrows of more than 8 nodes do not fit into 64 bits");
        self.shape(mode, |from, to| {
            let place = from * (count - 1) + to - usize::from(to > from);
            from == to || arrows >> place & 1 == 1
        });
    }

    fn heal(&mut self) {
        self.shape(Mode::Up, |_, _| true);
        self.network.quality = self.normal.quality;
        self.network.special.clear();
        (0..self.hosts.len()).for_each(|node| self.heal_node(node));
    }

    fn heal_only(&mut self, nodes: &[usize]) {
        nodes.iter().for_each(|&node| self.hosts[node].lasting = false);
        for &from in nodes {
            for &to in nodes {
                self.set_link(from, to, Mode::Up);
                self.network.special.insert((from, to), self.normal.quality);
            }
        }
        nodes.iter().for_each(|&node| self.heal_node(node));
    }

    fn heal_node(&mut self, node: usize) {
        if !self.hosts[node].lasting {
            self.mend_disk(node, self.normal.disk_us);
            self.network.set_reach(node, Mode::Up);
            self.network.set_rate(node, 0);
        }
        self.hosts[node].resolves = true;
        self.resume(node);
        self.start(node);
    }
}

fn are_neighbours(order: &[usize], one: usize, two: usize) -> bool {
    let next = |node: usize| {
        let place = order.iter().position(|&other| other == node)?;
        order.get((place + 1) % order.len()).copied()
    };
    next(one) == Some(two) || next(two) == Some(one)
}
