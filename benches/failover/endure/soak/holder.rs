//! One who fights for a lease, keeps it alive, gives it up or falls silent, and writes down what he believes.

use super::LEASES;
use super::desk::{Desk, TTL, lease};
use super::door::{client, runtime};
use crate::clock::pause;
use std::time::Duration;
use tokio::runtime::Runtime;
use zazen::Client;
use zazen::client::Grant;
use zazen::protocol::Rng;
use zazen::service::{Condition, Put, Txn};
use zazen::sim::check::chronicle::Held;

/// How long a holder waits for another one, and for any answer.
const WAIT: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(4);

/// The longest pause between two things that he does.
const PAUSE_MS: u64 = 400;

pub(super) struct Holder<'a> {
    number: usize,
    rng: Rng,
    desk: &'a Desk,
}

impl<'a> Holder<'a> {
    pub(super) fn new(number: usize, rng: Rng, desk: &'a Desk) -> Self {
        Holder { number, rng, desk }
    }

    /// Goes on until it is over.
    pub(super) fn run(mut self) {
        let made = runtime().and_then(|runtime| Ok((runtime, client(self.desk, PATIENCE)?)));
        let (runtime, client) = match made {
            Ok(made) => made,
            Err(what) => return self.desk.tell(format!("holder {}: {what}", self.number)),
        };
        while !self.desk.is_closed() {
            self.fight(&runtime, &client);
            self.pause();
        }
    }

    fn lease(&self) -> usize {
        self.number % LEASES
    }

    fn write_down(&self, held: Held) {
        self.desk.chronicle.lock().held(self.desk.time(), self.lease(), self.number, held);
    }

    fn pause(&mut self) {
        pause(Duration::from_micros(self.rng.below(PAUSE_MS * 1_000)));
    }

    /// Waits for the lease, and holds it for a while.
    fn fight(&mut self, runtime: &Runtime, client: &Client) {
        let began = self.desk.time();
        let (name, who) = (lease(self.lease()), format!("holder-{}", self.number));
        // Who gets no answer may hold it and not know: it runs out.
        let Ok(Some(mut grant)) = runtime.block_on(client.acquire(&name, &who, TTL, WAIT)) else {
            return;
        };
        self.write_down(Held::Granted { began, token: grant.token() });
        self.believe(&grant);
        loop {
            self.pause();
            if grant.left().is_zero() {
                return self.write_down(Held::GivenUp);
            }
            match self.rng.below(100) {
                0..12 => {
                    self.write_down(Held::GivenUp);
                    // Where it is not heard of, the lease runs out.
                    let _ = runtime.block_on(grant.release());
                    return;
                }
                // Silence, as if he were stalled.
                12..18 => pause(grant.left()),
                18..45 => self.write(runtime, client, &grant),
                _ => match runtime.block_on(grant.keep_alive()) {
                    Ok(()) => self.believe(&grant),
                    Err(error) if error.is_not_held() => return self.write_down(Held::GivenUp),
                    Err(_) => {}
                },
            }
        }
    }

    fn believe(&self, grant: &Grant) {
        let at = self.desk.time();
        let left = grant.left();
        if !left.is_zero() {
            self.desk.chronicle.lock().held(at, self.lease(), self.number, Held::Believed { until: at + left });
        }
    }

    /// Writes a key that goes with the lease, if it is held.
    fn write(&mut self, runtime: &Runtime, client: &Client, grant: &Grant) {
        let holding = grant.holding().clone();
        let key = format!("{}-{}", holding.name, self.rng.below(3));
        let put = Put { key: key.into(), value: holding.token.to_string().into(), lease: Some(holding.clone()) };
        let txn = Txn { conditions: vec![Condition::Held(holding)], puts: vec![put], ..Txn::default() };
        // Whether it worked is for watchers to see.
        let _ = runtime.block_on(client.change(&txn));
    }
}
