//! `bumpwright status`: what is behind, what is stuck and what changed, on one screen.

pub mod args;
mod text;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::console::{cannot_print, end_with, print_on, print_styled, say};
use crate::cli::error::CliError;
use crate::cli::view::args::Shape;
use crate::cli::view::read::{Seen, read};
use crate::cli::view::watch::Watch;
use crate::cli::view::{at, document, text as words};
use args::Status;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, NAMESPACE, Resource};
use bumpwright_overview::{Overview, Severity};
use bumpwright_ui::uses::Known;

/// What clears a terminal, and goes to its first line.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

/// The document of `-o json` and `-o yaml`.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    #[serde(flatten)]
    overview: &'a Overview,
}

#[must_use]
pub(super) fn run(args: &Status) -> ExitCode {
    end_with(at(&args.places.place, async |cluster| show(args, &cluster).await))
}

async fn show(args: &Status, cluster: &Cluster) -> Result<u8, CliError> {
    let namespace = args.places.namespace();
    let mut known = Known::default();
    let state = read(cluster, namespace, &mut known).await?;
    let overview = state.overview(namespace);
    print_styled(&rendered(args, &state, &overview)?).map_err(cannot_print)?;
    if args.output != Shape::Text {
        state.notes.iter().for_each(|note| say("note", note));
    }
    if let Some(note) = nothing(cluster, namespace, &overview).await {
        say("note", &note);
    }
    if args.watch {
        follow(args, cluster, (state, known), &overview).await?;
    }
    let is_broken = |severity| matches!(severity, Severity::Broken | Severity::Stuck);
    let is_found = overview.attention.iter().any(|one| is_broken(one.severity));
    Ok(u8::from(args.exit_code && is_found))
}

/// Why there is nothing in a namespace.
async fn nothing(cluster: &Cluster, namespace: Option<&str>, overview: &Overview) -> Option<String> {
    let name = namespace?;
    let counts = &overview.counts;
    let tallies = [
        &counts.sources,
        &counts.repositories,
        &counts.policies,
        &counts.automations,
        &counts.kustomizations,
        &counts.releases,
    ];
    if tallies.iter().any(|tally| tally.all > 0) {
        return None;
    }
    let fetched = cluster
        .fetch(&Resource::of(&NAMESPACE, true), &ObjectName::new("", name))
        .await;
    Some(match fetched {
        Err(error) if error.is_not_found() => format!("there is no namespace {name}"),
        _ => format!("nothing in the namespace {name} is reconciled by Flux or bumpwright; -A shows all namespaces"),
    })
}

/// Shows it again and again until the reader is gone. Without a terminal, what was shown stays.
async fn follow(
    args: &Status,
    cluster: &Cluster,
    (mut seen, mut known): (Seen, Known),
    first: &Overview,
) -> Result<(), CliError> {
    let namespace = args.places.namespace();
    let watch = Watch::start(cluster, &seen, namespace);
    let is_screen = std::io::stdout().is_terminal() && args.output == Shape::Text;
    let before = match args.output {
        Shape::Text if is_screen => CLEAR,
        Shape::Text => "\n",
        Shape::Json => "",
        Shape::Yaml => "---\n",
    };
    let mut shown = first.clone();
    loop {
        if watch.next().await {
            seen = read(cluster, namespace, &mut known).await?
        } else {
            seen.world.now = crate::cli::images::now().unix_seconds()
        }
        let next = seen.overview(namespace);
        if !is_screen && next == shown {
            continue;
        }
        let text = rendered(args, &seen, &next)?;
        if !print_on(&format!("{before}{text}")).map_err(cannot_print)? {
            return Ok(());
        }
        shown = next;
    }
}

/// What was seen, in the format that is asked for.
fn rendered(args: &Status, seen: &Seen, overview: &Overview) -> Result<String, CliError> {
    let document = Document {
        version: document::VERSION,
        overview,
    };
    match args.output {
        Shape::Text => Ok(text::render(overview, seen, args.places.namespace(), words::columns())),
        Shape::Json => document::json(&document),
        Shape::Yaml => document::yaml(&document),
    }
}
