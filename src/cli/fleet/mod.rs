//! `bumpwright fleet`: what a cluster that reconciles a folder would have.

pub(super) mod applied;
pub mod args;
mod check;
mod diff;
pub(super) mod given;
mod hint;
mod json;
mod names;
mod objects;
mod open;
mod outside;
mod review;
mod review_args;
mod states;
mod sync;
mod tree;
pub(super) mod values;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use crate::cli::console::{cannot_print, complain, end_with, print, print_styled, say};
use crate::cli::error::CliError;
use crate::cli::files::meant;
use crate::cli::words;
use args::{FleetCommand, FleetOutput, Show};
use bumpwright_api::ObjectName;
use bumpwright_fleet::{Fleet, Node, Product, is_unmatched_patch, shown_folder, unmatched_patches, unseen_objects};
use bumpwright_text::between;
pub(super) use hint::hint;
use open::Opened;

/// Kustomizations that are named in a warning.
const FEW: usize = 3;

/// Something could not be built.
const INCOMPLETE: u8 = 1;

#[must_use]
pub fn run(args: &args::Fleet) -> ExitCode {
    match &args.command {
        Some(FleetCommand::Check(args)) => return check::run(args),
        Some(FleetCommand::Diff(args)) => return diff::run(args),
        Some(FleetCommand::Review(args)) => return review::run(args),
        None => {}
    }
    let is_whole = show(&args.show);
    end_with(is_whole.map(|is_whole| if is_whole { 0 } else { INCOMPLETE }))
}

/// Prints the fleets; returns whether all of it was built.
fn show(args: &Show) -> Result<bool, CliError> {
    let entries = args.reading.entries.iter().map(Path::new);
    let meant = meant(entries, &["check", "diff", "review", "help"]);
    if let Some(error) = meant.filter(|_| args.reading.path.is_none()) {
        return Err(error);
    }
    let opened = Opened::new(&args.reading)?;
    let fleets = opened.fleets()?;
    let wanted = args
        .kustomization
        .iter()
        .map(|text| name(text))
        .collect::<Result<Vec<_>, _>>()?;
    for name in &wanted {
        if fleets.iter().all(|fleet| fleet.kustomization(name).is_none()) {
            return Err(CliError::new(format!("the fleet has no Kustomization {name}")));
        }
    }
    // A release belongs to the Kustomization that gives it.
    let owner = |node: &Node| match (&node.release, node.name()) {
        (None, name) => name,
        (Some(_), _) => fleets.iter().find_map(|fleet| fleet.owner(node)),
    };
    let is_wanted = |node: &Node| wanted.is_empty() || owner(node).is_some_and(|name| wanted.contains(&name));
    let printed = match args.output {
        FleetOutput::Tree => print_styled(&tree::render(&fleets, &is_wanted)),
        FleetOutput::Names => print(names::render(&fleets, &is_wanted).as_bytes()),
        FleetOutput::Yaml => print(yaml::render(&fleets, &is_wanted)?.as_bytes()),
        FleetOutput::Json => print(json::render(&fleets, &is_wanted).as_bytes()),
    };
    printed.map_err(cannot_print)?;
    sync::tell(&opened, &fleets);
    if args.output != FleetOutput::Tree {
        report(&fleets, &is_wanted);
    }
    unfetched(&fleets, &is_wanted);
    unseen(&fleets, &is_wanted);
    let nodes = fleets
        .iter()
        .flat_map(|fleet| &fleet.nodes)
        .filter(|node| is_wanted(node));
    Ok(fleets.iter().all(|fleet| fleet.problems.is_empty()) && !nodes.into_iter().any(Node::is_failed))
}

