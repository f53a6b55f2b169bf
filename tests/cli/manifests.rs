//! Manifests in the styles of people, read into the types of `api`.

use std::path::{Path, PathBuf};

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::corpora::{corpora, floors};

use bumpwright_api::{
    Cause, Document, ImagePolicy, ImageUpdateAutomation, Object, ObjectName, Objects, UnknownFields, could_hold, read,
    read_leniently,
};

const POLICY: &str = "\
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImagePolicy
metadata: {name: app, namespace: flux-system}
spec:
  imageRepositoryRef: {name: app}
  policy: {semver: {range: 1.x}}
status:
  latestRef: {name: ghcr.io/acme/app, tag: 1.10}
";

const AUTOMATION: &str = "\
apiVersion: image.toolkit.fluxcd.io/v1beta2
kind: ImageUpdateAutomation
metadata:
  name: all
  namespace: flux-system
spec:
  interval: 1h30m
  sourceRef: {kind: GitRepository, name: fleet}
  git:
    checkout: {ref: {branch: main}}
    commit:
      author: {name: Fluxbot, email: flux@example.com}
      messageTemplate: |
        Bump
      messageTemplateValues: {team: web}
    push:
      branch: auto
      refspec: refs/heads/auto:refs/for/main
      options: {merge_request.create: '', topic: images}
  policySelector:
    matchExpressions: [{key: team, operator: In, values: [web]}]
  update: {path: ./apps, strategy: Setters}
";

fn strict(text: &str) -> Result<Vec<Document>, String> {
    read("f.yaml", text.as_bytes(), UnknownFields::Refuse).map_err(|error| error.to_string())
}

fn policy(text: &str) -> ImagePolicy {
    match strict(text).unwrap().remove(0).object {
        Object::ImagePolicy(policy) => policy,
        other => panic!("{other:?}"),
    }
}

