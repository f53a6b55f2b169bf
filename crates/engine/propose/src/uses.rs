//! The fields of files that hold an image and have no marker.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::charts::{Found, HelmRepositories, of_document};
use super::fields::{self, is_image, reference};
use super::found::{Left, Raw, Survey, Use};
use super::known::Known;
use super::kustomized::Builders;
use super::listed::Listing;
use super::rendered::{Rendered, correct};
use super::renovate::of_comments;
use bumpwright_adopt::{Files, Parsed};
use bumpwright_api::Place;
use bumpwright_api::tree::Node;
use bumpwright_edit::{FileKind, ImageField, Part, file_kind, is_same_image, obstacles, tag_and_digest};
use bumpwright_policy::{Reference, Validation};
use bumpwright_text::Cuts;

/// How many lines at the beginning of a file may say that a program made it.
const HEAD_LINES: usize = 20;

/// All uses of images. `marked` has the fields of each file that have a marker or are named by a rule; `only` is the
/// images to look at, all when there are none; `rendered` is what is known of the values of releases.
#[must_use]
pub fn survey(files: &Files<'_>, marked: &[Vec<Range<usize>>], only: &[String], rendered: &Rendered) -> Survey {
    let mut guesses = BTreeMap::new();
    let found = files.parsed.iter().map(|file| of_file(file, rendered, &mut guesses));
    let found: Vec<Vec<Raw>> = found.collect();
    let readable = found.iter().flatten().filter(|raw| raw.why_not.is_none());
    let known: BTreeSet<String> = readable.map(|raw| raw.listing.image.clone()).collect();
    let builders = Builders::of(files);
    let helm = HelmRepositories::of(files);
    let mut survey = Survey {
        known: Known::of(files),
        guesses,
        ..Survey::default()
    };
    for (n, (file, mut raw)) in files.parsed.iter().zip(found).enumerate() {
        elsewhere(file, &known, &mut raw);
        survey.versions(file, &helm, &mut raw);
        if file_kind(&file.source.path) == FileKind::Yaml {
            let named = of_comments(file, &raw);
            raw.extend(named);
        }
        let (wanted, others): (Vec<Raw>, Vec<Raw>) = raw
            .into_iter()
            .partition(|raw| only.is_empty() || only.iter().any(|image| is_same_image(image, &raw.listing.image)));
        survey.others.extend(others.into_iter().map(|raw| raw.listing.image));
        let mut raw = wanted;
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
            Some(why) => survey.leave_file(file, &rest, &why, only),
            None => survey.take(file, n, rest, &builders),
        }
    }
    let rest: BTreeSet<&String> = survey.images.keys().map(|listing| &listing.image).collect();
    survey.done.retain(|image| !rest.contains(image));
    survey
}

