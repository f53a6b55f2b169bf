//! Starts and stops the controllers of the settings.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::browser::browser;
use super::configs::Configs;
use super::kinds;
use super::kustomizations::Kustomizations;
use super::mirrors::Mirrors;
use super::request_metrics;
use super::settings::Settings;
use super::shards::{self, DealtKind, Shards};
use super::start_error::StartError;
use super::tidy::{self, Tidied};
use super::tokens;
use crate::artifact_trees::ArtifactTrees;
use crate::parts::Parts;
use crate::parts::context::Context;
use crate::parts::registered::Workers;
use crate::parts::remotes::Remotes;
use crate::parts::watching::Caches;
use crate::sources::first_rounds::FirstRounds;
use crate::sources::leader;
use crate::sources::server::{self as artifact_server, Serving};
use crate::webhooks::receiver::Webhooks;
use bumpwright_connect::Clouds;
use bumpwright_connect::git::GitIdentities;
use bumpwright_git::private_folder;
use bumpwright_http::Peer;
use bumpwright_kube::{Cluster, Connect};
use bumpwright_runtime::events as announce;
use bumpwright_runtime::{
    CheckError, Checks, ClusterEvent, Dealt, EventSink, Log, Metrics, ParkedRequests, Reconcile, Recorder, Redaction,
    Retries, Server, Services, SinkOptions, bridge_tracing, host_name, metrics_page,
};
use bumpwright_scan::{Missing, Scanner, ScannerOptions, TagStore};
use bumpwright_storage::{self as storage, Storage, StorageError};

/// Time limit for work in progress after the process was asked to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time limit for sending the last events and log lines.
const DRAIN: Duration = Duration::from_secs(3);

