//! `bumpwright controller`: settings from flags, and the life of the process.

pub mod args;

use std::process::ExitCode;
use std::time::Duration;

use crate::cli::byte_size::ByteSize;
use crate::cli::console;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::process::confined;
use crate::cli::ui;
use args::{Bounds, Controller, Kustomize};
use bumpwright_api::ObjectName;
use bumpwright_apply::parse_stage_kinds;
use bumpwright_budget::{self as budget, Budgets, Memory};
use bumpwright_chart::Sizes;
use bumpwright_controllers::{
    self as controllers, ArtifactHosts, ArtifactSettings, Backoff, Election, Gates, Kinds, KustomizeSettings, Settings,
    ShardSettings, TokenCacheLimits, WebhookSettings,
};
use bumpwright_kube::{Connect, Pace, Scope};
use bumpwright_runtime::{ListenAddress, LogOptions, Redaction, host_name};
use bumpwright_storage as storage;
use bumpwright_text::between;

/// Runs until a signal ends the process.
#[must_use]
pub(super) fn run(args: &Controller) -> ExitCode {
    confined::files();
    confined::small_pages();
    console::end(try_run(args))
}

fn try_run(args: &Controller) -> Result<(), CliError> {
    let settings = settings(args)?;
    let connect = Connect {
        kubeconfig: args.kubeconfig.clone(),
        pace: pace(args.kube_api_qps, args.kube_api_burst)?,
        ..Connect::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(controllers::threads(args.concurrent))
        .thread_keep_alive(Duration::from_secs(2))
        .enable_all()
        .build()?;
    let done = runtime.block_on(controllers::run(settings, &connect, asked_to_end()));
    match done {
        // A scan without waiters may not keep the process alive.
        Ok(()) => runtime.shutdown_timeout(Duration::from_secs(1)),
        // Nothing may continue without the lease.
        Err(_) => runtime.shutdown_background(),
    }
    done.map_err(CliError::from)
}

/// Resolves on Ctrl-C or SIGTERM.
async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

fn settings(args: &Controller) -> Result<Settings, CliError> {
    args.spiffe.check()?;
    let mut gates = Gates::default();
    for text in &args.feature_gates {
        gates.set(text)?;
    }
    // An empty list, which Flux's flags allow.
    let is_named = |name: &&String| !name.is_empty();
    let given = |list: &[String]| {
        let names: Vec<String> = list.iter().filter(is_named).cloned().collect();
        Some(names).filter(|names| !names.is_empty())
    };
    Ok(Settings {
        kinds: Kinds {
            reviews: args.reviews,
            ..kinds(&args.controllers)?
        },
        storage: args.storage_path.clone(),
        scope: scope(args)?,
        concurrent: args.concurrent,
        backoff: Backoff {
            least: args.min_retry_delay.as_std(),
            most: args.max_retry_delay.as_std(),
        },
        requeue_dependency: args.requeue_dependency.as_std(),
        jitter: args.interval_jitter_percentage,
        no_cross_namespace_refs: args.no_cross_namespace_refs,
        gates,
        default_account: named(&args.default_workload_service_account),
        tokens: TokenCacheLimits {
            items: args.token_cache_max_size,
            duration: args.token_cache_max_duration.as_std(),
        },
        election: election(args)?,
        shards: shards(args)?,
        log: LogOptions {
            level: args.log_level.parse().at("--log-level")?,
            encoding: args.log_encoding.parse().at("--log-encoding")?,
            redaction: Redaction::none(),
        },
        metrics_addr: args.metrics_addr.parse().at("--metrics-addr")?,
        health_addr: args.health_addr.parse().at("--health-addr")?,
        fetches: budgets(&args.bounds, args.bounds.fetch_memory, budget::FETCH_MEMORY)
            .spooling(Memory::on_disk(args.bounds.spool_size.bytes())),
        mirrors_size: args.bounds.mirrors_size.bytes(),
        tags_size: args.bounds.tags_size.bytes(),
        builds: budgets(&args.bounds, args.bounds.build_memory, budget::BUILD_MEMORY),
        webhooks: webhooks(args)?,
        ui: ui::settings(&args.ui)?,
        artifacts: artifacts(args)?,
        kustomize: kustomize(&args.kustomize)?,
        events: Some(args.events_addr.clone()).filter(|address| !address.is_empty()),
        ssh_kex: given(&args.ssh_kex_algos),
        ssh_host_keys: given(&args.ssh_hostkey_algos),
        chart_sizes: Sizes {
            index: args.bounds.helm_index_max_size,
            archive: args.bounds.helm_chart_max_size,
            file: args.bounds.helm_chart_file_max_size,
        },
        without_effect: args.accepted.given(),
    })
}

/// The limits on jobs of one kind.
fn budgets(bounds: &Bounds, memory: ByteSize, flag: &'static str) -> Budgets {
    let memory = Memory::shared(memory.bytes(), flag);
    Budgets::new(memory, bounds.max_entries, bounds.max_content_size.bytes())
}

/// The client-side rate limit: as client-go reads the two flags, where 0 stands for its default.
fn pace(qps: Option<f32>, burst: Option<i64>) -> Result<Option<Pace>, CliError> {
    let always = qps.is_some() || burst.is_some();
    let per_second = match qps {
        Some(qps) if qps.is_nan() => return Err(CliError::new("--kube-api-qps: NaN is not a number of requests")),
        // No limit.
        Some(qps) if qps < 0.0 || qps.is_infinite() => return Ok(None),
        Some(0.0) => Pace::GO.per_second,
        qps => qps.unwrap_or(Pace::FLUX.per_second),
    };
    let burst = match burst {
        Some(0) => Pace::GO.burst,
        Some(burst) if burst < 0 => {
            return Err(CliError::new(format!("--kube-api-burst: {burst} lets no request pass"))
                .hint("for no limit give --kube-api-qps=-1"));
        }
        Some(burst) => u32::try_from(burst).unwrap_or(u32::MAX),
        None => Pace::FLUX.burst,
    };
    Ok(Some(Pace {
        per_second,
        burst,
        always,
    }))
}

fn webhooks(args: &Controller) -> Result<Option<WebhookSettings>, CliError> {
    let address: ListenAddress = args.webhook_addr.parse().at("--webhook-addr")?;
    if address == ListenAddress::Off {
        return Ok(None);
    }
    let namespace =
        own_namespace().ok_or("--webhook-addr needs RUNTIME_NAMESPACE, the namespace of the Secret with the tokens")?;
    Ok(Some(WebhookSettings {
        address,
        secret: ObjectName::new(namespace, &args.webhook_secret),
    }))
}

fn named(name: &str) -> Option<String> {
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

/// The settings of Kustomizations.
fn kustomize(args: &Kustomize) -> Result<KustomizeSettings, CliError> {
    let beside = |flag: &str, name: &str| -> Result<Option<ObjectName>, CliError> {
        let Some(name) = named(name) else { return Ok(None) };
        let namespace = own_namespace()
            .ok_or_else(|| CliError::new(format!("{flag} needs RUNTIME_NAMESPACE, the namespace of it")));
        Ok(Some(ObjectName::new(namespace?, name)))
    };
    Ok(KustomizeSettings {
        concurrent_apply: args.concurrent_ssa.max(1),
        http_retry: args.http_retry,
        artifact_hosts: ArtifactHosts {
            source_controller: variable("SOURCE_CONTROLLER_LOCALHOST"),
            source_watcher: variable("SOURCE_WATCHER_LOCALHOST"),
        },
        no_remote_bases: args.no_remote_bases,
        default_account: named(&args.default_service_account),
        default_decryption_account: named(&args.default_decryption_service_account),
        default_kubeconfig_account: named(&args.default_kubeconfig_service_account),
        age_secret: beside("--sops-age-secret", &args.sops_age_secret)?,
        vault_config_map: beside("--sops-vault-configmap", &args.sops_vault_configmap)?,
        overridden_managers: args.override_manager.clone(),
        overridden_before_dry_run: args.override_manager_before_dry_run.clone(),
        stage_kinds: parse_stage_kinds(&args.custom_apply_stage_kinds),
        watched_configs: args.watch_configs_label_selector.clone(),
        kubeconfig_exec: args.insecure_kubeconfig_exec,
        kubeconfig_insecure: args.insecure_kubeconfig_tls,
    })
}

/// A variable of the environment; an empty one counts as unset.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The settings of artifacts, if any are made.
fn artifacts(args: &Controller) -> Result<Option<ArtifactSettings>, CliError> {
    if !kinds(&args.controllers)?.source {
        return Ok(None);
    }
    let host = storage::advertised_host(&args.storage_addr, &args.storage_adv_addr, storage::host_name);
    let algorithm = args.artifact_digest_algo.parse();
    Ok(Some(ArtifactSettings {
        listen: args.storage_addr.clone(),
        host: host?,
        retention: storage::Retention {
            ttl: args.artifact_retention_ttl.as_std(),
            records: args.artifact_retention_records,
        },
        algorithm: algorithm.at("--artifact-digest-algo")?,
        max_size: args.max_artifact_size.map(ByteSize::bytes),
        room: args.artifacts_size.bytes(),
    }))
}

/// The kinds named by `--controllers`.
fn kinds(names: &[String]) -> Result<Kinds, CliError> {
    let mut kinds = Kinds::NONE;
    for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        let name = name.strip_suffix("-controller").unwrap_or(name);
        if !kinds.add(name) {
            return Err(CliError::new(format!(
                "--controllers: {name:?} is none of image-reflector, image-automation, source, kustomize, helm"
            )));
        }
    }
    if kinds.helm && !kinds.source {
        return Err(CliError::new(
            "--controllers: helm needs source, which serves its artifacts",
        ));
    }
    Ok(kinds)
}

fn scope(args: &Controller) -> Result<Scope, CliError> {
    let namespace = match (args.watch_all_namespaces, std::env::var("RUNTIME_NAMESPACE")) {
        (true, _) => None,
        (false, Ok(namespace)) if !namespace.is_empty() => Some(namespace),
        (false, _) => {
            return Err(CliError::new(
                "--watch-all-namespaces=false needs RUNTIME_NAMESPACE, the namespace to watch",
            ));
        }
    };
    Ok(Scope {
        namespace,
        labels: Some(args.watch_label_selector.clone()).filter(|labels| !labels.is_empty()),
        fields: None,
    })
}

/// The namespace of this process: `RUNTIME_NAMESPACE`, or that of the pod's service account.
fn own_namespace() -> Option<String> {
    const FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
    let text = variable("RUNTIME_NAMESPACE").or_else(|| std::fs::read_to_string(FILE).ok())?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn election(args: &Controller) -> Result<Option<Election>, CliError> {
    let given = &args.election;
    if !given.enable_leader_election {
        return Ok(None);
    }
    let namespace =
        own_namespace().ok_or("--enable-leader-election needs RUNTIME_NAMESPACE, the namespace of the leases")?;
    let (duration, renew_deadline) = (
        given.leader_election_lease_duration.as_std(),
        given.leader_election_renew_deadline.as_std(),
    );
    if duration <= renew_deadline {
        return Err(CliError::new(
            "--leader-election-lease-duration must be longer than --leader-election-renew-deadline",
        ));
    }
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random)?;
    Ok(Some(Election {
        namespace,
        identity: format!("{}_{:016x}", between("", host_name(), ""), u64::from_ne_bytes(random)),
        labels: Some(args.watch_label_selector.clone()).filter(|labels| !labels.is_empty()),
        duration,
        renew_deadline,
        retry: given.leader_election_retry_period.as_std(),
        release: given.leader_election_release_on_cancel,
    }))
}

fn shards(args: &Controller) -> Result<Option<ShardSettings>, CliError> {
    match args.shards {
        None => Ok(None),
        Some(_) if !args.election.enable_leader_election => {
            Err(CliError::new("--shards needs --enable-leader-election"))
        }
        Some(0) => Err(CliError::new("--shards=0: give the number of processes, or none")),
        Some(expected) => Ok(Some(ShardSettings { expected })),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// As client-go reads the flags, except for a burst that would let nothing pass.
    #[test]
    fn the_pace_is_that_of_the_flags() {
        let of = |qps, burst| pace(qps, burst).unwrap();
        let read = |qps, burst| of(qps, burst).map(|pace| (pace.per_second, pace.burst, pace.always));
        assert_eq!(of(None, None), Some(Pace::FLUX));
        assert_eq!(read(Some(20.0), Some(40)), Some((20.0, 40, true)));
        assert_eq!(read(Some(0.5), None), Some((0.5, 300, true)));
        assert_eq!(read(None, Some(1)), Some((50.0, 1, true)));
        assert_eq!(read(Some(0.0), Some(0)), Some((5.0, 10, true)));
        assert_eq!(of(Some(-1.0), Some(-1)), None);
        assert_eq!(of(Some(f32::INFINITY), None), None);
        assert!(pace(Some(f32::NAN), None).is_err());
        assert!(
            pace(None, Some(-1))
                .unwrap_err()
                .to_string()
                .contains("--kube-api-qps=-1")
        );
    }
}
