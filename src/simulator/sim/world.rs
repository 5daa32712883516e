//! The world: its nodes, its time, and how to run it.
//!
//! What happens in an event is in `step`, what participants want in `effects`, what is broken on purpose in `inject`;
//! `linking` makes and ends held links, `gate` lets messages pass.

use super::baseline::Baseline;
use super::calls::{CallId, Calls};
use super::counters::{Counters, Traffic};
use super::fault::Fault;
use super::host::{Boot, Host};
use super::lifeline::{End, Lifelines, LineId};
use super::message_filter::{Freight, MessageFilter};
use super::network::{Mode, Network, Quality};
use super::plan::Plan;
use super::queue::Queue;
use super::trace::{Detail, Trace};
use super::watch::{Unwatched, Violation, Watch, WatchResult};
use crate::protocol::{Effects, Failure, Input, Protocol, Resolution, Rng, Ticket, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Something that will happen.
pub(super) enum Event<P: Protocol> {
    /// A node's alarm rings.
    Alarm { node: usize, life: u32, number: u64 },
    /// A request arrives, or its second copy.
    Request { call: CallId, from: usize, to: usize, copy: bool, message: P::Message },
    /// Something told arrives, or its second copy.
    Tell { from: usize, to: usize, copy: bool, message: P::Message },
    /// A reply arrives.
    Reply { call: CallId, message: P::Message },
    /// A sender learns that its call failed.
    Fail { call: CallId, why: Failure },
    /// Calls with this timeout may have waited for so long.
    Timeouts { span: u64 },
    /// A call may have got no further for so long.
    Late { call: CallId, span: u64 },
    /// The first write in a node's queue is done, unless it was begun anew.
    Written { node: usize, life: u32, attempt: u64 },
    /// Something of a node's own surroundings reaches it.
    Local { node: usize, life: u32, input: Input<P> },
    /// A node that was paused takes the next of what it missed.
    Backlog { node: usize, life: u32 },
    /// A holder tries to make its link.
    Dial { line: LineId, until: Time },
    /// The other end is asked to accept a link.
    Syn { line: LineId, until: Time },
    /// One end of a link learns that it closed.
    LineClosed { line: LineId, end: End },
}

/// Many nodes in one deterministic world, looked at by `W`.
pub struct World<P: Protocol, W: Watch<P> = Unwatched> {
    /// Who looks on.
    pub watch: W,
    pub(super) now: Time,
    pub(super) queue: Queue<Event<P>>,
    pub(super) hosts: Vec<Host<P>>,
    pub(super) addresses: BTreeMap<P::Peer, usize>,
    pub(super) network: Network,
    pub(super) calls: Calls,
    /// Requests that were cancelled before they arrived.
    pub(super) cancelled: BTreeSet<CallId>,
    pub(super) lines: Lifelines,
    pub(super) counters: Counters,
    pub(super) trace: Trace<P>,
    pub(super) broken: Option<Violation>,
    /// Kept between events, so that no event allocates it anew.
    pub(super) effects: Effects<P>,
    pub(super) sizer: Option<fn(&P::Message) -> usize>,
    /// How many bytes a message has on a link with a rate.
    pub(super) weigher: Option<fn(&P::Message) -> usize>,
    /// Which requests go over an open link rather than over a connection of their own.
    pub(super) over_links: Option<fn(&P::Message) -> bool>,
    pub(super) normal: Baseline,
    pub(super) gate: Option<MessageFilter<P::Message>>,
    pub(super) held: Vec<Freight<P>>,
    tickets: u64,
    seeds: Rng,
}

impl<P: Protocol, W: Watch<P>> World<P, W> {
    /// An empty world that `seed` determines.
    pub fn new(seed: u64, watch: W) -> Self {
        let mut seeds = Rng::new(seed);
        World {
            watch,
            now: Time::ZERO,
            queue: Queue::new(),
            hosts: Vec::new(),
            addresses: BTreeMap::new(),
            network: Network::new(seeds.fork()),
            calls: Calls::new(),
            cancelled: BTreeSet::new(),
            lines: Lifelines::new(),
            counters: Counters::default(),
            trace: Trace::new(),
            broken: None,
            effects: Effects::default(),
            sizer: None,
            weigher: None,
            over_links: None,
            normal: Baseline::default(),
            gate: None,
            held: Vec::new(),
            tickets: 0,
            seeds,
        }
    }

    /// Adds a node that is down, and tells its index; `boot` makes its participant at each start.
    pub fn add(&mut self, peer: P::Peer, seeds: Vec<P::Peer>, boot: impl FnMut(Boot<'_, P>) -> P + 'static) -> usize {
        let node = self.hosts.len();
        let before = self.addresses.insert(peer.clone(), node);
        assert!(before.is_none(), "two nodes have the address {peer}");
        let mut host = Host::new(peer, Resolution::of(seeds), self.seeds.fork(), Box::new(boot));
        host.disk.mend(self.normal.disk_us);
        self.hosts.push(host);
        self.network.add_node();
        self.trace.add_node();
        self.counters.nodes.push(Traffic::default());
        node
    }

    /// Changes how a node's participant is made, from its next start on.
    pub fn set_boot(&mut self, node: usize, boot: impl FnMut(Boot<'_, P>) -> P + 'static) {
        self.hosts[node].boot = Box::new(boot);
    }

    /// Moves a node that is down to another address; who asks for it at its old one is refused.
    pub fn move_to(&mut self, node: usize, peer: P::Peer) {
        assert!(self.hosts[node].process.is_none(), "a process runs at the address that is left");
        self.refuse_dials_to(node);
        let before = self.addresses.insert(peer.clone(), node);
        assert!(before.is_none(), "two nodes have the address {peer}");
        let host = &mut self.hosts[node];
        let left = std::mem::replace(&mut host.peer, peer);
        self.addresses.remove(&left);
        host.former.push((host.boots, left));
    }

    /// Starts every node that does not run.
    pub fn start_all(&mut self) {
        for node in 0..self.hosts.len() {
            self.start(node);
        }
    }

    /// Asks a node as a client would. If nothing runs there, the watch is told at once that the ticket is lost.
    pub fn ask(&mut self, node: usize, question: P::Question) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        match &mut self.hosts[node].process {
            Some(process) => {
                process.asked.insert(ticket);
                let life = process.life;
                let input = Input::Asked { ticket, question };
                self.after(1, Event::Local { node, life, input });
            }
            None => {
                let verdict = self.watch.lost(self.now, node, ticket);
                self.judge(verdict);
            }
        }
        ticket
    }

    /// Does what happens next; false if nothing will ever happen.
    pub fn step(&mut self) -> Result<bool, Violation> {
        let Some((at, event)) = self.queue.pop() else {
            return self.verdict().map(|()| false);
        };
        self.now = at;
        self.counters.events += 1;
        self.carry_out(event);
        self.verdict().map(|()| true)
    }

    /// Does all that happens until `end`, that included.
    pub fn run_until(&mut self, end: Time) -> Result<(), Violation> {
        self.verdict()?;
        while self.queue.next_at().is_some_and(|at| at <= end) {
            self.step()?;
        }
        self.now = self.now.max(end);
        Ok(())
    }

    /// Does all that happens in the next `span`.
    pub fn run_for(&mut self, span: Duration) -> Result<(), Violation> {
        self.run_until(self.now + span)
    }

    /// Runs while `goes_on` says so after each event, at most until `end`; true if it ever said no.
    pub fn run_while(&mut self, end: Time, mut goes_on: impl FnMut(&Self) -> bool) -> Result<bool, Violation> {
        self.verdict()?;
        while goes_on(self) {
            if self.queue.next_at().is_none_or(|at| at > end) {
                self.now = self.now.max(end);
                return Ok(false);
            }
            self.step()?;
        }
        Ok(true)
    }

    /// Runs until `end` under the faults of a plan. What the plan breaks stays broken unless it ended by then.
    pub fn run_plan(&mut self, plan: &mut Plan, end: Time) -> Result<(), Violation> {
        while plan.next_at() <= end {
            self.run_until(plan.next_at())?;
            if let Some(fault) = plan.take() {
                self.inject(fault);
            }
        }
        self.run_until(end)
    }

    /// The world's time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many nodes there are, running or not.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// How many events wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The participant of a node, if its process runs or is paused.
    pub fn participant(&self, node: usize) -> Option<&P> {
        self.hosts[node].process.as_ref().map(|process| &process.participant)
    }

    /// The participants that run, paused ones included, with their indices.
    pub fn participants(&self) -> impl Iterator<Item = (usize, &P)> {
        (0..self.hosts.len()).filter_map(|node| Some((node, self.participant(node)?)))
    }

    /// What a node showed its readers last, since it started.
    pub fn view(&self, node: usize) -> Option<&P::View> {
        self.hosts[node].process.as_ref().and_then(|process| process.view.as_ref())
    }

    /// What a process would find on the disk of a node if it crashed now and nothing unsynced survived.
    pub fn disk(&self, node: usize) -> &P::Disk {
        self.hosts[node].disk.contents()
    }

    /// Copies what the disk of a node holds to that of another one, which must be down.
    pub fn copy_disk(&mut self, from: usize, to: usize) {
        assert!(self.hosts[to].process.is_none(), "a process runs on the disk that is copied to");
        let contents = self.hosts[from].disk.contents().clone();
        self.hosts[to].disk.replace(contents);
    }

    /// The address of a node.
    pub fn peer(&self, node: usize) -> &P::Peer {
        &self.hosts[node].peer
    }

    /// The node at an address.
    pub fn node_at(&self, peer: &P::Peer) -> Option<usize> {
        self.addresses.get(peer).copied()
    }

    /// Whether a process runs on a node and is not paused.
    pub fn is_running(&self, node: usize) -> bool {
        self.hosts[node].process.as_ref().is_some_and(|process| !process.paused)
    }

    /// What a node's own clock shows.
    pub fn local_time(&self, node: usize) -> Time {
        self.hosts[node].clock.local(self.now)
    }

    /// What happens to what travels from one node to another.
    pub fn link(&self, from: usize, to: usize) -> Mode {
        self.network.mode(from, to)
    }

    /// How well links carry that have no quality of their own.
    pub fn quality(&self) -> Quality {
        self.network.quality
    }

    /// Changes what looking up the seed hosts yields on a node.
    pub fn set_seeds(&mut self, node: usize, seeds: Resolution<P::Peer>) {
        self.hosts[node].seeds = seeds;
    }

    /// Changes what is normal, and makes it so for all links and disks.
    pub fn set_normal(&mut self, normal: Baseline) {
        self.normal = normal;
        self.network.quality = normal.quality;
        for host in &mut self.hosts {
            host.disk.mend(normal.disk_us);
        }
    }

    /// Says how many bytes a message has, for the counters.
    pub fn measure_messages(&mut self, sizer: fn(&P::Message) -> usize) {
        self.sizer = Some(sizer);
    }

    /// Says how many bytes a message has where a link carries only so many in a second; none has any unless it is said.
    pub fn weigh_messages(&mut self, weigher: fn(&P::Message) -> usize) {
        self.weigher = Some(weigher);
    }

    /// Says which requests need no new connection while a link between the two is open; none do unless it is said.
    pub fn send_over_links(&mut self, goes: fn(&P::Message) -> bool) {
        self.over_links = Some(goes);
    }

    /// Whether others can make a connection to the address of a node, as far as their links let them.
    pub fn is_reachable(&self, node: usize) -> bool {
        self.network.is_reachable(node)
    }

    /// How much longer what is under way on links with a rate takes.
    pub fn transfer_left(&self) -> Duration {
        self.network.transfer_left(self.now)
    }

    /// Whether the disk of a node finishes nothing.
    pub fn is_hanging(&self, node: usize) -> bool {
        self.hosts[node].disk.is_hanging()
    }

    /// Whether the disk of a node works, but not as fast as is normal.
    pub fn is_crawling(&self, node: usize) -> bool {
        self.hosts[node].disk.is_slower_than(self.normal.disk_us)
    }

    /// What the run consisted of so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Switches the text trace on, keeping the last `kept_max` lines.
    pub fn trace(&mut self, detail: Detail, kept_max: usize) {
        self.trace.detail = detail;
        self.trace.kept_max = kept_max;
        for (node, host) in self.hosts.iter().enumerate() {
            self.trace.standing[node] = host.process.as_ref().map(|process| process.participant.standing());
        }
    }

    /// The lines of the text trace that are kept.
    pub fn trace_lines(&self) -> impl Iterator<Item = &str> {
        self.trace.lines.iter().map(String::as_str)
    }

    /// Takes the kept lines of the text trace out.
    pub fn take_trace(&mut self) -> Vec<String> {
        self.trace.lines.drain(..).collect()
    }

    /// A hash of everything that happened so far.
    pub fn trace_hash(&self) -> u64 {
        self.trace.hash()
    }

    /// Switches the hash of everything off, where nobody compares it.
    pub fn without_hash(&mut self) {
        self.trace.hashing = false;
    }

    /// Writes a line of somebody else's into the text trace.
    pub fn remark(&mut self, text: &str) {
        if self.trace.is_on(Detail::Short) {
            self.trace.line(self.now, self.counters.events, None, text);
        }
    }

    pub(super) fn after(&mut self, micros: u64, event: Event<P>) {
        let at = Time::from_micros(self.now.as_micros().saturating_add(micros));
        self.queue.push(at, event);
    }

    pub(super) fn judge(&mut self, verdict: WatchResult) {
        if let Err(violation) = verdict {
            self.broken.get_or_insert(violation);
        }
    }

    fn verdict(&self) -> WatchResult {
        self.broken.clone().map_or(Ok(()), Err)
    }

    pub(super) fn record_fault(&mut self, fault: &Fault) {
        *self.counters.faults.entry(fault.kind()).or_default() += 1;
        self.trace.fault(self.now, fault);
        if self.trace.is_on(Detail::Short) {
            self.trace.line(self.now, self.counters.events, None, &format!("! {fault}"));
        }
    }
}
