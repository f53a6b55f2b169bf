//! Pull requests at forges: one for each pushed branch, opened once, its title and description kept up to date.
//!
//! ```text
//! repository (owner, name, API) ─▶ keep (find, then open or update) ─▶ api (requests)
//! description (its text), setup (labels, reviewers, …)
//! ```
//!
//! GitHub and GitHub Enterprise (REST API 2022-11-28, *Pulls*); Gitea and Forgejo (API v1, *repository*). Head and base
//! are branches of the same repository; forks are ignored, but by `reviews`: the open requests of all, with their
//! commit statuses and a comment. `gitlab` has these reviews at GitLab (REST API v4), whose merge requests are opened
//! by push options. `gerrit` has the changes of a project at Gerrit, before one is amended, over HTTP or SSH.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod api;
mod calls;
mod closed;
mod description;
mod dialect;
mod error;
mod gerrit;
mod gitlab;
mod keep;
mod kind;
mod login;
pub mod markdown;
mod numbered;
mod releases;
mod repository;
mod review_server;
mod reviews;
mod setup;

pub use api::Forge;
pub use description::Row;
pub use error::{Again, ForgeError};
pub use gerrit::{ChangeStatus, Gerrit, GerritChange, GerritShell, NoOutput};
pub use gitlab::GitLab;
pub use keep::{Found, Kept, OpenPullRequest, PullRequestState, WantedPullRequest};
pub use kind::ForgeApi;
pub use login::Login;
pub use numbered::{End, Numbered};
pub use releases::Release;
pub use repository::{GitAddress, InvalidAddress, Repository};
pub use review_server::{ReviewApi, ReviewServer};
pub use reviews::{CommitStatus, OpenRequest, OpenRequests, Verdict};
