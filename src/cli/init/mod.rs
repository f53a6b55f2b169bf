//! `bumpwright init`: policies, an automation and markers for the images that a folder uses, from the tags
//! that their registries have.

mod append;
pub mod args;
mod ask;
pub mod charts;
mod login;
mod others;
mod output;
mod place;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use crate::cli::console::{FAILED, complain, end_with};
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::files::{FoundFiles, find, in_repositories};
use crate::cli::load;
use crate::cli::update::author;
use crate::cli::words;
use args::{AUTHOR, Init};
use bumpwright_adopt::{Files, SourceFile};
use bumpwright_api::UnknownFields;
use bumpwright_edit::{FileKind, OWN_FOLDER, Scan, file_kind};
use bumpwright_policy::{PolicyName, Reference, Validation};
use bumpwright_propose::{Options, Proposal, propose, repositories, survey};
use bumpwright_rules::Rules;
use bumpwright_text::Cuts;
use bumpwright_update::rules_above;
use output::Outcome;

/// Runs the command. A file that could not be read is a failure; one that was left with a reason is not.
#[must_use]
pub fn run(args: &Init) -> ExitCode {
    let is_whole = proposed(args);
    end_with(is_whole.map(|is_whole| if is_whole { 0 } else { FAILED }))
}

/// Whether everything was read.
fn proposed(args: &Init) -> Result<bool, CliError> {
    let options = options(args)?;
    if args.path.to_str().is_some_and(|path| path.contains("://")) && !args.path.exists() {
        let path = words::public(&args.path.to_string_lossy());
        return Err(
            CliError::new(format!("{path}: init reads a folder")).hint("clone the repository, and run it there")
        );
    }
    let hidden = Cell::new(0_usize);
    let others = RefCell::new(others::Others::default());
    let is_wanted = |path: &str| {
        others.borrow_mut().see(&args.path, path);
        is_wanted(&args.path, path, &hidden)
    };
    let mut found = find(std::slice::from_ref(&args.path), &is_wanted);
    found.refuse_nothing()?;
    let FoundFiles { files, faults, .. } = found;
    faults.iter().for_each(complain);
    let sources = in_repositories(std::slice::from_ref(&args.path), files, Path::new(""));
    let files = Files::read(&sources);
    let rendered = charts::rendered(args, &files);
    let scans = scans(args, &sources)?;
    let marked: Vec<Vec<Range<usize>>> = scans
        .iter()
        .map(|scan| scan.sites.iter().map(|site| site.span.clone()).collect())
        .collect();
    let survey = survey(&files, &marked, &args.image, &rendered);
    let objects = load::load(&args.filenames, UnknownFields::Refuse)?;
    let registry_answers = ask::tags(repositories(&survey, &options), &objects);
    let mut proposal = propose(&files, &survey, &registry_answers.answers, &options);
    let placed = place::of(args, &files, &sources, proposal.has_flux);
    proposal.notes.extend(place::note(&placed, &sources, &proposal));
    proposal.notes.extend(login::note(&files, &proposal));
    proposal.notes.extend(author_note(args, &proposal));
    proposal.notes.extend(registry_answers.notes(&proposal));
    proposal.notes.extend(charts::guesses(&survey.guesses));
    proposal.notes.extend(place::next_steps(args, &proposal));
    proposal
        .notes
        .extend(orphans(&args.path, (&files, &sources, &scans), &options));
    if hidden.get() > 0 {
        let count = words::count(hidden.get(), "file");
        let note =
            format!("{count} in hidden folders, or hidden, were not looked at; name one as PATH to have it looked at");
        proposal.notes.push(note);
    }
    proposal.notes.extend(others.borrow().notes());
    let nowhere: Vec<String> = unused(args, &survey)
        .map(|image| not_found(image, &sources, &survey))
        .collect();
    proposal.notes.extend(nowhere);
    let is_whole = faults.is_empty() && !proposal.left.iter().any(|left| left.is_error);
    output::give(&Outcome {
        args,
        sources: &sources,
        survey: &survey,
        proposal: &proposal,
        place: &placed.file,
        may_append: placed.may_append,
    })?;
    Ok(is_whole)
}

/// That the author of a proposed automation is a placeholder.
fn author_note(args: &Init, proposal: &Proposal) -> Option<String> {
    let mut objects = proposal.objects.iter();
    let has_automation = objects.any(|(kind, _)| *kind == "ImageUpdateAutomation");
    (has_automation && args.author == AUTHOR).then(|| {
        format!("the automation commits as {AUTHOR}, which is a placeholder: name the account that pushes with --author 'NAME <MAIL>'")
    })
}

