//! Signatures of Notation, made by its library and verified as OCIRepositories by Flux's source-controller and ours:
//! who is trusted, by which level, and what is wrong with the others. As a policy for images, too.

use serde_json::{Value as Json, json};

use crate::artifacts::{joined, run};
use crate::rounds::{Case, Known, Rounds};
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::images::Media;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::tarball::archive;
use bumpwright_testkit::tool;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{OCI_REPOSITORY, SECRET, World as KubernetesWorld, condition_of};

const KNOWN: Known = Known {
    floor: 9,
    otherwise: &[
        ("other-authority", "refused in other words"),
        ("other-identity", "refused in other words"),
        ("other-scope", "refused in other words"),
        ("expired", "refused in other words"),
        ("unsigned", "refused in other words"),
        ("no-json", "refused in other words"),
    ],
};
const ACME: &str = "x509.subject:C=DE, ST=BE, O=Acme, CN=acme";

/// A registry with artifacts, and the folders of two authorities.
struct World {
    dir: tempfile::TempDir,
    registry: Registry,
}

impl World {
    fn build() -> Option<Self> {
        for program in ["notation-sign", "flux", "source-controller"] {
            tool(program)?;
        }
        let world = Self {
            dir: tempfile::tempdir().unwrap(),
            registry: Registry::start()?,
        };
        for authority in ["acme", "other"] {
            std::fs::create_dir(world.dir.path().join(authority)).unwrap();
            run(world.dir.path(), "notation-sign", &["authority", authority], "");
        }
        world.push("1.0.0", Some(&[]));
        world.push("2.0.0", Some(&["-cose"]));
        world.push("3.0.0", Some(&["-expiry=1s"]));
        world.push("4.0.0", None);
        Some(world)
    }

    /// Pushes an artifact, signed by acme with these flags.
    fn push(&self, tag: &str, signed: Option<&[&str]>) {
        let file = format!("app-{tag}.yaml");
        std::fs::write(self.dir.path().join(&file), format!("kind: App\nversion: {tag}\n")).unwrap();
        let address = format!("oci://{}/app:{tag}", self.registry.host());
        let path = format!("--path={file}");
        let push = [
            "push",
            "artifact",
            &address,
            &path,
            "--source=here",
            "--revision=now",
            "--output=json",
        ];
        let said: Json = serde_json::from_str(&run(self.dir.path(), "flux", &push, "")).unwrap();
        let image = format!("{}/app@{}", self.registry.host(), said["digest"].as_str().unwrap());
        if let Some(flags) = signed {
            self.sign(&image, flags);
        }
    }

    /// Pushes a chart as `helm push` does.
    fn push_chart(&self, version: &str, is_signed: bool) {
        let (images, name) = (self.registry.images(), "charts/web");
        let about = format!("apiVersion: v2\nname: web\nversion: {version}\n");
        let archive = archive(&[("web/Chart.yaml", about.as_bytes())]);
        let kind = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
        let layer = json!({"mediaType": kind, "digest": images.blob(name, &archive), "size": archive.len()});
        let config = json!({"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": images.blob(name, b"{}"), "size": 2});
        let manifest =
            json!({"schemaVersion": 2, "mediaType": Media::Oci.manifest(), "config": config, "layers": [layer]});
        let digest = images.manifest(name, &manifest);
        images.tag(name, version, &digest);
        if is_signed {
            self.sign(&format!("{}/{name}@{digest}", self.registry.host()), &[]);
        }
    }

    fn sign(&self, image: &str, flags: &[&str]) {
        let signer = ["sign", "-plain-http", "-key=acme/signer.key", "-chain=acme/chain.crt"];
        let arguments = joined(&[&signer, flags, &[image]]);
        run(self.dir.path(), "notation-sign", &arguments, "");
    }

    fn authority(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name).join("ca.crt")).unwrap()
    }

    /// A Secret with an authority and a trust policy of one statement.
    fn trust(&self, name: &str, authority: &str, change: Json) -> Json {
        let mut statement = json!({"name": "all", "registryScopes": ["*"], "signatureVerification": {"level": "strict"},
            "trustStores": ["ca:acme"], "trustedIdentities": [ACME]});
        statement
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let policy = json!({"version": "1.0", "trustPolicies": [statement]}).to_string();
        secret(
            name,
            json!({"trustpolicy.json": policy, "ca.crt": self.authority(authority)}),
        )
    }
}

fn secret(name: &str, entries: Json) -> Json {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": entries})
}

