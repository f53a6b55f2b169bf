//! Errors of applying and pruning. First lines are Flux's (fluxcd/pkg `ssa`, *errors*).

use std::fmt;
use std::sync::Arc;

use super::inventory::{Entry, Inventory};
use super::look::change::ChangeSet;
use super::object::item::Dropped;
use bumpwright_api::ObjectId;
use bumpwright_kube::ClusterError;
use bumpwright_kustomize::replace::SelectorError;

/// Objects that cannot be applied. No object of their stage was applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A rule of `.spec.ignore` is not valid.
    #[error("failed to create ignore rule selector: {0}")]
    IgnoreRule(#[source] Box<IgnoreRuleError>),
    /// A Secret is still encrypted by SOPS.
    #[error("{0} is SOPS encrypted, configuring decryption is required for this secret to be reconciled")]
    Encrypted(String),
    /// An object of another kind is.
    #[error("{0} is SOPS encrypted, configuring decryption is required for this object to be reconciled")]
    EncryptedObject(String),
    /// A Secret has a value that SOPS encrypted and nothing has decrypted.
    #[error(
        "{field} holds what SOPS encrypted, and nothing decrypts it: {why}; if another program does, set the \
         annotation kustomize.toolkit.fluxcd.io/decrypt: Disabled"
    )]
    Ciphertext {
        /// The Secret and its field, such as `Secret/apps/web: data.password`.
        field: String,
        /// Why nothing has decrypted it.
        why: &'static str,
    },
    /// The server's dry run refused objects of a stage.
    #[error(transparent)]
    Refused(#[from] Refusals),
    /// The server refuses an apply that it accepted as a dry run.
    #[error("{subject} {step}: {error}")]
    Write {
        subject: String,
        /// The operation that failed.
        step: &'static str,
        error: Box<ClusterError>,
    },
    /// An object to be recreated is not deleted in time.
    #[error("{subject} immutable field detected, failed to wait for object to be deleted: context deadline exceeded")]
    Stays { subject: String },
    /// The versions of the objects of a kind are not known, as the server does not answer.
    #[error(
        "the API server did not answer the list of {what}, so what has changed is not known; nothing of this stage was written: {error}"
    )]
    Unlisted {
        /// The kind with its group, and the place: `Deployment.apps in namespace shop`.
        what: String,
        /// The server's last error.
        error: Arc<ClusterError>,
    },
    /// Objects that later stages depend on are not ready in time.
    #[error("timeout waiting for: [{0}]")]
    NotReady(String),
    /// The inventory could not be stored before the objects were applied.
    #[error("failed to update the inventory before applying: {0}")]
    Inventory(String),
}

impl ApplyError {
    pub(super) fn write(id: &ObjectId, step: &'static str, error: ClusterError) -> Self {
        Self::Write {
            subject: id.to_string(),
            step,
            error: Box::new(error),
        }
    }
}

/// Whom or what a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The object: its schema, admission control, a quota.
    Object,
    /// Its namespace or kind, which does not exist.
    Missing,
    /// The account, which has no right to write it.
    NoRight,
    /// Our own account, which may not act as the one of the Kustomization.
    NotImpersonated,
    /// The server: it was not reached, is too busy, or refuses the login.
    Server,
}

impl Cause {
    pub(super) fn of(error: &ClusterError) -> Self {
        match error {
            ClusterError::NoMatch { .. } => Self::Missing,
            error if error.is_not_found() => Self::Missing,
            error if error.is_not_impersonated() => Self::NotImpersonated,
            error if error.lacks_right() => Self::NoRight,
            ClusterError::Refused { code: 401 | 429, .. } => Self::Server,
            error if error.is_transient() => Self::Server,
            ClusterError::Refused { .. } | ClusterError::Conflict(_) | ClusterError::Name(_) => Self::Object,
            _ => Self::Server,
        }
    }
}

/// An object that the server refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it is about.
    pub cause: Cause,
    pub id: ObjectId,
    /// Flux's message.
    pub message: String,
    /// Its place in the source, if known.
    pub origin: Option<String>,
}

impl Refusal {
    /// The message for a failed dry run (fluxcd/pkg `ssa/errors`, `DryRunErr`).
    pub(super) fn of(id: &ObjectId, origin: Option<String>, error: &ClusterError) -> Self {
        let subject = id;
        let message = if error.is_not_found() && id.name.namespace.is_empty() {
            format!("{subject} namespace not specified: {error}")
        } else if error.is_not_found() {
            format!("{subject} not found: {error}")
        } else {
            match error.reason() {
                "" => format!("{subject} dry-run failed: {error}"),
                reason => format!("{subject} dry-run failed ({reason}): {error}"),
            }
        };
        Self {
            cause: Cause::of(error),
            id: id.clone(),
            message,
            origin,
        }
    }
}

