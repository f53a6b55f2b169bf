//! `bumpwright kustomize`: rewrites kustomization files byte by byte, or makes one.

pub mod args;
mod create;
mod proof;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::console::{cannot_print, complain, end, print, print_styled, say};
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::files::{diff, find, say_preview};
use crate::cli::words;
use args::{Command, Edited, Fix, Kustomize, SetImage, SetWhat};
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_migrate::kustomize::{ImageChange, set_images};
use bumpwright_update::{FileChange, replace_files};
use proof::Prover;

#[must_use]
pub fn run(args: &Kustomize) -> ExitCode {
    end(match &args.command {
        Command::Fix(args) => fix_all(args),
        Command::Edit(edit) => match &edit.what {
            Edited::Set(set) => match &set.what {
                SetWhat::Image(args) => set_image(args),
            },
        },
        Command::Create(args) => create::create(args),
    })
}

fn fix_all(args: &Fix) -> Result<(), CliError> {
    let paths = if args.paths.is_empty() {
        vec![PathBuf::from(".")]
    } else {
        args.paths.clone()
    };
    let is_wanted = |path: &str| path.rsplit('/').next().is_some_and(|name| NAMES.contains(&name));
    let files_found = find(&paths, &is_wanted);
    let mut is_whole = files_found.faults.is_empty();
    files_found.faults.iter().for_each(complain);
    if args.write {
        files_found.check_named()?;
    }
    let mut changes = Vec::new();
    let mut prover = Prover::new(files_found.files.iter().map(|(path, _)| path.as_path()));
    for (path, old) in files_found.files {
        let shown = words::inline(&path.display().to_string()).into_owned();
        let fixed = std::str::from_utf8(&old).map_err(|_| CliError::new(": it is not UTF-8"));
        match fixed.and_then(|text| prover.fix(&path, text)) {
            Ok(fixed) => {
                for kept in &fixed.kept {
                    complain(format!("{shown}:{kept}"));
                    is_whole = false;
                }
                if let Some(why) = fixed.unproven {
                    say("note", &format!("{shown}: not compared with its build before: {why}"));
                }
                changes.extend(fixed.text.map(|new| change(&path, old, new)));
            }
            Err(why) => {
                complain(format!("{shown}{why}"));
                is_whole = false;
            }
        }
    }
    if args.write {
        replace_files(&changes)?;
        let summary = match changes.len() {
            0 => "nothing to change\n".to_owned(),
            files => format!("rewrote {}\n", words::count(files, "file")),
        };
        print_styled(&summary).map_err(cannot_print)?;
    } else {
        print(&diff(&changes)).map_err(cannot_print)?;
        say_preview(!changes.is_empty());
    }
    if is_whole {
        Ok(())
    } else {
        Err(CliError::new("some files or fields were not rewritten"))
    }
}

fn change(path: &Path, old: Vec<u8>, new: String) -> FileChange {
    FileChange {
        path: path.as_os_str().as_encoded_bytes().to_vec(),
        old,
        new: new.into_bytes(),
    }
}

fn set_image(args: &SetImage) -> Result<(), CliError> {
    let images = args.images.iter().map(|image| ImageChange::read(image));
    let images = images.collect::<Result<Vec<_>, _>>()?;
    let path = NAMES.map(Path::new).into_iter().find(|path| path.is_file());
    let path = path.ok_or_else(|| {
        CliError::new("there is no kustomization in the current folder").hint("`bumpwright kustomize create` makes one")
    })?;
    let shown = path.display();
    let old = std::fs::read_to_string(path).at(&shown)?;
    let new = set_images(&old, &images).map_err(|refused| CliError::new(format!("{shown}:{refused}")))?;
    let changes: Vec<FileChange> = new.map(|new| change(path, old.into_bytes(), new)).into_iter().collect();
    replace_files(&changes).map_err(CliError::from)
}
