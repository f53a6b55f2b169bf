//! What a preview says of the push that it does not make: a change for review, and what other branches have now.

use super::base::{Base, short};
use crate::commit::trailer::{change_id_in, is_change_id};
use crate::job::destination::{Target, Value, is_review};
use bumpwright_git::GitError;
use bumpwright_text::Excerpt;

/// The most letters of a subject that are shown.
const SUBJECT: usize = 60;

/// Notes on where the commit with this message would be pushed. The checked-out branch itself needs none.
///
/// # Errors
/// A commit of another branch cannot be read.
pub(crate) fn pushes(base: &Base, message: &[u8]) -> Result<Vec<String>, GitError> {
    let destinations = &base.destinations;
    let targets = destinations.branch.iter().chain(&destinations.specs);
    let of_commit = targets.filter(|target| target.value == Value::New);
    let notes = of_commit.map(|target| push(base, target, message));
    notes.filter_map(Result::transpose).collect()
}

fn push(base: &Base, target: &Target, message: &[u8]) -> Result<Option<String>, GitError> {
    let reference = target.reference.as_str();
    if is_review(reference) {
        let change = match change_id_in(message) {
            Some(id) if !is_change_id(id.as_bytes()) => {
                format!(" (Gerrit refuses the Change-Id {id:?}: expected I and 40 hexadecimal digits)")
            }
            Some(id) => format!(
                " (Change-Id {id}: a new change, or the next patch set of the open one; if that change is closed, see \
                 docs/start/gerrit.md)"
            ),
            None => String::new(),
        };
        return Ok(Some(format!(
            "it would be a change for review, pushed to {reference}{change}"
        )));
    }
    if base.fetched.tip.reference == reference {
        return Ok(None);
    }
    let name = short(reference);
    let mut also = base.fetched.also.iter();
    let Some(also) = also.find(|also| also.reference == reference) else {
        return Ok(None);
    };
    let Some(commit) = also.commit else {
        return Ok(Some(format!("it would be pushed to {name}, which is new")));
    };
    let id = commit.to_string();
    let message = base.fetched.objects.commit(commit)?.message;
    let message = String::from_utf8_lossy(&message);
    let subject: String = message.first_line().chars().take(SUBJECT).collect();
    let then = if target.force {
        "the commit would take its place, unless it is the same"
    } else {
        "the commit would have to follow it"
    };
    Ok(Some(format!(
        "{name} has {} ({subject:?}) now: {then}",
        id.get(..7).unwrap_or(&id)
    )))
}
