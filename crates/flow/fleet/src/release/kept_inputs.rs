//! What a release is rendered from, for the comparison with another state.

use bumpwright_api::ObjectName;

/// A SHA-256.
pub(crate) type Digest = [u8; 32];

/// What a release is rendered from, but for the bytes of its chart.
#[derive(Clone, Debug)]
pub(crate) struct ReleaseInputs {
    /// Of its specification, its values and the address of its chart.
    pub(crate) digest: Digest,
    /// Kinds and names of what it takes values from.
    pub(crate) values_from: Vec<(String, ObjectName)>,
    pub(crate) chart: OfRepository,
    /// The digest of everything, its chart included; none if that is not known, or if it may install
    /// what gives other objects.
    pub(super) made: Option<Digest>,
}

/// What a chart has of the repository.
#[derive(Clone, Debug)]
pub(crate) enum OfRepository {
    /// Nothing: a chart at an address never changes.
    Nothing,
    /// These files, and what is in these folders; the empty one is everything.
    These(Vec<String>),
}