fn automation(text: &str) -> ImageUpdateAutomation {
    match strict(text).unwrap().remove(0).object {
        Object::ImageUpdateAutomation(automation) => automation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_policy_gives_its_image() {
    let policy = policy(POLICY);
    assert_eq!(policy.policy_name().to_string(), "flux-system/app");
    assert_eq!(
        policy.latest_ref().unwrap().unwrap().to_string(),
        "ghcr.io/acme/app:1.10"
    );
}

/// For errors of a run, which come long after the file was read; two policies are the same wherever they stand.
#[test]
fn a_policy_knows_the_place_of_its_field_that_is_not_valid() {
    let text = |spec: &str| {
        format!(
            "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {{name: a, namespace: fs}}\nspec:\n  \
             imageRepositoryRef: {{name: a}}\n{spec}"
        )
    };
    let range = "  policy:\n    semver:\n      range: x.y.z\n";
    for (spec, place) in [
        (range, Some("f.yaml:8:14")),
        (
            "  policy: {semver: {range: '*'}}\n  filterTags:\n    pattern: '('\n",
            Some("f.yaml:8:14"),
        ),
        (
            "  policy: {semver: {range: '*'}}\n  filterTags:\n    pattern: '(?P<v>.*)'\n    extract: $w\n",
            Some("f.yaml:9:14"),
        ),
        ("  policy: {semver: {range: '*'}}\n", None),
    ] {
        let policy = policy(&text(spec));
        let error = policy.chooser().err();
        let found = error.as_ref().and_then(|error| policy.place_of(error));
        assert_eq!(found, place, "{spec}");
    }
    assert_eq!(policy(&text(range)), policy(&format!("# moved\n{}", text(range))));
}

#[test]
fn latest_ref_wins_over_latest_image() {
    for (status, image) in [
        (
            "latestImage: 'localhost:5000/app:2@sha256:00'",
            Some("localhost:5000/app:2@sha256:00"),
        ),
        (
            "latestImage: a:1\n  latestRef: {name: b, tag: 2, digest: sha256:ff}",
            Some("b:2@sha256:ff"),
        ),
        ("latestRef: null", None),
        ("latestImage: ''", None),
        ("conditions: [{type: Ready, status: False}]", None),
    ] {
        let text = POLICY.replace("latestRef: {name: ghcr.io/acme/app, tag: 1.10}", status);
        let latest = policy(&text).latest_ref().unwrap().map(|latest| latest.to_string());
        assert_eq!(latest.as_deref(), image, "{status}");
    }
    assert!(
        policy(&POLICY.replace("latestRef: {name: ghcr.io/acme/app, tag: 1.10}", "latestImage: app"))
            .latest_ref()
            .is_err()
    );
}

#[test]
fn an_automation_is_read_in_all_its_fields() {
    let automation = automation(AUTOMATION);
    let spec = &automation.spec;
    let git = spec.git.as_ref().unwrap();
    let push = git.push.as_ref().unwrap();
    assert_eq!(automation.source_name(), ObjectName::new("flux-system", "fleet"));
    assert_eq!(spec.interval.unwrap().as_std().as_secs(), 5400);
    assert_eq!(automation.checkout_ref(None).unwrap().branch.as_deref(), Some("main"));
    assert_eq!(
        (&*git.commit.author.name, &*git.commit.author.email),
        ("Fluxbot", "flux@example.com")
    );
    assert_eq!(git.commit.message_template.as_deref(), Some("Bump\n"));
    assert_eq!(git.commit.message_template_values["team"], "web");
    assert_eq!(push.branch.as_deref(), Some("auto"));
    assert_eq!(push.refspec.as_deref(), Some("refs/heads/auto:refs/for/main"));
    assert_eq!(push.options["merge_request.create"], "");
    assert_eq!(spec.update.path.as_deref(), Some("./apps"));
    let selector = spec.policy_selector.as_ref().unwrap();
    assert_eq!(
        selector.matches(&[("team".to_owned(), "web".to_owned())].into()),
        Ok(true)
    );
    assert_eq!(selector.matches(&[].into()), Ok(false));
    assert!(!spec.suspend);
}

#[test]
fn all_versions_of_a_kind_are_read() {
    for version in ["v1beta1", "v1beta2", "v1"] {
        assert_eq!(automation(&AUTOMATION.replace("v1beta2", version)).metadata.name, "all");
        assert_eq!(
            policy(&POLICY.replace("io/v1", &format!("io/{version}"))).metadata.name,
            "app"
        );
    }
    // IUA-006: the same by another name, which no API server serves any more.
    let policies = read_leniently("f.yaml", POLICY.replace("io/v1", "io/v1alpha2").as_bytes());
    assert_eq!((policies.documents.len(), policies.problems), (1, Vec::new()));
    for version in ["v1alpha1", "v1alpha2"] {
        assert_eq!(
            strict(&AUTOMATION.replace("v1beta2", version)).unwrap_err(),
            format!(
                "f.yaml:1:1: ImageUpdateAutomation of image.toolkit.fluxcd.io/{version} is not read here; \
                 `bumpwright migrate` rewrites it as v1"
            )
        );
    }
    let newer = strict(&AUTOMATION.replace("v1beta2", "v2")).unwrap_err();
    assert!(
        newer.ends_with("is not read here; write it as v1, v1beta2 or v1beta1"),
        "{newer}"
    );
}

#[test]
fn an_error_names_file_place_object_and_field() {
    for (from, to, place, error) in [
        (
            ", email: flux@example.com",
            "",
            "12:15",
            " flux-system/all: spec.git.commit.author.email is required",
        ),
        (
            "1h30m",
            "5 min",
            "7:13",
            " flux-system/all: spec.interval is not a duration: time: unknown unit \" min\" in duration \"5 min\"",
        ),
        (
            "kind: GitRepository, name: fleet",
            "kind: Bucket, name: fleet",
            "8:21",
            " flux-system/all: spec.sourceRef.kind is \"Bucket\", which is not supported; supported: \"GitRepository\"",
        ),
        (
            "strategy: Setters",
            "strategy: Magic",
            "22:36",
            " flux-system/all: spec.update.strategy is \"Magic\", which is not supported; supported: \"Setters\"",
        ),
        (
            "values: [web]",
            "values: web",
            "21:58",
            " flux-system/all: spec.policySelector.matchExpressions[0].values must be a list, not a scalar",
        ),
        ("  name: all\n", "", "4:3", ": metadata.name is required"),
        (
            "  name: all\n",
            "  name: ''\n",
            "1:1",
            " flux-system/: metadata.name is required",
        ),
    ] {
        assert!(AUTOMATION.contains(from), "{from}");
        let expected = format!("f.yaml:{place}: ImageUpdateAutomation{error}");
        assert_eq!(strict(&AUTOMATION.replace(from, to)), Err(expected));
    }
    assert_eq!(
        strict(&AUTOMATION.replace("    push:\n", "    push: {}\n    push:\n")).unwrap_err(),
        "f.yaml:17:5: not valid YAML: duplicate key \"push\"; an object has each key once"
    );
}

#[test]
fn text_that_is_no_yaml_is_an_error_with_a_place() {
    assert!(strict("b: c\na: [\n").unwrap_err().starts_with("f.yaml:2:"));
    assert_eq!(
        read("f.yaml", b"a: b\n# \xe9\xff", UnknownFields::Refuse)
            .unwrap_err()
            .to_string(),
        "f.yaml:2:3: not UTF-8 text"
    );
}

#[test]
fn a_list_is_unwrapped_and_foreign_kinds_are_passed_over() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: [odd]}\n\
        - apiVersion: image.toolkit.fluxcd.io/v1\n  kind: ImagePolicyList\n  items:\n  \
        - {apiVersion: image.toolkit.fluxcd.io/v1, kind: ImagePolicy, metadata: {name: in}}\n";
    let documents = strict(list).unwrap();
    assert_eq!(documents.len(), 1);
    assert_eq!(documents[0].object.metadata().namespace, None);
    assert_eq!(documents[0].object.metadata().object_name().to_string(), "default/in");
    assert_eq!((documents[0].place.line, documents[0].place.column), (8, 5));
}

