//! The edits of a run, as its message, its pull request and its hooks are given them.

use std::collections::BTreeMap;

use super::releases::ImageRelease;
use bumpwright_edit::Change;
use bumpwright_message::Impact;
use bumpwright_policy::PolicyName;

/// The edits of a run, and what is known of them.
#[derive(Clone, Copy, Debug)]
pub struct Edited<'a> {
    pub changes: &'a [Change],
    /// The names of the images of the policies that chose the values.
    pub images: &'a BTreeMap<PolicyName, String>,
    /// The releases behind the changes, if that was asked for.
    pub releases: &'a [ImageRelease],
    /// What the changes alter in clusters; none without a fleet.
    pub impact: Option<&'a Impact>,
}
