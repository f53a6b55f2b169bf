//! What a run builds on: the checkout, and where it pushes.

use crate::error::RunError;
use crate::job::destination::Destinations;
use crate::job::remote_job::RemoteJob;
use crate::report::pull_request::PullRequestReport;
use bumpwright_git::{Fetched, ObjectId, Revision, check_reference, revision};

/// The base that a run builds on.
pub(crate) struct Base {
    pub(crate) fetched: Fetched,
    pub(crate) destinations: Destinations,
    /// The earlier previews whose results are in its tree.
    pub(crate) earlier: Vec<usize>,
}

impl Base {
    /// The checked-out revision as Flux spells it (C04).
    pub(crate) fn revision(&self) -> Revision {
        let tip = &self.fetched.tip;
        revision(short(&tip.reference), tip.commit)
    }

    /// The value of a reference beside the checked-out one, which a push has to expect.
    pub(crate) fn listed(&self, reference: &str) -> Option<ObjectId> {
        let mut also = self.fetched.also.iter();
        also.find(|also| also.reference == reference)?.object
    }

    /// Leaves the branch of a pull request as it is, and all references if others have worked there.
    pub(crate) fn leave(&mut self, kept: &PullRequestReport) {
        self.destinations.leave(&format!("refs/heads/{}", kept.head));
        if kept.is_edited() {
            self.destinations.specs.clear();
            self.destinations.branch = None;
        }
    }

    /// Refuses invalid reference names early, so that a preview reports them too.
    pub(crate) fn check_targets(&self, job: &RemoteJob) -> Result<(), RunError> {
        let mut targets = self.destinations.branch.iter().chain(&self.destinations.specs);
        targets
            .try_for_each(|target| check_reference(&target.reference))
            .map_err(|source| job.push_failed(source))
    }
}

/// The short name of a branch or tag; other references in full.
pub(crate) fn short(reference: &str) -> &str {
    let bare = reference
        .strip_prefix("refs/heads/")
        .or_else(|| reference.strip_prefix("refs/tags/"));
    bare.unwrap_or(reference)
}
