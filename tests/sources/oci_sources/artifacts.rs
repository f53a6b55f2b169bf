//! The contents of the registries: artifacts of the real `flux push artifact`, and odd ones written by hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use crate::observed::collect;
use bumpwright_testkit::images::{Images, Media};
use bumpwright_testkit::registry::{Access, Options, Registry};
use bumpwright_testkit::signatures;
use bumpwright_testkit::sigstore::{Sigstore, Wish, simple_payload, statement};
use bumpwright_testkit::tarball::{archive, header, packed};

const LAYER: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";
const OTHER: &str = "application/vnd.acme.files.v1.tar+gzip";

pub struct World {
    dir: tempfile::TempDir,
    pub open: Registry,
    pub closed: Registry,
    /// Digest of `app:1.0.0`, which has a signature below its tag.
    pub first: String,
    /// Digest of `app:2.0.0-rc.1`, which has a signature as a referrer.
    pub candidate: String,
    pub public_key: String,
    pub other_key: String,
}

impl World {
    pub fn build() -> Option<Self> {
        bumpwright_testkit::tool("flux")?;
        let closed = Options {
            access: Access::Password("ann", "hunter2"),
            ..Options::default()
        };
        let (open, closed) = (Registry::start()?, Registry::with(&closed)?);
        let dir = tempfile::tempdir().unwrap();
        let keys = ["signer", "other"].map(|name| key_pair(dir.path(), name));
        let mut world = Self {
            dir,
            open,
            closed,
            first: String::new(),
            candidate: String::new(),
            public_key: keys[0].1.clone(),
            other_key: keys[1].1.clone(),
        };
        for (tag, text) in [
            ("1.0.0", "one"),
            ("1.1.0", "two"),
            ("2.0.0-rc.1", "three"),
            ("latest", "two"),
            ("moving", "one"),
        ] {
            world.push(&world.open, "app", tag, text, &[]);
        }
        world.push(&world.closed, "app", "1.0.0", "closed", &["--creds=ann:hunter2"]);
        world.first = world.digest("1.0.0");
        world.candidate = world.digest("2.0.0-rc.1");
        world.sign(&world.first, &keys[0].0);
        world.sign_by_referrer(&world.candidate, &keys[0].0);
        world.keyless();
        world.odd();
        Some(world)
    }

    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    pub fn url(&self, repository: &str) -> String {
        format!("oci://{}/{repository}", self.open.host())
    }

    /// What changes between the rounds.
    pub fn go_on(&self) {
        self.push(&self.open, "app", "moving", "moved", &[]);
    }

