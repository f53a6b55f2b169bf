//! `bumpwright markers` as its user runs it.

use bumpwright_testkit::cli::{Bench, files};

const DEPLOYMENT: &str = "spec:\n  containers:\n  - image: ghcr.io/acme/web:1.0.0\n";
const VALUES: &str =
    "image:\n  repository: ghcr.io/acme/web\n  tag: 1.0.0\nsidecar: {image: \"ghcr.io/acme/web:1.0.0\"}\n";

#[test]
fn markers_are_added_listed_and_removed() {
    let bench = Bench::new();
    bench.write("apps/web.yaml", DEPLOYMENT);
    bench.write("apps/values.yaml", VALUES);
    bench.write("apps/broken.yaml", "a: [\n");
    bench.write("main.tf", "tag = \"1.0.0\" # {\"$imagepolicy\": \"fs:web:tag\"}\n");
    let before = files(&bench.dir);
    let add = ["markers", "add", "--image", "ghcr.io/acme/web", "--policy", "fs:web"];
    let diff = bench.ok(&add);
    assert!(
        diff.out
            .contains("+  - image: ghcr.io/acme/web:1.0.0 # {\"$imagepolicy\": \"fs:web\"}\n"),
        "{}",
        diff.out
    );
    assert!(
        diff.err.contains("apps/values.yaml:4:18: it is in a flow collection"),
        "{}",
        diff.err
    );
    assert!(
        diff.err.contains("apps/broken.yaml: the YAML does not parse"),
        "{}",
        diff.err
    );
    assert_eq!(files(&bench.dir), before, "a diff writes nothing");

    let written = bench.ok(&[&add[..], &["--write"]].concat());
    assert!(written.out.ends_with("marked 3 fields in 2 files\n"), "{}", written.out);
    assert_eq!(
        bench.read("apps/values.yaml"),
        VALUES
            .replace("acme/web\n", "acme/web # {\"$imagepolicy\": \"fs:web:name\"}\n")
            .replace("tag: 1.0.0\n", "tag: 1.0.0 # {\"$imagepolicy\": \"fs:web:tag\"}\n")
    );
    assert!(
        bench
            .ok(&[&add[..], &["--write"]].concat())
            .out
            .ends_with("nothing to change\n")
    );

    let list = bench.ok(&["markers"]).out;
    for line in [
        "apps/values.yaml:2:15  fs/web  name  ghcr.io/acme/web\n",
        "apps/values.yaml:3:8  fs/web  tag  1.0.0\n",
        "apps/web.yaml:3:12  fs/web  image  ghcr.io/acme/web:1.0.0\n",
        "main.tf:1:7  fs/web  tag  1.0.0\n",
    ] {
        assert!(list.contains(line), "{list}");
    }
    let rows: serde_json::Value =
        serde_json::from_str(&bench.ok(&["markers", "-o", "json", "apps/web.yaml"]).out).unwrap();
    assert_eq!(
        (rows[0]["line"].as_u64(), rows[0]["part"].as_str()),
        (Some(3), Some("image"))
    );

    // What was marked is what `update` edits.
    let update = [
        "update",
        "--set",
        "fs:web=ghcr.io/acme/web:2.0.0",
        "--path",
        "apps/web.yaml",
    ];
    bench.ok(&update);
    assert!(bench.read("apps/web.yaml").contains("web:2.0.0 # {"));

    bench.write("apps/web.yaml", bench.read("apps/web.yaml").replace("2.0.0", "1.0.0"));
    let removed = bench.ok(&["markers", "remove", "--write", "--policy", "fs:web", "apps"]);
    assert!(
        removed.out.ends_with("unmarked 3 fields in 2 files\n"),
        "{}",
        removed.out
    );
    assert_eq!(files(&bench.dir), before);
    bench.ok(&["markers", "remove", "--formats", "hcl", "--write"]);
    assert_eq!(bench.read("main.tf"), "tag = \"1.0.0\"\n");
    assert_eq!(bench.ok(&["markers", "apps/web.yaml"]).out, "no markers\n");
}

#[test]
fn a_policy_has_a_namespace_and_a_name() {
    let bench = Bench::new();
    for wrong in ["web", ":web", "fs:", "fs:web:tag"] {
        let ran = bench.run(&["markers", "add", "--image", "x", "--policy", wrong]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("is not NAMESPACE:NAME"), "{}", ran.err);
    }
}

#[test]
fn a_single_field_is_marked() {
    let bench = Bench::new();
    bench.write("values.yaml", VALUES);
    let add = |field: &str, more: &[&str]| {
        let flags = ["markers", "add", "--policy", "fs:web", "--write", "--field", field];
        bench.run(&[&flags[..], more].concat())
    };
    let ran = add("values.yaml:3", &["--part", "tag"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "values.yaml:3:8  1.0.0  (fs:web:tag)\nmarked 1 field in 1 file\n")
    );
    let marked = VALUES.replace("tag: 1.0.0\n", "tag: 1.0.0 # {\"$imagepolicy\": \"fs:web:tag\"}\n");
    assert_eq!(bench.read("values.yaml"), marked);
    assert_eq!(add("values.yaml:3", &["--part", "tag"]).code, 0);
    for (field, told) in [
        ("values.yaml:1", "no value is on line 1"),
        ("values.yaml:9", "no value is on line 9"),
        ("values.yaml:3:7", "no value begins at 3:7"),
        ("values.yaml:4", "it is in a flow collection"),
        ("values.yaml:3", "it has the marker of another policy"),
        ("values.yaml", "expected FILE:LINE"),
        ("none.yaml:3", "none.yaml"),
    ] {
        let ran = add(field, &[]);
        assert_eq!(ran.code, 2, "{field}");
        assert!(ran.err.contains(told), "{field}: {}", ran.err);
    }
    assert_eq!(bench.read("values.yaml"), marked);
}