/// Runs the controllers until `stop` is ready or a lease is lost; then waits for work in progress.
pub async fn run(settings: Settings, connect: &Connect, stop: impl Future<Output = ()>) -> Result<(), StartError> {
    let log = Log::stderr(settings.log.clone()).map_err(|e| StartError::Log(e.to_string()))?;
    // A second subscriber would be a library's own, so failing to install ours loses nothing.
    let _ = bridge_tracing(&log);
    let setup = log.named("setup");
    let metrics = Metrics::new();
    let cluster = Cluster::connect(connect, request_metrics::of_cluster(&metrics)).await?;
    let storage = log.named("storage");
    let tags = TagStore::open(&settings.storage, move |what| storage.error(&what, "tags are lost"))?
        .within(settings.tags_size);
    let (recorder, sink, told) = recorder(&settings, &log, &metrics)?;
    let mut background = JoinSet::new();
    let caches = Caches::new(&settings, &kinds::watches(&settings));
    let storage = artifact_storage(&settings)?;
    let serving = Arc::new(Serving::default());
    let checks = checks(&settings, caches.readiness(), &serving);
    serve(&settings, &metrics, checks, &mut background).await?;
    background.spawn(announce::deliver(cluster.clone(), told, log.clone()));
    artifact_server::serve(&settings, storage.as_ref(), &log, Arc::clone(&serving), &mut background).await?;
    let shards = settings.shards.map(|_| Arc::new(Shards::new()));
    let services = Arc::new(Services {
        dealt: shards.clone().map(|shards| shards as Arc<dyn Dealt>),
        cluster,
        recorder,
        metrics,
        log,
        parked: ParkedRequests::default(),
        fetch_memory: settings.fetches.memory.clone(),
        workers: settings.concurrent.max(1),
        jitter: settings.jitter,
    });
    let parts = parts((settings, serving), &services, caches, tags, storage);
    let context = &parts.shared;
    webhooks(&parts, &mut background).await?;
    browser(&parts, connect, &services.recorder, &mut background).await?;
    let queued = kinds::queues(&context.settings, &services);
    let dealt = shards.map(|shards| (Arc::clone(&shards), shards.follow(&parts.caches, &queued)));
    background.spawn(tidy::tidy(Tidied::of(
        &parts,
        dealt.as_ref().map(|(shards, _)| Arc::clone(shards)),
        &queued,
    )));
    // Reconcilers subscribe to caches, so they are created before the watches begin.
    let controllers = kinds::controllers(&parts, &services, &queued);
    kinds::wire(&parts.caches, &queued);
    parts.caches.watch(context, &mut background);
    let (end, ended) = watch::channel(End::NotYet);
    let mut groups = lead_all((context, dealt), controllers, &ended);
    warn(&context.settings, &setup);
    setup.info("starting manager");
    let mut stop = std::pin::pin!(stop);
    let lost = tokio::select! {
        () = &mut stop => None,
        Some(Ok(Some(name))) = groups.join_next() => Some(name),
    };
    if let Some(name) = lost {
        // Another process may be active by now: work in progress is dropped.
        end.send_replace(End::AtOnce);
        setup.error(&"leader election lost", "problem running manager");
        context.log.flush(DRAIN);
        return Err(StartError::Lost(name));
    }
    end.send_replace(End::InOrder);
    let finished = async { while groups.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(PATIENCE, finished).await;
    if let Some(sink) = sink {
        let _ = tokio::task::spawn_blocking(move || sink.drain(DRAIN)).await;
    }
    background.shutdown().await;
    setup.info("stopped");
    context.log.flush(DRAIN);
    Ok(())
}

/// Creates the shared parts of the kinds.
fn parts(
    (settings, serving): (Settings, Arc<Serving>),
    services: &Services,
    caches: Caches,
    tags: TagStore,
    storage: Option<Storage>,
) -> Parts {
    let (cluster, metrics) = (services.cluster.clone(), services.metrics.clone());
    let token_cache = request_metrics::token_cache(settings.tokens, &metrics);
    let accounts = tokens::accounts(&cluster, settings.default_account.clone());
    let options = ScannerOptions {
        accounts: Some(accounts.clone()),
        tokens: token_cache.clone(),
        sent: request_metrics::of_registries(&metrics),
        looked_at: settings.ui.is_some(),
    };
    Parts {
        scanner: Arc::new(Scanner::within(Missing::Refused, options)),
        tags: Arc::new(tags),
        origins: Arc::default(),
        fields: settings.ui.as_ref().map(|_| Arc::default()),
        requests: settings
            .ui
            .as_ref()
            .filter(|_| settings.kinds.reviews)
            .map(|_| Arc::default()),
        mirrors: Arc::new(Mirrors::new(
            &settings.storage,
            settings.gates.shallow,
            request_metrics::GitCounters::of(&metrics),
            settings.fetches.clone(),
            settings.mirrors_size,
        )),
        trees: Arc::new(ArtifactTrees::new(
            settings.kustomize.http_retry,
            storage.clone(),
            settings.kustomize.artifact_hosts.clone(),
            settings.builds.clone(),
        )),
        storage,
        shared: Arc::new(Context {
            configs: Configs::new(&cluster, caches.known.clone()),
            cluster,
            accounts,
            identities: GitIdentities::sharing(token_cache.clone()),
            clouds: Clouds::new(token_cache),
            remotes: Remotes::default(),
            serving,
            first_rounds: FirstRounds::default(),
            log: services.log.clone(),
            metrics,
            settings,
        }),
        caches,
    }
}

/// The storage of artifacts, if any are made: beside mirrors and tags, which are not served.
fn artifact_storage(settings: &Settings) -> Result<Option<Storage>, StartError> {
    let Some(artifacts) = &settings.artifacts else {
        return Ok(None);
    };
    let path = settings.storage.join("artifacts");
    private_folder(&path).map_err(|cause| StorageError::Folder {
        path: path.clone(),
        cause,
    })?;
    let storage = Storage::new(storage::Settings {
        path,
        host: artifacts.host.clone(),
        retention: artifacts.retention,
        algorithm: artifacts.algorithm,
        max_size: artifacts.max_size,
        room: artifacts.room,
    })?;
    Ok(Some(storage))
}

/// Connects events to the receiver of the settings, and to the cluster.
fn recorder(settings: &Settings, log: &Log, metrics: &Metrics) -> Result<Recording, StartError> {
    let (tell, told) = mpsc::channel(announce::WAITING);
    let sink = settings.events.as_ref().map(|address| {
        let options = SinkOptions {
            address: address.clone(),
            peer: Peer::default(),
            retries: Retries::default(),
        };
        EventSink::start(options, metrics)
    });
    let sink = sink.transpose().map_err(|e| StartError::Listen(e.to_string()))?;
    let recorder = Recorder::new(
        host_name().unwrap_or_default(),
        Redaction::none(),
        log.clone(),
        sink.clone(),
        // Events are best effort: some are dropped when the API server is slow or the process ends.
        move |event| drop(tell.try_send(event)),
    );
    Ok((recorder, sink, told))
}

/// The recorder, the sink, and the channel of events for the cluster.
type Recording = (Recorder, Option<EventSink>, mpsc::Receiver<ClusterEvent>);

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    NotYet,
    /// Work in progress is finished.
    InOrder,
    /// The lease is lost.
    AtOnce,
}

