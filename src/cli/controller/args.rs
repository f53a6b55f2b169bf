//! The flags of `controller`: those of Flux's controllers under their names, so that a Deployment
//! can keep its arguments.

use std::path::PathBuf;

use clap::builder::{StringValueParser, TypedValueParser};
use clap::{ArgAction, Args};

use crate::cli::byte_size::ByteSize;
use crate::cli::error::CliError;
use crate::cli::ui::args::Ui;

use bumpwright_api::GoDuration;
use bumpwright_budget as budget;
use bumpwright_chart::Sizes;

/// All kinds that `--controllers` accepts.
pub const ALL_CONTROLLERS: &str = "image-reflector,image-automation,source,kustomize";

/// The kinds of a default installation.
pub const INSTALLED_CONTROLLERS: &str = "image-reflector,image-automation";

/// The storage folder without flag and environment variable.
const STORAGE_PATH: &str = "/data";

/// The address of artifacts without flag and environment variable.
const STORAGE_ADDRESS: &str = ":9090";

/// The address of metrics without flag and environment variable.
const METRICS_ADDRESS: &str = ":8080";

/// A value with its default: an empty variable counts as unset, as in Flux's controllers.
fn or_default(default: &'static str) -> impl TypedValueParser<Value = String> {
    StringValueParser::new().map(move |text| if text.is_empty() { default.to_owned() } else { text })
}

