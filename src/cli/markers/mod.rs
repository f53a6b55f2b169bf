//! `bumpwright markers`: lists markers, puts them on the fields of an image, takes them away.

pub mod args;
mod charts;
mod list;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::console::{cannot_print, complain, end, print, print_styled, say};
use crate::cli::error::CliError;
use crate::cli::files::{FoundFiles, diff, find, meant, say_preview};
use crate::cli::words;
use args::{Add, Change, Markers, PlaceFlags, Remove};
use bumpwright_adopt::is_chart_template;
use bumpwright_edit::{
    FileKind, Format, Formats, LeftField, Marking, OTHER_POLICY, Part, Setter, Site, field_in, kind_of, mark_at_in,
    mark_in, scan, unmark, unmark_if,
};
use bumpwright_nearest::nearest;
use bumpwright_policy::PolicyName;
use bumpwright_update::{FileChange, replace_files};

#[must_use]
pub fn run(args: &Markers) -> ExitCode {
    end(match &args.change {
        None => match meant(
            args.place.paths.iter().map(PathBuf::as_path),
            &["list", "add", "remove", "help"],
        ) {
            Some(error) => Err(error),
            None => list::list(&args.place, args.output),
        },
        Some(Change::List(list)) => list::list(&list.place, list.output),
        Some(Change::Add(add)) => self::add(add),
        Some(Change::Remove(remove)) => self::remove(remove),
    })
}

/// The paths that were given, or the current folder.
fn paths(place: &PlaceFlags) -> Vec<PathBuf> {
    if place.paths.is_empty() {
        vec![PathBuf::from(".")]
    } else {
        place.paths.clone()
    }
}

const CHART_TEMPLATE: &str = "it is a template of a Helm chart: its own fields are marked with --formats template, and \
    versions that it takes from values in the files of values";

/// A file with other markers, or why it was not read.
type Marked = (String, Vec<u8>, Result<Marking, CliError>);

fn add(args: &Add) -> Result<(), CliError> {
    let policy = policy(&args.policy)?;
    let formats = args.formats.unwrap_or_default();
    let is_wanted = |path: &str| kind_of(path, formats).is_edited();
    let Some(image) = &args.image else {
        return add_at(args, &policy, &is_wanted);
    };
    let found = find(&paths(&args.place), &is_wanted);
    let charts = charts::Charts::of(args, &found, image);
    let look = RefCell::new(Look::default());
    let marked = |path: &Path, bytes: Vec<u8>| {
        let shown = path.display().to_string();
        let kind = kind(&shown, formats);
        let marking = kind.and_then(|kind| {
            let mut marking = charts.corrected(
                path,
                mark_in(kind, text(&bytes)?, image, &policy)?,
                (kind, text(&bytes)?, &policy),
            )?;
            let known = own_or_others(kind, text(&bytes)?, image, &policy)?;
            marking.left.extend(known.others);
            look.borrow_mut().own += known.own;
            Ok(marking)
        });
        look.borrow_mut().add(&shown, &bytes, image, &marking);
        (shown, bytes, marking)
    };
    change(found, args.write, "marked", marked)?;
    if let Some(text) = charts.guesses() {
        say("note", &text);
    }
    if let Some(text) = look.into_inner().nothing(image) {
        say("note", &text);
    }
    Ok(())
}

/// Fields of an image that have a marker already.
#[derive(Default)]
struct Known {
    /// How many have one of the policy.
    own: usize,
    /// Those that have one of another.
    others: Vec<LeftField>,
}

/// The fields of an image that have a marker: those that would get one if there were none.
fn own_or_others(kind: FileKind, text: &str, image: &str, policy: &PolicyName) -> Result<Known, CliError> {
    let mut counts = Known::default();
    let Some(bare) = unmark(kind, text, None)?.new else {
        return Ok(counts);
    };
    let bare = String::from_utf8(bare).map_err(|_| CliError::new("it is not UTF-8"))?;
    let sites = scan(kind, text.as_bytes()).sites;
    for field in mark_in(kind, &bare, image, policy)?.changed {
        let site = sites
            .iter()
            .find(|site| (site.line, site.value.as_str()) == (field.line, field.value.as_str()));
        match site.map(|site| site.setter.policy == *policy) {
            Some(true) => counts.own += 1,
            Some(false) => counts.others.push(LeftField {
                line: field.line,
                column: field.column,
                why: OTHER_POLICY,
            }),
            None => {}
        }
    }
    Ok(counts)
}

/// The files and fields that were read.
#[derive(Default)]
struct Look {
    files: usize,
    /// Fields that are marked now, or left with a reason.
    told: usize,
    /// Fields that have the marker already.
    own: usize,
    /// Where the name of the image is first.
    mention: Option<(String, usize)>,
}

