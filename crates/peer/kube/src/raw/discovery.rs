//! Discovery of the API server's kinds: each group and version is requested on first use, and again when a kind
//! is missing from it, as a definition may have been created meanwhile.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::Value;

use super::answered::Answer;
use super::path_segment;
use crate::error::ClusterError;
use crate::kind::{GroupVersionKind, Kind};
use bumpwright_api::ObjectName;
use bumpwright_json::Texts;

impl GroupVersionKind {
    /// From `apiVersion` and `kind`. An `apiVersion` without a slash is a version of the core group.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let text = |field: &str| object.text_of(field);
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text("kind").to_owned(),
        }
    }

    /// `group/version`, or `v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The base path of the group and version.
    pub(crate) fn base(&self) -> String {
        match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }
}

/// As Go's `schema.GroupVersionKind`: `apps/v1, Kind=Deployment`.
impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

/// A kind with its paths at the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    pub gvk: GroupVersionKind,
    /// Its name in paths.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// A kind that is known here.
    #[must_use]
    pub fn of(kind: &Kind, namespaced: bool) -> Self {
        Self {
            gvk: kind.gvk(),
            plural: kind.plural.to_owned(),
            namespaced,
        }
    }

    /// The path of an object. The namespace counts only for namespaced kinds; without one the path does not exist, and
    /// the server returns an error.
    ///
    /// # Errors
    /// [`ClusterError::Name`]
    pub(crate) fn path(&self, name: &ObjectName) -> Result<String, ClusterError> {
        let collection = self.collection(&name.namespace)?;
        Ok(format!("{collection}/{}", path_segment::name(&name.name)?))
    }

    /// The path of the objects in a namespace, or in all with an empty one.
    ///
    /// # Errors
    /// [`ClusterError::Name`]
    pub(crate) fn collection(&self, namespace: &str) -> Result<String, ClusterError> {
        let base = self.gvk.base();
        Ok(match namespace {
            namespace if self.namespaced && !namespace.is_empty() => {
                format!(
                    "{base}/namespaces/{}/{}",
                    path_segment::namespace(namespace)?,
                    self.plural
                )
            }
            _ => format!("{base}/{}", self.plural),
        })
    }
}

/// The most bytes of kinds that are kept for a server. A large one needs a quarter of it.
const KNOWN: u64 = 1 << 20;

/// The known kinds of the server, by `group/version`.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    versions: RwLock<Versions>,
}

#[derive(Debug, Default)]
struct Versions {
    known: BTreeMap<String, (Vec<Arc<Resource>>, u64)>,
    bytes: u64,
}

impl Versions {
    fn remove(&mut self, version: &str) {
        if let Some((_, bytes)) = self.known.remove(version) {
            self.bytes -= bytes;
        }
    }

    /// Stores the kinds of a version. Above the limit everything else is dropped; a version above the
    /// limit is not kept.
    fn insert(&mut self, version: String, resources: Vec<Arc<Resource>>) {
        self.remove(&version);
        let of_one = |resource: &Arc<Resource>| resource.weight() + version.len() as u64;
        let bytes = resources.iter().map(of_one).sum::<u64>() + 200 + version.len() as u64;
        if bytes > KNOWN {
            return;
        }
        if self.bytes + bytes > KNOWN {
            *self = Self::default();
        }
        self.bytes += bytes;
        self.known.insert(version, (resources, bytes));
    }
}

impl Resource {
    fn weight(&self) -> u64 {
        let texts = [&self.gvk.group, &self.gvk.version, &self.gvk.kind, &self.plural];
        200 + texts.map(|text| text.len() as u64).iter().sum::<u64>()
    }
}

/// `metav1.APIResourceList`
#[derive(Deserialize)]
pub(crate) struct ResourceList {
    #[serde(default)]
    pub(crate) resources: Vec<ListedResource>,
}

impl Answer for ResourceList {
    fn weight(&self) -> u64 {
        let of_one = |listed: &ListedResource| 100 + listed.name.len() as u64 + listed.kind.len() as u64;
        self.resources.iter().map(of_one).sum()
    }
}

#[derive(Deserialize)]
pub(crate) struct ListedResource {
    pub(crate) name: String,
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) namespaced: bool,
    #[serde(default)]
    pub(crate) verbs: Vec<String>,
}

/// `metav1.APIGroupList`
#[derive(Deserialize)]
pub(crate) struct GroupList {
    #[serde(default)]
    pub(crate) groups: Vec<ListedGroup>,
}

impl Answer for GroupList {
    fn weight(&self) -> u64 {
        self.groups.iter().map(|listed| 200 + listed.name.len() as u64).sum()
    }
}

#[derive(Deserialize)]
pub(crate) struct ListedGroup {
    pub(crate) name: String,
    #[serde(rename = "preferredVersion")]
    pub(crate) preferred: ListedVersion,
}

/// `metav1.APIGroup`
#[derive(Deserialize)]
pub(crate) struct Group {
    #[serde(default)]
    pub(crate) versions: Vec<ListedVersion>,
}

impl Answer for Group {
    fn weight(&self) -> u64 {
        self.versions
            .iter()
            .map(|listed| 100 + listed.version.len() as u64)
            .sum()
    }
}

#[derive(Deserialize)]
pub(crate) struct ListedVersion {
    pub(crate) version: String,
}

impl Discovery {
    /// About how many bytes the kinds take.
    pub(crate) fn weight(&self) -> u64 {
        self.versions.read().bytes
    }

    pub(crate) fn find(&self, gvk: &GroupVersionKind) -> Option<Arc<Resource>> {
        let versions = self.versions.read();
        let (resources, _) = versions.known.get(&gvk.api_version())?;
        resources.iter().find(|resource| resource.gvk.kind == gvk.kind).cloned()
    }

    pub(crate) fn forget(&self, gvk: &GroupVersionKind) {
        let mut versions = self.versions.write();
        versions.remove(&gvk.api_version());
    }

    /// Stores the kinds of a version, and returns the wanted one.
    pub(crate) fn put(&self, gvk: &GroupVersionKind, list: ResourceList) -> Option<Arc<Resource>> {
        // Subresources have names like `deployments/scale` and kinds of their own.
        let resources = list.resources.into_iter().filter(|listed| !listed.name.contains('/'));
        let resources = resources.map(|listed| {
            Arc::new(Resource {
                gvk: GroupVersionKind {
                    kind: listed.kind,
                    ..gvk.clone()
                },
                plural: listed.name,
                namespaced: listed.namespaced,
            })
        });
        let resources: Vec<_> = resources.collect();
        let resource = resources.iter().find(|resource| resource.gvk.kind == gvk.kind).cloned();
        let mut versions = self.versions.write();
        versions.insert(gvk.api_version(), resources);
        resource
    }
}

/// The most versions of a group, each of which takes a request.
pub(crate) const VERSIONS: usize = 50;