    fn push(&self, registry: &Registry, repository: &str, tag: &str, text: &str, more: &[&str]) {
        let folder = self.dir.path().join(format!("{repository}-{tag}-{text}"));
        for (path, content) in [
            ("app.yaml", text),
            ("deploy/web.yaml", "kind: Deployment\n"),
            ("deploy/notes.md", "notes\n"),
            ("bin/run.sh", "#!/bin/sh\n"),
        ] {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let mut flux = Command::new(bumpwright_testkit::tool("flux").unwrap());
        flux.arg("push").arg("artifact");
        flux.arg(format!("oci://{}/{repository}:{tag}", registry.host()));
        flux.arg("--path").arg(&folder);
        flux.args([
            "--source=https://git.example/app",
            &format!("--revision={tag}@sha1:abc"),
        ]);
        flux.args(more).env("HOME", self.dir.path());
        let out = flux.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }

    /// The files of an artifact as the real `flux pull artifact` unpacks them.
    pub fn pulled(&self, name: &str) -> BTreeMap<String, String> {
        let folder = self.dir.path().join("pulled");
        std::fs::create_dir(&folder).unwrap();
        let mut flux = Command::new(bumpwright_testkit::tool("flux").unwrap());
        flux.args(["pull", "artifact", &self.url(name), "--output"])
            .arg(&folder);
        let out = flux.env("HOME", self.dir.path()).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let mut files = BTreeMap::new();
        collect(&folder, "", &mut files);
        files
    }

    fn digest(&self, tag: &str) -> String {
        self.digest_of("app", tag)
    }

    fn digest_of(&self, repository: &str, tag: &str) -> String {
        let manifest = ureq::get(self.open.url(&format!("/v2/{repository}/manifests/{tag}")))
            .header("accept", Media::Oci.manifest())
            .call()
            .unwrap();
        manifest.headers()["docker-content-digest"].to_str().unwrap().to_owned()
    }

    /// As cosign 2 does: a small text about the image, a layer of its own, its signature in an annotation.
    fn sign(&self, digest: &str, key: &Path) {
        let images = self.open.images();
        let signature = images.manifest("app", &self.signature(digest, key));
        images.tag("app", &format!("{}.sig", digest.replace(':', "-")), &signature);
    }

    /// As cosign 2 does with `--registry-referrers-mode=oci-1-1`, in a registry without the API of referrers.
    fn sign_by_referrer(&self, digest: &str, key: &Path) {
        let images = self.open.images();
        let mut manifest = self.signature(digest, key);
        manifest["subject"] = json!({"mediaType": Media::Oci.manifest(), "digest": digest, "size": 1});
        let signature = images.manifest("app", &manifest);
        let size = manifest.to_string().len();
        let entries = [json!({"mediaType": Media::Oci.manifest(), "digest": signature, "size": size})];
        let index = json!({"schemaVersion": 2, "mediaType": Media::Oci.index(), "manifests": entries});
        images.tag("app", &digest.replace(':', "-"), &images.manifest("app", &index));
    }

    fn signature(&self, digest: &str, key: &Path) -> Json {
        let payload = json!({"critical": {
            "identity": {"docker-reference": "app"},
            "image": {"docker-manifest-digest": digest},
            "type": "cosign container image signature",
        }, "optional": null});
        let file = self.dir.path().join("payload");
        std::fs::write(&file, payload.to_string()).unwrap();
        let signature = openssl(&[
            "dgst",
            "-sha256",
            "-sign",
            key.to_str().unwrap(),
            file.to_str().unwrap(),
        ]);
        let images = self.open.images();
        let layers = [layer(
            &images,
            "app",
            "application/vnd.dev.cosign.simplesigning.v1+json",
            payload.to_string().as_bytes(),
        )];
        let mut manifest = manifest(&images, "app", Media::Oci, &layers);
        manifest["layers"][0]["annotations"] =
            json!({"dev.cosignproject.cosign/signature": STANDARD.encode(signature)});
        manifest
    }

    /// Artifacts signed without keys: by a bundle of cosign 3, by a signature of cosign 2, by
    /// means of another Sigstore.
    fn keyless(&self) {
        let (images, wish) = (self.open.images(), Wish::default());
        let [bundle, simple, other] = ["bundle", "simple", "other"].map(|tag| {
            self.push(&self.open, "keyless", tag, tag, &[]);
            self.digest_of("keyless", tag)
        });
        let sigstore = Sigstore::of("acme");
        signatures::bundles(
            &images,
            "keyless",
            &bundle,
            &[sigstore.bundle(&statement(&bundle), &wish)],
        );
        let content = simple_payload(&simple);
        let annotations = sigstore.annotations(content.as_bytes(), &wish);
        signatures::simple(&images, "keyless", &simple, &content, &annotations);
        let mallory = Sigstore::of("mallory").bundle(&statement(&other), &wish);
        signatures::bundles(&images, "keyless", &other, &[mallory]);
    }

    /// Artifacts that no tool makes.
    fn odd(&self) {
        let images = self.open.images();
        let good = archive(&[("a.yaml", b"a"), ("sub/b.yaml", b"b"), (".sourceignore", b"sub/\n")]);
        let put = |tag: &str, media: Media, layers: &[Json]| {
            let digest = images.manifest("odd", &manifest(&images, "odd", media, layers));
            images.tag("odd", tag, &digest);
            digest
        };
        let flux = |bytes: &[u8]| layer(&images, "odd", LAYER, bytes);
        put("ignoring", Media::Oci, &[flux(&good)]);
        put("docker", Media::Docker, &[flux(&good)]);
        put("empty", Media::Oci, &[]);
        put("text", Media::Oci, &[flux(b"no archive at all")]);
        let other = layer(&images, "odd", OTHER, &archive(&[("other.yaml", b"other")]));
        put("two", Media::Oci, &[flux(&good), other]);
        put("out", Media::Oci, &[flux(&archive(&[("../out.yaml", b"out")]))]);
        put("links", Media::Oci, &[flux(&linked())]);
        let mut cut = good.clone();
        cut.truncate(good.len() / 2);
        put("cut", Media::Oci, &[flux(&cut)]);
        let mut wrong = flux(&good);
        wrong["size"] = json!(good.len() + 1);
        put("size", Media::Oci, &[wrong]);
        let amd = put("amd", Media::Oci, &[flux(&good)]);
        let arm = put("arm", Media::Oci, &[flux(&archive(&[("arm.yaml", b"arm")]))]);
        for (tag, entries) in [
            (
                "index",
                vec![(arm.as_str(), "linux/arm64"), (amd.as_str(), "linux/amd64")],
            ),
            ("index-arm", vec![(arm.as_str(), "linux/arm64")]),
        ] {
            images.tag("odd", tag, &images.index("odd", Media::Oci, &entries));
        }
    }
}

fn layer(images: &Images, repository: &str, kind: &str, bytes: &[u8]) -> Json {
    json!({"mediaType": kind, "digest": images.blob(repository, bytes), "size": bytes.len()})
}

fn manifest(images: &Images, repository: &str, media: Media, layers: &[Json]) -> Json {
    let config = images.blob(repository, b"{}");
    json!({
        "schemaVersion": 2,
        "mediaType": media.manifest(),
        "config": {"mediaType": "application/vnd.cncf.flux.config.v1+json", "digest": config, "size": 2},
        "layers": layers,
        "annotations": {"org.opencontainers.image.created": "2026-01-02T03:04:05Z"},
    })
}

/// A file, a link out of the archive, one to the file, and a file that would be written through a link.
fn linked() -> Vec<u8> {
    packed([
        (header("file", 4, b'0', ""), b"file".as_slice()),
        (header("passwd", 0, b'2', "/etc/passwd"), b""),
        (header("same", 0, b'1', "file"), b""),
    ])
}

fn openssl(arguments: &[&str]) -> Vec<u8> {
    let out = Command::new("openssl").args(arguments).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

fn key_pair(folder: &Path, name: &str) -> (PathBuf, String) {
    let key = folder.join(name);
    let path = key.to_str().unwrap().to_owned();
    openssl(&["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", &path]);
    let public = openssl(&["ec", "-in", &path, "-pubout"]);
    (key, String::from_utf8(public).unwrap())
}
