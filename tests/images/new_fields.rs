//! Objects with each field that Flux 2.10 has brought: a check of the fleet finds nothing in them, `update -f` goes by
//! them, and the API server keeps them (docs/reference/flux-versions.md).

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::world::{GIT_REPOSITORY, OCI_REPOSITORY, ObjectKind, SERVICE_ACCOUNT, World};
use serde_json::{Value as Json, json};

const NAMESPACE: &str = "new-fields";
const SOURCES: &str = "source.toolkit.fluxcd.io/v1";
const IMAGES: &str = "image.toolkit.fluxcd.io/v1";
const EXTERNAL_ARTIFACT: ObjectKind = ObjectKind {
    api_version: SOURCES,
    kind: "ExternalArtifact",
    plural: "externalartifacts",
};

fn object(api_version: &str, kind: &str, name: &str, fields: Json) -> Json {
    let mut object = fields;
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    object["metadata"]["name"] = json!(name);
    object["metadata"]["namespace"] = json!(NAMESPACE);
    object
}

/// What people write, for a repository at this address.
fn specs(url: &str) -> Vec<Json> {
    let policy = |name: &str, team: &str| {
        let spec = json!({"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "*"}}});
        let fields = json!({"metadata": {"labels": {"team": team}}, "spec": spec});
        object(IMAGES, "ImagePolicy", name, fields)
    };
    let annotations = json!({
        "credential.auth.fluxcd.io/provider": "kubernetes",
        "credential.auth.fluxcd.io/type": "jwt",
        "credential.auth.fluxcd.io/audiences": "registry.example.com, other.example.com",
        "credential.auth.fluxcd.io/username": "flux",
        "credential.auth.fluxcd.io/expiration": "15m",
        "transit-engine.auth.fluxcd.io/login-path": "auth/kubernetes/login",
        "transit-engine.auth.fluxcd.io/role": "sops",
    });
    let automation = json!({
        "interval": "1h", "policyChangeDelay": "5m", "policySelector": {"matchLabels": {"team": "web"}},
        "sourceRef": {"kind": "GitRepository", "name": "app"},
        "git": {"commit": {"author": {"email": "flux@example.com"}}},
        "update": {"path": "./apps", "strategy": "Setters"},
    });
    let images = json!({"image": "registry.example.com/app", "interval": "1h", "serviceAccountName": "puller"});
    let source = json!({"url": "oci://registry.example.com/source", "interval": "1h", "serviceAccountName": "puller"});
    vec![
        object(
            "v1",
            "ServiceAccount",
            "puller",
            json!({"metadata": {"annotations": annotations}}),
        ),
        object(
            SOURCES,
            "GitRepository",
            "app",
            json!({"spec": {"url": url, "interval": "1h", "ref": {"branch": "main"}}}),
        ),
        object(SOURCES, "OCIRepository", "source", json!({ "spec": source })),
        object(IMAGES, "ImageRepository", "app", json!({ "spec": images })),
        policy("app", "web"),
        policy("other", "data"),
        object(IMAGES, "ImageUpdateAutomation", "app", json!({ "spec": automation })),
    ]
}

fn documents(objects: &[Json]) -> String {
    let texts: Vec<String> = objects.iter().map(ToString::to_string).collect();
    texts.join("\n---\n")
}

#[test]
fn a_fleet_with_each_new_field_has_no_findings() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    let url = "https://git.example.com/acme/fleet.git";
    let mut synced = specs(url);
    let source = json!({"kind": "GitRepository", "name": "app"});
    let spec = json!({"interval": "1h", "path": "./clusters/prod", "prune": true, "sourceRef": source});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    synced.push(namespace);
    synced.push(object(
        "kustomize.toolkit.fluxcd.io/v1",
        "Kustomization",
        "app",
        json!({ "spec": spec }),
    ));
    bench.write("clusters/prod/all.yaml", documents(&synced));
    bench.write("apps/a.yaml", "image: registry.example.com/app:1.0.0\n");
    let (code, report) = bench.json(&["fleet", "check", "--offline", "clusters/prod"]);
    assert_eq!((code, &report["findings"]), (0, &json!([])), "{report:#}");
}

#[test]
fn a_command_goes_by_each_new_field() {
    let bench = Bench::new();
    let repo = bench.repository("app.git");
    let marked = |policy: &str| {
        format!("image: registry.example.com/app:1.0.0 # {{\"$imagepolicy\": \"{NAMESPACE}:{policy}\"}}\n")
    };
    let file = marked("app") + &marked("other").replace("image", "second");
    repo.commit("main", "first", &[Change::File("apps/a.yaml", file.as_bytes())]);
    let mut objects = specs(&format!("file://{}", repo.dir.display()));
    // Without a repository the choice is the one of the status, and nothing is scanned.
    objects.retain(|object| object["kind"] != "ImageRepository");
    for policy in objects.iter_mut().filter(|object| object["kind"] == "ImagePolicy") {
        policy["status"]["latestRef"] = json!({"name": "registry.example.com/app", "tag": "1.1.0"});
    }
    bench.write("m.yaml", documents(&objects));
    let (code, report) = bench.json(&["update", "-f", "m.yaml"]);
    assert_eq!(code, 0, "{report:#}");
    let after = String::from_utf8(repo.show("main", "apps/a.yaml")).unwrap();
    let expected = file.replacen("1.0.0", "1.1.0", 1);
    assert_eq!(after, expected, "by the policy that is selected: {report:#}");
}

#[test]
fn the_api_server_keeps_each_new_field() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, NAMESPACE);
    for mut object in specs("https://git.example.com/acme/fleet.git") {
        let (api_version, kind) = (object["apiVersion"].clone(), object["kind"].clone());
        let plural = match kind.as_str().unwrap() {
            "ImagePolicy" => "imagepolicies".to_owned(),
            kind if kind.ends_with("Repository") => format!("{}ies", kind.trim_end_matches('y').to_lowercase()),
            kind => format!("{}s", kind.to_lowercase()),
        };
        world.apply(&object);
        let root = if api_version == "v1" { "api" } else { "apis" };
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!(
            "/{root}/{}/namespaces/{NAMESPACE}/{plural}/{name}",
            api_version.as_str().unwrap()
        );
        let mut kept = cluster.get(&path);
        let annotations = kept["metadata"]["annotations"].take();
        for (key, value) in object["metadata"]["annotations"].as_object().into_iter().flatten() {
            assert_eq!(annotations[key], *value, "{name}");
        }
        for field in [
            "policyChangeDelay",
            "policySelector",
            "serviceAccountName",
            "url",
            "interval",
        ] {
            let written = object["spec"][field].take();
            assert_eq!(kept["spec"][field], written, "{kind} {field}");
        }
    }
    let inputs =
        json!({"tags": ["1.0.0", {"digest": "sha256:1"}], "count": 2, "on": true, "nested": {"a": {"b": null}}});
    let source = json!({"sourceRef": {"apiVersion": "example.com/v1", "kind": "Generator", "name": "all"}});
    world.add(EXTERNAL_ARTIFACT, "app", source);
    world.patch_status(EXTERNAL_ARTIFACT, "app", &json!({ "exportedInputs": inputs }));
    let mut wanted = inputs;
    // A merge patch takes null for nothing.
    wanted["nested"]["a"] = json!({});
    assert_eq!(world.get(EXTERNAL_ARTIFACT, "app")["status"]["exportedInputs"], wanted);
    for (kind, name) in [(GIT_REPOSITORY, "app"), (OCI_REPOSITORY, "source")] {
        let fingerprint = json!({"sourceVerificationFingerprint": "sha256:1"});
        world.patch_status(kind, name, &fingerprint);
        let kept = world.get(kind, name)["status"]["sourceVerificationFingerprint"].take();
        assert_eq!(kept, "sha256:1");
    }
    assert_eq!(world.get(SERVICE_ACCOUNT, "puller")["kind"], "ServiceAccount");
}
