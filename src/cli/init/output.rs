//! What is proposed: as a diff with reasons, as JSON, or written.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::append;
use super::args::Init;
use crate::cli::console::{cannot_print, print, print_styled, say};
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::files::{diff, say_preview, write_all};
use crate::cli::flag_values::Format;
use crate::cli::words;
use bumpwright_adopt::SourceFile;
use bumpwright_api::Place;
use bumpwright_edit::{OWN_FOLDER, unified};
use bumpwright_propose::{Left, Proposal, Proposed, Survey};
use bumpwright_update::FileChange;

/// All that is printed.
pub(super) struct Outcome<'a> {
    pub(super) args: &'a Init,
    pub(super) sources: &'a [SourceFile],
    pub(super) survey: &'a Survey,
    pub(super) proposal: &'a Proposal,
    /// The file for the objects.
    pub(super) place: &'a Path,
    /// Whether they may go behind those that the file has.
    pub(super) may_append: bool,
}

/// Writes what is to be written, and prints.
///
/// # Errors
/// The file for the objects exists, or something cannot be written.
pub(super) fn give(outcome: &Outcome<'_>) -> Result<(), CliError> {
    let &Outcome {
        args,
        sources,
        proposal,
        place,
        may_append,
        ..
    } = outcome;
    let mut changes: Vec<FileChange> = proposal
        .edited
        .iter()
        .filter_map(|edited| change(sources, edited))
        .collect();
    let marked = changes.len();
    let mut new = (!proposal.manifests.is_empty()).then_some((place, proposal.manifests.as_bytes()));
    if new.is_some() && std::fs::symlink_metadata(place).is_ok() {
        if !may_append {
            return Err(append::refused(place));
        }
        append::to(&mut changes, place, proposal)?;
        new = None;
    }
    if args.write {
        let own = place
            .parent()
            .filter(|folder| folder.ends_with(OWN_FOLDER) && new.is_some());
        if let Some(folder) = own {
            std::fs::create_dir_all(folder).at(folder.display())?;
        }
        write_all(new, &changes)?;
    }
    match (args.output, args.write) {
        (Format::Json, _) => return print_json(outcome),
        (Format::Text, true) => print_styled(&report(proposal, marked, place)).map_err(cannot_print)?,
        (Format::Text, false) => print(&shown(new, &changes)).map_err(cannot_print)?,
    }
    tell(outcome);
    say_preview(!args.write && (new.is_some() || !changes.is_empty()));
    Ok(())
}

/// The diff that `git apply` takes.
fn shown(new: Option<(&Path, &[u8])>, changes: &[FileChange]) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some((path, bytes)) = new {
        let path = path.strip_prefix("./").unwrap_or(path);
        unified::append_new(&mut out, path.as_os_str().as_encoded_bytes(), bytes);
    }
    out.extend(diff(changes));
    if out.is_empty() {
        b"nothing to propose\n".to_vec()
    } else {
        out
    }
}

fn change(sources: &[SourceFile], (file, marking): &(usize, bumpwright_edit::Marking)) -> Option<FileChange> {
    let source = sources.get(*file)?;
    Some(FileChange {
        path: source.name.clone().into_bytes(),
        old: source.bytes.clone(),
        new: marking.new.clone()?,
    })
}

fn report(proposal: &Proposal, files: usize, place: &Path) -> String {
    let fields: usize = proposal.edited.iter().map(|(_, marking)| marking.changed.len()).sum();
    if fields == 0 && proposal.objects.is_empty() {
        return "nothing to propose\n".to_owned();
    }
    let mut out = format!(
        "marked {} in {}",
        words::count(fields, "field"),
        words::count(files, "file")
    );
    if !proposal.objects.is_empty() {
        let path = place.display().to_string();
        let count = words::count(proposal.objects.len(), "object");
        let _ = write!(out, "; {count} in {}", words::inline(&path));
    }
    out.push('\n');
    out
}

