//! Fields that together say which image is meant, and which of them an image of `image-list` is about: of two images of
//! one name, the tag in use decides.

use std::collections::BTreeSet;

use crate::adopted::Rule;
use crate::draft::Draft;
use crate::error::Obstacle;
use crate::objects::Wanted;
use bumpwright_api::tree::Node;
use bumpwright_edit::{ImageField, Part, image_keys, is_same_image, of_images_entry, of_values_mapping};
use bumpwright_policy::{FilterSpec, ImagePolicy, LatestRef, RuleSpec};
use bumpwright_re2::{Budget, Regexp};
use bumpwright_semver::{Constraint, Version};

/// Steps of a search in a tag; tags have 128 characters at most.
const SEARCH_STEPS: u64 = 1_000_000;

/// The fields of one image in a file.
#[derive(Clone, Debug)]
pub(super) struct Spot<'f> {
    pub(super) file: usize,
    /// The fields, with what each holds.
    pub(super) fields: Vec<(&'f Node, Part)>,
    /// The tag in use, as it is written.
    pub(super) tag: Option<&'f Node>,
    /// The digest beside the tag.
    pub(super) pin: Option<&'f Node>,
}

impl<'f> Spot<'f> {
    /// A field for the whole image.
    pub(super) fn whole(file: usize, node: &'f Node) -> Self {
        Self {
            file,
            fields: vec![(node, Part::Reference)],
            tag: Some(node),
            pin: None,
        }
    }

    /// Fields of a mapping.
    pub(super) fn of(file: usize, fields: Vec<(&'f Node, Part)>) -> Self {
        let find = |wanted: fn(Part) -> bool| fields.iter().find(|(_, part)| wanted(*part)).map(|(node, _)| *node);
        let (tag, pin) = (
            find(|part| matches!(part, Part::Tag | Part::TagDigest)),
            find(|part| part == Part::Digest),
        );
        Self { file, fields, tag, pin }
    }

    /// Where its first field is, in words.
    pub(super) fn place(&self, draft: &Draft<'_>) -> String {
        let first = self.fields.first();
        first.map_or_else(String::new, |(node, _)| draft.place(self.file, node))
    }

    /// The tag in use, without a digest; none where none is written.
    pub(super) fn tag(&self) -> Option<&'f str> {
        let text = self.tag?.text()?;
        let whole = self.fields.iter().any(|(_, part)| *part == Part::Reference);
        let tag = if whole {
            LatestRef::split(text).1
        } else {
            text.split('@').next()
        };
        tag.filter(|tag| !tag.is_empty())
    }

    /// Whether a digest follows the tag in its field, and no field has the whole image.
    fn is_pinned(&self) -> bool {
        let whole = self.fields.iter().any(|(_, part)| *part == Part::Reference);
        !whole && self.tag.and_then(Node::text).is_some_and(|text| text.contains('@'))
    }

    /// Whether the field for the tag gets the digest, too.
    fn takes_both(&self) -> bool {
        self.fields.iter().any(|(_, part)| *part == Part::TagDigest)
    }

    /// The fields that get markers, if the image is written there as argocd-image-updater did.
    ///
    /// # Errors
    /// Where that cannot be, and what is to be done.
    pub(super) fn written(&self, digest: bool) -> Result<Vec<(&'f Node, Part)>, (&'f Node, &'static str)> {
        let Some(&(first, part)) = self.fields.first() else {
            return Ok(Vec::new());
        };
        // The name may be apart from its tag.
        let is_name = self.fields.iter().all(|(_, part)| *part == Part::Name);
        if part == Part::Reference || is_name {
            return Ok(self.fields.clone());
        }
        let at = self.tag.unwrap_or(first);
        match (digest, self.tag, self.pin) {
            (true, Some(_), None) if self.takes_both() => Ok(self.fields.clone()),
            (_, Some(tag), _) if self.is_pinned() => Err((
                tag,
                "the digest behind the tag would keep the old image: remove it, then run again",
            )),
            (true, _, None) => Err((at, "write digest with the one of now below it, then run again")),
            (false, None, _) => Err((at, "write newTag with the version of now below it, then run again")),
            (false, _, Some(pin)) => Err((
                pin,
                "the digest would keep the old image whatever the tag is: remove it, then run again",
            )),
            _ => Ok(self.fields.clone()),
        }
    }
}

/// All spots of an image in a document.
pub(super) fn of_document<'f>(file: usize, document: &'f Node, image: &str) -> Vec<Spot<'f>> {
    let mut spots: Vec<Spot<'f>> = Vec::new();
    let mut starts: BTreeSet<usize> = BTreeSet::new();
    for (node, key) in with_keys(document) {
        let scalar = |key: &str| {
            let at = node.entries().iter().position(|entry| entry.is(key))?;
            let text = node.entries().get(at)?.node.text()?;
            (!text.is_empty()).then_some((text, at))
        };
        let names: Vec<&str> = node.entries().iter().map(|entry| entry.name()).collect();
        let may_be = image_keys(key, &names, |key| Some(scalar(key)?.0));
        let mut of_keys = vec![of_images_entry(scalar)];
        of_keys.extend(may_be.iter().map(|keys| of_values_mapping(keys, scalar)));
        for fields in of_keys {
            let is_it = fields.first().is_some_and(|field| is_same_image(&field.image, image));
            if is_it && !fields.is_empty() {
                spots.push(Spot::of(file, nodes(node, &fields)));
            }
        }
        let values = node.entries().iter().map(|entry| &*entry.node);
        for value in values.chain(node.items().iter().map(|item| &**item)) {
            if is_reference(value, image) {
                spots.push(Spot::whole(file, value));
            }
        }
    }
    // What aliases stand for is one field, and a reference has its own tag.
    spots.sort_by_key(|spot| spot.fields.iter().all(|(_, part)| *part != Part::Reference));
    spots.retain(|spot| spot.fields.iter().all(|(node, _)| starts.insert(node.span.start)));
    spots.sort_by_key(|spot| spot.fields.iter().map(|(node, _)| node.span.start).min());
    spots
}

