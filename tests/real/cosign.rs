//! Signatures with key pairs by the real cosign 2 and 3, in each of their layouts, in a registry with the API of
//! referrers and in one without; unsigned, tampered and borrowed ones; compared with Flux's source-controller.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::artifacts::{joined, run};
use crate::rounds::{Case, Known, Rounds};
use bumpwright_testkit::registries::{InMemory, Repository};
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::rekor::{ORIGIN, Rekor};
use bumpwright_testkit::tool;

/// Neither a log nor sigstore's own servers.
const ALONE: [&str; 2] = ["--use-signing-config=false", "--tlog-upload=false"];
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

struct World {
    dir: tempfile::TempDir,
    /// Without the API of referrers.
    plain: Registry,
    /// With it.
    modern: InMemory,
    log: Rekor,
}

/// An artifact of a registry.
#[derive(Clone)]
struct Artifact {
    host: String,
    tag: String,
    digest: String,
}

impl Artifact {
    fn name(&self) -> String {
        format!("{}/app@{}", self.host, self.digest)
    }

    /// The tag with simple signatures.
    fn signatures(&self) -> String {
        format!("{}.sig", self.digest.replace(':', "-"))
    }

    fn repository(&self) -> Repository<'_> {
        Repository::new(&self.host, "app")
    }

    fn spec(&self, verify: Json) -> Json {
        json!({"url": format!("oci://{}/app", self.host), "ref": {"tag": self.tag}, "verify": verify})
    }
}

impl World {
    fn build() -> Option<Self> {
        for program in ["flux", "crane", "cosign2", "cosign3"] {
            tool(program)?;
        }
        let world = Self {
            dir: tempfile::tempdir().unwrap(),
            plain: Registry::start()?,
            modern: InMemory::cue(&[])?,
            log: Rekor::start()?,
        };
        for key in ["key", "other"] {
            world.cosign(2, &["generate-key-pair", &format!("--output-key-prefix={key}")]);
        }
        world.configure();
        Some(world)
    }

    /// What cosign 3 is told of servers: of none, and of a log.
    fn configure(&self) {
        let log = &self.log;
        let since = "start-time=2024-01-01T00:00:00Z";
        let server = format!("--rekor=url={},api-version=2,{since},operator=test", log.url());
        let key = log.public_key();
        let trusted = format!(
            "--rekor=url={},public-key={},{since},origin={ORIGIN}",
            log.url(),
            key.display()
        );
        self.cosign(3, &["signing-config", "create", "--out=alone.json"]);
        self.cosign(
            3,
            &[
                "signing-config",
                "create",
                "--out=logged.json",
                &server,
                "--rekor-config=ANY",
            ],
        );
        self.cosign(3, &["trusted-root", "create", "--out=root.json", &trusted]);
    }

    fn folder(&self) -> &Path {
        self.dir.path()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder().join(name)).unwrap()
    }

    fn cosign(&self, major: u8, arguments: &[&str]) -> String {
        let program = tool(&format!("cosign{major}")).unwrap();
        // Its key has no password; cosign 2 calls referrers an experiment.
        let set = ["COSIGN_PASSWORD=", "COSIGN_EXPERIMENTAL=1", program.to_str().unwrap()];
        run(self.folder(), "env", &joined(&[&set, arguments]), "")
    }

    /// A new artifact with this tag.
    fn artifact(&self, host: String, tag: &str) -> Artifact {
        std::fs::write(self.folder().join("app.yaml"), format!("{host}/{tag}\n")).unwrap();
        let address = format!("oci://{host}/app:{tag}");
        let about = ["--path=app.yaml", "--source=here", "--revision=now", "--output=json"];
        let said = run(
            self.folder(),
            "flux",
            &joined(&[&["push", "artifact", &address], &about]),
            "",
        );
        let said: Json = serde_json::from_str(&said).unwrap();
        let digest = said["digest"].as_str().unwrap().to_owned();
        let tag = tag.to_owned();
        Artifact { host, tag, digest }
    }

    fn sign(&self, major: u8, key: &str, artifact: &Artifact, flags: &[&str]) {
        let key = format!("--key={key}.key");
        let name = artifact.name();
        self.cosign(major, &joined(&[&["sign", "--yes", &key], flags, &[&name]]));
    }

    /// A new artifact, signed.
    fn signed(&self, host: String, tag: &str, (major, flags): (u8, &[&str])) -> Artifact {
        let artifact = self.artifact(host, tag);
        self.sign(major, "key", &artifact, flags);
        artifact
    }

    fn objects(&self) -> Vec<Json> {
        let secret = |name: &str, data: Json| {
            let metadata = json!({"name": name});
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})
        };
        vec![
            secret("key", json!({"cosign.pub": self.read("key.pub")})),
            secret("other", json!({"cosign.pub": self.read("other.pub")})),
            secret(
                "both",
                json!({"a.pub": self.read("other.pub"), "b.pub": self.read("key.pub")}),
            ),
        ]
    }
}

