//! The Leases of a group of processes (`bumpwright_shards`): one consistent list, and writes and deletions of one
//! version alone. As all requests about Leases these do not wait for the rate limit.

use std::time::Duration;

use kube::api::{DeleteParams, ListParams, Preconditions};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::cluster::Cluster;
use super::error::ClusterError;
use super::kind::LEASE;
use super::lease::{Lease, micro_time};
use super::object::Object;
use super::watch::received::Received;
use bumpwright_api::ObjectName;

/// A Lease of a member, or with the deal.
#[derive(Clone, Debug)]
pub struct GroupLease {
    /// Its namespace and name.
    pub name: ObjectName,
    /// The holder, which is the field manager too.
    pub holder: String,
    /// How long it is good for.
    pub duration: Duration,
    /// The label that all Leases of the group have.
    pub label: (&'static str, String),
    /// The annotation, and its text.
    pub annotation: (&'static str, String),
}

impl GroupLease {
    /// Creates it, or writes it in place of this version.
    ///
    /// # Errors
    /// Whatever the server says; a conflict when there is another version.
    pub async fn write(&self, cluster: &Cluster, version: Option<&str>) -> Result<(), ClusterError> {
        let (key, text) = &self.annotation;
        let now = micro_time();
        let mut metadata = json!({ "annotations": { *key: text } });
        let mut spec = json!({
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration.as_secs().max(1),
            "renewTime": now,
        });
        let Some(version) = version else {
            set(&mut spec, "acquireTime", json!(now));
            set(&mut metadata, "name", json!(self.name.name));
            set(&mut metadata, "namespace", json!(self.name.namespace));
            set(&mut metadata, "labels", json!({ self.label.0: self.label.1 }));
            let (version, kind) = (LEASE.api_version(), LEASE.kind);
            let lease = json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec });
            return cluster.create(&LEASE, &self.name.namespace, &lease).await;
        };
        set(&mut metadata, "resourceVersion", json!(version));
        let patch = json!({ "metadata": metadata, "spec": spec });
        cluster.patch(&LEASE, &self.name, &self.holder, &patch).await.map(drop)
    }
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

impl Cluster {
    /// All Leases of a namespace, as they are at one time that is not before the request.
    pub async fn leases(&self, namespace: &str) -> Result<Vec<Object>, ClusterError> {
        // Without a version the list is consistent, and without a limit it is one page.
        let params = &ListParams::default();
        let call = |api: kube::Api<Received>| async move { api.list(params).await };
        let list = self.request(&LEASE, namespace, call).await?;
        Ok(list.items.into_iter().map(Object::of).collect())
    }

    /// Deletes a Lease at this version only.
    ///
    /// # Errors
    /// Whatever the server says; a conflict when there is another version.
    pub async fn delete_lease(&self, name: &ObjectName, version: &str) -> Result<(), ClusterError> {
        let params = &DeleteParams {
            preconditions: Some(Preconditions {
                resource_version: Some(version.to_owned()),
                uid: None,
            }),
            ..DeleteParams::default()
        };
        let call = |api: kube::Api<Received>| async move { api.delete(&name.name, params).await };
        self.request(&LEASE, &name.namespace, call).await.map(drop)
    }

    /// Requests are sent until then at least, and none afterwards unless this is called again.
    pub fn act_until(&self, lease: &ObjectName, until: Instant) {
        self.fence.hold(lease, until);
    }

    /// The lease is given back, and not checked any more.
    pub fn act_without(&self, lease: &ObjectName) {
        self.fence.release(lease);
    }
}

impl Lease {
    /// Acquires or renews the lease over the state that was read; none if absent.
    ///
    /// # Errors
    /// Whatever the server says; a conflict when there is another state by now.
    pub async fn write_over(&self, cluster: &Cluster, seen: Option<&Object>) -> Result<(), ClusterError> {
        match seen {
            Some(object) => self.take_over(cluster, object).await.map(drop),
            None => self.make(cluster).await,
        }
    }

    /// Gives the lease back, unless there is another state of it by now.
    pub async fn give_back(&self, cluster: &Cluster, seen: &Object) -> Result<(), ClusterError> {
        self.write_released(cluster, seen).await
    }
}
