//! Settings from flags and feature gates.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use bumpwright_api::ObjectName;
use bumpwright_budget::Budgets;
use bumpwright_chart::Sizes;
use bumpwright_cloud::TokenCacheLimits;
use bumpwright_kube::{Lease, Scope, lease_name};
use bumpwright_runtime::{Backoff, ListenAddress, LogOptions};
use bumpwright_storage::{Algorithm, Retention};
use bumpwright_ui::UiSettings;

/// All settings of the controllers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which kinds are reconciled.
    pub kinds: Kinds,
    /// The folder for mirrors and tags.
    pub storage: PathBuf,
    pub scope: Scope,
    /// Concurrent reconciliations per kind.
    pub concurrent: usize,
    /// Backoff of failed reconciliations.
    pub backoff: Backoff,
    /// The interval for checking dependencies.
    pub requeue_dependency: Duration,
    /// Random variation of intervals, in percent.
    pub jitter: u8,
    /// Whether references to other namespaces are allowed.
    pub no_cross_namespace_refs: bool,
    pub gates: Gates,
    /// The ServiceAccount of objects that name none, for identities at clouds (`--default-workload-service-account`).
    pub default_account: Option<String>,
    /// Limits of the cache of cloud and forge tokens.
    pub tokens: TokenCacheLimits,
    /// Leader election; without it this process acts at once.
    pub election: Option<Election>,
    /// Several processes share the objects, if enabled; only with leader election.
    pub shards: Option<ShardSettings>,
    /// Log level and format.
    pub log: LogOptions,
    /// The address of metrics.
    pub metrics_addr: ListenAddress,
    /// The address of probes.
    pub health_addr: ListenAddress,
    /// Budgets of fetches and unpacking.
    pub fetches: Budgets,
    /// Limit on the disk space of mirrors, in bytes.
    pub mirrors_size: u64,
    /// Limit on the disk space of scanned tags, in bytes.
    pub tags_size: u64,
    pub builds: Budgets,
    pub webhooks: Option<WebhookSettings>,
    /// The browser's view, if enabled.
    pub ui: Option<UiSettings>,
    /// Artifacts; None when no source is reconciled.
    pub artifacts: Option<ArtifactSettings>,
    pub kustomize: KustomizeSettings,
    /// The address of the events receiver.
    pub events: Option<String>,
    /// Key exchange algorithms for SSH.
    pub ssh_kex: Option<Vec<String>>,
    /// Host key algorithms for SSH.
    pub ssh_host_keys: Option<Vec<String>>,
    /// How large indexes, archives and files of charts may be.
    pub chart_sizes: Sizes,
    /// Given flags of Flux's controllers that have no effect here.
    pub without_effect: Vec<&'static str>,
}

impl Settings {
    /// Returns whether tenants are isolated: then secrets of this process are never sent at a tenant's request.
    #[must_use]
    pub(crate) fn keeps_tenants_apart(&self) -> bool {
        self.no_cross_namespace_refs || self.kustomize.default_account.is_some()
    }
}

/// Where webhooks are received, and the tokens that prove them.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    pub address: ListenAddress,
    /// The Secret with their tokens.
    pub secret: ObjectName,
}

/// Where artifacts are stored and served, and for how long.
#[derive(Clone, Debug)]
pub struct ArtifactSettings {
    /// The address to listen at (`--storage-addr`).
    pub listen: String,
    /// The host in the URLs of artifacts.
    pub host: String,
    /// The retention of old artifacts.
    pub retention: Retention,
    /// The algorithm of digests.
    pub algorithm: Algorithm,
    /// Size limit of an artifact, in bytes.
    pub max_size: Option<u64>,
    /// Limit on the disk space of artifacts, in bytes.
    pub room: u64,
}

/// Hosts that replace those in the URLs of artifacts, for tests and processes outside of the cluster.
#[derive(Clone, Debug, Default)]
pub struct ArtifactHosts {
    /// `SOURCE_CONTROLLER_LOCALHOST`
    pub source_controller: Option<String>,
    /// `SOURCE_WATCHER_LOCALHOST`, for URLs with `//source-watcher`.
    pub source_watcher: Option<String>,
}

