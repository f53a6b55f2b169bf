//! What becomes of the files: collected object by object, then made at once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use super::adopted::Objects;
use super::annotations::{Removal, without};
use super::error::{NotMarked, Obstacle};
use super::files::{Files, Parsed, object};
use super::remarks::{At, Remark, Weight};
use super::render::render;
use bumpwright_api::Place;
use bumpwright_api::tree::Node;
use bumpwright_edit::{FileKind, Setter, file_kind, mark_at, obstacles};
use bumpwright_text::Parts;

/// What the caller decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The namespace of all objects that are made; none means what the source has.
    pub namespace: Option<String>,
    /// The file for the objects, if it exists: new ones are added to it.
    pub manifests: Option<usize>,
}

/// What is made of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adoption {
    /// Files with other content.
    pub edited: Vec<Edited>,
    /// The file of the new objects, behind those that it has; empty when nothing is new.
    pub manifests: String,
    /// How many objects are new.
    pub objects: usize,
    /// What has to be reported, in the order of the files.
    pub remarks: Vec<Remark>,
    /// The Applications that moved, `Application NAMESPACE/NAME`.
    pub moved: Vec<String>,
    /// Those that stay with the other program, of which something was left.
    pub stay: Vec<String>,
}

/// A file with other content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Which of the files.
    pub file: usize,
    pub new: Vec<u8>,
    /// The fields that have got a marker: place, setter, value.
    pub marked: Vec<(Place, Setter, String)>,
    /// How many annotations are gone.
    pub removed: usize,
}

pub(crate) struct Draft<'a> {
    pub(crate) files: &'a Files<'a>,
    pub(crate) options: &'a Options,
    pub(crate) objects: Objects,
    /// Parts of the file of objects, by their first byte: the byte behind, and the new text.
    rewritten: BTreeMap<usize, (usize, String)>,
    marks: BTreeMap<usize, BTreeMap<usize, Setter>>,
    removals: BTreeMap<usize, Vec<Removal>>,
    /// By file: where the fields begin that can have a marker, as far as that is known.
    free: BTreeMap<usize, BTreeSet<usize>>,
    remarks: Vec<(At, Remark)>,
    /// What is reported once, and where and of what it holds.
    told_once: BTreeMap<String, Vec<(At, String)>>,
    /// What moved as a whole, and what stays, as they are called.
    moved: BTreeSet<String>,
    stay: BTreeSet<String>,
}

const CHART_TEMPLATE: &str = "it is a template of a Helm chart, so its annotations for image updates are not read: write a \
    policy for each image (docs/guides/policies.md), mark its fields (bumpwright markers add), then remove the annotations by hand";

/// The most further places of one remark that are named.
const NAMED: usize = 5;

impl<'a> Draft<'a> {
    pub(crate) fn of(files: &'a Files<'a>, options: &'a Options) -> Self {
        Self {
            files,
            options,
            rewritten: BTreeMap::new(),
            objects: Objects::beside(files),
            marks: BTreeMap::new(),
            removals: BTreeMap::new(),
            free: BTreeMap::new(),
            remarks: Vec::new(),
            told_once: BTreeMap::new(),
            moved: BTreeSet::new(),
            stay: BTreeSet::new(),
        }
    }

