//! `bumpwright migrate`: rewrites manifests of older API versions to v1, and adopts the settings of other
//! programs (docs/cli.md, *Other commands*).

mod adopt;
pub mod args;
mod paths;
mod renovate;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};

use crate::cli::console::{FAILED, cannot_print, complain, print, print_styled, say};
use crate::cli::error::CliError;
use crate::cli::files::{FoundFiles, diff, find, say_preview};
use crate::cli::words;
use args::Migrate;
use bumpwright_api::Place;
use bumpwright_edit::{FileKind, file_kind};
use bumpwright_migrate::{Migrated, Migration, migrate};
use bumpwright_update::{FileChange, replace_files};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const OLD: Style = AnsiColor::Red.on_default();
const NEW: Style = AnsiColor::Green.on_default();

/// The result for a file.
struct File {
    path: String,
    change: Option<FileChange>,
    migration: Migration,
}

/// Runs the command. An object that cannot be migrated is a failure: a script that continues would assume
/// that everything is v1.
pub fn run(args: &Migrate) -> ExitCode {
    if let Some(program) = args.from {
        return adopt::run(args, program);
    }
    let mut files_found = find(&args.paths, &is_manifest);
    if !args.write
        && let Err(error) = files_found.refuse_nothing()
    {
        complain(error);
        return ExitCode::from(FAILED);
    }
    files_found.faults.iter().for_each(complain);
    if let Err(error) = files_found.check_named()
        && args.write
    {
        complain(error);
        return ExitCode::from(FAILED);
    }
    let FoundFiles { files, faults, .. } = files_found;
    let files: Vec<File> = files.into_iter().map(|(path, old)| look_at(&path, old)).collect();
    let written = if args.write { write(&files) } else { print_diff(&files) };
    if let Err(error) = &written {
        complain(error);
    }
    let left = files.iter().any(|file| !file.migration.left.is_empty());
    if written.is_err() || left || !faults.is_empty() {
        ExitCode::from(FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

fn is_manifest(path: &str) -> bool {
    file_kind(path) == FileKind::Yaml || path.ends_with(".json")
}

fn look_at(path: &Path, old: Vec<u8>) -> File {
    let mut migration = migrate(&old);
    let new = migration.new.take();
    File {
        path: path.to_string_lossy().into_owned(),
        change: new.map(|new| FileChange {
            path: path.as_os_str().as_encoded_bytes().to_vec(),
            old,
            new,
        }),
        migration,
    }
}

/// Prints a diff to standard output, and notes to standard error.
fn print_diff(files: &[File]) -> Result<(), CliError> {
    let changes = files.iter().filter_map(|file| file.change.as_ref());
    print(&diff(changes)).map_err(cannot_print)?;
    for file in files {
        remarks(file, say);
    }
    say_preview(files.iter().any(|file| file.change.is_some()));
    if files
        .iter()
        .all(|file| file.change.is_none() && file.migration.left.is_empty())
    {
        let count = words::count(files.len(), "file");
        let text = format!("nothing to rewrite: no object of an older API version in {count}");
        say("note", &(text + "; --from converts the settings of another program"));
    }
    Ok(())
}

/// Replaces all files or none, and reports the changed objects.
fn write(files: &[File]) -> Result<(), CliError> {
    let changes: Vec<FileChange> = files.iter().filter_map(|file| file.change.clone()).collect();
    replace_files(&changes)?;
    let (mut out, mut count) = (String::new(), 0);
    for file in files {
        if !file.migration.migrated.is_empty() {
            let _ = writeln!(out, "{BOLD}{}{BOLD:#}", words::inline(&file.path));
        }
        count += file.migration.migrated.len();
        file.migration.migrated.iter().for_each(|object| line(&mut out, object));
    }
    match changes.len() {
        0 => out.push_str("nothing to change\n"),
        n => {
            let _ = writeln!(
                out,
                "migrated {} in {}",
                words::count(count, "object"),
                words::count(n, "file")
            );
        }
    }
    for file in files {
        remarks(file, |what, text| {
            let _ = writeln!(out, "{DIM}{what}{DIM:#} {text}");
        });
    }
    print_styled(&out).map_err(cannot_print)
}

fn line(out: &mut String, object: &Migrated) {
    let place = format!("{}:{}", object.place.line, object.place.column);
    let name = object.object.to_string();
    let name = words::inline(&name);
    let _ = match object.from.as_str() {
        "" => writeln!(out, "  {DIM}{place:>7}{DIM:#}  {name}: references"),
        from => writeln!(
            out,
            "  {DIM}{place:>7}{DIM:#}  {name}: {OLD}{}{OLD:#} → {NEW}{}{NEW:#}",
            words::inline(from),
            object.to
        ),
    };
}

/// Objects that stay as they are, and notes on the others.
fn remarks(file: &File, mut tell: impl FnMut(&str, &str)) {
    let at = |place: Place| format!("{}:{}:{}", words::inline(&file.path), place.line, place.column);
    for note in &file.migration.notes {
        tell("note", &format!("{}: {}", at(note.place), words::inline(&note.text)));
    }
    for left in &file.migration.left {
        let object = match left.object.to_string() {
            none if none.is_empty() => none,
            object => format!("{}: ", words::inline(&object)),
        };
        let reason = left.reason.to_string();
        tell(
            "skipped",
            &format!("{}: {object}{}", at(left.place), words::inline(&reason)),
        );
    }
}
