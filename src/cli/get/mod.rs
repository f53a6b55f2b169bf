//! `bumpwright get`: tables of images and their repositories, automations, Kustomizations, HelmReleases and sources, as
//! kubectl and flux print them.

pub mod args;
mod files;
mod listing;
mod rows;

use std::collections::BTreeMap;
use std::process::ExitCode;

use crate::cli::console::{cannot_print, end_with, print_on, print_styled, say};
use crate::cli::error::CliError;
use crate::cli::view::read::{Seen, labelled, objects};
use crate::cli::view::table::{Cell, line};
use crate::cli::view::watch::Watch;
use crate::cli::view::{at, document, text};
use crate::cli::words;
use args::{Get, Output, What};
use bumpwright_kube::Cluster;
use bumpwright_overview::Id;
use bumpwright_ui::uses::Known;
use listing::{Listing, ListingDocument, listings};

#[must_use]
pub(super) fn run(args: &Get) -> ExitCode {
    if args.filenames.is_empty() {
        end_with(at(&args.places.place, async |cluster| show(args, &cluster).await))
    } else {
        end_with(of_files(args))
    }
}

fn of_files(args: &Get) -> Result<u8, CliError> {
    let listing = files::listing(args)?;
    if listing.ids.is_empty() && !matches!(args.output, Some(Output::Json | Output::Yaml)) {
        say("note", "there is no ImageRepository in the manifests of -f");
    }
    print_styled(&rendered(args, &[listing])?).map_err(cannot_print)?;
    Ok(0)
}

async fn show(args: &Get, cluster: &Cluster) -> Result<u8, CliError> {
    let mut known = Known::default();
    let cluster_objects = read(args, cluster, &mut known).await?;
    cluster_objects.notes.iter().for_each(|note| say("note", note));
    let listings = find(args, cluster, &cluster_objects).await?;
    let is_document = matches!(args.output, Some(Output::Json | Output::Yaml));
    if !is_document && listings.iter().all(|listing| listing.ids.is_empty()) {
        say_nothing(args);
    }
    print_styled(&rendered(args, &listings)?).map_err(cannot_print)?;
    if args.watch {
        follow(args, cluster, (&cluster_objects, &mut known), listings).await?;
    }
    Ok(0)
}

/// The objects of the views, with those that images are in where images are asked for.
async fn read(args: &Get, cluster: &Cluster, known: &mut Known) -> Result<Seen, CliError> {
    let mut seen = objects(cluster, args.places.namespace()).await?;
    if args.asked().what.has(What::Images) {
        seen.read_uses(cluster, known).await;
    }
    Ok(seen)
}

/// The listings of what is asked for.
async fn find(args: &Get, cluster: &Cluster, seen: &Seen) -> Result<Vec<Listing>, CliError> {
    let namespace = args.places.namespace();
    let chosen = match args.selector.as_str() {
        "" => None,
        selector => Some(labelled(cluster, seen, namespace, selector).await?),
    };
    listings(args, seen, chosen.as_ref())
}

/// All of it, in the format that is asked for.
fn rendered(args: &Get, found: &[Listing]) -> Result<String, CliError> {
    let shown: Vec<&Listing> = found.iter().filter(|listing| !listing.ids.is_empty()).collect();
    match args.output {
        Some(Output::Json) => document::json(&ListingDocument::of(found)),
        Some(Output::Yaml) => document::yaml(&ListingDocument::of(found)),
        Some(Output::Name) => Ok(shown.iter().flat_map(|listing| &listing.ids).map(name).collect()),
        Some(Output::Wide) => Ok(tables(args, &shown, None)),
        None => Ok(tables(args, &shown, text::columns())),
    }
}

/// In kubectl's words.
fn say_nothing(args: &Get) {
    let text = match args.places.namespace() {
        Some(namespace) => format!("No resources found in {namespace} namespace."),
        None => "No resources found".to_owned(),
    };
    // Not a note: these are the words that people know.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{}\n", words::inline(&text)).as_bytes());
}

fn tables(args: &Get, shown: &[&Listing], columns: Option<usize>) -> String {
    let tables = shown
        .iter()
        .map(|listing| listing.table.render(!args.no_header, 0, columns));
    tables.collect::<Vec<_>>().join("\n")
}

/// As kubectl has it: `kustomization.kustomize.toolkit.fluxcd.io/apps`.
fn name(id: &Id) -> String {
    let group = crate::cli::view::kinds::named(&id.kind)
        .map(|kind| kind.group)
        .unwrap_or_default();
    format!("{}.{group}/{}\n", id.kind.to_lowercase(), words::inline(&id.name.name))
}

/// Prints the rows that change, in the columns of those before, or whole documents, until the reader is gone.
async fn follow(
    args: &Get,
    cluster: &Cluster,
    (seen, known): (&Seen, &mut Known),
    mut found: Vec<Listing>,
) -> Result<(), CliError> {
    let watch = Watch::start(cluster, seen, args.places.namespace());
    let widths: Vec<Vec<usize>> = found.iter().map(|listing| listing.table.widths()).collect();
    loop {
        if !watch.next().await {
            continue;
        }
        let cluster_objects = read(args, cluster, known).await?;
        // A name that is not there any more is not an error now.
        let Ok(next) = find(args, cluster, &cluster_objects).await else {
            continue;
        };
        if next.iter().zip(&found).all(|(next, before)| next.facts == before.facts) {
            continue;
        }
        let text = match args.output {
            Some(Output::Json) => rendered(args, &next)?,
            Some(Output::Yaml) => format!("---\n{}", rendered(args, &next)?),
            _ => changed(args, &found, &next, &widths),
        };
        if !print_on(&text).map_err(cannot_print)? {
            return Ok(());
        }
        found = next;
    }
}

/// The rows that are new, or not what they were.
fn changed(args: &Get, found: &[Listing], next: &[Listing], widths: &[Vec<usize>]) -> String {
    let columns = text::columns().filter(|_| args.output.is_none());
    let mut out = String::new();
    for ((before, after), widths) in found.iter().zip(next).zip(widths) {
        let facts_before: BTreeMap<&Id, &serde_json::Value> = before.ids.iter().zip(&before.facts).collect();
        let rows = after.ids.iter().zip(&after.facts).zip(&after.table.rows);
        let rows = rows.filter(|((id, facts), _)| facts_before.get(id) != Some(facts));
        out.extend(rows.map(|((id, _), row): (_, &Vec<Cell>)| match args.output {
            Some(Output::Name) => name(id),
            _ => line(row, widths, 0, columns),
        }));
    }
    out
}
