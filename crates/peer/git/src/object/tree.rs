//! Tree objects as bytes: reads entries and replaces ids, with all other bytes unchanged.

use std::ops::Range;

use crate::{GitError, ObjectId};
use bumpwright_budget::Reservation;

/// The kind of a tree entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    Tree,
    /// A file that is not executable.
    File,
    /// A file that is executable.
    Executable,
    /// A symbolic link; its blob holds the target.
    Symlink,
    /// A submodule; its id is a commit of another repository.
    Submodule,
    /// A mode that Git does not write.
    Unknown,
}

impl EntryKind {
    fn of(mode: u32) -> Self {
        match mode & 0o170_000 {
            0o040_000 => Self::Tree,
            0o120_000 => Self::Symlink,
            0o160_000 => Self::Submodule,
            0o100_000 if mode & 0o111 != 0 => Self::Executable,
            0o100_000 => Self::File,
            _ => Self::Unknown,
        }
    }

    /// True for files, executable or not.
    #[must_use]
    pub fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }
}

/// One entry of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name, without a slash; not necessarily UTF-8.
    pub name: &'a [u8],
    pub kind: EntryKind,
    /// The object (for a submodule: a commit elsewhere).
    pub id: ObjectId,
}

/// The bytes of a tree object.
#[derive(Debug)]
pub struct Tree {
    data: Vec<u8>,
    id_len: usize,
    _held: Option<Reservation>,
}

impl Tree {
    /// Wraps the bytes of a tree object whose ids have `id_len` bytes.
    pub(crate) fn new(data: Vec<u8>, id_len: usize) -> Self {
        Self {
            data,
            id_len,
            _held: None,
        }
    }

    /// Attaches its memory reservation.
    pub(crate) fn holding(self, held: Reservation) -> Self {
        Self {
            _held: Some(held),
            ..self
        }
    }

    /// The entries in their order, with one `Err` at the first unreadable byte.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry<'_>, GitError>> {
        Spans::new(&self.data, self.id_len).map(|span| span.map(|(entry, _)| entry))
    }

    /// The entry of that name.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when the tree cannot be read up to that name.
    pub fn find(&self, name: &[u8]) -> Result<Option<Entry<'_>>, GitError> {
        for entry in self.entries() {
            let entry = entry?;
            if entry.name == name {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Replaces ids in one pass; `replace` returns the new id for an entry, or `None` to keep it. Nothing
    /// but id bytes changes.
    pub(crate) fn patch(
        mut self,
        mut replace: impl FnMut(&Entry<'_>) -> Result<Option<ObjectId>, GitError>,
    ) -> Result<Vec<u8>, GitError> {
        let mut patches: Vec<(Range<usize>, ObjectId)> = Vec::new();
        for span in Spans::new(&self.data, self.id_len) {
            let (entry, place) = span?;
            if let Some(id) = replace(&entry)? {
                patches.push((place, id));
            }
        }
        for (place, id) in patches {
            if let Some(target) = self.data.get_mut(place)
                && target.len() == id.as_bytes().len()
            {
                target.copy_from_slice(id.as_bytes());
            }
        }
        Ok(self.data)
    }
}

/// Entries with the position of their id.
struct Spans<'a> {
    data: &'a [u8],
    at: usize,
    id_len: usize,
}

impl<'a> Spans<'a> {
    fn new(data: &'a [u8], id_len: usize) -> Self {
        Self { data, at: 0, id_len }
    }

    fn read(&mut self) -> Option<(Entry<'a>, Range<usize>)> {
        let rest = self.data.get(self.at..)?;
        let space = memchr::memchr(b' ', rest)?;
        let nul = space + memchr::memchr(0, rest.get(space..)?)?;
        let mode = rest.get(..space)?.iter().try_fold(0_u32, |mode, digit| {
            (digit.is_ascii_digit() && *digit < b'8' && mode < 1 << 24).then(|| mode << 3 | u32::from(digit - b'0'))
        })?;
        let name = rest.get(space + 1..nul)?;
        let place = self.at + nul + 1..self.at + nul + 1 + self.id_len;
        let id = ObjectId::try_from(self.data.get(place.clone())?).ok()?;
        self.at = place.end;
        let kind = EntryKind::of(mode);
        Some((Entry { name, kind, id }, place))
    }
}

impl<'a> Iterator for Spans<'a> {
    type Item = Result<(Entry<'a>, Range<usize>), GitError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.data.len() {
            return None;
        }
        let at = self.at;
        Some(self.read().ok_or_else(|| {
            self.at = self.data.len();
            GitError::damaged(format!("a tree object cannot be read at byte {at}"))
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn entry(mode: &str, name: &str, id: u8) -> Vec<u8> {
        [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &[id; 20]].concat()
    }

    #[test]
    fn only_the_bytes_of_the_id_change() {
        // An old mode and an order that Git would not write are kept.
        let data = [
            entry("100664", "b", 1),
            entry("120000", "a", 2),
            entry("160000", "m", 3),
            entry("40000", "d", 4),
        ]
        .concat();
        let new = ObjectId::try_from(&[9_u8; 20][..]).unwrap();
        let patched = Tree::new(data.clone(), 20)
            .patch(|entry| Ok((entry.name == b"a").then_some(new)))
            .unwrap();
        let expected = [
            entry("100664", "b", 1),
            entry("120000", "a", 9),
            entry("160000", "m", 3),
            entry("40000", "d", 4),
        ]
        .concat();
        assert_eq!(patched, expected);
        let tree = Tree::new(data, 20);
        let kinds: Vec<EntryKind> = tree.entries().map(|entry| entry.unwrap().kind).collect();
        assert_eq!(
            kinds,
            [
                EntryKind::File,
                EntryKind::Symlink,
                EntryKind::Submodule,
                EntryKind::Tree
            ]
        );
    }

    #[test]
    fn a_cut_tree_is_damage_and_not_an_end() {
        let data = [entry("100644", "a", 1), entry("100755", "b", 2)].concat();
        for cut in 1..data.len() {
            let tree = Tree::new(data.get(..cut).unwrap().to_vec(), 20);
            assert_eq!(
                tree.entries().any(|entry| entry.is_err()),
                cut != data.len() / 2,
                "{cut}"
            );
        }
    }
}
