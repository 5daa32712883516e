//! The recent requests that a cluster remembers, so that one that was asked again is carried out once.
//!
//! Of each client the last requests are remembered, and of all clients those that asked last. What is remembered no
//! longer is never taken for new: see [`Recall`].

use super::{Refusal, RequestId, StateId, Table, Token, Uuid, Version};
use serde::{Deserialize, Serialize};

/// What a task came to, beyond being carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// There is nothing to tell.
    #[default]
    Applied,
    /// Keys were changed.
    Written {
        /// The part of their [`super::Revision`]; the state is the one that holds the change.
        #[serde(default, skip_serializing_if = "is_zero")]
        part: u32,
        /// How many of the keys to delete were there.
        #[serde(default, skip_serializing_if = "is_zero")]
        deleted: u32,
    },
    /// A lease was granted.
    Granted {
        /// The token of the grant.
        token: Token,
    },
    /// It was refused, for all time.
    Refused(Box<Refusal>),
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What became of a request that is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Remembered {
    /// The state that holds it.
    pub at: StateId,
    /// What it came to.
    #[serde(default)]
    pub outcome: RequestOutcome,
    /// What was asked for, if a client gave it a name: the same name for something else is a mistake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<u32>,
}

impl Remembered {
    /// What became of a request.
    pub fn new(at: StateId, outcome: RequestOutcome) -> Self {
        Remembered { at, outcome, digest: None }
    }

    /// The same in as few words as the state has room for.
    #[must_use]
    pub fn brief(&self) -> Self {
        let outcome = match &self.outcome {
            RequestOutcome::Refused(refusal) => RequestOutcome::Refused(Box::new(refusal.brief())),
            outcome @ (RequestOutcome::Applied | RequestOutcome::Written { .. } | RequestOutcome::Granted { .. }) => {
                outcome.clone()
            }
        };
        Remembered { at: self.at, outcome, digest: self.digest }
    }
}

/// What is known of a request that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recall {
    /// It was carried out.
    Done(Remembered),
    /// Another one of the same name was.
    Another,
    /// It was not carried out.
    New,
    /// It may have been carried out, but that is remembered no longer.
    Forgotten,
}

/// A client that is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Client {
    /// The first of its requests since it is.
    pub first: u64,
    /// The last state that holds a request of it.
    pub at: StateId,
}

/// The recent requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Requests {
    /// The clients that are remembered.
    pub clients: Table<Uuid, Client>,
    /// What became of their requests.
    pub done: Table<RequestId, Remembered>,
    /// How many clients were forgotten.
    pub forgotten: u64,
    /// No later state holds a request of one of these, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten_up_to: Option<Version>,
}

impl Requests {
    /// Of how many clients requests are remembered.
    pub const CLIENTS_MAX: usize = 256;
    /// How many requests of one client are remembered; it may have so many on their way at a time.
    pub const PER_CLIENT_MAX: usize = 128;

    /// What is known of a request. One that is told to be a `retry` by a client that may have been forgotten is no new
    /// one, unless the client knew a state `since` which it sent the request, and nothing later was forgotten.
    /// What is done under a name with another `digest` than this one is another request.
    pub fn recall(&self, id: RequestId, retry: bool, since: Option<Version>, digest: Option<u32>) -> Recall {
        if let Some(remembered) = self.done.get(&id) {
            let is_another = digest.zip(remembered.digest).is_some_and(|(asked, done)| asked != done);
            return if is_another { Recall::Another } else { Recall::Done(remembered.clone()) };
        }
        let of_client = self.of_client(id.client);
        // Whoever has as many later requests remembered may have had this one as well.
        let is_too_old = of_client.len() >= Self::PER_CLIENT_MAX && of_client.first().is_some_and(|first| id < *first);
        let is_before = self.clients.get(&id.client).is_none_or(|client| id.sequence < client.first);
        let is_later = since.is_some_and(|since| self.forgotten_up_to.is_some_and(|up_to| since >= up_to));
        let is_lost = retry && is_before && self.forgotten > 0 && !is_later;
        if is_too_old || is_lost { Recall::Forgotten } else { Recall::New }
    }

    /// Remembers what became of a request, and forgets what is too much.
    pub fn remember(&mut self, id: RequestId, remembered: Remembered) {
        let known = self.clients.get(&id.client).copied();
        if known.is_none() && self.clients.len() >= Self::CLIENTS_MAX {
            self.forget_oldest(remembered.at.version);
        }
        let first = known.map_or(id.sequence, |client| client.first);
        self.clients.insert(id.client, Client { first, at: remembered.at });
        self.done.insert(id, remembered);
        let of_client = self.of_client(id.client);
        let surplus = of_client.len().saturating_sub(Self::PER_CLIENT_MAX);
        for old in &of_client[..surplus] {
            self.done.remove(old);
        }
    }

