//! Images by their signatures: which tag `bumpwright update` writes, and what it says of others. A real registry has
//! images that a Sigstore of the tests' own signed, as cosign stores signatures.

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::images::{Images, Media};
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::signatures;
use bumpwright_testkit::sigstore::{Key, SUBJECT, Sigstore, Wish, provenance, simple_payload, statement};
use serde_json::{Value as Json, json};

const ISSUER: &str = "issuer=https://token.actions.githubusercontent.com";
/// A digest in the file.
const BEFORE: &str = "@sha256:0000000000000000000000000000000000000000000000000000000000000000";
const ACME: &str = "subject~https://github[.]com/acme/app/.*";

/// A registry with an image, manifests beside it, and a file with a marker.
struct World {
    registry: Registry,
    bench: Bench,
}

impl World {
    /// With these tags.
    fn start(tags: &[&str]) -> Option<Self> {
        let world = Self {
            registry: Registry::start()?,
            bench: Bench::new(),
        };
        tags.iter().for_each(|tag| drop(world.push(tag)));
        Some(world)
    }

    fn images(&self) -> Images {
        self.registry.images()
    }

    /// Pushes an image of its own for a tag; returns its digest.
    fn push(&self, tag: &str) -> String {
        let images = self.images();
        let created = format!("2024-01-02T03:04:{:02}Z", tag.bytes().map(u32::from).sum::<u32>() % 60);
        let digest = images.image("team/app", Media::Oci, "linux/amd64", Some(&created));
        images.tag("team/app", tag, &digest);
        digest
    }

    /// Signs an image as cosign 3 does without a key.
    fn sign(&self, digest: &str, wish: &Wish) {
        let bundle = Sigstore::of("acme").bundle(&statement(digest), wish);
        signatures::bundles(&self.images(), "team/app", digest, &[bundle]);
    }

    fn image(&self) -> String {
        format!("{}/team/app", self.registry.host())
    }

    /// Writes the manifests, with these annotations and reflection of digests, and the file with 1.0.0.
    fn describe(&self, annotations: &Json, reflection: &str) {
        let annotations: Json = annotations
            .as_object()
            .unwrap()
            .iter()
            .fold(json!({}), |mut all, (key, value)| {
                all[format!("bumpwright.dev/{key}")] = value.clone();
                all
            });
        let mut policy = json!({"apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImagePolicy",
            "metadata": {"name": "app", "namespace": "fs", "annotations": annotations},
            "spec": {"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "*"}}, "digestReflectionPolicy": reflection}});
        if reflection == "Always" {
            policy["spec"]["interval"] = json!("10m");
        }
        let repository = json!({"apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageRepository",
            "metadata": {"name": "app", "namespace": "fs"}, "spec": {"image": self.image(), "interval": "1h"}});
        let root = Sigstore::of("acme").trusted_root().to_string();
        let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sigstore", "namespace": "fs"},
            "data": {"trusted_root.json": root}});
        let secret = |name: &str, namespace: &str, entries: Json| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "stringData": entries});
        let objects = [
            policy,
            repository,
            config,
            secret("sigstore", "fs", json!({"trusted_root.json": root})),
            secret("keys", "fs", json!({"ann.pub": Key::of("ann").pem()})),
            secret("no-keys", "fs", json!({"ann.key": "x"})),
            secret("theirs", "other", json!({"ann.pub": Key::of("ann").pem()})),
        ];
        let text = objects.map(|object| format!("---\n{object}\n")).concat();
        self.bench.write("m/policies.yaml", text);
        let suffix = if reflection == "Never" { "" } else { BEFORE };
        let marker = r#"# {"$imagepolicy": "fs:app"}"#;
        self.bench
            .write("a.yaml", format!("image: {}:1.0.0{suffix} {marker}\n", self.image()));
    }

    /// What is written to the file after the image's name, and the skips.
    fn update(&self) -> (String, Vec<(String, String)>) {
        let (_, document) = self.bench.json(&["update", "a.yaml", "-f", "m/policies.yaml"]);
        let text = |value: &Json| value.as_str().unwrap().to_owned();
        let skips = document["runs"][0]["skips"].as_array().unwrap().iter();
        let skips = skips
            .map(|skip| (text(&skip["reason"]), text(&skip["message"])))
            .collect();
        let file = self.bench.read("a.yaml");
        let (_, written) = file.split_once(&format!("{}:", self.image())).unwrap();
        (written.split(' ').next().unwrap().to_owned(), skips)
    }

    /// The only skip.
    fn skip(&self) -> (String, String) {
        let (written, mut skips) = self.update();
        assert_eq!((written.as_str(), skips.len()), ("1.0.0", 1), "{skips:?}");
        skips.remove(0)
    }
}

