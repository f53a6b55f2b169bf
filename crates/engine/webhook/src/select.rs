//! Selection of the objects that events affect.

use std::collections::HashMap;

use super::{Address, Event, GitReference, Image, ImageName, OciReference, Push};

/// The kinds of objects that webhooks reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetKind {
    /// `GitRepository` of `target.toolkit.fluxcd.io`.
    GitRepository,
    /// `OCIRepository` of `target.toolkit.fluxcd.io`.
    OciRepository,
    /// `ImageRepository` of `image.toolkit.fluxcd.io`.
    ImageRepository,
    /// `HelmRepository` of `source.toolkit.fluxcd.io`.
    HelmRepository,
    /// `HelmChart` of `source.toolkit.fluxcd.io`.
    HelmChart,
}

/// An object to reconcile by the annotation `reconcile.fluxcd.io/requestedAt`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    pub kind: TargetKind,
    pub namespace: String,
    pub name: String,
}

/// An object that may be reconciled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    /// `spec.suspend`: such an object is not selected; it is reconciled when it is resumed.
    pub suspended: bool,
    /// The place in its spec.
    pub target: Target<'a>,
}

/// The place that the spec of an object refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A `GitRepository`: `spec.url` and `spec.ref`.
    Git(&'a str, GitReference<'a>),
    /// An `OCIRepository`: `spec.url` and `spec.ref`.
    Oci(&'a str, OciReference<'a>),
    /// An `ImageRepository`: `spec.image`, with any tag.
    Image(&'a str),
    /// A `HelmRepository` with an index: `spec.url`, with any reference.
    Index(&'a str),
    /// A `HelmChart` of a registry: the `oci://` URL of its repository and its name, with any tag.
    Chart(&'a str),
}

/// Whether the event is a push to the repository at `url` that can affect `reference`.
#[must_use]
pub fn matches_git(event: &Event, url: &str, reference: &GitReference<'_>) -> bool {
    match (event, Address::parse(url)) {
        (Event::Push(push), Some(address)) => is_push_to(push, &address, reference),
        _ => false,
    }
}

/// Whether the event is a push of `image`, with any tag.
#[must_use]
pub fn matches_image(event: &Event, image: &str) -> bool {
    match (event, ImageName::parse(image)) {
        (Event::Image(event), Some(name)) => is_push_of(event, &name),
        _ => false,
    }
}

/// Whether the event is a push of the artifact at `url` that can affect `reference`.
#[must_use]
pub fn matches_oci(event: &Event, url: &str, reference: &OciReference<'_>) -> bool {
    match (event, ImageName::parse(url)) {
        (Event::Image(event), Some(name)) => is_push_of(event, &name) && reference.follows(event.tag.as_deref()),
        _ => false,
    }
}

fn is_push_to(push: &Push, address: &Address, reference: &GitReference<'_>) -> bool {
    is_any_push_to(push, address) && reference.follows(push.reference.as_deref())
}

fn is_any_push_to(push: &Push, address: &Address) -> bool {
    push.addresses.iter().any(|known| known.matches(address))
}

fn is_push_of(image: &Image, name: &ImageName) -> bool {
    image.names.iter().any(|known| known.matches(name))
}

/// The objects that at least one of the events affects, in the given order.
///
/// Linear in events plus objects.
#[must_use]
pub fn select(events: &[Event], objects: &[Object<'_>]) -> Vec<Id> {
    let index = Index::of(events);
    let wanted = objects
        .iter()
        .filter(|object| !object.suspended && index.is_affected(object));
    wanted.map(Object::id).collect()
}

impl Object<'_> {
    fn id(&self) -> Id {
        let kind = match self.target {
            Target::Git(..) => TargetKind::GitRepository,
            Target::Oci(..) => TargetKind::OciRepository,
            Target::Image(_) => TargetKind::ImageRepository,
            Target::Index(_) => TargetKind::HelmRepository,
            Target::Chart(_) => TargetKind::HelmChart,
        };
        let (namespace, name) = (self.namespace.to_owned(), self.name.to_owned());
        Id { kind, namespace, name }
    }
}

/// Events by the paths of their repositories.
#[derive(Default)]
struct Index<'a> {
    pushes: HashMap<&'a str, Vec<&'a Push>>,
    images: HashMap<&'a str, Vec<&'a Image>>,
}

impl<'a> Index<'a> {
    fn of(events: &'a [Event]) -> Self {
        let mut index = Self::default();
        for event in events {
            match event {
                Event::Push(push) => {
                    let paths = push.addresses.iter().map(Address::path);
                    paths.for_each(|path| index.pushes.entry(path).or_default().push(push));
                }
                Event::Image(image) => {
                    let paths = image.names.iter().map(ImageName::path);
                    paths.for_each(|path| index.images.entry(path).or_default().push(image));
                }
                Event::Ping | Event::Ignored(_) => {}
            }
        }
        index
    }

    fn is_affected(&self, object: &Object<'_>) -> bool {
        match &object.target {
            Target::Git(url, reference) => self.is_pushed(url, |push, address| is_push_to(push, address, reference)),
            Target::Index(url) => self.is_pushed(url, is_any_push_to),
            Target::Oci(url, reference) => ImageName::parse(url).is_some_and(|name| {
                let mut images = self.of_image(&name);
                images.any(|image| reference.follows(image.tag.as_deref()))
            }),
            Target::Image(image) | Target::Chart(image) => {
                ImageName::parse(image).is_some_and(|name| self.of_image(&name).next().is_some())
            }
        }
    }

    fn is_pushed(&self, url: &str, fits: impl Fn(&Push, &Address) -> bool) -> bool {
        Address::parse(url).is_some_and(|address| {
            let pushes = self.pushes.get(address.path()).into_iter().flatten();
            pushes.into_iter().any(|push| fits(push, &address))
        })
    }

    fn of_image(&self, name: &ImageName) -> impl Iterator<Item = &'a Image> {
        let images = self.images.get(name.path()).into_iter().flatten().copied();
        images.filter(move |image| is_push_of(image, name))
    }
}

impl TargetKind {
    /// The kind in manifests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::GitRepository => "GitRepository",
            Self::OciRepository => "OCIRepository",
            Self::ImageRepository => "ImageRepository",
            Self::HelmRepository => "HelmRepository",
            Self::HelmChart => "HelmChart",
        }
    }
}
