//! The object that is traced: itself if a Kustomization applied it or Helm installed it, or else what owns it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::kind::Spelled;
use crate::cli::error::CliError;
use crate::cli::installed::{at, items};
use crate::cli::view::{meant, not_found};
use bumpwright_api::ObjectName;
use bumpwright_json::Texts as _;
use bumpwright_kube::{Cluster, ClusterError, GroupVersionKind, HELM_RELEASE};
use bumpwright_overview::{Entry, Id, Meta, World, images_of, release_entry};

/// The most owners that are followed.
const OWNERS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Subject {
    /// The object and its owners, as far as they were followed, `Kind/namespace/name`.
    pub chain: Vec<String>,
    /// The HelmReleases that the last of them comes from, the nearest first; itself where it is one.
    pub releases: Vec<Id>,
    /// What a Kustomization may have: the last of the releases, or else the last of the objects where
    /// an inventory has it.
    pub applied: Option<Entry>,
    /// The images of that one; none when it could not be read.
    pub images: Option<Vec<String>>,
    /// What could not be read.
    pub notes: Vec<String>,
}

impl Subject {
    /// Finds an object in the inventories, or in the cluster.
    ///
    /// # Errors
    /// It is in neither.
    pub(super) async fn find(
        cluster: &Cluster,
        world: &World,
        kind: &Spelled,
        namespace: &str,
        name: &str,
    ) -> Result<Self, CliError> {
        let mut subject = Self::default();
        let is_meant = |entry: &Entry| {
            let is_there = entry.namespace.is_empty() || entry.namespace == namespace;
            entry.name == name && is_there && kind.is_of(entry)
        };
        if let Some(found) = world.nearest(is_meant) {
            subject.take(cluster, world, found).await;
            return Ok(subject);
        }
        let missing = not_found(kind.word(), name, namespace);
        let wanted = ObjectName::new(namespace, name);
        let Some(known) = &kind.known else {
            let missing = CliError::new(format!("{missing} that a Kustomization has applied"));
            return Err(meant::hinted(missing, cluster, (None, &wanted), applied_as(world, kind, name)).await);
        };
        let Some(object) = fetch(cluster, known, &wanted).await? else {
            let elsewhere = applied_as(world, kind, name);
            return Err(meant::hinted(missing, cluster, (Some(known), &wanted), elsewhere).await);
        };
        subject.follow(cluster, world, object, namespace).await?;
        Ok(subject)
    }

    /// Goes up the owners of an object until one is in an inventory.
    async fn follow(
        &mut self,
        cluster: &Cluster,
        world: &World,
        mut object: Value,
        namespace: &str,
    ) -> Result<(), CliError> {
        for _ in 0..OWNERS {
            self.chain.push(entry_of(&object).to_string());
            self.images = Some(images_of(&object).into_iter().collect());
            let Some(owner) = owner(&object) else { break };
            let name = ObjectName::new(namespace, at(owner, "/name"));
            let gvk = GroupVersionKind::of(owner);
            let is_it = |entry: &Entry| {
                (&entry.kind, &entry.group, &entry.name) == (&gvk.kind, &gvk.group, &name.name)
                    && entry.namespace == namespace
            };
            if let Some(found) = world.nearest(is_it).filter(|(.., elsewhere)| !elsewhere) {
                self.take(cluster, world, found).await;
                return Ok(());
            }
            match fetch(cluster, &gvk, &name).await? {
                Some(next) => object = next,
                None => break,
            }
        }
        let metadata: Option<Meta> = serde_json::from_value(object.value_at("/metadata").clone()).ok();
        self.releases = world.releases_above(&entry_of(&object), metadata.as_ref());
        self.applied = self.releases.last().map(release_entry);
        Ok(())
    }

    /// An object of an inventory. What it has is not known if it cannot be read.
    async fn take(&mut self, cluster: &Cluster, world: &World, (entry, by, elsewhere): (Entry, Id, bool)) {
        self.releases = if by.kind == HELM_RELEASE.kind {
            world.releases_above(&release_entry(&by), None)
        } else if entry.kind == HELM_RELEASE.kind {
            world.releases_above(&entry, None)
        } else {
            Vec::new()
        };
        self.applied = Some(self.releases.last().map_or_else(|| entry.clone(), release_entry));
        if elsewhere {
            self.chain.push(entry.to_string());
            self.notes
                .push(format!("{entry} is in another cluster, which is not asked"));
            return;
        }
        let gvk = GroupVersionKind {
            group: entry.group.clone(),
            version: entry.version.clone(),
            kind: entry.kind.clone(),
        };
        self.chain.push(entry.to_string());
        match fetch(cluster, &gvk, &ObjectName::new(&entry.namespace, &entry.name)).await {
            Ok(Some(object)) => self.images = Some(images_of(&object).into_iter().collect()),
            Ok(None) => self.notes.push(format!("{entry} is not in the cluster")),
            Err(error) => self.notes.push(format!(
                "{entry} may not be read, so that its images are not known: {error}"
            )),
        }
    }
}

/// The namespaces in which a Kustomization has applied an object of this kind and name.
fn applied_as(world: &World, kind: &Spelled, name: &str) -> BTreeSet<String> {
    let applied = world.inventories().map(|(.., entry)| entry);
    let applied = applied.filter(|entry| entry.name == name && kind.is_of(entry));
    applied.map(|entry| entry.namespace).collect()
}

/// Reads an object; none when it, or its kind, is not there.
async fn fetch(cluster: &Cluster, gvk: &GroupVersionKind, name: &ObjectName) -> Result<Option<Value>, ClusterError> {
    let Some(resource) = cluster.resource_at_any_version(gvk).await? else {
        return Ok(None);
    };
    match cluster.fetch(&resource, name).await {
        Ok(mut object) => Ok(Some(std::mem::take(&mut *object))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn entry_of(object: &Value) -> Entry {
    let gvk = GroupVersionKind::of(object);
    Entry {
        group: gvk.group,
        version: gvk.version,
        kind: gvk.kind,
        namespace: at(object, "/metadata/namespace").to_owned(),
        name: at(object, "/metadata/name").to_owned(),
    }
}

/// The owner that controls an object, or else the first one.
fn owner(object: &Value) -> Option<&Value> {
    let owners = || items(object, "/metadata/ownerReferences");
    let controls = |owner: &&Value| owner.get("controller") == Some(&Value::Bool(true));
    owners().find(controls).or_else(|| owners().next())
}
