//! One run of an image update automation, the same steps for a preview, a command and a controller:
//! fetch → resolve → plan → splice → commit → push → pull request → report.

mod commit;
mod error;
mod find;
mod folder;
mod history;
mod interrupt;
mod job;
mod notes;
mod plan;
mod policy;
mod push;
mod remote;
mod report;
mod rollout;

pub use commit::message::identifier;
pub use commit::message::{CommitMessage, Machine, explained};
pub use error::{Failure, PathLookup, RunError, Setting};
pub use find::index::Index;
pub use find::path::shown;
pub use find::path::{PathError, join_by_letters};
pub use find::ruled::fields;
pub use folder::ahead::Ahead;
pub use folder::git_program::{GitProgramError, git_without_fetches};
pub use folder::rewrite::FileChange;
pub use folder::rewrite::replace_files;
pub use folder::run::{FolderJob, rules_above, run as run_folder};
pub use folder::worktree::{WorktreeCommit, WorktreeSigning};
pub use folder::worktree_error::WorktreeError;
pub use history::difference::{NoDifference, difference};
pub use history::past::proven_in;
pub use history::promotion::Proven;
pub use interrupt::{attended, interrupted};
pub use job::announce::{Announce, AnnounceError, Announced};
pub use job::destination::{
    DestinationError, Destinations, Refspec, Target, Value, destinations, full_branch, is_review,
};
pub use job::edits::{Edits, RespectReverts};
pub use job::hooks::Hooks;
pub use job::pull_request::{PullRequest, forge_kind};
pub use job::push::{OtherBranch, PushSettings, Review};
pub use job::remote_job::{Author, RemoteJob, Start};
pub use job::settings;
pub use job::verify::{Base, Proposal, Verify, VerifyError};
pub use notes::{Answers, AskedReleases, ImageStep, InvalidReleasesApi, ReleaseForges, ReleasesApi, ask_all};
pub use plan::bumps::{Bump, bumps};
pub use plan::planned::MarkedField;
pub use policy::known::Unresolved;
pub use policy::policies::{OFFLINE, Policies, Resolve, Wanted};
pub use policy::terms::NamespaceLabels;
pub use policy::view::View;
pub use push::lane::Lanes;
pub use remote::place::Place;
pub use remote::queue::run_all;
pub use remote::run::run as run_remote;
pub use report::impact_section::impact_section;
pub use report::pull_request::PullRequestReport;
pub use report::releases::{BumpedImage, ImageRelease, Releases, releases_list, releases_section, shortened};
pub use report::run::{CommitReport, PushReport, PushStatus, Run};
pub use rollout::{Commits, Ours, PutBack};

pub use bumpwright_message::{
    ChangedObject, ChangedRelease, ChangedWorkload, ContainerImage, DeadMarker, Impact, KustomizationName,
    ObjectAction, ObjectIdentifier,
};
