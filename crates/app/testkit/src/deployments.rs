//! A stand-in for the Deployment controller and the kubelet, which the API server of a test lacks.

use serde_json::{Value as Json, json};

use crate::apiserver::Cluster;

/// Sets the status of a Deployment to so many running replicas.
pub fn report(cluster: &Cluster, deployment: &Json, replicas: u64) {
    let mut deployment = deployment.clone();
    deployment["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    // Items of a list have no kind.
    deployment["apiVersion"] = json!("apps/v1");
    deployment["kind"] = json!("Deployment");
    deployment["status"] = json!({
        "observedGeneration": deployment["metadata"]["generation"], "replicas": replicas, "updatedReplicas": replicas,
        "readyReplicas": replicas, "availableReplicas": replicas,
        "conditions": [
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": ""},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": ""},
        ],
    });
    cluster.put_status(&deployment).unwrap();
}
