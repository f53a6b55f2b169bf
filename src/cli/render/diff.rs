//! `bumpwright diff`: what differs between two builds, by object and field.

use std::process::ExitCode;

use super::args::{Diff, DiffOutput};
use super::building;
use super::charts::WithCharts;
use super::kustomization;
use crate::cli::console::{cannot_print, end_with, print, say};
use crate::cli::error::CliError;
use bumpwright_diff::{Named, compare, to_json, to_text};
use bumpwright_kustomize::Build;
use bumpwright_kustomize::resource::Resource;
use bumpwright_yaml::Node;

/// Length of the hash at the end of a generated name, with its hyphen.
const HASH: usize = 11;

/// Runs the command: 0 no difference, 1 differences, 2 an error.
#[must_use]
pub fn run(args: &Diff) -> ExitCode {
    let differences = match args.flux.kustomization {
        Some(_) => kustomization::diff::differences(args),
        None => args.flux.check().and_then(|()| differences(args)),
    };
    end_with(differences.map(u8::from))
}

fn differences(args: &Diff) -> Result<bool, CliError> {
    let (old, new) = both(args)?;
    for warning in old.warnings.iter().chain(&new.warnings) {
        say("warning", warning);
    }
    let diffs = compare(&named(&old.objects), &named(&new.objects));
    let text = match args.output {
        DiffOutput::Text => to_text(&diffs),
        DiffOutput::Json => format!("{}\n", to_json(&diffs)),
    };
    print(text.as_bytes()).map_err(cannot_print)?;
    Ok(!diffs.is_empty())
}

/// Builds both sides; errors of both are reported in one run.
fn both(args: &Diff) -> Result<(Build, Build), CliError> {
    let world = WithCharts::repeatable(building::world(&args.flux.bounds));
    let (old, new) = match (args.targets.as_slice(), &args.from, &args.to) {
        ([old, new], None, None) => (
            building::build(old, &args.building, &world),
            building::build(new, &args.building, &world),
        ),
        ([] | [_], Some(from), Some(to)) => {
            let folder = args.targets.first().map_or(".", String::as_str);
            (
                building::at_revision(folder, from, &args.building, &world),
                building::at_revision(folder, to, &args.building, &world),
            )
        }
        ([_, _], Some(_), Some(_)) => {
            return Err(CliError::new(
                "--from and --to compare one folder with itself: give one",
            ));
        }
        _ => return Err(CliError::new("expected two folders, or --from REV --to REV and one")),
    };
    match (old, new) {
        (Ok(old), Ok(new)) => Ok((old, new)),
        (Err(old), Err(new)) if old.to_string() != new.to_string() => Err(CliError::new(format!("{old}\n{new}"))),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

fn named(objects: &[Resource]) -> Vec<(Named, &Node)> {
    objects
        .iter()
        .map(|object| {
            let name = object.name();
            let bare = name.len().checked_sub(HASH).and_then(|at| name.get(..at));
            let name = if object.needs_hash { bare.unwrap_or(name) } else { name };
            let named = Named {
                group: object.id().gvk.group.to_string(),
                kind: object.id().gvk.kind.to_string(),
                namespace: object.namespace().to_owned(),
                name: name.to_owned(),
            };
            (named, &object.node)
        })
        .collect()
}
