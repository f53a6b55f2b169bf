//! The commit of a run: made on the tip that was fetched, or found at the remote.

use std::collections::BTreeMap;

use super::delivery::Made;
use super::destination::{Destinations, is_review};
use super::error::RunError;
use super::job::RemoteJob;
use super::remote::Place;
use super::report::FileChange;
use super::review::Variant;
use bumpwright_git::{Commit, Fetched, Person};

/// Makes the commit on the fetched tip, or finds the one that an earlier run made of just the same (C30).
pub(super) fn commit(
    job: &RemoteJob,
    place: &Place,
    fetched: &Fetched,
    destinations: &Destinations,
    (message, variant): (Vec<u8>, Variant),
    files: &[FileChange],
) -> Result<Made, RunError> {
    let reading = |source| RunError::Read {
        url: job.url.clone(),
        source,
    };
    let contents: BTreeMap<Vec<u8>, Vec<u8>> = files.iter().map(|file| (file.path.clone(), file.new.clone())).collect();
    let (tree, mut new) = fetched
        .objects
        .write_edits(fetched.tip.tree, &contents)
        .map_err(reading)?;
    // A variant is asked for because that one would not do.
    let first = variant == Variant::default();
    for present in fetched.also.iter().filter(|_| first).filter_map(|also| also.commit) {
        let info = fetched.objects.commit(present).map_err(reading)?;
        let same = info.tree == tree && info.parents == [fetched.tip.commit];
        // An unsigned one from the time before there was a key is replaced.
        if same && (info.signed || job.signer.is_none()) {
            return Ok(Made {
                id: present,
                pack: None,
                signed: info.signed,
                message: info.message,
            });
        }
    }
    // Gerrit takes the same commit for the same change only once: its time must not be the clock's (docs/decisions.md, *Gerrit*).
    let review = destinations.specs.iter().any(|spec| is_review(&spec.reference));
    let seconds = if review {
        fetched.objects.commit(fetched.tip.commit).map_err(reading)?.seconds + i64::from(variant.seconds)
    } else {
        (place.now)()
    };
    let person = Person {
        name: job.author.name.clone(),
        email: job.author.email.clone(),
        seconds,
        offset_minutes: 0,
    };
    let mut commit = Commit {
        tree,
        parents: vec![fetched.tip.commit],
        author: person.clone(),
        committer: person,
        message,
        signature: None,
    };
    if let Some(signer) = &job.signer {
        commit.signature = Some(signer.sign(&commit.payload(), seconds)?);
    }
    let id = new.add_commit(&commit).map_err(reading)?;
    let pack = new.pack().map_err(reading)?;
    place.mirror.store(&fetched.objects, &pack).map_err(reading)?;
    Ok(Made {
        id,
        pack: Some(pack),
        signed: job.signer.is_some(),
        message: commit.message,
    })
}
