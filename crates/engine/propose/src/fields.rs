//! The fields of a document that hold an image, by their names: references, entries of `images`, name and
//! tag beside each other.

use std::collections::BTreeMap;

use super::found::Raw;
use super::listed::Listing;
use bumpwright_api::tree::Node;
use bumpwright_edit::{ImageKeys, Part, has_host, image_keys, is_image_key, of_images_entry, of_values_mapping};
use bumpwright_policy::{LatestRef, Reference, Validation};

/// Lists of workloads whose items have an image.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Depth of collections in collections; manifests have twenty.
const MAX_DEPTH: usize = 256;

const ONLY_DIGEST: &str = "only a digest is in use, and no tag says which versions are wanted: write a tag beside it";
const UNTAGGED: &str = "no tag is written, so that it is `latest` at all times: write the one in use";
const OF_CHART: &str = "no tag is written, so that the chart's own counts: write the one in use";
const OF_MANIFEST: &str =
    "its newTag is empty, so that the tag in the manifest counts: write the one in use, or leave the key out";

/// Adds what the fields of a document hold.
pub(super) fn of_document(document: &Node, found: &mut Vec<Raw>) {
    let mut open = vec![(document, "", 0)];
    while let Some((node, key, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            continue;
        }
        of_mapping(node, key, found);
        // Items of a list are called as it is.
        open.extend(node.items().iter().map(|item| (&**item, key, depth + 1)));
        let entries = node.entries().iter();
        open.extend(entries.map(|entry| (&*entry.node, entry.name(), depth + 1)));
    }
}

/// A mapping, which is the value of a key or an item of the list that is.
fn of_mapping(node: &Node, key: &str, found: &mut Vec<Raw>) {
    if node.entries().is_empty() {
        return;
    }
    let before = found.len();
    entry_of_images(node, key, found);
    let names: Vec<&str> = node.entries().iter().map(|entry| entry.name()).collect();
    for keys in image_keys(key, &names, |name| text(node, name)) {
        let Some(tag) = node.get(&keys.tag) else { continue };
        let raw = Raw::of_tag(tag, of_values_mapping(&keys, |key| scalar(node, key, &keys)));
        found.extend(raw.filter(|raw| is_plain(&raw.listing.image)));
    }
    let is_told = found.len() > before;
    for entry in node.entries() {
        let name = entry.name();
        if !is_image_key(name) {
            continue;
        }
        let raw = reference(&entry.node).map(|raw| apart(raw, node));
        let raw = raw
            .or_else(|| unreadable(&entry.node))
            .or_else(|| of_template(&entry.node));
        let untagged = || untagged(&entry.node, CONTAINERS.contains(&key) && name == "image");
        found.extend(raw.or_else(|| untagged().filter(|_| !is_told)));
    }
    if !is_told {
        found.extend(without_tag(node, key));
    }
}

/// The registry of an image that has it in a key beside it.
fn registry_beside(node: &Node) -> Option<&str> {
    let registry = ["registry", "hub"].into_iter().find_map(|key| text(node, key));
    registry.filter(|text| !text.contains("://"))
}

/// A reference whose registry is in a key beside it: what a policy writes has the registry in it.
fn apart(mut raw: Raw, node: &Node) -> Raw {
    let Some(registry) = registry_beside(node).filter(|_| !has_host(&raw.listing.image)) else {
        return raw;
    };
    raw.listing = Listing::oci(format!("{}/{}", registry.trim_end_matches('/'), raw.listing.image));
    raw.why_not = Some(
        "its registry is in a field beside it, so only its tag could be set: write that into a field of its own"
            .to_owned(),
    );
    raw
}

/// A scalar that says something. A tag may be empty, which is reported.
fn scalar<'n>(node: &'n Node, key: &str, keys: &ImageKeys) -> Option<(&'n str, usize)> {
    let value = node.get(key)?;
    let text = value.text()?;
    (!text.is_empty() || key == keys.tag).then_some((text, value.span.start))
}

fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.field_text(key).filter(|text| !text.is_empty())
}

/// An entry of `images` of a kustomization.
fn entry_of_images(node: &Node, key: &str, found: &mut Vec<Raw>) {
    let is_one = text(node, "newName").or(text(node, "name")).is_some();
    let scalar = |key: &str| {
        let value = node.get(key)?;
        Some((value.text()?, value.span.start)).filter(|(text, _)| !text.is_empty() || key == "newTag")
    };
    let raw = match (node.get("newTag"), node.field("digest")) {
        (Some(tag), digest) => Raw::of_tag(tag, of_images_entry(scalar)).map(|mut raw| {
            if tag.text().is_some_and(str::is_empty) {
                let why = if digest.is_some() { ONLY_DIGEST } else { OF_MANIFEST };
                raw.why_not = Some(why.to_owned());
            }
            raw
        }),
        (None, Some(digest)) if key == "images" => only_digest(digest, of_images_entry(scalar)),
        _ => None,
    };
    found.extend(raw.filter(|_| is_one).map(|mut raw| {
        raw.is_replaced = true;
        raw
    }));
}

