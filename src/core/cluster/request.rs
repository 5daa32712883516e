//! The names that clients give to their requests.

use super::Uuid;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// Names one request of one client, however often it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// Drawn by the client when it starts.
    pub client: Uuid,
    /// Counts the client's requests, from 1.
    pub sequence: u64,
}

/// `uuid/7`.
impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.client, self.sequence)
    }
}

/// Why a text names no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRequestId;

impl fmt::Display for BadRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request is named by its client, 22 characters of URL-safe base64 that end with A, Q, g or w, ")?;
        f.write_str("and a number, as in `AAAAcAAAAAAAAAAAAAAABw/7`")
    }
}

impl std::error::Error for BadRequestId {}

impl FromStr for RequestId {
    type Err = BadRequestId;

    fn from_str(text: &str) -> Result<Self, BadRequestId> {
        let (client, sequence) = text.split_once('/').ok_or(BadRequestId)?;
        if !sequence.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(BadRequestId);
        }
        let client = client.parse().map_err(|_| BadRequestId)?;
        Ok(RequestId { client, sequence: sequence.parse().map_err(|_| BadRequestId)? })
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|why| de::Error::custom(format_args!("[{text}]: {why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_named_by_its_text() {
        let id = RequestId { client: Uuid::from_u128(7), sequence: 12 };
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "7", "x/7", "AAAAcAAAAAAAAAAAAAAABw/", "AAAAcAAAAAAAAAAAAAAABw/+7", "AAAAcAAAAAAAAAAAAAAABw"] {
            assert_eq!(text.parse::<RequestId>(), Err(BadRequestId), "{text}");
        }
    }
}
