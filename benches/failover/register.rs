//! A client's register in a cluster: one number, which only this client changes.

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It was acknowledged.
    Done,
    /// The register is not as this client knows it.
    Refused,
    /// Its client was told an error, or nothing; nobody knows what became of it.
    Failed(String),
}

/// A client of a register, by the service's own protocol, who goes elsewhere when his connection ends.
///
/// He asks for each thing once: whoever asks again must know that the service carries it out once.
pub(crate) trait Register: Send {
    /// Writes the number, if the register is still as this client read or wrote it last.
    fn write(&mut self, number: u64) -> Written;

    /// The number in the register, 0 if it has none; everything that was acknowledged is in it.
    fn read(&mut self) -> Result<u64, String>;
}
