//! Proofs of a transparency log: checkpoints (signed notes, c2sp.org/tlog-checkpoint) and paths in its tree (RFC 9162, 2.1.3.2).

use base64::Engine as _;
use sha2::{Digest as _, Sha256};

use super::trusted_root::Log;
use crate::armour::BASE64;

/// Greatest size of a checkpoint in bytes, greatest number of its signatures, greatest length of a path.
const MAX_CHECKPOINT: usize = 64 << 10;
const MAX_SIGNATURES: usize = 16;
const MAX_PATH: usize = 64;
/// How a signature's line begins.
const DASH: &str = "\u{2014} ";

/// The tree that a log has signed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tree {
    size: u64,
    root: Vec<u8>,
}

impl Tree {
    /// Reads a checkpoint that the log has signed. Its key is known by the start of its identifier; names do not count.
    pub(super) fn read(checkpoint: &str, log: &Log) -> Option<Self> {
        if checkpoint.len() > MAX_CHECKPOINT {
            return None;
        }
        let at = checkpoint.find("\n\n")?;
        let (body, signatures) = (checkpoint.get(..=at)?, checkpoint.get(at + 2..)?);
        let by_log = |line: &str| {
            let (_, signature) = line.strip_prefix(DASH)?.rsplit_once(' ')?;
            let signature = BASE64.decode(signature).ok()?;
            let (key, signature) = signature.split_at_checked(4)?;
            (log.id.starts_with(key) && log.key.verify(body.as_bytes(), signature)).then_some(())
        };
        let mut signatures = signatures.lines().take(MAX_SIGNATURES);
        signatures.find_map(by_log)?;
        let mut lines = body.lines().skip(1);
        let size = lines.next()?.parse().ok()?;
        let root = BASE64.decode(lines.next()?).ok().filter(|root| root.len() == 32)?;
        Some(Self { size, root })
    }

    /// Whether the tree has this content at this place.
    pub(super) fn has(&self, content: &[u8], index: u64, path: &[Vec<u8>]) -> bool {
        let leaf = Sha256::new()
            .chain_update([0])
            .chain_update(content)
            .finalize()
            .to_vec();
        root_of(leaf, index, self.size, path).is_some_and(|root| root == self.root)
    }
}

fn root_of(leaf: Vec<u8>, index: u64, size: u64, path: &[Vec<u8>]) -> Option<Vec<u8>> {
    let (mut node, mut last) = (index, size.checked_sub(1)?);
    if index > last || path.len() > MAX_PATH {
        return None;
    }
    let pair = |left: &[u8], right: &[u8]| {
        let pair = Sha256::new().chain_update([1]).chain_update(left).chain_update(right);
        pair.finalize().to_vec()
    };
    let mut hash = leaf;
    for sibling in path {
        if last == 0 || sibling.len() != 32 {
            return None;
        }
        if node & 1 == 1 || node == last {
            hash = pair(sibling, &hash);
            while node & 1 == 0 && node != 0 {
                (node, last) = (node >> 1, last >> 1);
            }
        } else {
            hash = pair(&hash, sibling);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    (last == 0).then_some(hash)
}
