//! `bumpwright build -k` as its user runs it: what the controller would apply, offline.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::tool;
use std::path::Path;
use std::process::Command;

const KEY: &str = "age1";
/// What the fixture's Secret holds under `password`.
const PLAIN: &str = "p@ss w0rd";
const PLAIN_BASE64: &str = "cEBzcyB3MHJk";

fn flux(spec: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: apps\n  namespace: flux-system\n\
         spec:\n  interval: 5m\n  prune: true\n  path: ./apps\n  sourceRef: {{kind: GitRepository, name: fleet}}\n{spec}"
    )
}

/// A source with one ConfigMap, and a Kustomization with this at the end of its spec.
fn bench(spec: &str) -> Bench {
    let bench = Bench::new();
    bench.write("ks.yaml", flux(spec));
    bench.write(
        "fleet/apps/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  region: ${region:=eu}\n  cluster: ${cluster}\n",
    );
    bench
}

const RUN: [&str; 5] = ["build", "-k", "ks.yaml", "--path", "fleet"];

fn run(more: &[&str]) -> Vec<String> {
    RUN.iter().chain(more).map(|text| (*text).to_owned()).collect()
}

fn ok(bench: &Bench, more: &[&str]) -> String {
    let arguments = run(more);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    bench.ok(&arguments).out
}

/// The error of a build that fails, which prints nothing else.
fn fails(bench: &Bench, more: &[&str]) -> String {
    let arguments = run(more);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = bench.run(&arguments);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{more:?}: {}", ran.err);
    ran.err
}

#[test]
fn objects_are_those_that_are_applied() {
    let bench = bench(
        "  targetNamespace: web\n  namePrefix: my-\n  commonMetadata: {labels: {team: a}, annotations: {note: b}}\n  \
         postBuild: {substitute: {cluster: east}}\n",
    );
    bench.write(
        "fleet/apps/more/b.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  a: b\n",
    );
    // None of these is in an artifact.
    bench.write("fleet/apps/.sops.yaml", "creation_rules: []\n");
    bench.write("fleet/apps/.git/x.yaml", "not: an object\n");
    std::os::unix::fs::symlink("/etc/hostname", bench.path("fleet/apps/link.yaml")).unwrap();
    let metadata = "\n    note: b\n  labels:\n    kustomize.toolkit.fluxcd.io/name: apps\n    \
                    kustomize.toolkit.fluxcd.io/namespace: flux-system\n    team: a\n";
    let expected = format!(
        "apiVersion: v1\ndata:\n  cluster: east\n  region: eu\nkind: ConfigMap\nmetadata:\n  annotations:{metadata}  \
         name: my-settings\n  namespace: web\n---\napiVersion: v1\ndata:\n  a: Yg==\nkind: Secret\nmetadata:\n  \
         annotations:{metadata}  name: my-s\n  namespace: web\n"
    );
    assert_eq!(ok(&bench, &[]), expected);
    ok(&bench, &["-o", "all.yaml"]);
    assert_eq!(bench.read("all.yaml"), expected);
}

#[test]
fn variables_come_from_manifests() {
    let from = "  postBuild:\n    substituteFrom:\n    - {kind: ConfigMap, name: vars}\n    - {kind: Secret, name: secrets}\n    \
                - {kind: ConfigMap, name: absent, optional: true}\n";
    let bench = bench(from);
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {cluster: west, region: us}\n";
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: secrets, namespace: flux-system}\ndata: {cluster: ZWFzdA==}\n";
    let missing = fails(&bench, &[]);
    assert!(
        missing.contains("substitute from 'ConfigMap/vars' error: configmaps \"vars\" not found")
            && missing.contains("give ConfigMap flux-system/vars with -f"),
        "{missing}"
    );
    bench.write("vars/all.yaml", format!("{map}{secret}"));
    bench.write("vars/chart.yaml", "{{ if }}\n");
    let built = ok(&bench, &["-f", "vars"]);
    assert!(
        built.contains("cluster: east") && built.contains("region: us"),
        "{built}"
    );
    // Of another namespace.
    bench.write("vars/all.yaml", map.replace("flux-system", "other"));
    assert!(fails(&bench, &["-f", "vars"]).contains("\"vars\" not found"));
}

