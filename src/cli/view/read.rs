//! All objects of the views, read from the cluster.

use std::cell::RefCell;
use std::collections::BTreeSet;

use futures::future::try_join_all;
use serde::de::DeserializeOwned;

use super::no_kinds;
use super::{controllers, events, kinds};
use crate::cli::error::CliError;
use crate::cli::images::now;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, ClusterError, Kind, Resource};
use bumpwright_overview::{Facts, Id, Overview, World};
use bumpwright_ui::uses::Known;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

#[derive(Debug, Default)]
pub(in crate::cli) struct Seen {
    pub world: World,
    /// The namespace that was asked for; none for all.
    pub namespace: Option<String>,
    /// What could not be read, in words.
    pub notes: Vec<String>,
    /// The kinds that the cluster does not have.
    pub absent: Vec<&'static Kind>,
    /// The kinds that were listed, each at the version that the server has, and whether in all namespaces.
    pub listed: Vec<(&'static Kind, Resource, bool)>,
}

/// How a kind was listed.
enum Listed {
    /// At this version, and whether in all namespaces.
    At(Resource, bool),
    /// The cluster does not have it.
    Absent,
    /// In the server's words.
    Denied(String),
}

/// Reads all objects, with their events in the namespace, or in all, and [`Seen::read_uses`]. What is reported of an
/// object depends on those of other namespaces, so they are read too where the reader may.
///
/// # Errors
/// No kind is installed, or none may be read; or another error of the server.
pub(in crate::cli) async fn read(
    cluster: &Cluster,
    namespace: Option<&str>,
    known: &mut Known,
) -> Result<Seen, CliError> {
    let mut state = objects(cluster, namespace).await?;
    state.read_uses(cluster, known).await;
    let kinds: BTreeSet<&str> = state.listed.iter().map(|(kind, ..)| kind.kind).collect();
    match events::of_kinds(cluster, namespace, &kinds).await {
        Ok(events) => state.world.events = events,
        Err(error) if error.is_forbidden() => state.notes.push(format!("events are left out: {error}")),
        Err(error) => return Err(error.into()),
    }
    let (controllers, unread) = controllers::read(cluster, namespace).await;
    state.world.controllers = controllers;
    state.notes.extend(unread);
    Ok(state)
}

/// As [`read`], without events and uses.
pub(in crate::cli) async fn objects(cluster: &Cluster, namespace: Option<&str>) -> Result<Seen, CliError> {
    let read = RefCell::new(Seen::default());
    let lists = kinds::all().map(|kind| {
        let reader = Reader {
            cluster,
            kind,
            seen: &read,
        };
        async move { reader.list(namespace).await.map(|list| (kind, list)) }
    });
    let lists = try_join_all(lists).await?;
    let (mut seen, mut denied) = (read.into_inner(), Vec::new());
    seen.world.now = now().unix_seconds();
    seen.namespace = namespace.map(str::to_owned);
    for (kind, list) in lists {
        match list {
            Listed::At(resource, is_whole) => seen.listed.push((kind, resource, is_whole)),
            Listed::Absent => seen.absent.push(kind),
            Listed::Denied(why) => denied.push((kind, why)),
        }
    }
    seen.judge(namespace, &denied)?;
    Ok(seen)
}

/// Lists a kind. Each object is made facts before the next page is read: a whole list of automations
/// takes hundreds of megabytes.
struct Reader<'a> {
    cluster: &'a Cluster,
    kind: &'static Kind,
    seen: &'a RefCell<Seen>,
}

