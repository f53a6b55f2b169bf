//! Leader election by a Lease, compatible with client-go's `tools/leaderelection`, so that a controller of Flux and
//! this one never act on one kind at once.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::cluster::Cluster;
use super::error::ClusterError;
use super::kind::LEASE;
use super::object::Object;
use bumpwright_api::ObjectName;
use bumpwright_gostd::Time;
use bumpwright_json::Texts;

/// The most attempts to release a lease.
const RELEASES: u32 = 5;

/// A Lease that one process at a time holds, as in client-go's leader election.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Its namespace and name.
    pub name: ObjectName,
    /// The identity of this process.
    pub identity: String,
    /// How long others wait for a silent leader.
    pub duration: Duration,
    /// How long the leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// The pause between attempts.
    pub retry: Duration,
}

/// The observed lease, with the time by our own clock: clocks of others are not trusted.
#[derive(Default)]
struct SeenLease {
    record: Option<(String, String)>,
    at: Option<Instant>,
    /// As we wrote it last. As long as nobody else writes it, it is renewed without being read, as client-go does.
    ours: Option<Object>,
}

/// The holder of the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Holder {
    Ours,
    /// Another process, by its identity.
    Others(String),
    /// There was a concurrent write.
    Contested,
}

fn held<T>(written: Result<T, ClusterError>) -> Result<Holder, ClusterError> {
    match written {
        Ok(_) => Ok(Holder::Ours),
        Err(ClusterError::Conflict(_)) => Ok(Holder::Contested),
        Err(error) => Err(error),
    }
}

impl Lease {
    /// Waits until the lease is acquired. `waits` gets the identity of the holder at each attempt.
    pub async fn acquire(&self, cluster: &Cluster, failed: impl Fn(&str), waits: impl Fn(&str)) {
        let mut observed = SeenLease::default();
        loop {
            let began = Instant::now();
            match self.attempt(cluster, &mut observed).await {
                Ok(Holder::Ours) => return cluster.fence.hold(&self.name, began + self.duration),
                Ok(Holder::Others(holder)) => waits(&holder),
                Ok(Holder::Contested) => {}
                Err(error) => failed(&format!("lease {}: {error}", self.name)),
            }
            tokio::time::sleep(self.retry).await;
        }
    }

    /// Renews the lease until that fails for too long, or another process holds it.
    pub async fn keep(&self, cluster: &Cluster, failed: impl Fn(&str)) {
        let mut observed = SeenLease::default();
        let mut renewed = Instant::now();
        while renewed.elapsed() < self.renew_deadline {
            tokio::time::sleep(self.retry).await;
            // Others count from the write of the lease, so we count from before it.
            let began = Instant::now();
            let left = self.renew_deadline.saturating_sub(renewed.elapsed());
            // A dead connection must not take all the time.
            let timeout = left.min((self.renew_deadline / 3).max(self.retry));
            match tokio::time::timeout(timeout, self.attempt(cluster, &mut observed)).await {
                Ok(Ok(Holder::Ours)) => {
                    renewed = began;
                    cluster.fence.hold(&self.name, began + self.duration);
                }
                Ok(Ok(Holder::Others(_))) => return cluster.fence.hold(&self.name, began),
                // A concurrent write came between read and write; the next attempt sees its holder.
                Ok(Ok(Holder::Contested)) => {}
                Ok(Err(error)) => failed(&format!("lease {}: {error}", self.name)),
                Err(_) => failed(&format!(
                    "lease {}: the API server did not answer within {:.1} seconds",
                    self.name,
                    timeout.as_secs_f64()
                )),
            }
        }
    }

    /// Releases the lease, so that the next leader need not wait.
    pub async fn release(&self, cluster: &Cluster) -> Result<(), ClusterError> {
        let mut attempts = 0;
        loop {
            let object = cluster.get(&LEASE, &self.name).await?;
            cluster.fence.release(&self.name);
            if holder(&object) != self.identity {
                return Ok(());
            }
            attempts += 1;
            match self.write_released(cluster, &object).await {
                // A renewal was still under way.
                Err(ClusterError::Conflict(_)) if attempts < RELEASES => {}
                done => return done,
            }
        }
    }

    /// Writes the lease without a holder.
    pub(super) async fn write_released(&self, cluster: &Cluster, object: &Object) -> Result<(), ClusterError> {
        let mut spec = self.spec(object, false);
        if let Some(spec) = spec.as_object_mut() {
            spec.insert("holderIdentity".to_owned(), json!(""));
            spec.insert("leaseDurationSeconds".to_owned(), json!(1));
        }
        self.write(cluster, object, &spec).await.map(drop)
    }

