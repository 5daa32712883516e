//! The calling side: sends requests, each on its own, so that one slow peer delays no other, and tells what became of
//! them.
//!
//! Refused, reset, timed out and misunderstood are kept apart, because the core draws different conclusions.

use super::encode_cache::Encoded;
use super::notices::Notices;
use super::{CallOutcome, DECODED_AT_ONCE};
use crate::cluster::Address;
use crate::protocol::{Call, Failure};
use crate::runtime::coding::Coding;
use crate::runtime::faults::Faults;
use crate::runtime::figures::Tally;
use crate::runtime::peers::{PIECE_MAX, Peers, Wanted, parts, path_of};
use crate::wire;
use crate::zen::Message;
use bytes::Bytes;
use reqwest::{Method, StatusCode};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// How long a message is tried to be brought to its receiver that nobody waits for.
const TELL_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends requests.
pub(in crate::runtime) struct Caller {
    outward: Outward,
    tally: Arc<Tally>,
    outcomes: mpsc::UnboundedSender<CallOutcome>,
    notices: Notices,
    /// Requests whose outcome is not known.
    open: BTreeMap<Call, AbortHandle>,
}

/// What a request goes through and comes back by.
#[derive(Clone)]
struct Outward {
    peers: Peers,
    faults: Arc<Faults>,
    coding: Coding,
}

impl Caller {
    pub(in crate::runtime) fn new(
        (peers, faults): (Peers, Arc<Faults>),
        (tally, coding): (Arc<Tally>, Coding),
        outcomes: mpsc::UnboundedSender<CallOutcome>,
    ) -> Self {
        Caller {
            outward: Outward { peers, faults, coding },
            tally,
            outcomes,
            notices: Notices::default(),
            open: BTreeMap::new(),
        }
    }

    /// Sends a request; exactly one outcome follows. It is waited for as long as something of it gets on, and
    /// no longer than the timeout without.
    pub(in crate::runtime) fn send(&mut self, to: &Address, call: Call, form: Encoded, timeout: Duration) {
        let outcomes = self.outcomes.clone();
        let Some(path) = path_of(form.kind()) else {
            let _ = outcomes.send(CallOutcome::Failed(call, Failure::BadAnswer));
            return;
        };
        let (outward, to, tally) = (self.outward.clone(), to.clone(), self.tally.clone());
        let asking = tokio::spawn(async move {
            let reply = match form.bytes().await {
                Some(body) => {
                    tally.sent(1, body.len());
                    outward.ask_through((&to, path), &body, timeout).await
                }
                None => Err(Failure::BadAnswer),
            };
            let outcome = match reply {
                Ok(message) => CallOutcome::Replied(call, message),
                Err(why) => CallOutcome::Failed(call, why),
            };
            // Nobody is left to be told when the node has ended.
            let _ = outcomes.send(outcome);
        });
        self.open.insert(call, asking.abort_handle());
    }

    /// A request is sent no further: its connection closes.
    pub(in crate::runtime) fn cancel(&mut self, call: Call) {
        if let Some(asking) = self.open.remove(&call) {
            asking.abort();
        }
    }

    /// The outcome of a request is known.
    pub(in crate::runtime) fn ended(&mut self, call: Call) {
        self.open.remove(&call);
    }

    /// Sends a message whose fate nobody waits for.
    pub(in crate::runtime) fn tell(&self, to: &Address, message: &Message, version: u32) {
        let is_notice = matches!(message, Message::Notice { .. });
        let Some(path) = self.path_to(to, message.kind()) else {
            return;
        };
        let mut body = Bytes::from(wire::encode_as(version, message));
        self.tally.sent(1, body.len());
        let (peers, to) = (self.outward.peers.clone(), to.clone());
        let notices = is_notice.then(|| self.notices.clone());
        if notices.as_ref().is_some_and(|notices| !notices.begin(&to, &body)) {
            return;
        }
        tokio::spawn(async move {
            loop {
                // Nobody waits for its fate.
                let _ = tokio::time::timeout(TELL_TIMEOUT, peers.ask(&to, &message_to(path, body, TELL_TIMEOUT))).await;
                match notices.as_ref().and_then(|notices| notices.next(&to)) {
                    Some(next) => body = next,
                    None => return,
                }
            }
        });
    }

    /// The path of a kind of request, unless the link is cut.
    fn path_to(&self, to: &Address, kind: &str) -> Option<&'static str> {
        if self.outward.faults.swallows_to(to) { None } else { path_of(kind) }
    }
}

/// What carries a message under this path.
pub(super) fn message_to(path: &str, body: Bytes, patience: Duration) -> Wanted {
    Wanted { method: Method::POST, target: format!("/_zen/{path}"), part: None, body, patience }
}

impl Outward {
    /// Sends a request and reads the reply, over a link that may be cut by request.
    async fn ask_through(
        &self,
        (to, path): (&Address, &str),
        body: &Bytes,
        timeout: Duration,
    ) -> Result<Message, Failure> {
        let faults = &self.faults;
        if !faults.is_allowed() {
            return self.ask((to, path), body, timeout).await;
        }
        let due = Instant::now() + timeout;
        let there = faults.pass(|faults| faults.swallows_to(to));
        tokio::time::timeout_at(due, there).await.map_err(|_| Failure::TimedOut)?;
        let reply = self.ask((to, path), body, due.saturating_duration_since(Instant::now())).await?;
        let back = faults.pass(|faults| faults.swallows_from(to));
        tokio::time::timeout_at(due, back).await.map_err(|_| Failure::TimedOut)?;
        Ok(reply)
    }

