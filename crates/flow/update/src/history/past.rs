//! Where the past of a run's files is read: in the mirror of a remote, or in the repository of a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::promotion::{self, Branch, Proven};
use super::reverts::{Past, respect};
use crate::error::RunError;
use crate::find::facts::Marked;
use crate::find::index::Index;
use crate::folder::git_program::{GitProgramError, git_without_fetches, output};
use crate::job::edits::Edits;
use crate::job::remote_job::RemoteJob;
use crate::plan::planned::Plan;
use crate::policy::policies::Policies;
use crate::remote::base::Base;
use crate::remote::place::Place;
use bumpwright_api::ImagePolicy;
use bumpwright_git::{GitError, History, ObjectId, Objects};
use bumpwright_gostd::Time;
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_rules::Rules;

/// Edits that the past says are not to be made, as skips: of images that are not proven, or that people have reverted.
/// Costs nothing unless the preview has edits, and one of the two is asked for. Returns the policies with the images
/// that are proven, and a note.
pub(crate) fn of_remote(
    job: &RemoteJob,
    place: &Place,
    base: &Base,
    (marked, policies): (&[Marked], Arc<Policies>),
    plan: &mut Plan,
) -> Result<(Arc<Policies>, Option<String>), RunError> {
    let (objects, tip) = (&base.fetched.objects, base.fetched.tip.commit);
    let failed = |source| match source {
        // The mirror is rebuilt.
        GitError::Damaged(_) => job.read_failed(source),
        source => RunError::History {
            target: job.url.clone(),
            source,
        },
    };
    let source = Source {
        objects,
        tip,
        prefix: b"",
        index: &place.index,
        history: &|limit| History::of_mirror(&place.mirror, objects, tip, limit),
        now: &Time::unix((place.now)(), 0),
    };
    source.judge(&job.edits, (marked, policies), plan, &failed)
}

/// The same for a run in a folder, by the commit that is checked out there.
pub(crate) fn of_folder(
    (edits, shown): (&Edits, &str),
    root: &Path,
    (marked, policies): (&[Marked<PathBuf>], Arc<Policies>),
    plan: &mut Plan,
) -> Result<(Arc<Policies>, Option<String>), RunError> {
    if !Source::is_needed(edits, &policies, plan) {
        return Ok((policies, None));
    }
    let now = policies.now().clone();
    let unjudged = Arc::clone(&policies);
    let judged = at_head(root, shown, &now, |source, failed| {
        source.judge(edits, (marked, policies), plan, failed)
    });
    Ok(judged?.unwrap_or((unjudged, None)))
}

/// What the repository of a folder, at the commit that is checked out, proves of the images that policies have chosen.
/// Of policies whose images are not promoted by a path, or by one that is not in the repository, it says nothing.
///
/// # Errors
/// The folder is not in a repository ([`RunError::NoRepository`]), or its history cannot be read.
pub fn proven_in(
    folder: &Path,
    chosen: &[(&ImagePolicy, LatestRef)],
    now: &Time,
) -> Result<BTreeMap<PolicyName, Proven>, RunError> {
    let mut policies = Policies::new(now.clone(), false);
    chosen.iter().for_each(|(policy, _)| policies.add(policy));
    let images = chosen
        .iter()
        .map(|(policy, image)| (policy.policy_name(), image.clone()));
    let policies = policies.with_images(images);
    let names = chosen.iter().map(|(policy, _)| policy.policy_name());
    let mut promoted: BTreeSet<PolicyName> = names.filter(|name| policies.promotion(name).is_some()).collect();
    if promoted.is_empty() {
        return Ok(BTreeMap::new());
    }
    let proven = at_head(folder, &folder.display().to_string(), now, |source, failed| {
        let tree = source.objects.commit(source.tip).map_err(failed)?.tree;
        promoted.retain(|name| {
            let found = policies
                .promotion(name)
                .map(|from| source.objects.find(tree, from.path.as_bytes()));
            matches!(found, Some(Ok(Some(_))))
        });
        source.prove((&policies, None), &promoted).map_err(failed)
    });
    Ok(proven?.unwrap_or_default())
}

