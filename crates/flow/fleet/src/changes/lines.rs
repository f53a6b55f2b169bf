//! The lines of files that a change brings, and which of them an object comes from.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::Value;

use super::Changed;
use crate::build::view::{Fleet, Node};
use crate::check::places::Places;
use bumpwright_findings::Place;
use bumpwright_json::Texts as _;
use bumpwright_kustomize::tree::Tree;

/// Larger files, in bytes, are not compared: they are data.
const LONGEST: usize = 1 << 20;

/// The most texts of an object that are looked for in lines.
const TEXTS: usize = 64;

/// The files of a change, compared when a place in them is asked for.
pub(super) struct ChangedFiles<'c> {
    old: &'c dyn Tree,
    places: &'c Places<'c>,
    files: RefCell<HashMap<String, Rc<[Line]>>>,
}

/// A line that a file has with the change only.
struct Line {
    /// Counted from 1.
    number: usize,
    text: String,
}

/// Lines of a file, first and last ones.
type Range = (usize, usize);

/// The column at which a line is meant; none if it is not.
type Column<'w> = &'w dyn Fn(&Line) -> Option<usize>;

impl<'c> ChangedFiles<'c> {
    pub(super) fn new(old: &'c dyn Tree, places: &'c Places<'c>) -> Self {
        Self {
            old,
            places,
            files: RefCell::default(),
        }
    }

    /// Whether a file has lines with the change that it did not have: a path from the root without a leading slash.
    pub(super) fn is_changed(&self, path: &str) -> bool {
        !self.lines(path).is_empty()
    }

    /// The line of the change that an object of a node comes from: one with such a text in a document of the object, or
    /// of the release that installs it; else one with such a text in another file that the node or those above it are
    /// built from; else the first one of the object, or of the only file that has changed.
    pub(super) fn place(&self, fleet: &Fleet, node: &Node, object: &Value, texts: &[String]) -> Option<Place> {
        let levels = self.levels(fleet, node);
        let (kind, name) = match &node.release {
            Some(release) => ("HelmRelease", release.name.name.as_str()),
            None => (object.text_of("kind"), object.text_at("/metadata/name")),
        };
        let files = || levels.iter().flatten().copied();
        let of_object = |column: Column<'_>| {
            files().find_map(|path| {
                let file = self.places.file(path)?;
                self.first(path, &file.lines_of(kind, name), column)
            })
        };
        let of_any = |column: Column<'_>| files().find_map(|path| self.first(path, &[(1, usize::MAX)], column));
        let with_text = |line: &Line| texts.iter().find_map(|text| column_of(&line.text, text));
        let place = of_object(&with_text)
            .or_else(|| of_any(&with_text))
            .or_else(|| of_object(&begin));
        place.or_else(|| {
            let nearest = levels.iter().position(|files| !files.is_empty())?;
            let path = match levels.get(nearest)?.as_slice() {
                [only] => only,
                // Files of a chart.
                [first, ..] if nearest == 0 && node.release.is_some() => first,
                _ => return None,
            };
            self.first(path, &[(1, usize::MAX)], &begin)
        })
    }

    /// The files that have changed among those that a node was built from, and those above it.
    fn levels<'n>(&self, fleet: &'n Fleet, node: &'n Node) -> Vec<Vec<&'n str>> {
        let mut levels = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next {
            let product = node.product.as_ref().ok();
            let paths = product.into_iter().flat_map(|product| product.reads.paths());
            levels.push(paths.filter(|path| self.is_changed(path)).collect());
            next = node.parent.and_then(|parent| fleet.nodes.get(parent));
        }
        levels
    }

    /// The first line of a file within these ranges that is meant.
    fn first(&self, path: &str, within: &[Range], column: Column<'_>) -> Option<Place> {
        let lines = self.lines(path);
        let is_within = |line: &&Line| {
            within
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&line.number))
        };
        let mut meant = lines.iter().filter(is_within);
        let (line, column) = meant.find_map(|line| Some((line.number, column(line)?)))?;
        let path = path.to_owned();
        Some(Place { path, line, column })
    }

    fn lines(&self, path: &str) -> Rc<[Line]> {
        if let Some(lines) = self.files.borrow().get(path) {
            return Rc::clone(lines);
        }
        let lines: Rc<[Line]> = self.compared(path).into();
        self.files.borrow_mut().insert(path.to_owned(), Rc::clone(&lines));
        lines
    }

    /// The new lines of a file; none of one that is gone.
    fn compared(&self, path: &str) -> Vec<Line> {
        let path = format!("/{path}");
        let Ok(new) = self.places.tree().read(&path) else {
            return Vec::new();
        };
        let old = self.old.read(&path).ok();
        let old = old.as_deref().unwrap_or(&[]);
        if *new == *old || new.len().max(old.len()) > LONGEST {
            return Vec::new();
        }
        new_lines(&String::from_utf8_lossy(old), &String::from_utf8_lossy(&new))
    }
}

