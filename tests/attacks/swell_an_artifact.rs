//! Small artifacts that expand to more than the controller's resources: links, names, files.

use serde_json::json;

use crate::siege::{OUTSIDE, siege};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::tarball::{header, packed};
use bumpwright_testkit::world::CONFIG_MAP;

/// A world whose sources the siege's own controller ignores.
pub fn outside(cluster: &'static Cluster, namespace: &str) -> KustomizeWorld<'static> {
    KustomizeWorld::new(cluster, namespace).with_labels(json!({ "siege": OUTSIDE }))
}

/// Applies a good revision, then an archive; returns its message. Nothing is lost, and the next good one is applied.
fn swelled(world: &KustomizeWorld<'_>, archive: Vec<u8>) -> String {
    world.publish("app", "1", &[("map.yaml", &map("one", "1"))]);
    world.kustomize("app", json!({}));
    world.applied("app", "1");
    world.publish_archive("app", "2", archive);
    world.again("app", "bomb");
    let message = world.refused("app", "ArtifactFailed");
    assert_eq!(world.maps(), ["one"], "{message}");
    assert_eq!(world.inventory("app").len(), 1);
    world.publish("app", "3", &[("map.yaml", &map("one", "3"))]);
    world.again("app", "good");
    world.applied("app", "3");
    assert_eq!(world.get(CONFIG_MAP, "one")["data"]["key"], "3");
    message
}

/// A file of ten megabytes in ten kilobytes, and a thousand hard links to it.
#[test]
fn hard_links_that_multiply_a_file() {
    let Some(siege) = siege() else { return };
    let world = outside(siege.cluster, "mallory-links");
    let (file, manifest) = (vec![b'x'; 10 << 20], map("two", "2"));
    let links = (0..1000).map(|number| (header(&format!("link-{number}"), 0, b'1', "file"), &b""[..]));
    let files = [
        (header("file", file.len(), b'0', ""), &file[..]),
        (header("map.yaml", manifest.len(), b'0', ""), manifest.as_bytes()),
    ];
    let message = swelled(&world, packed(files.into_iter().chain(links)));
    assert!(message.contains("more than 1610612736 bytes of content"), "{message}");
    assert!(message.contains("--max-content-size raises the bound"), "{message}");
    siege.stands();
}

/// Files of nothing below two hundred folders each, whose paths share nothing.
#[test]
fn paths_that_multiply_their_names() {
    let Some(siege) = siege() else { return };
    let world = outside(siege.cluster, "mallory-paths");
    let paths = (0..2000).map(|number| format!("{number}{}/x", "/a-folder-in-it".repeat(220)));
    let paths: Vec<String> = paths.collect();
    let entries = paths.iter().flat_map(|path| {
        [
            (header("././@LongLink", path.len(), b'L', ""), path.as_bytes()),
            (header("cut", 0, b'0', ""), &b""[..]),
        ]
    });
    let message = swelled(&world, packed(entries));
    assert!(message.contains("--build-memory raises the bound"), "{message}");
    siege.stands();
}

/// Many files at the limit of what may be unpacked for nothing, each as large as may be.
#[test]
fn files_that_are_more_than_there_is_room_for() {
    let Some(siege) = siege() else { return };
    let world = outside(siege.cluster, "mallory-files");
    // Compresses well, and not so well that it is refused for that.
    let file: Vec<u8> = (0..4_u32 << 20)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 20) as u8 & 15)
        .collect();
    let entries = (0..60).map(|number| (header(&format!("file-{number}"), file.len(), b'0', ""), &file[..]));
    let message = swelled(&world, packed(entries));
    assert!(message.contains("--build-memory raises the bound"), "{message}");
    siege.stands();
}