    fn of_client(&self, client: Uuid) -> Vec<RequestId> {
        let from = self.done.range_from(&RequestId { client, sequence: 0 });
        from.map(|(id, _)| *id).take_while(|id| id.client == client).collect()
    }

    fn forget_oldest(&mut self, now: Version) {
        let oldest = self.clients.iter().min_by_key(|(id, client)| (client.at.rank(), **id));
        let Some((oldest, last)) = oldest.map(|(id, client)| (*id, client.at.version)) else {
            return;
        };
        // Of those that an earlier release forgot it is known that they are not of the future.
        let up_to = if self.forgotten == 0 { last } else { self.forgotten_up_to.unwrap_or(now).max(last) };
        self.forgotten_up_to = Some(up_to);
        for id in self.of_client(oldest) {
            self.done.remove(&id);
        }
        self.clients.remove(&oldest);
        self.forgotten += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Term, Version};

    fn id(client: u128, sequence: u64) -> RequestId {
        RequestId { client: Uuid::from_u128(client), sequence }
    }

    fn at(version: u64) -> Remembered {
        let version = Version::new(version).expect("it is below 2^53");
        Remembered::new(StateId { term: Term::ZERO, version, uuid: Uuid::ZERO }, RequestOutcome::Applied)
    }

    #[test]
    fn who_asked_later_than_all_that_were_forgotten_is_new() {
        let mut requests = Requests::default();
        let clients = u64::try_from(Requests::CLIENTS_MAX).expect("it is small");
        for client in 1..=clients + 3 {
            requests.remember(id(client.into(), 1), at(client));
        }
        let version = |number| Version::new(number);
        assert_eq!((requests.forgotten, requests.forgotten_up_to), (3, version(3)));
        for (since, known) in [(None, Recall::Forgotten), (version(2), Recall::Forgotten), (version(3), Recall::New)] {
            assert_eq!(requests.recall(id(1_000, 1), true, since, None), known, "{since:?}");
        }
        // An earlier release did not say how late those asked that it forgot.
        requests.forgotten_up_to = None;
        assert_eq!(requests.recall(id(1_000, 1), true, version(clients), None), Recall::Forgotten);
        requests.remember(id(2_000, 1), at(clients + 9));
        assert_eq!(requests.forgotten_up_to, version(clients + 9));
        assert_eq!(requests.recall(id(1_000, 1), true, version(clients + 9), None), Recall::New);
    }

    #[test]
    fn a_client_is_told_what_it_was_told_until_too_much_came_after() {
        let mut requests = Requests::default();
        for sequence in 1..=Requests::PER_CLIENT_MAX as u64 + 1 {
            assert_eq!(requests.recall(id(7, sequence), false, None, None), Recall::New);
            requests.remember(id(7, sequence), at(sequence));
        }
        assert_eq!(requests.recall(id(7, 2), true, None, None), Recall::Done(at(2)));
        assert_eq!(
            requests.recall(id(7, 1), true, None, None),
            Recall::Forgotten,
            "it was carried out and is remembered no longer"
        );
        assert_eq!(requests.done.len(), Requests::PER_CLIENT_MAX);
    }

    #[test]
    fn the_client_that_was_silent_longest_is_forgotten_and_its_retries_are_no_new_requests() {
        let mut requests = Requests::default();
        assert_eq!(requests.recall(id(1, 1), true, None, None), Recall::New, "nobody was forgotten yet");
        for client in 0..Requests::CLIENTS_MAX as u64 {
            requests.remember(id(u128::from(client), 1), at(client + 1));
        }
        requests.remember(id(0, 2), at(1_000));
        requests.remember(id(5_000, 1), at(1_001));
        assert_eq!(requests.recall(id(1, 1), true, None, None), Recall::Forgotten);
        assert_eq!(requests.recall(id(1, 2), false, None, None), Recall::New, "a first attempt says so");
        assert_eq!(requests.recall(id(0, 1), true, None, None), Recall::Done(at(1)));
        requests.remember(id(1, 2), at(1_002));
        assert_eq!(
            requests.recall(id(1, 1), true, None, None),
            Recall::Forgotten,
            "it came before the client was met again"
        );
        assert_eq!(requests.recall(id(1, 3), true, None, None), Recall::New, "and this one after that");
        assert_eq!((requests.clients.len(), requests.forgotten), (Requests::CLIENTS_MAX, 2));
    }
}