fn at(file: &str, place: Place) -> String {
    format!("{}:{}:{}", words::inline(file), place.line, place.column)
}

/// The reasons: of policies, of what was left, and what is worth knowing.
fn tell(outcome: &Outcome<'_>) {
    let Outcome { survey, proposal, .. } = outcome;
    for policy in &proposal.policies {
        tell_policy(outcome.sources, policy);
    }
    for left in &proposal.left {
        let what = if left.is_error { "error" } else { "left" };
        let image = match left.image.as_str() {
            "" => String::new(),
            image => format!("{}: ", words::inline(image)),
        };
        say(
            what,
            &format!("{}: {image}{}", at(&left.file, left.place), words::inline(&left.why)),
        );
    }
    if !survey.done.is_empty() {
        let done: Vec<String> = survey
            .done
            .iter()
            .map(|image| words::inline(image).into_owned())
            .collect();
        say("done", &format!("marked already: {}", words::some(&done)));
    }
    for note in &proposal.notes {
        say("note", &words::inline(note));
    }
}

fn tell_policy(sources: &[SourceFile], policy: &Proposed) {
    let current: Vec<String> = policy.current.iter().cloned().collect();
    let (image, why) = (words::inline(&policy.listing.image), words::inline(&policy.why));
    let name = policy.name.to_string();
    let current = words::some(&current);
    say(
        "policy",
        &format!(
            "{}: {image} {} → {}: {why}",
            words::inline(&name),
            words::inline(&current),
            words::inline(&policy.chosen)
        ),
    );
    for note in &policy.notes {
        say("note", &format!("{}: {}", words::inline(&name), words::inline(note)));
    }
    let places = policy
        .uses
        .iter()
        .filter_map(|(file, place)| Some(at(&sources.get(*file)?.name, *place)));
    say("marks", &words::some(&places.collect::<Vec<_>>()));
}

/// One document, as docs/reference/init.schema.json says.
fn print_json(outcome: &Outcome<'_>) -> Result<(), CliError> {
    let &Outcome {
        args,
        sources,
        survey,
        proposal,
        place,
        ..
    } = outcome;
    let objects = proposal.objects.iter();
    let objects = objects.map(|(kind, name)| json!({"kind": kind, "namespace": name.namespace, "name": name.name}));
    let edited = proposal
        .edited
        .iter()
        .filter_map(|(file, _)| Some(sources.get(*file)?.name.as_str()));
    let document = json!({
        "version": 1,
        "written": args.write,
        "file": (!proposal.manifests.is_empty()).then(|| place.display().to_string()),
        "manifests": proposal.manifests,
        "objects": objects.collect::<Vec<Value>>(),
        "policies": proposal.policies.iter().map(|policy| json_policy(sources, policy)).collect::<Vec<_>>(),
        "edited": edited.collect::<Vec<_>>(),
        "left": proposal.left.iter().map(json_left).collect::<Vec<_>>(),
        "done": survey.done,
        "notes": proposal.notes,
    });
    print(format!("{}\n", words::json(&format!("{document:#}"))).as_bytes()).map_err(cannot_print)
}

fn json_policy(sources: &[SourceFile], policy: &Proposed) -> Value {
    let field = |(file, place): &(usize, Place)| {
        let path = &sources.get(*file)?.name;
        Some(json!({"path": path, "line": place.line, "column": place.column}))
    };
    json!({
        "namespace": policy.name.namespace,
        "name": policy.name.name,
        "image": policy.listing.image,
        "kind": policy.listing.kind.as_str(),
        "known": policy.is_known,
        "current": policy.current,
        "chosen": policy.chosen,
        "why": policy.why,
        "notes": policy.notes,
        "fields": policy.uses.iter().filter_map(field).collect::<Vec<_>>(),
    })
}

fn json_left(left: &Left) -> Value {
    json!({
        "path": left.file,
        "line": left.place.line,
        "column": left.place.column,
        "image": left.image,
        "why": left.why,
        "error": left.is_error,
    })
}
