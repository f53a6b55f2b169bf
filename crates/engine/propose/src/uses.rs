//! The fields of files that hold an image and have no marker.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bumpwright_adopt::{Files, Parsed};
use bumpwright_api::Place;
use bumpwright_api::tree::Node;
use bumpwright_edit::{
    FileKind, ImageField, ImageKeys, Part, file_kind, is_same_image, obstacles, of_images_entry, of_values_mapping,
};
use bumpwright_policy::{LatestRef, Reference, Validation};

use super::charts::{Found, HelmRepositories, of_document};
use super::known::Known;
use super::listing::{Listing, UsedAccess};

/// How many lines at the beginning of a file may say that a program made it.
const HEAD_LINES: usize = 20;

/// An image where it is used: the fields that together say which one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Which of the files.
    pub file: usize,
    /// Where the field with its version is.
    pub place: Place,
    /// The image, without tag and digest, or the chart.
    pub listing: Listing,
    /// The tag in use; empty if only a digest is there.
    pub tag: String,
    /// Whether a digest is there, or a field for one.
    pub(crate) has_digest: bool,
    /// The fields that get markers, by the byte where they begin.
    pub(crate) fields: BTreeMap<usize, Part>,
}

/// A use that gets no marker, or an image that gets no policy, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The file, as it was named.
    pub file: String,
    /// Where.
    pub place: Place,
    /// The image; empty if it is about the file.
    pub image: String,
    /// Why, with the way out.
    pub why: String,
    /// Whether it may be different next time: a registry did not answer.
    pub is_error: bool,
}

/// What the files use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The images and charts without markers, by name.
    pub images: BTreeMap<Listing, Vec<Use>>,
    /// Images all of whose uses have markers, or are named by rules.
    pub done: BTreeSet<String>,
    /// What was left, in the order of the files.
    pub left: Vec<Left>,
    /// How those of sources are reached.
    pub(crate) access: BTreeMap<Listing, UsedAccess>,
    /// What is there already.
    pub(crate) known: Known,
}

/// All uses of images. `marked` has the fields of each file that have a marker or are named by a rule; `only` is the images to look at, all
/// when there are none.
#[must_use]
pub fn survey(files: &Files<'_>, marked: &[Vec<Range<usize>>], only: &[String]) -> Survey {
    let found: Vec<Vec<Raw>> = files.parsed.iter().map(of_file).collect();
    let readable = found.iter().flatten().filter(|raw| raw.why_not.is_none());
    let known: BTreeSet<String> = readable.map(|raw| raw.listing.image.clone()).collect();
    let replaced = replaced(files);
    let helm = HelmRepositories::of(files);
    let mut survey = Survey {
        known: Known::of(files),
        ..Survey::default()
    };
    for (n, (file, mut raw)) in files.parsed.iter().zip(found).enumerate() {
        elsewhere(file, &known, &mut raw);
        survey.versions(file, &helm, &mut raw);
        raw.retain(|raw| only.is_empty() || only.iter().any(|image| is_same_image(image, &raw.listing.image)));
        raw.sort_by_key(|raw| raw.start);
        let mut marked = marked.get(n).cloned().unwrap_or_default();
        marked.sort_by_key(|range| range.start);
        let is_marked = |raw: &Raw| {
            let next = marked.partition_point(|range| range.end < raw.start);
            marked.get(next).is_some_and(|range| range.start <= raw.end)
        };
        let (done, rest): (Vec<Raw>, Vec<Raw>) = raw.into_iter().partition(is_marked);
        survey.done.extend(done.into_iter().map(|raw| raw.listing.image));
        match untouchable(file) {
            Some(why) => survey.leave_file(file, &rest, &why),
            None => survey.take(file, n, rest, &replaced),
        }
    }
    let rest: BTreeSet<&String> = survey.images.keys().map(|listing| &listing.image).collect();
    survey.done.retain(|image| !rest.contains(image));
    survey
}

