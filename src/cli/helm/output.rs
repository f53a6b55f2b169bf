//! Rendered documents, printed or written as files.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use super::args::OutputArgs;
use crate::cli::error::CliError;
use bumpwright_chart::go_error;
use bumpwright_helm::{Rendered, Selection};

pub(super) fn selection(args: &OutputArgs) -> Selection {
    Selection {
        crds: args.include_crds,
        no_hooks: args.no_hooks,
        skip_tests: args.skip_tests,
        show_only: args.show_only.clone(),
    }
}

/// Writes a file for each template; returns the lines that say so, as Helm prints them.
///
/// # Errors
/// A file cannot be written, or the path of a template leads out of the folder.
pub(super) fn write(folder: &Path, rendered: &Rendered, release: &str, args: &OutputArgs) -> Result<String, CliError> {
    let below = if args.release_name {
        folder.join(release)
    } else {
        folder.to_owned()
    };
    let mut files = Files::default();
    for (path, file) in rendered.crds.iter().filter(|_| args.include_crds) {
        files.add(folder, path, &file.text())?;
    }
    for document in &rendered.documents {
        files.add(&below, &document.path, &document.content)?;
    }
    let selection = selection(args);
    for hook in rendered.hooks.iter().filter(|hook| selection.has(hook)) {
        files.add(&below, &hook.document.path, &hook.document.content)?;
    }
    files.said.push('\n');
    Ok(files.said)
}

/// The files that were begun in this run.
#[derive(Default)]
struct Files {
    begun: HashSet<PathBuf>,
    said: String,
}

impl Files {
    fn add(&mut self, folder: &Path, path: &str, content: &str) -> Result<(), CliError> {
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !Path::new(path).components().all(is_plain) {
            return Err(CliError::new("the path of this template leads out of its chart").at(path));
        }
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(|error| go_error("mkdir", parent, &error))?;
        }
        let is_first = self.begun.insert(file.clone());
        let opened = if is_first {
            fs::File::create(&file)
        } else {
            fs::OpenOptions::new().append(true).open(&file)
        };
        let written = opened.and_then(|mut file| writeln!(file, "---\n# Source: {path}\n{content}"));
        written.map_err(|error| go_error("open", &file, &error))?;
        let _ = writeln!(self.said, "wrote {}", file.display());
        Ok(())
    }
}
