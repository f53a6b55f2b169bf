//! From a chart as it is to the archive of a HelmChart (source-controller v1.9, `internal/helm/chart`): as it is where
//! nothing has to be changed, else packaged again with other values, another version, and the charts that it needs.

use std::fmt::Display;
use std::io::Write;

use bumpwright_budget::Reservation;
use bumpwright_helm::{Chart, Metadata, PackageError};
use bumpwright_kustomize::tree::{Tree, path};
use bumpwright_semver::Version;
use thiserror::Error;

use super::dependencies::{Remotes, complete};
use super::repository::PullError;
use super::sizes::Sizes;
use super::tree::Place;
use super::values::{FilesOf, ValuesFiles};

/// Why a chart cannot be built. The variants are source-controller's reasons.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// The place has no chart, or the reference is invalid.
    #[error("invalid chart reference: {0}")]
    Reference(String),
    /// It cannot be fetched.
    #[error("chart pull error: {0}")]
    Pull(String),
    /// Its version cannot be changed.
    #[error("chart metadata patch error: {0}")]
    MetadataPatch(String),
    /// The files with values cannot be merged.
    #[error("values files merge error: {0}")]
    ValuesFiles(String),
    /// A chart that it needs is missing.
    #[error("dependency build error: {0}")]
    Dependency(String),
    /// It cannot be read or written.
    #[error("chart package error: {0}")]
    Package(String),
    #[error("chart verification error: {0}")]
    Verification(String),
}

/// What becomes other than in the chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub values: ValuesFiles,
    /// The build in its version; empty for none.
    pub build: String,
}

/// Which chart an archive has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Which {
    pub name: String,
    pub version: String,
}

/// A chart that may be stored.
#[derive(Debug)]
pub struct Built {
    pub content: Content,
    /// The files that its values were merged from.
    pub values_files: Vec<String>,
    /// How many charts were added that it needs.
    pub dependencies: usize,
}

/// The bytes of a chart.
#[derive(Debug)]
pub enum Content {
    /// Those of an archive.
    Archive(Vec<u8>),
    Chart(Box<Chart>),
}

impl Content {
    pub fn write(&self, mut out: &mut dyn Write) -> Result<(), PackageError> {
        match self {
            Self::Archive(bytes) => Ok(out.write_all(bytes)?),
            Self::Chart(chart) => chart.package(&mut out).map(drop),
        }
    }
}

impl Changes {
    /// Whether there are none.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.build.is_empty() && !self.values.count()
    }

    /// The version that the chart gets.
    ///
    /// # Errors
    /// [`BuildError::MetadataPatch`]
    pub fn version(&self, version: &str) -> Result<String, BuildError> {
        if self.build.is_empty() {
            return Ok(version.to_owned());
        }
        let parsed = Version::parse(version).map_err(|error| {
            BuildError::MetadataPatch(format!(
                "failed to parse version from chart metadata as SemVer: {error}"
            ))
        })?;
        let patched = parsed.with_metadata(&self.build).map_err(|error| {
            BuildError::MetadataPatch(format!("failed to set SemVer metadata on chart version: {error}"))
        })?;
        Ok(patched.to_string())
    }
}

/// A chart in the files of a source.
#[derive(Clone, Copy)]
pub struct Local<'a> {
    place: Place<'a>,
}

impl<'a> Local<'a> {
    /// The chart at an absolute path of the files ([`Local::path`]).
    #[must_use]
    pub fn of(tree: &'a dyn Tree, at: &'a str, sizes: Sizes) -> Self {
        Self {
            place: Place::at(tree, at).within(sizes),
        }
    }

    /// The absolute form of a path of a spec.
    ///
    /// # Errors
    /// [`BuildError::Reference`]
    pub fn path(spec: &str) -> Result<String, BuildError> {
        let refused = |why: &str| Err(BuildError::Reference(why.to_owned()));
        match spec {
            "" => refused("no path set for local chart reference"),
            spec if spec.starts_with('/') => refused("local chart reference path is expected to be relative"),
            spec => Ok(path::join("/", spec)),
        }
    }

    /// Which chart it is, with its changes.
    ///
    /// # Errors
    /// [`BuildError::Reference`], [`BuildError::MetadataPatch`]
    pub fn which(&self, changes: &Changes) -> Result<Which, BuildError> {
        let reference = |error: &dyn Display| BuildError::Reference(error.to_string());
        let mut metadata = self.place.metadata().map_err(|error| reference(&error))?;
        metadata.validate().map_err(|error| reference(&error))?;
        Ok(Which {
            version: changes.version(&metadata.version)?,
            name: metadata.name,
        })
    }

