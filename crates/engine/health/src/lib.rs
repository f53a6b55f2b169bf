//! The status of an object of a cluster by the rules of kstatus, and the outcome of a wait for many of them.
//!
//! ```text
//! object as JSON ─▶ compute (kstatus) ─▶ Health ─▶ Wait (one for each set of objects) ─▶ waiting, done, failed
//! ```
//!
//! | to do | call |
//! |---|---|
//! | the status of an object | [`compute`] |
//! | the same with Flux's rules for waits: Jobs must end, failed pods fail their owners | [`assess`] |
//! | when a set of objects is ready, and the error when it is not | [`Wait`] |
//!
//! The rules and texts are those of kstatus in fluxcd/cli-utils v1.2, of the status readers in fluxcd/pkg/runtime and
//! of `WaitForSet` in fluxcd/pkg/ssa. Documents: *Health checks* and *Wait* of the Kustomization API (K-045
//! to K-060). The caller polls the cluster.
//!
//! ```
//! use bumpwright_gostd::Time;
//! use bumpwright_health::{Status, compute};
//!
//! let status = serde_json::json!({"phase": "Pending"});
//! let claim = serde_json::json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": status});
//! let health = compute(&claim, &Time::unix(1_760_000_000, 0))?;
//! assert_eq!(health.status, Status::InProgress);
//! assert_eq!(health.message, "PVC is not Bound. phase: Pending");
//! # Ok::<(), bumpwright_health::HealthError>(())
//! ```

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod condition;
mod field;
mod generic;
mod go_value;
mod job;
mod kind;
mod pods;
mod replicas;
mod status;
mod wait;

pub use field::{AccessError, HealthError};
pub use generic::compute;
pub use pods::{PodOwner, assess, pod_owner};
pub use status::{Condition, Health, Status};
pub use wait::{Observed, Progress, Unready, Wait, Why};
