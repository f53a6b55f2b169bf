//! A look at the Kustomizations of a rollout, and at their revisions in Git.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Ran, releases};
use crate::images::automation::context::AutomationContext;
use bumpwright_api::{ConditionStatus, Conditions, GitRepository, ImageUpdateAutomation, Kustomization, READY};
use bumpwright_artifact::Revision;
use bumpwright_git::{Checkout, GitError, ObjectId, Objects};
use bumpwright_json::Texts as _;
use bumpwright_kube::{KUSTOMIZATION, Object};
use bumpwright_rollout::{Holds, KustomizationState, Limits, Record, Seen, Step, short};
use bumpwright_rules::Rules;
use bumpwright_runtime::blocking::Interrupted;
use bumpwright_runtime::{blocking, clock};
use bumpwright_update::{Ours, Place, settings};

/// The most commits that are fetched for one look: those of a record with their parents, and those
/// of a few Kustomizations.
const FETCHES: usize = 48;

/// The Kustomizations that count: those of the automation's own namespace where references to others are forbidden.
fn counted(context: &AutomationContext, automation: &ImageUpdateAutomation) -> Vec<Arc<Object>> {
    let own = automation.metadata.namespace_or_default();
    let only_own = context.shared.settings.no_cross_namespace_refs;
    context
        .kustomizations
        .list(|one| !only_own || one.name.namespace == own)
}

/// The states of those that count, by `namespace/name`, with those of the HelmReleases that they have applied.
pub(super) fn visible(
    context: &AutomationContext,
    automation: &ImageUpdateAutomation,
) -> BTreeMap<String, KustomizationState> {
    let kustomizations = counted(context, automation);
    let mut states = kustomizations
        .iter()
        .map(|one| (one.name.to_string(), state(one)))
        .collect();
    releases::add(context, &mut states);
    states
}

/// The paths of the Kustomizations among them that the automation's source feeds.
pub(super) fn of_source(context: &AutomationContext, automation: &ImageUpdateAutomation) -> BTreeMap<String, String> {
    let source = automation.source_name();
    let kustomizations = counted(context, automation);
    let read = kustomizations
        .iter()
        .filter_map(|one| one.read::<Kustomization>(&KUSTOMIZATION).ok());
    let fed = read.filter(|one| one.spec.source_ref.kind == "GitRepository" && one.source() == source);
    fed.map(|one| {
        let path = one.spec.path.clone();
        (one.metadata.object_name().to_string(), path)
    })
    .collect()
}

/// The state of a Kustomization.
fn state(object: &Object) -> KustomizationState {
    let status = object.status();
    let commit = |field: &str| {
        let revision = status.get(field).and_then(Value::as_str).and_then(Revision::parse);
        revision.map(|revision| revision.hash).unwrap_or_default()
    };
    let conditions = Conditions::of(&status, object.generation, "");
    let ready = match () {
        () if conditions.is(READY, ConditionStatus::True) => Some(true),
        () if conditions.is(READY, ConditionStatus::False) => Some(false),
        () => None,
    };
    let observed = status.get("observedGeneration").and_then(Value::as_i64);
    let latest = status
        .pointer("/history/0/lastReconciledStatus")
        .and_then(Value::as_str);
    let failed_here = conditions.get(READY).and_then(|ready| ready.observed_generation);
    KustomizationState {
        ready,
        reason: conditions.reason(READY).to_owned(),
        message: conditions.message(READY).to_owned(),
        attempted: commit("lastAttemptedRevision"),
        applied: commit("lastAppliedRevision"),
        // A failure is not observed, but its condition is of this generation.
        is_current: [observed, failed_here].contains(&Some(object.generation)),
        suspended: *object.field("spec").value_at("/suspend") == true,
        succeeded: match latest {
            Some(latest) => latest == "ReconciliationSucceeded",
            None => status.get("lastAppliedRevision") == status.get("lastAttemptedRevision"),
        },
        releases: BTreeMap::new(),
    }
}

