//! A stand-in for the controllers of Deployments and StatefulSets, and the kubelet, which the API server
//! of a test lacks.

use serde_json::{Value as Json, json};

use crate::apiserver::Cluster;
use crate::http_server::Request;
use crate::reply::Reply;
use crate::stub_http::StubHttp;
use crate::tls::Certificates;

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

/// Sets the status of a StatefulSet to so many running replicas of its template.
pub fn report_set(cluster: &Cluster, set: &Json, replicas: u64) {
    let mut set = set.clone();
    set["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    set["status"] = json!({
        "observedGeneration": set["metadata"]["generation"], "replicas": replicas, "readyReplicas": replicas,
        "availableReplicas": replicas, "updatedReplicas": replicas, "currentReplicas": replicas,
        "currentRevision": "bumpwright-5f", "updateRevision": "bumpwright-5f",
    });
    cluster.put_status(&set).unwrap();
}

/// The volume claim that the StatefulSet's controller makes for one of its pods.
pub fn claim_of(cluster: &Cluster, namespace: &str, name: &str) -> Json {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "bumpwright"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
    });
    cluster.create(&claim, "").unwrap()
}

/// A node whose kubelet, which is returned, hands out the logs of pods of flux-system by their names.
pub fn node_with_logs(
    cluster: &Cluster,
    certificates: &Certificates,
    log: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> StubHttp {
    let kubelet = StubHttp::with(Some(certificates.server_config(false)), move |request: &Request| {
        let pod = request.path.strip_prefix("/containerLogs/flux-system/");
        let log = pod.and_then(|pod| pod.strip_suffix("/manager")).and_then(&log);
        log.map_or_else(|| Reply::status(404), |text| Reply::text(200, &text))
    });
    let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}});
    node = cluster.create(&node, "").unwrap();
    node["status"] = json!({
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.address().port()}},
    });
    cluster.put_status(&node).unwrap();
    kubelet
}

/// The pod that a ReplicaSet would make of a Deployment of flux-system, on that node: its name ends with `-0`.
pub fn run_pod(cluster: &Cluster, deployment: &Json) {
    let template = &deployment["spec"]["template"];
    let mut spec = template["spec"].clone();
    spec["nodeName"] = json!("node");
    let name = format!("{}-0", deployment["metadata"]["name"].as_str().unwrap());
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "flux-system", "labels": template["metadata"]["labels"]},
        "spec": spec,
    });
    let mut pod = cluster.create(&pod, "").unwrap();
    pod["status"] = json!({"phase": "Running"});
    cluster.put_status(&pod).unwrap();
}
