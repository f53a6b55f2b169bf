//! A walk through two trees at once, and what a step of it finds.

use crate::schema::Schema;
use bumpwright_yaml::Node;

/// The patch for a value.
pub(super) enum Origin<'n> {
    Absent,
    /// The value came from the patch: directives in it still apply, nulls are still removed.
    Same,
    Patch(&'n mut Node),
}

/// Which node is the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// That of the object.
    Dest,
    /// That of the patch.
    Origin,
    Gone,
}

/// What is constant below a node, and its depth.
#[derive(Clone, Copy)]
pub(super) struct Walk<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) depth: usize,
}

/// The kind of a node, for the question whether two can be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    Mapping,
    List,
    Scalar,
}