    /// Acquires or renews the lease, unless another process holds it.
    async fn attempt(&self, cluster: &Cluster, seen: &mut SeenLease) -> Result<Holder, ClusterError> {
        if let Some(ours) = seen.ours.take() {
            match self.take_over(cluster, &ours).await {
                Err(ClusterError::Conflict(_)) => {}
                Err(error) if error.is_not_found() => {}
                written => return Self::remembered(written, seen),
            }
        }
        let object = match cluster.get(&LEASE, &self.name).await {
            Ok(object) => object,
            Err(error) if error.is_not_found() => return held(self.make(cluster).await),
            Err(error) => return Err(error),
        };
        let holder = holder(&object);
        let record = (holder.clone(), renewed(&object));
        if seen.record.as_ref() != Some(&record) {
            seen.record = Some(record);
            seen.at = Some(Instant::now());
        }
        let duration = duration(&object).unwrap_or(self.duration);
        let alive = seen.at.is_some_and(|at| at.elapsed() < duration);
        if !holder.is_empty() && holder != self.identity && alive {
            return Ok(Holder::Others(holder));
        }
        let written = self.take_over(cluster, &object).await;
        Self::remembered(written, seen)
    }

    fn remembered(written: Result<Object, ClusterError>, seen: &mut SeenLease) -> Result<Holder, ClusterError> {
        seen.ours = written.as_ref().ok().cloned();
        held(written)
    }

    pub(super) async fn make(&self, cluster: &Cluster) -> Result<(), ClusterError> {
        let spec = self.fresh();
        let lease = json!({
            "apiVersion": LEASE.api_version(),
            "kind": LEASE.kind,
            "metadata": { "name": self.name.name, "namespace": self.name.namespace },
            "spec": spec,
        });
        cluster.create(&LEASE, &self.name.namespace, &lease).await
    }

    /// Acquires or renews the lease that was read.
    pub(super) async fn take_over(&self, cluster: &Cluster, object: &Object) -> Result<Object, ClusterError> {
        let spec = self.spec(object, holder(object) != self.identity);
        self.write(cluster, object, &spec).await
    }

    /// Writes only to the version that was read: of two candidates one loses.
    async fn write(&self, cluster: &Cluster, object: &Object, spec: &Value) -> Result<Object, ClusterError> {
        let patch = json!({ "metadata": { "resourceVersion": object.resource_version }, "spec": spec });
        cluster.patch(&LEASE, &self.name, &self.identity, &patch).await
    }

    fn fresh(&self) -> Value {
        let now = micro_time();
        json!({
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self.duration.as_secs(),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        })
    }

    fn spec(&self, object: &Object, changes_hands: bool) -> Value {
        let old = object.field("spec");
        let transitions = old.get("leaseTransitions").and_then(Value::as_u64).unwrap_or_default();
        let mut spec = self.fresh();
        if let Some(spec) = spec.as_object_mut() {
            spec.insert(
                "leaseTransitions".to_owned(),
                json!(transitions + u64::from(changes_hands)),
            );
            if !changes_hands && let Some(acquired) = old.get("acquireTime") {
                spec.insert("acquireTime".to_owned(), acquired.clone());
            }
        }
        spec
    }
}

/// The name of a controller's lease (fluxcd/pkg `leaderelection.GenerateID`).
#[must_use]
pub fn lease_name(controller: &str, labels: Option<&str>) -> String {
    use sha2::{Digest as _, Sha256};
    let base = format!("{controller}-leader-election");
    match labels.filter(|labels| !labels.is_empty()) {
        None => base,
        Some(labels) => {
            let digest = Sha256::digest(labels);
            let hex: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            format!("{base}-{hex}")
        }
    }
}

/// The holder of a lease; empty for none.
#[must_use]
pub fn holder(lease: &Object) -> String {
    text(lease, "holderIdentity")
}

/// When a lease was renewed last, as its holder wrote it.
#[must_use]
pub fn renewed(lease: &Object) -> String {
    text(lease, "renewTime")
}

/// How long a lease is good for after it was renewed.
#[must_use]
pub fn duration(lease: &Object) -> Option<Duration> {
    let seconds = lease.field("spec").get("leaseDurationSeconds").and_then(Value::as_u64);
    seconds.map(Duration::from_secs)
}

fn text(object: &Object, field: &str) -> String {
    let spec = object.field("spec");
    spec.text_of(field).to_owned()
}

/// `metav1.MicroTime`
pub(super) fn micro_time() -> String {
    Time::from(SystemTime::now()).written(b"2006-01-02T15:04:05.000000Z07:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_replaced_controllers() {
        assert_eq!(
            lease_name("image-automation-controller", None),
            "image-automation-controller-leader-election"
        );
        // printf 'a=b' | sha256sum | head -c 8
        assert_eq!(
            lease_name("image-automation-controller", Some("a=b")),
            "image-automation-controller-leader-election-42144f39"
        );
    }
}
