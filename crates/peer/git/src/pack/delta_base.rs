//! An object that deltas are made of, in memory or in a file.

/// An object that is the base of deltas.
pub(crate) struct DeltaBase {
    pub(crate) bytes: Bytes,
    pub(crate) size: u64,
    /// The length of its chain of deltas.
    pub(crate) deltas: u32,
    /// The bytes of that chain.
    pub(crate) way: u64,
    /// Whether it is added as a whole entry, so that its own delta is not a base.
    pub(crate) is_aside: bool,
}

/// The location of an object's bytes.
pub(crate) enum Bytes {
    Memory(Vec<u8>),
    /// At this offset of the worker's temporary file.
    Scratch(u64),
}