/// How Kustomizations are built, applied and waited for.
#[derive(Clone, Debug, Default)]
pub struct KustomizeSettings {
    /// Concurrent requests per Kustomization (`--concurrent-ssa`).
    pub concurrent_apply: usize,
    /// Retries of a failing artifact download (`--http-retry`).
    pub http_retry: u32,
    /// The hosts of artifacts in place of those in their URLs.
    pub artifact_hosts: ArtifactHosts,
    /// Whether bases outside of the artifact are refused (`--no-remote-bases`).
    pub no_remote_bases: bool,
    /// The ServiceAccount of Kustomizations that name none (`--default-service-account`).
    pub default_account: Option<String>,
    /// The ServiceAccount whose identity decrypts when none is named (`--default-decryption-service-account`).
    pub default_decryption_account: Option<String>,
    /// The ServiceAccount whose identity reaches other clusters when none is named
    /// (`--default-kubeconfig-service-account`).
    pub default_kubeconfig_account: Option<String>,
    /// The Secret with age keys for Kustomizations that have none (`--sops-age-secret`).
    pub age_secret: Option<ObjectName>,
    /// The ConfigMap with Vault servers at which ServiceAccounts may log in (`--sops-vault-configmap`).
    pub vault_config_map: Option<ObjectName>,
    /// Field managers whose changes are reverted (`--override-manager`).
    pub overridden_managers: Vec<String>,
    /// Field managers whose fields are taken over before the dry run (`--override-manager-before-dry-run`).
    pub overridden_before_dry_run: Vec<String>,
    /// Group and kind of objects that are applied after definitions and classes, and before the rest
    /// (`--custom-apply-stage-kinds`).
    pub stage_kinds: BTreeSet<(String, String)>,
    /// The labels of ConfigMaps and Secrets whose changes count at once (`--watch-configs-label-selector`).
    pub watched_configs: String,
    /// Whether kubeconfigs of Secrets may start programs (`--insecure-kubeconfig-exec`).
    pub kubeconfig_exec: bool,
    /// Whether kubeconfigs of Secrets may leave certificates unchecked (`--insecure-kubeconfig-tls`).
    pub kubeconfig_insecure: bool,
}

/// The leader election among processes, as in Flux's controllers.
#[derive(Clone, Debug)]
pub struct Election {
    /// The namespace of the leases.
    pub namespace: String,
    /// Who we are; no other process may say the same.
    pub identity: String,
    /// The label selector that objects are chosen by, which parts the leases too.
    pub labels: Option<String>,
    /// How long a lease is good for without being renewed.
    pub duration: Duration,
    /// How long the leader tries to renew it.
    pub renew_deadline: Duration,
    /// How often it is tried.
    pub retry: Duration,
    /// Whether it is given back at the end.
    pub release: bool,
}

impl Election {
    pub(crate) fn lease(&self, controller: &str) -> Lease {
        Lease {
            name: ObjectName::new(&self.namespace, lease_name(controller, self.labels.as_deref())),
            identity: self.identity.clone(),
            duration: self.duration,
            renew_deadline: self.renew_deadline,
            retry: self.retry,
        }
    }
}

/// Several processes that share the objects (`--shards`).
#[derive(Clone, Copy, Debug)]
pub struct ShardSettings {
    /// How many of them the first deal waits for, for a lease's time.
    pub expected: usize,
}

/// Which kinds are reconciled (`--controllers`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// `ImageRepository` and `ImagePolicy`.
    pub reflector: bool,
    /// `ImageUpdateAutomation`.
    pub automation: bool,
    /// `GitRepository`, `OCIRepository`, `Bucket`.
    pub source: bool,
    /// `Kustomization`.
    pub kustomize: bool,
    /// `HelmRepository` and `HelmChart`, beside the other sources.
    pub helm: bool,
    /// The pull requests of `GitRepository` (`--reviews`).
    pub reviews: bool,
}

