//! `bumpwright migrate --from`: policies, automations and markers from what another program was told.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use super::args::{Migrate, Program};
use super::{BOLD, DIM, FAILED, is_manifest};
use crate::cli::console::{cannot_print, complain, print, print_styled, say};
use crate::cli::files::{FoundFiles, diff, find, in_repositories, write_all};
use crate::cli::words;
use bumpwright_adopt::{Adoption, Options, SourceFile, Weight, argocd_image_updater, flux_v1};
use bumpwright_edit::unified;
use bumpwright_update::FileChange;

/// Runs the command. What was left is a failure: a script that continues would assume that all is said.
pub(super) fn run(args: &Migrate, program: Program) -> ExitCode {
    let FoundFiles { files, faults, .. } = find(&args.paths, &is_manifest);
    faults.iter().for_each(|fault| complain(fault));
    let sources = in_repositories(&args.paths, files, &args.manifests);
    let options = Options {
        namespace: args.namespace.clone(),
    };
    let adoption = match program {
        Program::ArgocdImageUpdater => argocd_image_updater(&sources, &options),
        Program::FluxV1 => flux_v1(&sources, &options),
    };
    let done = Output::of(args, &sources, &adoption).and_then(|output| output.give(args.write));
    if let Err(error) = &done {
        complain(error);
    }
    tell(&adoption);
    let left = adoption.remarks.iter().any(|remark| remark.weight == Weight::Left);
    match done.is_err() || left || !faults.is_empty() {
        true => ExitCode::from(FAILED),
        false => ExitCode::SUCCESS,
    }
}

/// What is written, or shown.
struct Output<'a> {
    adoption: &'a Adoption,
    sources: &'a [SourceFile],
    changes: Vec<FileChange>,
    /// Where the new objects go: a file that is not there yet; none when they are printed, there are none or they are there.
    new: Option<&'a Path>,
    printed: bool,
}

impl<'a> Output<'a> {
    fn of(args: &'a Migrate, sources: &'a [SourceFile], adoption: &'a Adoption) -> Result<Self, String> {
        let printed = args.manifests.as_os_str() == "-";
        let new = match fs::read(&args.manifests) {
            _ if printed || adoption.manifests.is_empty() => None,
            Ok(bytes) if bytes == adoption.manifests.as_bytes() => None,
            Ok(_) => {
                let path = args.manifests.display().to_string();
                let path = words::inline(&path);
                return Err(format!(
                    "{path} is there already, with other content; name another file with --manifests"
                ));
            }
            Err(_) => Some(args.manifests.as_path()),
        };
        let change = |edited: &bumpwright_adopt::Edited| {
            let source = sources.get(edited.file)?;
            Some(FileChange {
                path: source.name.clone().into_bytes(),
                old: source.bytes.clone(),
                new: edited.new.clone(),
            })
        };
        Ok(Self {
            adoption,
            sources,
            changes: adoption.edited.iter().filter_map(change).collect(),
            new,
            printed,
        })
    }

    fn give(&self, write: bool) -> Result<(), String> {
        if write {
            let new = self.new.map(|path| (path, self.adoption.manifests.as_bytes()));
            write_all(new, &self.changes)?;
        }
        match (self.printed, write) {
            (true, _) => print(self.adoption.manifests.as_bytes()).map_err(cannot_print)?,
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

    /// What was written.
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
        match self.new {
            _ if self.changes.is_empty() && self.new.is_none() => out.push_str("nothing to change\n"),
            new => {
                let _ = write!(
                    out,
                    "marked {} and removed {} in {}",
                    words::count(fields, "field"),
                    words::count(annotations, "annotation"),
                    words::count(self.changes.len(), "file")
                );
                if let Some(path) = new {
                    let path = path.display().to_string();
                    let _ = write!(
                        out,
                        "; {} in {}",
                        words::count(self.adoption.objects, "object"),
                        words::inline(&path)
                    );
                }
                out.push('\n');
            }
        }
        out
    }
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
