//! Registries that answer with something else than what was signed: another digest, another image of an
//! index, another signer's word.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value as Json, json};

use crate::siege::siege;
use crate::signed_artifacts::{
    BUNDLE, Contents, Served, answer, put, refer, referrer, registry, tagged, verify, world,
};
use bumpwright_testkit::digests::sha256;
use bumpwright_testkit::images::Media;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::sigstore::{ISSUER, Key, SUBJECT, Sigstore, Wish, statement};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tarball::archive;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{CONFIG_MAP, IMAGE_POLICY, IMAGE_REPOSITORY, OCI_REPOSITORY, newest, with};

const LAYER: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";

/// The manifest of an artifact with one file.
fn manifest(contents: &mut Contents, text: &str) -> Json {
    let layer = archive(&[("app.yaml", text.as_bytes())]);
    let size = layer.len();
    let layer = put(contents, "blobs", LAYER, layer);
    let config = put(contents, "blobs", "application/json", b"{}".to_vec());
    json!({"schemaVersion": 2, "mediaType": Media::Oci.manifest(),
        "config": {"mediaType": "application/vnd.cncf.flux.config.v1+json", "digest": config, "size": 2},
        "layers": [{"mediaType": LAYER, "digest": layer, "size": size}]})
}

/// An artifact with one file, under a tag.
fn artifact(contents: &mut Contents, tag: &str) -> String {
    let manifest = manifest(contents, tag);
    tagged(contents, tag, &manifest)
}

/// An index of one image, for the platform that is taken.
fn index(contents: &mut Contents, tag: &str, image: &str) -> String {
    let image = json!({"mediaType": Media::Oci.manifest(), "digest": image, "size": 1,
        "platform": {"os": "linux", "architecture": "amd64"}});
    tagged(
        contents,
        tag,
        &json!({"schemaVersion": 2, "mediaType": Media::Oci.index(), "manifests": [image]}),
    )
}

/// A signature about one digest among the referrers of another.
fn sign(contents: &mut Contents, (digest, beside): (&str, &str), wishes: &[Wish]) {
    let entries: Vec<Json> = wishes
        .iter()
        .map(|wish| {
            let bundle = Sigstore::of("acme").bundle(&statement(digest), wish).to_string();
            referrer(contents, BUNDLE, BUNDLE, bundle.into_bytes(), &json!({}))
        })
        .collect();
    refer(contents, beside, &entries);
}

/// What is served in place of a manifest or a blob.
fn swap(contents: &mut Contents, path: &str, bytes: Vec<u8>) {
    let served = contents.get_mut(path).unwrap();
    assert_ne!(served.bytes, bytes);
    // The digest in the header stays: a client that believes it is deceived.
    served.bytes = bytes;
}

/// Signers who are not the accepted one, though close to it.
fn strangers() -> Vec<Wish> {
    let named = |issuer: &str, subject: &str| Wish {
        issuer: issuer.to_owned(),
        subject: subject.to_owned(),
        ..Wish::default()
    };
    vec![
        named(
            ISSUER,
            "https://github.com/mallory/app/.github/workflows/release.yaml@refs/heads/main",
        ),
        named(ISSUER, &format!("{SUBJECT}-2")),
        named(ISSUER, &format!("https://mallory.example/?{SUBJECT}")),
        named(&format!("{ISSUER}.mallory.example"), SUBJECT),
    ]
}

/// The digest of a tag, of an index, of an image and of a layer, and the signer: each has to be the
/// one that was signed.
#[test]
fn by_another_digest_or_signer() {
    let Some(siege) = siege() else { return };
    let world = world(siege, "mallory-confuses", &Sigstore::of("acme"), &Key::of("acme"));
    let mut all = Contents::new();
    let good = [Wish::default()];
    let mut expected: Vec<(&str, &str)> = Vec::new();

    let signed = artifact(&mut all, "signed");
    sign(&mut all, (&signed, &signed), &good);
    expected.push(("signed", ""));

    let theirs = artifact(&mut all, "by-strangers");
    sign(&mut all, (&theirs, &theirs), &strangers());
    expected.push(("by-strangers", "who is not accepted"));

    let both = artifact(&mut all, "by-both");
    sign(&mut all, (&both, &both), &[&strangers()[..], &good].concat());
    expected.push(("by-both", ""));

    let borrower = artifact(&mut all, "borrower");
    sign(&mut all, (&signed, &borrower), &good);
    expected.push(("borrower", "signature of another image"));

    // A signature of an image is none of an index that has it, nor the other way round.
    index(&mut all, "index-of-signed", &signed);
    expected.push(("index-of-signed", "no matching signatures were found"));
    let child = artifact(&mut all, "child-of-signed");
    let parent = index(&mut all, "signed-index", &child);
    sign(&mut all, (&parent, &parent), &good);
    expected.push(("signed-index", ""));
    expected.push(("child-of-signed", "no matching signatures were found"));

    // The digests are right, the bytes are not.
    let evil = manifest(&mut all, "evil").to_string().into_bytes();
    for (tag, wanted) in [
        ("manifest-swapped", "does not match"),
        ("child-swapped", "does not match"),
        ("layer-swapped", "checksum"),
    ] {
        let image = artifact(&mut all, &format!("{tag}-image"));
        let top = match tag {
            "child-swapped" => index(&mut all, tag, &image),
            _ => artifact(&mut all, tag),
        };
        sign(&mut all, (&top, &top), &good);
        match tag {
            "manifest-swapped" => swap(&mut all, &format!("app/manifests/{top}"), evil.clone()),
            "child-swapped" => swap(&mut all, &format!("app/manifests/{image}"), evil.clone()),
            _ => {
                let layer = sha256(&archive(&[("app.yaml", tag.as_bytes())]));
                let mut other = archive(&[("app.yaml", tag.to_uppercase().as_bytes())]);
                other.resize(all[&format!("app/blobs/{layer}")].bytes.len(), 0);
                swap(&mut all, &format!("app/blobs/{layer}"), other);
            }
        }
        expected.push((tag, wanted));
    }
    let registry = registry(all);
    for (tag, _) in &expected {
        let spec = json!({"interval": "1h", "timeout": "20s", "url": format!("oci://{}/app", registry.host()), "insecure": true,
            "ref": {"tag": tag}, "verify": verify("identity")});
        world.add(OCI_REPOSITORY, tag, spec);
    }
    for (tag, wanted) in &expected {
        match *wanted {
            "" => drop(world.ready(OCI_REPOSITORY, tag, "True", |_, _| true)),
            wanted => {
                let said = world.ready(OCI_REPOSITORY, tag, "False", |_, message| message.contains(wanted));
                println!("{tag}: {said}");
                let artifact = &world.get(OCI_REPOSITORY, tag)["status"]["artifact"];
                assert!(artifact.is_null(), "{tag}: {artifact}");
            }
        }
    }
    siege.stands();
}

