//! Sources: Git and OCI repositories and buckets become artifacts that Kustomizations are built from; indexes of chart
//! repositories and their charts become artifacts, too.

pub(crate) mod archive;
pub(crate) mod artifacts;
pub(crate) mod bucket;
mod chart_sources;
mod context;
pub(crate) mod error;
pub(crate) mod first_rounds;
pub(crate) mod git_repository;
pub(crate) mod helm_chart;
pub(crate) mod helm_repository;
pub(crate) mod leader;
pub(crate) mod oci_repository;
pub(crate) mod registries;
pub(crate) mod server;
pub(crate) mod source;
pub(crate) mod spool;
pub(crate) mod status;
mod triggers;

use bumpwright_kube::{BUCKET, GIT_REPOSITORY, HELM_CHART, HELM_REPOSITORY, Kind, OCI_REPOSITORY};

/// The kinds whose artifacts are made here.
pub(crate) const KINDS: [&Kind; 5] = [&GIT_REPOSITORY, &OCI_REPOSITORY, &BUCKET, &HELM_REPOSITORY, &HELM_CHART];
