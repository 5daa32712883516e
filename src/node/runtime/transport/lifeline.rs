//! Held links: one request that stays open, with frames both ways, so that each end notices when the other is gone.
//!
//! A frame is a line: `ask 17 {…}` or `answer 17 {…}`, a message behind a number that the asking end chose. Elasticsearch
//! held one TCP connection to each node for the same purpose (`NodeConnectionsService`, 6.8).

use super::{Inbound, Side};
use crate::cluster::Address;
use crate::runtime::figures::Tally;
use crate::runtime::log::TRANSPORT;
use crate::runtime::peers::{Peers, failure};
use crate::runtime::secure::{FrameKey, Head, SEAL};
use crate::wire;
use crate::zen::Message;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// Where links are taken up.
pub(super) const LIFELINE: &str = "/_zen/lifeline";

/// Tells the other end at which address the one that makes a link can be called.
pub(super) const ADDRESS_HEADER: &str = "zazen-address";

/// How long a link is tried to be made.
const DIAL_TIMEOUT: Duration = Duration::from_secs(3);

/// How many frames may wait to be sent: all that both ends may have asked each other, and beats besides.
const FRAMES_MAX: usize = 4_096;

/// The longest frame.
const FRAME_MAX: usize = 64 << 10;

/// The longest message that goes over a link, so that no beat waits long behind it.
pub(super) const BODY_MAX: usize = 32 << 10;

/// How many bytes a line takes besides its message, at the most.
const LINE_EXTRA: usize = 80;

/// Names a link within its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::runtime) struct LinkId(u64);

impl LinkId {
    /// A number that no other link of this process has.
    pub(super) fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        LinkId(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

/// Which of the two a frame is, or that the link ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Ask,
    Answer,
    End,
}

/// A frame that waits to be sent: a message as it was encoded, under its number.
#[derive(Debug)]
pub(in crate::runtime) struct Line {
    pub(super) word: Word,
    pub(super) number: u64,
    pub(super) body: Bytes,
}

impl Line {
    /// The last one: behind it the way out closes, whoever has it still.
    pub(super) const END: Line = Line { word: Word::End, number: 0, body: Bytes::new() };

    fn write(&self, chunk: &mut BytesMut, key: Option<&mut FrameKey>) {
        let word = match self.word {
            Word::Ask => "ask",
            Word::Answer => "answer",
            Word::End => return,
        };
        chunk.reserve(self.body.len() + LINE_EXTRA);
        if let Some(key) = key {
            let mut line = BytesMut::with_capacity(self.body.len() + LINE_EXTRA);
            write!(line, "{word} {} ", self.number).expect("a buffer takes all that is written");
            line.extend_from_slice(&self.body);
            write!(chunk, "{} ", key.seal(&line)).expect("a buffer takes all that is written");
            chunk.extend_from_slice(&line);
        } else {
            write!(chunk, "{word} {} ", self.number).expect("a buffer takes all that is written");
            chunk.extend_from_slice(&self.body);
        }
        chunk.extend_from_slice(b"\n");
    }
}

/// The way out of a link.
pub(in crate::runtime) type Lines = mpsc::Sender<Line>;

/// A message that came over a link.
#[derive(Debug)]
pub(in crate::runtime) enum Frame {
    /// A request, under a number of the sender's.
    Ask(u64, Message),
    /// The reply to the request with this number.
    Answer(u64, Message),
}

impl Frame {
    /// Whether it says that it comes from this peer, if it says from whom.
    fn is_of(&self, peer: &Address) -> bool {
        let (Frame::Ask(_, message) | Frame::Answer(_, message)) = self;
        message.sender().is_none_or(|from| from.node.address == *peer)
    }

