//! `bumpwright migrate --from`: policies, automations and markers from the settings of another program.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use super::args::{Migrate, Program};
use super::{BOLD, DIM, is_manifest, paths, renovate};
use crate::cli::console::{FAILED, cannot_print, complain, print, print_styled, say};
use crate::cli::error::CliError;
use crate::cli::files::{FoundFiles, diff, find, in_repositories, say_preview, write_all};
use crate::cli::words;
use bumpwright_adopt::{Adoption, Files, Options, SourceFile, Weight, argocd_image_updater, flux_v1};
use bumpwright_edit::unified;
use bumpwright_update::FileChange;

/// Runs the command. What was left is a failure: a script that continues would assume that all is said.
pub(super) fn run(args: &Migrate, program: Program) -> ExitCode {
    let files_found = find(&args.paths, &is_manifest);
    files_found.faults.iter().for_each(complain);
    if let Err(error) = files_found.check_named()
        && args.write
    {
        complain(error);
        return ExitCode::from(FAILED);
    }
    let FoundFiles { files, faults, .. } = files_found;
    let mut sources = in_repositories(&args.paths, files, &args.manifests);
    let existing = match there(&args.manifests) {
        Ok(there) => there,
        Err(error) => {
            complain(&error);
            return ExitCode::from(FAILED);
        }
    };
    let options = Options {
        namespace: args.namespace.clone(),
        manifests: existing.is_some().then_some(sources.len()),
    };
    sources.extend(existing);
    let adopted = match program {
        Program::ArgocdImageUpdater => Ok((argocd_image_updater(&sources, &options), Vec::new())),
        Program::FluxV1 => Ok((flux_v1(&sources, &options), Vec::new())),
        Program::Renovate => renovate::adopt(args, &sources),
    };
    let (adoption, notes) = match adopted {
        Ok(adopted) => adopted,
        Err(error) => {
            complain(&error);
            return ExitCode::from(FAILED);
        }
    };
    let misplaced = paths::check(&adoption.manifests, &sources, &args.paths);
    let done = match misplaced {
        Err(error) if args.write => Err(error),
        misplaced => Output::of(args, &sources, &adoption).give(args.write).and(misplaced),
    };
    if let Err(error) = &done {
        complain(error);
    }
    tell(&adoption);
    if let (Some(text), true) = (counted(&adoption, args.write), done.is_ok()) {
        say("note", &text);
    }
    let is_nothing = adoption.edited.is_empty() && adoption.manifests.is_empty() && adoption.remarks.is_empty();
    if is_nothing && !args.write && faults.is_empty() && notes.is_empty() {
        let count = words::count(sources.len(), "file");
        say("note", &format!("nothing was found to adopt in {count}"));
    }
    notes.iter().for_each(|note| say("note", &words::inline(note)));
    say_preview(!args.write && !is_nothing);
    let left = adoption.remarks.iter().any(|remark| remark.weight == Weight::Left);
    if done.is_err() || left || !faults.is_empty() {
        ExitCode::from(FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

/// The file for the objects, if it exists; others are added only to a file of manifests.
fn there(path: &Path) -> Result<Option<SourceFile>, CliError> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    let name = path.to_string_lossy().into_owned();
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::from(error).at(words::inline(&name))),
    };
    let source = SourceFile {
        path: path
            .file_name()
            .map_or_else(|| name.clone(), |name| name.to_string_lossy().into_owned()),
        // Of a repository that is not migrated.
        root: usize::MAX,
        name,
        bytes,
    };
    let files = Files::read(std::slice::from_ref(&source));
    let is_object = |node: &bumpwright_api::tree::Node| node.field("kind").is_some() || node.is_null();
    let are_manifests = files
        .parsed
        .iter()
        .all(|file| file.error.is_none() && file.objects().into_iter().all(is_object));
    if are_manifests {
        Ok(Some(source))
    } else {
        Err(CliError::new(format!(
            "{} exists and is not a file of manifests, so that no objects can be added to it",
            words::inline(&source.name)
        ))
        .hint("name another file with --manifests"))
    }
}

/// What is written, or shown.
struct Output<'a> {
    adoption: &'a Adoption,
    sources: &'a [SourceFile],
    changes: Vec<FileChange>,
    /// Where the new objects go: a file that is not there yet; none when they are printed, there are none
    /// or they are added.
    new: Option<&'a Path>,
    /// The file that they are added to.
    added: Option<&'a str>,
    printed: bool,
}

fn changed(source: &SourceFile, new: Vec<u8>) -> FileChange {
    FileChange {
        path: source.name.clone().into_bytes(),
        old: source.bytes.clone(),
        new,
    }
}

