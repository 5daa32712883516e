//! Leases from the side of those who do not hold them, or hold them by nothing but a token.
//!
//! Who counts on a lease while it works uses a [`Grant`](super::Grant), which keeps the time.

use super::grant::path;
use super::{Ask, Client, ClientError};
use crate::cluster::{Holding, Token};
use reqwest::Method;
use serde::Deserialize;
use std::time::Duration;

/// A lease that is held, as the cluster shows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Who holds it, as he calls himself.
    pub holder: String,
    /// The fencing token of the grant.
    pub token: Token,
    ttl_millis: u64,
    holder_ttl_millis: u64,
}

impl Held {
    /// For how long it is held from each sign of life on.
    pub fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_millis)
    }

    /// For how long the holder may count on it from each sign of life on.
    pub fn holder_ttl(&self) -> Duration {
        Duration::from_millis(self.holder_ttl_millis)
    }
}

#[derive(Deserialize)]
struct Leases {
    leases: Vec<Held>,
}

impl Client {
    /// The leases that are held.
    pub async fn leases(&self) -> Result<Vec<Held>, ClientError> {
        let Leases { leases } = self.json(Ask::read("/_zazen/lease")).await?;
        Ok(leases)
    }

    /// Who holds a lease; none if nobody does.
    pub async fn lease(&self, name: &str) -> Result<Option<Held>, ClientError> {
        match self.json(Ask::read(path(name))).await {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps a grant alive once. [`ClientError::is_not_held`] tells that it has ended.
    pub async fn keep_lease(&self, holding: &Holding) -> Result<Held, ClientError> {
        let ask = Ask { method: Method::PUT, ..Ask::read(path(&holding.name)) };
        self.json(ask.with("token", holding.token)).await
    }

    /// Ends a grant. [`ClientError::is_not_held`] tells that it has ended before.
    pub async fn release_lease(&self, holding: &Holding) -> Result<(), ClientError> {
        let ask = Ask { method: Method::DELETE, ..Ask::read(path(&holding.name)) };
        self.ask(self.named(ask.with("token", holding.token))).await.map(drop)
    }
}
