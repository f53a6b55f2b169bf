//! The rollout of the images that an automation pushed: how far its Kustomizations are, which of them failed, and what
//! may be reverted (docs/guides/rollouts.md).
//!
//! A [`Record`] is kept on the automation. Each look at the cluster ([`Seen`]) takes it a step further
//! ([`Record::step`]); what Git says of a revision comes from the caller ([`Revisions`]).
//!
//! What the workloads of a Kustomization run in good health, and since when, is a [`Proof`]
//! for other stages (docs/guides/promotion.md).

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod blame;
mod proven;
#[cfg(test)]
mod proven_tests;
mod record;
mod releases;
mod seen;
mod step;
mod told;

pub use blame::{Blame, failing_workloads};
pub use proven::{Inventory, MOST_PODS, NotReady, PodError, Proof, Unproven, Version, Workload, runs};
pub use record::{Failing, Follower, Handled, HeldImage, Pushed, PutBack, Record, Retry, TooLarge};
pub use releases::{FollowedRelease, ReleaseState};
pub use seen::{Holds, KustomizationState, Revisions, Seen};
pub use step::{Failure, Limits, Stage, StageReached, Step};
pub use told::{Phase, Summary, short};