    /// Reads a line without its end; none if it is no frame.
    pub(super) fn decode(line: &[u8]) -> Option<Self> {
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let (word, number, body) = (parts.next()?, parts.next()?, parts.next()?);
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        let message = wire::decode(body).ok()?;
        match word {
            b"ask" => Some(Frame::Ask(number, message)),
            b"answer" => Some(Frame::Answer(number, message)),
            _ => None,
        }
    }
}

/// The two ends of the way out of a link: where frames are put, and the body that they become. What waits goes together.
pub(super) fn way_out(
    tally: Arc<Tally>,
    key: Option<FrameKey>,
) -> (Lines, impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) {
    let (lines, queue) = mpsc::channel(FRAMES_MAX);
    let begin = (queue, tally, key);
    let body = stream::unfold(begin, |(mut queue, tally, mut key): (mpsc::Receiver<Line>, Arc<Tally>, _)| async move {
        let mut chunk = BytesMut::new();
        let mut count = 0;
        let mut next = Some(queue.recv().await?);
        while let Some(line) = next.take() {
            if line.word == Word::End {
                queue.close();
                break;
            }
            line.write(&mut chunk, key.as_mut());
            count += 1;
            next = if chunk.len() < BODY_MAX { queue.try_recv().ok() } else { None };
        }
        if count == 0 {
            return None;
        }
        tally.sent(count, chunk.len());
        Some((Ok(chunk.freeze()), (queue, tally, key)))
    });
    (lines, body)
}

/// What comes in over a link is judged by this.
#[derive(Debug)]
pub(super) struct FrameOpener {
    /// What its frames are sealed with.
    pub(super) key: Option<FrameKey>,
    /// Whether the other end has shown who it is, by a seal or by a certificate: then it speaks for nobody else.
    pub(super) knows_peer: bool,
}

impl FrameOpener {
    /// The frame of a line, if it is one that this peer may send.
    fn open(&mut self, line: &[u8], peer: &Address) -> Option<Frame> {
        let line = match &mut self.key {
            Some(key) => key.open(line)?,
            None => line,
        };
        Frame::decode(line).filter(|frame| !self.knows_peer || frame.is_of(peer))
    }
}

/// A link that was made: the way out, what comes in, and what that is judged by.
struct Made {
    lines: Lines,
    response: reqwest::Response,
    opener: FrameOpener,
}

/// Why a link was not made.
enum Unmade {
    /// The other end says which epoch a seal must be for.
    Challenged,
    Failed(String),
}

/// Makes a link, reads it until it ends, and reports both.
pub(super) async fn hold(
    peers: Peers,
    id: LinkId,
    peer: Address,
    local: Address,
    (inbox, tally): (mpsc::Sender<Inbound>, Arc<Tally>),
) {
    let mut made = dial(&peers, &peer, &local, &tally).await;
    if let Err(Unmade::Challenged) = made {
        made = dial(&peers, &peer, &local, &tally).await;
    }
    match made {
        Ok(Made { lines, response, opener }) => {
            let opened = Inbound::LinkOpened { id, peer: peer.clone(), side: Side::Held, lines };
            if inbox.send(opened).await.is_ok() {
                let chunks = response.bytes_stream().map(|chunk| chunk.ok());
                read(chunks, (id, &peer), opener, (&inbox, &tally)).await;
            }
        }
        Err(Unmade::Challenged) => tracing::debug!(target: TRANSPORT, "no link to [{peer}]: it wants another seal"),
        Err(Unmade::Failed(why)) => tracing::debug!(target: TRANSPORT, "no link to [{peer}]: {why}"),
    }
    // The node has ended if it takes no more.
    let _ = inbox.send(Inbound::LinkClosed { id, peer }).await;
}

async fn dial(peers: &Peers, peer: &Address, local: &Address, tally: &Arc<Tally>) -> Result<Made, Unmade> {
    let head = Head { method: "POST", target: LIFELINE, part: "" };
    let asked = peers.sealer().as_ref().map(|sealer| sealer.seal(peer, head, None));
    let (says, hears) = asked.as_ref().map(|asked| asked.link()).unzip();
    let (lines, body) = way_out(tally.clone(), says);
    let mut request = peers.client().post(peers.url(peer, LIFELINE)).body(reqwest::Body::wrap_stream(body));
    match &asked {
        Some(asked) => {
            for (name, value) in asked.headers(local) {
                request = request.header(name, value);
            }
        }
        None => request = request.header(ADDRESS_HEADER, local.as_str()),
    }
    let response = tokio::time::timeout(DIAL_TIMEOUT, request.send()).await;
    let response = response.map_err(|_| Unmade::Failed("timed out".into()))?;
    let response = response.map_err(|error| Unmade::Failed(failure(&error).to_string()))?;
    if peers.is_challenge(peer, &response) {
        return Err(Unmade::Challenged);
    }
    let seal = response.headers().get(SEAL).and_then(|seal| seal.to_str().ok());
    let status = response.status();
    if status != reqwest::StatusCode::OK
        || asked.is_some_and(|asked| !asked.is_answered_by(seal, status.as_u16(), None))
    {
        return Err(Unmade::Failed(format!("it answers {status}, or not as a node of this cluster does")));
    }
    let knows_peer = hears.is_some() || peers.is_tls();
    Ok(Made { lines, response, opener: FrameOpener { key: hears, knows_peer } })
}

/// Reads frames until the link ends, or something comes that is no frame, or that the peer may not say.
pub(super) async fn read(
    chunks: impl Stream<Item = Option<Bytes>>,
    (id, peer): (LinkId, &Address),
    mut opener: FrameOpener,
    (inbox, tally): (&mpsc::Sender<Inbound>, &Tally),
) {
    let mut chunks = std::pin::pin!(chunks);
    let mut buffer = BytesMut::new();
    while let Some(Some(chunk)) = chunks.next().await {
        buffer.extend_from_slice(&chunk);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line = buffer.split_to(end + 1);
            let Some(frame) = opener.open(&line[..end], peer) else {
                return;
            };
            tally.received(1, line.len());
            if inbox.send(Inbound::LinkFrame { id, peer: peer.clone(), frame }).await.is_err() {
                return;
            }
        }
        if buffer.len() > FRAME_MAX {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(of: &str) -> Vec<u8> {
        let node = format!(
            r#"{{"id":"a","ephemeral_id":"a1","name":"a","address":"{of}","roles":["master"],"version":"6.8.23"}}"#
        );
        let body = format!(r#"{{"from":{{"cluster_name":"prod","node":{node}}}}}"#);
        format!(r#"ask 7 {{"v":1,"kind":"fetch","body":{body}}}"#).into_bytes()
    }

    /// Whether a node listens to a fetch of somebody over a link of the node at `10.0.0.1:9300`.
    fn hears(of: &str, knows_peer: bool) -> bool {
        let mut opener = FrameOpener { key: None, knows_peer };
        opener.open(&frame(of), &"10.0.0.1:9300".into()).is_some()
    }

    #[test]
    fn whoever_showed_a_certificate_speaks_over_its_link_for_nobody_else() {
        assert!(hears("10.0.0.1:9300", true));
        assert!(!hears("10.0.0.2:9300", true));
        assert!(hears("10.0.0.2:9300", false), "where nobody shows who it is, nobody can be told from another");
    }
}
