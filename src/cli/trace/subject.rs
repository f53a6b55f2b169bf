//! The object that is traced: itself if a Kustomization applied it, or else what owns it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::kind::Spelled;
use crate::cli::installed::{at, items};
use crate::cli::view::ViewError;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, ClusterError, GroupVersionKind};
use bumpwright_overview::{Entry, World};

/// The most owners that are followed.
const OWNERS: usize = 8;

/// An object.
#[derive(Debug, Default)]
pub(super) struct Subject {
    /// The object and its owners, as far as they were followed, `Kind/namespace/name`.
    pub chain: Vec<String>,
    /// The last of them, if a Kustomization has it.
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
    ) -> Result<Self, ViewError> {
        let mut subject = Self::default();
        let is_meant = |entry: &Entry| {
            let is_there = entry.namespace.is_empty() || entry.namespace == namespace;
            entry.name == name && is_there && kind.is_of(entry)
        };
        if let Some(entry) = applied(world, is_meant) {
            subject.take(cluster, entry).await;
            return Ok(subject);
        }
        let not_found = |hint: &str| ViewError::NotFound {
            kind: kind.word().to_owned(),
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            hint: hint.to_owned(),
        };
        let Some(known) = &kind.known else {
            return Err(not_found(" that a Kustomization has applied"));
        };
        let object = fetch(cluster, known, &ObjectName::new(namespace, name)).await?;
        let object = object.ok_or_else(|| not_found(""))?;
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
    ) -> Result<(), ViewError> {
        for _ in 0..OWNERS {
            self.chain.push(entry_of(&object).to_string());
            self.images = Some(images(&object));
            let Some(owner) = owner(&object) else { return Ok(()) };
            let name = ObjectName::new(namespace, at(owner, "/name"));
            let gvk = GroupVersionKind::of(owner);
            let is_it = |entry: &Entry| {
                (&entry.kind, &entry.group, &entry.name) == (&gvk.kind, &gvk.group, &name.name)
                    && entry.namespace == namespace
            };
            if let Some(entry) = applied(world, is_it).filter(|(_, elsewhere)| !elsewhere) {
                self.take(cluster, entry).await;
                return Ok(());
            }
            match fetch(cluster, &gvk, &name).await? {
                Some(next) => object = next,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// An object of an inventory. What it has is not known if it cannot be read.
    async fn take(&mut self, cluster: &Cluster, (entry, elsewhere): (Entry, bool)) {
        if elsewhere {
            self.chain.push(entry.to_string());
            self.notes
                .push(format!("{entry} is in another cluster, which is not asked"));
            self.applied = Some(entry);
            return;
        }
        let gvk = GroupVersionKind {
            group: entry.group.clone(),
            version: entry.version.clone(),
            kind: entry.kind.clone(),
        };
        self.chain.push(entry.to_string());
        match fetch(cluster, &gvk, &ObjectName::new(&entry.namespace, &entry.name)).await {
            Ok(Some(object)) => self.images = Some(images(&object)),
            Ok(None) => self.notes.push(format!("{entry} is not in the cluster")),
            Err(error) => self.notes.push(format!(
                "{entry} may not be read, so that its images are not known: {error}"
            )),
        }
        self.applied = Some(entry);
    }
}

/// An object of an inventory, and whether it is in another cluster; one of this cluster where there is one.
fn applied(world: &World, is_meant: impl Fn(&Entry) -> bool) -> Option<(Entry, bool)> {
    let all = world.kustomizations.values().flat_map(|one| {
        let entries = one.status.inventory.entries.iter().filter_map(|entry| entry.entry());
        entries.map(move |entry| (entry, one.is_elsewhere()))
    });
    let meant = all.filter(|(entry, _)| is_meant(entry));
    meant.min_by_key(|(_, elsewhere)| *elsewhere)
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

/// The images of containers, wherever a pod or its template is in the object.
fn images(object: &Value) -> Vec<String> {
    let pods = ["/spec", "/spec/template/spec", "/spec/jobTemplate/spec/template/spec"];
    let lists = ["initContainers", "containers"];
    let mut found = BTreeSet::new();
    for (pod, list) in pods.iter().flat_map(|pod| lists.iter().map(move |list| (pod, list))) {
        let place = format!("{pod}/{list}");
        let containers = items(object, &place);
        found.extend(containers.map(|container| at(container, "/image").to_owned()));
    }
    found.remove("");
    found.into_iter().collect()
}
