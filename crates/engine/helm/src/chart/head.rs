//! What a chart says of itself, without the rest of it: `Chart.yaml`, and `requirements.yaml` of older charts.

use std::io::{self, Read as _};

use thiserror::Error;

use super::bounds::MAX_CHART_BYTES;
use super::folder::{Entry, Folder, MAX_FILE_BYTES};
use super::metadata::Metadata;
use crate::foreign_error::ForeignError;
use crate::yaml::{self, YamlError};
use bumpwright_artifact::archive::{EntryKind, Limits, Links, ReadError, unpack};

const CHART: &str = "Chart.yaml";
const REQUIREMENTS: &str = "requirements.yaml";

/// Why the metadata of a chart are not read, in source-controller's words.
#[derive(Debug, Error)]
pub enum HeadError {
    /// The folder has no `Chart.yaml`; its place.
    #[error("open {0}: no such file or directory")]
    NoFile(String),
    /// The archive has none.
    #[error("no '{CHART}' found")]
    NotInArchive,
    /// A folder has the name of a file.
    #[error("'{REQUIREMENTS}' is a directory")]
    Folder,
    /// A file is too large.
    #[error("size of '{name}' exceeds '{most}' bytes limit")]
    Size { name: String, most: u64 },
    /// The archive has something that is not in a folder.
    #[error("chart illegally contains content outside the base directory: {0}")]
    Outside(String),
    /// A file is not what its name says.
    #[error("cannot load '{name}': {problem}")]
    File {
        name: String,
        /// What is wrong with it.
        #[source]
        problem: YamlError,
    },
    /// The folder cannot be read.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// The archive cannot be read, or one of the above of a file in it.
    #[error(transparent)]
    Archive(#[from] ReadError),
}

impl Metadata {
    /// That of a chart in a folder. It is not checked.
    ///
    /// # Errors
    /// [`HeadError`]; a file that is not there is named by `shown`.
    pub fn of_folder(folder: &dyn Folder, shown: &dyn Fn(&str) -> String) -> Result<Self, HeadError> {
        let mut metadata = Self::default();
        // Reading the whole chart reports a smaller bound, as in source-controller.
        let most = folder.most().max(MAX_FILE_BYTES);
        if folder.entry(CHART)? == Entry::Absent {
            return Err(HeadError::NoFile(shown(CHART)));
        }
        metadata.take(CHART, &folder.read(CHART, most)?)?;
        match folder.entry(REQUIREMENTS)? {
            Entry::Absent => {}
            Entry::Folder => return Err(HeadError::Folder),
            _ => {
                let (text, most) = (folder.read(REQUIREMENTS, most)?, folder.most());
                if text.len() as u64 > most {
                    let name = REQUIREMENTS.to_owned();
                    return Err(HeadError::Size { name, most });
                }
                metadata.take(REQUIREMENTS, &text)?;
            }
        }
        Ok(metadata)
    }

    /// That of a chart in an archive, whose files of it have at most so many bytes. It is not checked, and nothing else
    /// of the archive is kept.
    pub fn of_archive(archive: &[u8], most: u64) -> Result<Self, HeadError> {
        let limits = Limits {
            unpacked: MAX_CHART_BYTES,
            ..Limits::default()
        };
        let mut metadata = None;
        let read = unpack(archive, limits, Links::Skip, |entry| {
            let path = String::from_utf8_lossy(&entry.path).replace('\\', "/");
            let name = match path.split_once('/') {
                Some((_, name)) if [CHART, REQUIREMENTS].contains(&name) => name,
                Some(_) => return Ok(()),
                None if matches!(entry.kind, EntryKind::Directory) => return Ok(()),
                None => return Err(io::Error::other(HeadError::Outside(path))),
            };
            let EntryKind::File { size, .. } = entry.kind else {
                return Ok(());
            };
            if size > most {
                return Err(io::Error::other(HeadError::Size { name: path, most }));
            }
            let mut text = Vec::new();
            entry.read_to_end(&mut text)?;
            let metadata: &mut Self = metadata.get_or_insert_default();
            metadata.take(name, &text).map_err(io::Error::other)
        });
        read?;
        metadata.ok_or(HeadError::NotInArchive)
    }

    fn take(&mut self, name: &str, text: &[u8]) -> Result<(), HeadError> {
        let read = yaml::read(text).and_then(|node| self.read(&node));
        read.map_err(|problem| HeadError::File {
            name: name.to_owned(),
            problem,
        })?;
        if self.api_version.is_empty() {
            "v1".clone_into(&mut self.api_version);
        }
        Ok(())
    }
}
