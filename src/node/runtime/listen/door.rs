//! Where connections come in, and what happens when there is no descriptor for one.
//!
//! The system says that there is none before it looks whether anybody is there, and says so again at once. So a door keeps
//! one descriptor to give up: then it sees who is there, and whoever gets in has somebody else give way.

use super::places::{Place, Places};
use crate::runtime::descriptors;
use crate::runtime::log::TRANSPORT;
use futures_util::FutureExt;
use parking_lot::Mutex;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// How long to wait for a descriptor that somebody gives back, and how often.
const PAUSE: Duration = Duration::from_millis(10);
const PAUSES: u32 = 10;

/// How long to wait before the next connection when nobody gives one back.
const ACCEPT_AGAIN: Duration = Duration::from_secs(1);

/// How many who are there are taken when a door closes.
const BACKLOG: usize = 1_024;

/// A listener with its places.
pub(super) struct Door {
    listener: TcpListener,
    places: Arc<Places>,
    /// Open for nothing but to be given up when there are no descriptors left.
    spare: Mutex<Option<File>>,
    /// How many connections could not be accepted since one could.
    failures: AtomicU32,
}

impl Door {
    pub(super) fn new(listener: TcpListener, places: Arc<Places>) -> Self {
        let door = Door { listener, places, spare: Mutex::default(), failures: AtomicU32::new(0) };
        door.has_spare();
        door
    }

    /// The next connection.
    pub(super) async fn accept(&self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => {
                    self.failures.store(0, Ordering::Relaxed);
                    return accepted;
                }
                Err(error) => {
                    if let Some(accepted) = self.recover(&error).await {
                        return accepted;
                    }
                }
            }
        }
    }

    /// A place for somebody who was accepted from this address.
    pub(super) async fn place(&self, from: SocketAddr) -> Place {
        self.places.take(from.ip().to_canonical()).await
    }

    /// Lets nobody in any more, and tells who is there already. The system is asked itself: the runtime takes nobody to be
    /// there between the last time it found nobody and its next look at all sockets.
    pub(super) fn close(self) -> (Vec<(TcpStream, SocketAddr)>, Arc<Places>) {
        let Ok(listener) = self.listener.into_std() else { return (Vec::new(), self.places) };
        let accepted = std::iter::from_fn(|| listener.accept().ok()).take(BACKLOG);
        let to_runtime = |(stream, peer): (std::net::TcpStream, SocketAddr)| {
            stream.set_nonblocking(true).ok()?;
            Some((TcpStream::from_std(stream).ok()?, peer))
        };
        (accepted.filter_map(to_runtime).collect(), self.places)
    }

    async fn recover(&self, error: &io::Error) -> Option<(TcpStream, SocketAddr)> {
        if error.kind() == io::ErrorKind::ConnectionAborted {
            return None;
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if failures.is_power_of_two() {
            tracing::warn!(target: TRANSPORT, "cannot accept a connection, [{failures}] times in a row: {error}");
        }
        let had_spare = descriptors::is_lack(error) && self.spare.lock().take().is_some();
        let accepted = if had_spare { self.listener.accept().now_or_never() } else { None };
        let accepted = accepted.and_then(Result::ok);
        if accepted.is_some() || !had_spare {
            self.places.make_room();
        }
        for _ in 0..PAUSES {
            if self.has_spare() {
                return accepted;
            }
            sleep(PAUSE).await;
        }
        if accepted.is_none() {
            sleep(ACCEPT_AGAIN).await;
        }
        accepted
    }

    /// Whether there is a descriptor to give up, or one can be had.
    fn has_spare(&self) -> bool {
        let mut spare = self.spare.lock();
        if spare.is_none() {
            *spare = File::open("/dev/null").ok();
        }
        spare.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream as Client;

    #[tokio::test]
    async fn who_is_there_when_it_closes_gets_in_although_the_runtime_did_not_see_them() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let door = Door::new(listener, Places::new(8, false));
        assert!(door.accept().now_or_never().is_none(), "nobody is there yet");
        // The runtime does not look at its sockets before the next await.
        let clients: Vec<_> = (0..3).map(|_| Client::connect(address).expect("it is taken")).collect();
        let (here, _) = door.close();
        assert_eq!(here.len(), clients.len());
        assert!(Client::connect(address).is_err(), "who comes later is refused");
    }
}