#[test]
fn json_with_tabs_and_windows_text_with_bom_are_read() {
    let json = "{\n\t\"apiVersion\": \"image.toolkit.fluxcd.io/v1\",\n\t\"kind\": \"ImagePolicy\",\n\t\"metadata\": {\n\t\t\"name\": \"app\"\n\t}\n}\n";
    assert_eq!(policy(json).metadata.name, "app");
    let windows = format!("\u{feff}{}", POLICY.replace('\n', "\r\n"));
    assert_eq!(policy(&windows).latest_ref().unwrap().unwrap().tag, "1.10");
}

#[test]
fn a_secret_is_decoded_and_never_printed() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: git}\ndata:\n  username: Z2l0\n  password: |\n    aHVu\n    dGVyMg==\n\
        stringData: {username: flux}\n";
    let document = strict(text).unwrap().remove(0);
    let printed = format!("{document:?}");
    let Object::Secret(secret) = &document.object else {
        panic!()
    };
    assert_eq!(secret.text("username"), Ok(Some("flux")));
    assert_eq!(secret.text("password"), Ok(Some("hunter2")));
    assert_eq!(secret.text("token"), Ok(None));
    assert!(
        !printed.contains("hunter2") && !printed.contains("flux") && printed.contains("password"),
        "{printed}"
    );
}

