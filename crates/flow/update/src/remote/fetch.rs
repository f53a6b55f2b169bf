//! The start of a run: the checkout, and the values of the references to push to.

use std::sync::Arc;

use super::base::{Base, short};
use super::earlier::Earlier;
use crate::error::RunError;
use crate::job::destination::{Destinations, full_branch, is_review};
use crate::job::push::OtherBranch;
use crate::job::remote_job::{RemoteJob, Start};
use bumpwright_git::{Also, Checkout, Fetched, GitError, Mirror, RemoteRef};
use bumpwright_semver::latest_tag;

/// Fetches the start, and reads in the same round trip the values of the references to push to.
pub(crate) fn fetch(job: &RemoteJob, mirror: &Arc<Mirror>, earlier: &mut Earlier) -> Result<Base, RunError> {
    let also = guessed(job);
    let base = fetch_with(job, mirror, &also, earlier)?;
    let wanted = wanted(job, &base.destinations);
    // The short form is for Gerrit, which lists no such reference.
    let short = |one: &Also| job.push.review.is_some() && is_review(&one.reference);
    if wanted.iter().all(|one| also.contains(one) || short(one)) {
        return Ok(base);
    }
    // The remote's default branch is unknown before the listing; a wildcard stands for it.
    fetch_with(job, mirror, &wanted, earlier)
}

fn fetch_with(job: &RemoteJob, mirror: &Arc<Mirror>, also: &[Also], earlier: &mut Earlier) -> Result<Base, RunError> {
    let mut fetched = match earlier.same_fetch(job, mirror, also) {
        Some(fetched) => fetched,
        None => {
            let fetched = with_checkout(job, |checkout| mirror.fetch(checkout, also));
            let fetched = fetched.or_else(|source| match source {
                GitError::RefNotFound { .. } => earlier.unborn(job, mirror, also).ok_or(source),
                source => Err(source),
            });
            let fetched = fetched.map_err(|source| job.fetch_failed(source))?;
            earlier.keep_fetch(job, mirror, also, &fetched);
            fetched
        }
    };
    let runs = earlier.put_over(job, &mut fetched);
    let destinations = job.destinations(&fetched.tip.reference)?;
    Ok(Base {
        fetched,
        destinations,
        earlier: runs.map_err(|source| job.read_failed(source))?,
    })
}

/// With the gate `GitForcePushBranch` off nothing is forced, and edits go on top of the push branch, if it exists and
/// the gate `GitAllBranchReferences` lets it be listed (C30).
pub(crate) fn on_top(job: &RemoteJob, mirror: &Mirror, mut base: Base, earlier: &Earlier) -> Result<Base, RunError> {
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
    if let Some((tip, runs)) = earlier.tip(&destinations.work) {
        base.fetched.tip = tip;
        base.earlier = runs;
        return Ok(base);
    }
    let checkout = Checkout::Branch(short(&destinations.work).to_owned());
    let also = wanted(job, destinations);
    base.fetched = mirror
        .fetch(&checkout, &also)
        .map_err(|source| job.fetch_failed(source))?;
    // The branch has nothing of earlier runs, but later ones may need their objects.
    base.earlier = earlier
        .put_over(job, &mut base.fetched)
        .map_err(|source| job.read_failed(source))?;
    Ok(base)
}

/// Other references at the remote, beside a start that has been fetched.
pub(crate) fn others(job: &RemoteJob, mirror: &Mirror, references: &[&str]) -> Result<Fetched, RunError> {
    let wanted: Vec<Also> = references.iter().map(|reference| also(reference)).collect();
    with_checkout(job, |checkout| mirror.fetch(checkout, &wanted)).map_err(|source| job.fetch_failed(source))
}

/// The start of the job as the git crate's type.
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
            // Invalid ranges were refused when the job was created.
            let choose = |tags: &[String]| latest_tag(range, tags).ok().flatten();
            use_it(&Checkout::Semver {
                range: range.clone(),
                choose: &choose,
            })
        }
    }
}

/// The references to push to, as far as they are known before the listing.
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

/// The references whose values decide what has to be pushed; review servers list none. The checked-out branch comes
/// with the checkout, but not when an older commit of it or a tag was requested.
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