/// Warnings for operators who come from Flux.
fn warn(settings: &Settings, setup: &Log) {
    // Flux's image controllers give the flag this meaning.
    if settings.kustomize.default_account.is_some() && settings.default_account.is_none() {
        setup.error(
            &"images and Git repositories that name no ServiceAccount use this process' own identity at clouds",
            "--default-service-account is for Kustomizations only; give --default-workload-service-account as well",
        );
    }
    if settings.kinds.kustomize
        && settings.kustomize.default_kubeconfig_account.is_none()
        && !settings.keeps_tenants_apart()
    {
        setup.info(
            "Kustomizations may send this process' own identity to any address, by a ConfigMap of spec.kubeConfig that names no \
             ServiceAccount; where tenants write them give --no-cross-namespace-refs, --default-service-account or \
             --default-kubeconfig-service-account",
        );
    }
    if !settings.without_effect.is_empty() {
        let flags = settings.without_effect.join(", ");
        setup.info(&format!(
            "flags of Flux's controllers that have no effect here: {flags}"
        ));
    }
    if settings.kinds.source && !settings.kinds.helm {
        setup.info(
            "HelmRepositories and HelmCharts are not served: they are with helm among --controllers, beside source",
        );
    }
}

/// What is shared with other processes, and the kinds that are.
type Shared = (Arc<Shards>, Vec<DealtKind>);

