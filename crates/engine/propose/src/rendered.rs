//! Values of Helm releases whose charts were rendered: it is known which of them are images, whatever
//! their keys are called.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::{is_image, reference};
use super::found::Raw;
use super::listed::Listing;
use bumpwright_adopt::{Parsed, object};
use bumpwright_api::tree::Node;
use bumpwright_edit::{Part, is_same_image, tag_and_digest};
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_text::pointer::unescaped;

/// What is known of the values of HelmReleases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// Of those in `spec.values`, by the namespaces and names of the releases that are written in the files.
    pub releases: BTreeMap<PolicyName, Values>,
    /// Of those in files of their own, by the paths of these.
    pub files: BTreeMap<String, Values>,
}

/// What is known of the values of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// What its chart makes of them.
    Known {
        /// Those that come out in images.
        images: Vec<ImageValue>,
        /// Pointers to those that seem to be some, and that no template reads.
        unused: BTreeSet<String>,
        /// Pointers to those of which that is not known.
        unclear: BTreeSet<String>,
    },
    /// Its chart was not rendered, for this reason: what keys are called says which values are images.
    Unknown(String),
}

/// A value that comes out in images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageValue {
    /// Its place in the values, as a JSON pointer.
    pub pointer: String,
    /// What of the images it is; none if templates make something else of it.
    pub part: Option<Part>,
    /// The images, without tag and digest.
    pub images: BTreeSet<String>,
}

const UNUSED: &str = "no template of its chart reads it with these values: correct the key, or leave it out";
const OF_SEVERAL: &str = "its chart makes several images of it, so that no policy can say which version is next";
const DERIVED: &str = "its chart makes another text of it, which a marker cannot write";

/// The values in a document, and what is known of them.
struct Told<'a> {
    values: &'a Node,
    /// Whose they are, for users.
    name: String,
    known: Option<&'a Values>,
}

impl<'a> Told<'a> {
    /// `path` is that of the file.
    fn of(document: &'a Node, path: &str, rendered: &'a Rendered) -> Option<Self> {
        if let Some(known) = rendered.files.get(path) {
            return Some(Self {
                values: document,
                name: path.to_owned(),
                known: Some(known),
            });
        }
        let version = document.text_of("apiVersion");
        let is_release =
            version.starts_with("helm.toolkit.fluxcd.io/") && document.field_text("kind") == Some("HelmRelease");
        let name = object(document).filter(|_| is_release)?;
        Some(Self {
            values: document.field("spec")?.field("values")?,
            known: named(&rendered.releases, &name),
            name: format!("HelmRelease {name}"),
        })
    }
}

/// The fields of an image among the values of a file whose charts were rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageFields {
    /// Those that a marker can write, by the byte where each begins.
    pub fields: BTreeMap<usize, Part>,
    /// Those that seem to be some, and why they are none.
    pub left: BTreeMap<usize, &'static str>,
    /// Whose values are guessed by their keys, and why.
    pub guesses: BTreeMap<String, String>,
}

/// The fields of an image among the values of a file.
#[must_use]
pub fn image_fields(file: &Parsed<'_>, rendered: &Rendered, image: &str) -> ImageFields {
    let mut fields = ImageFields::default();
    for document in &file.documents {
        let Some(told) = Told::of(document, &file.source.path, rendered) else {
            continue;
        };
        match told.known {
            Some(Values::Known {
                images,
                unused,
                unclear,
            }) => {
                let places = Places::of(told.values, images, (unused, unclear));
                fields.left.extend(places.unused.iter().map(|start| (*start, UNUSED)));
                let is_it = |value: &ImageValue| value.images.iter().any(|one| is_same_image(one, image));
                for (start, (_, value)) in &places.images {
                    if !is_it(value) {
                        continue;
                    }
                    match (value.part, value.images.len()) {
                        (None, _) => drop(fields.left.insert(*start, DERIVED)),
                        (Some(_), 2..) => drop(fields.left.insert(*start, OF_SEVERAL)),
                        (Some(part), _) => drop(fields.fields.insert(*start, part)),
                    }
                }
            }
            Some(Values::Unknown(why)) => drop(fields.guesses.insert(told.name, why.clone())),
            None => {}
        }
    }
    fields
}

/// Corrects what the fields of a document seem to hold by what charts make of the values in it. Returns whose values
/// are guessed and why, where they are.
pub(super) fn correct(
    document: &Node,
    path: &str,
    rendered: &Rendered,
    found: &mut Vec<Raw>,
) -> Option<(String, String)> {
    let Told { values, name, known } = Told::of(document, path, rendered)?;
    let (mut inside, outside): (Vec<Raw>, Vec<Raw>) =
        found.drain(..).partition(|raw| values.span.contains(&raw.start()));
    found.extend(outside);
    let guessed = match known {
        Some(Values::Known {
            images,
            unused,
            unclear,
        }) => {
            let places = Places::of(values, images, (unused, unclear));
            inside.iter_mut().for_each(|raw| places.correct(raw));
            inside.extend(places.others(&inside));
            None
        }
        Some(Values::Unknown(why)) if !inside.is_empty() => Some((name, why.clone())),
        _ => None,
    };
    found.extend(inside);
    guessed
}

