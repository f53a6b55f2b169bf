//! A tenant has the digest of another one's artifact, and must not get its contents.

use bumpwright_artifact::Algorithm;
use serde_json::json;

use crate::siege::siege;
use crate::swell_an_artifact::outside;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map, revision};
use bumpwright_testkit::tarball::archive;
use bumpwright_testkit::world::GIT_REPOSITORY;

/// A source that claims this digest at this address.
fn claim(world: &KustomizeWorld<'_>, url: &str, digest: &str) {
    world.publish("app", "1", &[("map.yaml", &map("mine", "1"))]);
    let artifact = json!({
        "path": "app/1.tar.gz", "url": url, "revision": revision("1"), "digest": digest, "size": 1,
        "lastUpdateTime": "2026-01-02T03:04:05Z",
    });
    world.patch_status(GIT_REPOSITORY, "app", &json!({ "artifact": artifact }));
    world.kustomize("app", json!({}));
}

/// The digest with an address of the tenant's own, with other contents or none.
#[test]
fn the_digest_of_another_tenant_at_an_address_of_ones_own() {
    let Some(siege) = siege() else { return };
    let innocent = outside(siege.cluster, "innocent-of-digests");
    let files = [("map.yaml", map("hush", "nobody else sees this"))];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    innocent.publish("app", "1", &files);
    innocent.kustomize("app", json!({}));
    innocent.applied("app", "1");
    let bytes: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let digest = Algorithm::Sha256.digest(&archive(&bytes)).to_string();
    assert_eq!(
        innocent.get(GIT_REPOSITORY, "app")["status"]["artifact"]["digest"],
        digest
    );
    for (namespace, there) in [("mallory-other-bytes", true), ("mallory-no-bytes", false)] {
        let mallory = outside(siege.cluster, namespace);
        let url = mallory.address("app", if there { "1" } else { "2" });
        claim(&mallory, &url, &digest);
        let message = mallory.ready(
            bumpwright_testkit::world::KUSTOMIZATION,
            "app",
            "False",
            |_, message| message.contains("artifact not found") || message.contains("artifact digest changed"),
        );
        assert_eq!(mallory.maps(), Vec::<String>::new(), "{message}");
    }
    siege.stands();
}