impl Look {
    fn add(&mut self, path: &str, bytes: &[u8], image: &str, marking: &Result<Marking, CliError>) {
        self.files += 1;
        self.told += match marking {
            Ok(marking) => marking.changed.len() + marking.left.len(),
            Err(_) => 0,
        };
        if self.mention.is_none() {
            self.mention = words::mention(std::iter::once((path, bytes)), image);
        }
    }

    /// Why nothing is marked, if nothing is.
    fn nothing(self, image: &str) -> Option<String> {
        if self.told > 0 {
            return None;
        }
        let image = words::inline(image);
        if self.own > 0 {
            return Some(format!(
                "marked already: {} of {image}",
                words::count(self.own, "field")
            ));
        }
        let mut text = format!(
            "no field holds a version of {image}: {} looked at",
            words::were(self.files, "file")
        );
        if let Some((path, line)) = self.mention {
            let path = words::inline(&path);
            text.push_str(&format!(
                "; its name is at {path}:{line}, without a tag or digest in a field of its own: write one, or mark a field by --field {path}:{line}"
            ));
        }
        Some(text)
    }
}

/// How a file is marked. One that the user names is YAML, unless its name is one of another format.
fn kind(path: &str, formats: Formats) -> Result<FileKind, CliError> {
    match (kind_of(path, formats), kind_of(path, Formats::all())) {
        (FileKind::Other, FileKind::Text(format)) => {
            let name = Format::ALL.iter().find(|(known, _)| *known == format);
            let name = name.map_or("all", |(_, name)| *name);
            Err(CliError::new(format!(
                "it is no YAML; its fields are marked with --formats {name}"
            )))
        }
        (FileKind::Other | FileKind::Prose, _) => Ok(FileKind::Yaml),
        (kind, _) => Ok(kind),
    }
}

fn add_at(args: &Add, policy: &PolicyName, is_wanted: &dyn Fn(&str) -> bool) -> Result<(), CliError> {
    let setter = Setter {
        policy: policy.clone(),
        part: Part::of_word(&args.part).unwrap_or(Part::Reference),
    };
    let places = places(&args.field)?;
    let paths: Vec<PathBuf> = places.keys().cloned().collect();
    let is_whole = Cell::new(true);
    let marked = |path: &Path, bytes: Vec<u8>| {
        let wanted = places.get(path).into_iter().flatten();
        let shown = path.display().to_string();
        let marking = kind(&shown, args.formats.unwrap_or_default()).and_then(|kind| {
            let text = text(&bytes)?;
            let starts = wanted.map(|(line, column)| field_in(kind, text, *line, *column));
            let starts = starts.collect::<Result<Vec<_>, _>>()?;
            let wanted = starts.into_iter().map(|start| (start, setter.clone())).collect();
            mark_at_in(kind, text, &wanted).map_err(CliError::from)
        });
        is_whole.set(is_whole.get() && marking.as_ref().is_ok_and(|marking| marking.left.is_empty()));
        (shown, bytes, marking)
    };
    change(find(&paths, is_wanted), args.write, "marked", marked)?;
    if is_whole.get() {
        Ok(())
    } else {
        Err(CliError::new("not every field was marked"))
    }
}

/// A line, and a column if one is given.
type Place = (usize, Option<usize>);

/// Whether a field that begins at a line and column is meant.
fn is_at((line, column): &Place, of_line: usize, of_column: usize) -> bool {
    *line == of_line && column.is_none_or(|column| column == of_column)
}

/// The places of `--field`, by their files.
fn places(fields: &[String]) -> Result<BTreeMap<PathBuf, Vec<Place>>, CliError> {
    let mut places: BTreeMap<PathBuf, Vec<Place>> = BTreeMap::new();
    for field in fields {
        let (path, place) = place(field)
            .ok_or_else(|| CliError::new(format!("--field {field:?}: expected FILE:LINE or FILE:LINE:COLUMN")))?;
        places.entry(PathBuf::from(path)).or_default().push(place);
    }
    Ok(places)
}

/// `FILE:LINE[:COLUMN]`
fn place(text: &str) -> Option<(&str, Place)> {
    let (rest, last) = text.rsplit_once(':')?;
    let last: usize = last.parse().ok()?;
    let line = rest
        .rsplit_once(':')
        .and_then(|(path, line)| Some((path, line.parse().ok()?)));
    match line {
        Some((path, line)) => Some((path, (line, Some(last)))),
        None => Some((rest, (last, None))),
    }
}

