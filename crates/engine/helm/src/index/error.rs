//! Why an index of charts is not read, and why none of its charts is chosen.

use super::lines::MAX_PART_BYTES;
use super::read::{MAX_CHARTS, MAX_DEPTH};
use crate::yaml::YamlError;
use bumpwright_budget::Exceeded;
use bumpwright_semver::ConstraintError;
use granit_parser::ScanError;
use std::io;
use thiserror::Error;

/// Why an index is not read.
#[derive(Debug, Error)]
pub enum IndexError {
    /// It is not UTF-8.
    #[error("the index is not UTF-8")]
    NotUtf8,
    #[error("empty index.yaml file")]
    Empty,
    /// It has no `apiVersion`.
    #[error("no API version specified")]
    NoApiVersion,
    /// It is not YAML.
    #[error("line {}: {}", .0.marker().line(), .0.info())]
    Syntax(ScanError),
    /// A part of it has the wrong type, or a field is unknown.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// An entry is null.
    #[error("an entry of the index is null")]
    NullEntry,
    /// An alias decides about a chart.
    #[error("an alias among the entries of an index is not supported")]
    Alias,
    /// It nests too deep.
    #[error("the index nests more than {MAX_DEPTH} levels deep")]
    Nesting,
    /// It has too many charts.
    #[error("the index has more than {MAX_CHARTS} charts")]
    Charts,
    /// An entry is too large.
    #[error("an entry of the index has more than {MAX_PART_BYTES} bytes")]
    LargeEntry,
    /// What is not an entry is too large.
    #[error("the index has more than {MAX_PART_BYTES} bytes besides its entries")]
    LargeHead,
    /// The account has too little left.
    #[error(transparent)]
    Memory(#[from] Exceeded),
    /// A stored index cannot be read, or the account has too little left for it.
    #[error(transparent)]
    Stored(#[from] serde_json::Error),
    /// The entries cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Why no chart is chosen, in source-controller's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChoiceError {
    /// The version is not a range.
    #[error(transparent)]
    Range(#[from] ConstraintError),
    /// The index does not have the chart.
    #[error("no chart name found")]
    NoChart,
    /// The index has no version of the chart.
    #[error("no chart version found")]
    NoVersion,
    /// No version of the chart is in the range.
    #[error("no '{name}' chart with version matching '{version}' found")]
    NoMatch {
        name: String,
        /// The range of versions that was asked for.
        version: String,
    },
}