impl Survey {
    fn leave_file(&mut self, file: &Parsed<'_>, uses: &[Raw], why: &str) {
        let Some(first) = uses.first() else {
            // What does not parse may have images.
            let has_images = file.text.contains("image:") || file.text.contains("newTag:");
            if let Some((place, _)) = file.error.as_ref().filter(|_| has_images) {
                self.left.push(Left::of(file, *place, "", why.to_owned()));
            }
            return;
        };
        let count = match uses.len() {
            1 => String::new(),
            more => format!(" ({} images more)", more - 1),
        };
        self.left.push(Left::of(
            file,
            first.place,
            &first.listing.image,
            format!("{why}{count}"),
        ));
    }

    /// The versions of charts and sources in a file.
    fn versions(&mut self, file: &Parsed<'_>, helm: &HelmRepositories, raw: &mut Vec<Raw>) {
        if file_kind(&file.source.path) != FileKind::Yaml {
            return;
        }
        let mut seen: BTreeSet<usize> = raw.iter().map(|raw| raw.start).collect();
        let objects = file.objects().into_iter();
        for found in objects.flat_map(|node| of_document(&file.source.path, node, helm)) {
            let one = Raw::of_version(&found);
            if !seen.insert(one.start) {
                continue;
            }
            raw.push(one);
            if let Ok((listing, access)) = found.listing {
                self.access.entry(listing).or_insert(access);
            }
        }
    }

    fn take(&mut self, file: &Parsed<'_>, n: usize, uses: Vec<Raw>, replaced: &BTreeMap<String, String>) {
        let fields = uses.iter().filter(|raw| raw.obstacle().is_none());
        let starts = fields.flat_map(|raw| raw.fields.keys().copied());
        let obstacles = obstacles(file.text, starts);
        for raw in uses {
            let by = replaced.get(&raw.listing.image).filter(|_| raw.part == Part::Reference);
            let blocked = obstacles
                .as_ref()
                .map_or_else(|why| Some(&**why), |blocked| blocked.get(&raw.start).copied());
            let why = match by {
                Some(by) => Some(format!("`images` of {by} sets it: the field there counts")),
                None => raw
                    .obstacle()
                    .or_else(|| blocked.map(|why| format!("no marker can be put there: {why}"))),
            };
            match why {
                Some(why) => self.left.push(Left::of(file, raw.place, &raw.listing.image, why)),
                None => self
                    .images
                    .entry(raw.listing.clone())
                    .or_default()
                    .push(raw.into_use(n)),
            }
        }
    }
}

impl Left {
    fn of(file: &Parsed<'_>, place: Place, image: &str, why: String) -> Self {
        Self {
            file: file.source.name.clone(),
            place,
            image: image.to_owned(),
            why,
            is_error: false,
        }
    }
}

/// A use as it was found. The span is that of the field with the version.
struct Raw {
    place: Place,
    start: usize,
    end: usize,
    part: Part,
    listing: Listing,
    tag: String,
    has_digest: bool,
    fields: BTreeMap<usize, Part>,
    /// Why no policy can be for it.
    why_not: Option<String>,
}

impl Raw {
    fn of(node: &Node, part: Part, listing: Listing, tag: &str, fields: BTreeMap<usize, Part>) -> Self {
        Self {
            place: node.place,
            start: node.span.start,
            end: node.span.end,
            part,
            listing,
            tag: tag.to_owned(),
            has_digest: fields.values().any(|part| *part == Part::Digest),
            fields,
            why_not: None,
        }
    }

    /// A tag with the fields beside it, which the byte where each begins numbers.
    fn of_tag(tag: &Node, fields: Vec<ImageField>) -> Option<Self> {
        let image = fields.first()?.image.clone();
        let fields = fields.into_iter().map(|field| (field.number, field.part));
        let raw = Self::of(tag, Part::Tag, Listing::oci(&*image), tag.text()?, fields.collect());
        is_image(&image).then_some(raw)
    }