/// The lines between the ones that both texts begin and end with, but for those that were there before.
fn new_lines(old: &str, new: &str) -> Vec<Line> {
    let [old, new] = [old, new].map(|text| text.lines().collect::<Vec<&str>>());
    let same = |(old, new): &(&&str, &&str)| old == new;
    let begin = old.iter().zip(&new).take_while(same).count();
    let most = old.len().min(new.len()) - begin;
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(most)
        .take_while(same)
        .count();
    let known: BTreeSet<&str> = old.iter().take(old.len() - end).skip(begin).copied().collect();
    let lines = new.iter().enumerate().take(new.len() - end).skip(begin);
    let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !known.contains(**line));
    let lines = lines.map(|(at, line)| Line {
        number: at + 1,
        text: (*line).to_owned(),
    });
    lines.collect()
}

/// The column at which the text of a line begins.
fn begin(line: &Line) -> Option<usize> {
    Some(line.text.chars().take_while(|c| c.is_whitespace()).count() + 1)
}

/// The column at which a line has a text that is not a part of a longer one.
fn column_of(line: &str, text: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    let mut places = line.match_indices(text).filter(|_| !text.is_empty());
    let (at, _) = places.find(|(at, found)| {
        let before = line.get(..*at).and_then(|rest| rest.chars().next_back());
        let after = line.get(*at + found.len()..).and_then(|rest| rest.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })?;
    Some(line.get(..at)?.chars().count() + 1)
}

/// The texts that an object has below a field with the change only, each with the parts of it that a file may have.
pub(super) fn new_texts(object: &Changed<'_>, pointer: &str) -> Vec<String> {
    let of = |value: Option<&Value>| {
        let mut texts = BTreeSet::new();
        if let Some(below) = value.and_then(|value| value.pointer(pointer)) {
            leaves(below, &mut texts);
        }
        texts
    };
    let (old, new) = (of(object.old_value()), of(object.new_value()));
    new.difference(&old).take(TEXTS).flat_map(|text| parts(text)).collect()
}

/// A text, its tag and its digest if it is an image, and the version without a letter.
pub(super) fn parts(text: &str) -> Vec<String> {
    let (name, digest) = text.split_once('@').map_or((text, ""), |(name, digest)| (name, digest));
    let tag = name.rsplit_once(':').map_or("", |(_, tag)| tag);
    let mut parts = vec![text, tag, digest];
    let numbers = parts.clone().into_iter().filter_map(|part| part.strip_prefix('v'));
    parts.extend(numbers.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())));
    parts.retain(|part| !part.is_empty());
    parts.into_iter().map(str::to_owned).collect()
}

fn leaves(value: &Value, texts: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.values().for_each(|below| leaves(below, texts)),
        Value::Array(items) => items.iter().for_each(|below| leaves(below, texts)),
        Value::String(text) if !text.contains('\n') => {
            texts.insert(text.clone());
        }
        Value::Number(number) => {
            texts.insert(number.to_string());
        }
        Value::String(_) | Value::Bool(_) | Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_lines_are_those_between_what_is_the_same() {
        let numbers = |old: &str, new: &str| {
            let lines = new_lines(old, new);
            lines.iter().map(|line| line.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers("a\nb\nc\n", "a\nx\nc\n"), [2]);
        // A line that is elsewhere in the file counts as well.
        assert_eq!(numbers("a: 1\nb: 2\n", "a: 2\nb: 2\n"), [1]);
        assert_eq!(numbers("a\nb\n", "a\nb\n\nc\n"), [4]);
        assert_eq!(numbers("", "a\nb"), [1, 2]);
        assert_eq!(numbers("a\nb\nc\nd\n", "x\nb\nc\ny\n"), [1, 4]);
        assert!(numbers("a\nb\n", "a\n").is_empty());
    }

    #[test]
    fn a_text_is_found_where_it_is_not_a_part_of_another() {
        assert_eq!(column_of("    tag: 2.0.0 # 2.0.0", "2.0.0"), Some(10));
        assert_eq!(column_of("  a: 12.0.0, b: '2.0.0'", "2.0.0"), Some(18));
        assert_eq!(column_of("tag: 2.0.0-rc.1", "2.0.0"), None);
        assert_eq!(column_of("tag: x", ""), None);
    }

    #[test]
    fn parts_of_images_are_what_a_file_may_have() {
        assert_eq!(
            parts("r.io:5000/o/web:v1.2.0"),
            ["r.io:5000/o/web:v1.2.0", "v1.2.0", "1.2.0"]
        );
        assert_eq!(parts("web@sha256:ab"), ["web@sha256:ab", "sha256:ab"]);
        assert_eq!(parts("two"), ["two"]);
    }
}
