//! What listens where a node should, and does not answer as one of this cluster does.
//!
//! A node is told from other programs by what it says to whoever asks without a seal and in the clear.

use super::PATH;
use crate::cluster::Address;
use crate::diagnose::{Bare, Distrust, Found, Probe, Report};
use crate::protocol::Failure;
use crate::runtime::Handle;
use crate::runtime::ask::of_one;
use crate::runtime::host::ports_beside;
use crate::runtime::peers::Wanted;
use crate::runtime::proc;
use crate::runtime::secure::{CHALLENGE, LINES, Shown, shown};
use crate::runtime::seeds::with_port;
use crate::wire;
use bytes::Bytes;
use futures_util::future::join;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long each question may take.
const PATIENCE: Duration = Duration::from_millis(1_000);

/// How long somebody may take who was spoken to in the clear.
const CLEAR_MAX: Duration = Duration::from_millis(700);

/// As much of an answer as is looked at.
const BEGINNING: usize = 2_048;

/// As much of a report, and of a text in it, as is read of one for whom nobody vouches.
const REPORT_MAX: usize = 262_144;
const TEXT_MAX: usize = 255;

/// How an answer to what was said in the clear begins where TLS is spoken: an alert.
const ALERT: [u8; 2] = [21, 3];

/// How a report begins.
const MARK: &str = "{\"wire\":";

/// What was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// Nobody is there, or nothing was said.
    Nothing,
    /// TLS is spoken.
    Tls,
    /// A node that answers those only that seal what they say.
    Challenge,
    /// A node that tells whoever asks.
    Report,
    /// Something else.
    Other,
}

/// What is found at an address, if that can be told.
pub(super) async fn probe(handle: &Handle, address: Address) -> Option<Probe> {
    let found = found(handle, &address).await?;
    let may_be_stranger = matches!(found, Found::Stranger | Found::Mute);
    let free_port = if may_be_stranger { free_port(handle, address.clone()).await } else { None };
    Some(Probe { address, found, free_port })
}

/// A port near one that is free, and that no other node of this host is to have.
async fn free_port(handle: &Handle, address: Address) -> Option<u16> {
    let settings = handle.settings();
    let look = move || proc::free_port(&address, &ports_beside(&settings));
    tokio::task::spawn_blocking(look).await.ok().flatten()
}

async fn found(handle: &Handle, address: &Address) -> Option<Found> {
    let wanted =
        Wanted { method: Method::GET, target: PATH.into(), part: None, body: Bytes::new(), patience: PATIENCE };
    let Ok(asked) = timeout(PATIENCE, handle.meter().access()?.ask(address, &wanted)).await else {
        return Some(silence(handle, address).await);
    };
    let is_refused = match asked {
        Ok(told) if told.status == StatusCode::OK => return other_version(&told.body),
        Ok(told) if told.status == StatusCode::SERVICE_UNAVAILABLE => return None,
        Ok(told) => matches!(told.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN),
        // What it says is not understood, or not believed.
        Err(Failure::BadAnswer) => true,
        Err(Failure::Reset) => false,
        Err(Failure::TimedOut) => return Some(silence(handle, address).await),
        Err(Failure::Refused) => return None,
    };
    let security = &handle.settings().security;
    let (is_sealed, is_tls) = (security.secret.is_some(), security.certificate.is_some());
    let heard = clear(address).await;
    match heard {
        Heard::Nothing => None,
        Heard::Tls if is_refused && is_tls => Some(of_certificate(handle, address).await),
        Heard::Challenge if is_refused && is_tls => Some(Found::Distrusted(Distrust::OtherAuthority(None))),
        Heard::Report if is_refused && is_tls => Some(Found::Distrusted(Distrust::Unsecured(bare(address).await))),
        Heard::Challenge if is_refused => Some(Found::Distrusted(Distrust::OtherSecret)),
        Heard::Report if is_refused && is_sealed => Some(Found::Distrusted(Distrust::NoSecret)),
        Heard::Challenge | Heard::Report => None,
        // A node that speaks in the clear is one of those that do not.
        Heard::Tls if !is_tls => Some(Found::Distrusted(Distrust::OtherAuthority(None))),
        Heard::Tls | Heard::Other => users_of(handle, address).await,
    }
}

/// What is wrong with one that speaks TLS as this node does.
async fn of_certificate(handle: &Handle, address: &Address) -> Found {
    if let Some(found) = of_secret(handle, address).await {
        return found;
    }
    match timeout(PATIENCE, shown(handle.settings().clone(), address)).await.ok().flatten() {
        Some(Shown::ForUsers) => nodes_beside(handle, address).map_or(Found::Stranger, Found::HttpOf),
        Some(Shown::Distrust(why)) => Found::Distrusted(why),
        None => Found::Distrusted(Distrust::OtherAuthority(None)),
    }
}

