//! What was done to objects, in the words of Flux's events and logs (fluxcd/pkg `ssa`, *ChangeSet*).

use std::collections::BTreeMap;
use std::fmt;

use bumpwright_api::ObjectId;

/// What was done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// It is new, or was made again.
    Created,
    /// It was written.
    Configured,
    /// It is as it should be.
    Unchanged,
    /// It is gone, or going.
    Deleted,
    /// It was left alone, as somebody wants it.
    Skipped,
}

impl Action {
    /// The word.
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

    /// Whether something was done.
    #[must_use]
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Created | Self::Configured | Self::Deleted)
    }
}

/// What was done to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The object.
    pub id: ObjectId,
    /// The version that it was written in.
    pub version: String,
    /// What was done.
    pub action: Action,
}

/// `Kind/namespace/name created`
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.action.as_str())
    }
}

/// What was done, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// One for each object.
    pub changes: Vec<Change>,
}

/// A line for each object.
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
    /// Only what is no `unchanged` and no `skipped`.
    #[must_use]
    pub fn changed(&self) -> Self {
        let changed = self.changes.iter().filter(|change| change.action.is_change());
        Self {
            changes: changed.cloned().collect(),
        }
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// For logs: what was done by object.
    #[must_use]
    pub fn by_subject(&self) -> BTreeMap<String, &'static str> {
        let pairs = self.changes.iter();
        pairs
            .map(|change| (change.id.to_string(), change.action.as_str()))
            .collect()
    }

    /// For logs with the gate `GroupChangeLog`: objects by what was done.
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
