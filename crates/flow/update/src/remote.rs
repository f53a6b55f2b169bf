//! A run against a remote: resolve → fetch → plan → splice → commit → push → report, tried again when a race was lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::delivery::{Made, deliver};
use super::destination::{Destinations, full_branch, is_review};
use super::error::RunError;
use super::index::Index;
use super::job::{OtherBranch, RemoteJob, Start};
use super::lane::{Entered, Lanes, View};
use super::message::Changed;
use super::path::{Node, join, join_by_letters};
use super::policies::Policies;
use super::preview::{self, Preview};
use super::pull_request;
use super::report::{CommitReport, FileChange, Run};
use super::repository_policies;
use super::review::{State, Variant};
use super::survey::{self, Marked, Surveyed};
use super::trailer::with_change_id;
use bumpwright_git::{
    Also, Checkout, Commit, EntryKind, Fetched, GitError, Mirror, ObjectId, Objects, Person, Walk, check_reference,
};
use bumpwright_semver::latest_tag;

/// A run is tried this often before it gives up on races that others win. Each loss means that somebody else has landed, so
/// many of them are only a busy branch: with four contenders one in a hundred thousand runs loses all of these.
const TRIES: u32 = 40;

/// The same loss so often in a row is none: a mirror that lags behind its server has caught up by then.
const SAME_LOSSES: u32 = 6;

/// What runs against one remote share.
#[derive(Clone)]
pub struct Place {
    /// The mirror of the remote, with the credentials of this run.
    pub mirror: Arc<Mirror>,
    /// What is known of its objects.
    pub index: Arc<Index>,
    /// Those that push to the same reference take turns.
    pub lanes: Arc<Lanes>,
    /// The clock, in seconds since 1970-01-01 UTC.
    pub now: fn() -> i64,
}

/// Runs `job`. A failure is in the report's `error`, beside what was found before it.
#[must_use]
pub fn run(job: &RemoteJob, place: &Place) -> Run {
    let mut report;
    let (mut tries, mut races) = (0, 0);
    let mut variant = Variant::default();
    let lane = place.lanes.of(&job.queue());
    let mut turn = lane.enter();
    let mut lost = (String::new(), 0);
    let outcome = loop {
        tries += 1;
        report = Run {
            automation: job.edits.automation.clone(),
            dry_run: job.edits.dry_run,
            target: job.url.clone(),
            ..Run::default()
        };
        turn.look();
        let outcome = attempt(job, place, variant, &mut turn, &mut report);
        if report.has_pushed() {
            turn.landed();
        }
        match outcome {
            Ok(Some(next)) => {
                variant = next;
                tries = 0;
            }
            // Once something of this run has landed, starting over would not push the rest.
            Err(RunError::Push {
                source: source @ GitError::Moved { .. },
                url,
            }) if report.pushes.is_empty() => {
                races += 1;
                if tries >= TRIES {
                    break Err(RunError::Races { url, tries, source });
                }
                // What a push meets again and again, and no fetch shows, is no race.
                let loss = source.to_string();
                lost = (lost.0 == loss)
                    .then(|| lost.1 + 1)
                    .map_or((loss.clone(), 1), |count| (loss, count));
                if lost.1 >= SAME_LOSSES {
                    break Err(RunError::Hidden { url, source });
                }
                std::thread::sleep(pause(tries));
            }
            // The mirror rebuilds itself in the next fetch: this run can still succeed.
            Err(
                RunError::Fetch {
                    source: GitError::Damaged(_),
                    ..
                }
                | RunError::Read {
                    source: GitError::Damaged(_),
                    ..
                },
            ) if tries < 3 => {}
            other => break other.map(drop),
        }
    };
    place.index.save();
    report.races = races;
    if let Err(error) = outcome {
        report.error = Some(error.to_string());
        report.failure = Some(error.failure());
        // A commit that no reference holds does not exist for anybody.
        report.commit = report.commit.filter(|_| !report.pushes.is_empty());
    }
    report
}

/// The pause before another attempt: short at first, longer and more uneven the more often a race was lost.
fn pause(tries: u32) -> Duration {
    let ceiling = 20_u64 << tries.min(6);
    // The address of a fresh stack value and the thread's hasher are random enough to part two processes.
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), tries);
    Duration::from_millis(random % ceiling)
}