/// What differs where the certificates are believed: then it answers what is not sealed, or asks for the seal.
async fn of_secret(handle: &Handle, address: &Address) -> Option<Found> {
    let demands_seal = handle.meter().access()?.demands_seal(address, PATH);
    let is_demanded = timeout(PATIENCE, demands_seal).await.ok().flatten()?;
    Some(Found::Distrusted(if is_demanded { Distrust::OtherSecret } else { Distrust::NoSecret }))
}

/// Nothing at all, or somebody who takes connections and says nothing; or one that answers its users all the same.
async fn silence(handle: &Handle, address: &Address) -> Found {
    match join(silent(address), answers_users(handle, address)).await {
        (_, true) => Found::Walled,
        (found, false) => found,
    }
}

/// Whether somebody answers where the member of another host that was at this address answered its users.
async fn answers_users(handle: &Handle, address: &Address) -> bool {
    let of = handle.clone();
    let at = address.clone();
    let kept = move || of.surroundings().met.all(&of.settings().path_data).distant;
    let distant = tokio::task::spawn_blocking(kept).await.unwrap_or_default();
    let known = distant.into_iter().find(|one| one.address == at).and_then(|one| one.http);
    match known.or_else(|| users_beside(handle, address)) {
        Some(users) => clear(&users).await != Heard::Nothing,
        None => false,
    }
}

/// Where the users of a node of another host are answered if its ports are those of this one.
fn users_beside(handle: &Handle, address: &Address) -> Option<Address> {
    let own = handle.local();
    let (_, users) = handle.meter().places();
    let (_, port) = users.as_deref()?.rsplit_once(':')?;
    let (host, of_nodes) = address.as_str().rsplit_once(':')?;
    let is_likely = own.address.port() == Some(of_nodes) && own.host() != address.host() && !address.is_loopback();
    is_likely.then(|| format!("{host}:{port}").as_str().into())
}

/// Where the transport of a node listens whose users are answered here, if its ports are as far apart as those of this one.
fn nodes_beside(handle: &Handle, users: &Address) -> Option<Address> {
    let port = |address: &str| address.rsplit_once(':')?.1.parse::<i32>().ok();
    let own_users = port(handle.meter().places().1.as_deref()?)?;
    let of_nodes = port(users.as_str())? - own_users + port(handle.local().address.as_str())?;
    let of_nodes = u16::try_from(of_nodes).ok().filter(|port| *port != 0)?;
    Some(with_port(users.host(), of_nodes).into())
}

async fn silent(address: &Address) -> Found {
    let Ok(at) = address.as_str().parse::<SocketAddr>() else { return Found::Silence };
    match timeout(CLEAR_MAX, TcpStream::connect(at)).await {
        Ok(Ok(_)) => Found::Mute,
        // The queue of a process that stands still is full before long; then its host takes no more for it.
        Err(_) if is_up(at).await => Found::Mute,
        Ok(Err(_)) | Err(_) => Found::Silence,
    }
}

/// Whether a host answers beside a port, if only to refuse.
async fn is_up(at: SocketAddr) -> bool {
    let beside = SocketAddr::new(at.ip(), at.port().checked_add(1).unwrap_or(1));
    match timeout(CLEAR_MAX, TcpStream::connect(beside)).await {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        Err(_) => false,
    }
}

fn other_version(report: &[u8]) -> Option<Found> {
    let report: Value = serde_json::from_slice(report).ok()?;
    report["wire"].as_u64().filter(|version| *version != u64::from(wire::VERSION)).map(Found::Version)
}

/// A port where a node listens to its users, or nothing of a node.
async fn users_of(handle: &Handle, address: &Address) -> Option<Found> {
    let asked = of_one(handle.meter().access(), address, ("/_zazen/explain?local=true", PATIENCE));
    let users: Option<Value> = timeout(PATIENCE, asked).await.ok().and_then(Result::ok);
    match users.and_then(|users| users["node"]["address"].as_str().map(Address::from)) {
        Some(transport) => Some(Found::HttpOf(transport)),
        None => Some(Found::Stranger),
    }
}

/// Asks in the clear, and without a seal.
async fn clear(address: &Address) -> Heard {
    let Ok(at) = address.as_str().parse::<SocketAddr>() else { return Heard::Nothing };
    let mut answer = Vec::new();
    // What was said up to then counts.
    let _ = timeout(CLEAR_MAX, ask(at, BEGINNING, &mut answer)).await;
    understood(&answer)
}

