//! Images that the real cosign signed, chosen by policies: with keys and attestations of cosign 2 and 3; and
//! as without keys, with a certificate and a timestamp authority of the tests' own and a real transparency log
//! of the second version.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};

use crate::artifacts::{joined, run};
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::rekor::{ORIGIN, Rekor};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::sigstore::{ISSUER, SUBJECT, Sigstore, Wish, pem};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tool;

/// Neither a log nor sigstore's own servers.
const ALONE: [&str; 2] = ["--use-signing-config=false", "--tlog-upload=false"];
const SINCE: &str = "start-time=2024-01-01T00:00:00Z";

/// A registry, and a folder with keys.
struct World {
    registry: Registry,
    bench: Bench,
}

impl World {
    fn start() -> Option<Self> {
        for program in ["flux", "cosign2", "cosign3"] {
            tool(program)?;
        }
        let world = Self {
            registry: Registry::start()?,
            bench: Bench::new(),
        };
        Some(world)
    }

    fn folder(&self) -> std::path::PathBuf {
        self.bench.path(".")
    }

    fn image(&self) -> String {
        format!("{}/app", self.registry.host())
    }

    fn cosign(&self, major: u8, arguments: &[&str]) -> String {
        let program = tool(&format!("cosign{major}")).unwrap();
        let set = ["COSIGN_PASSWORD=", program.to_str().unwrap()];
        run(&self.folder(), "env", &joined(&[&set, arguments]), "")
    }

    /// Pushes an artifact with a tag; returns its name by digest.
    fn push(&self, tag: &str) -> String {
        self.bench.write("app.yaml", format!("version: {tag}\n"));
        let address = format!("oci://{}:{tag}", self.image());
        let push = [
            "push",
            "artifact",
            &address,
            "--path=app.yaml",
            "--source=here",
            "--revision=now",
            "--output=json",
        ];
        let said: Json = serde_json::from_str(&run(&self.folder(), "flux", &push, "")).unwrap();
        format!("{}@{}", self.image(), said["digest"].as_str().unwrap())
    }

    /// What a policy with these annotations makes of a tag: its number, or the reason and message of a skip.
    fn chosen(&self, tag: &str, annotations: &Json, trust: &Json) -> String {
        let policy = json!({"apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImagePolicy",
            "metadata": {"name": "app", "namespace": "fs", "annotations": annotations},
            "spec": {"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": tag}}}});
        let repository = json!({"apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageRepository",
            "metadata": {"name": "app", "namespace": "fs"}, "spec": {"image": self.image(), "interval": "1h"}});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "trust", "namespace": "fs"}, "stringData": trust});
        let objects = [policy, repository, secret].map(|object| format!("---\n{object}\n"));
        self.bench.write("m.yaml", objects.concat());
        let marker = r#"# {"$imagepolicy": "fs:app:tag"}"#;
        self.bench.write("a.yaml", format!("tag: 0.0.1 {marker}\n"));
        let (_, document) = self.bench.json(&["update", "a.yaml", "-f", "m.yaml"]);
        match document["runs"][0]["skips"].as_array().unwrap().first() {
            None => self.bench.read("a.yaml").split(' ').nth(1).unwrap().to_owned(),
            Some(skip) => format!(
                "{}: {}",
                skip["reason"].as_str().unwrap(),
                skip["message"].as_str().unwrap()
            ),
        }
    }
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn keys_and_attestations_of_both_majors_count() {
    let Some(world) = World::start() else { return };
    world.cosign(2, &["generate-key-pair", "--output-key-prefix=key"]);
    world.cosign(2, &["generate-key-pair", "--output-key-prefix=other"]);
    let builder = "https://builder.example/v1";
    let old = json!({"builder": {"id": builder}, "buildType": "x"});
    let new = json!({"buildDefinition": {"buildType": "x", "externalParameters": {}}, "runDetails": {"builder": {"id": builder}}});
    world.bench.write("old.json", old.to_string());
    world.bench.write("new.json", new.to_string());
    let by = |key: &str, major: u8, command: &[&str], image: &str| {
        let (alone, key) = (
            if major == 3 { &ALONE[..] } else { &ALONE[1..] },
            format!("--key={key}.key"),
        );
        world.cosign(major, &joined(&[command, &["--yes", &key], alone, &[image]]));
    };
    world.push("1.0.0");
    by("key", 2, &["sign"], &world.push("1.1.0"));
    by("key", 3, &["sign"], &world.push("1.2.0"));
    by("other", 2, &["sign"], &world.push("1.3.0"));
    by("other", 3, &["sign"], &world.push("1.4.0"));
    by(
        "key",
        2,
        &["attest", "--type=slsaprovenance", "--predicate=old.json"],
        &world.push("1.5.0"),
    );
    by(
        "key",
        3,
        &["attest", "--type=slsaprovenance1", "--predicate=new.json"],
        &world.push("1.6.0"),
    );
    by(
        "key",
        3,
        &["attest", "--type=custom", "--predicate=new.json"],
        &world.push("1.7.0"),
    );
    let keys = json!({"bumpwright.dev/verify-provider": "cosign", "bumpwright.dev/verify-secret": "trust"});
    let attested = |builder: &str| {
        let mut annotations = keys.clone();
        annotations["bumpwright.dev/verify-attestation"] = json!("slsaprovenance");
        annotations["bumpwright.dev/verify-builder-id"] = json!(builder);
        annotations
    };
    let trust = json!({"cosign.pub": read(&world.folder(), "key.pub")});
    for (tag, annotations, counts) in [
        ("1.0.0", keys.clone(), false),
        ("1.1.0", keys.clone(), true),
        ("1.2.0", keys.clone(), true),
        ("1.3.0", keys.clone(), false),
        ("1.4.0", keys.clone(), false),
        ("1.5.0", keys.clone(), false),
        ("1.2.0", attested(builder), false),
        ("1.5.0", attested(builder), true),
        ("1.5.0", attested("https://other.example"), false),
        ("1.6.0", attested(builder), true),
        ("1.6.0", attested("https://other.example"), false),
        ("1.7.0", attested(builder), false),
    ] {
        let said = world.chosen(tag, &annotations, &trust);
        let wanted = if counts { tag } else { "Unsigned: " };
        assert!(said.starts_with(wanted), "{tag} {annotations}: {said}");
    }
}

