//! `bumpwright policy`: the image that each policy chooses, and why.

pub mod args;
mod explain;
mod find;
mod flags;
mod html;
mod json;
mod promoted;
mod release;
mod status;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use crate::cli::console::{FAILED, cannot_print, end_with, print, print_styled, say};
use crate::cli::error::CliError;
use crate::cli::fetch_bounds::FetchBounds;
use crate::cli::fleet::given::{Given, Limits};
use crate::cli::images::{Images, now};
use crate::cli::load;
use args::{Output, Policy};
use bumpwright_api::{ImagePolicy, ImageRepository, Objects};
use bumpwright_nearest::nearest;
use bumpwright_text::between;
use find::{Finding, Question, Subject, find};

#[must_use]
pub fn run(args: &Policy) -> ExitCode {
    if let Some(version) = &args.release {
        return release::run(args, version);
    }
    let shown = findings(args).and_then(|findings| {
        show(args, &findings)?;
        let is_whole = findings.iter().all(|finding| finding.problem.is_none());
        Ok(if is_whole { 0 } else { FAILED })
    });
    end_with(shown)
}

/// For somebody who typed no more than the command, in a folder without policies.
const NO_SOURCE: &str = "there is no ImagePolicy in this folder: `-f FILE|DIR` names another, `--fleet DIR` shows those that a cluster gets, and \
    `--image IMAGE --semver RANGE` tries a rule without any; `bumpwright get images` shows what the policies of a cluster have chosen";

/// The folder where policies are looked for without flags, as `update` does.
const HERE: &str = ".";

/// The findings for all policies that the arguments name, by namespace and name.
fn findings(args: &Policy) -> Result<Vec<Finding>, CliError> {
    let (objects, subjects) = match &args.image {
        Some(image) => {
            let (policy, repository) = flags::made_of(args, image)?;
            (Objects::default(), vec![Subject::unnamed(policy, repository)])
        }
        None => {
            let unknown = load::unknown_fields(args.allow_unknown_fields);
            let is_here = args.filenames.is_empty() && args.fleet.is_empty();
            let objects = if is_here {
                load::load(&[PathBuf::from(HERE)], unknown)?
            } else {
                load::load(&args.filenames, unknown)?
            };
            if is_here && objects.image_policies().next().is_none() {
                return Err(CliError::new(NO_SOURCE));
            }
            let (objects, unbuilt) = with_fleet(args, objects)?;
            let subjects = subjects(&objects, args, unbuilt.as_deref())?;
            (objects, subjects)
        }
    };
    let images = (!args.offline).then(|| Images::new(&objects));
    let question = Question {
        images: images.as_ref(),
        explain: args.explain.as_deref(),
        now: now(),
    };
    let mut findings = find(&subjects, &question);
    let given = (args.filenames.iter().map(AsRef::as_ref)).chain(args.fleet.iter().map(Path::new));
    let folders: Vec<_> = given.filter_map(promoted::folder).collect();
    promoted::judge(&mut findings, &subjects, &folders, &question.now);
    Ok(findings)
}

/// Adds the objects of the clusters in `--fleet`; says which of their Kustomizations could not be built.
fn with_fleet(args: &Policy, objects: Objects) -> Result<(Objects, Option<String>), CliError> {
    if args.fleet.is_empty() {
        return Ok((objects, None));
    }
    let limits = Limits {
        bounds: FetchBounds::default(),
        offline: args.offline,
        charts: None,
    };
    let fleet = Given::of_entries(&args.fleet, limits)?.objects(&objects)?;
    fleet.notes.iter().for_each(|note| say("note", note));
    Ok((objects.overlay(fleet.objects), fleet.unbuilt))
}

/// The policies of manifests with their repositories; with names, only those.
fn subjects(objects: &Objects, args: &Policy, unbuilt: Option<&str>) -> Result<Vec<Subject>, CliError> {
    let names = args.names.as_slice();
    let policies: Vec<&ImagePolicy> = objects.image_policies().collect();
    if policies.is_empty() {
        return Err(CliError::new(format!(
            "there is no ImagePolicy in {}{}",
            given(args),
            in_built(unbuilt)
        )));
    }
    let is_meant = |policy: &ImagePolicy, name: &str| match name.split_once('/') {
        Some(_) => policy.policy_name().to_string() == name,
        None => policy.metadata.name == name,
    };
    let unknown = |name: &&String| !policies.iter().any(|policy| is_meant(policy, name));
    if let Some(unknown) = names.iter().find(unknown) {
        let names = policies
            .iter()
            .flat_map(|policy| [policy.metadata.name.clone(), policy.policy_name().to_string()]);
        let names: Vec<String> = names.collect();
        let near = nearest(unknown, names.iter().map(String::as_str));
        let text = format!(
            "there is no ImagePolicy {unknown} in {}{}",
            given(args),
            in_built(unbuilt)
        );
        return Err(CliError::new(text).meant(near));
    }
    let meant = |policy: &ImagePolicy| names.is_empty() || names.iter().any(|name| is_meant(policy, name));
    let chosen = policies.into_iter().filter(|policy| meant(policy));
    let repository = |policy: &ImagePolicy| -> Option<Arc<ImageRepository>> {
        objects.image_repository(&policy.repository()?).cloned().map(Arc::new)
    };
    let names: Vec<String> = objects.image_repositories().map(|one| one.name().to_string()).collect();
    let near = |policy: &ImagePolicy| {
        let name = policy.repository()?.to_string();
        nearest(&name, names.iter().map(String::as_str)).map(str::to_owned)
    };
    Ok(chosen
        .map(|policy| Subject::named(policy.clone(), repository(policy)).near(near(policy)))
        .collect())
}

/// That something may be in what could not be built, for errors.
fn in_built(unbuilt: Option<&str>) -> String {
    between(", as far as it is known: ", unbuilt, "").to_string()
}

/// What was given, for errors.
fn given(args: &Policy) -> String {
    match args.fleet.as_slice() {
        [] if args.filenames.is_empty() => "this folder".to_owned(),
        [] => "-f".to_owned(),
        entries => format!("--fleet {}", entries.join(",")),
    }
}

fn show(args: &Policy, findings: &[Finding]) -> Result<(), CliError> {
    let written = match args.output {
        Output::Text => {
            let text = match &args.explain {
                Some(tag) => table::explanations(findings, tag),
                None => table::table(findings),
            };
            print_styled(&text)
        }
        Output::Json => print(json::render(findings)?.as_bytes()),
        Output::Html => print(html::render(findings)?.as_bytes()),
    };
    if args.output == Output::Json {
        table::notes(findings).iter().for_each(|note| say("note", note));
    }
    written.map_err(cannot_print)
}