#[test]
fn a_value_of_a_secret_that_cannot_be_used_is_an_error_only_when_it_is_asked_for() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: git, namespace: apps}\n\
        data: {a: 's3cr3t!', b: 'ENC[AES256_GCM,data:s3cr3t]', c: /w==}\nstringData: {d: 'ENC[AES256_GCM,data:s3cr3t]'}\n";
    let Object::Secret(secret) = strict(text).unwrap().remove(0).object else {
        panic!()
    };
    for (key, error) in [
        (
            "a",
            "Secret apps/git: data.a is not base64; write plain text under stringData",
        ),
        (
            "b",
            "Secret apps/git: the value of b is encrypted by SOPS; give the decrypted Secret",
        ),
        ("c", "Secret apps/git: the value of c is not UTF-8 text"),
        (
            "d",
            "Secret apps/git: the value of d is encrypted by SOPS; give the decrypted Secret",
        ),
    ] {
        assert_eq!(secret.text(key).unwrap_err().to_string(), error);
    }
    assert_eq!(secret.keys().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
}

#[test]
fn what_does_not_fit_in_a_repository_is_a_problem_and_the_rest_is_read() {
    let text = format!(
        "{AUTOMATION}---\n{}---\n{POLICY}---\n{{{{ template }}}}\n",
        POLICY.replace("name: app,", "")
    );
    assert!(could_hold(text.as_bytes()) && !could_hold(b"kind: ImagePolicy"));
    let read = read_leniently("p.yaml", text.as_bytes());
    assert_eq!(read.documents.len(), 1, "{:?}", read.documents);
    assert!(matches!(read.documents[0].object, Object::ImagePolicy(_)));
    let problems: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    assert!(
        problems[0].ends_with("ImagePolicy: metadata.name is required"),
        "{problems:?}"
    );
    assert!(matches!(read.problems[1].cause, Cause::Syntax(_)), "{problems:?}");
    assert_eq!(
        read_leniently("p.bin", b"image.toolkit.fluxcd.io\xff").problems.len(),
        1
    );
}

#[test]
fn a_secret_in_a_repository_is_never_read() {
    let read = read_leniently(
        "s.yaml",
        b"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n",
    );
    assert_eq!((read.documents.len(), read.problems.len()), (0, 0));
}

#[test]
fn two_different_objects_of_one_name_are_a_conflict() {
    let mut objects = Objects::default();
    let same = |path: &str, text: &str| read(path, text.as_bytes(), UnknownFields::Refuse).unwrap();
    objects.insert_all(same("a.yaml", POLICY)).unwrap();
    objects
        .insert_all(same("b.yaml", &format!("# again\n{POLICY}")))
        .unwrap();
    let conflict = objects
        .insert_all(same("c.yaml", &format!("---\n{}", POLICY.replace("1.10", "1.11"))))
        .unwrap_err();
    assert_eq!(
        conflict.to_string(),
        "ImagePolicy flux-system/app stands twice and differs: a.yaml:1 and c.yaml:2; leave one of them out"
    );
    assert_eq!(objects.len(), 1);
}

#[test]
fn objects_given_lie_over_those_of_the_repository() {
    let tag = |objects: &Objects, name: &str| {
        let policy = objects.image_policy(&ObjectName::new("flux-system", name));
        policy
            .and_then(|policy| policy.latest_ref().unwrap())
            .map(|latest| latest.tag)
    };
    let (mut given, mut found) = (Objects::default(), Objects::default());
    given.insert_all(strict(POLICY).unwrap()).unwrap();
    let other = POLICY.replace("name: app,", "name: other,");
    found
        .insert_all(strict(&format!("{}---\n{other}", POLICY.replace("1.10", "9.9"))).unwrap())
        .unwrap();
    let all = given.overlay(found);
    assert_eq!(
        (tag(&all, "app").as_deref(), tag(&all, "other").as_deref()),
        (Some("1.10"), Some("1.10"))
    );
    assert_eq!(all.image_policies().count(), 2);
}