    pub(crate) fn tell(&mut self, weight: Weight, at: At, subject: &str, text: impl Into<String>) {
        let remark = Remark {
            file: self.files.name(at.file).to_owned(),
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
                let text = if file.is_chart_template() {
                    CHART_TEMPLATE.to_owned()
                } else {
                    format!("the file does not parse: {why}; correct it")
                };
                self.tell(Weight::Left, at, "", text);
            }
        }
    }

    /// Tells something that is worth knowing once, with the places where it holds; of one place also its subject.
    pub(crate) fn tell_once(&mut self, at: At, subject: &str, text: impl Into<String>) {
        let places = self.told_once.entry(text.into()).or_default();
        places.push((at, subject.to_owned()));
    }

    /// Counts an Application, or what else moves as a whole.
    pub(crate) fn count(&mut self, subject: &str, stays: bool) {
        let names = if stays { &mut self.stay } else { &mut self.moved };
        names.insert(subject.to_owned());
    }

    fn tell_common(&mut self) {
        for (text, mut places) in std::mem::take(&mut self.told_once) {
            places.sort_by_key(|(at, _)| (at.file, at.place));
            places.dedup_by_key(|(at, _)| *at);
            let Some(((first, subject), others)) = places.split_first() else {
                continue;
            };
            let named: Vec<String> = others.iter().take(NAMED).map(|(at, _)| self.named(*at)).collect();
            let more = match others.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            if named.is_empty() {
                self.tell(Weight::Note, *first, subject, text);
            } else {
                let also = named.join(", ");
                self.tell(Weight::Note, *first, "", format!("{text}; the same at {also}{more}"));
            }
        }
    }

    /// Tells which of several GitRepositories is used that are of one address and branch.
    fn tell_alike(&mut self) {
        let files = self.files;
        let sources = files.objects().into_iter();
        let sources = sources.filter(|(_, node)| node.field_text("kind") == Some("GitRepository"));
        let sources: Vec<(usize, &Node)> = sources.collect();
        for (name, others) in std::mem::take(&mut self.objects.alike) {
            let place = sources.iter().find(|(_, node)| object(node).as_ref() == Some(&name));
            let Some((file, node)) = place else { continue };
            let at = At {
                file: *file,
                place: node.place,
            };
            let others: Vec<String> = others.iter().map(ToString::to_string).collect();
            let text = format!(
                "it is used, as the first in the files with this address and branch; {} would do as well: if that is meant, change sourceRef of \
                 the new ImageUpdateAutomation",
                others.join(", ")
            );
            self.tell(Weight::Note, at, &format!("GitRepository {name}"), text);
        }
    }

    fn named(&self, at: At) -> String {
        format!("{}:{}:{}", self.files.name(at.file), at.place.line, at.place.column)
    }

    /// Where a node of a file is, in words.
    pub(crate) fn place(&self, file: usize, node: &Node) -> String {
        format!("{}:{}:{}", self.files.name(file), node.place.line, node.place.column)
    }

    /// Whether a marker can be put behind a field.
    pub(crate) fn check(&mut self, file: usize, node: &Node, setter: &Setter) -> Result<(), NotMarked> {
        self.obstacle(file, node, setter).map_err(|problem| NotMarked {
            place: self.place(file, node),
            problem,
        })
    }

    fn obstacle(&mut self, file: usize, node: &Node, setter: &Setter) -> Result<(), Obstacle> {
        let Some(source) = self.files.get(file) else {
            return Ok(());
        };
        if file_kind(&source.source.path) != FileKind::Yaml {
            return Err(Obstacle::NotYaml);
        }
        let start = node.span.start;
        if let Some(other) = self.marks.get(&file).and_then(|marks| marks.get(&start)) {
            return if other == setter {
                Ok(())
            } else {
                Err(Obstacle::Taken(other.clone()))
            };
        }
        if !self.is_free(file, start) {
            let marker = BTreeMap::from([(start, setter.clone())]);
            let marking = mark_at(source.text, &marker)?;
            if let Some(left) = marking.left.first() {
                return Err(Obstacle::NoRoom(left.why));
            }
        }
        Ok(())
    }

    /// Puts a marker behind a field where one can be put, by the byte where it begins.
    pub(crate) fn mark(&mut self, file: usize, start: usize, setter: Setter) {
        self.marks.entry(file).or_default().insert(start, setter);
    }

    /// Whether a marker can be put behind the field that begins at a byte. All fields of a file are tried at once.
    fn is_free(&mut self, file: usize, start: usize) -> bool {
        let files = self.files;
        let free = self.free.entry(file).or_insert_with(|| {
            let source = files.get(file).into_iter();
            let fields = source.filter_map(|source| free_fields(source.text, &source.documents));
            fields.flatten().collect()
        });
        free.contains(&start)
    }

    /// Takes annotations out of an object.
    pub(crate) fn remove(&mut self, file: usize, metadata: &Node, keys: Vec<String>) {
        let metadata = metadata.span.start;
        self.removals.entry(file).or_default().push(Removal { metadata, keys });
    }

    /// Replaces a part of the file of objects.
    pub(crate) fn rewrite(&mut self, span: Range<usize>, new: String) {
        self.rewritten.insert(span.start, (span.end, new));
    }

    /// The file of objects with what is new; empty when nothing is.
    fn manifests(&self, made_by: &str, interval: &str) -> String {
        let new = if self.objects.is_empty() {
            String::new()
        } else {
            render(&self.objects, interval)
        };
        let old = self.options.manifests.and_then(|file| self.files.get(file));
        let Some(old) = old.map(|file| file.text).filter(|text| !text.trim().is_empty()) else {
            return if new.is_empty() {
                new
            } else {
                format!("# Made by {made_by}.\n{new}")
            };
        };
        let (mut out, mut end) = (String::new(), 0);
        for (start, (behind, text)) in &self.rewritten {
            out.push_str(old.part(end..*start));
            out.push_str(text);
            end = *behind;
        }
        out.push_str(old.part(end..));
        if !new.is_empty() {
            if !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str("---\n");
            out.push_str(&new);
        }
        if out == old { String::new() } else { out }
    }

    /// Makes all of it.
    pub(crate) fn finish(mut self, made_by: &str, interval: &str) -> Adoption {
        self.tell_common();
        self.tell_alike();
        let files: BTreeSet<usize> = self.marks.keys().chain(self.removals.keys()).copied().collect();
        let edited: Vec<Edited> = files.into_iter().filter_map(|file| self.edited(file)).collect();
        let manifests = self.manifests(made_by, interval);
        let objects = &self.objects;
        let count = [
            objects.repositories.made.len(),
            objects.policies.made.len(),
            objects.sources.made.len(),
            objects.automations.made.len(),
        ];
        self.remarks.sort_by_key(|(at, _)| (at.file, at.place));
        Adoption {
            edited,
            objects: if objects.is_empty() { 0 } else { count.iter().sum() },
            manifests,
            remarks: self.remarks.into_iter().map(|(_, remark)| remark).collect(),
            moved: self.moved.into_iter().collect(),
            stay: self.stay.into_iter().collect(),
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
            .map_err(|why| self.tell(Weight::Left, at, "", why.to_string()))
            .ok()?;
        let new = marking.new.and_then(|new| String::from_utf8(new).ok());
        let new = new.unwrap_or_else(|| text.to_owned());
        let removals = self.removals.remove(&file).unwrap_or_default();
        let (new, removed, left) = if removals.is_empty() {
            (new, 0, Vec::new())
        } else {
            without(text, &new, &removals)
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

/// Where the fields of a text begin that can have a marker; none when the places are not clear.
fn free_fields(text: &str, documents: &[Rc<Node>]) -> Option<BTreeSet<usize>> {
    let nodes = documents.iter().flat_map(|document| document.all());
    let scalars = nodes.filter(|node| node.text().is_some());
    let mut starts: BTreeSet<usize> = scalars.map(|node| node.span.start).collect();
    let blocked = obstacles(text, starts.iter().copied()).ok()?;
    starts.retain(|start| !blocked.contains_key(start));
    Some(starts)
}
