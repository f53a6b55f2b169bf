//! What a preview says of the push that it does not make: a change for review, and what other branches have now.

use super::base::{Base, short};
use crate::commit::trailer::change_id_in;
use crate::job::destination::{Target, Value, is_review};

/// The most letters of a subject that are shown.
const SUBJECT: usize = 60;

/// Notes on where the commit with this message would be pushed. The checked-out branch itself needs none.
pub(crate) fn pushes(base: &Base, message: &[u8]) -> Vec<String> {
    let destinations = &base.destinations;
    let targets = destinations.branch.iter().chain(&destinations.specs);
    let of_commit = targets.filter(|target| target.value == Value::New);
    of_commit.filter_map(|target| push(base, target, message)).collect()
}

fn push(base: &Base, target: &Target, message: &[u8]) -> Option<String> {
    let reference = target.reference.as_str();
    if is_review(reference) {
        let change = match change_id_in(message) {
            Some(id) => format!(" (Change-Id {id}: a new change, or the next patch set of the open one)"),
            None => String::new(),
        };
        return Some(format!(
            "it would be a change for review, pushed to {reference}{change}"
        ));
    }
    if base.fetched.tip.reference == reference {
        return None;
    }
    let name = short(reference);
    let mut also = base.fetched.also.iter();
    let now = also.find(|also| also.reference == reference)?.commit;
    let Some(commit) = now else {
        return Some(format!("it would be pushed to {name}, which is new"));
    };
    let id = commit.to_string();
    let subject = base.fetched.objects.commit(commit).ok();
    let subject = subject.map(|commit| {
        let message = String::from_utf8_lossy(&commit.message);
        let line = message.lines().next().unwrap_or_default();
        format!(" ({:?})", line.chars().take(SUBJECT).collect::<String>())
    });
    let then = if target.force {
        "the commit would take its place, unless it is the same"
    } else {
        "the commit would have to follow it"
    };
    Some(format!(
        "{name} has {}{} now: {then}",
        id.get(..7).unwrap_or(&id),
        subject.unwrap_or_default()
    ))
}
