//! `bumpwright migrate --from renovate`: what Renovate looks after, as policies and markers. Registries are not asked.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::args::Migrate;
use crate::cli::error::CliError;
use bumpwright_adopt::{Adoption, Edited, Files, Remark, SourceFile, Weight};
use bumpwright_api::Place;
use bumpwright_edit::file_kind;
use bumpwright_propose::{Answers, Options, Proposal, Rendered, Renovate, SETTINGS_FILES, Survey, propose, survey};

/// The namespace of the objects, as Flux installs it.
const NAMESPACE: &str = "flux-system";

const NOT_ASKED: &str = "no registry was asked: `bumpwright update --dry-run` shows what the policies choose, and `bumpwright init` looks at the \
    tags of images without a policy";

/// What becomes of the files of these folders.
///
/// # Errors
/// Neither settings of Renovate nor comments for it were found, or settings cannot be read.
pub(super) fn adopt(args: &Migrate, sources: &[SourceFile]) -> Result<(Adoption, Vec<String>), CliError> {
    let settings = settings(&args.paths)?;
    let mut told = Vec::new();
    let mut renovate = None;
    match &settings {
        Some(source) => {
            let read = Renovate::read(source).map_err(|(place, why)| {
                CliError::new(why).at(format_args!("{}:{}:{}", source.name, place.line, place.column))
            })?;
            told.extend(remarks(source, &read));
            renovate = Some(read);
        }
        None if sources.iter().any(has_comments) => {}
        None => {
            return Err(CliError::new(format!(
                "no settings of Renovate were found ({} and the like), and no comment `# renovate:`",
                SETTINGS_FILES[0]
            ))
            .hint("name the folder that has them"));
        }
    }
    let files = Files::read(sources);
    let marked = sources.iter().map(|source| {
        let scan = bumpwright_update::fields(&source.path, file_kind(&source.path), None, &source.bytes);
        scan.sites.into_iter().map(|site| site.span).collect()
    });
    let marked: Vec<_> = marked.collect();
    let survey = survey(&files, &marked, &[], &Rendered::default());
    let options = Options {
        namespace: args.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned()),
        author: (
            "bumpwright".to_owned(),
            "bumpwright@users.noreply.github.com".to_owned(),
        ),
        renovate: Some(renovate.unwrap_or_default()),
        ..Options::default()
    };
    let proposal = propose(&files, &survey, &in_use(&survey), &options);
    let mut notes = proposal.notes.clone();
    notes.extend((!proposal.policies.is_empty()).then(|| NOT_ASKED.to_owned()));
    Ok((adoption(args, sources, proposal, told), notes))
}

/// The tags in use, in the place of those that registries have.
fn in_use(survey: &Survey) -> Answers {
    let tags = survey.images.iter().map(|(listing, uses)| {
        let tags = uses.iter().map(|one| one.tag.clone()).collect();
        (listing.clone(), Ok(tags))
    });
    tags.collect::<BTreeMap<_, _>>()
}

fn adoption(args: &Migrate, sources: &[SourceFile], proposal: Proposal, mut remarks: Vec<Remark>) -> Adoption {
    let left = proposal.left.into_iter().map(|left| Remark {
        file: left.file,
        place: left.place,
        subject: left.image,
        text: left.why,
        weight: Weight::Note,
    });
    remarks.extend(left);
    let edited = proposal.edited.into_iter().filter_map(|(file, marking)| {
        let marked = marking.changed.into_iter();
        Some(Edited {
            file,
            new: marking.new?,
            marked: marked
                .map(|field| {
                    let place = Place {
                        line: field.line,
                        column: field.column,
                    };
                    (place, field.setter, field.value)
                })
                .collect(),
            removed: 0,
        })
    });
    Adoption {
        edited: edited.collect(),
        manifests: beside(args, sources, proposal.manifests),
        objects: proposal.objects.len(),
        remarks,
        ..Adoption::default()
    }
}

/// The new objects behind those that their file has.
fn beside(args: &Migrate, sources: &[SourceFile], new: String) -> String {
    let old = sources.iter().find(|source| source.root == usize::MAX);
    let old = old.map(|source| String::from_utf8_lossy(&source.bytes).into_owned());
    let is_printed = args.manifests.as_os_str() == "-";
    match old.filter(|old| !is_printed && !new.is_empty() && !old.trim().is_empty()) {
        Some(old) => format!("{}\n---\n{new}", old.trim_end()),
        None => new,
    }
}

fn remarks(source: &SourceFile, read: &Renovate) -> Vec<Remark> {
    let remark = |(place, text, is_left): &(Place, String, bool)| Remark {
        file: source.name.clone(),
        place: *place,
        subject: String::new(),
        text: text.clone(),
        weight: if *is_left { Weight::Left } else { Weight::Note },
    };
    read.told.iter().map(remark).collect()
}

fn has_comments(source: &SourceFile) -> bool {
    source.bytes.windows(9).any(|window| window == b"renovate:")
}

/// The settings of the first of these folders, or of one above them up to its repository, that has some.
fn settings(paths: &[PathBuf]) -> Result<Option<SourceFile>, CliError> {
    for path in paths {
        let Ok(real) = fs::canonicalize(path) else { continue };
        for folder in real.ancestors().filter(|above| above.is_dir()) {
            for name in SETTINGS_FILES {
                if let Some(source) = read(path, &real, folder, name)? {
                    return Ok(Some(source));
                }
            }
            if folder.join(".git").exists() {
                break;
            }
        }
    }
    Ok(None)
}

/// A file of settings, named as the user named the folder where that is the one.
fn read(path: &Path, real: &Path, folder: &Path, name: &str) -> Result<Option<SourceFile>, CliError> {
    let file = folder.join(name);
    let shown = if real == folder { path.join(name) } else { file.clone() };
    let shown = shown.strip_prefix(".").unwrap_or(&shown).display().to_string();
    match fs::read(&file) {
        Ok(bytes) => Ok(Some(SourceFile {
            name: shown,
            root: 0,
            path: name.to_owned(),
            bytes,
        })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::from(error).at(shown)),
    }
}
