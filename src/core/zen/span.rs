//! Spans of time in JSON: whole microseconds, up to 2^53, the last number that every JSON reader keeps exact.
//!
//! That is 285 years: a longer span is written as so long, and refused when read.

use serde::{Deserialize, Deserializer, Serializer, de};
use std::time::Duration;

const MAX_US: u64 = 1 << 53;

pub(super) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(span.as_micros()).unwrap_or(MAX_US).min(MAX_US))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let micros = u64::deserialize(deserializer)?;
    if micros > MAX_US {
        return Err(de::Error::custom(format_args!("a span of {micros} microseconds is above 2^53")));
    }
    Ok(Duration::from_micros(micros))
}

/// A master, and how long ago it was last heard of.
pub(super) mod heard {
    use crate::cluster::Node;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;
    use std::time::Duration;

    #[derive(Serialize, Deserialize)]
    struct Heard {
        node: Arc<Node>,
        #[serde(with = "super")]
        ago_us: Duration,
    }

    pub(in super::super) fn serialize<S: Serializer>(
        master: &Option<(Arc<Node>, Duration)>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let heard = master.as_ref().map(|(node, ago)| Heard { node: node.clone(), ago_us: *ago });
        heard.serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<(Arc<Node>, Duration)>, D::Error> {
        let heard = Option::<Heard>::deserialize(deserializer)?;
        Ok(heard.map(|heard| (heard.node, heard.ago_us)))
    }
}
