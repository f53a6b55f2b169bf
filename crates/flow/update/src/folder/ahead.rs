//! What earlier previews in a folder would have left.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::rewrite::{FileChange, native};
use bumpwright_rules::Work;

/// The results of earlier jobs' previews, so that a preview of several automations shows them one after the other, as
/// the real run applies them.
#[derive(Debug, Default)]
pub struct Ahead {
    pub(crate) files: BTreeMap<PathBuf, Vec<u8>>,
    /// The work of the rules of all jobs, by the folder: they follow the same rules.
    pub(crate) work: BTreeMap<PathBuf, Work>,
}

impl Ahead {
    pub(crate) fn remember(&mut self, root: &Path, files: &[FileChange]) {
        let content = |file: &FileChange| (root.join(native(&file.path)), file.new.clone());
        self.files.extend(files.iter().map(content));
    }

    /// The files that earlier jobs would have changed: absolute path and content.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        self.files
            .iter()
            .map(|(path, content)| (path.as_path(), content.as_slice()))
    }

    /// The first `limit` bytes of a file, as earlier jobs would have left it.
    pub(crate) fn read(&self, path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
        if let Some(content) = self.files.get(path) {
            return Ok(content.clone());
        }
        let file = fs::File::open(path)?;
        let length = file.metadata()?.len().min(limit);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
