//! What can go wrong when objects are applied or pruned. First lines are Flux's (fluxcd/pkg `ssa`, *errors*).

use std::fmt;

use super::change::ChangeSet;
use super::inventory::{Entry, Inventory};
use super::item::Dropped;
use bumpwright_api::ObjectId;
use bumpwright_kube::ClusterError;

/// Objects that cannot be applied. Nothing of their stage was.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A rule of `.spec.ignore` is wrong.
    #[error("failed to create ignore rule selector: {0}")]
    IgnoreRule(String),
    /// A Secret is what SOPS wrote.
    #[error("{0} is SOPS encrypted, configuring decryption is required for this secret to be reconciled")]
    Encrypted(String),
    /// The server would refuse objects of a stage.
    #[error(transparent)]
    Refused(#[from] Refusals),
    /// The server refuses what it would have accepted.
    #[error("{subject} {step}: {error}")]
    Write {
        /// The object.
        subject: String,
        /// What failed.
        step: &'static str,
        /// The server's words.
        error: Box<ClusterError>,
    },
    /// An object that is to be made again does not go.
    #[error("{subject} immutable field detected, failed to wait for object to be deleted: context deadline exceeded")]
    Stays {
        /// The object.
        subject: String,
    },
    /// What later stages need is not there in time.
    #[error("timeout waiting for: [{0}]")]
    NotReady(String),
    /// The inventory could not be written before the objects were.
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

/// An object that the server would refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The object.
    pub id: ObjectId,
    /// The words of Flux.
    pub message: String,
    /// Where it is written, if that is known.
    pub origin: Option<String>,
}

impl Refusal {
    /// Puts a dry run's failure into words (fluxcd/pkg `ssa/errors`, `DryRunErr`).
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
            id: id.clone(),
            message,
            origin,
        }
    }
}

/// All objects of a stage that the server would refuse; never none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Refusals(pub Vec<Refusal>);

/// The first one as Flux names it; below it where that is written, and the others.
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

/// An apply that did not get to its end.
#[derive(Debug)]
pub struct Failed {
    /// Why.
    pub error: ApplyError,
    /// What the stages before have done.
    pub done: ChangeSet,
    /// The inventory with all objects that may be there now: what it was before, and those of the stages that were begun.
    pub inventory: Inventory,
    /// Fields that were not applied.
    pub dropped: Vec<Dropped>,
}

impl std::error::Error for Failed {}

/// The message of Flux's `Ready` condition: below the failure, a line for each object that was changed.
impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        if matches!(self.error, ApplyError::Encrypted(_)) {
            return Ok(());
        }
        let changed = self.done.changed();
        match changed.is_empty() {
            true => writeln!(f),
            false => writeln!(f, "\n{changed}"),
        }
    }
}

/// Objects that could not be deleted.
#[derive(Debug, thiserror::Error)]
#[error("delete failed, errors: {}", joined(.failures))]
pub struct PruneError {
    /// What was done for each object, as far as it is known.
    pub done: ChangeSet,
    /// The objects that are there still, to be kept in the inventory.
    pub survivors: Vec<Entry>,
    /// The words for each.
    pub failures: Vec<String>,
}

fn joined(failures: &[String]) -> String {
    failures.iter().map(|failure| format!("{failure};")).collect()
}
