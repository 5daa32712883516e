//! Whether a node and this one refuse each other for nothing but the time: a certificate that has ended, or that has not begun
//! by the clock of one of them.
//!
//! What that means is decided in `diagnose`.

use super::expiry::{OF_NODES, expiries, now, validity};
use super::guard::node_files;
use super::tls::NodeFiles;
use crate::cluster::{Address, ClusterName};
use crate::settings::NodeSettings;
use rustls::{AlertDescription, ClientConfig};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// What keeps two nodes apart that believe each other else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Untimely {
    /// The other's certificate has ended.
    Ended,
    /// The other's certificate begins in so many seconds.
    Begins(u64),
    /// The other finds this one's certificate out of its time, which is not so here.
    Refused,
}

/// What keeps a node and this one apart, if that is only the time and can be told. Nothing is said to it.
pub(in crate::runtime) async fn untimely(settings: Arc<NodeSettings>, address: &Address) -> Option<Untimely> {
    let at: SocketAddr = address.as_str().parse().ok()?;
    let look = move || Some((client(node_files(&settings).ok()??, &settings.cluster_name)?, is_in_time(&settings)));
    let (client, is_in_time) = tokio::task::spawn_blocking(look).await.ok()??;
    let stream = TcpStream::connect(at).await.ok()?;
    let mut stream = TlsConnector::from(Arc::new(client)).connect(at.ip().into(), stream).await.ok()?;
    let shown = stream.get_ref().1.peer_certificates()?.first()?.clone().into_owned();
    let (begin, end) = validity(&shown)?;
    match now() {
        now if now < begin => Some(Untimely::Begins(begin - now)),
        now if now >= end => Some(Untimely::Ended),
        _ => {
            // Whoever serves looks at the certificate of the other end last.
            let answer = stream.read_u8().await;
            answer.is_err_and(|error| is_about_time(&error) && is_in_time).then_some(Untimely::Refused)
        }
    }
}

fn client(files: NodeFiles, cluster: &ClusterName) -> Option<ClientConfig> {
    files.at_any_time(cluster).ok()
}

/// Whether this node's own certificate is in its time.
fn is_in_time(settings: &NodeSettings) -> bool {
    let own = expiries(settings).into_iter().find(|expiry| expiry.setting == OF_NODES);
    own.and_then(|own| validity(&own.first)).is_some_and(|(begin, end)| (begin..end).contains(&now()))
}

fn is_about_time(error: &io::Error) -> bool {
    let alert = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(alert, Some(rustls::Error::AlertReceived(AlertDescription::CertificateExpired)))
}