/// The release of a name; parts of it, as patches have them, may leave the namespace out.
fn named<'r>(rendered: &'r BTreeMap<PolicyName, Values>, name: &PolicyName) -> Option<&'r Values> {
    rendered.get(name).or_else(|| {
        let is_it = |(other, _): &(&PolicyName, _)| other.name == name.name && name.namespace.is_empty();
        let mut others = rendered.iter().filter(is_it);
        let (_, only) = others.next()?;
        others.next().is_none().then_some(only)
    })
}

/// The values, by the bytes where they begin.
struct Places<'a> {
    images: BTreeMap<usize, (&'a Node, &'a ImageValue)>,
    unused: BTreeSet<usize>,
    unclear: BTreeSet<usize>,
}

impl<'a> Places<'a> {
    fn of(
        values: &'a Node,
        images: &'a [ImageValue],
        (unused, unclear): (&BTreeSet<String>, &BTreeSet<String>),
    ) -> Self {
        let images = images.iter().filter_map(|image| {
            let node = at(values, &image.pointer)?;
            Some((node.span.start, (node, image)))
        });
        let starts = |pointers: &BTreeSet<String>| {
            let nodes = pointers.iter().filter_map(|pointer| at(values, pointer));
            nodes.map(|node| node.span.start).collect()
        };
        Self {
            images: images.collect(),
            unused: starts(unused),
            unclear: starts(unclear),
        }
    }

    /// What a field seems to hold is corrected: the image is that of the containers, and a name that the chart
    /// completes gets no marker.
    fn correct(&self, raw: &mut Raw) {
        let starts: Vec<usize> = raw.fields().keys().copied().chain([raw.start()]).collect();
        if starts.iter().any(|start| self.unclear.contains(start)) {
            return;
        }
        if self.unused.contains(&raw.start()) {
            raw.why_not.get_or_insert_with(|| UNUSED.to_owned());
            return;
        }
        // What comes out elsewhere, as in an argument, may be an image for others.
        let Some((_, value)) = self.images.get(&raw.start()) else {
            return;
        };
        match (value.part, value.images.len()) {
            (None, _) => raw.why_not = Some(DERIVED.to_owned()),
            (Some(_), 1) => {
                if let Some(image) = value.images.first().filter(|_| value.part != Some(Part::Reference)) {
                    raw.listing = Listing::oci(image);
                }
                raw.keep_fields(|start| self.images.get(&start).is_some_and(|(_, value)| value.part.is_some()));
            }
            (Some(_), _) => raw.why_not = Some(OF_SEVERAL.to_owned()),
        }
    }

    /// The values that no key tells.
    fn others(&self, known: &[Raw]) -> Vec<Raw> {
        let starts: BTreeSet<usize> = known
            .iter()
            .flat_map(|raw| raw.fields().keys().copied().chain([raw.start()]))
            .collect();
        let new = self.images.iter().filter(|(start, _)| !starts.contains(start));
        new.filter_map(|(_, (node, value))| self.raw(node, value)).collect()
    }

    fn raw(&self, node: &Node, value: &ImageValue) -> Option<Raw> {
        let Some(part) = value.part else {
            return derived(node, value);
        };
        let mut raw = match part {
            Part::Reference => reference(node)?,
            part @ (Part::Tag | Part::TagDigest) => {
                let image = value.images.first().filter(|image| is_image(image))?;
                let digests = self
                    .images
                    .values()
                    .filter(|(_, other)| other.part == Some(Part::Digest));
                let digest = digests
                    .filter(|(_, other)| other.images == value.images)
                    .map(|(node, _)| node.span.start);
                let fields = digest
                    .map(|start| (start, Part::Digest))
                    .chain([(node.span.start, part)]);
                let (tag, digest) = tag_and_digest(node.text()?);
                let mut raw = Raw::of(node, Part::Tag, Listing::oci(image), tag, fields.collect());
                raw.has_digest |= digest.is_some();
                raw
            }
            Part::Name | Part::Digest => return None,
        };
        if value.images.len() > 1 {
            raw.why_not = Some(OF_SEVERAL.to_owned());
        }
        // A reference without a version is what fields say of it.
        (!LatestRef::split(node.text()?).0.is_empty()).then_some(raw)
    }
}

/// A version of which the chart makes another text, as `v1.4.0` of `1.4.0`: no marker can write it, and that is said.
/// Parts of names and addresses are none.
fn derived(node: &Node, value: &ImageValue) -> Option<Raw> {
    let text = node.text()?;
    let is_version = text.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    if !is_version || text.contains(['/', ':']) {
        return None;
    }
    let image = value.images.first()?;
    let mut raw = Raw::of(node, Part::Tag, Listing::oci(image), text, BTreeMap::new());
    raw.why_not = Some(DERIVED.to_owned());
    Some(raw)
}

/// The node at a JSON pointer.
fn at<'n>(values: &'n Node, pointer: &str) -> Option<&'n Node> {
    pointer.split('/').skip(1).try_fold(values, |node, part| {
        let key = unescaped(part);
        node.get(&key)
            .or_else(|| Some(&**node.items().get(key.parse::<usize>().ok()?)?))
    })
}