/// What the cluster shows.
pub(super) fn seen(
    context: &AutomationContext,
    automation: &ImageUpdateAutomation,
    source: &GitRepository,
    ran: &Ran,
) -> Seen {
    let object = context.sources.get(&automation.source_name());
    let artifact = object.map(|object| object.status());
    let artifact = artifact
        .as_ref()
        .and_then(|status| status.pointer("/artifact/revision")?.as_str());
    let artifact = artifact.and_then(Revision::parse).map(|revision| revision.hash);
    // The run starts from what is reconciled, unless the automation has a checkout of its own.
    let reconciled = settings::start(source.spec.reference.as_ref()).ok();
    let is_reconciled = reconciled.is_some_and(|(start, _)| start == ran.job.start);
    let tip = ran
        .run
        .revision_after()
        .filter(|_| is_reconciled)
        .map(|revision| revision.hash);
    Seen {
        now: clock::now().unix_seconds(),
        tip: tip.or_else(|| artifact.clone()).unwrap_or_default(),
        source: artifact.unwrap_or_default(),
        kustomizations: visible(context, automation),
    }
}

/// Why a record is not taken further.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepError {
    /// The mirror cannot be asked.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The automation is deleted meanwhile, or the process ends.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Takes the record a step further. Reads Git's objects, so it has a thread of its own.
pub(super) async fn step(record: &mut Record, seen: Seen, limits: Limits, ran: &Ran) -> Result<Step, StepError> {
    let (mut next, place) = (record.clone(), ran.place.clone());
    let rules = ran.job.edits.rules.clone();
    let work = move || {
        let commits = commits(&next);
        let git = GitView::new(&place, &commits, rules.as_ref())?;
        let holds = |commit: &str| git.holds(commit);
        let mut step = next.step(&seen, &holds, limits);
        for failure in &mut step.failures {
            if failure.not_ours.is_none() {
                failure.not_ours = git.not_ours(&failure.good, &failure.commit, &seen.tip);
            }
        }
        match git.failed.into_inner() {
            Some(error) => Err(error),
            None => Ok((next, step)),
        }
    };
    let (next, step) = blocking::ask(work).await??;
    *record = next;
    Ok(step)
}

/// The commits of a record: parent and commit.
pub(super) fn commits(record: &Record) -> Vec<(ObjectId, ObjectId)> {
    let id = |text: &str| ObjectId::from_hex(text.as_bytes()).ok();
    let commits = record.commits.iter();
    commits
        .filter_map(|pushed| Some((id(&pushed.base)?, id(&pushed.commit)?)))
        .collect()
}

/// What Git says, each answer once.
struct GitView<'a> {
    place: &'a Place,
    commits: &'a [(ObjectId, ObjectId)],
    /// Those of the automation's ConfigMap.
    rules: Option<&'a Rules>,
    objects: RefCell<Option<Objects>>,
    /// The fields that the commits changed, until a fetch brings objects; none if all of the commits are missing.
    ours: RefCell<Option<Option<Ours<'a>>>>,
    known: RefCell<BTreeMap<String, Holds>>,
    fetches: RefCell<usize>,
    /// An error that may pass, after which nothing is concluded.
    failed: RefCell<Option<GitError>>,
}

impl<'a> GitView<'a> {
    fn new(place: &'a Place, commits: &'a [(ObjectId, ObjectId)], rules: Option<&'a Rules>) -> Result<Self, GitError> {
        Ok(Self {
            place,
            commits,
            rules,
            objects: RefCell::new(place.mirror.objects()?),
            ours: RefCell::default(),
            known: RefCell::default(),
            fetches: RefCell::default(),
            failed: RefCell::default(),
        })
    }

