//! What a cluster would have that reconciles a folder of a repository: its Kustomizations, built as their controller does, those that
//! come out of them, and so on to the end. No cluster and no checkout are needed.
//!
//! - [`view`]: from an entry to a [`Fleet`].
//! - [`Repository`] and [`Outside`]: the files, and what comes from elsewhere.
//! - [`Memo`]: builds that are known already, for several clusters and for revisions that differ little.
//! - [`Changed`]: a repository with other bytes in some files: the commit before it is pushed.

mod build;
pub mod diff;
mod entry;
mod memo;
mod repository;
mod settings;
mod source;
mod view;
mod walk;

pub use entry::{clean, entries};
pub use memo::Memo;
pub use repository::{Changed, Outside, Reads, Repository};
pub use settings::{KUSTOMIZATIONS, OBJECTS, Settings};
pub use source::{Identity, Source, SourceObject};
pub use view::{Fleet, FleetObject, MissingReference, Node, Problem, Product};
pub use walk::view;