/// A tag that is signed when it is resolved, and is another image ever after: what was verified is what is stored,
/// and what is written.
#[test]
fn by_a_tag_that_moves() {
    let Some(siege) = siege() else { return };
    let world = world(siege, "mallory-moves-a-tag", &Sigstore::of("acme"), &Key::of("acme"));
    let mut all = Contents::new();
    let signed = artifact(&mut all, "1.0.0");
    let evil = artifact(&mut all, "evil");
    sign(&mut all, (&signed, &signed), &[Wish::default()]);
    all.insert(
        "app/tags/list".to_owned(),
        Served::of("application/json", br#"{"name":"app","tags":["1.0.0"]}"#.to_vec()),
    );
    // One registry for each object, since each has its own first question.
    let moving = || {
        let (all, resolved) = (all.clone(), AtomicUsize::new(0));
        StubHttp::start(move |request| {
            if request.path.ends_with("/manifests/1.0.0") && resolved.fetch_add(1, Ordering::SeqCst) > 0 {
                let found = &all["app/manifests/evil"];
                return Reply::bytes(200, found.media, found.bytes.clone())
                    .header("Docker-Content-Digest", &found.digest);
            }
            answer(&all, request)
        })
    };
    let (source, images) = (moving(), moving());
    let spec = json!({"interval": "1h", "timeout": "20s", "url": format!("oci://{}/app", source.host()), "insecure": true,
        "ref": {"tag": "1.0.0"}, "verify": verify("identity")});
    world.add(OCI_REPOSITORY, "app", spec);
    world.ready(OCI_REPOSITORY, "app", "True", |_, _| true);
    let artifact = &world.get(OCI_REPOSITORY, "app")["status"]["artifact"];
    assert_eq!(artifact["revision"], format!("1.0.0@{signed}"));

    let root = Sigstore::of("acme").trusted_root().to_string();
    world.put(CONFIG_MAP, "root", json!({"data": {"trusted_root.json": root}}));
    let image = json!({"image": format!("{}/app", images.host()), "interval": "1h", "insecure": true});
    world.add(IMAGE_REPOSITORY, "app", image);
    let annotations = json!({"bumpwright.dev/verify-provider": "cosign",
        "bumpwright.dev/verify-trusted-root": "ConfigMap/root",
        "bumpwright.dev/verify-identity": format!("issuer={ISSUER} subject={SUBJECT}")});
    let reflecting = json!({"digestReflectionPolicy": "IfNotPresent"});
    world.annotated(IMAGE_POLICY, "app", &annotations, with(newest("app"), &reflecting));
    world.ready(IMAGE_POLICY, "app", "True", |_, _| true);
    let latest = || world.get(IMAGE_POLICY, "app")["status"]["latestRef"]["digest"].clone();
    assert_eq!(latest(), signed);

    // Asked again, neither of them takes the other image, which nobody signed.
    world.request(OCI_REPOSITORY, "app", "again");
    world.ready(OCI_REPOSITORY, "app", "False", |_, message| {
        message.contains(&evil) && message.contains("no matching signatures were found")
    });
    let artifact = &world.get(OCI_REPOSITORY, "app")["status"]["artifact"];
    assert_eq!(artifact["revision"], format!("1.0.0@{signed}"));
    world.request(IMAGE_POLICY, "app", "again");
    until("the policy is asked again", || {
        world.get(IMAGE_POLICY, "app")["status"]["lastHandledReconcileAt"] == "again"
    });
    assert_eq!(latest(), signed);
    siege.stands();
}