fn by(secret: &str) -> Json {
    json!({"provider": "cosign", "secretRef": {"name": secret}})
}

/// Where each cosign puts a signature: name, major, flags.
const LAYOUTS: [(&str, u8, &[&str]); 6] = [
    ("two", 2, &["--tlog-upload=false"]),
    (
        "two-referrer",
        2,
        &["--tlog-upload=false", "--registry-referrers-mode=oci-1-1"],
    ),
    ("three", 3, &ALONE),
    (
        "three-configured",
        3,
        &["--signing-config=alone.json", "--trusted-root=root.json"],
    ),
    (
        "three-logged",
        3,
        &["--signing-config=logged.json", "--trusted-root=root.json"],
    ),
    ("three-old", 3, &[ALONE[0], ALONE[1], "--new-bundle-format=false"]),
];

/// The sources, and whether each is verified.
struct Expected {
    cases: Vec<Case>,
    verified: Vec<bool>,
}

impl Expected {
    fn add(&mut self, name: String, spec: Json, verified: bool) {
        let name = Box::leak(name.into_boxed_str());
        self.cases.push(Case {
            name,
            spec,
            change: None,
        });
        self.verified.push(verified);
    }

    fn layouts(&mut self, world: &World) {
        for (end, host) in [("plain", world.plain.host()), ("modern", world.modern.host())] {
            for (name, major, flags) in LAYOUTS {
                let artifact = world.signed(host.clone(), name, (major, flags));
                self.add(format!("{name}-{end}"), artifact.spec(by("key")), true);
                self.add(format!("{name}-{end}-other"), artifact.spec(by("other")), false);
                self.add(format!("{name}-{end}-both"), artifact.spec(by("both")), true);
            }
            let unsigned = world.artifact(host.clone(), "unsigned");
            self.add(format!("unsigned-{end}"), unsigned.spec(by("key")), false);
            // Pushed again after it was signed.
            let moved = world.signed(host.clone(), "moved", (3, &ALONE));
            world.artifact(host.clone(), "late");
            let late = format!("{host}/app:late");
            run(world.folder(), "crane", &["tag", &late, "moved"], "");
            self.add(format!("moved-{end}"), moved.spec(by("key")), false);
        }
    }

    /// Signatures that were touched, or are of something else.
    fn tampered(&mut self, world: &World) {
        let host = world.modern.host();
        let two = world.signed(host.clone(), "source-two", (2, LAYOUTS[0].2));
        let three = world.signed(host.clone(), "source-three", (3, &ALONE));
        let borrower = world.artifact(host.clone(), "borrowed-two");
        let (from, to) = (two.signatures(), borrower.signatures());
        run(
            world.folder(),
            "crane",
            &["copy", &format!("{host}/app:{from}"), &format!("{host}/app:{to}")],
            "",
        );
        self.add("borrowed-two".to_owned(), borrower.spec(by("key")), false);
        let repository = three.repository();
        let (manifest, bundle) = bundle_of(world, &three);
        let borrower = world.artifact(host.clone(), "borrowed-three");
        refer(&manifest, &bundle, &repository, &borrower);
        self.add("borrowed-three".to_owned(), borrower.spec(by("key")), false);
        // The statement names the borrower, but is not what was signed.
        let forger = world.artifact(host, "forged-three");
        let mut forged: Json = serde_json::from_slice(&bundle).unwrap();
        let statement = STANDARD
            .decode(forged["dsseEnvelope"]["payload"].as_str().unwrap())
            .unwrap();
        let hex = |artifact: &Artifact| artifact.digest.strip_prefix("sha256:").unwrap().to_owned();
        let statement = String::from_utf8(statement)
            .unwrap()
            .replace(&hex(&three), &hex(&forger));
        forged["dsseEnvelope"]["payload"] = json!(STANDARD.encode(statement));
        refer(&manifest, forged.to_string().as_bytes(), &repository, &forger);
        self.add("forged-three".to_owned(), forger.spec(by("key")), false);
    }

