//! The change that a push to Gerrit would amend. It is looked at before the push: Gerrit takes any commit as the next
//! patch set, on top of what somebody else has written, and also one that only has a newer base. What was abandoned
//! stays so until the edits are others.

use std::collections::BTreeMap;

use crate::commit::create::{Made, Wanted};
use crate::commit::review::{MAX_OLDER, Variant};
use crate::commit::trailer::{change_id_in, is_change_id};
use crate::error::RunError;
use crate::history::paths::{Changes, changed_files};
use crate::job::destination::{Destinations, Target, Value, is_review};
use crate::job::remote_job::RemoteJob;
use crate::remote::fetch;
use crate::report::edited_change::EditedChange;
use crate::report::releases::plain;
use bumpwright_forge::{ChangeStatus, Gerrit, GerritChange};
use bumpwright_git::{CommitInfo, Fetched, GitError, ObjectId, Objects, Walk};

/// The work, for errors.
const WORK: &str = "the comparison with a change at Gerrit";

/// The most older changes that are named.
const NAMED: usize = 3;

/// The longest name with its address, in characters.
const LONGEST_PERSON: usize = 200;

/// The files that a commit changes, by path, with what they are then.
type Edits = BTreeMap<Vec<u8>, Option<ObjectId>>;

/// What is to be done about a change.
pub(crate) enum Looked {
    /// Push: it is new, or the next patch set of a change that nobody else has written to. The commit is the current
    /// patch set where that has the same edits and the same message: nothing newer is to be pushed.
    Push(Made, Option<Seen>),
    /// Somebody else has written its current patch set.
    Edited(EditedChange),
    /// It is closed, with other edits: this variant is for another one.
    Next(Variant),
}

/// The change with the commit's Change-Id, as Gerrit has it.
pub(crate) struct Seen {
    /// The reference for review that it is for.
    pub(crate) reference: String,
    /// The address of its page.
    pub(crate) url: String,
    status: ChangeStatus,
    /// Whether the commit is its current patch set; of an abandoned one, any of them.
    is_current: bool,
    /// Who else has written its current patch set; only of a closed one.
    pub(crate) by: Option<String>,
}

impl Seen {
    /// The address, if the change was abandoned with this commit: Gerrit has it, and need not be sent it again.
    pub(crate) fn abandoned(&self) -> Option<&str> {
        (self.status == ChangeStatus::Abandoned && self.is_current).then_some(self.url.as_str())
    }

    /// What a preview says of it.
    pub(crate) fn preview(&self) -> String {
        let Self { url, by, .. } = self;
        match (self.status, self.is_current) {
            (ChangeStatus::Open, true) => format!("{url} has this commit already: nothing would be pushed"),
            (ChangeStatus::Open, false) => format!("it would be the next patch set of {url}"),
            (ChangeStatus::Abandoned, true) if by.is_some() => {
                format!("{url} was abandoned after this commit was amended: nothing would be pushed")
            }
            (ChangeStatus::Abandoned, true) => {
                format!(
                    "{url} was abandoned with this commit: nothing would be pushed; restore it there to have it reviewed after all"
                )
            }
            (ChangeStatus::Abandoned | ChangeStatus::Merged, _) => {
                format!("{url} is closed: Gerrit would refuse the push")
            }
        }
    }
}

/// Looks at the change with the commit's Change-Id. A server that does not answer is reported in `notes`, and the push
/// goes on as without it: the server need not be a Gerrit.
///
/// # Errors
/// The patch set cannot be fetched or read.
pub(crate) fn look(run: &Wanted<'_>, made: Made, notes: &mut Vec<String>) -> Result<Looked, RunError> {
    let Some((gerrit, target, id)) = asked(run, &made.message) else {
        return Ok(Looked::Push(made, None));
    };
    let change = gerrit
        .change(branch_of(&target.reference), &id)
        .unwrap_or_else(|error| {
            if !error.is_not_found() {
                notes.push(format!(
                    "whether somebody else has amended the change is unknown: {error}"
                ));
            }
            None
        });
    match change {
        Some(change) => compared(run, made, change, &target.reference),
        None => Ok(Looked::Push(made, None)),
    }
}

/// Whether a Gerrit is asked about a commit with this message.
pub(crate) fn is_asked(run: &Wanted<'_>, message: &[u8]) -> bool {
    asked(run, message).is_some()
}

