//! Verification of an entry of a transparency log, without asking the log.

use serde_json::json;

use super::body;
use super::checkpoint::Tree;
use super::json::{to_base64, to_hex};
use super::material::{Entry, Proof, Subject};
use super::trusted_root::{Log, TrustedRoot};
use super::{Evidence, SigstoreError};

impl Entry {
    /// Verifies the entry: `None` when the trusted root does not know its log, otherwise the time that the log has
    /// signed, if it has. `Evidence` says whether a promise is enough.
    pub(super) fn verify(
        &self,
        root: &TrustedRoot,
        subject: &Subject<'_>,
        wanted: Evidence,
    ) -> Result<Option<Option<i64>>, SigstoreError> {
        let logs = root.logs.iter().filter(|log| log.id == self.log_id.key_id.0);
        // A log that was replaced keeps its identifier only with its key.
        let time = self.integrated_time.0;
        let Some(log) = logs
            .clone()
            .find(|log| time == 0 || log.period.has(time))
            .or(logs.clone().next())
        else {
            return Ok(None);
        };
        let second = body::is_second_version(&self.canonicalized_body.0);
        let promised = match &self.inclusion_promise {
            Some(promise) if !promise.signed_entry_timestamp.0.is_empty() => {
                self.check_promise(log, &promise.signed_entry_timestamp.0)?;
                true
            }
            _ => false,
        };
        match &self.inclusion_proof {
            Some(proof) => self.check_proof(log, proof)?,
            None if second || !promised || wanted == Evidence::Proof => return Err(SigstoreError::NoProof),
            None => {}
        }
        if !body::is_of(&self.canonicalized_body.0, subject) {
            return Err(SigstoreError::OtherEntry);
        }
        // Without a promise the time is not signed.
        Ok(Some(promised.then_some(time)))
    }

    /// The signed entry timestamp: the log's signature over the canonical JSON of the entry (RFC 8785).
    fn check_promise(&self, log: &Log, signature: &[u8]) -> Result<(), SigstoreError> {
        // serde_json writes keys in this order, and these values as RFC 8785 does.
        let signed = json!({
            "body": to_base64(&self.canonicalized_body.0),
            "integratedTime": self.integrated_time.0,
            "logID": to_hex(&self.log_id.key_id.0),
            "logIndex": self.log_index.0,
        });
        let holds = log.key.verify(signed.to_string().as_bytes(), signature);
        match (holds, log.period.has(self.integrated_time.0)) {
            (false, _) => Err(SigstoreError::Promise),
            (true, false) => Err(SigstoreError::LogPeriod),
            (true, true) => Ok(()),
        }
    }

    fn check_proof(&self, log: &Log, proof: &Proof) -> Result<(), SigstoreError> {
        let checkpoint = proof.checkpoint.as_ref().ok_or(SigstoreError::NoProof)?;
        let tree = Tree::read(&checkpoint.envelope, log).ok_or(SigstoreError::Checkpoint)?;
        let index = u64::try_from(proof.log_index.0).map_err(|_| SigstoreError::Proof)?;
        let path: Vec<Vec<u8>> = proof.hashes.iter().map(|hash| hash.0.clone()).collect();
        if tree.has(&self.canonicalized_body.0, index, &path) {
            Ok(())
        } else {
            Err(SigstoreError::Proof)
        }
    }
}