/// What a node tells whoever asks.
async fn bare(address: &Address) -> Bare {
    let Ok(at) = address.as_str().parse::<SocketAddr>() else { return Bare::default() };
    let mut answer = Vec::new();
    match timeout(PATIENCE, ask(at, REPORT_MAX, &mut answer)).await {
        Ok(Ok(())) => told(&answer).unwrap_or_default(),
        Ok(Err(_)) | Err(_) => Bare::default(),
    }
}

/// What of it may be shown: anybody may have said it.
fn told(answer: &[u8]) -> Option<Bare> {
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let Report { explanation, facts, .. } = serde_json::from_slice(answer.get(body..)?).ok()?;
    let is_plain = |text: &str| text.len() <= TEXT_MAX && !text.contains(|c: char| c.is_control() || c == '`');
    let is_of_setup = |(key, file): &(String, String)| LINES.lines().any(|line| line == format!("{key}: {file}"));
    Some(Bare {
        name: Some(explanation.node.name.to_string()).filter(|name| is_plain(name)).unwrap_or_default(),
        file: facts.file.filter(|file| file.starts_with('/') && is_plain(file)),
        unnamed: facts.credentials.unnamed.into_iter().filter(is_of_setup).collect(),
    })
}

async fn ask(at: SocketAddr, most: usize, answer: &mut Vec<u8>) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(at).await?;
    let request = format!("GET {PATH} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    while answer.len() < most && !answer.starts_with(&ALERT) && stream.read_buf(answer).await? > 0 {}
    Ok(())
}

fn understood(answer: &[u8]) -> Heard {
    let text = String::from_utf8_lossy(answer);
    let mut lines = text.lines();
    let status = lines.next().unwrap_or_default();
    let mut names = lines.map_while(|line| line.split_once(':')).map(|(name, _)| name.to_ascii_lowercase());
    if answer.is_empty() {
        Heard::Nothing
    } else if answer.starts_with(&ALERT) {
        Heard::Tls
    } else if names.any(|name| name == CHALLENGE.as_str()) {
        Heard::Challenge
    } else if status.starts_with("HTTP/1.1 200 ") && text.contains(MARK) {
        Heard::Report
    } else {
        Heard::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_told_from_others_by_what_they_say_in_the_clear() {
        let head = |status: &str, more: &str| format!("HTTP/1.1 {status}\r\n{more}\r\n").into_bytes();
        for (answer, expected) in [
            (Vec::new(), Heard::Nothing),
            (vec![21, 3, 1, 0, 2, 2, 70], Heard::Tls),
            (head("401 Unauthorized", "Zazen-Challenge: 17\r\n"), Heard::Challenge),
            (head("401 Unauthorized", "WWW-Authenticate: Basic\r\n"), Heard::Other),
            (head("200 OK", "\r\n"), Heard::Other),
            (head("200 OK", &format!("{}\r\n", MARK)), Heard::Report),
            (b"220 mail ready\r\n".to_vec(), Heard::Other),
        ] {
            assert_eq!(understood(&answer), expected, "{:?}", String::from_utf8_lossy(&answer));
        }
    }

    #[test]
    fn what_nobody_vouches_for_is_taken_as_far_as_it_is_harmless() {
        let node = r#"{"id":"a","ephemeral_id":"b","name":"n3","address":"10.0.0.3:9300","roles":[],"attributes":{},"version":"6.8.23"}"#;
        let none = r#"{"term":0,"version":0,"uuid":"AAAAAAAAAAAAAAAAAAAAAA"}"#;
        let of = |file: &str, unnamed: &str| {
            let explanation = format!(
                r#"{{"summary":"","advice":[],"cluster_name":"shop","node":{node},"mode":"finding","term":0,"accepted":{none},
                "committed":{none},"since_millis":0,"needed":[],"hosts":[],"unresolved":[],"nodes":[]}}"#
            );
            let facts = format!(r#"{{"file":"{file}","credentials":{{"unnamed":{unnamed}}}}}"#);
            told(
                format!("HTTP/1.1 200 OK\r\n\r\n{{\"wire\":1,\"explanation\":{explanation},\"facts\":{facts}}}")
                    .as_bytes(),
            )
        };
        let bare = of("/etc/zazen.yml", r#"{"zazen.security.key":"node.key","zazen.security.secret":"; rm -r /"}"#);
        let unnamed = [("zazen.security.key".to_owned(), "node.key".to_owned())].into();
        assert_eq!(bare, Some(Bare { name: "n3".into(), file: Some("/etc/zazen.yml".into()), unnamed }));
        assert_eq!(of("/etc/`id`", "{}").expect("it is a report").file, None);
        assert_eq!(told(b"HTTP/1.1 200 OK\r\n\r\nhello"), None);
    }
}
