//! Messages to JSON and back.
//!
//! A message is one JSON object: `{"v":1,"kind":"node_ping","body":{…}}`, its parts in any order. `v` is the version of
//! all that is said here; a node reads those from [`OLDEST`] to [`VERSION`], and refuses every other. Fields that are not known are passed over wherever a record
//! stands, kinds that are not known are refused.
//!
//! Any bytes give a message or a [`WireError`] that says what is wrong and where. What a message may cost is bounded by
//! [`SIZE_MAX`], its lists and texts included, and by [`DEPTH_MAX`]. Takes the place of `StreamInput`, `StreamOutput`
//! and `TransportMessage` (6.8), which trusted the sender with every length.

mod envelope;
mod error;
mod place;
mod weight;

pub use error::WireError;
pub use weight::weight;

use crate::zen::Message;
use envelope::{Envelope, Sealed};
use std::io;

/// The newest version of the format. It is written for those who read it as well; whoever is not known gets the oldest one.
pub const VERSION: u32 = 1;

/// The oldest version that is read, and written for those who read no newer one.
pub const OLDEST: u32 = 1;

/// The largest message that is read: several times what a full state may take that holds as much as users may keep, so that
/// one that grew under other limits can be brought back.
pub const SIZE_MAX: usize = 256 << 20;

/// How deep the body of a message may nest, as far as it is looked at.
pub const DEPTH_MAX: usize = 127;

/// Writes a message in the oldest version, which everybody reads.
pub fn encode(message: &Message) -> Vec<u8> {
    encode_as(OLDEST, message)
}

/// Writes a message for somebody who reads this version.
pub fn encode_as(version: u32, message: &Message) -> Vec<u8> {
    serde_json::to_vec(&Sealed::new(version, message))
        .expect("the keys of its maps are strings, and a vector takes all bytes")
}

/// How many bytes [`encode`] makes of a message, counted without making them.
pub fn size(message: &Message) -> usize {
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, &Sealed::new(OLDEST, message))
        .expect("the keys of its maps are strings, and a counter takes all bytes");
    counter.0
}

/// Reads a message of any kind.
pub fn decode(bytes: &[u8]) -> Result<Message, WireError> {
    let envelope = Envelope::open(bytes)?;
    envelope.message()
}

/// Reads a message of the kind that the transport's path names.
pub fn decode_as(kind: &str, bytes: &[u8]) -> Result<Message, WireError> {
    let wanted = envelope::known(kind)?;
    let envelope = Envelope::open(bytes)?;
    if envelope.kind() != wanted {
        return Err(WireError::WrongKind { wanted, found: envelope.kind() });
    }
    envelope.message()
}

/// Swallows what is written and counts it.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
