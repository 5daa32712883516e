//! Who is let in, before anything of a request is looked at.
//!
//! Pages of browsers that nobody allowed are sent away, so is whoever asks by a name that this node does not go by, and,
//! where users are known, whoever is none of them. Which pages are allowed is told in `cors`.

use super::audit::{Audit, Event, is_refusal};
use super::cors::Cors;
use super::error::{Kind, RestError};
use super::login::{Guest, Login, Stranger, name_of};
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

/// The status of what nobody waited for: whether it was done is not known.
const GONE: u16 = 499;

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
        let is_look = is_look(&parts.method);
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

    /// Returns when who asks is not let in any more as before: what was answered to nobody yet is not answered to them.
    pub(super) async fn shut(guest: Option<&Guest>) -> Response<Body> {
        match guest {
            Some(guest) => guest.is_changed().await,
            None => std::future::pending().await,
        }
        let name = guest.map_or("", |guest| &*guest.user.name);
        let text =
            format!("the rights of user [{name}] changed meanwhile: what was asked for may have been done, or not");
        let error = RestError::new(Kind::Security, text).with_status(StatusCode::UNAUTHORIZED);
        Reply::error(&error, false, true).write(&ResponseFormat::default())
    }

    /// Takes note of what changes something, and of what was refused.
    pub(super) async fn note(&self, parts: &Parts, guest: Option<&Guest>, status: StatusCode) {
        if let Some(audit) = &self.audit
            && (!is_look(&parts.method) || is_refusal(status))
        {
            let tried = if guest.is_none() { name_of(&parts.headers) } else { None };
            audit.note(event(parts, (guest, tried.as_deref()), status.as_u16())).await;
        }
    }

    /// Takes note of a change whose asker goes before it is answered.
    pub(super) fn unfinished<'a>(&'a self, parts: &'a Parts, guest: Option<&'a Guest>) -> Unfinished<'a> {
        let audit = self.audit.as_ref().filter(|_| !is_look(&parts.method));
        Unfinished { audit, parts, guest }
    }
}

/// A request that has no answer yet.
pub(super) struct Unfinished<'a> {
    audit: Option<&'a Audit>,
    parts: &'a Parts,
    guest: Option<&'a Guest>,
}

impl Unfinished<'_> {
    /// It has one.
    pub(super) fn ends(mut self) {
        self.audit = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(audit) = self.audit {
            audit.note_at_once(event(self.parts, (self.guest, None), GONE));
        }
    }
}

fn event<'a>(parts: &'a Parts, (guest, tried): (Option<&'a Guest>, Option<&'a str>), status: u16) -> Event<'a> {
    let user = guest.map(|guest| &*guest.user.name);
    let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
    Event::new((user, tried), address(parts), (parts.method.as_str(), target), status)
}

fn is_look(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
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
