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

mod automation;
mod beside;
mod build;
mod changes;
mod check;
pub mod diff;
mod refused;
mod release;
mod review;
mod schemas;
mod secrets;
mod source;
mod verify;

pub use build::entry::{entries, kustomization_folders, overlays};
pub use build::memo::Memo;
pub use build::one::is_masked;
pub use build::reads::Reads;
pub use build::settings::{Charts, GivenSource, KUSTOMIZATIONS, LeftOutReleases, OBJECTS, RenderedReleases, Settings};
pub use build::view::{BuildFailure, Fleet, FleetObject, MissingReference, Node, Problem, Product, ReleaseSummary};
pub use build::walk::{ClusterObjects, NoEntry, Walked, both, view, view_cluster, walked};
pub use changes::ImageRegistries;
pub use check::{
    CheckSettings, UnmatchedPatch, UnseenObjects, check, checked, is_unmatched_patch, unmatched_patches, unseen_objects,
};
pub use release::failure::{ReleaseFailure, ReleaseFault, ReleasePart};
pub use release::inputs::differing;
pub use review::{
    ChartChange, ClusterChange, DefaultChange, Review, State, Vote, aligned, diffs, image_parts, review, review_cluster,
};
pub use source::error::{MissingSource, SourceError};
pub use source::files::{SourceFiles, clean, shown_folder};
pub use source::meant::{Identity, Source, SourceObject};
pub use source::repository::{Changed, Outside, Repository};
pub use source::repository::{ChartError, RepositoryChart};
pub use verify::attempt::{FleetVerifier, Verification};
pub use verify::image_values::{GeneratedValues, image_values};
pub use verify::server::{Asker, DryRun, DryRuns, NotAsked, asked, judged};