/// An image of which only the digest is written.
fn only_digest(digest: &Node, fields: Vec<bumpwright_edit::ImageField>) -> Option<Raw> {
    let image = fields.into_iter().next()?.image;
    let mut raw = Raw::of(digest, Part::Digest, Listing::oci(&*image), "", BTreeMap::new());
    raw.has_digest = true;
    raw.why_not = Some(ONLY_DIGEST.to_owned());
    is_image(&image).then_some(raw)
}

/// `repository` of an image without a tag: the digest alone is used, or what the chart has.
fn without_tag(node: &Node, key: &str) -> Option<Raw> {
    let registry = registry_beside(node).map(|registry| registry.trim_end_matches('/'));
    let is_one = is_image_key(key) || node.field("digest").is_some();
    let repository = node.field("repository").filter(|_| is_one);
    let repository = repository.or_else(|| node.field("image").filter(|_| registry.is_some()))?;
    let name = repository.text().filter(|name| !name.contains("://"))?;
    let name = Some(name).filter(|name| is_plain(name) && is_image(name))?;
    let image = match registry.filter(|_| !has_host(name)) {
        Some(registry) => format!("{registry}/{name}"),
        None => name.to_owned(),
    };
    if ["tag", "version"].iter().any(|key| node.get(key).is_some()) {
        return None;
    }
    let digest = node
        .field("digest")
        .filter(|digest| digest.text().is_some_and(|text| !text.is_empty()));
    let part = if digest.is_some() { Part::Digest } else { Part::Name };
    let mut raw = Raw::of(
        digest.unwrap_or(repository),
        part,
        Listing::oci(image),
        "",
        BTreeMap::new(),
    );
    let why = if digest.is_some() { ONLY_DIGEST } else { OF_CHART };
    raw.is_untagged = digest.is_none();
    raw.why_not = Some(why.to_owned());
    Some(raw)
}

/// An image without a version, where it can be nothing else.
fn untagged(node: &Node, of_container: bool) -> Option<Raw> {
    let text = node
        .text()
        .filter(|text| !text.is_empty() && !text.contains(char::is_whitespace))?;
    let is_one = (of_container || has_host(text)) && !text.contains("://") && is_plain(text) && is_image(text);
    is_one.then(|| {
        let mut raw = Raw::of(node, Part::Reference, Listing::oci(text), "", BTreeMap::new());
        raw.is_untagged = true;
        raw.why_not = Some(UNTAGGED.to_owned());
        raw
    })
}

/// Neither a tag nor a digest is in the name.
fn is_plain(image: &str) -> bool {
    LatestRef::split(image) == (image, None, None)
}

pub(super) fn is_image(name: &str) -> bool {
    !name.is_empty() && (name.contains("${") || Reference::parse(name, Validation::Weak).is_ok())
}

/// A field with a whole reference, which has a tag or a digest.
pub(super) fn reference(node: &Node) -> Option<Raw> {
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

/// A reference with expressions of a template that have blanks in them, as in `web:{{ .Values.tag }}`.
fn of_template(node: &Node) -> Option<Raw> {
    let text = node.text().filter(|text| text.contains("{{"))?;
    let (first, rest) = text.split_once("{{")?;
    let others = rest
        .split("{{")
        .map(|part| part.split_once("}}").map(|(_, behind)| behind));
    let outside: Option<Vec<&str>> = std::iter::once(Some(first)).chain(others).collect();
    let is_one = outside.is_some_and(|parts| !parts.iter().any(|part| part.contains(char::is_whitespace)));
    let (name, tag, _) = LatestRef::split(text);
    let tag = tag.filter(|_| is_one && !text.contains('\n'))?;
    Some(Raw::of(node, Part::Reference, Listing::oci(name), tag, BTreeMap::new()))
}

/// A field for an image whose text no registry takes.
fn unreadable(node: &Node) -> Option<Raw> {
    let text = node.text().filter(|text| !text.contains(char::is_whitespace))?;
    let (name, tag, _) = LatestRef::split(text);
    let error = Reference::parse(name, Validation::Weak)
        .err()
        .filter(|_| !name.is_empty())?;
    let mut raw = Raw::of(node, Part::Reference, Listing::oci(name), tag?, BTreeMap::new());
    raw.why_not = Some(format!("it names no image: {error}"));
    Some(raw)
}
