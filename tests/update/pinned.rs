//! Digests that stay with their tags, fields that hold more than an image, and what is almost a marker,
//! as users see them.

use bumpwright_testkit::cli::Bench;

const OLD: &str = "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a";
const NEW: &str = "sha256:1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b";
const TAG: &str = "--set=fs:web=ghcr.io/acme/web:2.0.0";

fn with_digest() -> String {
    format!("{TAG}@{NEW}")
}

/// Place and reason of each skip.
fn skips(run: &serde_json::Value) -> Vec<String> {
    let skips = run["runs"][0]["skips"].as_array().unwrap_or_else(|| panic!("{run:#}"));
    let text = |skip: &serde_json::Value| {
        let (path, reason) = (skip["path"].as_str().unwrap(), skip["reason"].as_str().unwrap());
        format!("{path}:{} {reason}", skip["line"])
    };
    skips.iter().map(text).collect()
}

/// Markers and rules of all kinds for `TAG@DIGEST`.
#[test]
fn a_digest_behind_a_tag_stays_there() {
    let bench = Bench::new();
    let images = format!("images:\n- name: ghcr.io/acme/web\n  newTag: 1.0.0@{OLD}\n");
    let values = format!("image: {{repository: ghcr.io/acme/web, tag: '1.0.0@{OLD}'}}\n");
    bench.write("kustomization.yaml", &images);
    bench.write("values.yaml", &values);
    bench.write("versions.mk", format!("WEB = 1.0.0@{OLD}\n"));
    bench.write(
        ".bumpwright.yaml",
        "rules:\n- {files: kustomization.yaml, images: auto, policy: 'fs:web'}\n- {files: values.yaml, values: auto, policy: 'fs:web'}\n\
         - {files: versions.mk, pattern: 'WEB = (?P<v>\\S+)', policy: 'fs:web', part: tag}\n",
    );
    let marked = format!("tag: 1.0.0@{OLD} # {{\"$imagepolicy\": \"fs:web:tag\"}}\n");
    bench.write("marked.yaml", &marked);
    let (code, held) = bench.json(&["update", TAG, "--strict"]);
    assert_eq!(code, 3);
    assert_eq!(
        skips(&held),
        [
            "kustomization.yaml:3 NoDigest",
            "marked.yaml:1 NoDigest",
            "values.yaml:1 NoDigest",
            "versions.mk:1 NoDigest"
        ]
    );
    let (_, run) = bench.json(&["update", &with_digest(), "--strict"]);
    assert_eq!(skips(&run), [""; 0]);
    let new = |text: &str| text.replace("1.0.0@", "2.0.0@").replace(OLD, NEW);
    assert_eq!(bench.read("kustomization.yaml"), new(&images));
    assert_eq!(bench.read("values.yaml"), new(&values));
    assert_eq!(bench.read("marked.yaml"), new(&marked));
    assert_eq!(bench.read("versions.mk"), format!("WEB = 2.0.0@{NEW}\n"));
}

/// A rule for the tag, and a digest that it does not name.
#[test]
fn fields_of_rules_do_not_get_apart() {
    let bench = Bench::new();
    let values = format!("image:\n  tag: 1.0.0\n  digest: {OLD}\n");
    bench.write("values.yaml", &values);
    let tag = "rules:\n- {files: values.yaml, path: $.image.tag, policy: 'fs:web', part: tag}\n";
    bench.write(".bumpwright.yaml", tag);
    let (_, held) = bench.json(&["update", &with_digest()]);
    assert_eq!(skips(&held), ["values.yaml:2 Pinned"]);
    let digest = "- {files: values.yaml, path: $.image.digest, policy: 'fs:web', part: digest}\n";
    bench.write(".bumpwright.yaml", format!("{tag}{digest}"));
    let (_, held) = bench.json(&["update", TAG]);
    assert_eq!(skips(&held), ["values.yaml:2 NoDigest", "values.yaml:3 NoDigest"]);
    let (_, run) = bench.json(&["update", &with_digest()]);
    assert_eq!(skips(&run), [""; 0]);
    assert_eq!(
        bench.read("values.yaml"),
        format!("image:\n  tag: 2.0.0\n  digest: {NEW}\n")
    );
}

