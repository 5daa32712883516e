//! Members that refuse every new connection where they publish to be, and are heard over links that they opened themselves.
//!
//! Only the master looks: for all others somebody who ended may be a member still.

use crate::cluster::Address;
use crate::runtime::Handle;
use futures_util::future::join_all;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How long a host may take to refuse.
const PATIENCE: Duration = Duration::from_millis(200);

/// After this time it is tried again: who ended meanwhile is no member any more.
const AGAIN: Duration = Duration::from_millis(300);

/// Of more members nobody is tried beyond so many.
const TRIED_MAX: usize = 64;

/// Those of the members that refuse; none, unless this node is master.
pub(super) async fn refused(handle: &Handle) -> Vec<Address> {
    let first = refusing(others(handle)).await;
    if first.is_empty() {
        return first;
    }
    sleep(AGAIN).await;
    let mut still = others(handle);
    still.retain(|address| first.contains(address));
    refusing(still).await
}

/// The addresses of the other members, if this node is master.
fn others(handle: &Handle) -> Vec<Address> {
    let own = &handle.local().id;
    let state = handle.state();
    let is_master = state.nodes.master.as_ref() == Some(own);
    let others = state.nodes.iter().filter(|node| is_master && node.id != *own);
    others.take(TRIED_MAX).map(|node| node.address.clone()).collect()
}

/// Those of these at which a connection is refused.
async fn refusing(all: Vec<Address>) -> Vec<Address> {
    let refuses = join_all(all.iter().map(refuses)).await;
    all.into_iter().zip(refuses).filter_map(|(address, refuses)| refuses.then_some(address)).collect()
}

async fn refuses(address: &Address) -> bool {
    let Ok(at) = address.as_str().parse::<SocketAddr>() else { return false };
    let tried = timeout(PATIENCE, TcpStream::connect(at)).await;
    tried.is_ok_and(|tried| tried.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_listens_refuses_nobody() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let open: Address = listener.local_addr().expect("it is bound").to_string().as_str().into();
        assert_eq!(refusing(vec![open.clone()]).await, []);
        drop(listener);
        assert_eq!(refusing(vec![open.clone(), "no-address".into()]).await, [open]);
    }
}
