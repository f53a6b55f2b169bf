//! Pushes a commit, and keeps a pull request for it.

pub(crate) mod agit;
pub(crate) mod change;
pub(crate) mod delivery;
pub(crate) mod lane;
pub(crate) mod pull_request;
pub(crate) mod retry;
