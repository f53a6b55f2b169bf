//! Starts what the settings ask for, and ends it in order.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::announce;
use super::context::Context;
use super::counting;
use super::image_policy::ImagePolicies;
use super::image_repository::ImageRepositories;
use super::image_update_automation::ImageUpdateAutomations;
use super::mirrors::Mirrors;
use super::queue::Queue;
use super::reconcile::{Driver, Reconcile};
use super::settings::Settings;
use super::tokens;
use super::triggers;
use crate::cluster::{
    Cache, Cluster, ClusterError, Connect, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, IMAGE_UPDATE_AUTOMATION,
    Kind, Scope,
};
use crate::net::Peer;
use crate::observe::{
    Checks, EventSink, Log, Metrics, Recorder, Redaction, Retries, Server, SinkOptions, bridge_tracing, host_name,
    metrics_page,
};
use crate::remotes::GitIdentities;
use crate::scan::{Missing, Scanner, Surroundings};
use crate::tags::{TagStore, TagsError};

/// How long what is begun may take after the process was asked to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the last events and lines may take to leave.
const DRAIN: Duration = Duration::from_secs(3);

/// Why the controllers cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No way to the cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The storage folder.
    #[error("--storage-path: {0}")]
    Tags(#[from] TagsError),
    /// An address to listen at.
    #[error("{0}")]
    Listen(String),
    /// The log.
    #[error("cannot write a log: {0}")]
    Log(String),
    /// Another process leads now.
    #[error("leader election lost: {0}")]
    Lost(String),
}

