//! Who is let in, before anything of a request is looked at.
//!
//! Pages of browsers that nobody allowed are sent away, so is whoever asks by a name that this node does not go by, and,
//! where users are known, whoever is none of them. Which pages are allowed is told in `cors`.

use super::audit::{Audit, Event};
use super::cors::Cors;
use super::error::{Kind, RestError};
use super::login::{Guest, Login, Stranger};
use super::probes;
use super::reply::Reply;
use super::response_format::ResponseFormat;
use crate::runtime::secure;
use crate::runtime::wall::{self, Wall};
use crate::settings::NodeSettings;
use axum::body::Body;
use axum::extract::connect_info::ConnectInfo;
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode, header};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// What stands between users and routes.
pub(super) struct Door {
    pub(super) cors: Option<Cors>,
    wall: Wall,
    login: Option<Arc<Login>>,
    audit: Option<Audit>,
}

impl Door {
    /// As the settings say.
    pub(super) fn of(settings: &NodeSettings) -> Self {
        let login = Login::of(settings);
        if let (Some(login), Ok(runtime)) = (login.clone(), tokio::runtime::Handle::try_current()) {
            let path = login.path().clone();
            runtime.spawn(secure::watch(vec![path], "the file of users", move || login.reload()));
        }
        // A page whose name was bound to this machine knows no password, so where users log in any name will do.
        let any = [String::from("*")];
        let allowed = &settings.rest.allowed_hosts;
        let allowed = if login.is_some() && allowed.is_empty() { &any } else { allowed.as_slice() };
        let wall = Wall::new(&settings.http, allowed);
        Door { cors: Cors::of(&settings.rest.cors), wall, login, audit: Audit::of(settings) }
    }

    /// Who asks, if users are known; or what they are told who are not let in.
    pub(super) async fn admit(&self, parts: &Parts) -> Result<Option<Guest>, Response<Body>> {
        if let Err(host) = self.wall.admits_host(&parts.uri, &parts.headers) {
            return Err(forbidden(format!(
                "this node is not called [{host}]: a page in a browser may have been bound to it; allowed: addresses, \
                 [localhost], the names of this node, and those of zazen.http.allowed_hosts"
            )));
        }
        // What another page may only look at, no browser shows to it.
        let is_look = matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
        if self.cors.is_none() && !is_look && wall::is_of_another_page(&parts.headers) {
            let text =
                "pages of other origins may not ask this node; http.cors.enabled and http.cors.allow-origin allow it";
            return Err(forbidden(text.into()));
        }
        // Whoever watches over processes has no password, and learns from these only whether to go on.
        let is_probe = is_look && probes::PATHS.contains(&parts.uri.path());
        let Some(login) = self.login.as_ref().filter(|_| !is_probe) else {
            return Ok(None);
        };
        let from = address(parts).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let who = login.who(&parts.headers, from).await;
        who.map(Some).map_err(|stranger| refusal(&stranger, parts.uri.path()))
    }

    /// Takes note of what changes something, and of what was refused.
    pub(super) async fn note(&self, parts: &Parts, guest: Option<&Guest>, status: StatusCode) {
        let Some(audit) = &self.audit else {
            return;
        };
        let is_look = matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let is_refused =
            matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS);
        if !is_look || is_refused {
            let user = guest.map(|guest| &*guest.user.name);
            let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
            let what = (parts.method.as_str(), target);
            audit.note(&Event::new(user, address(parts), what, status.as_u16())).await;
        }
    }
}

/// Where a request comes from, as the socket says.
fn address(parts: &Parts) -> Option<IpAddr> {
    parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(at)| at.ip().to_canonical())
}

fn refusal(stranger: &Stranger, path: &str) -> Response<Body> {
    let (text, status) = match stranger {
        Stranger::Silent => {
            (format!("missing authentication token for REST request [{path}]"), StatusCode::UNAUTHORIZED)
        }
        Stranger::Wrong(name) => {
            (format!("unable to authenticate user [{name}] for REST request [{path}]"), StatusCode::UNAUTHORIZED)
        }
        Stranger::Braked(wait) => {
            let wait = wait.as_secs() + 1;
            (format!("wrong too often, ask again in [{wait}s]"), StatusCode::TOO_MANY_REQUESTS)
        }
    };
    let error = RestError::new(Kind::Security, text).with_status(status);
    let reply = Reply::error(&error, false, true);
    let reply = match stranger {
        Stranger::Silent | Stranger::Wrong(_) => {
            reply.with_header(header::WWW_AUTHENTICATE, "Basic realm=\"security\" charset=\"UTF-8\"")
        }
        Stranger::Braked(wait) => reply.with_header(header::RETRY_AFTER, (wait.as_secs() + 1).to_string()),
    };
    reply.write(&ResponseFormat::default())
}

fn forbidden(text: String) -> Response<Body> {
    Reply::simple_error(StatusCode::FORBIDDEN, text).write(&ResponseFormat::default())
}
