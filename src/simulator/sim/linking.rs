//! Held links: made by a holder, noticed by both ends when they end.
//!
//! Each end knows for itself whether the link is open, because a black hole keeps the news of its end back: that news
//! is tried again until it passes, as kernels do. A machine that lost its power sends none until it is back.

use super::host::Arrival;
use super::lifeline::{End, Knows, Lifeline, LineId};
use super::network::{Cargo, Route};
use super::watch::Watch;
use super::world::{Event, World};
use crate::protocol::{Input, Protocol, Time};
use std::time::Duration;

/// How long a link is tried to be made.
const DIAL_FOR: Duration = Duration::from_secs(3);
/// How long until an attempt is repeated that nobody answered.
const DIAL_AGAIN_US: u64 = 250_000;
/// How long until news is repeated that did not pass.
const NEWS_AGAIN_US: u64 = 1_000_000;

impl<P: Protocol, W: Watch<P>> World<P, W> {
    /// A node wants to hold a link.
    pub(super) fn hold_line(&mut self, holder: usize, life: u32, peer: P::Peer) {
        let Some(other) = self.addresses.get(&peer).copied() else {
            return self.refuse_nobody(holder, Input::LinkClosed { peer });
        };
        if self.lines.held(holder, other).is_some() {
            return;
        }
        self.lines.serial += 1;
        let id = (holder, other, self.lines.serial);
        let line = Lifeline { holder: Knows { life, open: true }, other: Knows { life: 0, open: false }, made: false };
        self.lines.lines.insert(id, line);
        self.dial(id, self.now + DIAL_FOR);
    }

    pub(super) fn dial(&mut self, line: LineId, until: Time) {
        if !self.lines.lines.contains_key(&line) {
            return;
        }
        let barred = self.network.bar(line.0, line.1);
        match barred.unwrap_or_else(|| self.network.route(line.0, line.1, Cargo::Request)) {
            Route::Refused => self.after(1, Event::LineClosed { line, end: End::Holder }),
            Route::Lost => self.dial_again(line, until),
            Route::After(delay) => self.after(delay, Event::Syn { line, until }),
        }
    }

    fn dial_again(&mut self, line: LineId, until: Time) {
        if self.now + Duration::from_micros(DIAL_AGAIN_US) > until {
            self.after(DIAL_AGAIN_US, Event::LineClosed { line, end: End::Holder });
        } else {
            self.after(DIAL_AGAIN_US, Event::Dial { line, until });
        }
    }

    pub(super) fn syn_arrives(&mut self, line: LineId, until: Time) {
        let (holder, other, _) = line;
        if !self.lines.lines.contains_key(&line) {
            return;
        }
        let silent = !self.hosts[other].powered;
        let swallowed = self.network.swallows(holder, other, Cargo::Request);
        if silent || swallowed || self.network.swallows(other, holder, Cargo::Notice) {
            return self.dial_again(line, until);
        }
        let life = self.hosts[other].life();
        if life == 0 {
            return self.send_news(line, End::Holder);
        }
        if let Some(made) = self.lines.lines.get_mut(&line) {
            made.other = Knows { life, open: true };
            made.made = true;
        }
    }

    /// A node lets go of the link that it holds to a peer, or else of the one that the peer holds to it.
    pub(super) fn let_go(&mut self, node: usize, peer: &P::Peer) {
        let Some(other) = self.addresses.get(peer).copied() else {
            return;
        };
        let held = self.lines.held(node, other).map(|line| (line, End::Holder));
        let accepted = || self.lines.accepted(other, node).map(|line| (line, End::Other));
        if let Some((line, end)) = held.or_else(accepted) {
            self.close_end(line, end, true);
        }
    }

    /// The process of a node ended; with notice if its machine is still there to give it.
    pub(super) fn close_lines_of(&mut self, node: usize, notice: bool) {
        for (line, end) in self.lines.of(node) {
            self.close_end(line, end, notice);
        }
    }

    /// A machine that is back answers traffic on links of its earlier processes with a reset.
    pub(super) fn reset_stale_lines_of(&mut self, node: usize) {
        for (line, end) in self.lines.of(node) {
            if self.lines.lines.get(&line).is_some_and(|line| line.made) {
                self.send_news(line, opposite(end));
            }
        }
    }

    /// Requests this way are refused from now on: links made this way end, and both ends know.
    pub(super) fn refuse_lines(&mut self, from: usize, to: usize) {
        if let Some(line) = self.lines.held(from, to) {
            self.after(1, Event::LineClosed { line, end: End::Holder });
            self.after(1, Event::LineClosed { line, end: End::Other });
        }
    }

    /// Nobody is at this node's address from now on: who still tries to make a link to it is refused.
    pub(super) fn refuse_dials_to(&mut self, node: usize) {
        let dialled = |(id, line): (&LineId, &Lifeline)| (id.1 == node && !line.made).then_some(*id);
        let dialled: Vec<LineId> = self.lines.lines.iter().filter_map(dialled).collect();
        for line in dialled {
            self.line_closed(line, End::Holder);
        }
    }

    fn close_end(&mut self, line: LineId, end: End, notice: bool) {
        let Some(closing) = self.lines.lines.get_mut(&line) else {
            return;
        };
        closing.end(end).open = false;
        // A link to itself has nobody else to tell.
        if line.0 == line.1 {
            closing.other.open = false;
        }
        // Who still tries to make the link finds out by itself.
        if notice && closing.made && closing.end(opposite(end)).open {
            self.send_news(line, opposite(end));
        }
        self.forget_if_closed(line);
    }

    fn send_news(&mut self, line: LineId, end: End) {
        let (from, to) = (node_of(line, opposite(end)), node_of(line, end));
        match self.network.route(from, to, Cargo::Notice) {
            Route::After(delay) => self.after(delay, Event::LineClosed { line, end }),
            Route::Refused | Route::Lost => self.after(NEWS_AGAIN_US, Event::LineClosed { line, end }),
        }
    }

    pub(super) fn line_closed(&mut self, line: LineId, end: End) {
        let (from, to) = (node_of(line, opposite(end)), node_of(line, end));
        let Some(closing) = self.lines.lines.get_mut(&line) else {
            return;
        };
        // An attempt that is given up needs nobody's news.
        if closing.made && self.network.swallows(from, to, Cargo::Notice) {
            return self.after(NEWS_AGAIN_US, Event::LineClosed { line, end });
        }
        let Knows { life, open } = *closing.end(end);
        let gone = closing.end(opposite(end)).life;
        closing.end(end).open = false;
        self.forget_if_closed(line);
        if open {
            let peer = self.hosts[from].peer_of(gone).clone();
            self.arrive(to, life, Arrival::Input(Input::LinkClosed { peer }));
        }
    }

    fn forget_if_closed(&mut self, line: LineId) {
        let closed = self.lines.lines.get(&line).is_some_and(|line| !line.holder.open && !line.other.open);
        if closed {
            self.lines.lines.remove(&line);
        }
    }
}

fn node_of((holder, other, _): LineId, end: End) -> usize {
    match end {
        End::Holder => holder,
        End::Other => other,
    }
}

fn opposite(end: End) -> End {
    match end {
        End::Holder => End::Other,
        End::Other => End::Holder,
    }
}
