//! Messages as they are sent. A publish is encoded once, whatever the number of its receivers, and what is large by a thread
//! of its own, so that neither the node nor another request waits for it.

use crate::runtime::coding::Coding;
use crate::runtime::instruments::StateBytes;
use crate::wire;
use crate::zen::Message;
use crate::zen::message::Body;
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// How many forms of a publish are kept: the full state and a diff, of this publish and of the one before, in two versions.
const KEPT: usize = 8;

/// What may have more bytes than this is encoded by a thread of its own.
const ENCODED_AT_ONCE: u64 = 64 << 10;

/// A message as it is sent: encoded already, or by whoever sends it first.
#[derive(Clone)]
pub(in crate::runtime) struct Encoded {
    kind: &'static str,
    later: Option<(Arc<Message>, Coding)>,
    bytes: Arc<OnceCell<Bytes>>,
    /// Where it is counted how large it is, if it is a state.
    sizes: Option<Arc<StateBytes>>,
    /// In which version it is encoded.
    version: u32,
}

impl Encoded {
    /// What is encoded already.
    pub(super) fn of(kind: &'static str, bytes: Bytes) -> Self {
        Encoded {
            kind,
            later: None,
            bytes: Arc::new(OnceCell::new_with(Some(bytes))),
            sizes: None,
            version: wire::OLDEST,
        }
    }

    /// A message, encoded at once if it is not large.
    pub(super) fn of_message(version: u32, message: Message, coding: &Coding) -> Self {
        let kind = message.kind();
        if wire::weight(&message) > ENCODED_AT_ONCE {
            Encoded {
                kind,
                later: Some((Arc::new(message), coding.clone())),
                bytes: Arc::default(),
                sizes: None,
                version,
            }
        } else {
            Encoded::of(kind, wire::encode_as(version, &message).into())
        }
    }

    /// Of which kind the message is.
    pub(super) fn kind(&self) -> &'static str {
        self.kind
    }

    /// The bytes, if they are encoded and few enough to go with others.
    pub(super) fn at_hand(&self) -> Option<&Bytes> {
        self.bytes.get()
    }

    /// The bytes; none if the process ends while they are made.
    pub(super) async fn bytes(&self) -> Option<Bytes> {
        let encode = || async {
            let (message, coding) = self.later.clone().ok_or(())?;
            let (sizes, version) = (self.sizes.clone(), self.version);
            let encode = move || {
                let bytes: Bytes = wire::encode_as(version, &message).into();
                sizes.inspect(|sizes| sizes.count(is_whole(&message), bytes.len()));
                bytes
            };
            coding.run(self.kind, encode).await.ok_or(())
        };
        self.bytes.get_or_try_init(encode).await.ok().cloned()
    }
}

/// Whether a publish carries a whole state.
fn is_whole(message: &Message) -> bool {
    matches!(message, Message::Publish { body: Body::Full(_), .. })
}

/// The last publishes as they were sent.
pub(in crate::runtime) struct EncodeCache {
    kept: Vec<(u32, Message, Encoded)>,
    sizes: Arc<StateBytes>,
    coding: Coding,
}

impl EncodeCache {
    /// None so far; how large they are is counted there, and what is large is encoded by this thread.
    pub(in crate::runtime) fn new(sizes: Arc<StateBytes>, coding: Coding) -> Self {
        EncodeCache { kept: Vec::new(), sizes, coding }
    }

    /// A message as it is sent to somebody who reads this version.
    pub(in crate::runtime) fn of(&mut self, version: u32, message: Message) -> Encoded {
        if !matches!(message, Message::Publish { .. }) {
            return Encoded::of_message(version, message, &self.coding);
        }
        let is_same = |known: &Message| is_same_publish(known, &message);
        if let Some((_, _, form)) = self.kept.iter().find(|(known, form, _)| *known == version && is_same(form)) {
            return form.clone();
        }
        let form =
            Encoded { sizes: Some(self.sizes.clone()), ..Encoded::of_message(version, message.clone(), &self.coding) };
        if let Some(bytes) = form.at_hand() {
            self.sizes.count(is_whole(&message), bytes.len());
        }
        if self.kept.len() == KEPT {
            self.kept.remove(0);
        }
        self.kept.push((version, message, form.clone()));
        form
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
