//! Objects by kind, namespace and name.

use std::collections::BTreeMap;

use super::read::{Document, Namespace, Object};
use crate::automation::spec::ImageUpdateAutomation;
use crate::git_repository::spec::GitRepository;
use crate::image_policy::spec::ImagePolicy;
use crate::image_repository::spec::ImageRepository;
use crate::object::config_map::ConfigMap;
use crate::object::meta::{Metadata, ObjectName};
use crate::object::secret::Secret;
use crate::object::service_account::ServiceAccount;
use crate::tree::Place;

/// Two different objects of one kind and name (docs/cli.md, *TARGET*, rule 5).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {name} stands twice and differs: {first} and {second}; leave one of them out")]
pub struct Conflict {
    pub kind: &'static str,
    pub name: ObjectName,
    /// `path:line` of the first.
    pub first: String,
    /// `path:line` of the second.
    pub second: String,
}

/// Objects by kind, namespace and name, each with its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    documents: BTreeMap<(&'static str, ObjectName), Document>,
    /// The labels of namespaces; none of one that several documents give different ones.
    namespaces: BTreeMap<String, Option<BTreeMap<String, String>>>,
}

impl Objects {
    /// Adds a document. The same object a second time is fine.
    ///
    /// # Errors
    /// [`Conflict`] when there is already a different object of its kind and name, which stays.
    pub fn insert(&mut self, document: Document) -> Result<(), Conflict> {
        let key = key(&document);
        if let Object::Namespace(Namespace { metadata }) = document.object {
            self.add_namespace(metadata);
            return Ok(());
        }
        match self.documents.get(&key) {
            Some(first) if first.object != document.object => Err(Conflict {
                kind: key.0,
                name: key.1,
                first: place(first),
                second: place(&document),
            }),
            Some(_) => Ok(()),
            None => {
                self.documents.insert(key, document);
                Ok(())
            }
        }
    }

    fn add_namespace(&mut self, metadata: Metadata) {
        let labels = Some(metadata.labels);
        let entry = self.namespaces.entry(metadata.name).or_insert_with(|| labels.clone());
        if *entry != labels {
            *entry = None;
        }
    }

    /// The labels of the namespaces among the manifests, where they are clear.
    pub fn namespace_labels(&self) -> impl Iterator<Item = (&String, &BTreeMap<String, String>)> {
        self.namespaces
            .iter()
            .filter_map(|(name, labels)| Some((name, labels.as_ref()?)))
    }

    /// Puts an object of a cluster, where names are unique, in the place of an older one.
    pub fn put(&mut self, object: Object) {
        let document = Document {
            path: String::new(),
            place: Place::default(),
            object,
        };
        self.documents.insert(key(&document), document);
    }

    /// Adds all documents of a file.
    ///
    /// # Errors
    /// The first [`Conflict`].
    pub fn insert_all(&mut self, documents: impl IntoIterator<Item = Document>) -> Result<(), Conflict> {
        documents.into_iter().try_for_each(|document| self.insert(document))
    }

    /// Adds an image policy of a repository, where the same policy may occur several times (a base and its overlays). A
    /// policy with an image replaces one without; of two with different images the first stays and the conflict is
    /// returned.
    pub fn absorb(&mut self, document: Document) -> Option<Conflict> {
        let has_image = |document: &Document| match &document.object {
            Object::ImagePolicy(policy) => !matches!(policy.latest_ref(), Ok(None)),
            _ => true,
        };
        if !has_image(&document) {
            self.documents.entry(key(&document)).or_insert(document);
            return None;
        }
        if self
            .documents
            .get(&key(&document))
            .is_some_and(|first| !has_image(first))
        {
            self.documents.insert(key(&document), document);
            return None;
        }
        let same_image = |first: &Document| match (&first.object, &document.object) {
            (Object::ImagePolicy(first), Object::ImagePolicy(second)) => first.latest_ref() == second.latest_ref(),
            (first, second) => first == second,
        };
        match self.documents.get(&key(&document)).map(same_image) {
            Some(true) => None,
            _ => self.insert(document).err(),
        }
    }

    /// Merges these objects with those `below`: of two with the same kind and name this side's stays
    /// (docs/cli.md, *TARGET*, rule 5: `-f` wins over TARGET).
    #[must_use]
    pub fn overlay(mut self, below: Self) -> Self {
        for (key, document) in below.documents {
            self.documents.entry(key).or_insert(document);
        }
        for (name, labels) in below.namespaces {
            self.namespaces.entry(name).or_insert(labels);
        }
        self
    }

    /// All documents, by kind, then namespace and name.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.documents.values()
    }

    pub fn image_policies(&self) -> impl Iterator<Item = &ImagePolicy> {
        self.documents().filter_map(|document| match &document.object {
            Object::ImagePolicy(object) => Some(object),
            _ => None,
        })
    }

    pub fn image_repositories(&self) -> impl Iterator<Item = &ImageRepository> {
        self.documents().filter_map(|document| match &document.object {
            Object::ImageRepository(object) => Some(object),
            _ => None,
        })
    }

    pub fn automations(&self) -> impl Iterator<Item = &ImageUpdateAutomation> {
        self.documents().filter_map(|document| match &document.object {
            Object::ImageUpdateAutomation(object) => Some(object),
            _ => None,
        })
    }

    /// The image policy of that name.
    #[must_use]
    pub fn image_policy(&self, name: &ObjectName) -> Option<&ImagePolicy> {
        match self.object("ImagePolicy", name) {
            Some(Object::ImagePolicy(object)) => Some(object),
            _ => None,
        }
    }

    /// The repository of that name.
    #[must_use]
    pub fn git_repository(&self, name: &ObjectName) -> Option<&GitRepository> {
        match self.object("GitRepository", name) {
            Some(Object::GitRepository(object)) => Some(object),
            _ => None,
        }
    }

    /// The Secret of that name.
    #[must_use]
    pub fn secret(&self, name: &ObjectName) -> Option<&Secret> {
        match self.object("Secret", name) {
            Some(Object::Secret(object)) => Some(object),
            _ => None,
        }
    }

    /// The image repository of that name.
    #[must_use]
    pub fn image_repository(&self, name: &ObjectName) -> Option<&ImageRepository> {
        match self.object("ImageRepository", name) {
            Some(Object::ImageRepository(object)) => Some(object),
            _ => None,
        }
    }

    /// The service account of that name.
    #[must_use]
    pub fn service_account(&self, name: &ObjectName) -> Option<&ServiceAccount> {
        match self.object("ServiceAccount", name) {
            Some(Object::ServiceAccount(object)) => Some(object),
            _ => None,
        }
    }

    /// The ConfigMap of this name.
    #[must_use]
    pub fn config_map(&self, name: &ObjectName) -> Option<&ConfigMap> {
        match self.object("ConfigMap", name) {
            Some(Object::ConfigMap(object)) => Some(object),
            _ => None,
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    fn object(&self, kind: &'static str, name: &ObjectName) -> Option<&Object> {
        self.documents
            .get(&(kind, name.clone()))
            .map(|document| &document.object)
    }
}

fn key(document: &Document) -> (&'static str, ObjectName) {
    (document.object.kind(), document.object.metadata().object_name())
}

fn place(document: &Document) -> String {
    format!("{}:{}", document.path, document.place.line)
}
