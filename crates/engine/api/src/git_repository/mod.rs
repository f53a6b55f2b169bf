//! `GitRepository`.

pub(crate) mod reviews;
pub(crate) mod schema;
pub(crate) mod spec;