#[test]
fn a_variable_that_nobody_sets_is_an_error_unless_it_may_be_empty() {
    let bench = bench("  postBuild: {substitute: {a: b}}\n");
    assert!(!ok(&bench, &["--strict-substitute=false"]).contains("${"));
    for strict in [&[][..], &["--strict-substitute"]] {
        let error = fails(&bench, strict);
        assert!(
            error.contains("cluster") && error.contains("post build failed"),
            "{error}"
        );
    }
}

/// Flux would lose all labels of the object.
#[test]
fn a_number_among_labels_is_an_error_with_its_place() {
    let bench = bench("  postBuild: {substitute: {cluster: a, version: '1.10', secret: '2'}}\n");
    bench.write(
        "fleet/apps/web.yaml",
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n  labels:\n    app: d\n    version: \"${version}\"\n  \
         annotations: {a: '${secret}'}\nspec: {ports: [{port: 80}]}\n",
    );
    let told = fails(&bench, &[]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(
        lines[0].contains("apps/web.yaml:7:14: Service s: metadata.labels.version is a number"),
        "{told}"
    );
    assert!(
        lines[1].contains("apps/web.yaml:8:20: Service s: metadata.annotations.a is a number"),
        "{told}"
    );
    // As the error says.
    let quoted = "  postBuild: {substitute: {cluster: a, version: '\"1.10\"', secret: \"'2'\"}}\n";
    bench.write("ks.yaml", flux(quoted));
    let built = ok(&bench, &[]);
    assert!(
        built.contains("    app: d\n") && built.contains("    version: \"1.10\"\n"),
        "{built}"
    );
    assert!(built.contains("    a: \"2\"\n"), "{built}");
}

/// Flux's messages name the folder that it unpacks an artifact into. Here there is none.
#[test]
fn paths_are_named_as_the_user_knows_them() {
    let bench = bench("  components: [../none]\n");
    let told = fails(&bench, &[]);
    assert!(!told.contains("/tmp/") && told.contains("none"), "{told}");
    let missing = flux("").replace("./apps", "./none");
    bench.write("ks.yaml", missing);
    let told = fails(&bench, &[]);
    assert_eq!(
        told,
        "error: kustomization path not found: stat fleet/none: no such file or directory\n"
    );
    let inside = bench
        .command(&["build", "-k", "../ks.yaml"])
        .current_dir(bench.path("fleet"))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(inside.stderr).unwrap(),
        "error: kustomization path not found: stat none: no such file or directory\n"
    );
    bench.write("ks.yaml", flux(""));
    bench.write("fleet/apps/odd.yaml", "a: b\n");
    let told = fails(&bench, &[]);
    assert!(told.contains("from fleet/apps/odd.yaml: "), "{told}");
}

#[test]
fn what_is_no_kustomization_is_named() {
    let bench = bench("");
    for (file, found) in [
        ("", "found nothing"),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n",
            "found ConfigMap b/a",
        ),
        (
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
            "found Kustomization.kustomize.config.k8s.io",
        ),
        (
            &format!("{}---\n{}", flux(""), flux("").replace("name: apps", "name: infra")),
            "found Kustomization.kustomize.toolkit.fluxcd.io flux-system/apps, \
             Kustomization.kustomize.toolkit.fluxcd.io flux-system/infra",
        ),
    ] {
        bench.write("ks.yaml", file);
        let error = fails(&bench, &[]);
        assert!(
            error.contains("ks.yaml: expected one Kustomization") && error.contains(found),
            "{error}"
        );
    }
    bench.write("ks.yaml", flux("").replace("./apps", "./nowhere"));
    assert!(fails(&bench, &[]).contains("kustomization path not found"));
}

#[test]
fn flags_that_make_no_sense_together_are_refused() {
    let bench = bench("");
    for more in [
        &["--enable-helm"][..],
        &["--load-restrictor", "none"],
        &["--enable-exec"],
        &["fleet"],
    ] {
        let error = fails(&bench, more);
        assert!(error.contains("cannot be used with"), "{more:?}: {error}");
    }
    for arguments in [
        &["build", "--redact"][..],
        &["build", "fleet", "--path", "x"],
        &["diff", "-f", "x"],
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains("--kustomization"), "{arguments:?}: {}", ran.err);
    }
}

