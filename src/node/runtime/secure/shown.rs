//! What keeps a node and this one apart whose certificates one authority made: the time, the host or the cluster that one of
//! them is for, or what the other end refuses.
//!
//! What that means is decided in `diagnose`.

use super::certificates::{made_for, maker, subject};
use super::credentials::node_files;
use super::expiry::{OF_NODES, expiries, now, validity};
use super::tls::{is_of, is_of_a_node, names};
use crate::cluster::{Address, ClusterName};
use crate::diagnose::Distrust;
use crate::settings::NodeSettings;
use rustls::AlertDescription;
use rustls::pki_types::CertificateDer;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// As much of an answer as is read for the time that it says.
const HEAD_MAX: usize = 4_096;

/// What can be told of one that speaks TLS by the certificate that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Shown {
    /// It serves users: the certificate is that of no node.
    ForUsers,
    /// It is a node, and this keeps the two apart.
    Distrust(Distrust),
}

/// Looks at the certificate that one shows, if it shows any. Nothing is said to it, but that it is asked for the time where its
/// certificate has ended.
pub(in crate::runtime) async fn shown(settings: Arc<NodeSettings>, address: &Address) -> Option<Shown> {
    let at: SocketAddr = address.as_str().parse().ok()?;
    let cluster = settings.cluster_name.clone();
    let look = move || {
        let files = node_files(&settings).ok()??;
        Some((files.to_look().ok()?, files, is_in_time(&settings)))
    };
    let (client, files, is_in_time) = tokio::task::spawn_blocking(look).await.ok()??;
    let stream = TcpStream::connect(at).await.ok()?;
    let mut stream = TlsConnector::from(Arc::new(client)).connect(at.ip().into(), stream).await.ok()?;
    let shown: Vec<_> = stream.get_ref().1.peer_certificates()?.iter().map(|one| one.clone().into_owned()).collect();
    let certificate = shown.first()?.clone();
    if !is_of_a_node(&certificate) {
        return Some(Shown::ForUsers);
    }
    let is_vouched_for = tokio::task::spawn_blocking(move || files.vouch_for(&shown)).await.ok()?;
    let found = match of_certificate(&certificate, address, &cluster) {
        _ if !is_vouched_for => Some(Distrust::OtherAuthority(maker(&certificate))),
        Some(Distrust::LapsedCertificate) => {
            let end = validity(&certificate)?.1;
            let theirs = clock_of(&mut stream).await.filter(|theirs| *theirs < end);
            let behind = theirs.map(|theirs| Distrust::ClockBehind(now().saturating_sub(theirs)));
            Some(behind.unwrap_or(Distrust::LapsedCertificate))
        }
        Some(found) => Some(found),
        // Whoever serves looks at the certificate of the other end last.
        None => stream.read_u8().await.err().and_then(|error| of_refusal(&error, is_in_time)),
    };
    found.map(Shown::Distrust)
}

/// The time of a server by its own clock, in seconds since 1970: whatever it answers, it says when.
async fn clock_of(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Option<u64> {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: zazen\r\nConnection: close\r\n\r\n").await.ok()?;
    let mut answer = Vec::new();
    while answer.len() < HEAD_MAX && stream.read_buf(&mut answer).await.is_ok_and(|read| read > 0) {
        if let Some(date) = date_in(&String::from_utf8_lossy(&answer)) {
            return Some(date);
        }
    }
    None
}

fn date_in(head: &str) -> Option<u64> {
    let (head, _) = head.split_once("\r\n\r\n")?;
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let (_, date) = fields.find(|(name, _)| name.eq_ignore_ascii_case("date"))?;
    let date = httpdate::parse_http_date(date.trim()).ok()?;
    date.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// What a certificate lacks that an authority vouches for.
fn of_certificate(certificate: &CertificateDer<'_>, address: &Address, cluster: &ClusterName) -> Option<Distrust> {
    let (begin, end) = validity(certificate)?;
    match now() {
        now if now < begin => return Some(Distrust::EarlyCertificate(begin - now)),
        now if now >= end => return Some(Distrust::LapsedCertificate),
        _ => {}
    }
    if !is_of(certificate, cluster) {
        return Some(
            made_for(certificate).map_or(Distrust::OtherAuthority(None), |made| Distrust::OfCluster(made.to_string())),
        );
    }
    (!names(certificate, address)).then(|| Distrust::OfHost(subject(certificate).unwrap_or_default()))
}

/// Why one refuses this node's certificate whose own is in order.
fn of_refusal(error: &io::Error, is_in_time: bool) -> Option<Distrust> {
    let alert = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match alert {
        Some(rustls::Error::AlertReceived(AlertDescription::CertificateExpired)) if is_in_time => {
            Some(Distrust::OtherTime)
        }
        Some(rustls::Error::AlertReceived(AlertDescription::UnknownCA)) => Some(Distrust::RefusesAuthority),
        // A name that is not in it: that of its cluster, since no other is asked of who calls.
        Some(rustls::Error::AlertReceived(AlertDescription::BadCertificate)) => Some(Distrust::RefusesCluster),
        Some(_) | None => None,
    }
}

/// Whether this node's own certificate is in its time.
fn is_in_time(settings: &NodeSettings) -> bool {
    let own = expiries(settings).into_iter().find(|expiry| expiry.setting == OF_NODES);
    own.and_then(|own| validity(&own.first)).is_some_and(|(begin, end)| (begin..end).contains(&now()))
}

#[cfg(test)]
mod tests {
    use super::super::{Authority, Purpose};
    use super::*;
    use rustls::pki_types::pem::PemObject;

    #[test]
    fn a_certificate_is_looked_at_for_its_time_its_cluster_and_its_host() {
        let (shop, _) = Authority::make("shop".into()).expect("there is entropy");
        let made = shop.vouch(Purpose::Node, &["10.0.0.1".into(), "localhost".into()], 1).expect("it can be made");
        let made = CertificateDer::from_pem_slice(made.certificate.as_bytes()).expect("it is one");
        let seen = |at: &str, cluster: &str| of_certificate(&made, &at.into(), &cluster.into());
        assert_eq!(seen("10.0.0.1:9300", "shop"), None);
        assert_eq!(seen("10.0.0.2:9300", "shop"), Some(Distrust::OfHost("10.0.0.1".into())));
        assert_eq!(seen("10.0.0.1:9300", "prod"), Some(Distrust::OfCluster("shop".into())));
        assert!(is_of_a_node(&made));
        let users = shop.vouch(Purpose::Users, &["10.0.0.1".into()], 1).expect("it can be made");
        let users = CertificateDer::from_pem_slice(users.certificate.as_bytes()).expect("it is one");
        assert!(!is_of_a_node(&users));
    }

    #[test]
    fn the_time_that_a_server_says_is_read_from_its_head_alone() {
        let head = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nDate: Sun, 29 Nov 2026 14:14:59 GMT\r\n\r\n";
        assert_eq!(date_in(head), Some(1_795_961_699));
        assert_eq!(date_in("HTTP/1.1 200 OK\r\n\r\ndate: Sun, 29 Nov 2026 14:14:59 GMT\r\n"), None);
        assert_eq!(date_in("HTTP/1.1 200 OK\r\ndate: today\r\n\r\n"), None);
    }
}