/// Whatever the words are, the verdict is the same.
fn verdicts(rounds: &Rounds<'_>, cases: &[Case]) {
    let verdict = |side: usize, name: &str| {
        let object = json!({ "status": rounds.sides[side].status(name) });
        let of = |kind: &str| condition_of(&object, kind).map(|condition| condition["status"].clone());
        (of("Ready"), of("SourceVerified"))
    };
    for case in cases {
        assert_eq!(verdict(1, case.name), verdict(0, case.name), "{}", case.name);
    }
}

#[test]
fn signatures_are_verified_as_by_flux() {
    let (Some(cluster), Some(world)) = (crate::rounds::cluster(), World::build()) else {
        return;
    };
    let other = "x509.subject:C=DE, ST=BE, O=Acme, CN=other";
    let objects = [
        world.trust("strict", "acme", json!({})),
        world.trust("anybody", "acme", json!({"trustedIdentities": ["*"]})),
        world.trust("other", "other", json!({})),
        world.trust("identity", "acme", json!({"trustedIdentities": [other]})),
        world.trust("scope", "acme", json!({"registryScopes": ["registry.example/app"]})),
        world.trust("audit", "other", json!({"signatureVerification": {"level": "audit"}})),
        world.trust(
            "permissive",
            "acme",
            json!({"signatureVerification": {"level": "permissive"}}),
        ),
        world.trust("skip", "acme", json!({"signatureVerification": {"level": "skip"}})),
        world.trust("level", "acme", json!({"signatureVerification": {"level": "lax"}})),
        secret("no-policy", json!({"ca.crt": world.authority("acme")})),
        secret(
            "no-json",
            json!({"ca.crt": world.authority("acme"), "trustpolicy.json": "x"}),
        ),
        secret(
            "no-authority",
            json!({"trustpolicy.json": r#"{"version": "1.0", "trustPolicies": []}"#}),
        ),
    ];
    let spec = |tag: &str, secret: &str| {
        let url = format!("oci://{}/app", world.registry.host());
        let verify = json!({"provider": "notation", "secretRef": {"name": secret}});
        // Flux's verifier of Notation takes no registry for local.
        json!({"url": url, "ref": {"tag": tag}, "insecure": true, "verify": verify})
    };
    let cases = [
        ("strict", "1.0.0", "strict"),
        ("anybody", "1.0.0", "anybody"),
        ("cose", "2.0.0", "strict"),
        ("permissive", "3.0.0", "permissive"),
        ("audit", "1.0.0", "audit"),
        ("skip", "4.0.0", "skip"),
        ("other-authority", "1.0.0", "other"),
        ("other-identity", "1.0.0", "identity"),
        ("other-scope", "1.0.0", "scope"),
        ("expired", "3.0.0", "strict"),
        ("unsigned", "4.0.0", "strict"),
        ("no-level", "1.0.0", "level"),
        ("no-policy", "1.0.0", "no-policy"),
        ("no-json", "1.0.0", "no-json"),
        ("no-authority", "1.0.0", "no-authority"),
    ];
    let cases = cases.map(|(name, tag, secret)| Case {
        name,
        spec: spec(tag, secret),
        change: None,
    });
    let kind = ("OCIRepository", "ocirepositories");
    let rounds = Rounds::first(&cluster, kind, &objects, &cases, &world.dir.path().join("sides"), &[]);
    verdicts(&rounds, &cases);
    rounds.report(&KNOWN);
}

#[test]
fn charts_are_verified_as_by_flux() {
    let (Some(cluster), Some(world)) = (crate::rounds::cluster(), World::build()) else {
        return;
    };
    world.push_chart("1.0.0", true);
    world.push_chart("2.0.0", false);
    let url = format!("oci://{}/charts", world.registry.host());
    let objects = [
        world.trust("strict", "acme", json!({})),
        world.trust("other", "other", json!({})),
        world.trust("audit", "other", json!({"signatureVerification": {"level": "audit"}})),
        json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository", "metadata": {"name": "registry"},
            "spec": {"type": "oci", "url": url, "insecure": true}}),
    ];
    let cases = [
        ("strict", "1.0.0", "strict"),
        ("audit", "1.0.0", "audit"),
        ("other", "1.0.0", "other"),
        ("unsigned", "2.0.0", "strict"),
    ];
    let cases = cases.map(|(name, version, secret)| Case {
        name,
        spec: json!({"chart": "web", "version": version, "sourceRef": {"kind": "HelmRepository", "name": "registry"},
            "verify": {"provider": "notation", "secretRef": {"name": secret}}}),
        change: None,
    });
    let kind = ("HelmChart", "helmcharts");
    let rounds = Rounds::first(&cluster, kind, &objects, &cases, &world.dir.path().join("charts"), &[]);
    verdicts(&rounds, &cases);
    rounds.report(&Known {
        floor: 2,
        otherwise: &[
            ("other", "refused in other words"),
            ("unsigned", "refused in other words"),
        ],
    });
}