    fn into_use(self, file: usize) -> Use {
        Use {
            file,
            place: self.place,
            listing: self.listing,
            tag: self.tag,
            has_digest: self.has_digest,
            fields: self.fields,
        }
    }

    /// The version of a chart or of a source.
    fn of_version(found: &Found<'_>) -> Self {
        let fields = found.fields.iter().map(|(node, part)| (node.span.start, *part));
        let tag = found.field.text().unwrap_or_default();
        let (listing, why_not) = match &found.listing {
            Ok((listing, _)) => (listing.clone(), None),
            Err(why) => (Listing::oci(&*found.named), Some(why.clone())),
        };
        let why_not = why_not.or_else(|| {
            let error = Reference::parse(&listing.image, Validation::Weak).err();
            let error = error.filter(|_| !listing.image.contains(['$', '{', '}']))?;
            Some(format!("versions cannot be asked of {}: {error}", listing.image))
        });
        let raw = Self::of(found.field, Part::Tag, listing, tag, fields.collect());
        Self { why_not, ..raw }
    }

    fn obstacle(&self) -> Option<String> {
        if [&self.listing.image, &self.tag]
            .into_iter()
            .any(|text| text.contains(['$', '{', '}']))
        {
            return Some("it has a variable: mark the field that the variable comes from".to_owned());
        }
        if self.why_not.is_some() {
            return self.why_not.clone();
        }
        let why = match (self.tag.as_str(), self.part) {
            ("", Part::Reference) => {
                "only a digest is in use, and no tag says which versions are wanted: write a tag before the @"
            }
            ("", _) => "its tag is empty, so that the chart's own counts: write the tag that is in use",
            (tag, Part::Tag) if tag.contains('@') => {
                "a digest is behind its tag, which a marker would leave out: put it in a field of its own, or name both by patterns in \
                 .bumpwright.yaml (docs/guides/rules.md)"
            }
            _ => return None,
        };
        Some(why.to_owned())
    }
}

