//! A lease from the side of its holder, who must know by its own clock until when it may count on it.

use super::{Ask, Client, ClientError, Fate};
use crate::cluster::{Holding, Token};
use reqwest::Method;
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use std::time::Duration;
use tokio::time::Instant;

/// How often a holder looks at its clock.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// How long a cluster may take to say that a grant has ended.
const ANSWER_MIN: Duration = Duration::from_secs(1);
/// How many nodes are asked in the time that is left, if they say nothing: the master may stand still, and those who follow it
/// need a moment until they have another one.
const TURNS: u32 = 4;

/// A holder who waited for more than this part of what he may count on keeps the lease alive before he begins.
const WORTH: u32 = 10;

/// How long a node is asked to wait for a lease at a time: one that freezes meanwhile says nothing.
const WAIT_AT_ONE: Duration = Duration::from_secs(5);

/// A lease that was granted. It ends by itself unless it is kept alive.
#[derive(Clone)]
pub struct Grant {
    client: Client,
    holding: Holding,
    holder_ttl: Duration,
    /// On the clock that goes on while the machine sleeps.
    valid_until: Duration,
}

/// The time of a clock that goes on while the machine sleeps.
fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Which lease is wanted, by whom, for how long, and how long to wait for it.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) holder: &'a str,
    pub(super) ttl: Duration,
    pub(super) wait: Duration,
}

#[derive(Deserialize)]
struct Terms {
    token: Token,
    holder_ttl_millis: u64,
}

impl Terms {
    fn ttl(&self) -> Duration {
        Duration::from_millis(self.holder_ttl_millis)
    }
}

/// Where a lease is found.
pub(super) fn path(name: &str) -> String {
    format!("/_zazen/lease/{}", super::escaped(name))
}

fn millis(span: Duration) -> String {
    format!("{}ms", span.as_millis())
}

impl Grant {
    pub(super) async fn acquire(client: &Client, wanted: Wanted<'_>) -> Result<Option<Grant>, ClientError> {
        let Wanted { name, holder, ttl, wait } = wanted;
        let deadline = Instant::now() + wait;
        loop {
            let wait = deadline.saturating_duration_since(Instant::now()).min(WAIT_AT_ONE);
            let ask = Ask { method: Method::POST, wait, ..Ask::read(path(name)) };
            let ask = ask.with("ttl", millis(ttl)).with("holder", holder).with("wait", millis(wait));
            let sent = now();
            let granted = match client.json::<Terms>(client.named(ask)).await {
                Ok(terms) => Grant::confirmed(client, name, sent, &terms).await,
                Err(error) => Err(error),
            };
            match granted {
                Ok(grant) => return Ok(Some(grant)),
                // Another was faster, or the grant ended before it was heard of; and that was the answer to this very request.
                Err(error) if error.is_held() || error.is_not_held() => {
                    if Instant::now() >= deadline {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The grant of a request that was sent then. What was waited for counts against the holder, who cannot know when the
    /// lease was granted.
    async fn confirmed(client: &Client, name: &str, sent: Duration, terms: &Terms) -> Result<Grant, ClientError> {
        let holding = Holding { name: name.into(), token: terms.token };
        let holder_ttl = terms.ttl();
        let mut grant = Grant { client: client.clone(), holding, holder_ttl, valid_until: sent + holder_ttl };
        if now() > sent + holder_ttl / WORTH {
            grant.keep_alive().await?;
        }
        Ok(grant)
    }

    /// The fencing token: greater than that of every grant before.
    pub fn token(&self) -> Token {
        self.holding.token
    }

    /// The grant, as conditions and keys name it.
    pub fn holding(&self) -> &Holding {
        &self.holding
    }

    /// For how long the holder may still count on it, if nothing else is heard.
    pub fn left(&self) -> Duration {
        self.valid_until.saturating_sub(now())
    }

    /// How long the holder may count on it from each sign of life on.
    pub fn ttl(&self) -> Duration {
        self.holder_ttl
    }

    /// Keeps it alive once.
    pub async fn keep_alive(&mut self) -> Result<(), ClientError> {
        // Nobody waits long for an answer that comes too late to help.
        let patience = self.left().max(ANSWER_MIN).min(self.client.patience);
        let client = self.client.clone().with_patience(patience).with_turn(patience / TURNS);
        let ask = Ask { method: Method::PUT, ..Ask::read(path(&self.holding.name)) };
        let ask = ask.with("token", self.holding.token).with("master_timeout", millis(patience));
        // Earlier than any attempt that is answered: a second one would be too generous.
        let sent = now();
        let terms: Terms = client.json(ask).await?;
        self.holder_ttl = terms.ttl();
        self.valid_until = self.valid_until.max(sent + self.holder_ttl);
        Ok(())
    }

    /// Keeps it alive until that fails for good or only this much time is left, and tells why.
    pub async fn keep(&mut self, reserve: Duration) -> ClientError {
        self.keep_and(reserve, |_| ()).await
    }

    /// The same, and tells after each sign of life how much time is left.
    pub async fn keep_and(&mut self, reserve: Duration, mut tell: impl FnMut(Duration)) -> ClientError {
        loop {
            // From the last sign of life on, which may be some time ago.
            let due = self.valid_until.saturating_sub(self.holder_ttl * 2 / 3);
            // A timer stands still while the machine sleeps, so it is looked at the clock again and again.
            let pause = due.saturating_sub(now()).min(self.left().saturating_sub(reserve)).min(LOOK_AGAIN);
            tokio::time::sleep(pause).await;
            let left = self.left().saturating_sub(reserve);
            if left.is_zero() {
                return ClientError::Late;
            }
            if now() < due {
                continue;
            }
            match tokio::time::timeout(left, self.keep_alive()).await {
                Ok(Ok(())) => tell(self.left()),
                Ok(Err(error)) if error.fate() == Fate::Final && !matches!(error, ClientError::NotDone(_)) => {
                    return error;
                }
                Ok(Err(_)) => {}
                Err(_) => return ClientError::Late,
            }
        }
    }

    /// Ends it, so that others need not wait until it ends by itself.
    pub async fn release(self) -> Result<(), ClientError> {
        let ask = Ask { method: Method::DELETE, ..Ask::read(path(&self.holding.name)) };
        let ask = ask.with("token", self.holding.token);
        match self.client.ask(self.client.named(ask)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_held() => Ok(()),
            Err(error) => Err(error),
        }
    }
}
