//! A client's side of a conversation, without the connection: many are led on one thread, so that clients cost little.

/// What was heard so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// How many of the bytes are dealt with.
    pub(crate) used: usize,
    /// What is sent at once.
    pub(crate) say: Vec<u8>,
    /// Whether the write was acknowledged, once it is answered.
    pub(crate) answer: Option<bool>,
}

/// A client who writes a key of its own, one write at a time.
pub(crate) trait Talk: Send {
    /// What asks for a write.
    fn ask(&mut self, number: u64) -> Vec<u8>;

    /// Looks at the bytes that have come and are not dealt with.
    fn hear(&mut self, bytes: &[u8]) -> Heard;
}