    fn holds(&self, commit: &str) -> Holds {
        if let Some(known) = self.known.borrow().get(commit) {
            return *known;
        }
        let holds = match self.commits.last() {
            Some((_, latest)) if ObjectId::from_hex(commit.as_bytes()).ok() == Some(*latest) => Holds::Yes,
            _ => match self.with(&[commit], |ours, ids| {
                ids.first().map_or(Ok(None), |id| ours.are_in(*id))
            }) {
                Some(true) => Holds::Yes,
                Some(false) => Holds::No,
                None => Holds::Unknown,
            },
        };
        self.known.borrow_mut().insert(commit.to_owned(), holds);
        holds
    }

    /// Why a failure may not be blamed on the images; none if it may. Reverted values come from the history of the
    /// reconciled branch, since others may write the record.
    fn not_ours(&self, good: &str, bad: &str, tip: &str) -> Option<String> {
        let (from, to) = (short(good), short(bad));
        match self.with(&[good, bad, tip], |ours, ids| match ids {
            [good, bad, tip] => match ours.are_all_between(*good, *bad)? {
                Some(true) => Ok(Some(self.place.mirror.is_ancestor(*good, *tip)?.then_some(true))),
                other => Ok(Some(other)),
            },
            _ => Ok(None),
        }) {
            Some(Some(true)) => None,
            Some(Some(false)) => Some(format!("other changes lie between '{from}' and '{to}'")),
            Some(None) => Some(format!(
                "'{from}' and '{to}' cannot be compared in the history of the branch"
            )),
            None => Some(format!("'{from}' and '{to}' cannot be compared")),
        }
    }

    /// Asks about commits, which are fetched if they are missing.
    fn with<T>(
        &self,
        commits: &[&str],
        ask: impl Fn(&Ours<'_>, &[ObjectId]) -> Result<Option<T>, GitError>,
    ) -> Option<T> {
        let ids: Option<Vec<ObjectId>> = commits
            .iter()
            .map(|id| ObjectId::from_hex(id.as_bytes()).ok())
            .collect();
        let ids = ids?;
        let needed = self
            .commits
            .iter()
            .flat_map(|(base, commit)| [base, commit])
            .chain(&ids);
        for id in needed {
            self.obtain(*id);
        }
        let answer = self.ours(|ours| ask(ours, &ids));
        answer.unwrap_or_else(|error| {
            self.note(error);
            None
        })
    }

    /// Asks about the fields that the commits changed.
    fn ours<T>(&self, ask: impl Fn(&Ours<'_>) -> Result<Option<T>, GitError>) -> Result<Option<T>, GitError> {
        let objects = self.objects.borrow();
        let Some(objects) = objects.as_ref() else {
            return Ok(None);
        };
        let mut known = self.ours.borrow_mut();
        let ours = match known.take() {
            Some(ours) => ours,
            None => Ours::of(objects, &self.place.index, self.commits, self.rules)?,
        };
        known.insert(ours).as_ref().map_or(Ok(None), ask)
    }

    fn obtain(&self, id: ObjectId) {
        let has = self
            .objects
            .borrow()
            .as_ref()
            .is_some_and(|objects| objects.contains(id));
        if has || *self.fetches.borrow() >= FETCHES {
            return;
        }
        *self.fetches.borrow_mut() += 1;
        let checkout = Checkout::Commit {
            id: id.to_string(),
            branch: None,
        };
        match self.place.mirror.fetch(&checkout, &[]) {
            Ok(fetched) => {
                *self.objects.borrow_mut() = Some(fetched.objects);
                *self.ours.borrow_mut() = None;
            }
            Err(error) => self.note(error),
        }
    }

    /// Remembers an error that may pass.
    fn note(&self, error: GitError) {
        let may_pass = matches!(
            error,
            GitError::Transport(_)
                | GitError::Busy { .. }
                | GitError::Storage { .. }
                | GitError::Damaged(_)
                | GitError::Late(_)
        );
        if may_pass {
            *self.failed.borrow_mut() = Some(error);
        }
    }
}
