//! The users' side of a node: bound before the node starts, so that nobody hears of a node that cannot be asked; served
//! afterwards.

use crate::rest;
use crate::runtime::addresses;
use crate::runtime::figures::Place;
use crate::runtime::listen::{Server, Terms, bind};
use crate::runtime::log::HTTP;
use crate::runtime::secure::{self, FileError, Side, Tls};
use crate::runtime::{self, Handle, StartError};
use crate::service::Question;
use crate::settings::NodeSettings;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::TcpListener;

/// Where users will be listened to.
pub struct Users {
    listeners: Vec<TcpListener>,
    address: Option<SocketAddr>,
    place: Option<Place>,
    tls: Option<Tls>,
}

impl Users {
    /// Binds what the settings say.
    pub async fn listen(settings: &NodeSettings) -> Result<Self, StartError> {
        if !settings.rest.enabled {
            return Ok(Users { listeners: Vec::new(), address: None, place: None, tls: None });
        }
        let hosts = addresses::bind_addresses(&settings.http).map_err(StartError::Address)?;
        secure::gate(settings, Side::Users, &hosts).map_err(StartError::Insecure)?;
        let listeners = bind(&hosts, &settings.http.ports).await.map_err(StartError::Bind)?;
        let address = runtime::published(&settings.http, &listeners)?;
        let bound = listeners.iter().filter_map(|listener| Some(listener.local_addr().ok()?.to_string())).collect();
        let place = Place { bound, published: address.to_string() };
        let tls = tls(settings).map_err(StartError::Secret)?;
        let open = secure::open_sides(settings, &[], &hosts);
        if !open.is_empty() {
            tokio::spawn(secure::remind(open));
        }
        Ok(Users { listeners, address: Some(address), place: Some(place), tls })
    }

    /// What users are told of it, if they are listened to.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The same with all addresses that are bound.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Serves users in a node's name.
    pub fn serve(self, handle: &Handle) -> Option<Server> {
        let address = self.place?.published;
        tracing::info!(target: HTTP, "publish_address {{{address}}}");
        let terms = Terms { tls: self.tls, ..Terms::of_users(&handle.settings()) };
        let server = Server::start(self.listeners, rest::Api::new(handle.clone()), terms);
        handle.meter().count_users(Box::new(server.connections()));
        Some(server)
    }
}

/// What users are shown, if they are served over TLS; nothing is listened to with a file of users that makes no sense.
fn tls(settings: &NodeSettings) -> Result<Option<Tls>, FileError> {
    let security = &settings.security;
    let path = |path: &PathBuf| settings.path_conf.join(path);
    if let Some(users) = &security.users {
        secure::read_users(&path(users))?;
    }
    let Some((certificate, key)) = secure::users_files(settings)? else { return Ok(None) };
    let tls = Tls::new(secure::for_users(&certificate, &key)?);
    let (files, renewed) = (vec![certificate.clone(), key.clone()], tls.clone());
    let settings = settings.clone();
    let is_own = secure::is_own(&settings, &certificate);
    let reload = move || {
        let config = secure::for_users(&certificate, &key).map_err(|error| error.to_string())?;
        // Users who trust the one before would be locked out.
        if is_own && !secure::is_own(&settings, &certificate) {
            return Err(format!(
                "no authority of this node made [{}], as one made the one before",
                certificate.display()
            ));
        }
        renewed.renew(config);
        Ok(())
    };
    tokio::spawn(secure::watch(files, "the certificate for users", reload));
    Ok(Some(tls))
}

/// How long another node may take to become master.
const HAND_OVER_MAX: Duration = Duration::from_millis(200);

/// How long requests may go on that are being answered.
const BUSY: Duration = Duration::from_millis(500);

/// Leaves the cluster in good order, in an order that no user notices: another node is master first, then every user is
/// answered and sent elsewhere, and only then the node leaves that asked the master in their names.
pub async fn leave(handle: &Handle, server: Option<&Server>) {
    let Some(server) = server else {
        return handle.leave().await;
    };
    handle.closing().cancel();
    let drained = server.drain(BUSY);
    let handed_over = async {
        if handle.state().nodes.master.as_ref() == Some(&handle.local().id) {
            // Without a successor the master stays until it leaves.
            handle.ask(Question::HandOver { to: None, master_timeout: HAND_OVER_MAX }).await;
        }
    };
    tokio::join!(drained, handed_over);
    handle.leave().await;
}
