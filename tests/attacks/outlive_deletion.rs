//! Reconciliations that wait for a server while their object is deleted.

use serde_json::json;

use crate::siege::siege;
use crate::tarpit::Tarpit;
use bumpwright_testkit::kustomize_world::map;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{
    AUTOMATION, BUCKET, GIT_REPOSITORY, IMAGE_REPOSITORY, KUSTOMIZATION, OCI_REPOSITORY, SECRET, World, automation,
    git_repository,
};

/// Objects with a timeout of ten hours wait for a silent server, so that their namespace could not be deleted.
#[test]
fn objects_go_when_they_are_deleted_whatever_they_wait_for() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-outlives");
    let tarpit = Tarpit::silent();
    let host = tarpit.host();
    let mut git = git_repository(&format!("http://{host}/app.git"));
    git["timeout"] = json!("600m");
    world.add(GIT_REPOSITORY, "git", git.clone());
    world.add(AUTOMATION, "automation", automation("git"));
    let url = format!("oci://{host}/app");
    let oci = json!({"interval": "1h", "timeout": "600m", "url": url, "insecure": true, "ref": {"tag": "v1"}});
    world.add(OCI_REPOSITORY, "oci", oci);
    let image = json!({"image": format!("{host}/app"), "insecure": true, "interval": "600m", "timeout": "600m"});
    world.add(IMAGE_REPOSITORY, "image", image);
    let bucket = json!({
        "interval": "1h", "timeout": "600m", "provider": "generic", "endpoint": host, "bucketName": "b", "insecure": true,
    });
    world.add(BUCKET, "bucket", bucket);
    world
        .repository("ours.git")
        .commit("main", "1", &[Change::File("map.yaml", map("map", "1").as_bytes())]);
    world.add(GIT_REPOSITORY, "ours", git_repository(&world.git.url("ours.git")));
    world.ready(GIT_REPOSITORY, "ours", "True", |_, _| true);
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{host}")}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}],
    });
    world.put(SECRET, "remote", json!({"stringData": {"value": config.to_string()}}));
    let kustomization = json!({
        "interval": "1h", "timeout": "600m", "path": "./", "prune": true, "wait": true,
        "sourceRef": {"kind": "GitRepository", "name": "ours"}, "targetNamespace": world.namespace,
        "kubeConfig": {"secretRef": {"name": "remote"}},
    });
    world.add(KUSTOMIZATION, "remote", kustomization);
    until("all of them wait", || tarpit.open() >= 6);
    let all = [
        (GIT_REPOSITORY, "git"),
        (AUTOMATION, "automation"),
        (OCI_REPOSITORY, "oci"),
        (IMAGE_REPOSITORY, "image"),
        (BUCKET, "bucket"),
        (KUSTOMIZATION, "remote"),
    ];
    for (kind, name) in all {
        world.delete(kind, name);
    }
    for (kind, name) in all {
        world.gone(kind, name);
    }
    // Connections that are kept for other clusters may stay.
    until("their threads have hung up", || tarpit.open() <= 2);
    siege.stands();
}