impl Kinds {
    pub const NONE: Self = Self {
        reflector: false,
        automation: false,
        source: false,
        kustomize: false,
        helm: false,
        reviews: false,
    };

    /// All of them but those of Helm, which nobody needs who has no HelmReleases, and reviews.
    pub const ALL: Self = Self {
        reflector: true,
        automation: true,
        source: true,
        kustomize: true,
        helm: false,
        reviews: false,
    };

    /// Adds the kinds of a controller, by its name without `-controller`. Returns whether there is one of this name.
    pub fn add(&mut self, controller: &str) -> bool {
        match controller {
            "image-reflector" => self.reflector = true,
            "image-automation" => self.automation = true,
            "source" => self.source = true,
            "kustomize" => self.kustomize = true,
            "helm" => self.helm = true,
            _ => return false,
        }
        true
    }
}

/// Feature gates with Flux's names and defaults, and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// `GitShallowClone`
    pub shallow: bool,
    /// `GitForcePushBranch`
    pub force_push_branch: bool,
    /// `GitAllBranchReferences`, which says something where `GitForcePushBranch` is off (C30)
    pub all_branches: bool,
    /// `GitSparseCheckout` (N-023)
    pub sparse: bool,
    /// `CacheSecretsAndConfigMaps`
    pub cache_configs: bool,
    /// `RefspecAlsoPushesBranch` (C31)
    pub refspec_also_pushes_branch: bool,
    /// `AllowDroppedPushOptions` (docs/decisions.md, *push options unsupported*)
    pub allow_dropped_push_options: bool,
    /// `OverwriteMismatches` (docs/decisions.md, *what a field holds*)
    pub overwrite_mismatches: bool,
    /// `StrictPostBuildSubstitutions` (C17)
    pub strict_substitutions: bool,
    /// `AdditiveCELDependencyCheck`
    pub additive_dependency_check: bool,
    /// `CancelHealthCheckOnNewRevision`
    pub cancel_health_checks: bool,
    /// `DisableFailFastBehavior`
    pub no_fail_fast: bool,
    /// `GroupChangeLog`
    pub group_change_log: bool,
    /// `DisableConfigWatchers`
    pub no_config_watchers: bool,
    /// `ExternalArtifact`
    pub external_artifact: bool,
    /// `DirectSourceFetch`
    pub direct_source_fetch: bool,
    /// `MigrateAPIVersion`
    pub migrate_api_version: bool,
    /// `DisableCommitStatusEvent`
    pub no_commit_status_event: bool,
    /// `StrictFieldValidation` (docs/decisions.md, *unknown fields in built-in kinds*)
    pub strict_fields: bool,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            shallow: true,
            force_push_branch: true,
            all_branches: true,
            sparse: false,
            cache_configs: false,
            refspec_also_pushes_branch: false,
            allow_dropped_push_options: false,
            overwrite_mismatches: false,
            strict_substitutions: true,
            additive_dependency_check: false,
            cancel_health_checks: false,
            no_fail_fast: false,
            group_change_log: false,
            no_config_watchers: false,
            external_artifact: false,
            direct_source_fetch: false,
            migrate_api_version: false,
            no_commit_status_event: false,
            strict_fields: false,
        }
    }
}

/// Where the value of a gate is.
type Slot = fn(&mut Gates) -> &mut bool;

/// A gate by name.
struct Gate {
    name: &'static str,
    slot: Slot,
    /// The default of Flux's controllers; none for a gate of ours.
    flux: Option<bool>,
    effect: &'static str,
}