#[test]
fn identities_count_by_a_real_log_of_the_second_version() {
    let (Some(world), Some(log)) = (World::start(), Rekor::start()) else {
        return;
    };
    let now = || i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
    let sigstore = Sigstore::of("acme");
    let signer = sigstore.signer(&Wish {
        at: now(),
        ..Wish::default()
    });
    world.bench.write("key.pem", signer.key.private_pem());
    world.bench.write("certificate.pem", pem(&signer.certificate));
    world.cosign(3, &["import-key-pair", "--key=key.pem", "--output-key-prefix=signer"]);
    let authority = Sigstore::of("acme");
    let stamper = StubHttp::start(move |request| {
        Reply::bytes(
            201,
            "application/timestamp-reply",
            authority.answer(&request.body, now()),
        )
    });
    // The keys that count: those of the tests' Sigstore, and the log's.
    let key = log.public_key();
    let known = format!(
        "--rekor=url={},public-key={},{SINCE},origin={ORIGIN}",
        log.url(),
        key.display()
    );
    world.cosign(3, &["trusted-root", "create", "--out=log.json", &known]);
    let logs: Json = serde_json::from_str(&read(&world.folder(), "log.json")).unwrap();
    let mut root = sigstore.trusted_root();
    root["tlogs"] = logs["tlogs"].clone();
    world.bench.write("root.json", root.to_string());
    let server =
        |kind: &str, url: &str, version: u8| format!("--{kind}=url={url},api-version={version},{SINCE},operator=test");
    let rekor = server("rekor", &log.url(), 2);
    let tsa = server("tsa", &stamper.url("/api/v1/timestamp"), 1);
    let servers = ["--rekor-config=ANY", "--tsa-config=ANY", &rekor, &tsa];
    world.cosign(
        3,
        &joined(&[&["signing-config", "create", "--out=config.json"], &servers]),
    );
    let image = world.push("1.0.0");
    let certified = ["--key=signer.key", "--certificate=certificate.pem"];
    let config = ["--signing-config=config.json", "--trusted-root=root.json"];
    world.cosign(3, &joined(&[&["sign", "--yes"], &certified, &config, &[&image]]));
    // As cosign itself verifies it.
    let (subject, issuer) = (
        format!("--certificate-identity={SUBJECT}"),
        format!("--certificate-oidc-issuer={ISSUER}"),
    );
    let expected = ["--trusted-root=root.json", "--use-signed-timestamps", &subject, &issuer];
    world.cosign(3, &joined(&[&["verify"], &expected, &[&image]]));
    let trust = |root: &Json| json!({"trusted_root.json": root.to_string()});
    let by = |subject: &str| {
        json!({"bumpwright.dev/verify-provider": "cosign", "bumpwright.dev/verify-trusted-root": "Secret/trust",
            "bumpwright.dev/verify-identity": format!("issuer={ISSUER} subject={subject}")})
    };
    assert_eq!(world.chosen("1.0.0", &by(SUBJECT), &trust(&root)), "1.0.0");
    for (annotations, trust, why) in [
        (
            by("https://github.com/mallory/app"),
            trust(&root),
            "who is not accepted",
        ),
        (
            by(SUBJECT),
            trust(&sigstore.trusted_root()),
            "no transparency log of the trusted root has it",
        ),
        (
            by(SUBJECT),
            {
                let mut without = root.clone();
                without["timestampAuthorities"] = json!([]);
                trust(&without)
            },
            "its timestamp is not of this signature, or not by a timestamp authority of the trusted root",
        ),
    ] {
        let said = world.chosen("1.0.0", &annotations, &trust);
        assert!(said.starts_with("Unsigned: ") && said.contains(why), "{said}");
    }
}