/// Says how many releases are rendered without a schema that is elsewhere, by host.
fn unfetched(fleets: &[Fleet], is_wanted: &dyn Fn(&Node) -> bool) {
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in fleets
        .iter()
        .flat_map(|fleet| &fleet.nodes)
        .filter(|node| is_wanted(node))
    {
        let urls = node
            .product
            .as_ref()
            .map_or(&[][..], |product| &product.unfetched_schemas);
        let named: BTreeSet<&str> = urls.iter().map(|url| host(url)).collect();
        for host in named {
            *hosts.entry(host).or_default() += 1;
        }
    }
    for (host, count) in hosts {
        let releases = words::count(count, "HelmRelease");
        say(
            "note",
            &format!("the values of {releases} are not compared with schemas at {host}, which are not fetched"),
        );
    }
}

/// Says how many objects of ResourceSets are not in the view.
fn unseen(fleets: &[Fleet], is_wanted: &dyn Fn(&Node) -> bool) {
    for fleet in fleets {
        let of = (fleets.len() > 1).then(|| shown_folder(&fleet.entry));
        let of = between("", of, ": ");
        if let Some(unseen) = unseen_objects(fleet, is_wanted) {
            say("note", &format!("{of}{unseen}"));
        }
    }
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Says on standard error what an output for programs does not have.
fn report(fleets: &[Fleet], is_wanted: &dyn Fn(&Node) -> bool) {
    for fleet in fleets {
        fleet.problems.iter().for_each(complain);
        for node in fleet.nodes.iter().filter(|node| is_wanted(node)) {
            match &node.product {
                Ok(product) => {
                    let warnings = warnings(product).cloned().chain(product.refusals());
                    warnings.for_each(|warning| say("warning", &format!("{}: {warning}", node.title())));
                    if let Some(note) = elsewhere(node) {
                        say("note", &format!("{}: {note}", node.title()));
                    }
                }
                Err(problem) if node.is_failed() => complain(format!("{}: {problem}", node.title())),
                Err(problem) => say("warning", &format!("{}: {problem}", node.title())),
            }
        }
    }
    patches(fleets, is_wanted).for_each(|warning| say("warning", &warning));
}

/// What is said of releases that are not rendered, since their Kustomization is for another cluster.
fn elsewhere(node: &Node) -> Option<String> {
    let count = node.releases_elsewhere();
    let releases = words::count(count, "HelmRelease");
    (count > 0).then(|| format!("{releases} in another cluster (spec.kubeConfig), not rendered"))
}

/// The warnings of a build, but for those that are reported once for all Kustomizations.
fn warnings(product: &Product) -> impl Iterator<Item = &String> {
    product.warnings.iter().filter(|warning| !is_unmatched_patch(warning))
}

/// What is said of patches that match nothing: once for each, with the Kustomizations that have it.
fn patches<'f>(fleets: &'f [Fleet], is_wanted: &'f dyn Fn(&Node) -> bool) -> impl Iterator<Item = String> + 'f {
    let wanted: BTreeSet<String> = fleets
        .iter()
        .flat_map(|fleet| &fleet.nodes)
        .filter(|node| is_wanted(node))
        .map(Node::shown)
        .collect();
    unmatched_patches(fleets).into_iter().filter_map(move |patch| {
        let names = patch.kustomizations.iter();
        let names = names.map(|(entry, name)| name.as_deref().unwrap_or(entry));
        let names: BTreeSet<&str> = names.filter(|name| wanted.contains(*name)).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let place = patch.place.as_ref();
        let place = place.map(|place| format!("{}:{}:{}", place.path, place.line, place.column));
        let place = between("", place, ": ");
        let (few, more) = (names.get(..FEW).unwrap_or(&names), names.len().saturating_sub(FEW));
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let of = format!("Kustomization {}{more}", few.join(", "));
        (!names.is_empty()).then(|| format!("{of}: {place}{}", patch.message))
    })
}

/// `NAMESPACE/NAME`.
fn name(text: &str) -> Result<ObjectName, CliError> {
    ObjectName::parse(text).ok_or_else(|| CliError::new(format!("--kustomization {text:?}: expected NAMESPACE/NAME")))
}