/// Arguments of `controller`.
#[derive(Debug, Args)]
#[command(after_long_help = CONTROLLER_HELP)]
pub struct Controller {
    /// The kinds to reconcile; helm, beside source, for HelmRepositories and HelmCharts
    #[arg(
        long,
        value_name = "KINDS",
        value_delimiter = ',',
        default_value = ALL_CONTROLLERS
    )]
    pub controllers: Vec<String>,

    /// Paths to a kubeconfig; only required if out-of-cluster
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// The folder for mirrors of Git repositories, scanned tags, artifacts and what was applied
    #[arg(long, value_name = "DIR", default_value = STORAGE_PATH, env = "STORAGE_PATH", value_parser = or_default(STORAGE_PATH).map(PathBuf::from))]
    pub storage_path: PathBuf,

    /// The address to serve artifacts at
    #[arg(long, value_name = "ADDR", default_value = STORAGE_ADDRESS, env = "STORAGE_ADDRESS", value_parser = or_default(STORAGE_ADDRESS))]
    pub storage_addr: String,

    /// The host and port in the URLs of artifacts; of several the last one counts
    #[arg(
        long,
        value_name = "HOST:PORT",
        default_value = "",
        env = "STORAGE_ADV_ADDR",
        overrides_with = "storage_adv_addr"
    )]
    pub storage_adv_addr: String,

    /// How long old artifacts are kept
    #[arg(long, value_name = "DURATION", default_value = "1m")]
    pub artifact_retention_ttl: GoDuration,

    /// How many artifacts of an object are kept
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub artifact_retention_records: usize,

    /// The algorithm of artifact digests: sha256, sha384, sha512, blake3 or sha1
    #[arg(long, value_name = "NAME", default_value = "sha256")]
    pub artifact_digest_algo: String,

    /// Size limit of an artifact, such as 500Mi [default: none]
    #[arg(long, value_name = "SIZE")]
    pub max_artifact_size: Option<ByteSize>,

    /// Disk space for all artifacts; a namespace may use half of it
    #[arg(long, value_name = "SIZE", default_value = "4Gi")]
    pub artifacts_size: ByteSize,

    /// Limits on fetches, builds and unpacking.
    #[command(flatten)]
    pub bounds: Bounds,

    /// The address of the events receiver
    #[arg(long, value_name = "URL", default_value = "", env = "EVENTS_ADDR")]
    pub events_addr: String,

    /// The address to serve webhooks of forges and registries at [default: none]
    #[arg(long, value_name = "ADDR", default_value = "")]
    pub webhook_addr: String,

    /// The Secret with the tokens of webhooks, in the namespace of this process
    #[arg(long, value_name = "NAME", default_value = "bumpwright-webhooks")]
    pub webhook_secret: String,

    /// Review the open pull requests of GitRepositories with the annotation bumpwright.dev/review
    #[arg(long)]
    pub reviews: bool,

    /// The address to serve metrics at; 0 for none
    #[arg(long, value_name = "ADDR", default_value = METRICS_ADDRESS, env = "METRICS_ADDR", value_parser = or_default(METRICS_ADDRESS))]
    pub metrics_addr: String,

    /// The address to serve /healthz and /readyz at
    #[arg(long, value_name = "ADDR", default_value = ":9440")]
    pub health_addr: String,

    /// Requests per second to the API server; -1 for no limit [default: none for servers with priority
    /// and fairness, otherwise 50]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub kube_api_qps: Option<f32>,

    /// Burst of requests to the API server [default: 300]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub kube_api_burst: Option<i64>,

    /// How many objects of a kind are reconciled concurrently
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub concurrent: usize,

    /// Feature gates; several add up. GitSparseCheckout: spec.update.path is taken as it is written, no link of the
    /// repository is followed on the way to it. GitAllBranchReferences=false says something together with
    /// GitForcePushBranch=false: a push branch that is there is not continued. CacheSecretsAndConfigMaps needs list and
    /// watch for them, and memory for all that there are
    #[arg(long, value_name = "A=true,B=false")]
    pub feature_gates: Vec<String>,

    /// Watch objects of all namespaces
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub watch_all_namespaces: bool,

    /// Only reconcile objects with these labels
    #[arg(long, value_name = "SELECTOR", default_value = "")]
    pub watch_label_selector: String,

    /// Share the objects with the other processes that have this flag, by leases; needs --enable-leader-election. N:
    /// how many are expected, which the first deal waits for
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub shards: Option<usize>,

    /// Refuse references to objects of other namespaces
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub no_cross_namespace_refs: bool,

    /// The shortest pause before a failed reconciliation is retried
    #[arg(long, value_name = "DURATION", default_value = "750ms")]
    pub min_retry_delay: GoDuration,

    /// The longest pause before a failed reconciliation is retried
    #[arg(long, value_name = "DURATION", default_value = "15m")]
    pub max_retry_delay: GoDuration,

    /// The interval at which failing dependencies are checked
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub requeue_dependency: GoDuration,

    /// Random variation of intervals, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..100))]
    pub interval_jitter_percentage: u8,

    /// Key exchange algorithms for SSH, best first
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub ssh_kex_algos: Vec<String>,

    /// Host key algorithms for SSH, best first
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub ssh_hostkey_algos: Vec<String>,

    /// The ServiceAccount of objects that name none, for their identity at clouds
    #[arg(long, value_name = "NAME", default_value = "")]
    pub default_workload_service_account: String,

    /// How many tokens of clouds and forges are cached; 0 for none
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub token_cache_max_size: usize,

    /// The longest time that a token is cached, an hour at most
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    pub token_cache_max_duration: GoDuration,

    /// The log level: trace, debug, info or error
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: String,

    /// The log format: json or console
    #[arg(long, value_name = "ENCODING", default_value = "json")]
    pub log_encoding: String,

    /// Kustomizations.
    #[command(flatten)]
    pub kustomize: Kustomize,

    /// The browser's view.
    #[command(flatten)]
    pub ui: Ui,

    /// Leader election.
    #[command(flatten)]
    pub election: Election,

    /// Flags without effect.
    #[command(flatten)]
    pub accepted: Accepted,

    /// Flags that are refused.
    #[command(flatten)]
    pub spiffe: Spiffe,
}

/// Flags of Flux for SPIFFE (docs/decisions.md, *SPIFFE*): known, so that a Deployment that relies on them is told why
/// it does not start.
#[derive(Debug, Args)]
pub struct Spiffe {
    /// Refused: SPIFFE is not supported
    #[arg(long, value_name = "ID", hide = true)]
    pub authorized_artifact_client_spiffe_id: Vec<String>,
    /// Refused: SPIFFE is not supported
    #[arg(long, value_name = "ID", hide = true)]
    pub authorized_artifact_server_spiffe_id: Vec<String>,
    /// Refused: SPIFFE is not supported
    #[arg(long, value_name = "ID", hide = true)]
    pub authorized_event_server_spiffe_id: Vec<String>,
    /// Refused: SPIFFE is not supported
    #[arg(long, value_name = "URL", default_value = "", hide = true)]
    pub spiffe_broker_endpoint: String,
    /// Refused: SPIFFE is not supported
    #[arg(long, value_name = "ID", hide = true)]
    pub spiffe_broker_id: Vec<String>,
}