#[test]
fn an_image_is_chosen_by_a_signature_of_notation() {
    let Some(world) = World::build() else { return };
    let bench = Bench::new();
    let image = format!("{}/app", world.registry.host());
    let update = |annotation: &str, range: &str| {
        let mut trust = world.trust("trust", "acme", json!({}));
        trust["metadata"]["namespace"] = json!("fs");
        let policy = json!({"apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImagePolicy",
            "metadata": {"name": "app", "namespace": "fs", "annotations": {
                "bumpwright.dev/verify-provider": "notation", "bumpwright.dev/verify-secret": annotation}},
            "spec": {"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": range}}}});
        let repository = json!({"apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageRepository",
            "metadata": {"name": "app", "namespace": "fs"}, "spec": {"image": image, "interval": "1h"}});
        let objects = [trust, policy, repository].map(|object| format!("---\n{object}\n"));
        bench.write("m.yaml", objects.concat());
        bench.write(
            "a.yaml",
            format!("image: {image}:0.9.0 # {{\"$imagepolicy\": \"fs:app\"}}\n"),
        );
        let (_, document) = bench.json(&["update", "a.yaml", "-f", "m.yaml"]);
        let skips = document["runs"][0]["skips"].as_array().unwrap();
        match skips.first() {
            None => bench
                .read("a.yaml")
                .split(' ')
                .nth(1)
                .unwrap()
                .rsplit(':')
                .next()
                .unwrap()
                .to_owned(),
            Some(skip) => format!(
                "{}: {}",
                skip["reason"].as_str().unwrap(),
                skip["message"].as_str().unwrap()
            ),
        }
    };
    assert_eq!(update("trust", "1.x"), "1.0.0");
    assert!(update("trust", "4.x").starts_with("Unsigned: "));
    until("the signature expires", || {
        let said = update("trust", "3.x");
        said.starts_with("Unsigned: ") && said.contains("the signature has expired")
    });
    assert_eq!(update("trust", "2.x"), "2.0.0");
    assert!(update("nobody", "1.x").starts_with("PolicyNotReady: "));
}

/// Flux 2.10, `status.sourceVerificationFingerprint`: another authority, and what was verified is not any more.
#[test]
fn an_authority_that_is_not_trusted_any_more_ends_the_verification() {
    let (Some(cluster), Some(signed)) = (crate::rounds::cluster(), World::build()) else {
        return;
    };
    let world = KubernetesWorld::new(&cluster, "revoked-notation");
    let address = format!("127.0.0.1:{}", free_port());
    let served = ["--storage-addr", "--storage-adv-addr"].map(|flag| format!("{flag}={address}"));
    let trust = |authority: &str| {
        let data = signed.trust("keys", authority, json!({}))["stringData"].take();
        world.put(SECRET, "keys", json!({ "stringData": data }));
    };
    trust("acme");
    let verify = json!({"provider": "notation", "secretRef": {"name": "keys"}});
    let url = format!("oci://{}/app", signed.registry.host());
    let spec = json!({"url": url, "ref": {"tag": "1.0.0"}, "insecure": true, "interval": "1h", "verify": verify});
    world.add(OCI_REPOSITORY, "app", spec);
    let starter = world.starter("controller").flags(&["--controllers=source"]);
    let _controller = starter.flags(&served).start();
    let verified = |status: &str| {
        world.condition(OCI_REPOSITORY, "app", "SourceVerified", status, |_, _| true);
        world.ready(OCI_REPOSITORY, "app", status, |_, _| true);
        world.get(OCI_REPOSITORY, "app")["status"].take()
    };
    let first = verified("True");
    for (at, authority, status) in [("revoked", "other", "False"), ("again", "acme", "True")] {
        trust(authority);
        world.request(OCI_REPOSITORY, "app", at);
        assert_eq!(verified(status)["artifact"], first["artifact"], "{at}");
    }
    let fingerprint = "sourceVerificationFingerprint";
    let last = verified("True");
    assert!(first[fingerprint].is_string() && last[fingerprint] == first[fingerprint]);
}