#[test]
fn a_digest_that_goes_is_told() {
    let bench = Bench::new();
    bench.write(
        "a.yaml",
        format!("image: ghcr.io/acme/web:1.0.0@{OLD} # {{\"$imagepolicy\": \"fs:web\"}}\n"),
    );
    let told = bench.ok(&["update", TAG, "--dry-run"]).out;
    assert!(told.contains("note: a.yaml:1:8: its digest goes"), "{told}");
    let told = bench.ok(&["update", &with_digest()]).out;
    assert!(!told.contains("note:"), "{told}");
}

#[test]
fn a_value_that_is_more_is_overwritten_only_on_demand() {
    let bench = Bench::new();
    bench.write(
        "a.yaml",
        "args:\n- --image=ghcr.io/acme/web:1.0.0 # {\"$imagepolicy\": \"fs:web\"}\n",
    );
    let (code, held) = bench.json(&["update", TAG, "--strict=markers"]);
    assert_eq!((code, skips(&held)), (3, vec!["a.yaml:2 Mismatch".to_owned()]));
    bench.ok(&["update", TAG, "--overwrite-mismatches"]);
    assert_eq!(
        bench.read("a.yaml"),
        "args:\n- ghcr.io/acme/web:2.0.0 # {\"$imagepolicy\": \"fs:web\"}\n"
    );
}

/// The MAC of SOPS is over values that are not encrypted, too.
#[test]
fn an_edit_under_a_mac_is_told() {
    let image = "image: ghcr.io/acme/web:1.0.0 # {\"$imagepolicy\": \"fs:web\"}\n";
    for (sops, is_told) in [
        ("sops:\n  mac: ENC[AES256_GCM,data:x]\n", true),
        (
            "sops:\n  mac: ENC[AES256_GCM,data:x]\n  mac_only_encrypted: true\n",
            false,
        ),
        ("other:\n  mac: x\n", false),
    ] {
        let bench = Bench::new();
        bench.write("a.yaml", format!("{image}{sops}"));
        let told = bench.ok(&["update", TAG]).out;
        assert_eq!(told.contains("note: a.yaml:1:8: the MAC of SOPS"), is_told, "{told}");
        assert!(bench.read("a.yaml").starts_with("image: ghcr.io/acme/web:2.0.0"));
    }
}

#[test]
fn what_is_almost_a_marker_is_told_and_prose_is_not() {
    let bench = Bench::new();
    bench.write(
        "a.yaml",
        "# Files here use {\"$imagepolicy\": \"...:tag\"}, never another marker\nvalues:\n  extra: |\n    - image: ghcr.io/acme/web:1.0.0 # \
         {\"$imagepolicy\": \"fs:web\"}\n  case: x # {\"$imagePolicy\": \"fs:web\"}\n  none: x # {\"imagepolicy\": \"fs:web\"}\n  bare: x # \
         $imagepolicy: fs:web\n  slash: x # {\"$imagepolicy\": \"fs/web:tag\"}\n",
    );
    bench.write("README.md", "image: x # {\"$imagepolicy\": \"fs:web\"}\n");
    bench.write(".bumpwright.yml", "rules: []\n");
    bench.write("apps/.bumpwright.yaml", "rules: []\n");
    let told = [
        ".bumpwright.yml:1 UnmatchedRule",
        "a.yaml:4 NotAScalar",
        "a.yaml:5 MalformedMarker",
        "a.yaml:6 MalformedMarker",
        "a.yaml:7 MalformedMarker",
        "a.yaml:8 MalformedMarker",
        "apps/.bumpwright.yaml:1 UnmatchedRule",
    ];
    let (code, run) = bench.json(&["update", TAG, "--strict"]);
    assert_eq!((code, skips(&run).as_slice()), (3, &told.map(str::to_owned)[..]));
    let list = bench.ok(&["markers"]).out;
    for line in [
        "a.yaml:4:37  skipped: NotAScalar",
        "a.yaml:5:11  skipped: MalformedMarker",
        ".bumpwright.yml:1:1  skipped: UnmatchedRule",
    ] {
        assert!(list.contains(line), "{line}: {list}");
    }
    // A pattern names the place in the text.
    bench.write(
        ".bumpwright.yaml",
        "rules:\n- {files: a.yaml, pattern: 'image: (?P<image>ghcr\\.io/acme/web:\\S+)', policy: 'fs:web'}\n",
    );
    let (_, run) = bench.json(&["update", TAG]);
    assert!(!skips(&run).contains(&"a.yaml:4 NotAScalar".to_owned()), "{run:#}");
    assert!(bench.read("a.yaml").contains("image: ghcr.io/acme/web:2.0.0 #"));
}
