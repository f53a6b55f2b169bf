//! What a signature comes with: its certificate, entries of logs, timestamps.

use super::json::{Bytes, Number};
use crate::digest::Hash;
use bumpwright_budget::Few;
use serde::Deserialize;

/// Greatest number of entries and of timestamps of a signature, as in sigstore-go.
pub(super) const MAX_ENTRIES: usize = 32;
pub(super) const MAX_TIMESTAMPS: usize = 32;

/// The most hashes of a way through a log: one for each level of a tree of any size, and one too many.
const MAX_HASHES: usize = 65;

/// What was signed, as entries of logs name it.
pub(super) struct Subject<'a> {
    /// The bytes that were signed: for an envelope, its encoding.
    pub(super) signed: Vec<u8>,
    /// The hash function of the signature.
    pub(super) hash: Hash,
    /// The payload of an envelope.
    pub(super) payload: Option<&'a [u8]>,
    pub(super) signature: &'a [u8],
    /// The certificate in DER.
    pub(super) verifier: &'a [u8],
}

/// An entry of a transparency log.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    #[serde(default)]
    pub(super) log_index: Number,
    pub(super) log_id: LogId,
    #[serde(default)]
    pub(super) integrated_time: Number,
    #[serde(default)]
    pub(super) inclusion_promise: Option<Promise>,
    #[serde(default)]
    pub(super) inclusion_proof: Option<Proof>,
    pub(super) canonicalized_body: Bytes,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogId {
    pub(super) key_id: Bytes,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Promise {
    pub(super) signed_entry_timestamp: Bytes,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Proof {
    #[serde(default)]
    pub(super) log_index: Number,
    #[serde(default)]
    pub(super) hashes: Few<Bytes, MAX_HASHES>,
    #[serde(default)]
    pub(super) checkpoint: Option<Checkpoint>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) envelope: String,
}
