//! Policies whose registry is not asked: their status has the previous choice.

use std::fmt;
use std::sync::Arc;

use super::find::{Finding, Problem, Subject};
use bumpwright_api::{ImagePolicy, ImageRepository, ObjectName};
use bumpwright_edit::Reason;
use bumpwright_gostd::Time;

/// The source of a policy's choice, as in `update`.
#[derive(Debug)]
pub enum Shown {
    /// A scan of this repository.
    Registry(Arc<ImageRepository>),
    Status(Unasked),
}

/// Why a registry is not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// Registries are not used.
    Offline,
    /// The policy is suspended.
    Suspended,
    /// The policy refers to no repository; it may only carry a status.
    NoRepository,
    /// Its repository is unknown.
    Absent {
        name: ObjectName,
        /// The one that was probably meant.
        near: Option<String>,
    },
    /// Its repository is suspended.
    RepositorySuspended(ObjectName),
}

impl Shown {
    /// The source of this policy's choice.
    #[must_use]
    pub fn of(subject: &Subject, online: bool) -> Self {
        let suspended = subject.policy.spec.as_ref().is_some_and(|spec| spec.suspend);
        Self::Status(match (&subject.repository, subject.policy.repository()) {
            _ if !online => Unasked::Offline,
            _ if suspended => Unasked::Suspended,
            (Some(repository), _) if repository.spec.suspend => Unasked::RepositorySuspended(repository.name()),
            (Some(repository), _) => return Self::Registry(Arc::clone(repository)),
            (None, Some(name)) => Unasked::Absent {
                name,
                near: subject.near.clone(),
            },
            (None, None) => Unasked::NoRepository,
        })
    }
}

impl fmt::Display for Unasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offline => f.write_str("no registry is asked"),
            Self::Suspended => f.write_str("it is suspended"),
            Self::NoRepository => f.write_str("it names no ImageRepository"),
            Self::Absent { name, near } => {
                let near = near
                    .as_ref()
                    .map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
                write!(f, "its ImageRepository {name} is not among the manifests{near}")
            }
            Self::RepositorySuspended(name) => write!(f, "its ImageRepository {name} is suspended"),
        }
    }
}

/// Takes the choice from the status.
pub(super) fn of_status(finding: &mut Finding, policy: &ImagePolicy, why: &Unasked, now: &Time) {
    let not_ready = |message: &dyn fmt::Display| Some(Problem::new(Reason::PolicyNotReady, message));
    let image = match policy.latest_ref() {
        Ok(Some(image)) => image,
        Ok(None) => {
            finding.problem = not_ready(&format!("{why}, and it has no status.latestRef"));
            return;
        }
        Err(error) => {
            // It was a note as long as a registry could be asked instead.
            finding.notes.clear();
            finding.problem = not_ready(&error);
            return;
        }
    };
    finding.image.get_or_insert_with(|| image.name.clone());
    match (image.check_version(), policy.guards()) {
        (Err(error), _) => finding.problem = not_ready(&error),
        (_, Err(error)) => finding.problem = not_ready(&error),
        (Ok(()), Ok(guards)) => {
            // The age of an image from a status is unknown.
            let refusals = [
                guards.check_hold(now),
                guards.check_age(None, now),
                guards.check_without_cluster(),
                guards.check_failed(&image),
                guards.check_window(now),
                guards.check_unasked(),
            ];
            finding.guards = refusals.into_iter().filter_map(Result::err).collect();
            finding.choice = Some(image);
        }
    }
    if *why != Unasked::Offline {
        let name = policy.policy_name();
        finding
            .notes
            .push(format!("ImagePolicy {name}: {why}; what is shown is its status"));
    }
}
