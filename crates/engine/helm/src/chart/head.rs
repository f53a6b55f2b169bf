//! What a chart says of itself, without the rest of it: `Chart.yaml`, and `requirements.yaml` of older charts.

use super::folder::{Entry, Folder, MAX_FILE_BYTES};
use super::load::MAX_CHART_BYTES;
use super::metadata::Metadata;
use crate::yaml;
use bumpwright_artifact::archive::{EntryKind, Limits, Links, unpack};
use std::io::{self, Read as _};

const CHART: &str = "Chart.yaml";
const REQUIREMENTS: &str = "requirements.yaml";

impl Metadata {
    /// That of a chart in a folder. It is not checked.
    ///
    /// # Errors
    /// In words for the user; a file that is not there is named by `shown`.
    pub fn of_folder(folder: &dyn Folder, shown: &dyn Fn(&str) -> String) -> Result<Self, String> {
        let mut metadata = Self::default();
        // Reading the whole chart reports a smaller bound, as in source-controller.
        let most = folder.most().max(MAX_FILE_BYTES);
        if folder.entry(CHART)? == Entry::Absent {
            return Err(format!("open {}: no such file or directory", shown(CHART)));
        }
        metadata.take(CHART, &folder.read(CHART, most)?)?;
        match folder.entry(REQUIREMENTS)? {
            Entry::Absent => {}
            Entry::Folder => return Err(format!("'{REQUIREMENTS}' is a directory")),
            _ => {
                let (text, most) = (folder.read(REQUIREMENTS, most)?, folder.most());
                if text.len() as u64 > most {
                    return Err(format!("size of '{REQUIREMENTS}' exceeds '{most}' bytes limit"));
                }
                metadata.take(REQUIREMENTS, &text)?;
            }
        }
        Ok(metadata)
    }

    /// That of a chart in an archive, whose files of it have at most so many bytes. It is not checked, and nothing else
    /// of the archive is kept.
    ///
    /// # Errors
    /// In words for the user.
    pub fn of_archive(archive: &[u8], most: u64) -> Result<Self, String> {
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
                None => {
                    let outside = format!("chart illegally contains content outside the base directory: {path}");
                    return Err(io::Error::other(outside));
                }
            };
            let EntryKind::File { size, .. } = entry.kind else {
                return Ok(());
            };
            if size > most {
                return Err(io::Error::other(format!(
                    "size of '{path}' exceeds '{most}' bytes limit"
                )));
            }
            let mut text = Vec::new();
            entry.read_to_end(&mut text)?;
            let metadata: &mut Self = metadata.get_or_insert_default();
            metadata.take(name, &text).map_err(io::Error::other)
        });
        read.map_err(|error| error.to_string())?;
        metadata.ok_or_else(|| format!("no '{CHART}' found"))
    }

    fn take(&mut self, name: &str, text: &[u8]) -> Result<(), String> {
        let read = yaml::read(text).and_then(|node| self.read(&node));
        read.map_err(|error| format!("cannot load '{name}': {error}"))?;
        if self.api_version.is_empty() {
            "v1".clone_into(&mut self.api_version);
        }
        Ok(())
    }
}