/// Runs the controllers until `stop` is ready, or the lease of one is lost; then finishes what is begun.
///
/// # Errors
/// [`StartError`]
pub async fn run(settings: Settings, connect: &Connect, stop: impl Future<Output = ()>) -> Result<(), StartError> {
    let log = Log::stderr(settings.log.clone()).map_err(|e| StartError::Log(e.to_string()))?;
    // Another listener in this process would be a library's own: nothing is lost without ours.
    let _ = bridge_tracing(&log);
    let setup = log.named("setup");
    let metrics = Metrics::new();
    let cluster = Cluster::connect(connect, counting::of_cluster(&metrics)).await?;
    let tags = TagStore::open(&settings.storage)?;
    let token_cache = counting::token_cache(settings.tokens, &metrics);
    let accounts = tokens::accounts(&cluster, settings.default_account.clone());
    let surroundings = Surroundings {
        accounts: Some(accounts.clone()),
        tokens: token_cache.clone(),
        sent: counting::of_registries(&metrics),
    };
    let (tell, told) = mpsc::unbounded_channel();
    let sink = settings.events.as_ref().map(|address| {
        let options = SinkOptions {
            address: address.clone(),
            peer: Peer::default(),
            retries: Retries::default(),
        };
        EventSink::start(options, &metrics)
    });
    let sink = sink.transpose().map_err(|e| StartError::Listen(e.to_string()))?;
    let recorder = Recorder::new(
        host_name().unwrap_or_default(),
        Redaction::none(),
        log.clone(),
        sink.clone(),
        // Nobody listens any more when the process is about to end.
        move |event| drop(tell.send(event)),
    );
    let mut background = JoinSet::new();
    serve(&settings, &metrics, &mut background).await?;
    background.spawn(announce::deliver(cluster.clone(), told, log.clone()));
    let caches = Caches::new();
    let context = Arc::new(Context {
        cluster,
        accounts,
        scanner: Scanner::within(Missing::Refused, surroundings),
        tags,
        mirrors: Mirrors::new(&settings.storage, settings.gates.shallow, metrics.git_requests()),
        identities: GitIdentities::sharing(token_cache),
        policies: Arc::clone(&caches.policies),
        repositories: Arc::clone(&caches.repositories),
        sources: Arc::clone(&caches.sources),
        log,
        metrics,
        recorder,
        settings,
    });
    let queues = caches.wire(&context);
    caches.watch(&context, &mut background);
    let (end, ended) = watch::channel(false);
    let mut groups = lead_all(&context, &caches, &queues, ended);
    warn(&context.settings, &setup);
    setup.info("starting manager");
    let mut stop = std::pin::pin!(stop);
    let lost = tokio::select! {
        () = &mut stop => None,
        Some(Ok(Some(name))) = groups.join_next() => Some(name),
    };
    end.send_replace(true);
    let finished = async { while groups.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(PATIENCE, finished).await;
    if let Some(sink) = sink {
        let _ = tokio::task::spawn_blocking(move || sink.drain(DRAIN)).await;
    }
    background.shutdown().await;
    setup.info("stopped");
    context.log.flush(DRAIN);
    lost.map_or(Ok(()), |name| Err(StartError::Lost(name)))
}

/// What an operator who comes from Flux may not expect.
fn warn(settings: &Settings, setup: &Log) {
    if settings.lockdown_elsewhere && settings.default_account.is_none() {
        setup.error(
            &"images and Git repositories that name no ServiceAccount use this process' own identity at clouds",
            "--default-service-account is for Kustomizations only; give --default-workload-service-account as well",
        );
    }
}

/// Each controller waits for its lease and works; one that ends with a name has lost it.
fn lead_all(
    context: &Arc<Context>,
    caches: &Caches,
    queues: &Queues,
    ended: watch::Receiver<bool>,
) -> JoinSet<Option<String>> {
    let mut groups = JoinSet::new();
    let kinds = context.settings.kinds;
    if kinds.reflector {
        let drivers = vec![
            driver(
                context,
                ImageRepositories(Arc::clone(context)),
                &caches.repositories,
                &queues.repositories,
            ),
            driver(
                context,
                ImagePolicies(Arc::clone(context)),
                &caches.policies,
                &queues.policies,
            ),
        ];
        groups.spawn(lead(
            Arc::clone(context),
            ImageRepositories::CONTROLLER,
            drivers,
            ended.clone(),
        ));
    }
    if kinds.automation {
        let drivers = vec![driver(
            context,
            ImageUpdateAutomations(Arc::clone(context)),
            &caches.automations,
            &queues.automations,
        )];
        groups.spawn(lead(
            Arc::clone(context),
            ImageUpdateAutomations::CONTROLLER,
            drivers,
            ended,
        ));
    }
    groups
}

/// Serves metrics and probes.
async fn serve(settings: &Settings, metrics: &Metrics, background: &mut JoinSet<()>) -> Result<(), StartError> {
    let failed = |e: &dyn std::fmt::Display| StartError::Listen(e.to_string());
    let bound = Server::bind(&settings.metrics_addr, "metrics", "--metrics-addr").await;
    if let Some(server) = bound.map_err(|e| failed(&e))? {
        let metrics = metrics.clone();
        background.spawn(server.run(move |request| metrics_page(&metrics, request), std::future::pending()));
    }
    let bound = Server::bind(&settings.health_addr, "probes", "--health-addr").await;
    if let Some(server) = bound.map_err(|e| failed(&e))? {
        let checks = Checks::new();
        background.spawn(server.run(move |request| checks.page(request), std::future::pending()));
    }
    Ok(())
}

/// Starts workers.
type Start = dyn FnOnce(&mut JoinSet<()>) + Send;

/// Workers of a kind, ready to begin.
struct Workers {
    queue: Arc<Queue>,
    start: Box<Start>,
}

/// Runs the workers of a controller while it has its lease; gives the lease's name when it was lost.
async fn lead(
    context: Arc<Context>,
    controller: &'static str,
    workers: Vec<Workers>,
    mut ended: watch::Receiver<bool>,
) -> Option<String> {
    let lease = context
        .settings
        .election
        .as_ref()
        .map(|election| election.lease(controller));
    let log = context.log.named("leaderelection");
    let failed = |error: &str| log.error(&error, "failed to renew lease");
    if let Some(lease) = &lease {
        tokio::select! {
            () = lease.acquire(&context.cluster, failed) => {}
            _ = ended.wait_for(|ended| *ended) => return None,
        }
    }
    let leads = |leads| {
        if let Some(lease) = &lease {
            context.metrics.leader(&lease.name.name, leads);
        }
    };
    leads(true);
    let mut running = JoinSet::new();
    let mut queues = Vec::new();
    for one in workers {
        queues.push(one.queue);
        (one.start)(&mut running);
    }
    let lost = match &lease {
        Some(lease) => tokio::select! {
            () = lease.keep(&context.cluster, failed) => Some(lease.name.to_string()),
            _ = ended.wait_for(|ended| *ended) => None,
        },
        None => {
            let _ = ended.wait_for(|ended| *ended).await;
            None
        }
    };
    leads(false);
    queues.iter().for_each(|queue| queue.close());
    while running.join_next().await.is_some() {}
    let releases = context
        .settings
        .election
        .as_ref()
        .is_some_and(|election| election.release);
    if let Some(lease) = lease.filter(|_| lost.is_none() && releases)
        && let Err(error) = lease.release(&context.cluster).await
    {
        failed(&error.to_string());
    }
    lost
}

/// The objects that are watched.
struct Caches {
    repositories: Arc<Cache>,
    policies: Arc<Cache>,
    automations: Arc<Cache>,
    sources: Arc<Cache>,
}

struct Queues {
    repositories: Arc<Queue>,
    policies: Arc<Queue>,
    automations: Arc<Queue>,
}

impl Caches {
    fn new() -> Self {
        let of = |kind: &'static Kind| Arc::new(Cache::new(kind));
        Self {
            repositories: of(&IMAGE_REPOSITORY),
            policies: of(&IMAGE_POLICY),
            automations: of(&IMAGE_UPDATE_AUTOMATION),
            sources: of(&GIT_REPOSITORY),
        }
    }

    /// Makes changes lead to reconciliations.
    fn wire(&self, context: &Context) -> Queues {
        let queue = |kind: &Kind| {
            let workers = context.settings.concurrent.max(1);
            let metrics = context.metrics.controller(&kind.kind.to_lowercase(), workers);
            Arc::new(Queue::new(context.settings.backoff, metrics))
        };
        let queues = Queues {
            repositories: queue(&IMAGE_REPOSITORY),
            policies: queue(&IMAGE_POLICY),
            automations: queue(&IMAGE_UPDATE_AUTOMATION),
        };
        triggers::own(&self.repositories, &queues.repositories);
        triggers::own(&self.policies, &queues.policies);
        triggers::own(&self.automations, &queues.automations);
        triggers::policies_of_repository(&self.repositories, &self.policies, &queues.policies);
        triggers::automations_of_policy(&self.policies, &self.automations, &queues.automations);
        triggers::automations_of_source(&self.sources, &self.automations, &queues.automations);
        queues
    }

    /// Begins to watch what the kinds need.
    fn watch(&self, context: &Arc<Context>, background: &mut JoinSet<()>) {
        let kinds = context.settings.kinds;
        let all = Scope {
            labels: None,
            ..context.settings.scope.clone()
        };
        let labelled = context.settings.scope.clone();
        let wanted = [
            (&self.repositories, kinds.reflector, &labelled),
            (
                &self.policies,
                kinds.reflector || kinds.automation,
                if kinds.reflector { &labelled } else { &all },
            ),
            (&self.automations, kinds.automation, &labelled),
            (&self.sources, kinds.automation, &all),
        ];
        for (cache, _, scope) in wanted.into_iter().filter(|(_, wanted, _)| *wanted) {
            let (cache, context, scope) = (Arc::clone(cache), Arc::clone(context), scope.clone());
            background.spawn(async move {
                let log = context.log.with("resource", cache.kind().plural);
                let failed = |error: &str| log.error(&error, "failed to watch");
                cache.run(&context.cluster, &scope, failed).await;
            });
        }
    }
}

fn driver<R: Reconcile>(context: &Arc<Context>, reconciler: R, cache: &Arc<Cache>, queue: &Arc<Queue>) -> Workers {
    let driver = Arc::new(Driver {
        reconciler,
        context: Arc::clone(context),
        cache: Arc::clone(cache),
        queue: Arc::clone(queue),
    });
    Workers {
        queue: Arc::clone(queue),
        start: Box::new(move |running| {
            for _ in 0..driver.context.settings.concurrent.max(1) {
                let driver = Arc::clone(&driver);
                running.spawn(async move {
                    // A run before the policies are known would find none.
                    driver.cache.listed().await;
                    driver.context.policies.listed().await;
                    driver.work().await;
                });
            }
        }),
    }
}
