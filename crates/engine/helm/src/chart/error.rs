//! Why a chart cannot be read, in Helm's words.

use thiserror::Error;

use super::bounds::{MAX_CHART_BYTES, MAX_DEPTH, MAX_FILES};
use super::ignore::IgnoreError;
use super::metadata::MetadataError;
use crate::foreign_error::ForeignError;
use crate::values::ValuesError;
use crate::yaml::YamlError;
use bumpwright_artifact::archive::ReadError;
use bumpwright_budget::Exceeded;

/// The error of a chart.
#[derive(Debug, Error)]
pub enum ChartError {
    /// A file of it is not what its name says.
    #[error("cannot load {name}: {problem}")]
    File {
        /// `Chart.yaml`, `requirements.lock`.
        name: String,
        /// What is wrong with it.
        #[source]
        problem: YamlError,
    },
    /// Its `values.yaml` cannot be read.
    #[error("cannot load values.yaml: {0}")]
    Values(#[source] ValuesError),
    /// `apiVersion` is not one of Helm's.
    #[error("unsupported chart version")]
    ApiVersion,
    /// It has no `Chart.yaml`.
    #[error("Chart.yaml file is missing")]
    NoMetadata,
    /// Its fields are not valid.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// Its `.helmignore` cannot be read.
    #[error(transparent)]
    Ignore(#[from] IgnoreError),
    /// Charts contain charts too often.
    #[error("charts nest more than {MAX_DEPTH} levels deep")]
    Nesting,
    /// A chart in it cannot be read.
    #[error("error unpacking subchart {name} in {parent}: {problem}")]
    Subchart {
        /// Its name in `charts/`.
        name: String,
        /// The chart that it is in.
        parent: String,
        #[source]
        problem: Box<ChartError>,
    },
    /// The archive of a chart in it is in a folder of its name.
    #[error("error unpacking subchart tar in {parent}: expected {expected}, got {found}")]
    SubchartPath {
        /// The chart that it is in.
        parent: String,
        /// Its name in `charts/`.
        expected: String,
        found: String,
    },
    /// The archive of a chart in it is empty.
    #[error("no files in chart archive")]
    NoFiles,
    /// The archive is damaged, unsafe, or has too much.
    #[error("unable to load chart archive ({0})")]
    Archive(#[source] ArchiveError),
    /// The archive of a chart in it is.
    #[error(transparent)]
    SubchartArchive(#[from] ArchiveError),
    /// The archive is empty.
    #[error("unable to load chart archive")]
    EmptyArchive,
    /// The archive has no `Chart.yaml`.
    #[error("unable to detect chart version, no Chart.yaml found")]
    NoVersion,
    /// It has more bytes than Helm reads.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// Its folder has more than is read.
    #[error("the chart has more than {MAX_CHART_BYTES} bytes or {MAX_FILES} files")]
    TooMany,
    /// Folders contain folders too often.
    #[error("{path}: folders nest more than {most} levels deep")]
    FolderNesting {
        path: String,
        /// How often they may.
        most: usize,
    },
    /// A link leads to nothing.
    #[error("error evaluating symlink {0}: no such file or directory")]
    BrokenLink(String),
    /// Something is neither file nor folder.
    #[error("cannot load irregular file {0} as it has file mode type bits set")]
    Irregular(String),
    /// Its folder cannot be read.
    #[error(transparent)]
    Folder(#[from] ForeignError),
    /// It is a library.
    #[error("{0} charts are not installable")]
    Type(String),
    /// Charts that it needs are missing.
    #[error(
        "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {}",
        .0.join(", ")
    )]
    MissingDependencies(Vec<String>),
}

/// Why the archive of a chart is not unpacked.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// It has more bytes than Helm reads.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// It is damaged or unsafe.
    #[error(transparent)]
    Unpack(#[from] ReadError),
    /// `Chart.yaml` is not in a folder.
    #[error("chart yaml not in base directory")]
    NoFolder,
    /// A file is not in a folder.
    #[error("chart illegally contains content outside the base directory: {0:?}")]
    Outside(String),
}

/// A chart is larger than may be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SizeError {
    /// Helm's bound.
    #[error("decompressed chart is larger than the maximum size {MAX_CHART_BYTES}")]
    Chart,
    /// The tenant's account.
    #[error(transparent)]
    Memory(#[from] Exceeded),
}