#[test]
fn in_a_repository_the_policy_with_an_image_wins() {
    let bare = POLICY.split("status:").next().unwrap();
    let one = |text: &str| strict(text).unwrap().remove(0);
    let mut objects = Objects::default();
    assert_eq!(objects.absorb(one(bare)), None);
    assert_eq!(objects.absorb(one(POLICY)), None);
    assert_eq!(objects.absorb(one(bare)), None);
    assert_eq!(objects.absorb(one(&POLICY.replace("1.x", "2.x"))), None);
    assert!(objects.absorb(one(&POLICY.replace("1.10", "1.11"))).is_some());
    let latest = objects.image_policies().next().unwrap().latest_ref().unwrap().unwrap();
    assert_eq!(latest.tag, "1.10");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    /// For any mutation of a manifest, parsing ends, and a fault has a position inside the text.
    #[test]
    fn damaged_manifests_have_a_place(cuts in proptest::collection::vec((0usize..900, proptest::prelude::any::<u8>()), 1..6)) {
        let mut text = format!("{AUTOMATION}---\n{POLICY}").into_bytes();
        for (at, byte) in cuts {
            let at = at % text.len();
            match byte {
                0..64 => { text.remove(at); }
                64..128 => text.insert(at, b" \n\t:-#{}[]&*!|>'\"%@`,?"[usize::from(byte) % 22]),
                _ => text[at] = byte.wrapping_mul(2),
            }
        }
        for error in read("f.yaml", &text, UnknownFields::Refuse).err().map_or_else(Vec::new, |errors| errors.0) {
            let lines = text.split(|byte| *byte == b'\n').count();
            proptest::prop_assert!((1..=lines + 1).contains(&error.place.line), "{error}");
            proptest::prop_assert!(error.place.column >= 1 && error.place.column <= text.len() + 1, "{error}");
        }
        let lenient = read_leniently("f.yaml", &text);
        proptest::prop_assert!(lenient.documents.len() <= 2);
    }
}

/// Examples read whole; only ever rises.
const CONTRACT_FLOOR: usize = 34;
const SCENARIO_FLOOR: usize = 481;

/// Examples that are no manifests as the documents print them, and the word that tells why.
const NOT_MANIFESTS: &[(&str, &str)] = &[
    // Placeholders and elisions that are no YAML.
    ("beyond-imagepolicies-v1/15-latest-ref.yaml", "not valid YAML"),
    ("000/25-secret-less-authentication.yaml", "not valid YAML"),
    ("001/29-variable-substitution.yaml", "not valid YAML"),
    (
        "beyond-imageupdateautomations-v1/38-observed-policies.yaml",
        "not valid YAML",
    ),
    // Two states of one object on one page, and the version before v1beta1.
    ("004/13-change-the-api-version.yaml", "duplicate key"),
    ("004/14-move-sourceref-and-checkout.yaml", "duplicate key"),
    ("004/15-move-commit.yaml", "duplicate key"),
    ("004/16-move-push.yaml", "duplicate key"),
    ("004/12-migrating-from-v1alpha1-original.yaml", "v1alpha1 is not read"),
];

/// All manifests of the documents: each is read, or is a fragment that lacks a required field.
#[test]
fn contract_examples() {
    let mut files = Vec::new();
    collect(&corpora().join("contract/examples"), &mut files);
    if files.is_empty() {
        println!("contract examples: absent");
        return;
    }
    let (mut ours, mut whole, mut unexpected) = (0, 0, Vec::new());
    for file in &files {
        let path = file.display().to_string();
        let known = NOT_MANIFESTS.iter().find(|(name, _)| path.ends_with(name));
        match (read(&path, &std::fs::read(file).unwrap(), UnknownFields::Refuse), known) {
            (Ok(documents), None) if documents.is_empty() => {}
            (Ok(_), None) => (ours, whole) = (ours + 1, whole + 1),
            (Err(error), None) if error.to_string().ends_with(" is required") => ours += 1,
            (Err(error), Some((_, word))) if error.to_string().contains(word) => {}
            (outcome, _) => unexpected.push(format!("{path}: {outcome:?}")),
        }
    }
    println!("contract examples: {whole} of {ours} ({} are fragments)", ours - whole);
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    assert!(whole >= CONTRACT_FLOOR || !floors(), "{whole} < {CONTRACT_FLOOR}");
}

