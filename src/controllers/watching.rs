//! What is watched for which kinds, and what its changes lead to.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::configs::Known;
use super::context::Context;
use super::settings::{Kinds, Settings};
use crate::controllers::images::triggers;
use crate::controllers::kustomizations::triggers as kustomize_triggers;
use bumpwright_kube::{
    BUCKET, CONFIG_MAP, Cache, EXTERNAL_ARTIFACT, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY,
    IMAGE_UPDATE_AUTOMATION, KUSTOMIZATION, Kind, OCI_REPOSITORY, SECRET, Scope,
};
use bumpwright_runtime::{Queue, Services, Share, triggers::own};

/// The objects that are watched.
pub(crate) struct Caches {
    pub(crate) repositories: Arc<Cache>,
    pub(crate) policies: Arc<Cache>,
    pub(crate) automations: Arc<Cache>,
    /// Those that others use, whoever makes their artifacts.
    pub(crate) sources: Arc<Cache>,
    pub(crate) oci_sources: Arc<Cache>,
    pub(crate) bucket_sources: Arc<Cache>,
    pub(crate) external_artifacts: Arc<Cache>,
    /// Those that artifacts are made of. The same as the ones above unless only some of them are ours to make.
    pub(crate) git_repositories: Arc<Cache>,
    pub(crate) oci_repositories: Arc<Cache>,
    pub(crate) buckets: Arc<Cache>,
    pub(crate) kustomizations: Arc<Cache>,
    /// Metadata only.
    pub(crate) config_maps: Arc<Cache>,
    /// Metadata only.
    pub(crate) secrets: Arc<Cache>,
    /// Whole ones, to be read without a request.
    pub(crate) known: Option<Known>,
}

/// What is to be reconciled, by kind.
pub(crate) struct Queues {
    pub(crate) repositories: Arc<Queue>,
    pub(crate) policies: Arc<Queue>,
    pub(crate) automations: Arc<Queue>,
    pub(crate) git_repositories: Arc<Queue>,
    pub(crate) oci_repositories: Arc<Queue>,
    pub(crate) buckets: Arc<Queue>,
    pub(crate) kustomizations: Arc<Queue>,
}

/// Which objects of a kind are watched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// All, because others refer to them.
    All,
    /// Those with our labels (`--watch-label-selector`).
    Ours,
    /// Those with the labels of `--watch-configs-label-selector`.
    Configs,
}