/// Works with the commit that is checked out in a folder, if there is one.
fn at_head<T>(
    root: &Path,
    shown: &str,
    now: &Time,
    work: impl FnOnce(&Source<'_>, &dyn Fn(GitError) -> RunError) -> Result<T, RunError>,
) -> Result<Option<T>, RunError> {
    let failed = |source| RunError::History {
        target: shown.to_owned(),
        source,
    };
    let repository = Repository::of(root)?;
    let Some(tip) = repository.head else {
        return Ok(None);
    };
    let objects = Objects::of_repository(&repository.objects, tip.kind()).map_err(failed)?;
    let source = Source {
        objects: &objects,
        tip,
        prefix: &repository.prefix,
        index: &Index::default(),
        history: &|limit| History::of_repository(&objects, tip, repository.shallow.clone(), limit),
        now,
    };
    work(&source, &failed).map(Some)
}

/// A commit and its history.
struct Source<'a> {
    objects: &'a Objects,
    tip: ObjectId,
    prefix: &'a [u8],
    index: &'a Index,
    history: &'a dyn Fn(u32) -> Result<History<'a>, GitError>,
    /// The time of the run: policies may have been read before it.
    now: &'a Time,
}

impl Source<'_> {
    fn is_needed(edits: &Edits, policies: &Policies, plan: &Plan) -> bool {
        let asks = edits.respect_reverts.is_some() || !promotion::promoted(policies, plan).is_empty();
        asks && !plan.files.is_empty()
    }

    fn judge<Place>(
        &self,
        edits: &Edits,
        (marked, mut policies): (&[Marked<Place>], Arc<Policies>),
        plan: &mut Plan,
        failed: &dyn Fn(GitError) -> RunError,
    ) -> Result<(Arc<Policies>, Option<String>), RunError> {
        let promoted = promotion::promoted(&policies, plan);
        if !promoted.is_empty() {
            let proven = self
                .prove((&policies, edits.rules.as_ref()), &promoted)
                .map_err(failed)?;
            policies = promotion::apply(&proven, (marked, edits), &policies, self.now, plan)?;
        }
        let Some(asked) = edits.respect_reverts.as_ref().filter(|_| !plan.files.is_empty()) else {
            return Ok((policies, None));
        };
        let past = Past {
            objects: self.objects,
            history: (self.history)(asked.commits).map_err(failed)?,
            tip: self.tip,
            prefix: self.prefix,
            stories: self.index.stories(),
        };
        let note = respect(past, asked, &policies, marked, plan).map_err(failed)?;
        Ok((policies, note))
    }

    fn prove(
        &self,
        (policies, rules): (&Policies, Option<&Rules>),
        promoted: &BTreeSet<PolicyName>,
    ) -> Result<BTreeMap<PolicyName, Proven>, GitError> {
        let branch = Branch {
            objects: self.objects,
            history: (self.history)(promotion::COMMITS)?.of_branch(),
            tree: self.objects.commit(self.tip)?.tree,
            index: self.index,
            rules,
            now: self.now,
        };
        promotion::prove(branch, policies, promoted)
    }
}

/// The repository of a folder, as the user's git finds it.
struct Repository {
    /// The folder of its objects.
    objects: PathBuf,
    /// The commits whose parents are not there.
    shallow: BTreeSet<ObjectId>,
    /// The commit that is checked out; none before the first one.
    head: Option<ObjectId>,
    /// The folder in the repository: empty, or with a slash at its end.
    prefix: Vec<u8>,
}

impl Repository {
    fn of(root: &Path) -> Result<Self, RunError> {
        let ask = |arguments: &[&str]| {
            let mut git = git_without_fetches(root);
            git.arg("rev-parse").args(arguments);
            output(git, b"")
        };
        let found = ask(&["--show-prefix", "--git-path", "objects", "--git-path", "shallow"]);
        let found = found.map_err(RunError::NoRepository)?;
        let lines: Vec<&[u8]> = found.split(|byte| *byte == b'\n').collect();
        let [prefix, objects, shallow, ..] = lines.as_slice() else {
            return Err(RunError::NoRepository(GitProgramError::Unexpected {
                command: "rev-parse --show-prefix --git-path objects --git-path shallow",
                answer: String::from_utf8_lossy(&found).into_owned(),
            }));
        };
        let path = |bytes: &[u8]| root.join(crate::folder::rewrite::native(bytes));
        // It fails in a repository without a commit.
        let head = ask(&["--verify", "--quiet", "HEAD^{commit}"]).ok();
        let shallow = shallow_commits(&path(shallow))?;
        Ok(Self {
            objects: path(objects),
            shallow,
            head: head.as_deref().and_then(|hex| id(hex.trim_ascii())),
            prefix: prefix.to_vec(),
        })
    }
}

/// The commits whose parents are not in the repository; it has no such file if there are none.
fn shallow_commits(file: &Path) -> Result<BTreeSet<ObjectId>, RunError> {
    match std::fs::read(file) {
        Ok(lines) => Ok(lines.split(|byte| *byte == b'\n').filter_map(id).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(source) => Err(RunError::File {
            action: "read",
            path: file.display().to_string(),
            source,
        }),
    }
}

fn id(hex: &[u8]) -> Option<ObjectId> {
    ObjectId::from_hex(hex).ok()
}