impl Reader<'_> {
    async fn list(&self, namespace: Option<&str>) -> Result<Listed, ClusterError> {
        let resource = Resource::of(self.kind, true);
        match self.list_at(&resource, namespace).await {
            Err(error) if error.is_not_found() => {}
            answer => return answer,
        }
        // Older installations of Flux serve older versions alone.
        match self.cluster.resource_at_any_version(&resource.gvk).await? {
            Some(resource) => self.list_at(&resource, namespace).await,
            None => Ok(Listed::Absent),
        }
    }

    /// In all namespaces, or else in the one that is asked for.
    async fn list_at(&self, resource: &Resource, namespace: Option<&str>) -> Result<Listed, ClusterError> {
        let denied = match self.read(resource, "").await {
            Ok(()) => return Ok(Listed::At(resource.clone(), true)),
            Err(error) if error.is_forbidden() => error.to_string(),
            Err(error) => return Err(error),
        };
        // Rights are asked for before the server looks whether it has the kind.
        let has_kind = self.cluster.resource_at_any_version(&resource.gvk).await;
        if matches!(has_kind, Ok(None)) {
            return Ok(Listed::Absent);
        }
        let Some(namespace) = namespace else {
            return Ok(Listed::Denied(denied));
        };
        match self.read(resource, namespace).await {
            Ok(()) => Ok(Listed::At(resource.clone(), false)),
            Err(error) if error.is_forbidden() => Ok(Listed::Denied(error.to_string())),
            Err(error) => Err(error),
        }
    }

    async fn read(&self, resource: &Resource, namespace: &str) -> Result<(), ClusterError> {
        let at = (resource, namespace);
        match self.kind.kind {
            "ImagePolicy" => {
                self.each(at, |world, name, facts| drop(world.policies.insert(name, facts)))
                    .await
            }
            "ImageRepository" => {
                self.each(at, |world, name, facts| drop(world.repositories.insert(name, facts)))
                    .await
            }
            "ImageUpdateAutomation" => {
                self.each(at, |world, name, facts| drop(world.automations.insert(name, facts)))
                    .await
            }
            "Kustomization" => {
                self.each(at, |world, name, facts| drop(world.kustomizations.insert(name, facts)))
                    .await
            }
            "HelmRelease" => {
                self.each(at, |world, name, facts| drop(world.releases.insert(name, facts)))
                    .await
            }
            kind => {
                self.each(at, |world, name, facts| {
                    world.sources.insert(Id::new(kind, name), facts);
                })
                .await
            }
        }
    }

    async fn each<S, T>(
        &self,
        (resource, namespace): (&Resource, &str),
        keep: impl Fn(&mut World, ObjectName, Facts<S, T>),
    ) -> Result<(), ClusterError>
    where
        S: Default + DeserializeOwned,
        T: Default + DeserializeOwned,
    {
        let put = |read: Result<Facts<S, T>, serde_json::Error>| {
            let mut state = self.seen.borrow_mut();
            match read {
                Ok(mut facts) => {
                    // The whole object once more.
                    facts.metadata.annotations.0.remove(LAST_APPLIED);
                    keep(&mut state.world, facts.metadata.id(), facts);
                }
                Err(error) => state.notes.push(format!("a {} is left out: {error}", self.kind.kind)),
            }
        };
        self.cluster.list_each(resource, (namespace, ""), put).await
    }
}

/// The objects of these kinds that have some labels.
///
/// # Errors
/// A selector that is not valid, or another error of the server.
pub(in crate::cli) async fn labelled(
    cluster: &Cluster,
    seen: &Seen,
    namespace: Option<&str>,
    selector: &str,
) -> Result<BTreeSet<Id>, ClusterError> {
    let lists = seen.listed.iter().map(|(kind, resource, _)| async move {
        let stamps = cluster.stamps(resource, namespace.unwrap_or(""), selector).await?;
        let ids = stamps
            .iter()
            .map(|one| Id::new(kind.kind, ObjectName::new(&one.namespace, &one.name)));
        Ok::<Vec<Id>, ClusterError>(ids.collect())
    });
    Ok(try_join_all(lists).await?.into_iter().flatten().collect())
}

impl Seen {
    /// Reads which versions of images the objects of Kustomizations have, as far as that is not known.
    pub(in crate::cli) async fn read_uses(&mut self, cluster: &Cluster, known: &mut Known) {
        self.world.uses = known
            .answer(cluster, self.world.doubts_of(self.namespace.as_deref()))
            .await;
    }

    /// Whether there is something to show, and what is left out.
    fn judge(&mut self, namespace: Option<&str>, denied: &[(&'static Kind, String)]) -> Result<(), CliError> {
        if self.listed.is_empty() {
            let Some((_, why)) = denied.first() else {
                return Err(no_kinds(&kinds::all().map(|kind| kind.kind).collect::<Vec<_>>()));
            };
            let what = match namespace {
                Some(namespace) => format!("the namespace {namespace}"),
                None => "all namespaces".to_owned(),
            };
            return Err(CliError::new(format!("{what} may not be read: {why}")));
        }
        for (kind, why) in denied {
            self.notes.push(format!("{} are left out: {why}", kind.plural));
        }
        if let (Some(namespace), true) = (namespace, self.listed.iter().any(|(.., is_whole)| !is_whole)) {
            self.notes.push(format!(
                "what other namespaces than {namespace} have may not be read, and is not counted"
            ));
        }
        Ok(())
    }

    /// What views show of a namespace, or of all.
    pub(in crate::cli) fn overview(&self, namespace: Option<&str>) -> Overview {
        let mut overview = self.world.overview();
        let Some(namespace) = namespace else {
            return overview;
        };
        let is_here = |id: &Id| id.name.namespace == namespace;
        // What blocks objects here counts, wherever it is.
        overview
            .attention
            .retain(|one| is_here(&one.id) || one.blocks.iter().chain(&one.also).any(is_here));
        for one in &mut overview.attention {
            one.blocks.sort_by_key(|id| !is_here(id));
        }
        overview.images.retain(|one| is_here(&one.policy));
        overview.automations.retain(|one| is_here(&one.id));
        overview.kustomizations.retain(|one| is_here(&one.id));
        overview.releases.retain(|one| is_here(&one.id));
        overview.sources.retain(|one| is_here(&one.id));
        overview.changes.retain(|one| is_here(&one.id));
        overview.counts = self.world.counts(&overview.images, |one| one == namespace);
        overview
    }
}
