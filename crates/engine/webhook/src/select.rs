//! Which objects an event is for.

use std::collections::HashMap;

use super::{Address, Event, GitReference, Image, ImageName, OciReference, Push};

/// The kinds that webhooks are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `GitRepository` of `source.toolkit.fluxcd.io`.
    GitRepository,
    /// `OCIRepository` of `source.toolkit.fluxcd.io`.
    OciRepository,
    /// `ImageRepository` of `image.toolkit.fluxcd.io`.
    ImageRepository,
}

/// Which object is to get the annotation `reconcile.fluxcd.io/requestedAt`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// An object that may be asked to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// `spec.suspend`: such an object is not asked, it looks when it is resumed.
    pub suspended: bool,
    /// Where it looks.
    pub source: Source<'a>,
}

/// Where an object looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// A `GitRepository`: `spec.url` and `spec.ref`.
    Git(&'a str, GitReference<'a>),
    /// An `OCIRepository`: `spec.url` and `spec.ref`.
    Oci(&'a str, OciReference<'a>),
    /// An `ImageRepository`: `spec.image`. Any tag matters to it.
    Image(&'a str),
}

/// Whether the event is a push to the repository at `url` that can matter to `reference`.
#[must_use]
pub fn matches_git(event: &Event, url: &str, reference: &GitReference<'_>) -> bool {
    match (event, Address::parse(url)) {
        (Event::Push(push), Some(address)) => is_push_to(push, &address, reference),
        _ => false,
    }
}

/// Whether the event is a push of `image`, whatever the tag.
#[must_use]
pub fn matches_image(event: &Event, image: &str) -> bool {
    match (event, ImageName::parse(image)) {
        (Event::Image(event), Some(name)) => is_push_of(event, &name),
        _ => false,
    }
}

/// Whether the event is a push of the artifact at `url` that can matter to `reference`.
#[must_use]
pub fn matches_oci(event: &Event, url: &str, reference: &OciReference<'_>) -> bool {
    match (event, ImageName::parse(url)) {
        (Event::Image(event), Some(name)) => is_push_of(event, &name) && reference.follows(event.tag.as_deref()),
        _ => false,
    }
}

fn is_push_to(push: &Push, address: &Address, reference: &GitReference<'_>) -> bool {
    push.addresses.iter().any(|known| known.matches(address)) && reference.follows(push.reference.as_deref())
}

fn is_push_of(image: &Image, name: &ImageName) -> bool {
    image.names.iter().any(|known| known.matches(name))
}

/// The objects that at least one of the events is for, in the order given.
///
/// Takes time for the events and the objects, not for each with each.
#[must_use]
pub fn select(events: &[Event], objects: &[Object<'_>]) -> Vec<Id> {
    let index = Index::of(events);
    let wanted = objects.iter().filter(|object| !object.suspended && index.wants(object));
    wanted.map(Object::id).collect()
}

impl Object<'_> {
    fn id(&self) -> Id {
        let kind = match self.source {
            Source::Git(..) => Kind::GitRepository,
            Source::Oci(..) => Kind::OciRepository,
            Source::Image(_) => Kind::ImageRepository,
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

    fn wants(&self, object: &Object<'_>) -> bool {
        match &object.source {
            Source::Git(url, reference) => Address::parse(url).is_some_and(|address| {
                let pushes = self.pushes.get(address.path()).into_iter().flatten();
                pushes.into_iter().any(|push| is_push_to(push, &address, reference))
            }),
            Source::Oci(url, reference) => ImageName::parse(url).is_some_and(|name| {
                let mut images = self.of_image(&name);
                images.any(|image| reference.follows(image.tag.as_deref()))
            }),
            Source::Image(image) => ImageName::parse(image).is_some_and(|name| self.of_image(&name).next().is_some()),
        }
    }

    fn of_image(&self, name: &ImageName) -> impl Iterator<Item = &'a Image> {
        let images = self.images.get(name.path()).into_iter().flatten().copied();
        images.filter(move |image| is_push_of(image, name))
    }
}

impl Kind {
    /// The kind as manifests have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::GitRepository => "GitRepository",
            Self::OciRepository => "OCIRepository",
            Self::ImageRepository => "ImageRepository",
        }
    }
}