fn options(args: &Init) -> Result<Options, CliError> {
    let source = args.source.as_deref().map(|text| match text.split_once('/') {
        Some((namespace, name)) => PolicyName::new(namespace, name),
        None => PolicyName::new("", text),
    });
    let is_label = |text: &str| {
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        !text.is_empty() && text.len() <= 253 && text.chars().all(is_allowed)
    };
    let named = [
        ("--namespace", Some(args.namespace.as_str())),
        ("--secret-ref", args.secret_ref.as_deref()),
    ];
    let source_name = source.as_ref().map(|source| source.name.as_str());
    for (flag, name) in named.into_iter().chain([("--source", source_name)]) {
        if let Some(name) = name.filter(|name| !is_label(name)) {
            return Err(CliError::new(format!("{flag}: {name:?} is not the name of an object")));
        }
    }
    for image in &args.image {
        Reference::parse(image, Validation::Weak).at("--image")?;
    }
    let author = author::parse(&args.author)?;
    Ok(Options {
        namespace: args.namespace.clone(),
        secret: args.secret_ref.clone(),
        source,
        without_automation: !args.automation,
        author: (author.name, author.email),
        renovate: None,
    })
}

/// YAML files, but those that are hidden, which are counted: workflows of forges and the like.
fn is_wanted(root: &Path, path: &str, hidden: &Cell<usize>) -> bool {
    if file_kind(path) != FileKind::Yaml {
        return false;
    }
    let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(path));
    let mut parts = below.components().map(|part| part.as_os_str().to_string_lossy());
    let is_hidden = parts.any(|part| part.starts_with('.') && part.len() > 1 && part != ".." && part != OWN_FOLDER);
    if is_hidden && !path.ends_with(bumpwright_rules::FILE) {
        hidden.set(hidden.get() + 1);
    }
    !is_hidden
}

/// The fields of each file that have a marker, or that a rule names.
fn scans(args: &Init, sources: &[SourceFile]) -> Result<Vec<Scan>, CliError> {
    let folder = if args.path.is_dir() {
        args.path.as_path()
    } else {
        args.path.parent().unwrap_or(Path::new("."))
    };
    let rules = rules_above(folder).map_err(|fault| words::skip(&fault))?;
    let fields = |source: &SourceFile| {
        let name = Path::new(&source.name);
        let path = name.strip_prefix(folder).unwrap_or(name).to_string_lossy();
        let path = path.strip_prefix("./").unwrap_or(&path);
        bumpwright_update::fields(path, file_kind(path), rules.as_ref(), &source.bytes)
    };
    let scans = sources.iter().map(fields).collect();
    rules.as_ref().map_or(Ok(()), Rules::check)?;
    Ok(scans)
}

/// That markers name policies which no file has. They may be in another repository.
fn orphans(
    path: &Path,
    (files, sources, scans): (&Files<'_>, &[SourceFile], &[Scan]),
    options: &Options,
) -> Option<String> {
    let policies: BTreeSet<PolicyName> = files.names("ImagePolicy").into_iter().collect();
    let is_known = |name: &PolicyName| {
        let bare = PolicyName::new("", name.name.clone());
        policies.contains(name) || (name.namespace == options.namespace && policies.contains(&bare))
    };
    let sites = sources
        .iter()
        .zip(scans)
        .flat_map(|(source, scan)| scan.sites.iter().map(move |site| (source, site)));
    let mut orphans = sites.filter(|(_, site)| !is_known(&site.setter.policy)).peekable();
    let (source, first) = *orphans.peek()?;
    let policy = first.setter.policy.marker();
    let names: BTreeSet<&PolicyName> = orphans.map(|(_, site)| &site.setter.policy).collect();
    Some(format!(
        "markers name policies that none of these files has ({} in all), such as {policy} at {}:{}:{}: if it is nowhere else, `bumpwright markers remove \
         --policy {policy} --write {}` makes its fields free for another",
        names.len(),
        source.name,
        first.line,
        first.column,
        words::inline(&path.display().to_string())
    ))
}

/// Images that were asked for and are not there.
fn unused<'a>(args: &'a Init, survey: &bumpwright_propose::Survey) -> impl Iterator<Item = &'a String> {
    let left = survey.left.iter().map(|left| &left.image);
    let listed = survey.images.keys().map(|listing| &listing.image);
    let images: Vec<String> = listed.chain(&survey.done).chain(left).cloned().collect();
    let is_there = move |image: &&String| images.iter().any(|one| bumpwright_edit::is_same_image(one, image));
    args.image.iter().filter(move |image| !is_there(image))
}

/// Where an image that no field has was searched, and where else its name is.
fn not_found(image: &str, sources: &[SourceFile], survey: &bumpwright_propose::Survey) -> String {
    let mut text = format!(
        "no field has the image {image}: {} looked at",
        words::were(sources.len(), "YAML file")
    );
    let short = |image: &str| image.behind_last('/').to_owned();
    let alike = survey.others.iter().filter(|other| short(other) == short(image));
    let alike: Vec<String> = alike.cloned().collect();
    match (alike.is_empty(), survey.others.len()) {
        (false, _) => text.push_str(&format!("; did you mean {}?", words::some(&alike))),
        (true, 0) => text.push_str(", and none has an image"),
        (true, others) => text.push_str(&format!(", which have {} besides", words::count(others, "image"))),
    }
    if let Some((path, line)) = words::mention(
        sources.iter().map(|source| (source.name.as_str(), &*source.bytes)),
        image,
    ) {
        text.push_str(&format!(
            "; its name is at {path}:{line}, in a field that is none of an image: mark that by `bumpwright markers add --field {path}:{line}`"
        ));
    }
    text
}
