//! The rule `refused-object` of `fleet check` beside a real API server: what one of the two refuses,
//! the other refuses too.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use crate::schemas::change;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;

const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {interval: 5m, url: 'https://git.example.com/acme/fleet', ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: fleet, namespace: flux-system}
spec: {interval: 5m, prune: true, path: ./clusters/p, sourceRef: {kind: GitRepository, name: fleet}}
";

/// Objects that the server takes.
const BASES: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: default}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a, tier: front}}
    spec:
      volumes: [{name: data}]
      containers:
      - name: a
        image: a:1
        env: [{name: A, value: a}]
        ports: [{name: http, containerPort: 80}]
        volumeMounts: [{name: data, mountPath: /data}]
        livenessProbe: {httpGet: {port: 80}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a, namespace: default}
spec:
  serviceName: a
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: a, image: 'a:1', volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: default}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: a, namespace: default}
spec:
  schedule: '0 3 * * *'
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}}
---
apiVersion: v1
kind: Service
metadata: {name: a, namespace: default}
spec: {selector: {app: a}, ports: [{name: http, port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: a, namespace: default}
spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a, namespace: default}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

/// Kind, whether the server takes it, and the change: a JSON pointer with its value, or without if
/// the field is removed.
const ROWS: [(&str, bool, &str); 61] = [
    ("Deployment", false, "/spec/selector/matchLabels/app b"),
    ("Deployment", false, "/spec/selector/matchLabels/other a"),
    ("Deployment", false, "/spec/selector {}"),
    ("Deployment", true, "/spec/selector/matchLabels/tier front"),
    (
        "Deployment",
        true,
        "/spec/selector {matchExpressions: [{key: tier, operator: In, values: [front, back]}]}",
    ),
    (
        "Deployment",
        false,
        "/spec/selector {matchExpressions: [{key: tier, operator: NotIn, values: [front]}]}",
    ),
    (
        "Deployment",
        false,
        "/spec/selector {matchExpressions: [{key: tier, operator: DoesNotExist}]}",
    ),
    ("Deployment", true, "/spec/strategy {type: Recreate}"),
    (
        "Deployment",
        false,
        "/spec/strategy {type: Recreate, rollingUpdate: {maxSurge: 1}}",
    ),
    ("Deployment", false, "/spec/template/spec/restartPolicy OnFailure"),
    ("Deployment", true, "/spec/template/spec/restartPolicy Always"),
    ("Deployment", false, "/spec/template/spec/containers []"),
    ("Deployment", false, "/spec/template/spec/containers/0/image"),
    ("Deployment", false, "/spec/template/spec/containers/0/image ''"),
    ("Deployment", false, "/spec/template/spec/volumes []"),
    (
        "Deployment",
        false,
        "/spec/template/spec/volumes [{name: data}, {name: data}]",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/volumes [{name: data, emptyDir: {}, secret: {secretName: a}}]",
    ),
    (
        "Deployment",
        true,
        "/spec/template/spec/initContainers [{name: b, image: 'a:1'}]",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/initContainers [{name: a, image: 'a:1'}]",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/initContainers [{name: b, image: 'a:1'}, {name: b, image: 'a:1'}]",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/containers/0/volumeMounts [{name: data, mountPath: /a}, {name: data, mountPath: /a}]",
    ),
    (
        "Deployment",
        true,
        "/spec/template/spec/containers/0/volumeMounts [{name: data, mountPath: /a}, {name: data, mountPath: /b}]",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/containers/0/env [{name: A}, {name: A}]",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/containers/0/env [{name: A, value: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
    ),
    (
        "Deployment",
        true,
        "/spec/template/spec/containers/0/env [{name: A, value: '', valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/containers/0/env [{name: A, valueFrom: {secretKeyRef: {name: a, key: b}, configMapKeyRef: {name: a, key: b}}}]",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/containers/0/ports [{containerPort: 80}, {containerPort: 80, protocol: TCP}]",
    ),
    (
        "Deployment",
        true,
        "/spec/template/spec/containers/0/ports [{containerPort: 80}, {containerPort: 80, protocol: UDP}]",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/containers/0/ports [{name: a, containerPort: 80}, {name: a, containerPort: 81}]",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/containers/0/ports/0/name a-name-of-16-abc",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/containers/0/ports/0/name Http",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/containers/0/ports/0/name a--b",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/containers/0/ports/0/containerPort 65536",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/containers/0/livenessProbe/tcpSocket {port: 80}",
    ),
    ("Deployment", false, "/spec/template/spec/containers/0/livenessProbe {}"),
    (
        "Deployment",
        false,
        "/spec/template/spec/imagePullSecrets [{name: a}, {name: a}]",
    ),
    (
        "Deployment",
        false,
        "/spec/template/spec/hostAliases [{ip: 10.0.0.1, hostnames: [a]}, {ip: 10.0.0.1, hostnames: [b]}]",
    ),
    ("StatefulSet", false, "/spec/volumeClaimTemplates []"),
    ("StatefulSet", false, "/spec/selector/matchLabels/app b"),
    ("Job", false, "/spec/template/spec/restartPolicy"),
    ("Job", false, "/spec/template/spec/restartPolicy Always"),
    ("Job", true, "/spec/template/spec/restartPolicy OnFailure"),
    ("CronJob", false, "/spec/jobTemplate/spec/template/spec/restartPolicy"),
    ("CronJob", false, "/spec/schedule ''"),
    ("CronJob", false, "/spec/schedule '0 3 * *'"),
    ("CronJob", false, "/spec/schedule '0 0 0 * *'"),
    ("CronJob", false, "/spec/schedule '0 0 * * 7'"),
    ("CronJob", true, "/spec/schedule '*/5 0-6/2 1,15 jan-JUN ?'"),
    ("CronJob", true, "/spec/schedule '@every 1h'"),
    ("CronJob", false, "/spec/schedule '@dayly'"),
    ("Service", false, "/spec/ports []"),
    ("Service", true, "/spec {clusterIP: None, selector: {app: a}}"),
    ("Service", false, "/spec {type: ExternalName}"),
    ("Service", false, "/spec/ports [{port: 80}, {port: 81}]"),
    (
        "Service",
        false,
        "/spec/ports [{name: a, port: 80}, {name: a, port: 81}]",
    ),
    (
        "Service",
        false,
        "/spec/ports [{name: a, port: 80}, {name: b, port: 80}]",
    ),
    ("Ingress", false, "/spec {}"),
    ("Ingress", false, "/spec/rules/0/http/paths/0/path a"),
    ("Ingress", false, "/spec/rules/0/http/paths/0/backend {}"),
    ("Ingress", false, "/spec/rules/0/http/paths/0/backend/service {name: a}"),
    ("PersistentVolumeClaim", false, "/spec/accessModes []"),
];

#[test]
fn the_server_and_the_rule_refuse_the_same() {
    let Some(cluster) = Cluster::shared() else { return };
    let bases: Vec<Json> = serde_saphyr::from_multiple(BASES).unwrap();
    let unchanged = bases.iter().map(|base| (base.clone(), true, "as it is"));
    let changed = ROWS.iter().map(|(kind, is_taken, row)| {
        let mut object = bases.iter().find(|base| base["kind"] == *kind).unwrap().clone();
        change(&mut object, row);
        (object, *is_taken, *row)
    });
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    bench.write("clusters/p/sync.yaml", SYNC);
    let mut rows = BTreeMap::new();
    let mut wrong = Vec::new();
    for (number, (mut object, is_taken, row)) in unchanged.chain(changed).enumerate() {
        let name = format!("row-{number}");
        object["metadata"]["name"] = json!(name);
        bench.write(&format!("clusters/p/{name}.yaml"), object.to_string());
        let path = format!("{}?fieldManager=test&force=true&dryRun=All", cluster.path_of(&object));
        let answer = cluster.request("PATCH", &path, "application/apply-patch+yaml", &object.to_string());
        let row = format!("{} {row}", object["kind"].as_str().unwrap());
        if is_taken != matches!(answer.status, 200 | 201) {
            wrong.push(format!("the server says of {row}: {}", answer.body["message"]));
        }
        rows.insert(name, (is_taken, row));
    }
    let (_, document) = bench.json(&["fleet", "check", "--offline", "clusters/p"]);
    let findings = document["findings"].as_array().unwrap().iter();
    let refused: BTreeSet<&str> = findings
        .filter(|finding| finding["rule"] == "refused-object")
        .map(|finding| finding["object"].as_str().unwrap().rsplit('/').next().unwrap())
        .collect();
    for (name, (is_taken, row)) in &rows {
        if *is_taken == refused.contains(name.as_str()) {
            wrong.push(format!("fleet check says otherwise of {row}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    println!("refused objects: {} verdicts are those of a server", rows.len());
}
