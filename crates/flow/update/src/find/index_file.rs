//! The index on disk: an append-only log of facts, so that a run writes only new ones.
//!
//! A frame is a length, a checksum and facts in postcard. Reading stops at the first incomplete frame; objects of later
//! facts are read again. The first line names the format: a file in another format counts as missing.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::facts::Fact;

/// Changes with the format or with what a scan finds.
const MAGIC: &[u8] = concat!("bumpwright index 7 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

/// A larger log consists mostly of unused facts: it is replaced, unread.
const MAX_BYTES: u64 = 32 << 20;

/// Length and checksum in front of each frame.
const HEAD: usize = 4 + 8;

/// All readable facts of the file.
pub(crate) fn load(path: &Path) -> Vec<Fact> {
    let mut bytes = Vec::new();
    let Ok(mut file) = File::open(path) else {
        return Vec::new();
    };
    let is_fair = |file: &File| file.metadata().is_ok_and(|data| data.len() <= 2 * MAX_BYTES);
    if file.lock_shared().is_err() || !is_fair(&file) || file.read_to_end(&mut bytes).is_err() {
        return Vec::new();
    }
    let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
        return Vec::new();
    };
    let mut facts: Vec<Fact> = Vec::new();
    while let Some((frame, after)) = next_frame(rest) {
        let Ok(mut more) = postcard::from_bytes::<Vec<Fact>>(frame) else {
            break;
        };
        facts.append(&mut more);
        rest = after;
    }
    facts
}

/// The first frame of `bytes`, if it is complete and intact, and the remaining bytes.
fn next_frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let (length, sum) = head.split_at_checked(4)?;
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    let (frame, after) = rest.split_at_checked(length)?;
    (checksum(frame) == sum).then_some((frame, after))
}

/// Appends facts in one write, under a lock. Failures are ignored: the facts can be computed again.
pub(crate) fn append(path: &Path, facts: &[Fact]) {
    let _ = write(path, facts, MAX_BYTES);
}

/// Writes these facts in the place of all others. Failures are ignored as well.
pub(crate) fn replace(path: &Path, facts: &[Fact]) {
    let _ = write(path, facts, 0);
}

/// Appends to a file of at most so many bytes, and replaces what is in a longer one.
fn write(path: &Path, facts: &[Fact], most: u64) -> std::io::Result<()> {
    let frame = postcard::to_stdvec(facts).map_err(std::io::Error::other)?;
    let length = u32::try_from(frame.len()).map_err(std::io::Error::other)?;
    let mut options = OpenOptions::new();
    let mut file = options.create(true).read(true).append(true).mode(0o600).open(path)?;
    file.lock()?;
    // A file of an older version may still be read by other processes.
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    let mut magic = vec![0; MAGIC.len()];
    let known = file.read_exact(&mut magic).is_ok() && magic == MAGIC;
    let mut bytes = Vec::with_capacity(MAGIC.len() + HEAD + frame.len());
    if !known || file.metadata()?.len() > most {
        file.set_len(0)?;
        bytes.extend_from_slice(MAGIC);
    }
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&checksum(&frame));
    bytes.extend_from_slice(&frame);
    file.write_all(&bytes)
}

/// Eight bytes are enough against accidental damage.
fn checksum(frame: &[u8]) -> [u8; 8] {
    let digest = Sha256::digest(frame);
    let mut sum = [0; 8];
    for (to, from) in sum.iter_mut().zip(digest.iter()) {
        *to = *from;
    }
    sum
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)]
mod tests {
    use bumpwright_edit::Formats;

    use super::*;

    fn facts(n: u8) -> Vec<Fact> {
        vec![Fact::Tree(vec![n; 20], Formats::default(), Vec::new())]
    }

    #[test]
    fn what_is_appended_is_read_back_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        append(&path, &facts(1));
        append(&path, &facts(2));
        assert_eq!(load(&path).len(), 2);
    }

    #[test]
    fn damage_costs_only_what_follows_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        append(&path, &facts(1));
        let whole = std::fs::read(&path).unwrap();
        append(&path, &facts(2));
        let both = std::fs::read(&path).unwrap();
        for cut in whole.len()..both.len() {
            std::fs::write(&path, &both[..cut]).unwrap();
            assert_eq!(load(&path).len(), 1, "cut at {cut}");
        }
        let mut flipped = both.clone();
        *flipped.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        assert_eq!(load(&path).len(), 1);
    }

    #[test]
    fn another_format_is_as_good_as_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        std::fs::write(&path, "something else entirely, longer than the first line").unwrap();
        assert!(load(&path).is_empty());
        append(&path, &facts(3));
        assert_eq!(load(&path).len(), 1);
    }
}