/// A line of the fixtures of `crates/engine/sops`.
fn fixture(name: &str) -> String {
    std::fs::read_to_string(format!("{}/fixtures/sops/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// With a Secret that SOPS encrypted, a generator that reads an encrypted file, and the key.
fn encrypted(spec: &str) -> Bench {
    let bench = bench(spec);
    let table = fixture("files.jsonl");
    let marked = "{\"case\":\"rule encrypted_regex yaml/secret\",";
    let row = table.lines().find(|line| line.starts_with(marked)).unwrap();
    let row: serde_json::Value = serde_json::from_str(row).unwrap();
    let file = row["file"].as_str().unwrap();
    bench.write("fleet/apps/secret.yaml", file);
    bench.write(
        "fleet/apps/in/kustomization.yaml",
        "secretGenerator:\n- name: whole\n  files: [f.yaml]\n",
    );
    bench.write("fleet/apps/in/f.yaml", file);
    bench.write(
        "fleet/apps/kustomization.yaml",
        "resources: [map.yaml, secret.yaml, in]\n",
    );
    let keys: serde_json::Value = serde_json::from_str(&fixture("keys.json")).unwrap();
    bench.write("age.txt", keys[KEY]["private"].as_str().unwrap());
    bench.write("other.txt", keys["age2"]["private"].as_str().unwrap());
    bench
}

#[test]
fn encrypted_values_need_keys() {
    let bench = encrypted("  decryption: {provider: sops}\n");
    let built = ok(&bench, &["--age-key-file", "age.txt"]);
    assert!(built.contains(PLAIN_BASE64), "{built}");
    let generated = built
        .split("---\n")
        .find(|object| object.contains("name: whole-"))
        .unwrap();
    assert!(!generated.contains("sops"), "{generated}");
    for more in [&[][..], &["--age-key-file", "other.txt"]] {
        let error = fails(&bench, more);
        assert!(error.contains("cannot get sops data key"), "{error}");
    }
    let error = fails(&bench, &["--age-key-file", "ks.yaml"]);
    assert!(error.contains("ks.yaml: no age key"), "{error}");
    let error = fails(&bench, &["--pgp-key-file", "age.txt"]);
    assert!(
        error.contains("age.txt: no OpenPGP key") && !error.contains("AGE-SECRET"),
        "{error}"
    );
    // K-126: without decryption in the spec.
    bench.write("ks.yaml", flux(""));
    let error = fails(&bench, &["--age-key-file", "age.txt"]);
    assert!(
        error.contains("is SOPS encrypted, configuring decryption is required"),
        "{error}"
    );
}

/// Ciphertext that nothing decrypts is refused with its place and field, with keys, with masks and without decryption.
#[test]
fn values_that_stay_encrypted_are_refused() {
    let decryption = "  decryption: {provider: sops}\n";
    let bench = encrypted(decryption);
    let file = bench.read("fleet/apps/secret.yaml");
    let runs = [
        &["--age-key-file", "age.txt"][..],
        &["--redact"],
        &["--redact", "--age-key-file", "age.txt"],
    ];
    bench.write(
        "fleet/apps/secret.yaml",
        file.replace("^(data|stringData)$", "^(data)$"),
    );
    for more in runs {
        let error = fails(&bench, more);
        let told =
            "stringData.password is still encrypted: `encrypted_regex: ^(data)$` in the metadata of SOPS leaves it out";
        assert!(
            error.contains(told) && error.contains("apps/secret.yaml:1:1") && !error.contains("ENC["),
            "{error}"
        );
    }
    // A value that was pasted, and one that a generator reads.
    let pasted = "ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]";
    for (path, text, field) in [
        (
            "fleet/apps/secret.yaml",
            format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: a}}\nstringData: {{k: 'x={pasted}'}}\n"
            ),
            "Secret/a/s: stringData.k holds what SOPS encrypted",
        ),
        (
            "fleet/apps/in/kustomization.yaml",
            format!("secretGenerator:\n- name: made\n  namespace: a\n  literals: ['k={pasted}']\n"),
            "data.k holds what SOPS encrypted",
        ),
    ] {
        bench.write("fleet/apps/secret.yaml", &file);
        bench.write(path, text);
        for more in runs {
            let error = fails(&bench, more);
            assert!(
                error.contains(field) && error.contains(&path["fleet/".len()..]) && !error.contains("ENC["),
                "{error}"
            );
        }
    }
    // Nothing decrypts at all: masks do not hide it.
    let bench = encrypted("");
    let error = fails(&bench, &["--redact"]);
    assert!(
        error.contains("is SOPS encrypted, configuring decryption is required"),
        "{error}"
    );
    // Another program decrypts it.
    let annotated = file.replace(
        "    name: creds\n",
        "    name: creds\n    annotations: {kustomize.toolkit.fluxcd.io/decrypt: Disabled}\n",
    );
    assert_ne!(annotated, file);
    bench.write("fleet/apps/secret.yaml", annotated);
    bench.write(
        "fleet/apps/in/kustomization.yaml",
        "configMapGenerator:\n- name: a\n  literals: ['k=ENC[AES256_GCM,data:x]']\n",
    );
    assert!(ok(&bench, &[]).contains("ENC[AES256_GCM"));
}

