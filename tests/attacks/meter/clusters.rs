//! The API servers of others, named by kubeconfigs; artifacts of other controllers of sources.

use serde_json::{Value as Json, json};

use super::{ENDLESS, Place, Row, Specs, TIMEOUT};
use crate::siege::OUTSIDE;
use bumpwright_testkit::hostile::Pour;
use bumpwright_testkit::kustomize_world::{map, revision};
use bumpwright_testkit::world::{GIT_REPOSITORY, KUSTOMIZATION, World, git_repository};

pub const ROWS: &[Row] = &[
    Row::new("cluster-text", KUSTOMIZATION, text),
    Row::new("cluster-maps", KUSTOMIZATION, maps),
    Row::new("cluster-kinds", KUSTOMIZATION, kinds),
    Row::new("cluster-refusal", KUSTOMIZATION, refusal),
    Row::new("kubeconfigs", KUSTOMIZATION, kubeconfigs),
    Row::new("artifacts", KUSTOMIZATION, artifacts),
];

/// Kustomizations of a ConfigMap for a cluster whose address is the server with this path.
fn applied_to(place: &Place, path: &str) -> Specs {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": place.url(path)}}],
        "users": [{"name": "u", "user": {"token": "t"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    let name = format!("cluster-{path}");
    place.secret(&name, &[("value", &config.to_string())]);
    source(place);
    Box::new(move |number| kustomization(number, json!({"kubeConfig": {"secretRef": {"name": name}}})))
}

/// A source with one ConfigMap.
fn source(place: &Place) {
    place.source("map", "map.yaml", &map("map", "1"));
}

fn kustomization(number: usize, more: Json) -> Json {
    let mut spec = json!({
        "interval": "1h", "timeout": TIMEOUT, "path": "./", "prune": true, "namePrefix": format!("m-{number}-"),
        "sourceRef": {"kind": "GitRepository", "name": "map"}, "targetNamespace": "default",
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

const KINDS: &str =
    r#"{"kind":"APIResourceList","resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true}]}"#;

/// Discovery is sound; all other requests have this answer.
fn answered(place: &Place, path: &str, pour: Pour) -> Specs {
    place
        .hostile
        .whole(&format!("/{path}/api/v1"), "application/json", KINDS);
    place.hostile.answer(&format!("/{path}/api/v1/"), pour.clone());
    place.hostile.answer(&format!("/{path}/"), pour);
    applied_to(place, path)
}

fn text(place: &Place) -> Specs {
    let pour = Pour::repeated("application/json", r#"{"kind":"ConfigMap","data":"#, "xxxxxxxxxxxxxxxx");
    answered(place, "text", pour.sized(ENDLESS, ""))
}

fn maps(place: &Place) -> Specs {
    let pour = Pour::repeated("application/json", r#"{"kind":"ConfigMap","data":["#, r#"{"a":1},"#);
    answered(place, "maps", pour.sized(ENDLESS, ""))
}

fn kinds(place: &Place) -> Specs {
    let pour = Pour::repeated("application/json", r#"{"resources":["#, r#"{"name":"a","kind":"B"},"#);
    place.hostile.answer("/kinds/", pour.sized(ENDLESS, ""));
    applied_to(place, "kinds")
}

fn refusal(place: &Place) -> Specs {
    let pour = Pour::repeated("application/json", r#"{"kind":"Status","message":""#, "no no no no ").status(500);
    answered(place, "refusal", pour.sized(ENDLESS, ""))
}

/// A kubeconfig as large as a Secret can be, of many parts.
fn kubeconfigs(place: &Place) -> Specs {
    let users = "{name: a, user: {token: t}},".repeat(30_000);
    let text = format!("apiVersion: v1\nkind: Config\ncurrent-context: c\nusers: [{users}]\n");
    place.secret("many", &[("value", &text)]);
    source(place);
    Box::new(|number| kustomization(number, json!({"kubeConfig": {"secretRef": {"name": "many"}}})))
}

/// The artifacts of another controller of sources, which have no end.
fn artifacts(place: &Place) -> Specs {
    place.hostile.answer(
        "/artifact-",
        Pour::repeated("application/gzip", "", "0123456789abcdef").sized(ENDLESS / 4, ""),
    );
    let sources = World::new(place.world.cluster, &place.world.namespace).labelled("siege", OUTSIDE);
    for number in 0..8 {
        let name = format!("artifact-{number}");
        let path = format!("{name}.tar.gz");
        sources.add(GIT_REPOSITORY, &name, git_repository("https://git.example.com/app.git"));
        let artifact = json!({
            "path": path, "url": place.url(&path), "revision": revision("1"), "lastUpdateTime": "2026-01-02T03:04:05Z",
            "digest": format!("sha256:{}", "0".repeat(64)),
        });
        sources.patch_status(GIT_REPOSITORY, &name, &json!({ "artifact": artifact }));
    }
    Box::new(|number| {
        let source = json!({"kind": "GitRepository", "name": format!("artifact-{number}")});
        kustomization(number, json!({ "sourceRef": source }))
    })
}
