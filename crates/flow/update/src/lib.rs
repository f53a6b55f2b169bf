//! One run of an image update automation, the same steps for a preview, a command and a controller:
//! fetch → resolve → plan → splice → commit → push → pull request → report.

mod agit;
mod announce;
mod bumps;
mod commit;
mod delivery;
mod destination;
mod difference;
mod earlier;
mod error;
mod fetch;
mod folder;
mod git_program;
mod held;
mod impact_section;
mod index;
mod index_file;
mod interrupt;
mod job;
mod known;
mod lane;
mod message;
mod past;
mod path;
mod paths;
mod policies;
mod preview;
mod promotion;
mod pull_request;
mod queue;
mod remarks;
mod remote;
mod report;
mod repository_policies;
mod retry;
mod reverts;
mod review;
mod rewrite;
mod rollout;
mod ruled;
pub mod settings;
mod story;
mod survey;
mod taken_back;
mod terms;
mod trailer;
mod tree;
mod verify;
mod view;
mod windows;
mod worktree;

pub use announce::{Announce, Announced};
pub use bumps::{Bump, bumps};
pub use destination::{DestinationError, Destinations, Refspec, Target, Value, destinations, full_branch, is_review};
pub use difference::{NoDifference, difference};
pub use error::{Failure, RunError};
pub use folder::{Ahead, FolderJob, rules_above, run as run_folder};
pub use git_program::git_without_fetches;
pub use impact_section::impact_section;
pub use index::Index;
pub use interrupt::{attended, interrupted};
pub use job::{Author, Edits, OtherBranch, PushSettings, RemoteJob, RespectReverts, Review, Start};
pub use lane::Lanes;
pub use message::identifier;
pub use message::{CommitMessage, Machine, explained};
pub use past::proven_in;
pub use path::join_by_letters;
pub use policies::{Policies, Resolve, Unresolved, Wanted};
pub use promotion::Proven;
pub use pull_request::{PullRequest, PullRequestReport, forge_kind};
pub use queue::run_all;
pub use remote::{Place, run as run_remote};
pub use report::{CommitReport, MarkedField, PushReport, PushStatus, Run};
pub use rewrite::FileChange;
pub use rewrite::replace_files;
pub use rollout::{Commits, Ours, PutBack};
pub use ruled::fields;
pub use terms::NamespaceLabels;
pub use verify::{Base, Proposal, Verify, VerifyError};
pub use view::View;
pub use worktree::{WorktreeCommit, WorktreeSigning};

pub use bumpwright_message::{
    ChangedObject, ChangedRelease, ChangedWorkload, ContainerImage, DeadMarker, Impact, KustomizationName,
    ObjectAction, ObjectIdentifier,
};
