//! What becomes of the files: collected object by object, then made at once.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bumpwright_api::Place;
use bumpwright_api::tree::Node;
use bumpwright_edit::{FileKind, Part, Setter, file_kind, mark, mark_at, obstacles, scan};
use bumpwright_policy::PolicyName;

use super::annotations::{Removal, without};
use super::files::{Files, Parsed};
use super::objects::Objects;
use super::remarks::{At, Remark, Weight};
use super::render::render;

/// What the caller decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The namespace of all objects that are made; none means what the source has.
    pub namespace: Option<String>,
}

/// What is made of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adoption {
    /// Files with other content.
    pub edited: Vec<Edited>,
    /// The new objects as a YAML file; empty when there are none.
    pub manifests: String,
    /// How many objects that are.
    pub objects: usize,
    /// What has to be told, in the order of the files.
    pub remarks: Vec<Remark>,
}

/// A file with other content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Which of the files.
    pub file: usize,
    /// Its content.
    pub new: Vec<u8>,
    /// The fields that have got a marker: place, setter, value.
    pub marked: Vec<(Place, Setter, String)>,
    /// How many annotations are gone.
    pub removed: usize,
}

/// What is collected.
pub(crate) struct Draft<'a> {
    pub(crate) files: &'a Files<'a>,
    pub(crate) objects: Objects,
    marks: BTreeMap<usize, BTreeMap<usize, Setter>>,
    removals: BTreeMap<usize, Vec<Removal>>,
    /// By file: where the fields begin that can have a marker, as far as that is known.
    free: BTreeMap<usize, BTreeSet<usize>>,
    remarks: Vec<(At, Remark)>,
    told_once: BTreeSet<&'static str>,
}

impl<'a> Draft<'a> {
    pub(crate) fn of(files: &'a Files<'a>) -> Self {
        Self {
            files,
            objects: Objects::beside(files),
            marks: BTreeMap::new(),
            removals: BTreeMap::new(),
            free: BTreeMap::new(),
            remarks: Vec::new(),
            told_once: BTreeSet::new(),
        }
    }

    /// Tells something.
    pub(crate) fn tell(&mut self, weight: Weight, at: At, subject: &str, text: impl Into<String>) {
        let file = self.files.get(at.file).map(|file| file.source.name.clone());
        let remark = Remark {
            file: file.unwrap_or_default(),
            place: at.place,
            subject: subject.to_owned(),
            text: text.into(),
            weight,
        };
        if !self.remarks.iter().any(|(_, told)| *told == remark) {
            self.remarks.push((at, remark));
        }
    }

