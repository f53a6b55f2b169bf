//! The repositories of the charts: a server with an index, a registry, and one of Git.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use bumpwright_testkit::git_http::GitHttp;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::images::{Images, Media};
use bumpwright_testkit::moto::Moto;
use bumpwright_testkit::registry::{Access, Options, Registry};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::signatures;
use bumpwright_testkit::sigstore::{Sigstore, Wish, simple_payload, statement};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tarball::archive;

const CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";

/// Servers with charts.
pub struct World {
    pub plain: StubHttp,
    pub open: Registry,
    pub closed: Registry,
    pub git: GitHttp,
    pub moto: Moto,
    pub public_key: String,
    pub other_key: String,
    charts: Repo,
    moved: Arc<AtomicBool>,
    folder: tempfile::TempDir,
}

impl World {
    /// None when a program is missing.
    pub fn build() -> Option<Self> {
        let closed = Options {
            access: Access::Password("ann", "hunter2"),
            ..Options::default()
        };
        let (open, closed, moto) = (Registry::start()?, Registry::with(&closed)?, Moto::start()?);
        fill(&moto);
        let folder = tempfile::tempdir().unwrap();
        let keys = ["signer", "other"].map(|name| key_pair(folder.path(), name));
        let moved = Arc::new(AtomicBool::new(false));
        let now = Arc::clone(&moved);
        let plain = StubHttp::start(move |request| answer(request, now.load(Ordering::SeqCst)));
        let root = folder.path().join("git");
        let charts = charts(&root.join("charts.git"), &plain.url("plain"), &open.host());
        let world = Self {
            plain,
            git: GitHttp::start(&root),
            moto,
            public_key: keys[0].1.clone(),
            other_key: keys[1].1.clone(),
            open,
            closed,
            charts,
            moved,
            folder,
        };
        let images = world.open.images();
        for version in ["1.0.0", "1.1.0", "1.2.0_build.1", "2.0.0-rc.1", "latest"] {
            push(&images, "charts/web", version);
        }
        push(&images, "charts/org/web", "1.0.0");
        push(&world.closed.images(), "charts/web", "1.0.0");
        let signed = push(&images, "charts/signed", "1.0.0");
        sign(&images, "charts/signed", &signed, &keys[0].0, world.folder());
        keyless(&images);
        let odd = images.manifest(
            "charts/odd",
            &manifest(&images, "charts/odd", "text/plain", b"no chart"),
        );
        images.tag("charts/odd", "1.0.0", &odd);
        Some(world)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What changes between the rounds.
    pub fn go_on(&self) {
        self.moved.store(true, Ordering::SeqCst);
        self.charts
            .commit("main", "another file", &[file("charts/moving/README.md", "more\n")]);
    }
}

fn file<'a>(path: &'a str, text: &'a str) -> Change<'a> {
    Change::File(path, text.as_bytes())
}

/// A chart of a version.
fn chart(name: &str, version: &str) -> Vec<u8> {
    let metadata = format!("# Ours\napiVersion: v2\nname: {name}\nversion: {version}\nappVersion: 1.10\n");
    let in_chart = |path: &str| format!("{name}/{path}");
    archive(&[
        (&in_chart("Chart.yaml"), metadata.as_bytes()),
        (
            &in_chart("values.yaml"),
            b"# Values\nreplicas: 1\nimage: {tag: a, name: web}\n",
        ),
        (
            &in_chart("values-prod.yaml"),
            b"replicas: 3\nimage: {tag: b}\nratio: 0.50\n",
        ),
        (&in_chart("values-list.yaml"), b"- a\n"),
        (&in_chart("values.schema.json"), b"{\"type\": \"object\"}"),
        (&in_chart("templates/web.yaml"), b"kind: Web\n"),
        (&in_chart("README.md"), b"# Web\n"),
    ])
}

const VERSIONS: [&str; 5] = ["1.0.0", "1.1.0", "1.1.0+later", "2.0.0-rc.1", "0.9.0"];

fn index(moved: bool) -> String {
    let mut text = "apiVersion: v1\ngenerated: \"2026-01-03T00:00:00Z\"\nentries:\n  web:\n".to_owned();
    let mut add = |name: &str, version: &str, url: &str, digest: &str| {
        text.push_str(&format!(
            "  - {{apiVersion: v2, name: {name}, version: \"{version}\", urls: [\"{url}\"], created: \"2026-01-0{}T00:00:00Z\", \
             digest: \"{digest}\"}}\n",
            1 + version.len() % 8
        ));
    };
    let newer = moved.then_some("1.3.0");
    for version in VERSIONS.into_iter().chain(newer) {
        let digest = hex(&Sha256::digest(chart("web", version)));
        add("web", version, &format!("web-{version}.tgz"), &digest);
    }
    text.push_str("  odd:\n");
    let mut add = |version: &str, urls: &str| {
        text.push_str(&format!(
            "  - {{apiVersion: v2, name: odd, version: {version}, urls: {urls}}}\n"
        ));
    };
    add("1.0.0", "[gone.tgz]");
    add("2.0.0", "[]");
    add("3.0.0", "[text.tgz]");
    add("4.0.0", "[nameless.tgz]");
    add("5.0.0", "[closed.tgz]");
    add("6.0.0", "[web-1.0.0.tgz]");
    text.push_str("  empty: []\n");
    text
}

fn answer(request: &Request, moved: bool) -> Reply {
    let path = request.path.as_str();
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_closed = path.starts_with("/closed/");
    if is_closed && request.header("authorization") != Some("Basic YW5uOnB3") {
        return refused(401, "Unauthorized");
    }
    let plain = |bytes: Vec<u8>| Reply::bytes(200, "application/gzip", bytes);
    match name {
        "index.yaml" if path.starts_with("/broken/") => refused(404, "Not Found"),
        "index.yaml" => Reply::bytes(200, "text/yaml", index(moved && path.starts_with("/moving/"))),
        "text.tgz" => Reply::bytes(200, "text/plain", "no archive"),
        "nameless.tgz" => plain(archive(&[("web/Chart.yaml", b"apiVersion: v2\nversion: 1.0.0\n")])),
        "closed.tgz" => refused(401, "Unauthorized"),
        name => match name.strip_prefix("web-").and_then(|name| name.strip_suffix(".tgz")) {
            Some(version) => plain(chart("web", &version.replace("%2B", "+"))),
            None => refused(404, "Not Found"),
        },
    }
}

fn refused(status: u16, words: &str) -> Reply {
    let head = format!("HTTP/1.1 {status} {words}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    Reply::raw(head)
}

/// Charts in Git.
fn charts(folder: &Path, repository: &str, registry: &str) -> Repo {
    let repo = Repo::init(folder);
    let http = format!(
        "apiVersion: v2\nname: http\nversion: 1.0.0\ndependencies:\n- {{name: web, version: 1.x, repository: '{repository}'}}\n- {{name: web, \
         version: ~0.9, repository: '{repository}', alias: older}}\n"
    );
    let oci = format!(
        "apiVersion: v2\nname: oci\nversion: 1.0.0\ndependencies:\n- {{name: web, version: 1.0.0, repository: 'oci://{registry}/charts'}}\n"
    );
    let lock = format!(
        "digest: sha256:00\ngenerated: \"2026-01-01T00:00:00.5+01:00\"\ndependencies:\n- {{name: web, version: 1.0.0, repository: \
         '{repository}'}}\n"
    );
    let locked = http.replace("name: http", "name: locked").replace("1.x", "'>=1.0.0'");
    let locked = locked.split("- {name: web, version: ~0.9").next().unwrap();
    let packaged = chart("web", "1.0.0");
    let sub = "apiVersion: v2\nname: sub\nversion: 0.2.0\ndependencies:\n- {name: deep, version: 1.x, repository: 'file://../deep'}\n";
    let needs = |name: &str, dependency: &str| {
        format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\ndependencies:\n- {dependency}\n")
    };
    let [local, other, lost, outside, aliased, wrong, nothing] = [
        needs(
            "local",
            "{name: sub, version: 0.x, repository: 'file://../sub', alias: below, condition: below.enabled}",
        ),
        needs("other", "{name: sub, version: 9.x, repository: 'file://../sub'}"),
        needs("lost", "{name: none, version: 1.x, repository: 'file://../none'}"),
        needs(
            "outside",
            "{name: sub, version: 0.x, repository: 'file://../../../../../charts/sub'}",
        ),
        needs("aliased", "{name: sub, version: 0.x, repository: '@stable'}"),
        needs("wrong", "{name: web, version: 'x y', repository: 'file://../sub'}"),
        needs(
            "nothing",
            &format!("{{name: nothing, version: 1.x, repository: '{repository}'}}"),
        ),
    ];
    let empty = "# nothing\n";
    repo.commit(
        "main",
        "charts",
        &[
            file(
                "charts/plain/Chart.yaml",
                "# Ours\napiVersion: v2\nname: plain\nversion: 0.1.0\nmaintainers: [{name: Ann}]\n",
            ),
            file("charts/plain/values.yaml", "a: 1\nb: {c: [1, 2]}\n"),
            file("charts/plain/templates/a.yaml", "kind: A\n"),
            file("charts/plain/templates/.hidden", "no\n"),
            file("charts/plain/.helmignore", "*.bak\ndocs/\n"),
            file("charts/plain/a.bak", "no\n"),
            file("charts/plain/docs/a.md", "no\n"),
            file("charts/plain/crds/a.yaml", "kind: CustomResourceDefinition\n"),
            file(
                "charts/moving/Chart.yaml",
                "apiVersion: v2\nname: moving\nversion: 0.1.0\n",
            ),
            file("charts/moving/values.yaml", "a: 1\n"),
            file("charts/old/Chart.yaml", "apiVersion: v1\nname: old\nversion: 0.1.0\n"),
            file("charts/old/values.yaml", empty),
            file(
                "charts/old/requirements.yaml",
                "dependencies:\n- {name: sub, version: 0.x, repository: 'file://../sub'}\n",
            ),
            file("charts/sub/Chart.yaml", sub),
            file("charts/sub/values.yaml", empty),
            file("charts/deep/Chart.yaml", "apiVersion: v2\nname: deep\nversion: 1.0.0\n"),
            file("charts/local/Chart.yaml", &local),
            file("charts/local/values.yaml", empty),
            file("charts/other/Chart.yaml", &other),
            file("charts/lost/Chart.yaml", &lost),
            file("charts/outside/Chart.yaml", &outside),
            file("charts/aliased/Chart.yaml", &aliased),
            file("charts/wrong/Chart.yaml", &wrong),
            file("charts/nothing/Chart.yaml", &nothing),
            file("charts/http/Chart.yaml", &http),
            file("charts/http/values.yaml", empty),
            file("charts/locked/Chart.yaml", locked),
            file("charts/locked/Chart.lock", &lock),
            file("charts/oci/Chart.yaml", &oci),
            file("charts/nameless/Chart.yaml", "apiVersion: v2\nversion: 1.0.0\n"),
            file(
                "charts/schema/Chart.yaml",
                "apiVersion: v2\nname: schema\nversion: 1.0.0\n",
            ),
            file("charts/schema/values.schema.json", "{"),
            file(
                "charts/noversion/Chart.yaml",
                "apiVersion: v2\nname: noversion\nversion: one\n",
            ),
            file("charts/notyaml/Chart.yaml", "a: [\n"),
            file(
                "charts/novalues/Chart.yaml",
                "apiVersion: v2\nname: novalues\nversion: 1.0.0\n",
            ),
            Change::File("packed/web.tgz", &packaged),
            file("packed/text.tgz", "no archive"),
            file("envs/prod.yaml", "a: 2\nb: {d: x}\n"),
            file("envs/same.yaml", "a: 1\n"),
            file("envs/list.yaml", "- a\n"),
        ],
    );
    repo
}

fn push(images: &Images, repository: &str, tag: &str) -> String {
    let (name, version) = (repository.rsplit('/').next().unwrap(), tag.replace('_', "+"));
    let version = version.replace("latest", "9.9.9");
    let digest = images.manifest(repository, &manifest(images, repository, CHART, &chart(name, &version)));
    images.tag(repository, tag, &digest);
    digest
}

fn manifest(images: &Images, repository: &str, kind: &str, bytes: &[u8]) -> Json {
    let config = images.blob(repository, b"{}");
    let layer = json!({"mediaType": kind, "digest": images.blob(repository, bytes), "size": bytes.len()});
    json!({
        "schemaVersion": 2,
        "mediaType": Media::Oci.manifest(),
        "config": {"mediaType": CONFIG, "digest": config, "size": 2},
        "layers": [layer],
    })
}

/// Charts in a bucket.
fn fill(moto: &Moto) {
    moto.put("/charts", "");
    let local = "apiVersion: v2\nname: local\nversion: 1.0.0\ndependencies:\n- {name: plain, version: 0.x, repository: 'file://../plain'}\n";
    for (key, text) in [
        (
            "charts/plain/Chart.yaml",
            "apiVersion: v2\nname: plain\nversion: 0.1.0\n",
        ),
        ("charts/plain/values.yaml", "a: 1\nb: {c: [1, 2]}\n"),
        ("charts/plain/templates/a.yaml", "kind: A\n"),
        ("charts/local/Chart.yaml", local),
        ("charts/local/values.yaml", "a: 1\n"),
        ("packed/text.tgz", "no archive"),
        ("envs/prod.yaml", "a: 2\nb: {d: x}\n"),
    ] {
        moto.put(&format!("/charts/{key}"), text);
    }
    moto.put("/charts/packed/web.tgz", chart("web", "1.0.0"));
}

/// Charts that are signed without keys: by a bundle of cosign 3, by a signature of cosign 2, by
/// means of another Sigstore.
fn keyless(images: &Images) {
    const NAME: &str = "charts/keyless";
    let (acme, other, wish) = (Sigstore::of("acme"), Sigstore::of("mallory"), Wish::default());
    let [bundle, simple, mallory] = ["1.0.0", "2.0.0", "3.0.0"].map(|version| push(images, NAME, version));
    signatures::bundles(images, NAME, &bundle, &[acme.bundle(&statement(&bundle), &wish)]);
    let content = simple_payload(&simple);
    let annotations = acme.annotations(content.as_bytes(), &wish);
    signatures::simple(images, NAME, &simple, &content, &annotations);
    signatures::bundles(images, NAME, &mallory, &[other.bundle(&statement(&mallory), &wish)]);
}

/// As cosign 2 does.
fn sign(images: &Images, repository: &str, digest: &str, key: &Path, folder: &Path) {
    let payload = json!({"critical": {
        "identity": {"docker-reference": repository},
        "image": {"docker-manifest-digest": digest},
        "type": "cosign container image signature",
    }, "optional": null});
    let file = folder.join("payload");
    std::fs::write(&file, payload.to_string()).unwrap();
    let [key, file] = [key, &file].map(|path| path.to_str().unwrap().to_owned());
    let signature = openssl(&["dgst", "-sha256", "-sign", &key, &file]);
    let kind = "application/vnd.dev.cosign.simplesigning.v1+json";
    let mut manifest = manifest(images, repository, kind, payload.to_string().as_bytes());
    manifest["layers"][0]["annotations"] = json!({"dev.cosignproject.cosign/signature": STANDARD.encode(signature)});
    let signature = images.manifest(repository, &manifest);
    images.tag(repository, &format!("{}.sig", digest.replace(':', "-")), &signature);
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
