//! A run in a folder.

pub(crate) mod ahead;
pub(crate) mod git_program;
pub(crate) mod rewrite;
pub(crate) mod run;
pub(crate) mod worktree;
pub(crate) mod worktree_error;