/// The API, the target for review and the Change-Id, if there are all three.
fn asked<'r>(run: &Wanted<'r>, message: &[u8]) -> Option<(&'r Gerrit, &'r Target, String)> {
    // What is put back is not proposed twice: a change for it that is open stays the same.
    let gerrit = run.job.gerrit.as_deref().filter(|_| run.job.edits.put_back.is_none())?;
    let mut specs = run.base.destinations.specs.iter();
    let target = specs.find(|spec| is_review(&spec.reference) && spec.value == Value::New)?;
    let id = change_id_in(message).filter(|id| is_change_id(id.as_bytes()))?;
    Some((gerrit, target, id))
}

/// The branch of `refs/for/BRANCH`, without options.
fn branch_of(reference: &str) -> &str {
    let branch = reference.strip_prefix("refs/for/").unwrap_or(reference);
    branch.split('%').next().unwrap_or(branch)
}

fn compared(run: &Wanted<'_>, made: Made, change: GerritChange, reference: &str) -> Result<Looked, RunError> {
    let mut references = vec![change.current.as_str(), change.written.as_str()];
    references.dedup();
    let fetched = fetch::others(run.job, &run.place.mirror, &references)?;
    let reading = |source| run.job.read_failed(source);
    let (current, written) = (value(&fetched, &change.current), value(&fetched, &change.written));
    let status = change.status;
    let seen = Seen {
        reference: reference.to_owned(),
        url: change.url,
        status,
        is_current: current == Some(made.id),
        by: None,
    };
    let (Some(current), Some(written)) = (current, written) else {
        return Ok(Looked::Push(made, Some(seen)));
    };
    let objects = &fetched.objects;
    let holds = objects.commit(current).map_err(reading)?;
    if seen.is_current {
        let is_left = status == ChangeStatus::Abandoned;
        let made = if is_left { Made::found(current, holds) } else { made };
        return Ok(Looked::Push(made, Some(seen)));
    }
    // What was merged and is to be done again was reverted.
    let may_hold = status != ChangeStatus::Merged && is_for_review_alone(&run.base.destinations);
    if may_hold && is_same(objects, &holds, &made).map_err(reading)? {
        let seen = Seen {
            is_current: true,
            ..seen
        };
        return Ok(Looked::Push(Made::found(current, holds), Some(seen)));
    }
    let written = objects.commit(written).map_err(reading)?;
    let is_own = is_own(run.job, objects, &written).map_err(reading)?;
    let by = (!is_own).then(|| person(&written.committer));
    if status == ChangeStatus::Open {
        return Ok(match by {
            Some(by) => Looked::Edited(EditedChange { url: seen.url, by }),
            None => Looked::Push(made, Some(seen)),
        });
    }
    // Exactly this commit was closed, before somebody else amended it.
    let is_known = change.commits.contains(&made.id.to_string());
    if is_known && may_hold {
        let seen = Seen {
            is_current: true,
            by,
            ..seen
        };
        return Ok(Looked::Push(Made { pack: None, ..made }, Some(seen)));
    }
    let next = run.variant.next_change();
    Ok(match next.filter(|_| !is_known && run.job.push.review.is_some()) {
        Some(next) => Looked::Next(next),
        None => Looked::Push(made, Some(Seen { by, ..seen })),
    })
}

fn value(fetched: &Fetched, reference: &str) -> Option<ObjectId> {
    let mut also = fetched.also.iter();
    also.find(|also| also.reference == reference)?.commit
}

/// Whether the commit goes nowhere but to reviews. A patch set may be on top of another change that nobody has
/// approved: it takes the place of the commit where people look at it, but on no branch.
fn is_for_review_alone(destinations: &Destinations) -> bool {
    let is_reviewed = |target: &Target| target.value == Value::Tip || is_review(&target.reference);
    destinations.branch.iter().chain(&destinations.specs).all(is_reviewed)
}

/// Whether a patch set makes the same edits as the commit, with the same message. Its base may be an older one.
fn is_same(objects: &Objects, holds: &CommitInfo, made: &Made) -> Result<bool, GitError> {
    if holds.message.trim_ascii() != made.message.trim_ascii() || holds.signed != made.signed {
        return Ok(false);
    }
    let ours = edits(objects, &objects.commit(made.id)?)?;
    Ok(ours.is_some() && ours == edits(objects, holds)?)
}