impl Caches {
    pub(crate) fn new(settings: &Settings) -> Self {
        let of = |kind: &'static Kind| Arc::new(Cache::new(kind));
        let made = |kind: &'static Kind, sources: &Arc<Cache>| match settings.scope.labels {
            Some(_) => of(kind),
            None => Arc::clone(sources),
        };
        let (sources, oci_sources, bucket_sources) = (of(&GIT_REPOSITORY), of(&OCI_REPOSITORY), of(&BUCKET));
        Self {
            git_repositories: made(&GIT_REPOSITORY, &sources),
            oci_repositories: made(&OCI_REPOSITORY, &oci_sources),
            buckets: made(&BUCKET, &bucket_sources),
            repositories: of(&IMAGE_REPOSITORY),
            policies: of(&IMAGE_POLICY),
            automations: of(&IMAGE_UPDATE_AUTOMATION),
            sources,
            oci_sources,
            bucket_sources,
            external_artifacts: of(&EXTERNAL_ARTIFACT),
            kustomizations: of(&KUSTOMIZATION),
            config_maps: Arc::new(Cache::of_metadata(&CONFIG_MAP)),
            secrets: Arc::new(Cache::of_metadata(&SECRET)),
            known: Known::of(settings),
        }
    }

    /// Makes changes lead to reconciliations.
    pub(crate) fn wire(&self, context: &Context, services: &Services) -> Queues {
        let queue = |kind: &Kind| {
            let workers = services.workers;
            let metrics = services.metrics.controller(&kind.kind.to_lowercase(), workers);
            let share = Share {
                most: workers,
                room: services.parked.clone(),
            };
            Arc::new(Queue::new(context.settings.backoff, share, metrics))
        };
        let queues = Queues {
            repositories: queue(&IMAGE_REPOSITORY),
            policies: queue(&IMAGE_POLICY),
            automations: queue(&IMAGE_UPDATE_AUTOMATION),
            git_repositories: queue(&GIT_REPOSITORY),
            oci_repositories: queue(&OCI_REPOSITORY),
            buckets: queue(&BUCKET),
            kustomizations: queue(&KUSTOMIZATION),
        };
        let kinds = context.settings.kinds;
        if kinds.source {
            own(&self.git_repositories, &queues.git_repositories);
            own(&self.oci_repositories, &queues.oci_repositories);
            own(&self.buckets, &queues.buckets);
        }
        own(&self.repositories, &queues.repositories);
        own(&self.policies, &queues.policies);
        own(&self.automations, &queues.automations);
        triggers::policies_of_repository(&self.repositories, &self.policies, &queues.policies);
        triggers::automations_of_policy(&self.policies, &self.automations, &queues.automations);
        triggers::automations_of_source(&self.sources, &self.automations, &queues.automations);
        if kinds.kustomize {
            self.wire_kustomizations(&queues.kustomizations);
        }
        queues
    }

    fn wire_kustomizations(&self, queue: &Arc<Queue>) {
        kustomize_triggers::own(&self.kustomizations, queue);
        for sources in [
            &self.sources,
            &self.oci_sources,
            &self.bucket_sources,
            &self.external_artifacts,
        ] {
            kustomize_triggers::of_source(sources, &self.kustomizations, queue);
        }
        for configs in [&self.config_maps, &self.secrets] {
            kustomize_triggers::of_config(configs, &self.kustomizations, queue);
        }
    }

    /// The kinds that are watched.
    fn wanted(&self, settings: &Settings) -> Vec<(&Arc<Cache>, Which)> {
        use Which::{All, Configs, Ours};
        let Kinds {
            reflector,
            automation,
            source,
            kustomize,
        } = settings.kinds;
        let shared = |sources: &Arc<Cache>, made: &Arc<Cache>| source && Arc::ptr_eq(sources, made);
        let git = shared(&self.sources, &self.git_repositories);
        let oci = shared(&self.oci_sources, &self.oci_repositories);
        let bucket = shared(&self.bucket_sources, &self.buckets);
        let configs = kustomize && !settings.gates.no_config_watchers;
        let all = [
            (&self.repositories, reflector, Ours),
            (
                &self.policies,
                reflector || automation,
                if reflector { Ours } else { All },
            ),
            (&self.automations, automation, Ours),
            (&self.sources, automation || kustomize || git, All),
            (&self.git_repositories, source && !git, Ours),
            (&self.oci_sources, kustomize || oci, All),
            (&self.oci_repositories, source && !oci, Ours),
            (&self.bucket_sources, kustomize || bucket, All),
            (&self.buckets, source && !bucket, Ours),
            (
                &self.external_artifacts,
                kustomize && settings.gates.external_artifact,
                All,
            ),
            (&self.kustomizations, kustomize, Ours),
            (&self.config_maps, configs, Configs),
            (&self.secrets, configs, Configs),
        ];
        let known = self.known.iter();
        let known = known.flat_map(|known| [(&known.secrets, true, All), (&known.config_maps, kustomize, All)]);
        let wanted = all.into_iter().chain(known).filter(|(_, wanted, _)| *wanted);
        wanted.map(|(cache, _, which)| (cache, which)).collect()
    }

    /// Says whether all that is watched has been listed, and what has not.
    pub(crate) fn readiness(&self, settings: &Settings) -> impl Fn() -> Result<(), String> + Send + Sync + use<> {
        let wanted = self.wanted(settings);
        let caches: Vec<Arc<Cache>> = wanted.into_iter().map(|(cache, _)| Arc::clone(cache)).collect();
        move || {
            let missing: Vec<String> = caches.iter().filter_map(|cache| cache.is_listed().err()).collect();
            if missing.is_empty() {
                Ok(())
            } else {
                Err(missing.join("; "))
            }
        }
    }

    /// Begins to watch what the kinds need.
    pub(crate) fn watch(&self, context: &Arc<Context>, background: &mut JoinSet<()>) {
        let settings = &context.settings;
        for (cache, which) in self.wanted(settings) {
            let labels = match which {
                Which::All => None,
                Which::Ours => settings.scope.labels.clone(),
                Which::Configs => Some(settings.kustomize.watched_configs.clone()).filter(|labels| !labels.is_empty()),
            };
            let scope = Scope {
                labels,
                ..settings.scope.clone()
            };
            let (cache, context) = (Arc::clone(cache), Arc::clone(context));
            background.spawn(async move {
                let log = context.log.with("resource", cache.kind().plural);
                let failed = |error: &str| log.error(&error, "failed to watch");
                cache.run(&context.cluster, &scope, failed).await;
            });
        }
    }
}
