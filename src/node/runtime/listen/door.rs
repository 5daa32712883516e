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

    /// The next connection, and its place.
    pub(super) async fn accept(&self) -> (TcpStream, SocketAddr, Place) {
        let (stream, peer) = loop {
            match self.listener.accept().await {
                Ok(accepted) => {
                    self.failures.store(0, Ordering::Relaxed);
                    break accepted;
                }
                Err(error) => {
                    if let Some(accepted) = self.recover(&error).await {
                        break accepted;
                    }
                }
            }
        };
        (stream, peer, self.places.take().await)
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