const GATES: &[Gate] = &[
    Gate {
        name: "GitShallowClone",
        slot: |gates| &mut gates.shallow,
        flux: Some(true),
        effect: "Fetch the tip of a branch without its history (IUA-032).",
    },
    Gate {
        name: "GitForcePushBranch",
        slot: |gates| &mut gates.force_push_branch,
        flux: Some(true),
        effect: "A push branch is the checked-out branch and one commit, and is replaced under a lease; off: edits are added to it (C30).",
    },
    Gate {
        name: "GitAllBranchReferences",
        slot: |gates| &mut gates.all_branches,
        flux: Some(true),
        effect: "With GitForcePushBranch=false: an existing push branch is continued; off: it begins at the checked-out branch again (C30).",
    },
    Gate {
        name: "GitSparseCheckout",
        slot: |gates| &mut gates.sparse,
        flux: Some(false),
        effect: "spec.update.path is taken as it is written: no link of the repository is followed on the way to it (N-023).",
    },
    Gate {
        name: "CacheSecretsAndConfigMaps",
        slot: |gates| &mut gates.cache_configs,
        flux: Some(false),
        effect: "Watch and cache Secrets and ConfigMaps; needs the rights to list and watch them, and memory for all that there are.",
    },
    Gate {
        name: "RefspecAlsoPushesBranch",
        slot: |gates| &mut gates.refspec_also_pushes_branch,
        flux: None,
        effect: "push.refspec without push.branch pushes the checked-out branch as well (C31).",
    },
    Gate {
        name: "AllowDroppedPushOptions",
        slot: |gates| &mut gates.allow_dropped_push_options,
        flux: None,
        effect: "Push options that the server does not support are dropped, as in Flux; off: an error before the push.",
    },
    Gate {
        name: "OverwriteMismatches",
        slot: |gates| &mut gates.overwrite_mismatches,
        flux: None,
        effect: "Marked fields are written whatever they hold and whatever becomes of a digest, as in Flux; off: a field that holds \
                 something else than its marker writes is left, and tag and digest change together.",
    },
    Gate {
        name: "StrictPostBuildSubstitutions",
        slot: |gates| &mut gates.strict_substitutions,
        flux: Some(true),
        effect: "A variable without value and default is an error; off: it is empty (C17).",
    },
    Gate {
        name: "AdditiveCELDependencyCheck",
        slot: |gates| &mut gates.additive_dependency_check,
        flux: Some(false),
        effect: "A readyExpr of spec.dependsOn is asked in addition to readiness, not in its place.",
    },
    Gate {
        name: "CancelHealthCheckOnNewRevision",
        slot: |gates| &mut gates.cancel_health_checks,
        flux: Some(false),
        effect: "A new revision of the source ends the health checks of the old one.",
    },
    Gate {
        name: "DisableFailFastBehavior",
        slot: |gates| &mut gates.no_fail_fast,
        flux: Some(false),
        effect: "Health checks go on until their timeout when an object has failed.",
    },
    Gate {
        name: "GroupChangeLog",
        slot: |gates| &mut gates.group_change_log,
        flux: Some(false),
        effect: "The log has the names of changed objects by action, not an entry for each object.",
    },
    Gate {
        name: "DisableConfigWatchers",
        slot: |gates| &mut gates.no_config_watchers,
        flux: Some(false),
        effect: "ConfigMaps and Secrets that an object refers to are not watched: their changes count at the next interval.",
    },
    Gate {
        name: "ExternalArtifact",
        slot: |gates| &mut gates.external_artifact,
        flux: Some(false),
        effect: "A Kustomization may have an ExternalArtifact as its source.",
    },
    Gate {
        name: "DirectSourceFetch",
        slot: |gates| &mut gates.direct_source_fetch,
        flux: Some(false),
        effect: "Sources are read from the API server at each reconciliation, not from the cache.",
    },
    Gate {
        name: "MigrateAPIVersion",
        slot: |gates| &mut gates.migrate_api_version,
        flux: Some(false),
        effect: "Managed fields of an older API version of an object are rewritten to the applied one.",
    },
    Gate {
        name: "DisableCommitStatusEvent",
        slot: |gates| &mut gates.no_commit_status_event,
        flux: Some(false),
        effect: "No event tells of each successful reconciliation, by which notification-controller sets the status of a commit.",
    },
    Gate {
        name: "StrictFieldValidation",
        slot: |gates| &mut gates.strict_fields,
        flux: None,
        effect: "Unknown fields in built-in kinds are an error; off: they are dropped with a warning event.",
    },
];

