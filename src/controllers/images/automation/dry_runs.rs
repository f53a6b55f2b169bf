//! `bumpwright.dev/verify: server`: dry runs of changed objects, at the cluster and as the account that their Kustomization is applied with.
//!
//! Cluster and account are those of the Kustomization in the API server, never those of the files that are verified: those who may write the
//! files may not choose them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::controllers::context::Context;
use crate::controllers::kustomizations::{apply, target};
use bumpwright_api::{Kustomization, ObjectName};
use bumpwright_apply::{Refusal, Settings, refusals};
use bumpwright_fleet::{Asker, DryRun, DryRuns, NotAsked, asked, judged};
use bumpwright_http::Job;

/// How often it is looked whether the automation is deleted meanwhile.
const LOOK: Duration = Duration::from_millis(200);

/// Dry runs as the reconciler of Kustomizations would make them, with the accounts of these and of no others, for an automation in
/// `namespace`.
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
            Some(known) => self.asked(known, run).await,
            None => Err(NotAsked::Left(
                "the API server is not asked about its changes: it does not have this Kustomization for this source, with this \
                 serviceAccountName and kubeConfig"
                    .to_owned(),
            )),
        }
    }

    async fn asked(&self, known: &Kustomization, run: DryRun<'_>) -> Result<Vec<Refusal>, NotAsked> {
        let settings = Settings {
            mask: run.mask,
            ..apply::settings(&self.shared, run.kustomization)
        };
        let applies = self.shared.settings.kinds.kustomize;
        let remote = known.spec.kube_config.as_ref();
        target::check_login(&self.shared, known).map_err(NotAsked::Failed)?;
        let target = target::of(&self.shared, known).await.map_err(NotAsked::Failed)?;
        let cluster = target.cluster.within(self.shared.settings.builds.of(&self.namespace));
        let refused = refusals(&cluster, run.objects, run.build, &settings).await;
        let refused = refused.map_err(|error| NotAsked::Failed(settings.mask.hide(&error.to_string())))?;
        match target::account(&self.shared, known) {
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
    let account = |kustomization: &Kustomization| kustomization.spec.service_account_name.clone().unwrap_or_default();
    account(one) == account(other) && one.spec.kube_config == other.spec.kube_config
}
