//! What is to be said of edits that are made: a digest that goes, a file that SOPS refuses afterwards.

use super::planned::Plan;
use crate::find::facts::Marked;
use crate::find::path::shown;
use bumpwright_edit::{Change, Part};
use bumpwright_policy::LatestRef;

/// The most fields that are named.
const NAMED: usize = 3;

/// Remarks on planned edits of files in `folder`.
pub(crate) fn of_edits<Place>(marked: &[Marked<Place>], plan: &Plan, folder: &str) -> Vec<String> {
    let changes = plan.changes.iter();
    let unpinned: Vec<&Change> = changes.filter(|change| loses_digest(change)).collect();
    let mut signed: Vec<&Change> = Vec::new();
    for (n, own) in plan.by_file() {
        let scan = marked.get(n).and_then(|file| file.facts.scan.as_ref());
        signed.extend(own.first().filter(|_| scan.is_some_and(|scan| scan.is_signed)));
    }
    let mut remarks = named((folder, &unpinned), "fields lose a digest", |change| {
        format!(
            "its digest goes, since ImagePolicy {} has none; set spec.digestReflectionPolicy there to IfNotPresent or Always",
            change.policy
        )
    });
    remarks.extend(named((folder, &signed), "files are signed so", |_| {
        "the MAC of SOPS is over this value too, so `sops decrypt` refuses the file from now on (MAC mismatch); encrypt it with \
         --mac-only-encrypted, or move the field to another file"
            .to_owned()
    }));
    remarks
}

/// A whole image that had a digest and has none now.
fn loses_digest(change: &Change) -> bool {
    let digest = |value| LatestRef::split(value).2.is_some();
    change.setter.part == Part::Reference && digest(&change.old) && !digest(&change.new)
}

/// A line for each of the first ones, with its place, and one for the others.
fn named((folder, changes): (&str, &[&Change]), what: &str, why: impl Fn(&Change) -> String) -> Vec<String> {
    let mut lines: Vec<String> = changes
        .iter()
        .take(NAMED)
        .map(|change| {
            let path = shown(folder, &change.path);
            format!("{path}:{}:{}: {}", change.line, change.column, why(change))
        })
        .collect();
    if changes.len() > NAMED {
        lines.push(format!("{} more {what}", changes.len() - NAMED));
    }
    lines
}
