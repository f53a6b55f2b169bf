//! Server-side apply of built objects: the part of Flux's kustomize-controller that applies, prunes and keeps the
//! inventory (Kustomization v1 and v1beta1; fluxcd/pkg `ssa`).
//!
//! ```text
//! objects ─▶ item (labels, normalize)
//!         ─▶ stages: recall (memory) ─▶ look (dry run, drift) ─▶ inventory ─▶ write ─▶ readiness
//! ```
//!
//! No object of a stage is written before the server has accepted all of them. A reconciliation without changes costs
//! one list of versions per kind, and no request per object.

mod error;
mod inventory;
mod look;
mod memory;
mod object;
mod preview;
mod prune;
mod readiness;
mod run;
mod settings;
mod stage;
mod write;

pub use error::{
    ApplyError, Cause, Failed, IgnoreRuleError, PruneError, Refusal, Refusals, TerminationError, TerminationProblem,
};
pub use inventory::{Entry, Inventory};
pub use look::admission::refusals;
pub use look::change::{Action, Change, ChangeSet};
pub use look::takeover::{Snapshot, TakenOver};
pub use memory::applied::Memory;
pub use memory::folder::{MemoryFolder, MemoryOwner};
pub use object::identity::InvalidId;
pub use object::item::{Desired, Dropped};
pub use object::order::parse_stage_kinds;
pub use object::status::{status_in, status_of};
pub use preview::{Preview, as_applied, preview};
pub use prune::{prune, terminated};
pub use run::{Applied, InventoryStore, StoreError, apply};
pub use settings::Settings;
