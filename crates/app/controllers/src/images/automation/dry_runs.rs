//! `bumpwright.dev/verify: server`: dry runs of changed objects, at the cluster and as the account that their
//! Kustomization is applied with.
//!
//! Cluster and account are those of the Kustomization in the API server, never those of the files that are verified:
//! those who may write the files may not choose them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::fleet_view::OWNER;
use crate::kustomizations::{apply, cluster};
use crate::parts::context::Context;
use bumpwright_api::{Kustomization, ObjectName};
use bumpwright_apply::{Refusal, refusals};
use bumpwright_fleet::{Asker, DryRun, DryRuns, NotAsked, ReleaseSummary, asked, judged};
use bumpwright_http::Job;
use bumpwright_json::Texts;
use bumpwright_kube::HELM_RELEASE;

/// How often it is looked whether the automation is deleted meanwhile.
const LOOK: Duration = Duration::from_millis(200);

/// Dry runs as the reconciler of Kustomizations would make them, with the accounts of these and of no others, for
/// an automation in `namespace`.
pub(super) fn as_reconciler(
    shared: &Arc<Context>,
    namespace: &str,
    known: impl IntoIterator<Item = Kustomization>,
) -> Box<dyn DryRuns> {
    let named = known.into_iter().map(|one| (one.metadata.object_name(), one));
    Box::new(AsReconciler {
        shared: Arc::clone(shared),
        namespace: namespace.to_owned(),
        known: named.collect(),
        runtime: Handle::current(),
    })
}

struct AsReconciler {
    shared: Arc<Context>,
    /// The namespace of the automation, which pays for answers.
    namespace: String,
    /// The Kustomizations that the automation sees.
    known: BTreeMap<ObjectName, Kustomization>,
    runtime: Handle,
}

impl AsReconciler {
    async fn one(&self, run: DryRun<'_>) -> Result<Vec<Refusal>, NotAsked> {
        let name = run.kustomization.metadata.object_name();
        match self.known.get(&name).filter(|known| is_same(known, run.kustomization)) {
            Some(known) => match run.release {
                Some(release) => self.asked_as(&self.account_of(release, &name).await?, run).await,
                None => self.asked(known, run).await,
            },
            None => Err(NotAsked::Left(
                "the API server is not asked about its changes: it does not have this Kustomization for this source, with this \
                 serviceAccountName and kubeConfig"
                    .to_owned(),
            )),
        }
    }

    /// The account of a release, as the API server has it: the same as in the files, of the same Kustomization, and one
    /// that the automation may know.
    async fn account_of(&self, release: &ReleaseSummary, owner: &ObjectName) -> Result<ObjectName, NotAsked> {
        let left = |why: &str| NotAsked::Left(format!("the API server is not asked about its changes: {why}"));
        let settings = &self.shared.settings;
        let is_closed = settings.no_cross_namespace_refs || settings.scope.namespace.is_some();
        if is_closed && release.name.namespace != self.namespace {
            return Err(left("it is in another namespace than the automation"));
        }
        if release.service_account.is_empty() || release.is_elsewhere {
            return Err(left("it has no serviceAccountName in this cluster"));
        }
        let live = self.shared.cluster.get(&HELM_RELEASE, &release.name).await;
        let live = live.map_err(|error| left(&format!("its HelmRelease cannot be read: {error}")))?;
        let live = live.value(&HELM_RELEASE);
        let text = |pointer: &str| live.text_at(pointer);
        let applier = OWNER.map(text);
        let is_same = applier == [owner.namespace.as_str(), owner.name.as_str()]
            && text("/spec/serviceAccountName") == release.service_account
            && live.pointer("/spec/kubeConfig").is_none();
        if is_same {
            Ok(ObjectName::new(
                release.name.namespace.as_str(),
                release.service_account.as_str(),
            ))
        } else {
            Err(left(
                "it does not have this HelmRelease of this Kustomization, with this serviceAccountName",
            ))
        }
    }

    /// Asks about the objects of a release as its account.
    async fn asked_as(&self, account: &ObjectName, run: DryRun<'_>) -> Result<Vec<Refusal>, NotAsked> {
        let settings = run.settings(apply::settings(&self.shared, run.kustomization));
        let cluster = self
            .shared
            .cluster
            .within(self.shared.settings.builds.of(&self.namespace));
        let cluster = cluster.as_account(account);
        let cluster = cluster.map_err(|error| NotAsked::Failed(error.to_string()))?;
        let refused = refusals(&cluster, run.objects, run.build, &settings).await;
        let refused = refused.map_err(|error| NotAsked::Failed(settings.mask.hide(&error.to_string())))?;
        judged(refused, Asker::Account(account))
    }

    async fn asked(&self, known: &Kustomization, run: DryRun<'_>) -> Result<Vec<Refusal>, NotAsked> {
        let settings = run.settings(apply::settings(&self.shared, run.kustomization));
        let applies = self.shared.settings.kinds.kustomize;
        let remote = known.spec.kube_config.as_ref();
        let failed = |error: cluster::TargetError| NotAsked::Failed(error.to_string());
        cluster::check_login(&self.shared, known).map_err(failed)?;
        let target = cluster::of(&self.shared, known).await.map_err(failed)?;
        let cluster = target.cluster.within(self.shared.settings.builds.of(&self.namespace));
        let refused = refusals(&cluster, run.objects, run.build, &settings).await;
        let refused = refused.map_err(|error| NotAsked::Failed(settings.mask.hide(&error.to_string())))?;
        match cluster::account(&self.shared, known) {
            Some(account) => judged(refused, Asker::Account(&account)),
            None if applies || remote.is_some() => judged(refused, Asker::Applier),
            None => judged(refused, Asker::Other),
        }
    }
}

impl DryRuns for AsReconciler {
    fn dry_runs(&self, runs: Vec<DryRun<'_>>, end: Instant) -> Vec<Result<Vec<Refusal>, NotAsked>> {
        let (job, count) = (Job::current(), runs.len());
        self.runtime.block_on(async {
            tokio::select! {
                answers = asked(runs, end, "verify-timeout", |run| self.one(run)) => answers,
                () = cancelled(job) => vec![Err(NotAsked::Failed("the automation is deleted meanwhile".to_owned())); count],
            }
        })
    }
}

/// Waits until a job is cancelled.
async fn cancelled(job: Option<Job>) {
    loop {
        tokio::time::sleep(LOOK).await;
        if job.as_ref().is_some_and(Job::is_cancelled) {
            return;
        }
    }
}

/// Whether two states of a Kustomization are applied at the same cluster by the same account.
fn is_same(one: &Kustomization, other: &Kustomization) -> bool {
    let of = |one: &Kustomization| {
        let account = one.spec.service_account_name.clone();
        (account.filter(|name| !name.is_empty()), one.spec.kube_config.clone())
    };
    of(one) == of(other)
}
