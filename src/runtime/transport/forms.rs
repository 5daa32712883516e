//! Messages as they are sent. A publish is encoded once, whatever the number of its receivers.

use crate::wire;
use crate::zen::Message;
use crate::zen::message::Body;
use bytes::Bytes;
use std::sync::Arc;

/// How many forms of a publish are kept: the full state and a diff, of this publish and of the one before.
const KEPT: usize = 4;

/// The last publishes as they were sent.
#[derive(Default)]
pub(in crate::runtime) struct Forms(Vec<(Message, Bytes)>);

impl Forms {
    /// A message as it is sent.
    pub(in crate::runtime) fn encoded(&mut self, message: Message) -> Bytes {
        if !matches!(message, Message::Publish { .. }) {
            return wire::encode(&message).into();
        }
        if let Some((_, bytes)) = self.0.iter().find(|(form, _)| is_same_publish(form, &message)) {
            return bytes.clone();
        }
        let bytes = Bytes::from(wire::encode(&message));
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push((message, bytes.clone()));
        bytes
    }
}

/// Whether two publishes are one, by identity: the content of a state is not compared.
fn is_same_publish(one: &Message, other: &Message) -> bool {
    let (
        Message::Publish { from, term, committed, body },
        Message::Publish { from: other_from, term: other_term, committed: other_committed, body: other_body },
    ) = (one, other)
    else {
        return false;
    };
    let is_same_body = match (body, other_body) {
        (Body::Full(state), Body::Full(other)) => Arc::ptr_eq(state, other),
        (Body::Diff(diff), Body::Diff(other)) => Arc::ptr_eq(diff, other),
        (Body::Full(_), Body::Diff(_)) | (Body::Diff(_), Body::Full(_)) => false,
    };
    is_same_body && (term, committed) == (other_term, other_committed) && Arc::ptr_eq(from, other_from)
}
