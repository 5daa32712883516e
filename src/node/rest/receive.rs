//! What a request and its answer cost in memory, and how the body of a request is taken in.
//!
//! Everybody pays from one account, `runtime::budget`; whoever asks for more than is left is told to come again. Mirrors
//! what `RestController` does with the breaker `in_flight_requests` (6.8).

use super::error::{Kind, RestError};
use super::reply::Reply;
use super::route::Takes;
use crate::runtime::budget::{Budget, NoRoom, Share};
use crate::runtime::listen::TooSlow;
use crate::service::{Refusal, limits};
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderName, Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What every request costs, for its head and its way through the node.
const HEAD_BYTES: u64 = 4 << 10;

/// So many bytes the value of a key may have when it comes packed: what packs nothing adds a little.
const PACKED_VALUE_MAX: u64 = limits::VALUE_BYTES_MAX as u64 + (4 << 10);

/// So many bytes of a body go by that are of no use.
const PASSED_OVER_MAX: u64 = 16 << 20;

/// So much room a body is given for what its head says of it.
const ROOM_MAX: usize = 1 << 20;

/// When whoever found no room should come again, in seconds.
const RETRY_AFTER: &str = "1";

/// How many times a body of this kind is in memory, about, until it is answered.
fn copies(takes: Takes) -> u64 {
    match takes {
        // What is read of few letters, as a list of numbers, is much larger than they are.
        Takes::Tree | Takes::Body(_) => 16,
        // As it came, put together, as a value, and on its way to the master.
        Takes::Bytes | Takes::Value => 4,
    }
}

/// A body that was taken in, and what it costs as long as it is here.
pub(super) struct Received {
    pub(super) bytes: Bytes,
    share: Share,
    copies: u64,
}

impl Received {
    /// The same when it was unpacked, which costs what comes out of it: `unpack` is given what takes each piece in.
    pub(super) fn unpacked<E>(
        mut self,
        unpack: impl FnOnce(&[u8], &mut dyn FnMut(usize) -> Result<(), NoRoom>) -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        let (packed, copies) = (std::mem::take(&mut self.bytes), self.copies);
        let unpacked = unpack(&packed, &mut |more| self.share.grow(more as u64 * copies))?;
        Ok(Received { bytes: unpacked.into(), ..self })
    }
}

/// Why a body was not taken in.
pub(super) enum NotReceived {
    /// For what it is, as Elasticsearch answers it: by a status alone.
    Status(StatusCode),
    /// For the memory that it would take.
    NoRoom(NoRoom),
    /// For what no key may hold.
    NoValue(Refusal),
}

impl From<NoRoom> for NotReceived {
    fn from(no_room: NoRoom) -> Self {
        NotReceived::NoRoom(no_room)
    }
}

/// What whoever found no room is told.
pub(super) fn no_room(no_room: NoRoom, is_detailed: bool) -> Reply {
    let error = RestError::new(Kind::CircuitBreaking, no_room.to_string());
    match no_room {
        NoRoom::Taken(_) => Reply::error(&error, false, is_detailed).with_header(header::RETRY_AFTER, RETRY_AFTER),
        NoRoom::TooLarge(_) => Reply::error(&error.with_status(StatusCode::PAYLOAD_TOO_LARGE), false, is_detailed),
    }
}

/// Takes a body in, unless it says or shows to be too large, for itself or for what is left of the memory.
pub(super) async fn receive(
    parts: &Parts,
    mut body: Body,
    takes: Takes,
    (budget, max): (&Arc<Budget>, u64),
) -> Result<Received, NotReceived> {
    let header = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    if header(header::EXPECT).is_some_and(|wanted| !wanted.eq_ignore_ascii_case("100-continue")) {
        return Err(NotReceived::Status(StatusCode::EXPECTATION_FAILED));
    }
    let said = header(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok()).unwrap_or(0);
    if said > max {
        return Err(NotReceived::Status(StatusCode::PAYLOAD_TOO_LARGE));
    }
    if takes == Takes::Value && said > PACKED_VALUE_MAX {
        passed_over(&mut body, said).await;
        return Err(no_value(&said.to_string()));
    }
    let mut share = budget.take(HEAD_BYTES)?;
    // What never fits need not arrive first.
    if let Err(error @ NoRoom::TooLarge(_)) = budget.take(HEAD_BYTES + said * copies(takes)) {
        return Err(error.into());
    }
    let max = if takes == Takes::Value { max.min(PACKED_VALUE_MAX) } else { max };
    let bytes = match read(&mut body, (said, max), copies(takes), &mut share).await {
        Err(NotReceived::Status(StatusCode::PAYLOAD_TOO_LARGE)) if takes == Takes::Value => {
            passed_over(&mut body, PASSED_OVER_MAX).await;
            return Err(no_value(&format!("more than {max}")));
        }
        read => read?,
    };
    Ok(Received { bytes, share, copies: copies(takes) })
}

fn no_value(bytes: &str) -> NotReceived {
    let most = limits::VALUE_BYTES_MAX;
    NotReceived::NoValue(Refusal::TooLarge(format!(
        "the value of the key would have [{bytes}] bytes, allowed are [{most}]"
    )))
}

/// Lets what is left of a body go by, if that is not much: many clients read no answer before they have sent all.
async fn passed_over(body: &mut Body, length: u64) {
    let mut left = length.min(PASSED_OVER_MAX);
    while length <= PASSED_OVER_MAX
        && left > 0
        && let Some(Ok(frame)) = body.frame().await
    {
        left = left.saturating_sub(frame.data_ref().map_or(0, |piece| piece.len() as u64));
    }
}

/// A body in one piece. What is longer than its first is put together as it comes, in the room that its length needs: the
/// many small buffers that it comes in are used again, and the large one is the system's when it ends.
async fn read(body: &mut Body, (said, max): (u64, u64), copies: u64, share: &mut Share) -> Result<Bytes, NotReceived> {
    let (mut first, mut all) = (Bytes::new(), Vec::new());
    let room = usize::try_from(said.min(max)).map_or(0, |said| said.min(ROOM_MAX));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| match TooSlow::is_cause_of(&error) {
            true => NotReceived::Status(StatusCode::REQUEST_TIMEOUT),
            false => NotReceived::Status(StatusCode::BAD_REQUEST),
        })?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        let length = first.len().max(all.len()) + piece.len();
        if length as u64 > max {
            return Err(NotReceived::Status(StatusCode::PAYLOAD_TOO_LARGE));
        }
        share.grow(piece.len() as u64 * copies)?;
        if length == piece.len() {
            first = piece;
            continue;
        }
        if all.is_empty() {
            // Without it the room grows as it is needed.
            let _ = all.try_reserve_exact(room);
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&piece);
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

/// An answer that costs what it takes until it is taken. One of no stated length is paid for by whoever writes it, and a
/// short one by its request: nobody whose change was made may be told that it was refused.
pub(super) fn paid(response: Response<Body>, budget: &Arc<Budget>) -> Result<Response<Body>, NoRoom> {
    let length = response.body().size_hint().exact().unwrap_or(0);
    if length <= HEAD_BYTES {
        return Ok(response);
    }
    let share = budget.take(length)?;
    Ok(response.map(|body| Body::new(Paid { body, share: Some(share) })))
}

/// A body in one piece, which takes its share along.
struct Paid {
    body: Body,
    share: Option<Share>,
}

impl HttpBody for Paid {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        polled.map_ok(|frame| {
            frame.map_data(|bytes| match this.share.take() {
                Some(share) => share.hold(bytes),
                None => bytes,
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
