//! `bumpwright tree`: what a Kustomization or HelmRelease has applied, with what the Kustomizations and
//! HelmReleases among that have.

pub mod args;
mod health;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;

use anstyle::Style;
use serde::Serialize;

use crate::cli::console::{cannot_print, end_with, print, print_styled, say};
use crate::cli::error::CliError;
use crate::cli::view::args::Shape;
use crate::cli::view::read::objects;
use crate::cli::view::table::cut;
use crate::cli::view::text::{BAD, BOLD, DIM, GOOD, WARN, columns, first_line};
use crate::cli::view::{at, document, kinds, meant, not_found};
use crate::cli::words;
use args::Tree;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, HELM_RELEASE, KUSTOMIZATION, Resource};
use bumpwright_overview::{Branch, Health, Id, Readiness, Release, State};
use bumpwright_text::between;

/// The document of `-o json` and `-o yaml`.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    tree: &'a Branch,
}

#[must_use]
pub(super) fn run(args: &Tree) -> ExitCode {
    end_with(at(&args.place, async |cluster| show(args, &cluster).await))
}

async fn show(args: &Tree, cluster: &Cluster) -> Result<u8, CliError> {
    let id = id(args)?;
    let state = objects(cluster, Some(&id.name.namespace)).await?;
    state.notes.iter().for_each(|note| say("note", note));
    let Some(mut tree) = state.world.tree(&id) else {
        let missing = not_found(&id.kind, &id.name.name, &id.name.namespace);
        let kind = kinds::named(&id.kind).map(|kind| Resource::of(kind, true).gvk);
        return Err(meant::hinted(missing, cluster, (kind.as_ref(), &id.name), BTreeSet::new()).await);
    };
    if args.health {
        if state.world.is_elsewhere(&id) {
            say("note", "its objects are in another cluster, which is not asked");
        }
        health::look(cluster, &state.world, &mut tree).await;
    }
    let document = Document {
        version: document::VERSION,
        tree: &tree,
    };
    let printed = match args.output {
        Shape::Text => {
            let mut out = String::new();
            render(&mut out, &tree, "", "", columns());
            print_styled(&out)
        }
        Shape::Json => print(document::json(&document)?.as_bytes()),
        Shape::Yaml => print(document::yaml(&document)?.as_bytes()),
    };
    printed.map_err(cannot_print)?;
    Ok(0)
}

fn id(args: &Tree) -> Result<Id, CliError> {
    let typed = kinds::typed(&args.object)?;
    let kind = typed.kind.kind;
    if ![&KUSTOMIZATION, &HELM_RELEASE].contains(&typed.kind) {
        return Err(CliError::new(format!(
            "{kind} has no tree: only Kustomizations and HelmReleases have one"
        )));
    }
    match typed.objects.as_slice() {
        [(_, name)] => Ok(Id::new(kind, ObjectName::new(&args.place.namespace, name))),
        _ => Err(CliError::new(
            "give one object: kustomization NAME, ks/NAME, helmrelease NAME, or hr/NAME",
        )),
    }
}

/// A branch and those below it. `first` and `rest` begin its first line and the others.
fn render(out: &mut String, branch: &Branch, first: &str, rest: &str, columns: Option<usize>) {
    let name = branch.object.to_string();
    let name = words::inline(&name);
    let used = first.chars().count() + name.chars().count() + 1;
    let told = match (&branch.readiness, &branch.health) {
        _ if branch.elsewhere => Some((DIM, "in another cluster".to_owned())),
        (_, Some(health)) => Some(condition(health)),
        (Some(readiness), None) => Some(state(readiness)),
        (None, None) => None,
    };
    let chart = between("", branch.release.as_deref().map(chart), "");
    let told = told.map(|(style, text)| (style, format!("{chart}{text}")));
    let state = told.map(|(style, text)| {
        let text = words::inline(&text);
        let text = cut(&text, columns.map(|columns| columns.saturating_sub(used).max(10)));
        format!(" {style}{text}{style:#}")
    });
    let _ = writeln!(out, "{DIM}{first}{DIM:#}{BOLD}{name}{BOLD:#}{}", between("", state, ""));
    let mut children = branch.children.iter().peekable();
    while let Some(child) = children.next() {
        let (branch, below) = match children.peek() {
            Some(_) => ("├── ", "│   "),
            None => ("└── ", "    "),
        };
        render(
            out,
            child,
            &format!("{rest}{branch}"),
            &format!("{rest}{below}"),
            columns,
        );
    }
}

/// The chart of a release, before its state.
fn chart(release: &Release) -> String {
    match (release.chart.as_str(), release.version.as_str()) {
        ("", _) => format!("({}) ", release.source),
        (chart, "") => format!("({chart} of {}) ", release.source),
        (chart, version) => format!("({chart} {version} of {}) ", release.source),
    }
}

/// The state of an object, and the reason if it is not ready.
fn state(readiness: &Readiness) -> (Style, String) {
    let style = match readiness.state {
        State::Ready => GOOD,
        State::Stalled | State::Failed => BAD,
        State::Deleting | State::Progressing | State::Unknown => WARN,
    };
    let mut text = match readiness.state {
        State::Ready => readiness.state.word().to_owned(),
        state => format!(
            "{}: {}: {}",
            state.word(),
            readiness.reason,
            first_line(&readiness.message)
        ),
    };
    if readiness.suspended {
        text = format!("suspended, {text}");
    }
    (style, text)
}

/// How an object is, as somebody has read it; the message where it is not well.
fn condition(health: &Health) -> (Style, String) {
    let style = match health.status.as_str() {
        "Current" => return (GOOD, health.status.clone()),
        "Failed" | "NotFound" => BAD,
        Health::UNREAD => DIM,
        _ => WARN,
    };
    (style, format!("{}: {}", health.status, first_line(&health.message)))
}
