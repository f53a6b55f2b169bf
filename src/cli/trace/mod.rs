//! `bumpwright trace`: from an object back to the HelmRelease, Kustomization, commit, automation, policy and tag
//! that it comes from.

pub mod args;
mod kind;
mod subject;
mod text;

use std::process::ExitCode;

use serde::Serialize;

use crate::cli::console::{cannot_print, end_with, print, print_styled, say};
use crate::cli::error::CliError;
use crate::cli::view::args::Shape;
use crate::cli::view::read::objects;
use crate::cli::view::{at, document};
use args::Trace;
use bumpwright_kube::Cluster;
use bumpwright_overview::{Release, Trace as Traced};
use bumpwright_ui::uses::Known;
use subject::Subject;

/// The document of `-o json` and `-o yaml`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    version: u32,
    /// The object that was asked for, and those that own it, up to the one that was applied.
    objects: &'a [String],
    /// Its images; none when it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<&'a [String]>,
    /// The HelmReleases that the last of the objects comes from, the nearest first; itself where it is one.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    releases: &'a [Release],
    /// One for each Kustomization that has it.
    traces: &'a [Traced],
}

#[must_use]
pub(super) fn run(args: &Trace) -> ExitCode {
    end_with(at(&args.place, async |cluster| show(args, &cluster).await))
}

async fn show(args: &Trace, cluster: &Cluster) -> Result<u8, CliError> {
    let (kind, name) = kind::typed(&args.object)?;
    let mut state = objects(cluster, Some(&args.place.namespace)).await?;
    let subject = Subject::find(cluster, &state.world, &kind, &args.place.namespace, &name).await?;
    if subject.applied.is_some() {
        state.read_uses(cluster, &mut Known::default()).await;
    }
    state
        .notes
        .iter()
        .chain(&subject.notes)
        .for_each(|note| say("note", note));
    let traces = match &subject.applied {
        Some(entry) => state.world.trace(entry, subject.images.as_deref()),
        None => Vec::new(),
    };
    let releases = subject
        .releases
        .iter()
        .filter_map(|id| state.world.releases.get(&id.name));
    let releases: Vec<Release> = releases.map(|facts| state.world.helm_release(facts)).collect();
    let document = Document {
        version: document::VERSION,
        objects: &subject.chain,
        runs: subject.images.as_deref(),
        releases: &releases,
        traces: &traces,
    };
    let printed = match args.output {
        Shape::Text => print_styled(&text::render(&subject, &releases, &traces, state.world.now)),
        Shape::Json => print(document::json(&document)?.as_bytes()),
        Shape::Yaml => print(document::yaml(&document)?.as_bytes()),
    };
    printed.map_err(cannot_print)?;
    Ok(u8::from(traces.is_empty()))
}