    /// The repositories of the charts that it may need, as they are written.
    #[must_use]
    pub fn repositories(&self) -> Vec<String> {
        self.place.repositories()
    }

    /// Whether the archive is another one than in the files.
    #[must_use]
    pub fn is_packaged(&self, changes: &Changes) -> bool {
        self.place.is_folder() || !changes.are_none()
    }

    /// The chart to store, on an account.
    pub fn build(
        &self,
        which: &Which,
        changes: &Changes,
        remotes: &impl Remotes,
        held: &mut Reservation,
    ) -> Result<Built, BuildError> {
        if !self.is_packaged(changes) {
            let pull = |error: &dyn Display| BuildError::Pull(error.to_string());
            let bytes = self.place.archive().map_err(|error| pull(&error))?;
            held.grow(bytes.len() as u64).map_err(|error| pull(&error))?;
            return Ok(Built {
                content: Content::Archive(bytes),
                values_files: Vec::new(),
                dependencies: 0,
            });
        }
        let files = FilesOf::Source(self.place.tree());
        let chart = self.place.chart(Some(held));
        let merged = if changes.values.count() {
            // Files are checked before the chart, as in Flux.

            let nothing = Chart::default();
            let merged = changes.values.merged(chart.as_ref().unwrap_or(&nothing), files);
            Some(merged.map_err(|error| BuildError::ValuesFiles(error.to_string()))?)
        } else {
            None
        };
        let mut chart = chart.map_err(|error| BuildError::Package(error.to_string()))?;
        chart.metadata.version.clone_from(&which.version);
        let values_files = replace(&mut chart, merged)?;
        let dependencies = if self.place.is_folder() {
            complete(&mut chart, self.place, remotes, Some(held))
                .map_err(|error| BuildError::Dependency(error.to_string()))?
        } else {
            0
        };
        Ok(Built {
            content: Content::Chart(Box::new(chart)),
            values_files,
            dependencies,
        })
    }
}

/// A downloaded chart to store, on an account.
pub fn build_remote(
    archive: Vec<u8>,
    which: &Which,
    changes: &Changes,
    sizes: Sizes,
    held: &mut Reservation,
) -> Result<Built, BuildError> {
    if changes.are_none() {
        check(&archive, sizes)?;
        return Ok(Built {
            content: Content::Archive(archive),
            values_files: Vec::new(),
            dependencies: 0,
        });
    }
    let chart = Chart::from_archive_on(&archive, Some(held));
    let mut chart = chart.map_err(|error| BuildError::Package(format!("failed to load downloaded chart: {error}")))?;
    chart.metadata.version.clone_from(&which.version);
    let merged = changes.values.merged(&chart, FilesOf::Chart);
    let merged = merged.map_err(|why| BuildError::ValuesFiles(format!("failed to merge chart values: {why}")))?;
    let values_files = replace(&mut chart, Some(merged))?;
    Ok(Built {
        content: Content::Chart(Box::new(chart)),
        values_files,
        dependencies: 0,
    })
}

/// Why a remote chart is not there, which is Flux's text for one that is too large.
#[must_use]
pub fn not_pulled(error: &PullError) -> BuildError {
    BuildError::Pull(match error {
        PullError::TooLarge { .. } => format!("failed to load chart metadata from written chart: {error}"),
        error => format!("failed to download chart for remote reference: {error}"),
    })
}

/// Whether an archive is one of a chart.
fn check(archive: &[u8], sizes: Sizes) -> Result<(), BuildError> {
    let mut metadata = Metadata::of_archive(archive, sizes.file)
        .map_err(|error| BuildError::Pull(format!("failed to load chart metadata from written chart: {error}")))?;
    let checked = metadata.validate();
    checked.map_err(|error| BuildError::Pull(format!("failed to validate metadata of written chart: {error}")))
}

/// Puts merged values into a chart; returns the files that made it another one.
fn replace(
    chart: &mut Chart,
    merged: Option<(bumpwright_helm::Values, Vec<String>)>,
) -> Result<Vec<String>, BuildError> {
    let Some((values, used)) = merged else {
        return Ok(Vec::new());
    };
    let replaced = chart.replace_values(values);
    let is_other = replaced.map_err(|error| BuildError::ValuesFiles(error.to_string()))?;
    Ok(if is_other { used } else { Vec::new() })
}