    /// What stands beside a signature, or stood there.
    fn beside(&mut self, world: &World) {
        let attest = |artifact: &Artifact, key: &str| {
            std::fs::write(world.folder().join("predicate"), "{}").unwrap();
            let (key, name) = (format!("--key={key}.key"), artifact.name());
            let arguments = ["attest", "--yes", &key, "--predicate=predicate", "--type=custom"];
            world.cosign(3, &joined(&[&arguments, &ALONE, &[&name]]));
        };
        let old = world.signed(world.modern.host(), "attested", (2, LAYOUTS[0].2));
        attest(&old, "other");
        self.add("attested-by-another".to_owned(), old.spec(by("key")), true);
        let new = world.signed(world.plain.host(), "attested-three", (3, &ALONE));
        attest(&new, "other");
        self.add("attested-by-another-three".to_owned(), new.spec(by("key")), true);
        // The index of referrers has a bundle that is not there any more.
        let gone = world.signed(world.plain.host(), "gone", (3, &ALONE));
        let index = gone.repository().get(&gone.digest.replace(':', "-"));
        let bundle = index["manifests"][0]["digest"].as_str().unwrap();
        world.plain.images().forget("app", bundle);
        self.add("gone".to_owned(), gone.spec(by("key")), false);
    }
}

/// The manifest of an artifact's bundle, and the bundle.
fn bundle_of(world: &World, artifact: &Artifact) -> (Json, Vec<u8>) {
    let url = format!("http://{}/v2/app/referrers/{}", world.modern.host(), artifact.digest);
    let index = ureq::get(url).call().unwrap().body_mut().read_to_string().unwrap();
    let index: Json = serde_json::from_str(&index).unwrap();
    let manifest = artifact
        .repository()
        .get(index["manifests"][0]["digest"].as_str().unwrap());
    assert_eq!(manifest["layers"][0]["mediaType"], BUNDLE);
    let bundle = artifact
        .repository()
        .read(manifest["layers"][0]["digest"].as_str().unwrap());
    (manifest, bundle)
}

/// Has a bundle refer to an artifact.
fn refer(manifest: &Json, bundle: &[u8], repository: &Repository<'_>, artifact: &Artifact) {
    let mut manifest = manifest.clone();
    manifest["layers"][0]["digest"] = json!(repository.blob(bundle));
    manifest["layers"][0]["size"] = json!(bundle.len());
    manifest["subject"]["digest"] = json!(artifact.digest);
    repository.manifest(&format!("bundle-of-{}", artifact.tag), &manifest);
}

const KNOWN: Known = Known {
    floor: 40,
    otherwise: &[
        ("two-referrer-plain", "cosign 2's referrers count, too"),
        ("two-referrer-plain-both", "cosign 2's referrers count, too"),
        ("two-referrer-modern", "cosign 2's referrers count, too"),
        ("two-referrer-modern-both", "cosign 2's referrers count, too"),
        ("borrowed-two", "a signature of another artifact does not count"),
        ("attested-by-another", "a bundle by another key takes no signature away"),
    ],
};

fn ready(status: &Json) -> Option<&Json> {
    let conditions = status["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == "Ready")
}

#[test]
fn signatures_of_both_majors_verify() {
    let (Some(cluster), Some(world)) = (crate::rounds::cluster(), World::build()) else {
        return;
    };
    let mut expected = Expected {
        cases: Vec::new(),
        verified: Vec::new(),
    };
    expected.layouts(&world);
    expected.tampered(&world);
    expected.beside(&world);
    let kind = ("OCIRepository", "ocirepositories");
    let Expected { cases, verified } = expected;
    let rounds = Rounds::first(
        &cluster,
        kind,
        &world.objects(),
        &cases,
        &world.folder().join("sides"),
        &[],
    );
    let ours = &rounds.sides[1];
    for (case, verified) in cases.iter().zip(&verified) {
        let status = ours.status(case.name);
        let found = ready(&status).unwrap();
        let message = found["message"].as_str().unwrap();
        let is_verified = found["status"] == "True";
        let said = is_verified || message.contains("no matching signatures were found for");
        assert!(is_verified == *verified && said, "{}: {status:#}", case.name);
    }
    rounds.report(&KNOWN);
}