impl<'a> Output<'a> {
    fn of(args: &'a Migrate, sources: &'a [SourceFile], adoption: &'a Adoption) -> Self {
        let printed = args.manifests.as_os_str() == "-";
        let existing = sources.iter().find(|source| source.root == usize::MAX);
        let has_new = !printed && !adoption.manifests.is_empty();
        let change = |edited: &bumpwright_adopt::Edited| {
            let source = sources.get(edited.file)?;
            Some(changed(source, edited.new.clone()))
        };
        let mut changes: Vec<FileChange> = adoption.edited.iter().filter_map(change).collect();
        let added = existing.filter(|_| has_new);
        changes.extend(added.map(|source| changed(source, adoption.manifests.clone().into_bytes())));
        Self {
            adoption,
            sources,
            changes,
            new: (has_new && existing.is_none()).then_some(args.manifests.as_path()),
            added: added.map(|source| source.name.as_str()),
            printed,
        }
    }

    fn give(&self, write: bool) -> Result<(), CliError> {
        if write {
            let new = self.new.map(|path| (path, self.adoption.manifests.as_bytes()));
            write_all(new, &self.changes)?;
        }
        match (self.printed, write) {
            (true, _) => {
                print(self.adoption.manifests.as_bytes()).map_err(cannot_print)?;
                if !write && !self.changes.is_empty() {
                    let files = words::count(self.changes.len(), "file");
                    say(
                        "note",
                        &format!(
                            "the changes of {files} are not shown beside the objects: leave out --manifests - to see them"
                        ),
                    );
                }
            }
            (false, true) => print_styled(&self.report()).map_err(cannot_print)?,
            (false, false) => print(&self.diff()).map_err(cannot_print)?,
        };
        Ok(())
    }

    fn diff(&self) -> Vec<u8> {
        let mut out = diff(&self.changes);
        if let Some(path) = self.new {
            let path = path.strip_prefix("./").unwrap_or(path);
            unified::append_new(
                &mut out,
                path.as_os_str().as_encoded_bytes(),
                self.adoption.manifests.as_bytes(),
            );
        }
        out
    }

    fn report(&self) -> String {
        let mut out = String::new();
        let (mut fields, mut annotations) = (0, 0);
        for edited in &self.adoption.edited {
            let name = self.sources.get(edited.file).map_or("", |source| source.name.as_str());
            let _ = writeln!(out, "{BOLD}{}{BOLD:#}", words::inline(name));
            for (place, setter, value) in &edited.marked {
                let at = format!("{}:{}", place.line, place.column);
                let _ = writeln!(out, "  {DIM}{at:>7}{DIM:#}  {}  ({setter})", words::inline(value));
            }
            if edited.removed > 0 {
                let _ = writeln!(
                    out,
                    "  {:>7}  {} removed",
                    "",
                    words::count(edited.removed, "annotation")
                );
            }
            fields += edited.marked.len();
            annotations += edited.removed;
        }
        if self.changes.is_empty() && self.new.is_none() {
            out.push_str("nothing to change\n");
            return out;
        }
        let counts = [
            (fields, format!("marked {}", words::count(fields, "field"))),
            (
                annotations,
                format!("removed {}", words::count(annotations, "annotation")),
            ),
        ];
        let done: Vec<String> = counts
            .into_iter()
            .filter_map(|(n, text)| (n > 0).then_some(text))
            .collect();
        let mut parts = Vec::new();
        if !done.is_empty() {
            let files = words::count(self.adoption.edited.len(), "file");
            parts.push(format!("{} in {files}", done.join(" and ")));
        }
        let path = self.new.map(|path| path.display().to_string());
        if let Some(path) = path.or_else(|| self.added.map(str::to_owned)) {
            let path = words::inline(&path);
            parts.push(match self.adoption.objects {
                0 => format!("changed {path}"),
                objects => format!("{} in {path}", words::count(objects, "object")),
            });
        }
        let _ = writeln!(out, "{}", parts.join("; "));
        out
    }
}

/// How many Applications moved, and which stay; none of a program whose settings are not of such.
fn counted(adoption: &Adoption, is_written: bool) -> Option<String> {
    let (moved, stay) = (&adoption.moved, &adoption.stay);
    if moved.is_empty() && stay.is_empty() {
        return None;
    }
    let verb = if is_written { "moved" } else { "would move" };
    let left = match stay.len() {
        0 => String::new(),
        1 => format!(", 1 stays with argocd-image-updater: {}", words::some(stay)),
        n => format!(", {n} stay with argocd-image-updater: {}", words::some(stay)),
    };
    let text = format!("{} {verb}{left}", words::count(moved.len(), "Application"));
    Some(words::inline(&text).into_owned())
}

/// Tells what was left, and what is worth knowing.
fn tell(adoption: &Adoption) {
    for remark in &adoption.remarks {
        let what = match remark.weight {
            Weight::Note => "note",
            Weight::Left => "skipped",
        };
        let subject = match remark.subject.as_str() {
            "" => String::new(),
            subject => format!("{}: ", words::inline(subject)),
        };
        let (line, column) = (remark.place.line, remark.place.column);
        let (file, text) = (words::inline(&remark.file), words::inline(&remark.text));
        say(what, &format!("{file}:{line}:{column}: {subject}{text}"));
    }
}