    async fn ask(&self, (to, path): (&Address, &str), body: &Bytes, timeout: Duration) -> Result<Message, Failure> {
        let wanted = message_to(path, body.clone(), parts::patience(timeout, body.len()));
        let told = if body.len() > PIECE_MAX {
            parts::send(&self.peers, to, &wanted, timeout).await?
        } else {
            self.peers.ask(to, &wanted).await?
        };
        if told.status != StatusCode::OK {
            return Err(Failure::BadAnswer);
        }
        let body = told.body;
        if body.len() <= DECODED_AT_ONCE {
            return wire::decode(&body).map_err(|_| Failure::BadAnswer);
        }
        let decoded = self.coding.run(path, move || wire::decode(&body)).await;
        decoded.ok_or(Failure::BadAnswer)?.map_err(|_| Failure::BadAnswer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    /// Long, on a machine with much else to do.
    const TIMEOUT: Duration = Duration::from_secs(20);

    /// A caller, and what becomes of its requests.
    fn caller() -> (Caller, mpsc::UnboundedReceiver<CallOutcome>) {
        let (outcomes, told) = mpsc::unbounded_channel();
        let peers = Peers::plain().expect("a client needs no network");
        (Caller::new((peers, Arc::new(Faults::new(false))), (Arc::default(), Coding::start()), outcomes), told)
    }

    /// A peer that does nothing yet.
    async fn listening() -> (TcpListener, Address) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be listened on");
        let address = listener.local_addr().expect("it is bound").to_string();
        (listener, address.as_str().into())
    }

    fn ping(caller: &mut Caller, to: &Address, call: u64) {
        caller.send(to, Call(call), Encoded::of("ping", Bytes::from_static(b"{}")), TIMEOUT);
    }

    /// A peer that answers each request on a connection, as long as that is open.
    async fn answer(mut connection: TcpStream) {
        let mut seen = Vec::new();
        let body = wire::encode(&Message::Gone);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        while connection.read_buf(&mut seen).await.is_ok_and(|length| length > 0) {
            if seen.ends_with(b"}") {
                seen.clear();
                connection.write_all(&[head.as_bytes(), &body].concat()).await.expect("the caller waits for it");
            }
        }
    }

    #[tokio::test]
    async fn an_answer_to_a_ping_that_does_not_end_is_not_read_for_long() {
        let (listener, peer) = listening().await;
        let (mut caller, mut told) = caller();
        ping(&mut caller, &peer, 1);
        let (mut connection, _) = listener.accept().await.expect("the caller connects");
        let fake = tokio::spawn(async move {
            let mut written = 0;
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n").await.ok();
            while let Ok(more) = connection.write(&[b' '; 4096]).await {
                written += more;
            }
            written
        });
        assert!(matches!(told.recv().await, Some(CallOutcome::Failed(Call(1), Failure::BadAnswer))));
        let written = fake.await.expect("it ends with its connection");
        assert!(written < 32 << 20, "{written} bytes were taken");
    }

    #[tokio::test]
    async fn a_request_that_is_cancelled_is_sent_no_further_and_has_no_outcome() {
        let (listener, peer) = listening().await;
        let (mut caller, mut told) = caller();
        ping(&mut caller, &peer, 1);
        let (mut connection, _) = listener.accept().await.expect("the caller connects");
        caller.cancel(Call(1));
        let mut seen = Vec::new();
        let closed = tokio::time::timeout(TIMEOUT, connection.read_to_end(&mut seen)).await;
        assert!(closed.is_ok(), "the connection stays open");
        drop(caller);
        assert!(told.recv().await.is_none(), "nothing is told of it");
    }

    #[tokio::test]
    async fn a_peer_is_reached_where_a_connection_of_this_node_leads_and_not_otherwise() {
        let (listener, peer) = listening().await;
        let (mut caller, mut told) = caller();
        ping(&mut caller, &peer, 1);
        let (connection, _) = listener.accept().await.expect("the caller connects");
        // Nobody listens any more, as behind a firewall that lets go on what is open.
        drop(listener);
        let peer_runs = tokio::spawn(answer(connection));
        assert!(matches!(told.recv().await, Some(CallOutcome::Replied(Call(1), Message::Gone))));
        ping(&mut caller, &peer, 2);
        assert!(matches!(told.recv().await, Some(CallOutcome::Replied(Call(2), Message::Gone))), "it is used again");
        peer_runs.abort();
        let _ = peer_runs.await;
        ping(&mut caller, &peer, 3);
        assert!(matches!(told.recv().await, Some(CallOutcome::Failed(Call(3), Failure::Refused | Failure::Reset))));
        ping(&mut caller, &peer, 4);
        assert!(matches!(told.recv().await, Some(CallOutcome::Failed(Call(4), Failure::Refused))));
    }
}