impl Spiffe {
    /// Refuses all that are given: without them connections would be in plain text that were not before.
    pub fn check(&self) -> Result<(), CliError> {
        let endpoint = std::slice::from_ref(&self.spiffe_broker_endpoint);
        let flags: [(&str, &[String]); 5] = [
            (
                "--authorized-artifact-client-spiffe-id",
                &self.authorized_artifact_client_spiffe_id,
            ),
            (
                "--authorized-artifact-server-spiffe-id",
                &self.authorized_artifact_server_spiffe_id,
            ),
            (
                "--authorized-event-server-spiffe-id",
                &self.authorized_event_server_spiffe_id,
            ),
            ("--spiffe-broker-endpoint", endpoint),
            ("--spiffe-broker-id", &self.spiffe_broker_id),
        ];
        let given = flags
            .into_iter()
            .find(|(_, values)| values.iter().any(|value| !value.is_empty()));
        match given {
            Some((flag, _)) => Err(CliError::new(format!("{flag}: SPIFFE is not supported"))
                .hint("remove the flag, or keep Flux's controllers where connections rely on it")),
            None => Ok(()),
        }
    }
}

/// Limits on jobs. A namespace may use half of the memory.
#[derive(Clone, Copy, Debug, Args)]
pub struct Bounds {
    /// Memory limit of concurrent fetches
    #[arg(long, value_name = "SIZE", default_value = "160Mi")]
    pub fetch_memory: ByteSize,

    /// Memory limit of concurrent builds
    #[arg(long, value_name = "SIZE", default_value = "256Mi")]
    pub build_memory: ByteSize,

    /// Limit on objects, files and folders of a fetch, an archive or a build
    #[arg(long, value_name = "N", default_value_t = budget::ENTRIES)]
    pub max_entries: u64,

    /// Limit on the content of a fetch, an archive or a build, in bytes
    #[arg(long, value_name = "SIZE", default_value = "4Gi")]
    pub max_content_size: ByteSize,

    /// Disk space for files being fetched: packs, layers, objects of buckets; a namespace may use half of it
    #[arg(long, value_name = "SIZE", default_value = "6Gi")]
    pub spool_size: ByteSize,

    /// Disk space for mirrors of Git repositories; beyond it, the least recently used ones are removed
    #[arg(long, value_name = "SIZE", default_value = "4Gi")]
    pub mirrors_size: ByteSize,

    /// Disk space for scanned tags of images; a namespace may use half of it
    #[arg(long, value_name = "SIZE", default_value = "256Mi")]
    pub tags_size: ByteSize,

    /// The largest index of a HelmRepository, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Sizes::FLUX.index)]
    pub helm_index_max_size: u64,

    /// The largest archive of a chart, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Sizes::FLUX.archive)]
    pub helm_chart_max_size: u64,

    /// The largest file of a chart in a folder, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Sizes::FLUX.file)]
    pub helm_chart_file_max_size: u64,
}

/// Settings of Kustomizations.
#[derive(Debug, Args)]
pub struct Kustomize {
    /// How many objects of a Kustomization are applied concurrently
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub concurrent_ssa: usize,

    /// How often the download of an artifact is retried when its server fails
    #[arg(long, value_name = "N", default_value_t = 9)]
    pub http_retry: u32,

    /// Refuse bases outside of the artifact
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub no_remote_bases: bool,

    /// The ServiceAccount to apply as for Kustomizations that name none; for images and Git use
    /// --default-workload-service-account
    #[arg(long, value_name = "NAME", default_value = "")]
    pub default_service_account: String,

    /// The ServiceAccount whose identity decrypts when none is named
    #[arg(long, value_name = "NAME", default_value = "")]
    pub default_decryption_service_account: String,

    /// The ServiceAccount whose identity reaches other clusters when none is named
    #[arg(long, value_name = "NAME", default_value = "")]
    pub default_kubeconfig_service_account: String,

    /// A Secret with age keys, in the namespace of this process, for Kustomizations that have none
    #[arg(long, value_name = "NAME", default_value = "")]
    pub sops_age_secret: String,

