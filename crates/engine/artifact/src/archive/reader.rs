//! Reads a tar.gz of unknown origin, entry by entry: our own, another controller's, or a layer of an OCI artifact.
//!
//! It refuses what `fluxcd/pkg/tar.Untar` refuses, and also: damage and truncation after the last entry, `..` as the
//! last component, entries below links, hard links without a target, sparse files, and excess over [`Limits`].

use super::block::BLOCK;
use super::fault::{Limit, ReadError, shown};
use super::header::{self, Header};
use super::inflate::Inflated;
use super::limits::{Limits, Links};
use super::names::{Names, Node, components};
use super::pax::Records;
use super::spent::Spent;
use bumpwright_budget::{Budget, Exceeded};
use bumpwright_text::Room;
use std::io::{self, Read};

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory. Directories that occur only in paths of files have no entry.
    Directory,
    /// A file, whose content is read from the entry.
    File {
        /// Whether it has an executable bit.
        executable: bool,
        /// Its length in bytes.
        size: u64,
    },
    /// A hard link to an earlier file. (Untar makes an empty file of it.)
    HardLink {
        /// The path of that file.
        target: Vec<u8>,
        /// Its length in bytes.
        size: u64,
    },
}

/// Counts of a reader.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Entries, including skipped ones.
    pub entries: u64,
    /// Bytes of all files.
    pub content: u64,
    /// Symbolic links that were skipped.
    pub links: u64,
    /// Whether bytes that are not gzip follow the archive; they were not read.
    pub has_trailing_bytes: bool,
}

/// Returns the entries of an archive in their order.
#[derive(Debug)]
pub struct Reader<R> {
    stream: Inflated<R>,
    limits: Limits,
    links: Links,
    names: Names,
    /// Unread bytes of the current entry, and of its padding.
    remaining: u64,
    padding: u64,
    /// Bytes of all entries and of all extended headers so far.
    unpacked: u64,
    extensions: u64,
    /// The name of the current entry, for errors.
    current: Vec<u8>,
    /// The error of reading the content of an entry.
    fault: Option<ReadError>,
    is_done: bool,
    summary: Summary,
    /// What it has spent of the budget, if there is one.
    spent: Option<Spent>,
}

/// An entry that is safe to unpack; a reader of the file's content.
#[derive(Debug)]
pub struct Entry<'a, R> {
    /// Path from the root, without `.` and doubled `/`, never empty, with `/` between components.
    pub path: Vec<u8>,
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Whether it replaces an earlier file of this path.
    pub replaces: bool,
    reader: &'a mut Reader<R>,
}

