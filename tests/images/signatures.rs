//! Policies that choose by signatures, in a cluster: an image that does not verify is not chosen, and
//! the message says why.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::images::Media;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::signatures;
use bumpwright_testkit::sigstore::{ISSUER, Sigstore, Wish, statement};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{CONFIG_MAP, IMAGE_POLICY, IMAGE_REPOSITORY, World, newest, with};
use serde_json::json;

const IMAGES: &str = "--controllers=image-reflector";

#[test]
fn an_unsigned_image_is_not_chosen() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(registry) = Registry::start() else { return };
    cluster.define();
    let world = World::new(cluster, "signed");
    let (images, sigstore) = (registry.images(), Sigstore::of("acme"));
    let push = |tag: &str, created: &str| {
        let digest = images.image("team/app", Media::Oci, "linux/amd64", Some(created));
        images.tag("team/app", tag, &digest);
        digest
    };
    let sign = |digest: &str| {
        let bundle = sigstore.bundle(&statement(digest), &Wish::default());
        signatures::bundles(&images, "team/app", digest, &[bundle]);
    };
    sign(&push("1.0.0", "2020-01-01T00:00:00Z"));
    let name = format!("{}/team/app", registry.host());
    world.add(
        IMAGE_REPOSITORY,
        "app",
        json!({"image": name, "interval": "1h", "insecure": true}),
    );
    let root = sigstore.trusted_root().to_string();
    world.put(CONFIG_MAP, "sigstore", json!({"data": {"trusted_root.json": root}}));
    // Of another namespace, and so not trusted here.
    World::new(cluster, "signed-theirs").put(CONFIG_MAP, "theirs", json!({"data": {"trusted_root.json": root}}));
    let put = |policy: &str, root: &str, more: &serde_json::Value| {
        let annotations = json!({"bumpwright.dev/verify-provider": "cosign",
            "bumpwright.dev/verify-trusted-root": format!("ConfigMap/{root}"),
            "bumpwright.dev/verify-identity": format!("issuer={ISSUER} subject~https://github[.]com/acme/.*")});
        world.annotated(IMAGE_POLICY, policy, &with(annotations, more), newest("app"));
    };
    put("app", "sigstore", &json!({}));
    put("lower", "sigstore", &json!({"bumpwright.dev/verify-fallback": "true"}));
    put("theirs", "theirs", &json!({}));
    put(
        "invalid",
        "sigstore",
        &json!({"bumpwright.dev/verify-fallback": "maybe"}),
    );
    let _controller = world.controller(&[IMAGES]);
    let chooses =
        |policy: &str, text: &str| world.ready(IMAGE_POLICY, policy, "True", |_, message| message.contains(text));
    for policy in ["app", "lower"] {
        chooses(policy, "resolved to 1.0.0");
    }
    world.ready(IMAGE_POLICY, "theirs", "False", |reason, message| {
        reason == "Failed"
            && message.contains("ConfigMap signed/theirs, which bumpwright.dev/verify-trusted-root names, is not there")
    });
    world.ready(IMAGE_POLICY, "invalid", "False", |reason, _| {
        reason == "InvalidAnnotation"
    });

    // Verified once, it is not asked about again, but for what its tag is now.
    let asked = || registry.requests().len();
    world.request(IMAGE_POLICY, "app", "again");
    let handled = |at: &str| world.get(IMAGE_POLICY, "app")["status"]["lastHandledReconcileAt"] == at;
    let before = asked();
    until("the policy is reconciled again", || handled("again"));
    let more = registry.requests().split_off(before);
    let others: Vec<_> = more
        .iter()
        .filter(|one| !one.target.ends_with("/manifests/1.0.0"))
        .collect();
    assert!(others.is_empty(), "{others:?}");

    let digest = push("1.1.0", "2021-01-01T00:00:00Z");
    world.request(IMAGE_REPOSITORY, "app", "newer");
    let unsigned = format!("{name}:1.1.0: unsigned: no matching signatures were found for '{name}@{digest}'");
    for policy in ["app", "lower"] {
        let said = chooses(policy, &unsigned);
        assert_eq!(
            said,
            format!("Latest image tag for {name} resolved to 1.0.0\n{unsigned}")
        );
        assert_eq!(world.get(IMAGE_POLICY, policy)["status"]["latestRef"]["tag"], "1.0.0");
    }
    // Its signature comes later, and no tag with it.
    sign(&digest);
    for policy in ["app", "lower"] {
        world.request(IMAGE_POLICY, policy, "signed");
        chooses(policy, "resolved to 1.1.0");
    }
}

#[test]
fn a_policy_without_a_previous_image_waits_for_a_signature() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(registry) = Registry::start() else { return };
    cluster.define();
    let world = World::new(cluster, "unsigned");
    registry.images().tags("team/app", &["1.0.0"]);
    let name = format!("{}/team/app", registry.host());
    world.add(
        IMAGE_REPOSITORY,
        "app",
        json!({"image": name, "interval": "1h", "insecure": true}),
    );
    let annotations = json!({"bumpwright.dev/verify-provider": "cosign",
        "bumpwright.dev/verify-identity": format!("issuer={ISSUER} subject~.*")});
    world.annotated(IMAGE_POLICY, "app", &annotations, newest("app"));
    let _controller = world.controller(&[IMAGES]);
    world.ready(IMAGE_POLICY, "app", "False", |reason, message| {
        reason == "ImageRefused" && message.contains(":1.0.0: unsigned: no matching signatures were found for ")
    });
    assert!(world.get(IMAGE_POLICY, "app")["status"]["latestRef"].is_null());
    // Nor does a choice stay that was made when no signature was wanted.
    world.add(IMAGE_POLICY, "late", newest("app"));
    world.ready(IMAGE_POLICY, "late", "True", |_, message| {
        message.ends_with("resolved to 1.0.0")
    });
    world.patch(IMAGE_POLICY, "late", &json!({"metadata": {"annotations": annotations}}));
    world.ready(IMAGE_POLICY, "late", "False", |reason, _| reason == "ImageRefused");
    assert!(world.get(IMAGE_POLICY, "late")["status"]["latestRef"].is_null());
}