/// The images of a file, by the names of their fields.
fn of_file(file: &Parsed<'_>) -> Vec<Raw> {
    if file_kind(&file.source.path) != FileKind::Yaml {
        return Vec::new();
    }
    let mut found = Vec::new();
    for document in file.documents.iter().filter(|document| !is_ours(document)) {
        for node in document.all() {
            of_mapping(node, &mut found);
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|raw| seen.insert(raw.start));
    found
}

/// Objects about images, and definitions of kinds, use none.
fn is_ours(document: &Node) -> bool {
    let group = document.field_text("apiVersion").unwrap_or_default();
    group.starts_with("image.toolkit.fluxcd.io/") || group.starts_with("apiextensions.k8s.io/")
}

fn of_mapping(node: &Node, found: &mut Vec<Raw>) {
    let scalar = |key: &str| {
        let value = node.get(key)?;
        Some((value.text()?, value.span.start))
    };
    if let Some(tag) = node.get("newTag") {
        found.extend(Raw::of_tag(tag, of_images_entry(scalar)));
    }
    if let Some(tag) = node.get("tag") {
        // Some charts have the whole name in `image`.
        let is_usual = scalar("repository").is_some();
        let mut keys = ImageKeys::default();
        if !is_usual {
            "image".clone_into(&mut keys.repository);
        }
        let fields = of_values_mapping(&keys, |key| {
            scalar(key).filter(|(text, _)| match key {
                "registry" => is_usual && !text.is_empty(),
                "digest" => !text.is_empty(),
                _ => true,
            })
        });
        let raw = Raw::of_tag(tag, fields);
        found.extend(raw.filter(|raw| is_plain(&raw.listing.image)));
    }
    for entry in node.entries() {
        let key = entry.name();
        let is_named = key == "image" || key == "imageName" || key.ends_with("Image");
        if is_named {
            found.extend(reference(&entry.node).or_else(|| unreadable(&entry.node)));
        }
    }
}

/// Neither a tag nor a digest is in the name.
fn is_plain(image: &str) -> bool {
    LatestRef::split(image) == (image, None, None)
}

fn is_image(name: &str) -> bool {
    !name.is_empty() && (name.contains("${") || Reference::parse(name, Validation::Weak).is_ok())
}

/// A field with a whole reference, which has a tag or a digest.
fn reference(node: &Node) -> Option<Raw> {
    let (name, tag, digest) = LatestRef::split(node.text()?);
    let is_it = (tag.is_some() || digest.is_some()) && is_image(name);
    let is_spaced = node.text()?.contains(char::is_whitespace);
    (is_it && !is_spaced).then(|| {
        let fields = BTreeMap::from([(node.span.start, Part::Reference)]);
        let mut raw = Raw::of(
            node,
            Part::Reference,
            Listing::oci(name),
            tag.unwrap_or_default(),
            fields,
        );
        raw.has_digest = digest.is_some();
        raw
    })
}

/// A field for an image whose text no registry takes.
fn unreadable(node: &Node) -> Option<Raw> {
    let text = node.text().filter(|text| !text.contains(char::is_whitespace))?;
    let (name, tag, _) = LatestRef::split(text);
    let error = Reference::parse(name, Validation::Weak)
        .err()
        .filter(|_| !name.is_empty())?;
    let raw = Raw::of(node, Part::Reference, Listing::oci(name), tag?, BTreeMap::new());
    let why_not = Some(format!("it names no image: {error}"));
    Some(Raw { why_not, ..raw })
}

/// References of known images in fields of any name, as in arguments and variables.
fn elsewhere(file: &Parsed<'_>, known: &BTreeSet<String>, found: &mut Vec<Raw>) {
    if file_kind(&file.source.path) != FileKind::Yaml {
        return;
    }
    let mut seen: BTreeSet<usize> = found.iter().flat_map(|raw| raw.fields.keys().copied()).collect();
    for document in file.documents.iter().filter(|document| !is_ours(document)) {
        for node in document.all() {
            let values = node.entries().iter().map(|entry| &*entry.node);
            for value in values.chain(node.items().iter().map(|item| &**item)) {
                let raw = reference(value).filter(|raw| known.contains(&raw.listing.image));
                found.extend(raw.filter(|raw| seen.insert(raw.start)));
            }
        }
    }
}

/// The images that a kustomization replaces, with its file.
fn replaced(files: &Files<'_>) -> BTreeMap<String, String> {
    let mut replaced = BTreeMap::new();
    for file in &files.parsed {
        for document in &file.documents {
            for entry in document.field("images").map(Node::items).unwrap_or_default() {
                if let Some(name) = entry.field_text("name").filter(|_| entry.get("newTag").is_some()) {
                    replaced.insert(name.to_owned(), file.source.name.clone());
                }
            }
        }
    }
    replaced
}

/// Why a whole file is left as it is.
fn untouchable(file: &Parsed<'_>) -> Option<String> {
    if let Some((_, why)) = &file.error {
        return Some(match file.text.contains("{{") {
            true => "it is a template: mark the values that it takes".to_owned(),
            false => format!("the file does not parse: {why}"),
        });
    }
    let is_encrypted = |document: &Node| document.field("sops").is_some_and(|sops| sops.get("mac").is_some());
    if file.documents.iter().any(|document| is_encrypted(document)) {
        return Some(
            "the file is encrypted by SOPS, which signs its values: move the image to another file".to_owned(),
        );
    }
    let mut head = file.text.lines().take(HEAD_LINES).filter(|line| line.starts_with('#'));
    let is_made = head.any(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("do not edit") || line.contains("@generated")
    });
    is_made.then(|| "a program makes this file, as its head says: what it makes it from is the place".to_owned())
}
