//! What a cluster would have that reconciles a folder of a repository: its Kustomizations, built as their controller
//! does, those that come out of them, and so on to the end. No cluster and no checkout are needed.
//!
//! - [`view`]: from an entry to a [`Fleet`].
//! - [`Repository`] and [`Outside`]: the files, and what comes from elsewhere; [`SourceFiles`] are those of a
//!   commit or an image.
//! - [`check`]: what would go wrong in it.
//! - [`Memo`]: builds that are known already, for several clusters and for revisions that differ little.
//! - [`Changed`]: a repository with other bytes in some files: the commit before it is pushed.
//! - [`FleetVerifier`]: what the edits of an update change in the fleets, and whether they still build.
//! - [`review`]: two states of the clusters, compared: what differs, what restarts, and which findings are new.
//! - [`DryRuns`]: the API servers that are asked about it.

mod behind;
mod beside;
mod build;
mod changes;
mod check;
mod copied;
mod dead;
pub mod diff;
mod entry;
mod files;
mod followed;
mod generator;
mod glob;
mod hashed_name;
mod image_values;
mod images;
mod impact;
mod instance;
mod memo;
mod reads;
mod rebuild;
mod release;
mod repository;
mod review;
mod search;
mod server;
mod settings;
mod source;
mod sources;
mod verify;
mod view;
mod walk;

pub use build::is_masked;
pub use check::{CheckSettings, UnmatchedPatch, check, checked, is_unmatched_patch, unmatched_patches};
pub use entry::entries;
pub use files::SourceFiles;
pub use files::clean;
pub use image_values::{GeneratedValues, image_values};
pub use memo::Memo;
pub use reads::Reads;
pub use release::inputs::differing;
pub use repository::{Changed, Outside, Repository};
pub use repository::{ChartError, RepositoryChart};
pub use review::{ClusterChange, Review, State, aligned, review, review_cluster};
pub use server::{Asker, DryRun, DryRuns, NotAsked, asked, judged};
pub use settings::{Charts, GivenSource, KUSTOMIZATIONS, LeftOutReleases, OBJECTS, RenderedReleases, Settings};
pub use source::{Identity, Source, SourceObject};
pub use verify::{FleetVerifier, Verification};
pub use view::{Fleet, FleetObject, MissingReference, Node, Problem, Product, ReleaseSummary};
pub use walk::{ClusterObjects, Walked, both, view, view_cluster, walked};