/// One attempt, from the listing to the last push. Gives the variant to try instead, when a review server wants one.
fn attempt(
    job: &RemoteJob,
    place: &Place,
    variant: Variant,
    turn: &mut Entered<'_>,
    report: &mut Run,
) -> Result<Option<Variant>, RunError> {
    let (fetched, destinations) = fetch(job, &place.mirror)?;
    report.revision = revision(&fetched);
    let (fetched, destinations) = on_top(job, place, fetched, destinations)?;
    // Said here, so that a preview says it too.
    for target in destinations.branch.iter().chain(&destinations.specs) {
        check_reference(&target.reference).map_err(|source| RunError::Push {
            url: job.url.clone(),
            source,
        })?;
    }
    let wanted = pull_request::planned(job, &fetched.tip.reference, &destinations)?;
    let reading = |source| RunError::Read {
        url: job.url.clone(),
        source,
    };

    let (below, surveyed) = find_marked(job, place, &fetched)?;
    let (marked, mut walk) = (surveyed.files, surveyed.walk);
    let policies = all_policies(job, place, &fetched, &marked, report)?;
    let policies = preview::resolved(policies, &marked, &job.edits);
    let mut planned = preview::preview(&marked, &job.edits, &policies)?;
    report.changes = std::mem::take(&mut planned.changes);
    report.skips = std::mem::take(&mut planned.skips);
    report.named = std::mem::take(&mut planned.named);
    if planned.files.is_empty() {
        job.message.check(&mut report.notes);
        return Ok(None);
    }
    if !job.edits.dry_run {
        let patience = place.mirror.timeout();
        let view = turn.take_turn(patience).ok_or_else(|| RunError::Busy {
            url: job.url.clone(),
            limit: patience,
        })?;
        if view == View::Stale {
            return Ok(Some(variant));
        }
    }
    report.files = splice_all(&fetched.objects, &marked, &planned, &mut walk, reading)?;
    let changed = Changed {
        edits: &job.edits,
        changes: &report.changes,
        below: &below,
        policies: &policies,
    };
    let mut message = job.message.render(&changed, &mut report.notes)?;
    if let Some(reference) = job.review_reference(&fetched.tip.reference) {
        let state = State::new((&job.url, &reference), &marked, &job.edits, &policies);
        message = with_change_id(&message, &state.change_id(variant.change));
    }
    report.commit = Some(CommitReport {
        id: None,
        branch: Some(short(&destinations.work)),
        message: String::from_utf8_lossy(&message).into_owned(),
        author: job.author.to_string(),
        signed: job.signer.is_some(),
    });
    if job.edits.dry_run {
        report.pull_request = wanted;
        return Ok(None);
    }
    let made = commit(job, place, &fetched, &destinations, (message, variant), &report.files)?;
    if let Some(commit) = &mut report.commit {
        commit.id = Some(made.id.to_string());
        commit.signed = made.signed;
    }
    let next = deliver(job, place, &fetched, &destinations, (&made, variant), report)?;
    if next.is_none() {
        pull_request::keep(job, wanted, &made.message, report)?;
    }
    Ok(next)
}

/// Fetches the start, and learns in the same round trip what the references to push to hold.
fn fetch(job: &RemoteJob, mirror: &Mirror) -> Result<(Fetched, Destinations), RunError> {
    let failed = |source| RunError::Fetch {
        url: job.url.clone(),
        source,
    };
    let also = guessed(job);
    let fetched = with_checkout(job, |checkout| mirror.fetch(checkout, &also)).map_err(failed)?;
    let destinations = job.destinations(&fetched.tip.reference)?;
    let wanted = wanted(job, &destinations);
    // Who asks for the short form has Gerrit, which lists no such reference.
    let short = |one: &Also| job.push.review.is_some() && is_review(&one.reference);
    if wanted.iter().all(|one| also.contains(one) || short(one)) {
        return Ok((fetched, destinations));
    }
    // The remote's own branch was not known before the listing, and a wildcard stands for it.
    let fetched = with_checkout(job, |checkout| mirror.fetch(checkout, &wanted)).map_err(failed)?;
    let destinations = job.destinations(&fetched.tip.reference)?;
    Ok((fetched, destinations))
}

/// With the gate `GitForcePushBranch` off nothing is forced, and edits go on top of what the push branch holds, if it is there and
/// the gate `GitAllBranchReferences` lets it be seen (C30).
fn on_top(
    job: &RemoteJob,
    place: &Place,
    fetched: Fetched,
    mut destinations: Destinations,
) -> Result<(Fetched, Destinations), RunError> {
    if job.push.other_branch == OtherBranch::Replaced || !destinations.switched {
        return Ok((fetched, destinations));
    }
    if let Some(branch) = &mut destinations.branch {
        branch.force = false;
    }
    let is_there = |also: &bumpwright_git::RemoteRef| also.reference == destinations.work && also.commit.is_some();
    if job.push.other_branch == OtherBranch::Forwarded || !fetched.also.iter().any(is_there) {
        return Ok((fetched, destinations));
    }
    let checkout = Checkout::Branch(short(&destinations.work));
    let also = wanted(job, &destinations);
    let fetched = place.mirror.fetch(&checkout, &also).map_err(|source| RunError::Fetch {
        url: job.url.clone(),
        source,
    })?;
    Ok((fetched, destinations))
}

