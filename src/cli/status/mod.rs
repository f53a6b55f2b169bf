//! `bumpwright status`: what is behind, what is stuck and what changed, on one screen.

pub mod args;
mod text;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::console::{print, print_styled, say};
use crate::cli::view::args::Shape;
use crate::cli::view::read::{Seen, read};
use crate::cli::view::watch::Watch;
use crate::cli::view::{ViewError, at, document, end, text as words};
use args::Status;
use bumpwright_kube::Cluster;
use bumpwright_overview::{Overview, Severity};

/// What clears a terminal, and goes to its first line.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

/// The document of `-o json` and `-o yaml`.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    #[serde(flatten)]
    overview: &'a Overview,
}

/// Runs the command.
#[must_use]
pub(super) fn run(args: &Status) -> ExitCode {
    end(at(&args.places.place, async |cluster| show(args, &cluster).await))
}

async fn show(args: &Status, cluster: &Cluster) -> Result<u8, ViewError> {
    let namespace = args.places.namespace();
    let seen = read(cluster, namespace).await?;
    let overview = render(args, &seen, "")?;
    if args.watch {
        follow(args, cluster, seen).await?;
    }
    let is_broken = |severity| matches!(severity, Severity::Broken | Severity::Stuck);
    let is_found = overview.attention.iter().any(|one| is_broken(one.severity));
    Ok(u8::from(args.exit_code && is_found))
}

/// Shows it anew, for ever. What was shown stays in sight where there is no screen to be cleared.
async fn follow(args: &Status, cluster: &Cluster, mut seen: Seen) -> Result<(), ViewError> {
    let namespace = args.places.namespace();
    let watch = Watch::start(cluster, &seen, namespace);
    let is_screen = std::io::stdout().is_terminal() && args.output == Shape::Text;
    let before = if is_screen { CLEAR } else { "\n" };
    let mut shown = seen.overview(namespace);
    loop {
        match watch.next().await {
            true => seen = read(cluster, namespace).await?,
            false => seen.world.now = crate::cli::images::now().unix_seconds(),
        }
        let next = seen.overview(namespace);
        if is_screen || next != shown {
            render(args, &seen, before)?;
            shown = next;
        }
    }
}

/// Prints what was seen.
fn render(args: &Status, seen: &Seen, before: &str) -> Result<Overview, ViewError> {
    let namespace = args.places.namespace();
    let overview = seen.overview(namespace);
    let document = Document {
        version: document::VERSION,
        overview: &overview,
    };
    let printed = match args.output {
        Shape::Text => {
            let text = text::render(&overview, seen, namespace, words::columns());
            print_styled(&format!("{before}{text}"))
        }
        Shape::Json => print(document::json(&document)?.as_bytes()),
        Shape::Yaml if args.watch => print(format!("---\n{}", document::yaml(&document)?).as_bytes()),
        Shape::Yaml => print(document::yaml(&document)?.as_bytes()),
    };
    printed.map_err(ViewError::Print)?;
    if args.output != Shape::Text {
        seen.notes.iter().for_each(|note| say("note", note));
    }
    Ok(overview)
}
