//! The last step of all kinds of sources: from files, or a layer as it is, to an artifact in storage.

use std::collections::BTreeMap;
use std::io::{self, Read};

use super::artifacts;
use super::error::ArtifactError;
use bumpwright_api::{Artifact, ObjectName};
use bumpwright_artifact::{IgnoreRules, Writer};
use bumpwright_kube::Kind;
use bumpwright_source::{self as source, Files};
use bumpwright_storage::{self as storage, Storage, StorageError};

pub(crate) struct ArtifactWriter<'a> {
    pub(crate) storage: &'a Storage,
    pub(crate) kind: &'static Kind,
    pub(crate) name: &'a ObjectName,
    /// The name of its file.
    pub(crate) file: String,
    pub(crate) revision: &'a str,
    /// The link to the newest artifact.
    pub(crate) link: Option<&'static str>,
    /// The annotations of its maker.
    pub(crate) metadata: BTreeMap<String, String>,
}

/// The ignore rules of `files`, and those of the spec.
pub(crate) fn rules(files: &Files, ignore: Option<&str>) -> Result<IgnoreRules, ArtifactError> {
    source::rules(files, ignore).map_err(ArtifactError::SourceIgnoreError)
}

impl ArtifactWriter<'_> {
    /// Archives the files that the rules do not exclude.
    pub(crate) fn archive(self, files: &Files, rules: &IgnoreRules) -> Result<Artifact, ArtifactError> {
        let metadata = self.metadata.clone();
        let written = self.write(|out| {
            let mut writer = Writer::new(out)?;
            source::archive(files, rules, &mut writer)?;
            writer.finish()?;
            Ok(metadata)
        });
        written.map_err(|error| ArtifactError::ArchiveOperationFailed {
            doing: "archive",
            error,
        })
    }

    /// Writes what `fill` writes.
    pub(crate) fn fill(
        self,
        fill: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<Artifact, ArtifactError> {
        let metadata = self.metadata.clone();
        let written = self.write(|out| {
            let mut out = io::BufWriter::new(out);
            fill(&mut out)?;
            io::Write::flush(&mut out)?;
            Ok(metadata)
        });
        written.map_err(|error| ArtifactError::ArchiveOperationFailed { doing: "save", error })
    }

    /// Copies a layer as it is.
    pub(crate) fn copy(self, mut layer: impl Read) -> Result<Artifact, ArtifactError> {
        let metadata = self.metadata.clone();
        let written = self.write(|mut out| {
            io::copy(&mut layer, &mut out)?;
            Ok(metadata)
        });
        written.map_err(|error| ArtifactError::ArchiveOperationFailed { doing: "copy", error })
    }

    fn write(
        &self,
        fill: impl FnOnce(&mut dyn io::Write) -> Result<storage::Metadata, storage::FillError>,
    ) -> Result<Artifact, StorageError> {
        let folder = artifacts::folder(self.kind, self.name)?;
        let artifact = self.storage.artifact(&folder, &self.file, self.revision)?;
        self.storage.write(&artifact, self.link, fill)
    }
}