/// K-128, K-150 … K-155: objects, and files that a generator reads, each for a key of another kind.
#[test]
fn what_todays_sops_encrypts_is_built() {
    let (Some(sops), Some(age_keygen)) = (tool("sops"), tool("age-keygen")) else {
        return;
    };
    let bench = bench("  decryption: {provider: sops}\n");
    let run = |program: &Path, arguments: &[&str]| {
        let command = Command::new(program)
            .args(arguments)
            .current_dir(&bench.dir)
            .env("HOME", bench.home.path())
            .output();
        let output = command.unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let recipients = [("one.txt", &[][..]), ("two.txt", &["-pq"])].map(|(file, flags)| {
        run(&age_keygen, &[flags, &["-o", file]].concat());
        run(&age_keygen, &["-y", file]).trim().to_owned()
    });
    bench.write(
        "fleet/apps/kustomization.yaml",
        "resources: [map.yaml, secret.yaml]\nsecretGenerator:\n- name: files\n  envs: [a.env]\n  files: [b.ini, c.json, d]\n\
         generatorOptions: {disableNameSuffixHash: true}\n",
    );
    for (at, (file, text, flags)) in [
        (
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: whole\nstringData:\n  password: p@ss w0rd\n",
            &["--encrypted-regex", "^(data|stringData)$"][..],
        ),
        ("a.env", "PASSWORD=p@ss w0rd\n", &[]),
        ("b.ini", "[s]\npassword = p@ss w0rd\n", &[]),
        ("c.json", "{\"password\": \"p@ss w0rd\"}", &["--mac-only-encrypted"]),
        ("d", "p@ss w0rd", &[]),
    ]
    .into_iter()
    .enumerate()
    {
        let file = format!("fleet/apps/{file}");
        bench.write(&file, text);
        let recipient = ["--encrypt", "--age", &recipients[at % 2]];
        run(&sops, &[&recipient, flags, &["--in-place", &file]].concat());
        assert!(!bench.read(&file).contains("p@ss"), "{file}");
    }
    let built = ok(&bench, &["--age-key-file", "one.txt", "--age-key-file", "two.txt"]);
    let entry = |name: &str, plain: &str| format!("\n  {name}: {}\n", STANDARD.encode(plain));
    for (name, plain) in [
        ("password", PLAIN),
        ("PASSWORD", PLAIN),
        ("b.ini", "[s]\npassword = p@ss w0rd\n"),
        ("c.json", "{\n\t\"password\": \"p@ss w0rd\"\n}\n"),
        ("d", PLAIN),
    ] {
        assert!(built.contains(&entry(name, plain)), "{name}: {built}");
    }
    assert!(!built.contains("ENC["), "{built}");
    for alone in ["one.txt", "two.txt"] {
        let error = fails(&bench, &["--age-key-file", alone]);
        assert!(error.contains("cannot get sops data key"), "{error}");
    }
}

#[test]
fn keys_may_be_in_the_secret_that_the_kustomization_names() {
    let bench = encrypted("  decryption: {provider: sops, secretRef: {name: keys}}\n");
    let key = bench.read("age.txt").replace('\n', "\n    ");
    bench.write(
        "keys.yaml",
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: keys, namespace: flux-system}}\nstringData:\n  a.agekey: |\n    {key}\n"),
    );
    assert!(ok(&bench, &["-f", "keys.yaml"]).contains(PLAIN_BASE64));
}

