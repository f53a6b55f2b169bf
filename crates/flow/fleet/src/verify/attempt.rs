//! The verifier of commits, and one verification.

use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

use parking_lot::Mutex;

use super::impact::Pair;
use super::server::DryRuns;
use crate::build::memo::Memo;
use crate::build::settings::Settings;
use crate::build::walk::ClusterObjects;
use crate::source::repository::{Outside, Repository};
use bumpwright_api::{GoDuration, ObjectName};
use bumpwright_git::ObjectId;
use bumpwright_update::{Proposal, VerifyError};

/// How a fleet is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Whether a commit is refused that breaks a build. Else it is reported.
    pub must_build: bool,
    /// The time for all of it.
    pub timeout: GoDuration,
    /// Whether a commit is pushed that was not verified in that time, or about which an API server could not be asked.
    pub push_on_timeout: bool,
}

/// Where the Kustomizations of a repository are.
pub(crate) enum Clusters {
    /// In its own folders, which clusters reconcile.
    Entries(Vec<String>),
    /// In an API server.
    Objects(ClusterObjects),
}

/// Verifies commits against the fleets of a repository. What does not depend on the changed files is built once.
pub struct FleetVerifier {
    pub(crate) clusters: Clusters,
    pub(crate) root: Option<PathBuf>,
    pub(crate) outside: Box<dyn Outside + Send>,
    pub(crate) settings: Settings,
    pub(crate) verification: Verification,
    pub(crate) server: Option<Box<dyn DryRuns>>,
    pub(crate) known: Mutex<Known>,
}

/// Builds, and the files that they were made from.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) base: Option<ObjectId>,
    pub(crate) memo: Memo,
}

pub(crate) fn refused(why: impl fmt::Display) -> VerifyError {
    VerifyError {
        message: why.to_string(),
        fields: Vec::new(),
    }
}

pub(crate) struct Attempt<'a> {
    pub(crate) verifier: &'a FleetVerifier,
    pub(crate) base: &'a dyn Repository,
    /// The builds of the base.
    pub(crate) memo: &'a Memo,
    pub(crate) proposal: &'a Proposal<'a>,
    /// The folder that the paths of the proposal are relative to.
    pub(crate) folder: &'a str,
    /// When the time is over.
    pub(crate) end: Instant,
    pub(crate) settings: Settings,
}

/// The name that builds of a node are known by.
pub(crate) fn memo_name(pair: &Pair<'_>) -> ObjectName {
    let node = pair.after.or(pair.before);
    let kustomization = node.and_then(|node| node.kustomization.as_ref());
    kustomization.map_or_else(
        || crate::build::entry::plain("").metadata.object_name(),
        |kustomization| kustomization.metadata.object_name(),
    )
}
