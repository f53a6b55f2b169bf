//! Several large fetches at once, each within its bounds: together they would fill the volume, and the kubelet
//! would evict the pod.

use serde_json::json;

use crate::siege::{OUTSIDE, siege};
use bumpwright_testkit::images::Media;
use bumpwright_testkit::packets::noise;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::world::{GIT_REPOSITORY, OCI_REPOSITORY, World, git_repository};

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Packs and layers share one room on disk, of which a namespace gets half; what fits goes on.
#[test]
fn what_is_under_way_shares_the_room_on_disk() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-fills").labelled("siege", OUTSIDE);
    let commit = |name: &str, size: usize| {
        let file = noise(size);
        world
            .repository(name)
            .commit("main", "first", &[Change::File("noise", &file)]);
        git_repository(&world.git.url(name))
    };
    let (large, small) = (commit("large.git", 1 << 20), commit("small.git", 100 << 10));
    let registry = StubHttp::start(|request| {
        match request.path.as_str() {
        "/v2/" => Reply::json(&json!({})),
        _ => Reply::bytes(
            200,
            Media::Oci.manifest(),
            json!({
                "schemaVersion": 2, "mediaType": Media::Oci.manifest(),
                "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": DIGEST, "size": 0},
                "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": DIGEST, "size": 1 << 20}],
            })
            .to_string(),
        ),
    }
    });
    let _controller = world.controller(&["--controllers=source", "--spool-size=1Mi"]);
    world.add(GIT_REPOSITORY, "large", large);
    let url = format!("oci://{}/app", registry.address());
    world.add(
        OCI_REPOSITORY,
        "large",
        json!({"interval": "1h", "url": url, "insecure": true, "ref": {"tag": "1"}}),
    );
    let words = "more than 524288 bytes of temporary files at once; --spool-size raises the bound";
    for kind in [GIT_REPOSITORY, OCI_REPOSITORY] {
        world.ready(kind, "large", "False", |_, message| message.contains(words));
    }
    world.add(GIT_REPOSITORY, "small", small);
    world.ready(GIT_REPOSITORY, "small", "True", |_, _| true);
    siege.stands();
}