/// Each controller waits for its lease and works, or all of them as a member of a group; one that ends with a
/// name has lost it.
fn lead_all(
    (context, dealt): (&Arc<Context>, Option<Shared>),
    controllers: Vec<(&'static str, Vec<Workers>)>,
    ended: &watch::Receiver<End>,
) -> JoinSet<Option<String>> {
    let mut groups = JoinSet::new();
    let settings = &context.settings;
    if let Some((dealt, (election, shards))) = dealt.zip(settings.election.clone().zip(settings.shards)) {
        let expected = shards.expected;
        let (context, ended) = (Arc::clone(context), ended.clone());
        groups.spawn(shards::lead(context, dealt, (election, expected), controllers, ended));
        return groups;
    }
    for (controller, workers) in controllers {
        groups.spawn(lead(Arc::clone(context), controller, workers, ended.clone()));
    }
    groups
}

/// Serves webhooks, if enabled. Every replica does: the leader sees their annotations.
async fn webhooks(parts: &Parts, background: &mut JoinSet<()>) -> Result<(), StartError> {
    let Some(settings) = &parts.shared.settings.webhooks else {
        return Ok(());
    };
    let bound = Server::bind(&settings.address, "webhooks", "--webhook-addr").await;
    if let Some(server) = bound.map_err(|e| StartError::Listen(e.to_string()))? {
        let webhooks = Webhooks::new(parts, settings.secret.clone());
        background.spawn(webhooks.serve(server.into_listener()));
    }
    Ok(())
}

/// What `/readyz` waits for: listed kinds, and where artifacts are served the
/// lease (source-controller 1.10, `main.go`).
fn checks(
    settings: &Settings,
    listed: impl Fn() -> Result<(), CheckError> + Send + Sync + 'static,
    serving: &Arc<Serving>,
) -> Checks {
    let checks = Checks::new();
    checks.readiness("watches", listed);
    if let (Some(_), Some(election), None) = (&settings.artifacts, &settings.election, &settings.shards) {
        let (serving, own) = (Arc::clone(serving), election.identity.clone());
        checks.readiness("leader-election", move || Ok(serving.ready(&own)?));
    }
    checks
}

/// Serves metrics and probes.
async fn serve(
    settings: &Settings,
    metrics: &Metrics,
    checks: Checks,
    background: &mut JoinSet<()>,
) -> Result<(), StartError> {
    let failed = |e: &dyn std::fmt::Display| StartError::Listen(e.to_string());
    let bound = Server::bind(&settings.metrics_addr, "metrics", "--metrics-addr").await;
    if let Some(server) = bound.map_err(|e| failed(&e))? {
        let metrics = metrics.clone();
        background.spawn(server.run(move |request| metrics_page(&metrics, request), std::future::pending()));
    }
    let bound = Server::bind(&settings.health_addr, "probes", "--health-addr").await;
    if let Some(server) = bound.map_err(|e| failed(&e))? {
        background.spawn(server.run(move |request| checks.page(request), std::future::pending()));
    }
    Ok(())
}

/// Runs the workers of a controller while it has its lease; returns the lease's name if it was lost.
async fn lead(
    context: Arc<Context>,
    controller: &'static str,
    workers: Vec<Workers>,
    mut ended: watch::Receiver<End>,
) -> Option<String> {
    let election = context.settings.election.as_ref();
    let lease = election.map(|election| election.lease(controller));
    let log = context.log.named("leaderelection");
    let failed = |error: &str| log.error(&error, "failed to renew lease");
    if let Some(lease) = &lease {
        tokio::select! {
            () = lease.acquire(&context.cluster, failed, |holder| context.waits(controller, holder)) => {}
            _ = ended.wait_for(|end| *end != End::NotYet) => return None,
        }
    }
    let leads = |leads| {
        if let Some(lease) = &lease {
            context.metrics.leader(&lease.name.name, leads);
        }
    };
    leads(true);
    let (mut stopped, mut at_once) = (ended.clone(), ended.clone());
    let work = async {
        if controller == Kustomizations::CONTROLLER {
            tokio::select! {
                () = leader::known(&context) => {}
                _ = stopped.wait_for(|end| *end != End::NotYet) => return,
            }
        }
        run_workers(&context, controller, workers, &mut ended).await;
    };
    // The lease is kept until work in progress is finished.
    let lost = async {
        match &lease {
            Some(lease) => lease.keep(&context.cluster, failed).await,
            None => std::future::pending().await,
        }
    };
    // Dropping the workers, which are part of the work, cancels them at their next await.
    let lost = tokio::select! {
        () = lost => true,
        _ = at_once.wait_for(|end| *end == End::AtOnce) => true,
        () = work => false,
    };
    leads(false);
    let lease = lease?;
    if lost {
        return Some(lease.name.to_string());
    }
    if election.is_some_and(|election| election.release)
        && let Err(error) = lease.release(&context.cluster).await
    {
        failed(&error.to_string());
    }
    None
}

/// Runs the workers of a controller, which leads from now on, until the process ends and their work
/// in progress is finished.
pub(crate) async fn run_workers(
    context: &Context,
    controller: &'static str,
    workers: Vec<Workers>,
    ended: &mut watch::Receiver<End>,
) {
    let mut running = JoinSet::new();
    let mut queues = Vec::new();
    for one in workers {
        queues.push(one.queue);
        (one.start)(&mut running);
    }
    context.leads(controller);
    let _ = ended.wait_for(|end| *end != End::NotYet).await;
    queues.iter().for_each(|queue| queue.close());
    while running.join_next().await.is_some() {}
}
