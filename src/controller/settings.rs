//! What flags and feature gates say, resolved.

use std::path::PathBuf;
use std::time::Duration;

use super::queue::Backoff;
use crate::api::ObjectName;
use crate::cloud::TokenCacheLimits;
use crate::cluster::{Lease, Scope, lease_name};
use crate::observe::{ListenAddress, LogOptions};
use crate::storage::{Algorithm, Retention};

/// Everything that can be set about the controllers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which kinds are reconciled.
    pub kinds: Kinds,
    /// Where mirrors and tags are kept.
    pub storage: PathBuf,
    /// Which objects are watched.
    pub scope: Scope,
    /// How many objects of a kind are worked on at once.
    pub concurrent: usize,
    /// The pauses between attempts that fail.
    pub backoff: Backoff,
    /// How soon an object is looked at again whose dependency is not ready.
    pub requeue_dependency: Duration,
    /// How much intervals vary, in percent.
    pub jitter: u8,
    /// Whether objects of other namespaces may be named.
    pub no_cross_namespace_refs: bool,
    /// Feature gates.
    pub gates: Gates,
    /// The ServiceAccount whose identity at a cloud counts for objects that name none (`--default-workload-service-account`).
    pub default_account: Option<String>,
    /// Whether `--default-service-account` is given, which Flux' image controllers read as the above, and we do not.
    pub lockdown_elsewhere: bool,
    /// How many tokens of clouds and forges are kept, and for how long.
    pub tokens: TokenCacheLimits,
    /// Leader election; without it this process acts at once.
    pub election: Option<Election>,
    /// How much is logged, and how.
    pub log: LogOptions,
    /// Where metrics are served.
    pub metrics_addr: ListenAddress,
    /// Where probes are answered.
    pub health_addr: ListenAddress,
    /// Webhooks; without it none are served.
    pub webhooks: Option<WebhookSettings>,
    /// How artifacts are kept and served; None when no source is reconciled.
    pub artifacts: Option<ArtifactSettings>,
    /// Where events are posted to.
    pub events: Option<String>,
    /// Key exchange algorithms for SSH.
    pub ssh_kex: Option<Vec<String>>,
    /// Host key algorithms for SSH.
    pub ssh_host_keys: Option<Vec<String>>,
}

/// How webhooks are served.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// Where.
    pub address: ListenAddress,
    /// The Secret with the tokens that prove them.
    pub secret: ObjectName,
}

/// How artifacts are kept and served.
#[derive(Clone, Debug)]
pub struct ArtifactSettings {
    /// The address to listen at (`--storage-addr`).
    pub listen: String,
    /// The host in the addresses of artifacts.
    pub host: String,
    /// Which old artifacts are kept.
    pub retention: Retention,
    /// How digests are made.
    pub algorithm: Algorithm,
    /// The most bytes that an artifact may have.
    pub max_size: Option<u64>,
}

/// Leader election.
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
    pub(super) fn lease(&self, controller: &str) -> Lease {
        Lease {
            name: ObjectName::new(&self.namespace, lease_name(controller, self.labels.as_deref())),
            identity: self.identity.clone(),
            duration: self.duration,
            renew_deadline: self.renew_deadline,
            retry: self.retry,
        }
    }
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
}

impl Kinds {
    /// Those that are reconciled unless `--controllers` says otherwise.
    pub const DEFAULT: Self = Self {
        reflector: true,
        automation: true,
        source: false,
    };
}

/// Feature gates with Flux's names and defaults, and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// `GitShallowClone`
    pub shallow: bool,
    /// `GitForcePushBranch`
    pub force_push_branch: bool,
    /// `GitAllBranchReferences`
    pub all_branches: bool,
    /// `GitSparseCheckout`
    pub sparse: bool,
    /// `ObjectLevelWorkloadIdentity`
    pub object_level_identity: bool,
    /// `RefspecAlsoPushesBranch` (C31)
    pub refspec_also_pushes_branch: bool,
    /// `AllowDroppedPushOptions` (DECISIONS, *push options unsupported*)
    pub allow_dropped_push_options: bool,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            shallow: true,
            force_push_branch: true,
            all_branches: true,
            sparse: false,
            object_level_identity: false,
            refspec_also_pushes_branch: false,
            allow_dropped_push_options: false,
        }
    }
}

/// Gates of Flux that say nothing here, or nothing yet: accepted without effect (DECISIONS).
const WITHOUT_EFFECT: &[&str] = &[
    "CacheSecretsAndConfigMaps",
    "FluxStorage",
    "StrictPostBuildSubstitutions",
    "AdditiveCELDependencyCheck",
    "CancelHealthCheckOnNewRevision",
    "DisableStatusPollerCache",
    "DisableFailFastBehavior",
    "GroupChangeLog",
    "DisableConfigWatchers",
    "ExternalArtifact",
    "DirectSourceFetch",
    "MigrateAPIVersion",
    "CustomApplyStageKinds",
    "StrictFieldValidation",
    "OCIArtifact",
    "CacheHelmIndex",
];

/// A gate that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGate {
    /// Not `NAME=true` or `NAME=false`.
    #[error("--feature-gates {0:?}: expected NAME=true or NAME=false")]
    Malformed(String),
    /// No gate has this name.
    #[error("--feature-gates: unknown gate {name:?}; known are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
}

impl Gates {
    /// Sets gates from `A=true,B=false`; later ones win.
    ///
    /// # Errors
    /// [`InvalidGate`]
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
        Some(match name {
            "GitShallowClone" => &mut self.shallow,
            "GitForcePushBranch" => &mut self.force_push_branch,
            "GitAllBranchReferences" => &mut self.all_branches,
            "GitSparseCheckout" => &mut self.sparse,
            "ObjectLevelWorkloadIdentity" => &mut self.object_level_identity,
            "RefspecAlsoPushesBranch" => &mut self.refspec_also_pushes_branch,
            "AllowDroppedPushOptions" => &mut self.allow_dropped_push_options,
            _ => return None,
        })
    }

    fn known() -> String {
        let mut names = vec![
            "GitShallowClone",
            "GitForcePushBranch",
            "GitAllBranchReferences",
            "GitSparseCheckout",
            "ObjectLevelWorkloadIdentity",
            "RefspecAlsoPushesBranch",
            "AllowDroppedPushOptions",
        ];
        names.extend(WITHOUT_EFFECT);
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
}
