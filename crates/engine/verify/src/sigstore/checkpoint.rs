//! Proofs of a transparency log: checkpoints (signed notes, c2sp.org/tlog-checkpoint) and paths in its
//! tree (RFC 9162, 2.1.3.2).

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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cosign::public_key::PublicKey;
    use base64::engine::general_purpose::STANDARD;
    use ed25519_dalek::{Signer as _, SigningKey};

    fn leaf(number: usize) -> Vec<u8> {
        Sha256::new()
            .chain_update([0])
            .chain_update([number as u8])
            .finalize()
            .to_vec()
    }

    /// The root of a tree of these leaves, and the path to it from one of them (RFC 9162, 2.1.1 and 2.1.3.1).
    fn tree(leaves: std::ops::Range<usize>, of: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
        if leaves.len() == 1 {
            return (leaf(leaves.start), Vec::new());
        }
        let middle = leaves.start + leaves.len().next_power_of_two() / 2;
        let ((left, path_left), (right, path_right)) = (tree(leaves.start..middle, of), tree(middle..leaves.end, of));
        let (mut path, sibling) = if of < middle {
            (path_left, &right)
        } else {
            (path_right, &left)
        };
        path.push(sibling.clone());
        let root = Sha256::new().chain_update([1]).chain_update(&left).chain_update(&right);
        (root.finalize().to_vec(), path)
    }

    #[test]
    fn each_leaf_is_proven_at_its_own_place_only() {
        for size in 1..=17_usize {
            for at in 0..size {
                let (root, path) = tree(0..size, at);
                let tree = Tree {
                    size: size as u64,
                    root,
                };
                for claimed in 0..=size {
                    let has = tree.has(&[at as u8], claimed as u64, &path);
                    assert_eq!(has, claimed == at, "{at} of {size} as {claimed}");
                }
                let longer = [path.as_slice(), &[leaf(0)]].concat();
                assert!(!tree.has(&[at as u8], at as u64, &longer), "{at} of {size}");
                assert!(
                    path.is_empty() || !tree.has(&[at as u8], at as u64, path.get(1..).unwrap()),
                    "{at} of {size}"
                );
            }
        }
    }

    /// As logs of the second version sign.
    #[test]
    fn checkpoints_are_signed_by_the_key_of_the_log() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let log = Log {
            id: vec![1, 2, 3, 4, 5],
            key: PublicKey::Ed25519 {
                key: key.verifying_key().to_bytes().to_vec(),
            },
            period: super::super::trusted_root::Period::default(),
        };
        let root = STANDARD.encode([9; 32]);
        let body = format!("log.example\n7\n{root}\n");
        let note = |body: &str, id: [u8; 4], signed: &str| {
            let signature = [&id[..], &key.sign(signed.as_bytes()).to_bytes()].concat();
            format!(
                "{body}\n{DASH}witness AAAAAA==\n{DASH}log.example {}\n",
                STANDARD.encode(signature)
            )
        };
        let tree = Tree {
            size: 7,
            root: vec![9; 32],
        };
        assert_eq!(Tree::read(&note(&body, [1, 2, 3, 4], &body), &log), Some(tree));
        assert_eq!(Tree::read(&note(&body, [1, 2, 3, 5], &body), &log), None, "another key");
        let larger = body.replace('7', "8");
        assert_eq!(
            Tree::read(&note(&larger, [1, 2, 3, 4], &body), &log),
            None,
            "another tree"
        );
        let short = "log.example\n7\n";
        assert_eq!(Tree::read(&note(short, [1, 2, 3, 4], short), &log), None, "no root");
        assert_eq!(Tree::read(&body, &log), None, "no signature");
    }
}