/// All nodes of a document, each with the key that it is at, or the list that has it.
fn with_keys(document: &Node) -> Vec<(&Node, &str)> {
    let (mut all, mut next) = (vec![(document, "")], 0);
    while let Some((node, key)) = all.get(next).copied() {
        all.extend(node.items().iter().map(|item| (&**item, key)));
        all.extend(node.entries().iter().map(|entry| (&*entry.node, entry.name())));
        next += 1;
    }
    all
}

fn nodes<'f>(mapping: &'f Node, fields: &[ImageField]) -> Vec<(&'f Node, Part)> {
    let nodes = fields.iter().filter_map(|field| {
        let entry = mapping.entries().get(field.number)?;
        Some((&*entry.node, field.part))
    });
    nodes.collect()
}

fn is_reference(node: &Node, image: &str) -> bool {
    let Some(text) = node.text() else { return false };
    let (name, tag, digest) = LatestRef::split(text);
    (tag.is_some() || digest.is_some()) && is_same_image(name, image)
}

/// The choice of a policy, for tags one by one.
pub(super) struct Taker {
    policy: Option<ImagePolicy>,
    /// The range of versions, if it goes by one.
    range: Option<Constraint>,
    exclusions: Vec<Regexp>,
    digest: bool,
}

impl Taker {
    pub(super) fn of(wanted: &Wanted) -> Self {
        let mut rule = RuleSpec::default();
        match &wanted.rule {
            Rule::Semver(range) => rule.semver = Some(range.clone()),
            Rule::Alphabetical => rule.alphabetical = Some("asc".to_owned()),
            Rule::Numerical => rule.numerical = Some("asc".to_owned()),
        }
        let range = rule.semver.as_deref().and_then(|range| Constraint::parse(range).ok());
        let filter = wanted.filter.clone().map(|pattern| FilterSpec {
            pattern,
            extract: String::new(),
        });
        Self {
            policy: ImagePolicy::new(&rule, filter.as_ref()).ok(),
            range,
            exclusions: wanted
                .exclusions
                .iter()
                .filter_map(|pattern| Regexp::new(pattern).ok())
                .collect(),
            digest: wanted.digest,
        }
    }

    /// Whether the tag is one that it may choose.
    pub(super) fn takes(&self, tag: &str) -> bool {
        let excluded = self.exclusions.iter().any(|pattern| {
            let mut budget = Budget::new(SEARCH_STEPS, 1 << 20);
            pattern.is_match(tag.as_bytes(), &mut budget).is_ok_and(|found| found)
        });
        let policy = self.policy.as_ref().filter(|_| !excluded);
        policy.is_some_and(|policy| policy.latest(&[tag.to_owned()]).is_ok())
    }

    /// Whether argocd-image-updater takes the tag for a version, and Flux for none: `1.4`. An image with such tags
    /// would have no updates any more. `in_range`: whether only those of the range count.
    pub(super) fn is_short_version(&self, tag: &str, in_range: bool) -> bool {
        let Some(range) = &self.range else { return false };
        let is_in = |version: Version| !in_range || range.check(&version);
        Version::parse_flux(tag).is_err() && Version::parse(tag).is_ok_and(is_in)
    }
}

/// The spots that get the markers of an image, and those that hold another tag.
pub(super) struct Chosen<'s, 'f> {
    pub(super) own: Vec<&'s Spot<'f>>,
    pub(super) others: Vec<&'s Spot<'f>>,
}

/// Which of the spots of a name are those of one image. `rivals` are the other images of that name.
///
/// # Errors
/// Where the tag in use does not say whose it is.
pub(super) fn choose<'s, 'f>(
    spots: &'s [Spot<'f>],
    own: &Taker,
    rivals: &[Taker],
) -> Result<Chosen<'s, 'f>, (&'s Spot<'f>, Obstacle)> {
    let shared = |tag: &str| rivals.iter().any(|rival| rival.takes(tag));
    let (mut mine, mut others) = (Vec::new(), Vec::new());
    for spot in spots {
        match spot.tag() {
            Some(tag) if own.takes(tag) && shared(tag) => {
                return Err((spot, Obstacle::Shared(tag.to_owned())));
            }
            Some(tag) if own.takes(tag) => mine.push(spot),
            None if rivals.is_empty() => mine.push(spot),
            _ => others.push(spot),
        }
    }
    for spot in &others {
        if let Some(tag) = spot.tag().filter(|tag| own.is_short_version(tag, !mine.is_empty())) {
            return Err((*spot, Obstacle::ShortVersion(tag.to_owned())));
        }
    }
    let tags: BTreeSet<&str> = others.iter().filter_map(|spot| spot.tag()).collect();
    match (mine.is_empty(), others.first()) {
        // What the first update is to replace, whatever it is.
        (true, Some(_)) if rivals.is_empty() && tags.len() == 1 && !own.digest => Ok(Chosen {
            own: others,
            others: Vec::new(),
        }),
        (true, Some(spot)) => {
            let tags = tags.into_iter().map(str::to_owned).collect();
            Err((*spot, Obstacle::OtherTags(tags)))
        }
        _ => Ok(Chosen { own: mine, others }),
    }
}
