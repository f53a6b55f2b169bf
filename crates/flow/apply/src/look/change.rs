//! Results of applying objects, in the words of Flux's events and logs (fluxcd/pkg `ssa`, *ChangeSet*).

use std::collections::BTreeMap;
use std::fmt;

use bumpwright_api::ObjectId;

/// The action taken on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Created, or recreated.
    Created,
    Configured,
    Unchanged,
    /// Deleted, or marked for deletion.
    Deleted,
    /// Left alone, as an annotation or label asks.
    Skipped,
}

impl Action {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Deleted => "deleted",
            Self::Skipped => "skipped",
        }
    }

    /// Returns whether the object was changed in any way.
    #[must_use]
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Created | Self::Configured | Self::Deleted)
    }
}

/// The action taken on one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub id: ObjectId,
    /// The version in which it was written.
    pub version: String,
    pub action: Action,
}

/// `Kind/namespace/name created`
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.action.as_str())
    }
}

/// The actions on objects, in the order of the apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// One for each object.
    pub changes: Vec<Change>,
}

/// A line per object.
impl fmt::Display for ChangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        lines(f, self.changes.iter())
    }
}

fn lines<'a>(f: &mut fmt::Formatter<'_>, changes: impl Iterator<Item = &'a Change>) -> fmt::Result {
    for (index, change) in changes.enumerate() {
        let separator = if index == 0 { "" } else { "\n" };
        write!(f, "{separator}{change}")?;
    }
    Ok(())
}

impl ChangeSet {
    /// The actions other than `unchanged` and `skipped`.
    #[must_use]
    pub fn changed(&self) -> Self {
        let changed = self.changes.iter().filter(|change| change.action.is_change());
        Self {
            changes: changed.cloned().collect(),
        }
    }

    /// Returns whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// For logs: actions by object.
    #[must_use]
    pub fn by_subject(&self) -> BTreeMap<String, &'static str> {
        let pairs = self.changes.iter();
        pairs
            .map(|change| (change.id.to_string(), change.action.as_str()))
            .collect()
    }

    /// For logs with the gate `GroupChangeLog`: objects by action.
    #[must_use]
    pub fn by_action(&self) -> BTreeMap<&'static str, Vec<String>> {
        let mut grouped = BTreeMap::<_, Vec<_>>::new();
        for change in &self.changes {
            let group = grouped.entry(change.action.as_str()).or_default();
            group.push(change.id.to_string());
        }
        grouped
    }
}
