//! A gate in the network: somebody outside lets each message pass, drops it or holds it back.
//!
//! It judges what would have arrived: what a link swallows or refuses never comes to it. There is none unless one is
//! set. What is held stays held, whatever becomes of its sender, until it is released.

use super::message_filter::{Freight, Manner, MessageFilter, Passage, Stop};
use super::trace::Detail;
use super::watch::Watch;
use super::world::{Event, World};
use crate::protocol::Protocol;

impl<P: Protocol, W: Watch<P>> World<P, W> {
    /// Sets a gate in the network, or takes it away. What an earlier one holds stays held.
    pub fn set_gate(&mut self, gate: Option<MessageFilter<P::Message>>) {
        self.gate = gate;
    }

    /// Lets what is held and `wanted` go on, in the order in which it was sent; tells how many messages these are.
    pub fn release(&mut self, mut wanted: impl FnMut(usize, usize, &P::Message) -> bool) -> usize {
        let held = std::mem::take(&mut self.held);
        let (released, kept): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|freight| wanted(freight.from, freight.to, &freight.message));
        self.held = kept;
        let count = released.len();
        for freight in released {
            let delay = self.network.delay_between(freight.from, freight.to);
            self.after(delay, arrival(freight));
        }
        count
    }

    /// Sends a message on its way, which takes it `delay` microseconds if the gate lets it pass.
    pub(super) fn travel(&mut self, freight: Freight<P>, delay: u64) {
        match self.passage(&freight) {
            Passage::Deliver => self.after(delay, arrival(freight)),
            Passage::Drop => self.counters.lost += 1,
            Passage::Hold => self.held.push(freight),
        }
    }

    fn passage(&mut self, freight: &Freight<P>) -> Passage {
        let Some(gate) = &mut self.gate else {
            return Passage::Deliver;
        };
        let Freight { from, to, ref message, .. } = *freight;
        let passage = gate(from, to, message);
        if passage != Passage::Deliver {
            if self.trace.is_on(Detail::Short) {
                let text = format!("! {passage:?} {message} to n{to}");
                self.trace.line(self.now, self.counters.events, Some(from), &text);
            }
            let verdict = self.watch.stopped(self.now, Stop { from, to, message, passage });
            self.judge(verdict);
        }
        passage
    }
}

/// What happens when a message that passed arrives.
fn arrival<P: Protocol>(freight: Freight<P>) -> Event<P> {
    let Freight { from, to, manner, message } = freight;
    match manner {
        Manner::Request(call) => Event::Request { call, from, to, copy: false, message },
        Manner::Tell => Event::Tell { from, to, copy: false, message },
        Manner::Reply(call) => Event::Reply { call, message },
    }
}