fn keyless() -> Json {
    json!({"verify-provider": "cosign", "verify-trusted-root": "ConfigMap/sigstore", "verify-identity": format!("{ISSUER} {ACME}")})
}

fn and(mut annotations: Json, more: Json) -> Json {
    annotations
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    annotations
}

#[test]
fn only_what_is_signed_is_written() {
    let Some(world) = World::start(&["1.0.0"]) else { return };
    let (first, second) = (world.push("1.1.0"), world.push("1.2.0"));
    world.sign(&first, &Wish::default());
    world.describe(&keyless(), "Never");
    let unsigned = format!(
        "ImagePolicy fs/app: {0}:1.2.0: unsigned: no matching signatures were found for '{0}@{second}'",
        world.image()
    );
    assert_eq!(world.skip(), ("Unsigned".to_owned(), unsigned.clone()));
    // By another Sigstore, or by somebody else.
    let mallory = Sigstore::of("mallory").bundle(&statement(&second), &Wish::default());
    signatures::bundles(&world.images(), "team/app", &second, &[mallory]);
    let said = world.skip().1;
    assert_eq!(
        said,
        format!("{unsigned}: no transparency log of the trusted root has it")
    );
    let subject = SUBJECT.replace("acme", "mallory");
    world.sign(
        &second,
        &Wish {
            subject,
            ..Wish::default()
        },
    );
    let said = world.skip().1;
    assert!(said.contains("it is by \"https://github.com/mallory/app/"), "{said}");
    // The signature of another image, beside this one.
    let bundle = Sigstore::of("acme").bundle(&statement(&first), &Wish::default());
    signatures::bundles(&world.images(), "team/app", &second, &[bundle]);
    assert_eq!(
        world.skip().1,
        format!("{unsigned}: it is the signature of another image")
    );
    // The next lower tag that is signed.
    world.describe(&and(keyless(), json!({"verify-fallback": "true"})), "Never");
    assert_eq!(world.update(), ("1.1.0".to_owned(), Vec::new()));
    world.describe(&keyless(), "Never");
    world.sign(&second, &Wish::default());
    assert_eq!(world.update(), ("1.2.0".to_owned(), Vec::new()));
}

#[test]
fn only_so_many_tags_are_tried() {
    let Some(world) = World::start(&["1.0.0"]) else { return };
    let signed = world.push("1.1.0");
    world.sign(&signed, &Wish::default());
    for minor in 2..=10 {
        world.push(&format!("1.{minor}.0"));
    }
    let lower = || world.describe(&and(keyless(), json!({"verify-fallback": "true"})), "Never");
    lower();
    assert_eq!(world.update(), ("1.1.0".to_owned(), Vec::new()), "the tenth");
    world.push("1.11.0");
    lower();
    let (reason, message) = world.skip();
    assert_eq!(reason, "Unsigned");
    assert!(message.contains(":1.11.0: unsigned: "), "{message}");
}

#[test]
fn the_digest_that_is_written_is_the_one_that_was_verified() {
    let Some(world) = World::start(&["1.0.0"]) else { return };
    let digest = world.push("1.1.0");
    world.sign(&digest, &Wish::default());
    world.describe(&keyless(), "Always");
    assert_eq!(world.update(), (format!("1.1.0@{digest}"), Vec::new()));
    // The tag moves to an image that nobody signed.
    let other = world.images().image("team/app", Media::Oci, "linux/amd64", None);
    world.images().tag("team/app", "1.1.0", &other);
    world.describe(&keyless(), "Always");
    let (written, skips) = world.update();
    assert_eq!(
        (written.as_str(), skips[0].0.as_str()),
        (&*format!("1.0.0{BEFORE}"), "Unsigned")
    );
}

#[test]
fn keys_and_signatures_of_cosign_2_count_too() {
    let Some(world) = World::start(&["1.0.0"]) else { return };
    let digest = world.push("1.1.0");
    let content = simple_payload(&digest);
    let sign = |annotations: &Json| signatures::simple(&world.images(), "team/app", &digest, &content, annotations);
    let keys = json!({"verify-provider": "cosign", "verify-secret": "keys"});
    sign(&Key::of("bob").annotations(content.as_bytes()));
    world.describe(&keys, "Never");
    assert_eq!(world.skip().0, "Unsigned");
    sign(&Key::of("ann").annotations(content.as_bytes()));
    world.describe(&keys, "Never");
    assert_eq!(world.update(), ("1.1.0".to_owned(), Vec::new()));
    sign(&Sigstore::of("acme").annotations(content.as_bytes(), &Wish::default()));
    world.describe(
        &and(keyless(), json!({"verify-trusted-root": "Secret/sigstore"})),
        "Never",
    );
    assert_eq!(world.update(), ("1.1.0".to_owned(), Vec::new()));
}

