//! What `get` shows of each sort: the objects that are asked for, as rows and as documents.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::args::{Asked, Get, Output, What};
use super::rows;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::view::document;
use crate::cli::view::read::Seen;
use crate::cli::view::table::{Cell, Table};
use crate::cli::view::{no_kinds, not_found};
use bumpwright_nearest::nearest_name;
use bumpwright_overview::Id;

/// The objects of one sort.
pub(super) struct Listing {
    /// Its name in documents.
    pub name: &'static str,
    pub ids: Vec<Id>,
    /// What is known of each.
    pub facts: Vec<Value>,
    /// A row for each.
    pub table: Table,
}

/// The document of `-o json` and `-o yaml`.
#[derive(Serialize)]
pub(super) struct ListingDocument<'a> {
    version: u32,
    #[serde(flatten)]
    lists: BTreeMap<&'static str, &'a [Value]>,
}

impl<'a> ListingDocument<'a> {
    pub(super) fn of(listings: &'a [Listing]) -> Self {
        Self {
            version: document::VERSION,
            lists: listings.iter().map(|one| (one.name, one.facts.as_slice())).collect(),
        }
    }
}

/// How rows are made.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// Now, in seconds since 1970-01-01 UTC.
    pub now: i64,
    /// Whether there are more columns.
    pub is_wide: bool,
    /// Whether names have their kind before them.
    pub has_kinds: bool,
}

/// The listings that are asked for, narrowed by names and labels.
///
/// # Errors
/// A name is not there, or the cluster does not have the kinds.
pub(super) fn listings(args: &Get, seen: &Seen, chosen: Option<&BTreeSet<Id>>) -> Result<Vec<Listing>, CliError> {
    let asked = args.asked();
    check_kinds(asked, seen)?;
    let names = asked.names;
    let is_wanted = |id: &Id| {
        (names.is_empty() || names.contains(&id.name.name))
            && asked.kind.is_none_or(|kind| id.kind == kind)
            && chosen.is_none_or(|chosen| chosen.contains(id))
    };
    let manner = Manner {
        now: seen.world.now,
        is_wide: args.output == Some(Output::Wide),
        has_kinds: asked.what.is_mixed(),
    };
    let found = all(args, seen, manner, &is_wanted)?;
    let ids: BTreeSet<&str> = found
        .iter()
        .flat_map(|one| &one.ids)
        .map(|id| id.name.name.as_str())
        .collect();
    match names.iter().find(|name| !ids.contains(name.as_str())) {
        Some(name) => {
            let namespace = args.places.namespace().unwrap_or("");
            let all = all(args, seen, manner, &|id: &Id| {
                asked.kind.is_none_or(|kind| id.kind == kind)
            })?;
            let names: Vec<String> = all
                .iter()
                .flat_map(|one| &one.ids)
                .map(|id| id.name.name.clone())
                .collect();
            let missing = not_found(&kinds(asked).join(" or "), name, namespace);
            Err(missing.meant(nearest_name(name, &names)))
        }
        None => Ok(found),
    }
}

fn all(args: &Get, seen: &Seen, manner: Manner, is_wanted: &dyn Fn(&Id) -> bool) -> Result<Vec<Listing>, CliError> {
    let what = args.asked().what;
    let has = |one: What| what.has(one);
    let (namespace, namespaced) = (args.places.namespace(), args.places.all_namespaces);
    let overview = seen.overview(namespace);
    let mut listings = Vec::new();
    if has(What::Sources) {
        let sources = overview.sources.iter().filter(|one| is_wanted(&one.id));
        let rows = sources.map(|one| (&one.id, one, rows::source(one, manner)));
        listings.push(listing("sources", rows::sources(manner), namespaced, rows)?);
    }
    if has(What::Kustomizations) {
        let kustomizations = overview.kustomizations.iter().filter(|one| is_wanted(&one.id));
        let rows = kustomizations.map(|one| (&one.id, one, rows::kustomization(one, manner)));
        listings.push(listing(
            "kustomizations",
            rows::kustomizations(manner),
            namespaced,
            rows,
        )?);
    }
    if has(What::Releases) {
        let releases = overview.releases.iter().filter(|one| is_wanted(&one.id));
        let rows = releases.map(|one| (&one.id, one, rows::release(one, manner)));
        listings.push(listing("helmReleases", rows::releases(manner), namespaced, rows)?);
    }
    if has(What::Repositories) {
        let repositories = seen.world.image_repositories(namespace);
        let wanted = repositories.iter().filter(|one| is_wanted(&one.id));
        let rows = wanted.map(|one| (&one.id, one, rows::repository(one, manner)));
        let headings = rows::repositories(manner);
        listings.push(listing("imageRepositories", headings, namespaced, rows)?);
    }
    if has(What::Images) {
        let images = overview.images.iter().filter(|one| is_wanted(&one.policy));
        let rows = images.map(|one| (&one.policy, one, rows::image(one, manner)));
        listings.push(listing("images", rows::images(manner), namespaced, rows)?);
    }
    if has(What::Automations) {
        let automations = overview.automations.iter().filter(|one| is_wanted(&one.id));
        let rows = automations.map(|one| (&one.id, one, rows::automation(one, manner)));
        listings.push(listing("automations", rows::automations(manner), namespaced, rows)?);
    }
    Ok(listings)
}

fn listing<'a, T: Serialize + 'a>(
    name: &'static str,
    headings: Vec<&'static str>,
    namespaced: bool,
    all: impl Iterator<Item = (&'a Id, &'a T, Vec<Cell>)>,
) -> Result<Listing, CliError> {
    let mut listing = Listing {
        name,
        ids: Vec::new(),
        facts: Vec::new(),
        table: Table {
            headings: namespaced.then_some("NAMESPACE").into_iter().chain(headings).collect(),
            rows: Vec::new(),
        },
    };
    for (id, facts, cells) in all {
        let facts = serde_json::to_value(facts).at("cannot write the document")?;
        let namespace = namespaced.then(|| Cell::new(&id.name.namespace));
        listing.ids.push(id.clone());
        listing.facts.push(facts);
        listing.table.rows.push(namespace.into_iter().chain(cells).collect());
    }
    Ok(listing)
}

/// The kinds of a sort.
fn kinds(asked: Asked<'_>) -> Vec<&'static str> {
    if let Some(kind) = asked.kind {
        return vec![kind];
    }
    match asked.what {
        What::Repositories => vec!["ImageRepository"],
        What::Images => vec!["ImagePolicy"],
        What::Automations => vec!["ImageUpdateAutomation"],
        What::Kustomizations => vec!["Kustomization"],
        What::Releases => vec!["HelmRelease"],
        What::Sources => vec![
            "GitRepository",
            "OCIRepository",
            "Bucket",
            "ExternalArtifact",
            "HelmRepository",
            "HelmChart",
        ],
        What::ImageKinds => vec!["ImagePolicy", "ImageRepository", "ImageUpdateAutomation"],
        What::All => vec!["object"],
    }
}

/// It is an error only if the cluster has none of the kinds.
fn check_kinds(asked: Asked<'_>, seen: &Seen) -> Result<(), CliError> {
    let kinds = kinds(asked);
    let is_absent = |name: &&str| seen.absent.iter().any(|kind| kind.kind == *name);
    if kinds.iter().all(is_absent) {
        Err(no_kinds(&kinds))
    } else {
        Ok(())
    }
}
