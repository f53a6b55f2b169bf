//! Events about objects.

use std::collections::BTreeSet;

use futures::future::try_join_all;

use bumpwright_kube::{Cluster, ClusterError, EVENT, Resource};
use bumpwright_overview::EventFacts;

/// The events about objects of some kinds, in a namespace or in all. The server looks at their kinds: most events of a
/// cluster are about pods.
pub(in crate::cli) async fn of_kinds(
    cluster: &Cluster,
    namespace: Option<&str>,
    kinds: &BTreeSet<&str>,
) -> Result<Vec<EventFacts>, ClusterError> {
    let lists = kinds.iter().map(|kind| {
        let fields = format!("involvedObject.kind={kind}");
        async move { by_fields(cluster, namespace, &fields).await }
    });
    Ok(try_join_all(lists).await?.into_iter().flatten().collect())
}

/// The events about one object.
pub(in crate::cli) async fn of_object(
    cluster: &Cluster,
    namespace: Option<&str>,
    kind: &str,
    name: &str,
) -> Result<Vec<EventFacts>, ClusterError> {
    let fields = format!("involvedObject.kind={kind},involvedObject.name={name}");
    by_fields(cluster, namespace, &fields).await
}

async fn by_fields(cluster: &Cluster, namespace: Option<&str>, fields: &str) -> Result<Vec<EventFacts>, ClusterError> {
    let (resource, mut events) = (Resource::of(&EVENT, true), Vec::new());
    // One that is not an event tells nothing.
    let keep = |event: Result<EventFacts, _>| events.extend(event.ok());
    cluster
        .list_each(&resource, (namespace.unwrap_or(""), fields), keep)
        .await?;
    Ok(events)
}
