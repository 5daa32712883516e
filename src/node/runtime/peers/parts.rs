//! Large messages in parts: each is a request of its own that is answered as soon as it has arrived.
//!
//! So the sender sees that a message gets on, however slow the link is, and neither end waits long for one that does not.
//! Whoever sends the same message again goes on behind what has arrived. A part says which message it is of, by its sum and
//! its length, and where in it; the answer says how much of it is there. Elasticsearch sends a state in one message
//! (`PublishClusterStateAction`, 6.8), and files in chunks (`RecoverySourceHandler`).

use super::{PeerResponse, Peers, Wanted};
use crate::cluster::Address;
use crate::protocol::Failure;
use crate::wire;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

/// What is not larger goes in one piece.
pub(in crate::runtime) const PIECE_MAX: usize = 64 << 10;

/// The largest part.
const PART_MAX: usize = 4 << 20;

/// So long a part may take to arrive, whatever is waited for the answer: a link carries 32 KiB a second at the least.
const PART_TIMEOUT: Duration = Duration::from_secs(2);

/// The next part is twice as large if one took less than this, and half as large if it took more than twice as long.
const PART_PACE: Duration = Duration::from_millis(150);

/// So often in a row a part may bring nothing on.
const STALLS_MAX: u32 = 3;

/// How many messages may be arriving in parts.
const ARRIVING_MAX: usize = 16;

/// What did not get on for so long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(30);

pub(in crate::runtime) const HEADER: &str = "zazen-part";

/// Which message a part is of, and where it begins in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) struct Part {
    sum: u32,
    total: usize,
    from: usize,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x} {} {}", self.sum, self.total, self.from)
    }
}

impl Part {
    /// What the head of a request says, if it is one for a part.
    pub(in crate::runtime) fn of(headers: &HeaderMap) -> Option<Result<Part, String>> {
        let text = headers.get(HEADER)?.to_str().unwrap_or_default();
        let mut words = text.split(' ');
        let sum = words.next().and_then(|sum| u32::from_str_radix(sum, 16).ok());
        let mut number = || words.next().and_then(|number| number.parse().ok());
        Some(match (sum, number(), number()) {
            (Some(sum), Some(total), Some(from)) if from < total && total <= wire::SIZE_MAX => {
                Ok(Part { sum, total, from })
            }
            _ => Err(format!(
                "[{HEADER}: {text}] is not a sum, a length of at most [{}] and a place in it\n",
                wire::SIZE_MAX
            )),
        })
    }
}

/// Sends a message in parts and gives back the answer to the last one.
pub(in crate::runtime) async fn send(
    peers: &Peers,
    to: &Address,
    whole: &Wanted,
    timeout: Duration,
) -> Result<PeerResponse, Failure> {
    let (sum, total) = (crc32fast::hash(&whole.body), whole.body.len());
    let (mut from, mut size, mut stalls) = (0, peers.pace(to), 0);
    loop {
        let end = (from + size).min(total);
        let part = Some(Part { sum, total, from }.to_string());
        let (began, patience) = (Instant::now(), patience(timeout, end - from));
        let wanted = Wanted { part, body: whole.body.slice(from..end), patience, ..whole.clone() };
        let told = peers.ask(to, &wanted).await;
        // What is left over for the last part tells little.
        let next = if end - from == size { next_size(size, began.elapsed()) } else { size };
        peers.set_pace(to, if told.is_ok() { next } else { PIECE_MAX });
        let told = told?;
        if told.status != reqwest::StatusCode::ACCEPTED {
            return Ok(told);
        }
        let there = there(&told)?.min(total - 1);
        stalls = if there > from { 0 } else { stalls + 1 };
        if stalls > STALLS_MAX {
            return Err(Failure::BadAnswer);
        }
        (from, size) = (there, next);
    }
}

fn next_size(size: usize, took: Duration) -> usize {
    if took < PART_PACE {
        (size * 2).min(PART_MAX)
    } else if took > PART_PACE * 2 {
        (size / 2).max(PIECE_MAX)
    } else {
        size
    }
}

/// How long a response is waited for to a request of this size that is answered within `timeout` once it has arrived.
pub(in crate::runtime) fn patience(timeout: Duration, size: usize) -> Duration {
    timeout.saturating_add(PART_TIMEOUT.mul_f64((size as f64 / PIECE_MAX as f64).min(1.0)))
}

/// How much of the message has arrived, as the receiver says.
fn there(told: &PeerResponse) -> Result<usize, Failure> {
    std::str::from_utf8(&told.body).ok().and_then(|text| text.trim().parse().ok()).ok_or(Failure::BadAnswer)
}

/// Messages that are arriving.
#[derive(Default)]
pub(in crate::runtime) struct Incomplete(Mutex<BTreeMap<(u32, usize), Message>>);

struct Message {
    bytes: Vec<u8>,
    touched: Instant,
}