#[test]
fn redacted_values_are_masked_with_and_without_keys() {
    let bench = encrypted("  decryption: {provider: sops}\n");
    let masked = ok(&bench, &["--redact"]);
    assert_eq!(ok(&bench, &["--redact", "--age-key-file", "age.txt"]), masked);
    for text in [PLAIN, PLAIN_BASE64, "AGE-SECRET-KEY", "ENC[", "mac:"] {
        assert!(!masked.contains(text), "{text}: {masked}");
    }
    let secrets: Vec<&str> = masked
        .split("---\n")
        .filter(|one| one.contains("kind: Secret"))
        .collect();
    assert_eq!(secrets.len(), 2, "{masked}");
    for secret in secrets {
        assert!(secret.contains("'**SOPS**'"), "{secret}");
    }
    // A value that cannot be decrypted is still an error.
    let error = fails(&bench, &["--redact", "--age-key-file", "other.txt"]);
    assert!(!error.is_empty());
}

/// Of several Kustomizations in a file one is taken by its name; it fits the schema and has only
/// annotations that there are.
#[test]
fn a_kustomization_is_picked_by_name_and_held_against_the_schema() {
    let bench = bench("  postBuild: {substitute: {cluster: east}}\n");
    let expected = ok(&bench, &[]);
    let other = flux("").replace("name: apps", "name: other");
    bench.write(
        "ks.yaml",
        flux("  postBuild: {substitute: {cluster: east}}\n") + "---\n" + &other,
    );
    let said = fails(&bench, &[]);
    assert!(said.contains("--name takes one of several"), "{said}");
    for name in ["apps", "flux-system/apps"] {
        assert_eq!(ok(&bench, &["--name", name]), expected);
    }
    let said = fails(&bench, &["--name", "elsewhere/apps"]);
    assert!(said.contains("expected one Kustomization elsewhere/apps"), "{said}");

    bench.write(
        "ks.yaml",
        flux("  postbuild: {substitute: {cluster: east}}\n  timeout: 5 minutes\n"),
    );
    let said = fails(&bench, &[]);
    let title = "Kustomization flux-system/apps";
    let unknown = format!("ks.yaml:11:3: {title}: spec.postbuild is unknown: did you mean postBuild?");
    assert!(said.contains(&unknown), "{said}");
    assert!(said.contains("ks.yaml:12:12: "), "{said}");
    bench.write("ks.yaml", flux("  later: {}\n"));
    assert!(ok(&bench, &["--allow-unknown-fields"]).contains("cluster: ${cluster}"));
    let annotated = |annotation: &str| {
        flux("").replace(
            "  name: apps",
            &format!("  annotations: {{bumpwright.dev/{annotation}}}\n  name: apps"),
        )
    };
    for (annotation, words) in [
        (
            "max-prune: some",
            "annotation bumpwright.dev/max-prune: \"some\" is not a number of objects",
        ),
        (
            "maxPrune: '1'",
            "annotation bumpwright.dev/maxPrune is unknown: did you mean bumpwright.dev/max-prune?",
        ),
    ] {
        bench.write("ks.yaml", annotated(annotation));
        let said = fails(&bench, &[]);
        assert!(said.contains(words), "{said}");
    }
}

/// `-o` names a folder as it does for kustomizations; nothing is written outside of it.
#[test]
fn objects_go_into_a_folder_a_file_each() {
    let bench = bench("  postBuild: {substitute: {cluster: east}}\n");
    let printed = ok(&bench, &[]);
    std::fs::create_dir(bench.path("out")).unwrap();
    assert_eq!(ok(&bench, &["-o", "out"]), "");
    assert_eq!(bench.read("out/v1_configmap_settings.yaml"), printed);
    bench.write(
        "fleet/apps/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: ../../x\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  namespace: y\n",
    );
    let said = fails(&bench, &["-o", "out"]);
    assert!(said.contains("no name of a file holds a slash"), "{said}");
    assert_eq!(std::fs::read_dir(bench.path("out")).unwrap().count(), 1);
}