    /// A ConfigMap with the Vault servers at which ServiceAccounts may log in, in the namespace of this process
    #[arg(long, value_name = "NAME", default_value = "")]
    pub sops_vault_configmap: String,

    /// A field manager whose changes are reverted; may be repeated
    #[arg(long, value_name = "NAME")]
    pub override_manager: Vec<String>,

    /// A field manager whose fields are taken over before the dry run, by its whole name; may be repeated. Only to
    /// recover objects that the dry run refuses because of it
    #[arg(long, value_name = "NAME")]
    pub override_manager_before_dry_run: Vec<String>,

    /// Kinds to apply after definitions and classes, and before the rest: group/Kind
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub custom_apply_stage_kinds: Vec<String>,

    /// The labels of ConfigMaps and Secrets whose changes trigger a reconciliation
    #[arg(long, value_name = "SELECTOR", default_value = "reconcile.fluxcd.io/watch=Enabled")]
    pub watch_configs_label_selector: String,

    /// Allow kubeconfigs of Secrets to run programs
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub insecure_kubeconfig_exec: bool,

    /// Allow kubeconfigs of Secrets to skip the verification of certificates
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub insecure_kubeconfig_tls: bool,
}

/// Leader election.
#[derive(Debug, Args)]
pub struct Election {
    /// Only act while holding the lease of the controller
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub enable_leader_election: bool,

    /// Release the lease at the end
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub leader_election_release_on_cancel: bool,

    /// How long a lease is valid without being renewed
    #[arg(long, value_name = "DURATION", default_value = "35s")]
    pub leader_election_lease_duration: GoDuration,

    /// How long the leader tries to renew it
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub leader_election_renew_deadline: GoDuration,

    /// The interval between attempts
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub leader_election_retry_period: GoDuration,
}

/// Flags of Flux's controllers without effect here, accepted so that a Deployment can keep its arguments.
#[derive(Debug, Args)]
pub struct Accepted {
    /// Accepted without effect
    #[arg(long, value_name = "BYTES", hide = true)]
    pub storage_value_log_file_size: Option<i64>,
    /// Accepted without effect
    #[arg(long, value_name = "KIB", hide = true)]
    pub storage_compression_threshold: Option<i64>,
    /// Accepted without effect
    #[arg(long, value_name = "MINUTES", hide = true)]
    pub gc_interval: Option<u16>,
    /// Accepted without effect
    #[arg(long, value_name = "N", hide = true)]
    pub helm_cache_max_size: Option<i64>,
    /// Accepted without effect
    #[arg(long, value_name = "DURATION", hide = true)]
    pub helm_cache_ttl: Option<String>,
    /// Accepted without effect
    #[arg(long, value_name = "DURATION", hide = true)]
    pub helm_cache_purge_interval: Option<String>,
}

impl Accepted {
    /// The names of the given ones.
    pub fn given(&self) -> Vec<&'static str> {
        let flags = [
            (
                "--storage-value-log-file-size",
                self.storage_value_log_file_size.is_some(),
            ),
            (
                "--storage-compression-threshold",
                self.storage_compression_threshold.is_some(),
            ),
            ("--gc-interval", self.gc_interval.is_some()),
            ("--helm-cache-max-size", self.helm_cache_max_size.is_some()),
            ("--helm-cache-ttl", self.helm_cache_ttl.is_some()),
            ("--helm-cache-purge-interval", self.helm_cache_purge_interval.is_some()),
        ];
        flags
            .into_iter()
            .filter_map(|(flag, is_given)| is_given.then_some(flag))
            .collect()
    }
}

const CONTROLLER_HELP: &str = "\
Examples:
  # Against the cluster of a kubeconfig
  RUNTIME_NAMESPACE=flux-system bumpwright controller \\
    --kubeconfig ~/.kube/config --storage-path /tmp/bumpwright \\
    --enable-leader-election
  # In a cluster with tenants
  bumpwright controller --no-cross-namespace-refs --no-remote-bases \\
    --default-service-account default
  # Without Kustomizations and sources
  bumpwright controller --controllers image-reflector,image-automation

Exit codes:
  0  ended by SIGTERM or SIGINT
  2  an error: an unusable setting or kubeconfig, a lost lease; an API server that is not reached is waited for

Documentation: docs/reference/controller-flags.md, docs/reference/feature-gates.md, docs/how/security.md";
