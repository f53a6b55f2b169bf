//! Keys that change: what was verified is verified again, and a revoked key leaves no `SourceVerified=True`
//! behind (Flux 2.10, `status.sourceVerificationFingerprint`).

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::gpg::Gpg;
use bumpwright_testkit::images::{Images, Media};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::{Change, Repo, run};
use bumpwright_testkit::signatures;
use bumpwright_testkit::sigstore::{ISSUER, Key, Sigstore, Wish, simple_payload, statement};
use bumpwright_testkit::tarball::archive;
use bumpwright_testkit::world::{GIT_REPOSITORY, OCI_REPOSITORY, ObjectKind, SECRET, World, git_repository};

fn controller(world: &World<'_>) -> Controller {
    let address = format!("127.0.0.1:{}", free_port());
    world
        .starter("controller")
        .flags(&[
            "--controllers=source".to_owned(),
            format!("--storage-addr={address}"),
            format!("--storage-adv-addr={address}"),
        ])
        .start()
}

/// Puts a Secret with this data in place, asks for a reconciliation, and waits for what comes of it.
fn with_data(world: &World<'_>, kind: ObjectKind, at: &str, data: &Json, verified: (&str, &str)) -> Json {
    world.put(SECRET, "keys", json!({"stringData": data}));
    world.request(kind, "app", at);
    let (status, reason) = verified;
    let ready = world.ready(kind, "app", status, |found, _| status == "True" || found == reason);
    world.condition(kind, "app", "SourceVerified", status, |found, _| found == reason);
    assert!(!ready.is_empty());
    world.get(kind, "app")["status"].clone()
}

/// A pair of keys for SSH; returns the path of the private one.
fn ssh_key(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    run(Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
        .arg(&path));
    path
}

fn public(key: &Path) -> String {
    std::fs::read_to_string(key.with_extension("pub")).unwrap()
}

/// Moves main to a commit with a signature by SSH.
fn commit_signed(repo: &Repo, key: &Path) {
    let signing = format!("user.signingkey={}", key.display());
    commit_signed_with(repo, &["-c", "gpg.format=ssh", "-c", &signing]);
}

/// Moves main to a commit with a signature by these settings of Git.
fn commit_signed_with(repo: &Repo, settings: &[&str]) {
    repo.commit("main", "first", &[Change::File("a.yaml", b"a: 1\n")]);
    let arguments = ["commit-tree", "-S", "-p", "main", "-m", "signed", "main^{tree}"];
    let commit = repo.git(&[settings, &arguments].concat());
    repo.git(&["update-ref", "refs/heads/main", &commit]);
}

#[test]
fn a_revoked_key_ends_the_verification_of_a_commit() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "revoked-git");
    let folder = tempfile::tempdir().unwrap();
    let [signer, other] = ["signer", "other"].map(|name| ssh_key(folder.path(), name));
    let repo = world.repository("app.git");
    commit_signed(&repo, &signer);
    let mut spec = git_repository(&world.git.url("app.git"));
    spec["verify"] = json!({"mode": "HEAD", "secretRef": {"name": "keys"}});
    let both = json!({"a.sshpub": public(&signer), "b.sshpub": public(&other)});
    world.put(SECRET, "keys", json!({"stringData": both}));
    world.add(GIT_REPOSITORY, "app", spec);
    let _controller = controller(&world);
    let status = |at: &str, data: &Json, verified| with_data(&world, GIT_REPOSITORY, at, data, verified);
    let first = status("first", &both, ("True", "Succeeded"));
    assert!(
        first["sourceVerificationFingerprint"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );

    world.delete(SECRET, "keys");
    let revoked = status(
        "revoked",
        &json!({"b.sshpub": public(&other)}),
        ("False", "InvalidCommitSignature"),
    );
    assert_eq!(revoked["artifact"], first["artifact"]);

    // The same keys under another name: all is as it was.
    world.delete(SECRET, "keys");
    let renamed = json!({"c.sshpub": public(&signer), "d.sshpub": public(&other)});
    let again = status("again", &renamed, ("True", "Succeeded"));
    for field in ["artifact", "sourceVerificationFingerprint"] {
        assert_eq!(again[field], first[field], "{field}");
    }
}

