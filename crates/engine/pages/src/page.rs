//! The pages, and what they need that the model does not have.

use std::collections::BTreeMap;

use bumpwright_api::Condition;
pub use bumpwright_overview::Health;
use bumpwright_overview::{
    Attention, Automation, Branch, Change, Differences, Entry, Graph, Id, Image, Kustomization, Overview, Readiness,
    Release, Source, Trace,
};

use super::listing::Listing;
use super::request::{ReviewedChange, Tally};
use super::search::Hit;

/// A page of the browser's view, with all that it shows.
#[derive(Clone, Copy, Debug)]
pub enum Page<'a> {
    /// Counts, what needs attention, the images that are behind, and the last changes.
    Overview(&'a Overview),
    /// All that needs attention.
    Attention(&'a [Attention], &'a Listing),
    /// The images as a board.
    Images(&'a [Image], &'a Listing),
    /// The image of a policy, and the tags it chooses from.
    Policy {
        image: &'a Image,
        /// The rule in words, such as `semver >=1.0 <2.0`.
        rule: &'a str,
        /// The tags, the best first.
        tags: &'a [TagRow],
        /// Which of the tags.
        listing: &'a Listing,
    },
    Automations(&'a [Automation], &'a Listing),
    /// An automation with its runs.
    Automation {
        automation: &'a Automation,
        /// What it did, the latest first.
        runs: &'a [Run],
        /// Why no run has a difference; empty where they have.
        note: &'a str,
        /// The images that it writes.
        images: &'a [&'a Image],
    },
    /// The Kustomizations, and what depends on what.
    Kustomizations(&'a [Kustomization], &'a Graph, &'a Listing),
    /// A Kustomization with its objects.
    Kustomization {
        kustomization: &'a Kustomization,
        tree: &'a Branch,
        /// How its objects are.
        inventory: &'a Inventory,
        /// What it changed last, and how the cluster differed from it.
        differences: &'a Differences,
        /// Which of the objects.
        listing: &'a Listing,
    },
    Releases(&'a [Release], &'a Listing),
    /// A HelmRelease with its objects.
    Release {
        release: &'a Release,
        tree: &'a Branch,
        /// How its objects are.
        inventory: &'a Inventory,
        /// What happened to it, the latest first.
        changes: &'a [&'a Change],
        /// Which of the objects.
        listing: &'a Listing,
    },
    Sources(&'a [Source], &'a Listing),
    Source {
        source: &'a Source,
        /// The automations that change it.
        automations: &'a [&'a Automation],
        /// What happened to it.
        changes: &'a [&'a Change],
    },
    /// The changes that are reviewed, each with how much of its review the reader may see.
    Reviews {
        changes: &'a [(&'a ReviewedChange, Tally)],
        /// Why there are none, or not all; empty where that is plain.
        note: &'a str,
        listing: &'a Listing,
    },
    /// A change with its review.
    Review {
        change: &'a ReviewedChange,
        /// Which part of it.
        listing: &'a Listing,
    },
    /// The last day.
    Timeline(&'a [Change], &'a Listing),
    Object(&'a ObjectPage<'a>),
    /// What a search found ([`crate::search`]).
    Search(&'a [Hit], &'a Listing),
    /// Where a person signs in, by POST of the fields `token` and `back` to [`crate::Route::SignIn`].
    SignIn {
        /// What went wrong the last time.
        error: Option<&'a str>,
        /// The path to go to.
        back: &'a str,
    },
    Error {
        /// The status of HTTP.
        status: u16,
        /// Why, and the way out.
        message: &'a str,
    },
}

/// A tag of an image repository, as its policy sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagRow {
    pub tag: String,
    /// Whether it is the choice.
    pub is_chosen: bool,
    /// Why it is left out, or not chosen; empty where that is not known or it is the choice.
    pub why: String,
    /// When it was made, in seconds since 1970-01-01 UTC.
    pub made: Option<i64>,
    /// What is known of its signature, such as `verified by cosign`; empty where nobody looked.
    pub signature: String,
    /// Why it is held as a version that failed.
    pub failed: Option<String>,
}

/// What an automation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub change: Change,
    /// The difference of its commit as text, where somebody has it.
    pub diff: Option<String>,
    /// Why the difference is missing; empty if that is plain.
    pub why: String,
}

/// How the objects of a Kustomization or HelmRelease are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// How each is, as far as somebody has looked.
    pub health: BTreeMap<Entry, Health>,
    /// When that was, in seconds since 1970-01-01 UTC; none where nobody has looked.
    pub at: Option<i64>,
    /// Why nobody has looked; empty where that is plain.
    pub note: String,
}

/// All that the page of one object shows.
#[derive(Clone, Copy, Debug)]
pub struct ObjectPage<'a> {
    pub object: &'a Entry,
    /// Its state, for objects of the model.
    pub readiness: Option<&'a Readiness>,
    /// Whether it is in another cluster, and nothing is known of it.
    pub elsewhere: bool,
    /// Its health, where it is known.
    pub health: Option<&'a Health>,
    pub conditions: &'a [Condition],
    /// Events about it, the latest first.
    pub events: &'a [Change],
    /// The HelmReleases that installed it, the nearest first.
    pub releases: &'a [Id],
    /// Where it, or the last of these releases, comes from.
    pub trace: &'a [Trace],
    /// Its YAML without secrets; none where it may not be shown.
    pub yaml: Option<&'a str>,
}