    /// Tells of files that do not parse, of those that are of interest.
    pub(crate) fn tell_unreadable(&mut self, is_of_interest: impl Fn(&Parsed<'_>) -> bool) {
        let files = self.files;
        for (n, file) in files.parsed.iter().enumerate() {
            if let Some((place, why)) = file.error.as_ref().filter(|_| is_of_interest(file)) {
                let at = At { file: n, place: *place };
                let text = format!("the file does not parse: {why}; correct it");
                self.tell(Weight::Left, at, "", text);
            }
        }
    }

    /// Tells something that is worth knowing once, whatever it concerns.
    pub(crate) fn tell_once(&mut self, at: At, text: &'static str) {
        if self.told_once.insert(text) {
            self.tell(Weight::Note, at, "", text);
        }
    }

    /// How many remarks there are about something that was left.
    pub(crate) fn left(&self) -> usize {
        let left = self.remarks.iter().filter(|(_, remark)| remark.weight == Weight::Left);
        left.count()
    }

    /// Where a node of a file is, in words.
    pub(crate) fn place(&self, file: usize, node: &Node) -> String {
        let name = self.files.get(file).map(|file| file.source.name.as_str());
        format!("{}:{}:{}", name.unwrap_or_default(), node.place.line, node.place.column)
    }

    /// Puts a marker behind a field.
    ///
    /// # Errors
    /// Why there can be none, with the place.
    pub(crate) fn mark(&mut self, file: usize, node: &Node, policy: &PolicyName, part: Part) -> Result<(), String> {
        let place = self.place(file, node);
        let setter = Setter {
            policy: policy.clone(),
            part,
        };
        let Some(source) = self.files.get(file) else {
            return Ok(());
        };
        if file_kind(&source.source.path) != FileKind::Yaml {
            return Err(format!(
                "{place}: the file is not YAML, so it has no comments for markers"
            ));
        }
        let start = node.span.start;
        if let Some(other) = self.marks.get(&file).and_then(|marks| marks.get(&start)) {
            return match *other == setter {
                true => Ok(()),
                false => Err(format!(
                    "{place}: another image is written to the same field, by {other}"
                )),
            };
        }
        if !self.is_free(file, start) {
            let one = BTreeMap::from([(start, setter.clone())]);
            let marking = mark_at(source.text, &one).map_err(|why| format!("{place}: {why}"))?;
            if let Some(left) = marking.left.first() {
                return Err(format!("{place}: no marker can be put there, {}", left.why));
            }
        }
        self.marks.entry(file).or_default().insert(start, setter);
        Ok(())
    }

    /// Whether a marker can be put behind the field that begins at a byte. All fields of a file are tried at once.
    fn is_free(&mut self, file: usize, start: usize) -> bool {
        let files = self.files;
        let free = self.free.entry(file).or_insert_with(|| {
            files
                .get(file)
                .and_then(|source| free_fields(source.text, &source.documents))
                .unwrap_or_default()
        });
        free.contains(&start)
    }

    /// Puts markers behind all fields of a file that hold a version of the image; how many there are.
    ///
    /// # Errors
    /// Why one of them cannot have a marker, with the place.
    pub(crate) fn mark_all(&mut self, file: usize, image: &str, policy: &PolicyName) -> Result<usize, String> {
        let Some(source) = self.files.get(file) else {
            return Ok(0);
        };
        if file_kind(&source.source.path) != FileKind::Yaml || !source.text.contains(short(image)) {
            return Ok(0);
        }
        // Templates do not parse, and are no manifests.
        let Ok(marking) = mark(source.text, image, policy) else {
            return Ok(0);
        };
        let files = self.files;
        let nodes: BTreeMap<(usize, usize), &Node> = files
            .get(file)
            .into_iter()
            .flat_map(|file| file.documents.iter().flat_map(|document| document.all()))
            .filter(|node| node.text().is_some())
            .map(|node| ((node.place.line, node.place.column), node))
            .collect();
        for field in &marking.changed {
            if let Some(node) = nodes.get(&(field.line, field.column)) {
                self.mark(file, node, policy, field.setter.part)?;
            }
        }
        match marking.left.first() {
            Some(left) => {
                let name = &source.source.name;
                let (line, column) = (left.line, left.column);
                Err(format!(
                    "{name}:{line}:{column}: no marker can be put there, {}",
                    left.why
                ))
            }
            None => Ok(marking.changed.len() + marked_for(source.text, policy)),
        }
    }

    /// Takes annotations out of an object.
    pub(crate) fn remove(&mut self, file: usize, metadata: &Node, keys: Vec<String>) {
        let metadata = metadata.span.start;
        self.removals.entry(file).or_default().push(Removal { metadata, keys });
    }

    /// Makes all of it.
    pub(crate) fn finish(mut self, made_by: &str, interval: &str) -> Adoption {
        let files: BTreeSet<usize> = self.marks.keys().chain(self.removals.keys()).copied().collect();
        let edited: Vec<Edited> = files.into_iter().filter_map(|file| self.edited(file)).collect();
        let objects = &self.objects;
        let manifests = match objects.is_empty() {
            true => String::new(),
            false => render(objects, made_by, interval),
        };
        let count = [
            objects.repositories.made.len(),
            objects.policies.made.len(),
            objects.sources.made.len(),
            objects.automations.made.len(),
        ];
        self.remarks.sort_by_key(|(at, _)| (at.file, at.place));
        Adoption {
            edited,
            objects: if manifests.is_empty() { 0 } else { count.iter().sum() },
            manifests,
            remarks: self.remarks.into_iter().map(|(_, remark)| remark).collect(),
        }
    }

    fn edited(&mut self, file: usize) -> Option<Edited> {
        let text = self.files.get(file)?.text;
        let at = At {
            file,
            place: Place { line: 1, column: 1 },
        };
        let marks = self.marks.remove(&file).unwrap_or_default();
        let marking = mark_at(text, &marks)
            .map_err(|why| self.tell(Weight::Left, at, "", why))
            .ok()?;
        let new = marking.new.and_then(|new| String::from_utf8(new).ok());
        let new = new.unwrap_or_else(|| text.to_owned());
        let removals = self.removals.remove(&file).unwrap_or_default();
        let (new, removed, left) = match removals.is_empty() {
            true => (new, 0, Vec::new()),
            false => without(text, &new, &removals),
        };
        left.into_iter().for_each(|why| self.tell(Weight::Left, at, "", why));
        let place = |line, column| Place { line, column };
        let marked = marking.changed.into_iter();
        let edited = Edited {
            file,
            marked: marked
                .map(|field| (place(field.line, field.column), field.setter, field.value))
                .collect(),
            removed,
            new: new.into_bytes(),
        };
        (edited.new != text.as_bytes()).then_some(edited)
    }
}

/// Where the fields of a text begin that can have a marker; none when it cannot be told of all at once.
fn free_fields(text: &str, documents: &[Rc<Node>]) -> Option<BTreeSet<usize>> {
    let nodes = documents.iter().flat_map(|document| document.all());
    let scalars = nodes.filter(|node| node.text().is_some());
    let mut starts: BTreeSet<usize> = scalars.map(|node| node.span.start).collect();
    let blocked = obstacles(text, starts.iter().copied()).ok()?;
    starts.retain(|start| !blocked.contains_key(start));
    Some(starts)
}

/// The fields that have a marker of the policy from before.
fn marked_for(text: &str, policy: &PolicyName) -> usize {
    let sites = scan(FileKind::Yaml, text.as_bytes()).sites;
    sites.iter().filter(|site| site.setter.policy == *policy).count()
}

fn short(image: &str) -> &str {
    image.rsplit('/').next().unwrap_or_default()
}