/// Gates of Flux that say nothing here, or nothing yet: accepted without effect (docs/decisions.md,
/// *gates of Flux that mean nothing here*).
const WITHOUT_EFFECT: &[&str] = &[
    "FluxStorage",
    "DisableStatusPollerCache",
    "CustomApplyStageKinds",
    "OCIArtifact",
    "CacheHelmIndex",
    "ObjectLevelWorkloadIdentity",
];

/// A gate as documents have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateDescription {
    pub name: &'static str,
    pub default: bool,
    /// The default of Flux's controllers; none for a gate of ours.
    pub flux: Option<bool>,
    /// What it does when it is on.
    pub effect: &'static str,
}

/// A gate that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGate {
    /// Not `NAME=true` or `NAME=false`.
    #[error("--feature-gates {0:?}: expected NAME=true or NAME=false")]
    Malformed(String),
    /// No gate has this name.
    #[error("--feature-gates: unknown gate {name:?}; known are {known}")]
    Unknown {
        name: String,
        /// Those that there are.
        known: String,
    },
}

impl Gates {
    /// Sets gates from `A=true,B=false`; later ones win.
    pub fn set(&mut self, text: &str) -> Result<(), InvalidGate> {
        for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let malformed = || InvalidGate::Malformed(one.to_owned());
            let (name, value) = one.split_once('=').ok_or_else(malformed)?;
            let value = match value.trim() {
                "true" | "True" | "TRUE" | "1" | "t" | "T" => true,
                "false" | "False" | "FALSE" | "0" | "f" | "F" => false,
                _ => return Err(malformed()),
            };
            let name = name.trim();
            match self.slot(name) {
                Some(slot) => *slot = value,
                None if WITHOUT_EFFECT.contains(&name) => {}
                None => {
                    return Err(InvalidGate::Unknown {
                        name: name.to_owned(),
                        known: Self::known(),
                    });
                }
            }
        }
        Ok(())
    }

    fn slot(&mut self, name: &str) -> Option<&mut bool> {
        let gate = GATES.iter().find(|gate| gate.name == name)?;
        Some((gate.slot)(self))
    }

    /// All gates that have an effect, and their defaults.
    #[must_use]
    pub fn describe() -> Vec<GateDescription> {
        let mut defaults = Self::default();
        let described = GATES.iter().map(|gate| GateDescription {
            name: gate.name,
            default: *(gate.slot)(&mut defaults),
            flux: gate.flux,
            effect: gate.effect,
        });
        described.collect()
    }

    /// The gates of Flux that are accepted without effect.
    #[must_use]
    pub const fn without_effect() -> &'static [&'static str] {
        WITHOUT_EFFECT
    }

    fn known() -> String {
        let names = GATES.iter().map(|gate| gate.name);
        let names: Vec<&str> = names.chain(WITHOUT_EFFECT.iter().copied()).collect();
        names.join(", ")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn gates_add_up_and_unknown_ones_are_named() {
        let mut gates = Gates::default();
        gates.set("GitForcePushBranch=false,FluxStorage=true").unwrap();
        gates.set("RefspecAlsoPushesBranch=true").unwrap();
        assert!(!gates.force_push_branch && gates.refspec_also_pushes_branch && gates.shallow);
        let unknown = gates.set("GitShalowClone=true").unwrap_err().to_string();
        assert!(
            unknown.contains("\"GitShalowClone\"") && unknown.contains("GitShallowClone"),
            "{unknown}"
        );
        assert!(gates.set("GitShallowClone").is_err());
        assert!(gates.set("GitShallowClone=maybe").is_err());
    }

    #[test]
    fn each_gate_is_a_field_of_its_own() {
        let default = format!("{:?}", Gates::default());
        let mut fields = std::collections::BTreeSet::new();
        for gate in GATES {
            let mut gates = Gates::default();
            let value = !*(gate.slot)(&mut gates);
            gates.set(&format!("{}={value}", gate.name)).unwrap();
            let changed = format!("{gates:?}");
            let pairs = default.split(',').zip(changed.split(','));
            fields.extend(pairs.filter(|(old, new)| old != new).map(|(old, _)| old));
        }
        assert_eq!(fields.len(), GATES.len());
    }
}