/// Calls `visit` for all entries of an archive, and checks it to its end.
///
/// # Errors
/// When the archive is damaged or unsafe, and when `visit` fails. Earlier entries must be discarded then.
pub fn unpack<R: Read>(
    source: R,
    limits: Limits,
    links: Links,
    visit: impl FnMut(&mut Entry<'_, R>) -> io::Result<()>,
) -> Result<Summary, ReadError> {
    visit_all(Reader::new(source, limits, links), visit)
}

/// As [`unpack`], within the budget of a job: each entry counts, and the content of each file, once for every hard link
/// to it; the names take memory until the end. The memory that `visit` keeps is not counted.
///
/// # Errors
/// As [`unpack`], and [`ReadError::Exceeded`].
pub fn unpack_within<R: Read>(
    source: R,
    budget: &Budget,
    links: Links,
    visit: impl FnMut(&mut Entry<'_, R>) -> io::Result<()>,
) -> Result<Summary, ReadError> {
    let mut reader = Reader::new(source, Limits::beside_budget(), links);
    let spent = Spent::of(budget).map_err(|cause| reader.exceeded(cause))?;
    reader.spent = Some(spent);
    visit_all(reader, visit)
}

fn visit_all<R: Read>(
    mut reader: Reader<R>,
    mut visit: impl FnMut(&mut Entry<'_, R>) -> io::Result<()>,
) -> Result<Summary, ReadError> {
    while let Some(mut entry) = reader.next_entry()? {
        if let Err(source) = visit(&mut entry) {
            let name = shown(&entry.path);
            return Err(reader.fault.take().unwrap_or(ReadError::Visitor { name, source }));
        }
    }
    Ok(reader.summary())
}

impl<R: Read> Reader<R> {
    /// A reader that has not read anything.
    pub fn new(source: R, limits: Limits, links: Links) -> Self {
        Self {
            stream: Inflated::new(source, limits.ratio),
            limits,
            links,
            names: Names::new(),
            remaining: 0,
            padding: 0,
            unpacked: 0,
            extensions: 0,
            current: Vec::new(),
            fault: None,
            is_done: false,
            summary: Summary::default(),
            spent: None,
        }
    }

    pub const fn summary(&self) -> Summary {
        Summary {
            has_trailing_bytes: self.stream.has_trailing_bytes(),
            ..self.summary
        }
    }

    /// Skips the rest of the current entry and returns the next one; `None` at the end, after
    /// all checksums were checked.
    ///
    /// # Errors
    /// When the archive is damaged or unsafe. No entry follows an error.
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_, R>>, ReadError> {
        if let Some(fault) = self.fault.take() {
            self.is_done = true;
            return Err(fault);
        }
        while !self.is_done {
            // Remains true on errors.
            self.is_done = true;
            self.skip_content()?;
            let Some(raw) = self.next_raw()? else {
                self.finish()?;
                return Ok(None);
            };
            self.is_done = false;
            let accepted = self.accept(raw);
            self.is_done = accepted.is_err();
            if let Some((path, kind, replaces)) = accepted? {
                let reader = self;
                return Ok(Some(Entry {
                    path,
                    kind,
                    replaces,
                    reader,
                }));
            }
        }
        Ok(None)
    }

    /// The next header of an entry, with the extended headers before it applied.
    fn next_raw(&mut self) -> Result<Option<Header>, ReadError> {
        let mut records = None;
        let (mut long_name, mut long_link) = (Vec::new(), Vec::new());
        loop {
            let Some(mut header) = self.read_header()? else {
                return Ok(None);
            };
            match header.kind {
                b'x' => records = Some(self.read_records(&header)?),
                b'g' => {
                    // A global header: Go discards the extended headers before it, and Untar makes an empty file of it.
                    self.read_records(&header)?;
                    records = None;
                    (long_name, long_link) = (Vec::new(), Vec::new());
                    self.count_entry()?;
                }
                b'L' => long_name = header::text(&self.read_extension(&header)?).to_vec(),
                b'K' => long_link = header::text(&self.read_extension(&header)?).to_vec(),
                _ => {
                    if let Some(records) = records {
                        self.apply(&mut header, records)?;
                    }
                    let replace = |field: &mut Vec<u8>, long: Vec<u8>| {
                        if !long.is_empty() {
                            *field = long;
                        }
                    };
                    replace(&mut header.name, long_name);
                    replace(&mut header.link, long_link);
                    if header.kind == 0 {
                        // Before POSIX, directories were files with a `/` at the end of their names.
                        header.kind = if header.name.ends_with(b"/") { b'5' } else { b'0' };
                    }
                    if header.kind == b'S' {
                        let name = shown(&header.name);
                        return Err(ReadError::Sparse { name });
                    }
                    return Ok(Some(header));
                }
            }
        }
    }

    fn apply(&self, header: &mut Header, records: Records) -> Result<(), ReadError> {
        if !records.is_well_formed() {
            return Err(self.bad_header());
        }
        header.name = records.path.unwrap_or_else(|| std::mem::take(&mut header.name));
        header.link = records.link.unwrap_or_else(|| std::mem::take(&mut header.link));
        header.size = records.size.unwrap_or(header.size);
        if records.sparse {
            let name = shown(&header.name);
            return Err(ReadError::Sparse { name });
        }
        Ok(())
    }

    /// Reads a header, or `None` at the end: two blocks of zeros, one, or none, as Go accepts.
    fn read_header(&mut self) -> Result<Option<Header>, ReadError> {
        let mut block = [0; BLOCK];
        if !self.read_block(&mut block)? {
            return Ok(None);
        }
        if block.iter().all(|byte| *byte == 0) {
            let is_followed = self.read_block(&mut block)? && block.iter().any(|byte| *byte != 0);
            return if is_followed { Err(self.bad_header()) } else { Ok(None) };
        }
        let header = Header::parse(&block).ok_or_else(|| self.bad_header())?;
        if header.size < 0 && has_content(header.kind) {
            return Err(self.bad_header());
        }
        Ok(Some(header))
    }

    fn read_block(&mut self, block: &mut [u8; BLOCK]) -> Result<bool, ReadError> {
        match self.stream.read_full(block)? {
            0 if self.stream.has_trailing_bytes() => Err(ReadError::Damaged {
                reason: "something else than gzip comes before the end of the tar file".to_owned(),
            }),
            0 => Ok(false),
            BLOCK => Ok(true),
            _ => Err(ReadError::Truncated),
        }
    }

    fn read_records(&mut self, header: &Header) -> Result<Records, ReadError> {
        let text = self.read_extension(header)?;
        Records::parse(&text).ok_or_else(|| self.bad_header())
    }

    /// Reads the content of an extended header.
    fn read_extension(&mut self, header: &Header) -> Result<Vec<u8>, ReadError> {
        let size = header.size.cast_unsigned();
        self.extensions = self.extensions.saturating_add(size);
        for (count, limit) in [(size, self.limits.extension), (self.extensions, self.limits.extensions)] {
            self.check(count, limit, Limit::Extension, &header.name)?;
        }
        let padded = usize::try_from(size.next_multiple_of(BLOCK as u64)).unwrap_or(usize::MAX);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let mut text = vec![0; padded];
        if self.stream.read_full(&mut text)? < size {
            return Err(ReadError::Truncated);
        }
        text.truncate(size);
        Ok(text)
    }

    /// Checks an entry in Untar's order: sizes, name, kind. `None` skips it.
    fn accept(&mut self, header: Header) -> Result<Option<(Vec<u8>, EntryKind, bool)>, ReadError> {
        let size = header.size.max(0).cast_unsigned();
        if has_content(header.kind) {
            if header.size < 0 {
                return Err(self.bad_header());
            }
            (self.remaining, self.padding) = (size, size.next_multiple_of(BLOCK as u64) - size);
        }
        self.current.clone_from(&header.name);
        self.count_entry()?;
        self.unpacked = self.unpacked.saturating_add(size);
        self.check(self.unpacked, self.limits.unpacked, Limit::Unpacked, &header.name)?;
        self.spend(|spent| spent.content(size))?;
        let path = components(&header.name, &self.limits)?;
        let name = || shown(&header.name);
        let (kind, node) = match entry_type(&header) {
            EntryType::Directory => (Some(EntryKind::Directory), Node::Directory),
            EntryType::Special(kind) => return Err(ReadError::Special { name: name(), kind }),
            EntryType::Symlink if self.links == Links::Refuse => return Err(ReadError::Symlink { name: name() }),
            EntryType::Symlink => {
                self.summary.links += 1;
                (None, Node::Symlink)
            }
            EntryType::File if path.is_empty() => {
                let reason = "is the root, and not a directory";
                return Err(ReadError::Conflict { name: name(), reason });
            }
            EntryType::File if header.kind == b'1' => {
                let (kind, size) = self.hard_link(&header, &path)?;
                self.spend(|spent| spent.content(size))?;
                (Some(kind), Node::File(size))
            }
            EntryType::File => {
                self.summary.content += size;
                let executable = header.mode & 0o111 != 0;
                (Some(EntryKind::File { executable, size }), Node::File(size))
            }
        };
        let before = self.names.weight();
        let replaces = self.names.add(&path, node, &self.limits)?;
        let more = self.names.weight() - before;
        self.spend(|spent| spent.names(more))?;
        let kind = kind.filter(|_| !path.is_empty());
        Ok(kind.map(|kind| (path.join(&b'/'), kind, replaces)))
    }

    /// Checks a hard link, which must refer to an earlier file. With a size, Untar considers it truncated.
    fn hard_link(&self, header: &Header, path: &[&[u8]]) -> Result<(EntryKind, u64), ReadError> {
        let refused = |reason| ReadError::HardLink {
            name: shown(&header.name),
            target: shown(&header.link),
            reason,
        };
        let Ok(target) = components(&header.link, &self.limits) else {
            return Err(refused("leads out of the archive's root, or has no valid target"));
        };
        if target == path {
            return Err(refused("leads to itself"));
        }
        if header.size != 0 {
            return Err(refused("has a size of its own"));
        }
        let Some(size) = self.names.file(&target) else {
            return Err(refused("leads to no file that came before it"));
        };
        let target = target.join(&b'/');
        Ok((EntryKind::HardLink { target, size }, size))
    }

    fn count_entry(&mut self) -> Result<(), ReadError> {
        self.summary.entries += 1;
        self.spend(|spent| spent.entry())?;
        self.check(self.summary.entries, self.limits.entries, Limit::Entries, &self.current)
    }

    fn spend(&mut self, on: impl FnOnce(&mut Spent) -> Result<(), Exceeded>) -> Result<(), ReadError> {
        let spent = self.spent.as_mut().map_or(Ok(()), on);
        spent.map_err(|cause| self.exceeded(cause))
    }

    fn exceeded(&self, cause: Exceeded) -> ReadError {
        let name = match &*self.current {
            [] => "the start".to_owned(),
            name => shown(name),
        };
        ReadError::Exceeded { name, cause }
    }

    fn check(&self, count: u64, limit: u64, what: Limit, name: &[u8]) -> Result<(), ReadError> {
        if count <= limit {
            return Ok(());
        }
        let name = shown(name);
        Err(ReadError::LimitExceeded { what, name, limit })
    }

    fn bad_header(&self) -> ReadError {
        let after = match &*self.current {
            [] => "the start".to_owned(),
            name => shown(name),
        };
        ReadError::Header { after }
    }

    /// Skips unread content. Go accepts truncated padding.
    fn skip_content(&mut self) -> Result<(), ReadError> {
        while self.remaining > 0 {
            let count = self.discard(self.remaining)?;
            if count == 0 {
                return Err(ReadError::Truncated);
            }
            self.remaining -= count;
        }
        while self.padding > 0 {
            match self.discard(self.padding)? {
                0 => self.padding = 0,
                count => self.padding -= count,
            }
        }
        Ok(())
    }

    fn discard(&mut self, count: u64) -> Result<u64, ReadError> {
        let mut buffer = [0; 8 * 1024];
        let wanted = buffer.head_mut(usize::try_from(count).unwrap_or(usize::MAX));
        let read = self.stream.read(wanted)?;
        Ok(read as u64)
    }

    /// Reads to the end of the compressed data, so that its checksum is checked. Bytes after the end of the tar file
    /// count, but are ignored.
    fn finish(&mut self) -> Result<(), ReadError> {
        let limit = self.limits.unpacked.max(1 << 20);
        let mut behind: u64 = 0;
        loop {
            match self.discard(u64::MAX)? {
                0 => return Ok(()),
                count => {
                    behind += count;
                    self.spend(|spent| spent.content(count))?;
                }
            }
            self.check(behind, limit, Limit::Unpacked, b"the end")?;
        }
    }
}

impl<R: Read> Read for Entry<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let reader = &mut *self.reader;
        let wanted = buffer.head_mut(usize::try_from(reader.remaining).unwrap_or(usize::MAX));
        if wanted.is_empty() || matches!(self.kind, EntryKind::Directory) {
            return Ok(0);
        }
        let fault = match reader.stream.read(wanted) {
            Ok(0) => ReadError::Truncated,
            Ok(count) => {
                reader.remaining -= count as u64;
                return Ok(count);
            }
            Err(fault) => fault,
        };
        let text = fault.to_string();
        reader.fault = Some(fault);
        Err(io::Error::other(text))
    }
}

/// Whether blocks of content follow a header of this kind.
const fn has_content(kind: u8) -> bool {
    !matches!(kind, b'1'..=b'6')
}

enum EntryType {
    Directory,
    File,
    Symlink,
    Special(&'static str),
}

/// The type of an entry, by its type flag and by the file type in its mode, which Go's `FileInfo` uses, too. Unknown
/// type flags are files.
const fn entry_type(header: &Header) -> EntryType {
    let file_type = (header.mode & 0xffff_ffff) >> 12;
    match (file_type, header.kind) {
        (0o04, _) | (_, b'5') => EntryType::Directory,
        (0o12, _) | (_, b'2') => EntryType::Symlink,
        (0o02, _) | (_, b'3') => EntryType::Special("character device"),
        (0o06, _) | (_, b'4') => EntryType::Special("block device"),
        (0o01, _) | (_, b'6') => EntryType::Special("FIFO"),
        (0o14, _) => EntryType::Special("socket"),
        _ => EntryType::File,
    }
}
