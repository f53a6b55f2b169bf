//! Server-side apply of built objects: the part of Flux's kustomize-controller that applies, prunes and keeps the
//! inventory (Kustomization v1 and v1beta1; fluxcd/pkg `ssa`).
//!
//! ```text
//! objects ─▶ item (labels, normalize) ─▶ stages: recall (memory) ─▶ look (dry run, drift) ─▶ inventory ─▶ write ─▶ readiness
//! ```
//!
//! No object of a stage is written before the server has accepted all of them. A reconciliation without changes costs
//! one list of versions per kind, and no request per object.

mod admission;
mod change;
mod coming;
mod digest;
mod drift;
mod error;
mod identity;
mod ignore;
mod inventory;
mod item;
mod look;
mod managers;
mod memory;
mod memory_folder;
mod metadata;
mod normalize;
mod order;
mod preview;
mod prune;
mod readiness;
mod recall;
mod run;
mod settings;
mod stage;
mod status;
mod takeover;
mod unknown_fields;
mod write;

pub use admission::refusals;
pub use change::{Action, Change, ChangeSet};
pub use error::{ApplyError, Cause, Failed, PruneError, Refusal, Refusals};
pub use identity::InvalidId;
pub use inventory::{Entry, Inventory};
pub use item::{Desired, Dropped};
pub use memory::Memory;
pub use memory_folder::{MemoryFolder, MemoryOwner};
pub use order::parse_stage_kinds;
pub use preview::{Preview, as_applied, preview};
pub use prune::{prune, terminated};
pub use run::{Applied, InventoryStore, apply};
pub use settings::Settings;
pub use status::{status_in, status_of};
pub use takeover::{Snapshot, TakenOver};
