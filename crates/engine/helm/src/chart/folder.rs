//! A chart of a folder, wherever that is: on a disk, in a tree of Git, in a build.

use super::bounds::MAX_FILES;
use super::load::Room;
use super::{Chart, ChartError, File, IgnoreRules};
use crate::foreign_error::ForeignError;
use bumpwright_budget::Reservation;

/// Bytes of the largest file of a chart, as in Helm.
pub const MAX_FILE_BYTES: u64 = 5 << 20;

/// Folders within folders: links may lead round in circles.
const MAX_DEPTH: usize = 64;

/// What there is at a path of a folder, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    File,
    Folder,
    Absent,
    /// Something else, as a socket.
    Irregular,
}

/// The folder of a chart. Paths are relative to it, with `/` between components; the empty one is the folder itself.
pub trait Folder {
    /// What there is at a path.
    fn entry(&self, path: &str) -> Result<Entry, ForeignError>;

    /// The names in a folder, sorted.
    fn names(&self, path: &str) -> Result<Vec<String>, ForeignError>;

    /// What is in a folder, sorted by name.
    ///
    /// # Errors
    /// Its own.
    fn entries(&self, path: &str) -> Result<Vec<(String, Entry)>, ForeignError> {
        let names = self.names(path)?.into_iter();
        names
            .map(|name| Ok((name.clone(), self.entry(&below(path, name))?)))
            .collect()
    }

    /// The content of a file.
    ///
    /// # Errors
    /// Its own, also when the file has more than so many bytes.
    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, ForeignError>;

    /// Bytes of the largest file.
    fn most(&self) -> u64 {
        MAX_FILE_BYTES
    }
}

fn below(path: &str, name: String) -> String {
    match path {
        "" => name,
        path => format!("{path}/{name}"),
    }
}

impl Chart {
    /// A chart in a folder; what its `.helmignore` names is left out.
    ///
    /// # Errors
    /// Helm's, in its words, and those of the folder.
    pub fn from_folder(folder: &dyn Folder) -> Result<Self, ChartError> {
        Self::from_folder_on(folder, None)
    }

    /// The same, on the account of a tenant: its files are in `held`, and what archives in it have before it is read.
    ///
    /// # Errors
    /// Also when the account has too little left.
    pub fn from_folder_on(folder: &dyn Folder, held: Option<&mut Reservation>) -> Result<Self, ChartError> {
        let room = &mut Room::new(held);
        let mut walk = Walk::of(folder, room)?;
        walk.folder("", 0)?;
        let Walk { files, room, .. } = walk;
        Self::from_counted(files, room)
    }
}

/// The files that were found so far.
struct Walk<'f, 'r> {
    folder: &'f dyn Folder,
    rules: IgnoreRules,
    files: Vec<File>,
    room: &'f mut Room<'r>,
}

impl<'f, 'r> Walk<'f, 'r> {
    fn of(folder: &'f dyn Folder, room: &'f mut Room<'r>) -> Result<Self, ChartError> {
        let text = match folder.entry(".helmignore")? {
            Entry::File => folder.read(".helmignore", folder.most())?,
            _ => Vec::new(),
        };
        Ok(Self {
            folder,
            rules: IgnoreRules::parse(&text)?,
            files: Vec::new(),
            room,
        })
    }

    fn folder(&mut self, path: &str, depth: usize) -> Result<(), ChartError> {
        if depth > MAX_DEPTH {
            let (path, most) = (path.to_owned(), MAX_DEPTH);
            return Err(ChartError::FolderNesting { path, most });
        }
        for (name, entry) in self.folder.entries(path)? {
            let child = below(path, name);
            if self.rules.ignores(&child, entry == Entry::Folder) {
                continue;
            }
            match entry {
                Entry::Folder => self.folder(&child, depth + 1)?,
                Entry::File => self.file(child)?,
                Entry::Absent => return Err(ChartError::BrokenLink(child)),
                Entry::Irregular => return Err(ChartError::Irregular(child)),
            }
        }
        Ok(())
    }

    fn file(&mut self, name: String) -> Result<(), ChartError> {
        let data = self.folder.read(&name, self.folder.most())?;
        if self.files.len() >= MAX_FILES || data.len() as u64 > self.room.left() {
            return Err(ChartError::TooMany);
        }
        self.room.take(data.len() as u64)?;
        self.files.push(File { name, data });
        Ok(())
    }
}
