//! `--verify server`: dry runs of changed objects at the cluster of the kubeconfig.

use std::time::Instant;

use tokio::runtime::{Builder, Runtime};

use super::args::Update;
use crate::cli::cluster;
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_api::ObjectName;
use bumpwright_apply::{Refusal, Settings, refusals};
use bumpwright_fleet::{Asker, DryRun, DryRuns, NotAsked, asked, judged};
use bumpwright_kube::Cluster;

/// Asks as the user, and as the ServiceAccounts that Kustomizations and HelmReleases name.
struct AsUser {
    /// Connections live as long as it does.
    runtime: Runtime,
    cluster: Cluster,
}

/// Connects to the cluster of the kubeconfig.
///
/// # Errors
/// The kubeconfig is missing or cannot be used.
pub(super) fn connect(args: &Update) -> Result<Box<dyn DryRuns>, CliError> {
    // Verifications run on several threads.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.at("cannot start asking the cluster")?;
    let connecting = cluster::connect(args.kubeconfig.clone(), args.context.clone());
    let cluster = runtime.block_on(connecting);
    let cluster = cluster.at("--verify server")?;
    Ok(Box::new(AsUser { runtime, cluster }))
}

impl AsUser {
    async fn asked(&self, run: DryRun<'_>) -> Result<Vec<Refusal>, NotAsked> {
        let kustomization = run.kustomization;
        let is_elsewhere = run.release.is_some_and(|release| release.is_elsewhere);
        if kustomization.spec.kube_config.is_some() || is_elsewhere {
            return Err(NotAsked::Left(
                "the API server is not asked about its changes, which go to another cluster (spec.kubeConfig)"
                    .to_owned(),
            ));
        }
        let account = match run.release {
            Some(release) => Some((release.name.namespace.as_str(), release.service_account.as_str())),
            None => {
                let name = kustomization.spec.service_account_name.as_deref();
                name.map(|name| (kustomization.metadata.namespace_or_default(), name))
            }
        };
        let account = account.filter(|(_, name)| !name.is_empty());
        let account = account.map(|(namespace, name)| ObjectName::new(namespace, name));
        let cluster = match &account {
            None => self.cluster.clone(),
            Some(account) => {
                let acting = self.cluster.as_account(account);
                acting.map_err(|error| NotAsked::Failed(error.to_string()))?
            }
        };
        let settings = run.settings(Settings::of(kustomization));
        let refused = refusals(&cluster, run.objects, run.build, &settings).await;
        let refused = refused.map_err(|error| NotAsked::Failed(settings.mask.hide(&error.to_string())))?;
        judged(refused, account.as_ref().map_or(Asker::Other, Asker::Account))
    }
}

impl DryRuns for AsUser {
    fn dry_runs(&self, runs: Vec<DryRun<'_>>, end: Instant) -> Vec<Result<Vec<Refusal>, NotAsked>> {
        self.runtime
            .block_on(asked(runs, end, "--verify-timeout", |run| self.asked(run)))
    }
}