impl Survey {
    fn leave_file(&mut self, file: &Parsed<'_>, uses: &[Raw], why: &str, only: &[String]) {
        let Some(first) = uses.first() else {
            // What does not parse may have images.
            let short = |image: &String| image.behind_last('/').to_owned();
            let is_wanted = only.is_empty() || only.iter().any(|image| file.text.contains(&short(image)));
            let has_images = is_wanted && (file.text.contains("image:") || file.text.contains("newTag:"));
            if let Some((place, _)) = file.error.as_ref().filter(|_| has_images) {
                self.left.push(Left {
                    is_error: !file.text.contains(TEMPLATE),
                    ..Left::of(file, *place, "", why.to_owned())
                });
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
        let mut starts: BTreeSet<usize> = raw.iter().map(|raw| raw.start).collect();
        let objects = file.objects().into_iter();
        for found in objects.flat_map(|node| of_document(&file.source.path, node, helm)) {
            let raw_version = Raw::of_version(&found);
            if !starts.insert(raw_version.start) {
                continue;
            }
            raw.push(raw_version);
            if let Ok((listing, access)) = found.listing {
                self.access.entry(listing).or_insert(access);
            }
        }
    }

    fn take(&mut self, file: &Parsed<'_>, n: usize, uses: Vec<Raw>, builders: &Builders) {
        let fields = uses.iter().filter(|raw| raw.obstacle().is_none());
        let starts = fields.flat_map(|raw| raw.fields.keys().copied());
        let obstacles = obstacles(file.text, starts);
        for raw in uses {
            let by = builders.set_by(n, &raw.listing.image).filter(|_| raw.is_replaced);
            if by.is_some() && raw.is_untagged {
                continue;
            }
            let blocked = match &obstacles {
                Ok(blocked) => blocked.get(&raw.start).map(|why| (*why).to_owned()),
                Err(why) => Some(why.to_string()),
            };
            let why = match by {
                Some(by) => Some(set_by(&by)),
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

impl Raw {
    pub(super) fn of(node: &Node, part: Part, listing: Listing, tag: &str, fields: BTreeMap<usize, Part>) -> Self {
        Self {
            is_replaced: part == Part::Reference,
            is_untagged: false,
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
    pub(super) fn of_tag(tag: &Node, fields: Vec<ImageField>) -> Option<Self> {
        let image = fields.first()?.image.clone();
        let fields = fields.into_iter().map(|field| (field.number, field.part));
        let (text, digest) = tag_and_digest(tag.text()?);
        let mut raw = Self::of(tag, Part::Tag, Listing::oci(&*image), text, fields.collect());
        raw.has_digest |= digest.is_some();
        is_image(&image).then_some(raw)
    }

    /// The byte where the field with the version begins.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The fields that get markers.
    pub(super) fn fields(&self) -> &BTreeMap<usize, Part> {
        &self.fields
    }

    /// Keeps those of the fields that are meant.
    pub(super) fn keep_fields(&mut self, is_meant: impl Fn(usize) -> bool) {
        self.fields.retain(|start, _| is_meant(*start));
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
            Err(why) => (Listing::oci(&*found.named), Some(why.to_string())),
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
            (tag, Part::Tag) if tag.contains('@') => "what is behind the @ of its tag is no digest: correct it",
            _ => return None,
        };
        Some(why.to_owned())
    }
}

/// That kustomizations set an image, of which the first are named.
fn set_by(names: &BTreeSet<&str>) -> String {
    let some: Vec<&str> = names.iter().take(3).copied().collect();
    let more = match names.len().saturating_sub(some.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match names.len() {
        1 => format!("`images` of {} sets it: the field there counts", some.join(", ")),
        _ => format!("`images` of {}{more} set it: the fields there count", some.join(", ")),
    }
}

/// The images of a file, by the names of their fields.
fn of_file(file: &Parsed<'_>, rendered: &Rendered, guesses: &mut BTreeMap<String, String>) -> Vec<Raw> {
    if file_kind(&file.source.path) != FileKind::Yaml {
        return Vec::new();
    }
    let mut uses = Vec::new();
    for document in file.documents.iter().filter(|document| !is_ours(document)) {
        let mut own = Vec::new();
        fields::of_document(document, &mut own);
        guesses.extend(correct(document, &file.source.path, rendered, &mut own));
        uses.extend(own);
    }
    let mut starts = BTreeSet::new();
    uses.retain(|raw| starts.insert(raw.start));
    uses
}

/// Objects about images, and definitions of kinds, use none.
fn is_ours(document: &Node) -> bool {
    let group = document.text_of("apiVersion");
    group.starts_with("image.toolkit.fluxcd.io/") || group.starts_with("apiextensions.k8s.io/")
}

/// References of known images in fields of any name, as in arguments and variables.
fn elsewhere(file: &Parsed<'_>, known: &BTreeSet<String>, found: &mut Vec<Raw>) {
    if file_kind(&file.source.path) != FileKind::Yaml {
        return;
    }
    let mut starts: BTreeSet<usize> = found.iter().flat_map(|raw| raw.fields.keys().copied()).collect();
    for document in file.documents.iter().filter(|document| !is_ours(document)) {
        for node in document.all() {
            let values = node.entries().iter().map(|entry| &*entry.node);
            for value in values.chain(node.items().iter().map(|item| &**item)) {
                let raw = reference(value).filter(|raw| known.contains(&raw.listing.image));
                found.extend(raw.filter(|raw| starts.insert(raw.start)));
            }
        }
    }
}

/// What only templates have.
const TEMPLATE: &str = "{{";

/// Why a whole file is left as it is.
fn untouchable(file: &Parsed<'_>) -> Option<String> {
    if let Some((_, why)) = &file.error {
        return Some(if file.text.contains(TEMPLATE) {
            "it is a template: mark the values that it takes".to_owned()
        } else {
            format!("the file does not parse: {why}")
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