/// All refused objects of a stage; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Refusals(pub Vec<Refusal>);

/// The first one as Flux names it, then its place, and the others.
impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, refusal) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}", refusal.message)?;
            if let Some(origin) = &refusal.origin {
                write!(f, "\n  in {origin}")?;
            }
        }
        Ok(())
    }
}

/// A failed apply, with what was done before it failed.
#[derive(Debug)]
pub struct Failed {
    pub error: ApplyError,
    /// The actions of the stages before.
    pub done: ChangeSet,
    /// The inventory with all objects that may exist now: the previous one, and those of the stages that were begun.
    pub inventory: Inventory,
    /// Fields that were not applied.
    pub dropped: Vec<Dropped>,
}

impl std::error::Error for Failed {}

/// The message of Flux's `Ready` condition: the failure, followed by a line for each changed object.
impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        let refused = &self.error;
        if matches!(
            refused,
            ApplyError::Encrypted(_) | ApplyError::EncryptedObject(_) | ApplyError::Ciphertext { .. }
        ) {
            return Ok(());
        }
        let changed = self.done.changed();
        if changed.is_empty() {
            writeln!(f)
        } else {
            writeln!(f, "\n{changed}")
        }
    }
}

/// A rule of `.spec.ignore` is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreRuleError {
    /// A pattern is not a regular expression.
    #[error("invalid {field} regex: {problem}")]
    Pattern {
        /// The field of the target.
        field: &'static str,
        /// What is wrong with it.
        #[source]
        problem: bumpwright_re2::Error,
    },
    /// A selector is not one.
    #[error("invalid {field} selector: {problem}")]
    Selector {
        /// What it selects by.
        field: &'static str,
        /// What is wrong with it.
        #[source]
        problem: SelectorError,
    },
    /// All patterns together would take too much memory.
    #[error("the patterns of all rules take more than {most} MiB; repeat less in them")]
    TooLarge {
        /// What they may take.
        most: usize,
    },
}

impl From<IgnoreRuleError> for ApplyError {
    fn from(error: IgnoreRuleError) -> Self {
        Self::IgnoreRule(Box::new(error))
    }
}

/// A deleted object is not known to be gone.
#[derive(Debug, thiserror::Error)]
#[error("{id} termination timeout: {problem}")]
pub struct TerminationError {
    pub id: ObjectId,
    #[source]
    pub problem: TerminationProblem,
}

/// Why it is not known.
#[derive(Debug, thiserror::Error)]
pub enum TerminationProblem {
    #[error("context deadline exceeded")]
    Exists,
    /// The server does not say.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// Objects that could not be deleted.
#[derive(Debug, thiserror::Error)]
#[error("delete failed, errors: {}", joined(.failures))]
pub struct PruneError {
    /// The actions, as far as they are known.
    pub done: ChangeSet,
    /// The objects that still exist, to be kept in the inventory.
    pub survivors: Vec<Entry>,
    /// An error message for each.
    pub failures: Vec<String>,
}

fn joined(failures: &[String]) -> String {
    failures.iter().map(|failure| format!("{failure};")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(code: u16, message: &str) -> Cause {
        Cause::of(&ClusterError::Refused {
            code,
            reason: String::new(),
            message: message.to_owned(),
        })
    }

    /// Messages of Kubernetes 1.34.
    #[test]
    fn admission_control_and_authorization_forbid_in_other_words() {
        let account =
            r#"User "system:serviceaccount:shop:deployer" cannot patch resource "deployments" in API group "apps""#;
        let own = r#"User "system:serviceaccount:fs:bumpwright" cannot impersonate resource "serviceaccounts" in API group """#;
        for (code, message, expected) in [
            (
                403,
                format!(r#"deployments.apps "web" is forbidden: {account} in the namespace "shop""#),
                Cause::NoRight,
            ),
            (
                403,
                format!(r#"serviceaccounts "deployer" is forbidden: {own}"#),
                Cause::NotImpersonated,
            ),
            (
                403,
                r#"pods "web" is forbidden: exceeded quota: pods"#.to_owned(),
                Cause::Object,
            ),
            (422, "field is immutable".to_owned(), Cause::Object),
            (404, r#"namespaces "shop" not found"#.to_owned(), Cause::Missing),
            (401, "Unauthorized".to_owned(), Cause::Server),
            (429, "too many requests".to_owned(), Cause::Server),
            (504, "timeout".to_owned(), Cause::Server),
        ] {
            assert_eq!(cause(code, &message), expected, "{message}");
        }
        assert_eq!(
            Cause::of(&ClusterError::Unreachable("refused".to_owned())),
            Cause::Server
        );
    }
}
