//! Servers that do not answer, and any number of a tenant's objects that wait for them.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::siege::siege;
use crate::tarpit::Tarpit;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::kustomize_world::map;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, IMAGE_REPOSITORY, KUSTOMIZATION, OCI_REPOSITORY, SECRET, World, automation,
    git_repository,
};

/// Healthy objects of two kinds, each reconciled every two seconds.
const HEALTHY: usize = 10;

/// The duration of the attack.
const SIEGE: Duration = Duration::from_secs(60);

/// The least reconciliations of each healthy object meanwhile.
const LOOKS: usize = 4;

/// Fifty objects in one namespace wait for ten minutes each for a silent server, so that others
/// would not be reconciled.
#[test]
fn fifty_tarpits_hold_nobody_up() {
    held(&["mallory-tarpits"], 10);
}

/// A tenant has several namespaces, and tarpits in each.
#[test]
fn tarpits_in_six_namespaces_hold_nobody_up() {
    let namespaces = [
        "mallory-pits-1",
        "mallory-pits-2",
        "mallory-pits-3",
        "mallory-pits-4",
        "mallory-pits-5",
        "mallory-pits-6",
    ];
    held(&namespaces, 6);
}

fn held(namespaces: &[&str], each: usize) {
    let Some(siege) = siege() else { return };
    let tarpit = Tarpit::silent();
    let worlds: Vec<World<'_>> = namespaces.iter().map(|name| World::new(siege.cluster, name)).collect();
    let innocent = ImageWorld::bare(siege.cluster, &format!("healthy-beside-{}", namespaces[0]));
    for one in 0..HEALTHY {
        let path = format!("{one}.git");
        innocent
            .repository(&path)
            .commit("main", "first", &[Change::File("a.yaml", b"a: 1\n")]);
        let mut git = git_repository(&innocent.git.url(&path));
        git["interval"] = json!("2s");
        innocent.add(GIT_REPOSITORY, &format!("git-{one}"), git);
        innocent.publish(&format!("image-{one}"), "1.0.0");
        innocent.add_image_repository(&format!("image-{one}"), &format!("image-{one}"), "2s");
    }
    for one in 0..HEALTHY {
        innocent.ready(GIT_REPOSITORY, &format!("git-{one}"), "True", |_, _| true);
        innocent.ready(IMAGE_REPOSITORY, &format!("image-{one}"), "True", |_, _| true);
    }
    for world in &worlds {
        crowd(world, &tarpit.host(), each);
    }
    until("workers are stuck", || tarpit.open() >= 8);
    let scans = |one: usize| {
        let name = format!("image-{one}");
        let object = innocent.get(IMAGE_REPOSITORY, &name);
        object["status"]["lastScanResult"]["scanTime"]
            .as_str()
            .map(str::to_owned)
    };
    let mut seen = vec![Vec::new(); HEALTHY];
    let fetched = |one: usize| {
        let path = format!("{one}.git/");
        let requests = innocent.git.requests();
        requests.iter().filter(|request| request.path.contains(&path)).count()
    };
    let before: Vec<usize> = (0..HEALTHY).map(fetched).collect();
    let began = Instant::now();
    while began.elapsed() < SIEGE {
        for (one, seen) in seen.iter_mut().enumerate() {
            let scan = scans(one);
            if seen.last() != Some(&scan) {
                seen.push(scan);
            }
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    println!("{} connections to the tarpit, {} open", tarpit.seen(), tarpit.open());
    for (one, seen) in seen.iter().enumerate() {
        let fetches = fetched(one) - before[one];
        println!("{one}: {} scans, {fetches} fetches", seen.len());
        assert!(seen.len() > LOOKS, "image-{one} was scanned {} times", seen.len());
        assert!(fetches >= LOOKS, "git-{one} was looked at {fetches} times");
    }
    assert!(tarpit.open() >= 8, "they are stuck all the same");
    siege.stands();
    for world in &worlds {
        siege
            .cluster
            .request("DELETE", &world.list_path(GIT_REPOSITORY), "", "");
        for kind in [OCI_REPOSITORY, IMAGE_REPOSITORY, AUTOMATION, KUSTOMIZATION] {
            siege.cluster.request("DELETE", &world.list_path(kind), "", "");
        }
    }
    for one in 0..HEALTHY {
        innocent.delete(GIT_REPOSITORY, &format!("git-{one}"));
        innocent.delete(IMAGE_REPOSITORY, &format!("image-{one}"));
    }
    until("nobody waits for the tarpit", || tarpit.open() <= 2 * worlds.len());
}

/// So many objects of each kind that wait for a host.
fn crowd(world: &World<'_>, host: &str, each: usize) {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{host}")}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}],
    });
    world.put(SECRET, "remote", json!({"stringData": {"value": config.to_string()}}));
    let text = map("map", "1");
    world
        .repository("ours.git")
        .commit("main", "1", &[Change::File("map.yaml", text.as_bytes())]);
    world.add(GIT_REPOSITORY, "ours", git_repository(&world.git.url("ours.git")));
    world.ready(GIT_REPOSITORY, "ours", "True", |_, _| true);
    for one in 0..each {
        let mut git = git_repository(&format!("http://{host}/{one}.git"));
        git["timeout"] = json!("10m");
        world.add(GIT_REPOSITORY, &format!("git-{one}"), git);
        world.add(
            AUTOMATION,
            &format!("automation-{one}"),
            automation(&format!("git-{one}")),
        );
        let url = format!("oci://{host}/app-{one}");
        let oci = json!({"interval": "1h", "timeout": "10m", "url": url, "insecure": true, "ref": {"tag": "v1"}});
        world.add(OCI_REPOSITORY, &format!("oci-{one}"), oci);
        let image = json!({"image": format!("{host}/app-{one}"), "insecure": true, "interval": "1h", "timeout": "10m"});
        world.add(IMAGE_REPOSITORY, &format!("image-{one}"), image);
        let kustomization = json!({
            "interval": "1h", "timeout": "10m", "path": "./", "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": "ours"}, "targetNamespace": world.namespace,
            "kubeConfig": {"secretRef": {"name": "remote"}},
        });
        world.add(KUSTOMIZATION, &format!("remote-{one}"), kustomization);
    }
}
