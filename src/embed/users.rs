//! The users' side of a node: bound before the node starts, so that nobody hears of a node that cannot be asked; served
//! afterwards.

use crate::rest;
use crate::runtime::addresses::{self, is_beyond_loopback};
use crate::runtime::listen::{Manners, Server, bind};
use crate::runtime::log::{HTTP, NODE};
use crate::runtime::{self, Handle, StartError};
use crate::settings::NodeSettings;
use std::net::{IpAddr, SocketAddr};
use tokio::net::TcpListener;

/// Where users will be listened to.
pub struct Users {
    listeners: Vec<TcpListener>,
    address: Option<SocketAddr>,
}

impl Users {
    /// Binds what the settings say.
    pub async fn listen(settings: &NodeSettings) -> Result<Self, StartError> {
        if !settings.rest.enabled {
            return Ok(Users { listeners: Vec::new(), address: None });
        }
        let hosts = addresses::bind_addresses(&settings.http).map_err(StartError::Address)?;
        let listeners = bind(&hosts, &settings.http.ports).await.map_err(StartError::Bind)?;
        let address = runtime::published(&settings.http, &listeners)?;
        warn_of_strangers("http", &hosts);
        Ok(Users { listeners, address: Some(address) })
    }

    /// What users are told of it, if they are listened to.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Serves users in a node's name.
    pub fn serve(self, handle: &Handle) -> Option<Server> {
        let address = self.address?;
        tracing::info!(target: HTTP, "publish_address {{{address}}}");
        Some(Server::start(self.listeners, rest::router(handle.clone()), Manners::Lenient))
    }
}

fn warn_of_strangers(what: &str, hosts: &[IpAddr]) {
    if is_beyond_loopback(hosts) {
        tracing::warn!(target: NODE, "{what} listens beyond loopback on {hosts:?}: whoever reaches it can do everything");
    }
}
