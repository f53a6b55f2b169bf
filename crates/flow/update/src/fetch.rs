//! The start of a run: what is checked out, and what the references to push to hold.

use super::destination::{Destinations, full_branch, is_review};
use super::error::RunError;
use super::job::{OtherBranch, RemoteJob, Start};
use bumpwright_git::{Also, Checkout, Fetched, Mirror, RemoteRef, Revision, check_reference, revision};
use bumpwright_semver::latest_tag;

/// What a run goes on from.
pub(super) struct Base {
    pub(super) fetched: Fetched,
    pub(super) destinations: Destinations,
}

impl Base {
    /// What is checked out, as Flux names it (C04).
    pub(super) fn revision(&self) -> Revision {
        let tip = &self.fetched.tip;
        revision(short(&tip.reference), tip.commit)
    }

    /// Refuses names that no reference can have: said early, so that a preview says it too.
    pub(super) fn check_targets(&self, job: &RemoteJob) -> Result<(), RunError> {
        let mut targets = self.destinations.branch.iter().chain(&self.destinations.specs);
        targets
            .try_for_each(|target| check_reference(&target.reference))
            .map_err(|source| job.push_failed(source))
    }
}

/// Fetches the start, and learns in the same round trip what the references to push to hold.
pub(super) fn fetch(job: &RemoteJob, mirror: &Mirror) -> Result<Base, RunError> {
    let also = guessed(job);
    let base = fetch_with(job, mirror, &also)?;
    let wanted = wanted(job, &base.destinations);
    // Who asks for the short form has Gerrit, which lists no such reference.
    let short = |one: &Also| job.push.review.is_some() && is_review(&one.reference);
    if wanted.iter().all(|one| also.contains(one) || short(one)) {
        return Ok(base);
    }
    // The remote's own branch was not known before the listing, and a wildcard stands for it.
    fetch_with(job, mirror, &wanted)
}

fn fetch_with(job: &RemoteJob, mirror: &Mirror, also: &[Also]) -> Result<Base, RunError> {
    let fetched = with_checkout(job, |checkout| mirror.fetch(checkout, also));
    let fetched = fetched.map_err(|source| job.fetch_failed(source))?;
    let destinations = job.destinations(&fetched.tip.reference)?;
    Ok(Base { fetched, destinations })
}

/// With the gate `GitForcePushBranch` off nothing is forced, and edits go on top of what the push branch holds, if it is there and
/// the gate `GitAllBranchReferences` lets it be seen (C30).
pub(super) fn on_top(job: &RemoteJob, mirror: &Mirror, mut base: Base) -> Result<Base, RunError> {
    let destinations = &mut base.destinations;
    if job.push.other_branch == OtherBranch::Replaced || !destinations.switched {
        return Ok(base);
    }
    if let Some(branch) = &mut destinations.branch {
        branch.force = false;
    }
    let is_there = |also: &RemoteRef| also.reference == destinations.work && also.commit.is_some();
    if job.push.other_branch == OtherBranch::Forwarded || !base.fetched.also.iter().any(is_there) {
        return Ok(base);
    }
    let checkout = Checkout::Branch(short(&destinations.work).to_owned());
    let also = wanted(job, destinations);
    base.fetched = mirror
        .fetch(&checkout, &also)
        .map_err(|source| job.fetch_failed(source))?;
    Ok(base)
}

/// The start of the job in the words of the Git room.
fn with_checkout<T>(job: &RemoteJob, use_it: impl FnOnce(&Checkout<'_>) -> T) -> T {
    match &job.start {
        Start::Default => use_it(&Checkout::Default),
        Start::Branch(name) => use_it(&Checkout::Branch(name.clone())),
        Start::Tag(name) => use_it(&Checkout::Tag(name.clone())),
        Start::Name(name) => use_it(&Checkout::Name(name.clone())),
        Start::Commit(id) => use_it(&Checkout::Commit {
            id: id.clone(),
            branch: job.branch.clone(),
        }),
        Start::Semver(range) => {
            // A range that does not parse was refused when the job was made.
            let choose = |tags: &[String]| latest_tag(range, tags).ok().flatten();
            use_it(&Checkout::Semver {
                range: range.clone(),
                choose: &choose,
            })
        }
    }
}

/// The references that will be pushed to, as far as they are known before the listing.
fn guessed(job: &RemoteJob) -> Vec<Also> {
    if let Some(branch) = job.start_branch()
        && let Ok(destinations) = job.destinations(&branch)
    {
        return wanted(job, &destinations);
    }
    let branch = job.push.branch.as_deref().map(full_branch);
    let specs = job.push.refspecs.iter().map(|spec| spec.destination.clone());
    let known = |reference: &String| !reference.contains('*');
    branch
        .into_iter()
        .chain(specs)
        .filter(known)
        .map(|reference| also(&reference))
        .collect()
}

/// The references whose values decide what has to be pushed; review servers show none for theirs. The branch that is checked out
/// comes with the checkout, but not when one of its older commits or a tag is what was asked for.
fn wanted(job: &RemoteJob, destinations: &Destinations) -> Vec<Also> {
    let listed = destinations.switched || !job.starts_at_tip();
    let branch = destinations.branch.iter().filter(|_| listed);
    branch.chain(&destinations.specs).map(|t| also(&t.reference)).collect()
}

fn also(reference: &str) -> Also {
    Also {
        reference: reference.to_owned(),
        fetch: true,
    }
}

/// A branch or tag without its folder; other references whole.
pub(super) fn short(reference: &str) -> &str {
    let bare = reference
        .strip_prefix("refs/heads/")
        .or_else(|| reference.strip_prefix("refs/tags/"));
    bare.unwrap_or(reference)
}
