//! Discovery of the API server's kinds: each group and version is requested on first use, and again when a kind
//! is missing from it, as a definition may have been created meanwhile.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::Value;

use super::answer::ApiCall;
use super::answered::{Answer, Answered};
use super::path_segment;
use crate::client::cluster::Cluster;
use crate::error::ClusterError;
use crate::kind::GroupVersionKind;
use crate::kind::Kind;
use bumpwright_api::ObjectName;

impl GroupVersionKind {
    /// From `apiVersion` and `kind`. An `apiVersion` without a slash is a version of the core group.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
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
    fn base(&self) -> String {
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
    /// The kind.
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
struct ResourceList {
    #[serde(default)]
    resources: Vec<ListedResource>,
}

impl Answer for ResourceList {
    fn weight(&self) -> u64 {
        let of_one = |listed: &ListedResource| 100 + listed.name.len() as u64 + listed.kind.len() as u64;
        self.resources.iter().map(of_one).sum()
    }
}

#[derive(Deserialize)]
struct ListedResource {
    name: String,
    kind: String,
    #[serde(default)]
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
}

/// `metav1.APIGroupList`
#[derive(Deserialize)]
struct GroupList {
    #[serde(default)]
    groups: Vec<ListedGroup>,
}

impl Answer for GroupList {
    fn weight(&self) -> u64 {
        self.groups.iter().map(|listed| 200 + listed.name.len() as u64).sum()
    }
}

#[derive(Deserialize)]
struct ListedGroup {
    name: String,
    #[serde(rename = "preferredVersion")]
    preferred: ListedVersion,
}

/// `metav1.APIGroup`
#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    versions: Vec<ListedVersion>,
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
struct ListedVersion {
    version: String,
}

impl Discovery {
    /// About how many bytes the kinds take.
    pub(crate) fn weight(&self) -> u64 {
        self.versions.read().bytes
    }

    fn find(&self, gvk: &GroupVersionKind) -> Option<Arc<Resource>> {
        let versions = self.versions.read();
        let (resources, _) = versions.known.get(&gvk.api_version())?;
        resources.iter().find(|resource| resource.gvk.kind == gvk.kind).cloned()
    }

    fn forget(&self, gvk: &GroupVersionKind) {
        let mut versions = self.versions.write();
        versions.remove(&gvk.api_version());
    }

    /// Stores the kinds of a version, and returns the wanted one.
    fn put(&self, gvk: &GroupVersionKind, list: ResourceList) -> Option<Arc<Resource>> {
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
        let found = resources.iter().find(|resource| resource.gvk.kind == gvk.kind).cloned();
        let mut versions = self.versions.write();
        versions.insert(gvk.api_version(), resources);
        found
    }
}

/// The most versions of a group, each of which takes a request.
const VERSIONS: usize = 50;

impl Cluster {
    /// Drops a kind, after the server did not have its path.
    pub fn forget_kind(&self, gvk: &GroupVersionKind) {
        self.discovery.forget(gvk);
    }

    /// Finds a kind at the server.
    ///
    /// # Errors
    /// [`ClusterError::NoMatch`] when it has none of that name, and any other error of the server.
    pub async fn resource(&self, gvk: &GroupVersionKind) -> Result<Arc<Resource>, ClusterError> {
        if let Some(resource) = self.discovery.find(gvk) {
            return Ok(resource);
        }
        let no_match = || ClusterError::NoMatch {
            kind: gvk.kind.clone(),
            api_version: gvk.api_version(),
        };
        match self.answer::<ResourceList>(ApiCall::get(&gvk.base())).await {
            Ok(list) => self.discovery.put(gvk, list.into_value()).ok_or_else(no_match),
            Err(error) if error.is_not_found() => Err(no_match()),
            Err(error) => Err(error),
        }
    }

    /// Finds a kind at the server, at another version if necessary; None when it has none.
    ///
    /// # Errors
    /// Whatever the server says.
    pub async fn resource_at_any_version(&self, gvk: &GroupVersionKind) -> Result<Option<Arc<Resource>>, ClusterError> {
        match self.resource(gvk).await {
            Err(ClusterError::NoMatch { .. }) => {}
            answer => return answer.map(Some),
        }
        for version in self.versions_of(&gvk.group).await? {
            if version == gvk.version {
                continue;
            }
            let at = GroupVersionKind { version, ..gvk.clone() };
            match self.resource(&at).await {
                Err(ClusterError::NoMatch { .. }) => {}
                answer => return answer.map(Some),
            }
        }
        Ok(None)
    }

    /// The versions of a group; none if it is not served.
    async fn versions_of(&self, group: &str) -> Result<Vec<String>, ClusterError> {
        if group.is_empty() {
            return Ok(vec!["v1".to_owned()]);
        }
        match self.answer::<Group>(ApiCall::get(&format!("/apis/{group}"))).await {
            Ok(group) => {
                let versions = group.into_value().versions.into_iter();
                Ok(versions.map(|listed| listed.version).take(VERSIONS).collect())
            }
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// All kinds with objects in namespaces that can be listed, each at the version that the server prefers.
    ///
    /// # Errors
    /// Whatever the server says, also about a single group.
    pub async fn namespaced_resources(&self) -> Result<Vec<Resource>, ClusterError> {
        let groups = self.answer::<GroupList>(ApiCall::get("/apis")).await?.into_value();
        let groups = groups
            .groups
            .into_iter()
            .map(|listed| (listed.name, listed.preferred.version));
        let mut all = Vec::new();
        for (group, version) in [(String::new(), "v1".to_owned())].into_iter().chain(groups) {
            let kind = String::new();
            let of_group = GroupVersionKind { group, version, kind };
            let list = self.answer::<ResourceList>(ApiCall::get(&of_group.base())).await?;
            let is_wanted = |listed: &ListedResource| {
                listed.namespaced && !listed.name.contains('/') && listed.verbs.iter().any(|verb| verb == "list")
            };
            all.extend(
                list.into_value()
                    .resources
                    .into_iter()
                    .filter(is_wanted)
                    .map(|listed| Resource {
                        gvk: GroupVersionKind {
                            kind: listed.kind,
                            ..of_group.clone()
                        },
                        plural: listed.name,
                        namespaced: true,
                    }),
            );
        }
        Ok(all)
    }

    /// The server's OpenAPI document (version 3) of a group and version; None when it has none.
    ///
    /// # Errors
    /// Whatever the server says.
    pub async fn open_api(&self, gvk: &GroupVersionKind) -> Result<Option<Answered<Value>>, ClusterError> {
        match self.answer(ApiCall::get(&format!("/openapi/v3{}", gvk.base()))).await {
            Ok(document) => Ok(Some(document)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