#[test]
fn provenance_may_be_wanted_instead() {
    let Some(world) = World::start(&["1.0.0"]) else { return };
    let digest = world.push("1.1.0");
    let builder = "https://builder.example/v1";
    let attested = |builder: &str| {
        and(
            keyless(),
            json!({"verify-attestation": "slsaprovenance", "verify-builder-id": builder}),
        )
    };
    world.sign(&digest, &Wish::default());
    world.describe(&attested(builder), "Never");
    assert!(world.skip().1.ends_with(": it is not a provenance of SLSA (0.2 or 1)"));
    let bundle = Sigstore::of("acme").bundle(&provenance(&digest, builder), &Wish::default());
    signatures::bundles(&world.images(), "team/app", &digest, &[bundle]);
    world.describe(&attested("https://other.example"), "Never");
    assert!(world.skip().1.ends_with(": its provenance is of another builder"));
    world.describe(&attested(builder), "Never");
    assert_eq!(world.update(), ("1.1.0".to_owned(), Vec::new()));
}

#[test]
fn what_is_missing_or_not_said_right_closes_the_policy() {
    let Some(world) = World::start(&["1.0.0", "1.1.0"]) else {
        return;
    };
    let secret = |name: &str| json!({"verify-provider": "cosign", "verify-secret": name});
    for (annotations, said) in [
        (
            secret("nobody"),
            "Secret fs/nobody, which bumpwright.dev/verify-secret names, is not there",
        ),
        (
            secret("theirs"),
            "Secret fs/theirs, which bumpwright.dev/verify-secret names, is not there",
        ),
        (
            secret("no-keys"),
            "Secret fs/no-keys has no key: no entry that ends in .pub",
        ),
        (
            and(keyless(), json!({"verify-trusted-root": "ConfigMap/nobody"})),
            "ConfigMap fs/nobody, which bumpwright.dev/verify-trusted-root names, is not there",
        ),
        (
            and(keyless(), json!({"verify-trusted-root": "Secret/keys"})),
            "Secret fs/keys has no entry trusted_root.json",
        ),
        (
            json!({"verify-fallback": "true"}),
            "annotation bumpwright.dev/verify-fallback: verify-provider is missing",
        ),
        (
            and(keyless(), json!({"verify-identity": "acme"})),
            "is not a line for each identity",
        ),
    ] {
        world.describe(&annotations, "Never");
        let (reason, message) = world.skip();
        assert_eq!(reason, "PolicyNotReady", "{message}");
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn the_policy_command_tells_what_is_not_signed() {
    let Some(world) = World::start(&["1.0.0"]) else { return };
    let (first, _) = (world.push("1.1.0"), world.push("1.2.0"));
    world.sign(&first, &Wish::default());
    world.describe(&keyless(), "Never");
    let ran = world.bench.ok(&["policy", "-f", "m/policies.yaml"]);
    assert!(
        ran.out
            .contains("\n  guard: unsigned: no matching signatures were found for "),
        "{}",
        ran.out
    );
    let ran = world
        .bench
        .ok(&["policy", "-f", "m/policies.yaml", "--explain", "1.2.0"]);
    assert!(
        ran.out.contains("unsigned: no matching signatures were found for "),
        "{}",
        ran.out
    );
    let (_, document) = world.bench.json(&["policy", "-f", "m/policies.yaml"]);
    assert_eq!(document["policies"][0]["guards"][0]["reason"], "Unsigned");
    world.describe(&and(keyless(), json!({"verify-fallback": "true"})), "Never");
    let (_, document) = world.bench.json(&["policy", "-f", "m/policies.yaml"]);
    let found = &document["policies"][0];
    assert_eq!(
        (found["choice"]["tag"].as_str(), &found["guards"]),
        (Some("1.1.0"), &json!([]))
    );
    // Nobody is asked: nothing is verified.
    let (_, document) = world
        .bench
        .json(&["update", "a.yaml", "-f", "m/policies.yaml", "--offline"]);
    assert_eq!(document["runs"][0]["skips"][0]["reason"], "PolicyNotReady");
}
