//! Differences between two states of a fleet, by Kustomization and object.

mod compare;
mod html;
mod json;
mod markdown;
mod text;

use crate::build::view::Node;
use crate::source::files::shown_folder;
use bumpwright_diff::{Field, Named};

pub use compare::compare;
pub(crate) use compare::{Both, Owner, Pair, Placed, differences, owners, pairs};
pub(crate) use json::clusters;
pub(crate) use markdown::details;

/// What differs between two states of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetDiff {
    pub entry: String,
    /// The Kustomizations and HelmReleases that differ, in the order of the new state; removed ones last.
    pub kustomizations: Vec<KustomizationDiff>,
    /// How many of them could not be built, so that it is not known what differs.
    pub unknown: usize,
}

/// What differs in a Kustomization or HelmRelease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KustomizationDiff {
    /// `Kustomization` or `HelmRelease`.
    pub kind: &'static str,
    /// `namespace/name`, or the path of the entry.
    pub name: String,
    /// Whether there is one before and after.
    pub presence: Presence,
    /// Why it has no objects before and after.
    pub problems: [Option<String>; 2],
    /// The objects that differ.
    pub objects: Vec<ObjectDiff>,
    /// What differs in the `crds/` of its chart only, and not in the cluster.
    pub notes: Vec<String>,
}

/// Which of two states something is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Only in the new state.
    Added,
    /// Only in the old state.
    Removed,
    Both,
}

/// An object that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectDiff {
    /// The object; a generated one without the hash in its name.
    pub object: Named,
    pub change: ObjectChange,
    /// Its place in the new state, or in the old one: `path:line:column`.
    pub origin: Option<String>,
}

/// The difference of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectChange {
    /// Only the new state has it.
    Added,
    /// Only the old state has it.
    Removed,
    Changed(Vec<Field>),
    /// Another Kustomization had it, and these fields differ.
    Moved {
        from: String,
        /// The fields that differ.
        fields: Vec<Field>,
    },
}

/// How many objects of a kind of difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub added: usize,
    pub removed: usize,
    pub changed: usize,
    pub moved: usize,
}

impl KustomizationDiff {
    /// `Kustomization namespace/name` or `HelmRelease namespace/name`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    /// Whether it cannot be built any more: what it has is not known, which is not nothing.
    pub(crate) const fn is_unbuilt(&self) -> bool {
        matches!(self.problems, [_, Some(_)])
    }

    /// How many objects differ, or that this is not known.
    pub(crate) fn words(&self) -> String {
        let counts = self.counts();
        if self.is_unbuilt() && counts == Counts::default() {
            "not compared".to_owned()
        } else {
            counts.to_string()
        }
    }

    /// Whether it has notes alone.
    fn is_empty(&self) -> bool {
        let [before, after] = &self.problems;
        self.objects.is_empty() && self.presence == Presence::Both && before == after
    }

    /// How many objects differ in which way.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for object in &self.objects {
            match object.change {
                ObjectChange::Added => counts.added += 1,
                ObjectChange::Removed => counts.removed += 1,
                ObjectChange::Changed(_) => counts.changed += 1,
                ObjectChange::Moved { .. } => counts.moved += 1,
            }
        }
        counts
    }
}

/// `1 added, 2 changed`.
impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = [
            (self.added, "added"),
            (self.changed, "changed"),
            (self.moved, "moved"),
            (self.removed, "removed"),
        ];
        let shown = counts.into_iter().filter(|(count, _)| *count > 0);
        let shown: Vec<String> = shown.map(|(count, word)| format!("{count} {word}")).collect();
        if shown.is_empty() {
            f.write_str("no objects differ")
        } else {
            f.write_str(&shown.join(", "))
        }
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, one| Self {
            added: sum.added + one.added,
            removed: sum.removed + one.removed,
            changed: sum.changed + one.changed,
            moved: sum.moved + one.moved,
        })
    }
}

impl FleetDiff {
    /// Whether nothing differs in the cluster; there may be notes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kustomizations.iter().all(KustomizationDiff::is_empty)
    }

    /// The same without notes, and without what has notes alone.
    #[must_use]
    pub fn without_notes(&self) -> Self {
        let differing = self.kustomizations.iter().filter(|one| !one.is_empty());
        let differing = differing.map(|one| KustomizationDiff {
            notes: Vec::new(),
            ..one.clone()
        });
        Self {
            entry: self.entry.clone(),
            kustomizations: differing.collect(),
            unknown: self.unknown,
        }
    }

    /// The entry; the root of the repository is a dot.
    #[must_use]
    pub fn title(&self) -> String {
        shown_folder(&self.entry).to_owned()
    }

    /// `nothing differs`, or `1 added, 2 changed` of objects and `1 could not be compared` of
    /// Kustomizations and releases.
    #[must_use]
    pub fn summary(&self) -> String {
        let unbuilt = self.kustomizations.iter().filter(|one| one.is_unbuilt()).count();
        let unknown = self.unknown.max(unbuilt);
        let counts = self.counts();
        let words = format!("{unknown} could not be compared");
        match (unknown, counts == Counts::default()) {
            (0, true) if self.is_empty() => "nothing differs".to_owned(),
            (0, _) => counts.to_string(),
            (_, true) => words,
            (_, false) => format!("{counts}; {words}"),
        }
    }

    /// Adds a note about a Kustomization or HelmRelease, which may not differ. One that is not known could not be built
    /// before and after, for this reason.
    pub(crate) fn note(&mut self, node: &Node, problem: Option<&str>, note: String) {
        let (kind, name) = (node.kind(), node.own_name());
        let is_it = |one: &&mut KustomizationDiff| one.kind == kind && one.name == name;
        if let Some(one) = self.kustomizations.iter_mut().find(is_it) {
            one.notes.push(note);
            return;
        }
        let problem = problem.map(str::to_owned);
        self.kustomizations.push(KustomizationDiff {
            kind,
            name,
            presence: Presence::Both,
            problems: [problem.clone(), problem],
            objects: Vec::new(),
            notes: vec![note],
        });
    }

    /// How many objects differ in which way.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.kustomizations.iter().map(KustomizationDiff::counts).sum()
    }
}

/// A line for each Kustomization, object and field, with colours.
#[must_use]
pub fn to_text(diffs: &[FleetDiff]) -> String {
    text::render(diffs)
}

/// One document: `{"version":1,"clusters":[{"entry","kustomizations":[…]}]}`; HelmReleases are among the
/// Kustomizations, by their `kind`.
#[must_use]
pub fn to_json(diffs: &[FleetDiff]) -> String {
    json::render(diffs)
}

/// For a pull request: a summary of at most thirty lines, and everything else folded.
#[must_use]
pub fn to_markdown(diffs: &[FleetDiff]) -> String {
    markdown::render(diffs)
}

/// Parts of a page, one for each cluster.
#[must_use]
pub fn to_sections(diffs: &[FleetDiff]) -> Vec<bumpwright_pages::report::Section> {
    diffs.iter().map(html::section).collect()
}

/// A page of its own, made by this version of bumpwright.
///
/// # Errors
/// [`bumpwright_pages::RenderError`] for a fault of a template.
pub fn to_html(diffs: &[FleetDiff], version: &str) -> Result<String, bumpwright_pages::RenderError> {
    html::render(diffs, version)
}