impl Incomplete {
    /// Takes a part in. Gives back the message if that was the last one, and else what to answer.
    pub(in crate::runtime) fn take(
        &self,
        now: Instant,
        part: Part,
        bytes: &[u8],
    ) -> Result<Bytes, (StatusCode, String)> {
        let name = (part.sum, part.total);
        let mut arriving = self.0.lock();
        arriving.retain(|_, message| now.duration_since(message.touched) < FORGOTTEN_AFTER);
        let bytes_in_all = arriving.keys().map(|(_, total)| total).sum::<usize>() + part.total;
        let has_room = arriving.len() < ARRIVING_MAX && (bytes_in_all <= wire::SIZE_MAX || arriving.is_empty());
        if !has_room && !arriving.contains_key(&name) {
            let what = format!(
                "[{ARRIVING_MAX}] messages of [{}] bytes together may arrive in parts at a time, ask again later\n",
                wire::SIZE_MAX
            );
            return Err((StatusCode::SERVICE_UNAVAILABLE, what));
        }
        let message = arriving.entry(name).or_insert_with(|| Message { bytes: Vec::new(), touched: now });
        message.touched = now;
        let room = part.total - message.bytes.len();
        if part.from == message.bytes.len() && bytes.len() <= room {
            message.bytes.extend_from_slice(bytes);
        }
        let there = message.bytes.len();
        if there < part.total {
            return Err((StatusCode::ACCEPTED, there.to_string()));
        }
        let whole = arriving.remove(&name).map(|message| Bytes::from(message.bytes)).unwrap_or_default();
        drop(arriving);
        if crc32fast::hash(&whole) == part.sum { Ok(whole) } else { Err(is_damaged(part)) }
    }
}

fn is_damaged(part: Part) -> (StatusCode, String) {
    let what = format!("the parts of a message of [{}] bytes do not have the sum [{:08x}]\n", part.total, part.sum);
    (StatusCode::BAD_REQUEST, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn part(body: &[u8], from: usize) -> Part {
        Part { sum: crc32fast::hash(body), total: body.len(), from }
    }

    fn status(answer: Result<Bytes, (StatusCode, String)>) -> StatusCode {
        answer.err().map_or(StatusCode::OK, |(status, _)| status)
    }

    #[test]
    fn parts_make_the_message_whatever_is_repeated_or_comes_too_early() {
        let (arriving, body) = (Incomplete::default(), b"0123456789".as_slice());
        for (from, to) in [(0, 4), (0, 4), (6, 10), (4, 6)] {
            assert_eq!(status(arriving.take(Instant::now(), part(body, from), &body[from..to])), StatusCode::ACCEPTED);
        }
        assert_eq!(arriving.0.lock().values().map(|message| message.bytes.len()).collect::<Vec<_>>(), [6]);
        assert_eq!(arriving.take(Instant::now(), part(body, 6), &body[6..]).ok().as_deref(), Some(body));
        assert!(arriving.0.lock().is_empty());
        let wrong = Part { sum: 7, ..part(body, 0) };
        assert_eq!(status(arriving.take(Instant::now(), wrong, body)), StatusCode::BAD_REQUEST);
        assert!(arriving.0.lock().is_empty(), "what is damaged is begun anew");
        assert_eq!(
            status(arriving.take(Instant::now(), part(body, 0), b"longer than it is said")),
            StatusCode::ACCEPTED
        );
    }

    #[test]
    fn few_messages_arrive_at_a_time_and_those_that_get_no_further_are_forgotten() {
        let arriving = Incomplete::default();
        let start = Instant::now();
        let begin = |now, number| status(arriving.take(now, Part { sum: number, total: 9, from: 0 }, b"x"));
        for number in 0..ARRIVING_MAX as u32 {
            assert_eq!(begin(start, number), StatusCode::ACCEPTED);
        }
        assert_eq!(begin(start, 99), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(begin(start + FORGOTTEN_AFTER, 99), StatusCode::ACCEPTED);
        assert_eq!(arriving.0.lock().len(), 1);
    }

    #[test]
    fn what_a_part_says_is_read_again_and_nonsense_is_refused() {
        let read = |text: &str| {
            let headers = HeaderMap::from_iter([(
                HEADER.parse().expect("it is a name"),
                HeaderValue::from_str(text).expect("it is text"),
            )]);
            Part::of(&headers).expect("it is there").ok()
        };
        let part = Part { sum: 0xab, total: 1 << 20, from: 17 };
        assert_eq!(read(&part.to_string()), Some(part));
        let too_long = format!("0 {} 0", wire::SIZE_MAX + 1);
        for text in ["", "1", "1 2", "x 2 1", "1 2 2", "1 2 -1", &too_long] {
            assert_eq!(read(text), None, "{text}");
        }
        assert!(Part::of(&HeaderMap::new()).is_none());
    }

    #[test]
    fn parts_grow_while_they_are_quick() {
        let mut size = PIECE_MAX;
        for _ in 0..20 {
            size = next_size(size, Duration::from_millis(1));
        }
        assert_eq!((size, next_size(size, PART_PACE)), (PART_MAX, PART_MAX));
        assert_eq!(next_size(PIECE_MAX * 2, PART_PACE * 3), PIECE_MAX);
    }
}