/// The files that a commit changes, and what it makes of them; none when its base is not in the mirror.
fn edits(objects: &Objects, commit: &CommitInfo) -> Result<Option<Edits>, GitError> {
    let Some(base) = base(objects, commit)? else {
        return Ok(None);
    };
    let mut walk = Walk::new(WORK, objects);
    let files = changed_files(objects, (base.tree, commit.tree), Changes::All, &mut walk)?;
    Ok(files.map(|files| files.into_iter().map(|file| (file.path, file.new)).collect()))
}

fn base(objects: &Objects, commit: &CommitInfo) -> Result<Option<CommitInfo>, GitError> {
    match commit.parents.as_slice() {
        [parent] if objects.contains(*parent) => objects.commit(*parent).map(Some),
        _ => Ok(None),
    }
}

/// Whether a run like this one has made a patch set. Its time is that of its base: what a person amends under the same
/// name has the time of the clock. A commit that also went to a branch of its own may have that, too.
fn is_own(job: &RemoteJob, objects: &Objects, written: &CommitInfo) -> Result<bool, GitError> {
    if !written.is_by(&job.author.name, &job.author.email) {
        return Ok(false);
    }
    if job.push.branch.is_some() {
        return Ok(true);
    }
    let base = base(objects, written)?;
    Ok(base.is_none_or(|base| (0..i64::from(MAX_OLDER)).contains(&written.seconds.saturating_sub(base.seconds))))
}

/// `Name <email>` of a committer line.
fn person(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let end = text.rfind('>').map_or(text.len(), |at| at + 1);
    plain(text.get(..end).unwrap_or(&text), LONGEST_PERSON)
}

/// Notes on other open changes of the account that edit one of the files of this one: nothing amends them any more.
pub(crate) fn left_behind(run: &Wanted<'_>, message: &[u8], paths: &[String]) -> Vec<String> {
    let Some((gerrit, target, id)) = asked(run, message) else {
        return Vec::new();
    };
    let open = match gerrit.own_changes(branch_of(&target.reference)) {
        Ok(open) => open,
        Err(error) if error.is_not_found() => return Vec::new(),
        Err(error) => return vec![format!("whether older changes are open is unknown: {error}")],
    };
    let is_older =
        |change: &&GerritChange| change.change_id != id && change.paths.iter().any(|path| paths.contains(path));
    let notes = open.iter().filter(is_older).take(NAMED).map(|change| {
        format!(
            "the older change {} ({:?}) is still open, edits the same files, and is not amended any more: abandon it if this change takes its place",
            change.url, change.subject
        )
    });
    notes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_set_takes_the_place_of_a_commit_in_reviews_alone() {
        let target = |reference: &str, value: Value| Target {
            reference: reference.to_owned(),
            value,
            force: false,
        };
        let review = || target("refs/for/main", Value::New);
        for (branch, other, expected) in [
            (None, None, true),
            (None, Some(target("refs/heads/backup", Value::Tip)), true),
            (None, Some(target("refs/heads/auto", Value::New)), false),
            (Some(target("refs/heads/auto", Value::New)), None, false),
        ] {
            let destinations = Destinations {
                work: "refs/heads/auto".to_owned(),
                switched: true,
                branch,
                specs: std::iter::once(review()).chain(other).collect(),
            };
            assert_eq!(is_for_review_alone(&destinations), expected, "{destinations:?}");
        }
    }

    #[test]
    fn a_preview_says_what_becomes_of_a_change() {
        for (status, is_current, words) in [
            (ChangeStatus::Open, true, "has this commit already"),
            (
                ChangeStatus::Open,
                false,
                "the next patch set of https://review.example/c/f/+/7",
            ),
            (ChangeStatus::Abandoned, true, "was abandoned with this commit"),
            (ChangeStatus::Abandoned, false, "is closed"),
            (ChangeStatus::Merged, false, "is closed"),
        ] {
            let seen = Seen {
                reference: "refs/for/main".to_owned(),
                url: "https://review.example/c/f/+/7".to_owned(),
                status,
                is_current,
                by: None,
            };
            assert!(seen.preview().contains(words), "{}", seen.preview());
        }
    }

    #[test]
    fn the_branch_of_a_change_has_no_options() {
        for (reference, branch) in [
            ("refs/for/main", "main"),
            ("refs/for/release/1.x%topic=images", "release/1.x"),
        ] {
            assert_eq!(branch_of(reference), branch);
        }
    }

    #[test]
    fn a_committer_is_named_without_the_time() {
        assert_eq!(
            person(b"A. Person <a@example.com> 1700000000 +0100"),
            "A. Person <a@example.com>"
        );
        assert_eq!(person(b"nobody"), "nobody");
    }
}