/// The start of the job in the words of `bumpwright_git`.
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

/// `main@sha1:…`, as Flux writes revisions (C04).
fn revision(fetched: &Fetched) -> String {
    let id = fetched.tip.commit;
    let kind = if id.as_bytes().len() == 32 { "sha256" } else { "sha1" };
    match short(&fetched.tip.reference).as_str() {
        "" => format!("{kind}:{id}"),
        name => format!("{name}@{kind}:{id}"),
    }
}

/// A branch or tag without its folder; other references whole.
fn short(reference: &str) -> String {
    let bare = reference
        .strip_prefix("refs/heads/")
        .or_else(|| reference.strip_prefix("refs/tags/"));
    bare.unwrap_or(reference).to_owned()
}

/// The job's path, joined, and the marked files below it.
fn find_marked(job: &RemoteJob, place: &Place, fetched: &Fetched) -> Result<(String, Surveyed), RunError> {
    let reading = |source| RunError::Read {
        url: job.url.clone(),
        source,
    };
    let objects = &fetched.objects;
    let root = fetched.tip.tree;
    let given = job.edits.path.as_deref().unwrap_or_default();
    let path = match job.sparse {
        true => join_by_letters(given),
        false => join(given, |at| node(objects, root, at))?,
    };
    let found = objects.find(root, path.as_bytes()).map_err(reading)?;
    let marked = match found {
        Some(found) if found.kind == EntryKind::Tree => {
            survey::survey(objects, &place.index, found.id, path.as_bytes()).map_err(reading)?
        }
        Some(found) if found.kind.is_file() => {
            survey::survey_file(objects, &place.index, found.id, path.as_bytes()).map_err(reading)?
        }
        // A submodule has nothing of this repository below it.
        Some(found) if found.kind == EntryKind::Submodule => Surveyed::none(objects),
        _ => {
            return Err(RunError::NoSuchPath {
                path: given.to_owned(),
                target: job.url.clone(),
            });
        }
    };
    Ok((path, marked))
}

/// What stands at a path of a tree.
fn node(objects: &Objects, root: ObjectId, at: &str) -> Result<Node, GitError> {
    const LONGEST_LINK: u64 = 4096;
    Ok(match objects.find(root, at.as_bytes())? {
        None => Node::Missing,
        Some(found) if found.kind == EntryKind::Symlink => {
            Node::Link(String::from_utf8_lossy(&objects.blob(found.id, LONGEST_LINK)?).into_owned())
        }
        Some(_) => Node::Present,
    })
}

/// How much larger a text is as a tree of nodes.
const NODES: u64 = 32;

/// The given policies and, when markers name others, those that the repository holds.
fn all_policies(
    job: &RemoteJob,
    place: &Place,
    fetched: &Fetched,
    marked: &[Marked],
    report: &mut Run,
) -> Result<Arc<Policies>, RunError> {
    if !preview::lacks_manifests(marked, &job.edits) {
        return Ok(job.edits.policies.clone());
    }
    let reading = |source| RunError::Read {
        url: job.url.clone(),
        source,
    };
    let all = survey::survey(&fetched.objects, &place.index, fetched.tip.tree, b"").map_err(reading)?;
    let files = all.files.iter().filter(|file| file.facts.manifests);
    let mut found = repository_policies::Found::default();
    for file in files {
        let bytes = fetched
            .objects
            .blob(file.place, survey::size_limit(file.kind))
            .map_err(reading)?;
        // As a tree of nodes a text is many times larger than it is.
        let mut parsing = Walk::new("the policies of the repository", &fetched.objects);
        parsing.keep(NODES * bytes.len() as u64).map_err(reading)?;
        all.walk.read(bytes.len() as u64).map_err(reading)?;
        found.read(&file.path, &bytes);
    }
    let (policies, mut notes) = found.below(&job.edits.policies);
    report.notes.append(&mut notes);
    Ok(Arc::new(policies))
}

/// Reads and splices the files that change.
fn splice_all(
    objects: &Objects,
    marked: &[Marked],
    planned: &Preview,
    walk: &mut Walk,
    reading: impl Fn(GitError) -> RunError,
) -> Result<Vec<FileChange>, RunError> {
    let mut files = Vec::with_capacity(planned.files.len());
    for (n, plan) in &planned.files {
        let Some(file) = marked.get(*n) else { continue };
        let old = objects
            .blob(file.place, survey::size_limit(file.kind))
            .map_err(&reading)?;
        // As it was, as it will be, in the pack and on its way.
        walk.keep(4 * old.len() as u64).map_err(&reading)?;
        walk.read(old.len() as u64).map_err(&reading)?;
        files.push(preview::spliced(&file.path, &old, plan)?);
    }
    Ok(files)
}

/// Makes the commit on the fetched tip, or finds the one that an earlier run made of just the same (C30).
fn commit(
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