/// Objects that a real API server took, in the recorded scenarios, all of them in our kinds.
#[test]
fn scenario_objects() {
    let mut files = Vec::new();
    collect(&corpora().join("harness/scenarios/image"), &mut files);
    if files.is_empty() {
        println!("scenario objects: absent");
        return;
    }
    let (mut whole, mut faults) = (0, Vec::new());
    for file in &files {
        let scenario: serde_json::Value = serde_saphyr::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let steps = scenario["steps"].as_array().cloned().unwrap_or_default();
        let applied = steps
            .iter()
            .flat_map(|step| step["apply"].as_array().cloned().unwrap_or_default());
        let ours = applied.filter(|object| {
            let kind = object["kind"].as_str().unwrap_or_default();
            [
                "ImagePolicy",
                "ImageRepository",
                "ImageUpdateAutomation",
                "GitRepository",
                "Secret",
            ]
            .contains(&kind)
        });
        for object in ours {
            match read(
                &file.display().to_string(),
                object.to_string().as_bytes(),
                UnknownFields::Refuse,
            )
            .as_deref()
            {
                Ok([document]) => {
                    assert_eq!(document.object.metadata().name, object["metadata"]["name"]);
                    whole += 1;
                }
                Ok(other) => faults.push(format!("{file:?}: {other:?}")),
                Err(error) => faults.push(error.to_string()),
            }
        }
    }
    println!("scenario objects: {whole} of {}", whole + faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(whole >= SCENARIO_FLOOR || !floors(), "{whole} < {SCENARIO_FLOOR}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        match path.extension().and_then(|extension| extension.to_str()) {
            _ if path.is_dir() => collect(&path, files),
            Some("yaml" | "yml") => files.push(path),
            _ => {}
        }
    }
}

/// A kind that is nearly one of its group is an error in `-f`, and a note in the files of a repository.
#[test]
fn a_misspelt_kind_is_told() {
    let bench = Bench::new();
    let policy = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolcy\nmetadata: {name: app, namespace: fs}\n\
                  spec: {imageRepositoryRef: {name: app}, policy: {semver: {range: '*'}}}\n";
    bench.write("policy.yaml", policy);
    let said = "policy.yaml:2:7: kind ImagePolcy is unknown in image.toolkit.fluxcd.io: did you mean ImagePolicy?";
    for arguments in [
        &["update", "--dry-run", "-f", "policy.yaml"][..],
        &["policy", "-f", "policy.yaml"],
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?} {}", ran.out);
        assert!(ran.err.contains(said), "{arguments:?} {}", ran.err);
    }
    bench.write("app.yaml", "image: o/app:1 # {\"$imagepolicy\": \"fs:app\"}\n");
    let ran = bench.run(&["update", "--dry-run", "--offline", "."]);
    assert!(ran.out.contains(said), "{}\n{}", ran.out, ran.err);
    // Kinds of the same groups that are not read are none of ours to judge.
    let other = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: a}\n";
    bench.write("policy.yaml", other);
    let ran = bench.run(&["update", "--dry-run", "--offline", "-f", "policy.yaml", "."]);
    assert!(!ran.err.contains("did you mean"), "{}", ran.err);
}

/// A word in the place of a path that is nearly a command.
#[test]
fn a_misspelt_command_is_told() {
    let bench = Bench::new();
    for (arguments, near) in [
        (["markers", "lst"], "list"),
        (["fleet", "chek"], "check"),
        (["fleet", "help"], "help"),
    ] {
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, 2, "{arguments:?} {}", ran.out);
        assert!(
            ran.err.contains(&format!("did you mean {near}?")),
            "{arguments:?} {}",
            ran.err
        );
    }
}