fn remove(args: &Remove) -> Result<(), CliError> {
    let only = args.policy.as_deref().map(policy).transpose()?;
    let formats = args.formats.unwrap_or_default();
    let kind = |path: &str| kind_of(path, formats);
    let is_wanted = |path: &str| kind(path).is_edited();
    let places = places(&args.field)?;
    let files = if places.is_empty() {
        paths(&args.place)
    } else {
        places.keys().cloned().collect()
    };
    let is_whole = Cell::new(true);
    let named = RefCell::new(BTreeSet::new());
    let marked = |path: &Path, bytes: Vec<u8>| {
        let shown = path.display().to_string();
        let wanted = || places.get(path).into_iter().flatten();
        let is_meant = |site: &Site| {
            named.borrow_mut().insert(site.setter.policy.clone());
            let is_of = only.as_ref().is_none_or(|policy| *policy == site.setter.policy);
            is_of && (places.is_empty() || wanted().any(|place| is_at(place, site.line, site.column)))
        };
        let marking = text(&bytes).and_then(|text| unmark_if(kind(&shown), text, is_meant).map_err(CliError::from));
        let are_gone = |marking: &Marking| {
            let is_gone = |place: &Place| {
                marking
                    .changed
                    .iter()
                    .any(|field| is_at(place, field.line, field.column))
            };
            wanted().all(is_gone)
        };
        is_whole.set(is_whole.get() && marking.as_ref().is_ok_and(are_gone));
        (shown, bytes, marking)
    };
    change(find(&files, &is_wanted), args.write, "unmarked", marked)?;
    if let Some(only) = only.as_ref().filter(|only| !named.borrow().contains(only)) {
        return Err(unnamed(only, &named.take()));
    }
    if places.is_empty() || is_whole.get() {
        return Ok(());
    }
    Err(
        CliError::new(format!("not every field of {} has a marker", words::some(&args.field)))
            .hint("`bumpwright markers` lists them"),
    )
}

/// That no marker of the files names a policy, with the one that was probably meant.
fn unnamed(policy: &PolicyName, named: &BTreeSet<PolicyName>) -> CliError {
    let named: Vec<String> = named.iter().map(PolicyName::marker).collect();
    let policy = policy.marker();
    let near = nearest(&policy, named.iter().map(String::as_str));
    CliError::new(format!("--policy {policy}: no marker names this policy")).meant(near)
}

/// `namespace:name` as in markers, or `namespace/name` as lists show it.
fn policy(text: &str) -> Result<PolicyName, CliError> {
    let shown = || {
        text.split_once('/')
            .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
    };
    let of_list = || shown().map(|(namespace, name)| PolicyName::new(namespace, name));
    PolicyName::of_marker(text)
        .or_else(of_list)
        .ok_or_else(|| CliError::new(format!("--policy: {text:?} is not NAMESPACE:NAME")))
}

fn text(bytes: &[u8]) -> Result<&str, CliError> {
    std::str::from_utf8(bytes).map_err(|_| CliError::new("it is not UTF-8"))
}

/// Prints the changes of all files, or writes them.
fn change(
    found: FoundFiles<'_>,
    write: bool,
    done: &str,
    marked: impl Fn(&Path, Vec<u8>) -> Marked,
) -> Result<(), CliError> {
    found.faults.iter().for_each(complain);
    if write {
        found.check_named()?;
    }
    let is_whole = found.faults.is_empty();
    let files: Vec<Marked> = found
        .files
        .into_iter()
        .map(|(path, bytes)| marked(&path, bytes))
        .collect();
    let changes: Vec<FileChange> = files.iter().filter_map(changed).collect();
    if write {
        replace_files(&changes)?;
        print_styled(&told(&files, changes.len(), done)).map_err(cannot_print)?;
    } else {
        print(&diff(&changes)).map_err(cannot_print)?;
        if changes.is_empty() {
            let files = words::count(files.len(), "file");
            say(
                "note",
                &format!("nothing to change: no field that would be {done} in {files}"),
            );
        }
    }
    for (path, bytes, marking) in &files {
        let shown = words::inline(path);
        match marking {
            Ok(marking) => {
                for left in &marking.left {
                    say(
                        "skipped",
                        &format!("{shown}:{}:{}: {}", left.line, left.column, left.why),
                    );
                }
            }
            Err(_) if is_chart_template(path, bytes) => say("skipped", &format!("{shown}: {CHART_TEMPLATE}")),
            Err(why) => say("skipped", &format!("{shown}: {why}")),
        }
    }
    say_preview(!write && !changes.is_empty());
    if is_whole {
        Ok(())
    } else {
        Err(CliError::new("some files were not read"))
    }
}

fn changed((path, old, marking): &Marked) -> Option<FileChange> {
    let new = marking.as_ref().ok()?.new.clone()?;
    Some(FileChange {
        path: path.clone().into_bytes(),
        old: old.clone(),
        new,
    })
}

/// The fields, and how many.
fn told(files: &[Marked], changed: usize, done: &str) -> String {
    let (mut out, mut count) = (String::new(), 0);
    for (path, _, marking) in files {
        for field in marking.iter().flat_map(|marking| &marking.changed) {
            count += 1;
            let value = words::inline(&field.value);
            let place = format!("{}:{}:{}", words::inline(path), field.line, field.column);
            out.push_str(&format!("{place}  {value}  ({})\n", field.setter));
        }
    }
    out.push_str(&match changed {
        0 => "nothing to change\n".to_owned(),
        files => format!(
            "{done} {} in {}\n",
            words::count(count, "field"),
            words::count(files, "file")
        ),
    });
    out
}
