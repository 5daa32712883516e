//! What a request that failed tells of the peer: refused, reset, timed out and misunderstood are kept apart, because the core
//! draws different conclusions.

use crate::protocol::Failure;
use bytes::Bytes;
use rustls::CertificateError;
use std::error::Error;
use std::io;
use std::time::Duration;

/// The next piece of an answer, if it comes in time.
pub(super) async fn next_chunk(response: &mut reqwest::Response, patience: Duration) -> Result<Option<Bytes>, Failure> {
    let chunk = tokio::time::timeout(patience, response.chunk()).await.map_err(|_| Failure::TimedOut)?;
    chunk.map_err(|error| failure(&error))
}

/// What a failed request tells of the peer.
pub fn failure(error: &reqwest::Error) -> Failure {
    if error.is_timeout() {
        return Failure::TimedOut;
    }
    let kind = io_kind(error);
    if error.is_connect() {
        // A network that cannot be reached says nothing of the process at its end.
        return match kind {
            Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset) => Failure::Refused,
            // Somebody is there, who is none of this cluster.
            Some(io::ErrorKind::InvalidData) => Failure::BadAnswer,
            Some(_) | None => Failure::TimedOut,
        };
    }
    match kind {
        Some(io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            Failure::TimedOut
        }
        Some(io::ErrorKind::InvalidData) => Failure::BadAnswer,
        Some(_) => Failure::Reset,
        None => hyper_failure(error),
    }
}

/// Why the certificate of a server is not believed, if that is why a request failed.
pub fn untrusted(error: &reqwest::Error) -> Option<&'static str> {
    let mut inner = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).filter_map(innermost);
    let rustls::Error::InvalidCertificate(why) = inner.find_map(|inner| inner.downcast_ref::<rustls::Error>())? else {
        return None;
    };
    use CertificateError as Why;
    Some(if matches!(why, Why::Expired | Why::ExpiredContext { .. }) {
        "its certificate has ended"
    } else if matches!(why, Why::NotValidYet | Why::NotValidYetContext { .. }) {
        "its certificate has not begun by this clock"
    } else if matches!(why, Why::NotValidForName | Why::NotValidForNameContext { .. }) {
        "its certificate is for another address"
    } else if matches!(why, Why::UnknownIssuer | Why::BadSignature) {
        "its certificate is of an authority that is none of those in --ca FILE"
    } else {
        "its certificate is not valid"
    })
}

/// What is wrapped in an error of the system, however often.
fn innermost(error: &io::Error) -> Option<&(dyn Error + Send + Sync + 'static)> {
    let inner = error.get_ref()?;
    inner.downcast_ref::<io::Error>().and_then(innermost).or(Some(inner))
}

/// What the system says; a certificate that nobody vouches for is data that is not valid, however often it is wrapped.
fn io_kind(error: &reqwest::Error) -> Option<io::ErrorKind> {
    let mut kinds = Vec::new();
    for mut cause in causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()) {
        kinds.push(cause.kind());
        while let Some(inner) = cause.get_ref().and_then(|inner| inner.downcast_ref::<io::Error>()) {
            kinds.push(inner.kind());
            cause = inner;
        }
    }
    kinds.iter().find(|kind| **kind == io::ErrorKind::InvalidData).or(kinds.first()).copied()
}

/// A connection that closed is a reset, an answer that is no HTTP is none.
fn hyper_failure(error: &reqwest::Error) -> Failure {
    let cause = causes(error).find_map(|cause| cause.downcast_ref::<hyper::Error>());
    match cause {
        Some(cause) if cause.is_parse() => Failure::BadAnswer,
        Some(_) | None => Failure::Reset,
    }
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

#[cfg(test)]
mod tests {
    use super::super::client_with;
    use super::*;
    use crate::runtime::secure::{Authority, NodeFiles, Purpose, Tls};
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use tokio::net::TcpListener;

    /// A certificate of an authority of its own for a node on loopback, in a directory.
    fn node_files(directory: &Path) -> NodeFiles {
        let (authority, made) = Authority::make("shop".into()).expect("there is entropy");
        let node = authority.vouch(Purpose::Node, &["127.0.0.1".into()], 10).expect("there is entropy");
        std::fs::create_dir_all(directory).expect("files of tests can be written");
        let file = |name: &str, text: &str| {
            let path = directory.join(name);
            std::fs::write(&path, text).expect("files of tests can be written");
            std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is ours");
            path
        };
        NodeFiles {
            certificate: file("node.crt", &node.certificate),
            key: file("node.key", &node.key),
            authorities: file("ca.crt", &made.certificate),
        }
    }

    #[tokio::test]
    async fn a_certificate_that_nobody_vouches_for_is_an_answer_and_no_silence() {
        let scratch = std::env::temp_dir().join(format!("zazen-authorities-{}", std::process::id()));
        let read = |name: &str| node_files(&scratch.join(name)).read(&"shop".into()).expect("they make sense");
        let ((client, _), (_, server)) = (read("own"), read("other"));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be listened on");
        let url = format!("https://{}/", listener.local_addr().expect("it is bound"));
        let peer = tokio::spawn(async move {
            let (connection, _) = listener.accept().await.expect("the caller connects");
            drop(Tls::new(server).acceptor().accept(connection).await);
        });
        let client = client_with(Some(client)).expect("it makes sense");
        let error = client.get(url).send().await.expect_err("nobody vouches for the peer");
        assert_eq!(failure(&error), Failure::BadAnswer, "{error:?}");
        let why = untrusted(&error).expect("it is told why");
        assert!(why.contains("authority that is none of those"), "{why}");
        peer.await.expect("it ends");
        let _ = std::fs::remove_dir_all(&scratch);
    }
}