#[test]
fn a_revoked_key_of_openpgp_ends_the_verification_of_a_commit() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "revoked-pgp");
    let gpg = Gpg::new();
    let [signer, other] = ["signer", "other"].map(|name| gpg.make(name, "", "ed25519", "sign", "never", &[]));
    let public = |key: &str| gpg.run("", &["--armor", "--export", key]);
    let repo = world.repository("app.git");
    let program = world.folder.path().join("gpg.sh");
    let script = format!("#!/bin/sh\nexec gpg --homedir {} \"$@\"\n", gpg.home().display());
    std::fs::write(&program, script).unwrap();
    run(Command::new("chmod").arg("+x").arg(&program));
    let (program, signing) = (
        format!("gpg.program={}", program.display()),
        format!("user.signingkey={signer}"),
    );
    commit_signed_with(&repo, &["-c", &program, "-c", &signing]);
    let mut spec = git_repository(&world.git.url("app.git"));
    spec["verify"] = json!({"mode": "HEAD", "secretRef": {"name": "keys"}});
    let both = json!({"a.asc": public(&signer), "b.asc": public(&other)});
    world.put(SECRET, "keys", json!({"stringData": both}));
    world.add(GIT_REPOSITORY, "app", spec);
    let _controller = controller(&world);
    let status = |at: &str, data: &Json, verified| with_data(&world, GIT_REPOSITORY, at, data, verified);
    let first = status("first", &both, ("True", "Succeeded"));
    world.delete(SECRET, "keys");
    let left = json!({"b.asc": public(&other)});
    let revoked = status("revoked", &left, ("False", "InvalidCommitSignature"));
    assert_eq!(revoked["artifact"], first["artifact"]);
    let again = status("again", &both, ("True", "Succeeded"));
    let fingerprint = "sourceVerificationFingerprint";
    assert!(first[fingerprint].is_string() && again[fingerprint] == first[fingerprint]);
}

/// An artifact of Flux with one file; returns its digest.
fn artifact(images: &Images) -> String {
    let layer = archive(&[("app.yaml", b"kind: App\n")]);
    let media = "application/vnd.cncf.flux.content.v1.tar+gzip";
    let manifest = json!({
        "schemaVersion": 2, "mediaType": Media::Oci.manifest(),
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": images.blob("app", b"{}"), "size": 2},
        "layers": [{"mediaType": media, "digest": images.blob("app", &layer), "size": layer.len()}],
    });
    let digest = images.manifest("app", &manifest);
    images.tag("app", "latest", &digest);
    digest
}

#[test]
fn another_trusted_root_ends_the_verification_of_an_artifact() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(registry) = Registry::start() else { return };
    cluster.define();
    let world = World::new(cluster, "revoked-oci");
    let (images, trusted, other) = (registry.images(), Sigstore::of("acme"), Sigstore::of("other"));
    let digest = artifact(&images);
    let bundle = trusted.bundle(&statement(&digest), &Wish::default());
    signatures::bundles(&images, "app", &digest, &[bundle]);
    let root = |sigstore: &Sigstore| json!({"trusted_root.json": sigstore.trusted_root().to_string()});
    let identity = json!({"issuer": ISSUER, "subject": "https://github[.]com/acme/.*"});
    world.put(SECRET, "keys", json!({"stringData": root(&trusted)}));
    world.add(
        OCI_REPOSITORY,
        "app",
        json!({
            "interval": "1h", "url": format!("oci://{}/app", registry.host()), "insecure": true,
            "verify": {"provider": "cosign", "trustedRootSecretRef": {"name": "keys"}, "matchOIDCIdentity": [identity]},
        }),
    );
    let _controller = controller(&world);
    let status = |at: &str, of: &Sigstore, verified| with_data(&world, OCI_REPOSITORY, at, &root(of), verified);
    let first = status("first", &trusted, ("True", "Succeeded"));
    assert!(
        first["sourceVerificationFingerprint"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
    let revoked = status("revoked", &other, ("False", "VerificationError"));
    assert_eq!(revoked["artifact"], first["artifact"]);
    let again = status("again", &trusted, ("True", "Succeeded"));
    for field in ["artifact", "sourceVerificationFingerprint"] {
        assert_eq!(again[field], first[field], "{field}");
    }
}

#[test]
fn a_revoked_key_of_cosign_ends_the_verification_of_an_artifact() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(registry) = Registry::start() else { return };
    cluster.define();
    let world = World::new(cluster, "revoked-cosign");
    let (images, signer, other) = (registry.images(), Key::of("signer"), Key::of("other"));
    let digest = artifact(&images);
    let content = simple_payload(&digest);
    signatures::simple(
        &images,
        "app",
        &digest,
        &content,
        &signer.annotations(content.as_bytes()),
    );
    let data = |key: &Key| json!({"cosign.pub": key.pem()});
    world.put(SECRET, "keys", json!({"stringData": data(&signer)}));
    world.add(
        OCI_REPOSITORY,
        "app",
        json!({
            "interval": "1h", "url": format!("oci://{}/app", registry.host()), "insecure": true,
            "verify": {"provider": "cosign", "secretRef": {"name": "keys"}},
        }),
    );
    let _controller = controller(&world);
    let status = |at: &str, key: &Key, verified| with_data(&world, OCI_REPOSITORY, at, &data(key), verified);
    let first = status("first", &signer, ("True", "Succeeded"));
    let revoked = status("revoked", &other, ("False", "VerificationError"));
    assert_eq!(revoked["artifact"], first["artifact"]);
    let again = status("again", &signer, ("True", "Succeeded"));
    let fingerprint = "sourceVerificationFingerprint";
    assert!(first[fingerprint].is_string() && again[fingerprint] == first[fingerprint]);
}
