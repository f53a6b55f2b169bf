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
    bench.write(
        "chart/templates/web.yaml",
        "image: {{ .Values.image }}\n{{- if .Values.x }}\n",
    );
    let chart = bench.run(&[&add[..], &["chart"]].concat());
    assert!(
        chart.err.contains(
            "skipped: chart/templates/web.yaml: it is a template of a Helm chart: its own fields are marked with --formats template"
        ),
        "{}",
        chart.err
    );
    std::fs::remove_dir_all(bench.path("chart")).unwrap();

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
    assert_eq!(bench.ok(&["markers", "list"]).out, list);
    assert_eq!(bench.ok(&["markers", "list", "apps/web.yaml"]).out.lines().count(), 1);
    for line in [
        "apps/values.yaml:2:15  fs/web  name  ghcr.io/acme/web\n",
        "apps/values.yaml:3:8  fs/web  tag  1.0.0\n",
        "apps/web.yaml:3:12  fs/web  image  ghcr.io/acme/web:1.0.0\n",
        "main.tf:1:7  fs/web  tag  1.0.0\n",
    ] {
        assert!(list.contains(line), "{list}");
    }
    let (_, document) = bench.json(&["markers", "list", "apps/web.yaml"]);
    let rows = &document["markers"];
    assert_eq!(document["version"], 1);
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

/// Where nothing is marked it is said why.
#[test]
fn nothing_to_mark_is_told_with_the_reason() {
    let bench = Bench::new();
    bench.write("a.yaml", "image: acme/web:1.0.0 # {\"$imagepolicy\": \"fs:web\"}\n");
    bench.write("b.yaml", "image: acme/api:1.0.0 # {\"$imagepolicy\": \"fs:other\"}\n");
    bench.write("c.yaml", "containers:\n- image: acme/job\n");
    bench.write("d.yaml", "imageName: acme/tool\nimageTag: 1.0.0\n");
    for (image, policy, told) in [
        ("acme/web", "fs:web", "note: marked already: 1 field of acme/web\n"),
        (
            "acme/api",
            "fs:api",
            "skipped: b.yaml:1:8: it has the marker of another policy: take that away first (`bumpwright markers remove`)\n",
        ),
        (
            "acme/job",
            "fs:job",
            "note: no field holds a version of acme/job: 4 files were looked at; its name is at c.yaml:2, without a tag or digest",
        ),
        (
            "acme/none",
            "fs:none",
            "note: no field holds a version of acme/none: 4 files were looked at\n",
        ),
    ] {
        for write in [&[][..], &["--write"]] {
            let ran = bench.ok(&[&["markers", "add", "--image", image, "--policy", policy], write].concat());
            assert!(ran.err.contains(told), "{told}\n{}", ran.err);
            let nothing = if write.is_empty() { "" } else { "nothing to change\n" };
            assert_eq!(ran.out, nothing);
        }
    }
    let ran = bench.ok(&[
        "markers",
        "add",
        "--image",
        "acme/tool",
        "--policy",
        "fs:tool",
        "--write",
    ]);
    assert_eq!(ran.err, "");
    assert!(
        bench
            .read("d.yaml")
            .contains("imageTag: 1.0.0 # {\"$imagepolicy\": \"fs:tool:tag\"}\n")
    );
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
fn a_policy_that_no_marker_names_is_told_with_the_one_that_was_meant() {
    let bench = Bench::new();
    bench.write("a.yaml", "image: o/web:1 # {\"$imagepolicy\": \"fs:web\"}\n");
    let ran = bench.run(&["markers", "remove", "--policy", "fs:wbe", "."]);
    assert!(
        ran.code == 2
            && ran
                .err
                .ends_with("error: --policy fs:wbe: no marker names this policy; did you mean fs:web?\n"),
        "{} {}",
        ran.code,
        ran.err
    );
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

/// In each format the marker is where its readers take it for a comment, and taking it away brings back the file.
#[test]
fn fields_of_other_formats_are_marked() {
    const MARKER: &str = "{\"$imagepolicy\": \"fs:web\"}";
    let cases = [
        (
            "Dockerfile",
            "FROM ghcr.io/acme/web:1 AS web\n",
            "# @\nFROM ghcr.io/acme/web:1 AS web\n",
        ),
        (
            ".env",
            "WEB=ghcr.io/acme/web:1\r\n",
            "# @\r\nWEB=ghcr.io/acme/web:1\r\n",
        ),
        (
            "main.tf",
            "web = \"ghcr.io/acme/web:1\"\n",
            "web = \"ghcr.io/acme/web:1\" # @\n",
        ),
        (
            "a.ini",
            "[web]\nimage = ghcr.io/acme/web:1\n",
            "[web]\n; @\nimage = ghcr.io/acme/web:1\n",
        ),
        ("Makefile", "WEB = ghcr.io/acme/web:1", "# @\nWEB = ghcr.io/acme/web:1"),
        (
            "a.properties",
            "web: ghcr.io/acme/web:1\n",
            "# @\nweb: ghcr.io/acme/web:1\n",
        ),
        ("a.sh", "  WEB=ghcr.io/acme/web:1\n", "  WEB=ghcr.io/acme/web:1 # @\n"),
        (
            "a.tpl",
            "image: ghcr.io/acme/web:1\n",
            "image: ghcr.io/acme/web:1 {{- /* @ */}}\n",
        ),
        (
            "a.toml",
            "web = [\n  'ghcr.io/acme/web:1',\n]\n",
            "web = [\n  'ghcr.io/acme/web:1', # @\n]\n",
        ),
        (
            "a.json",
            "{\n  \"web\": \"ghcr.io/acme/web:1\"\n}\n",
            "{\n  \"//web\": \"@\",\n  \"web\": \"ghcr.io/acme/web:1\"\n}\n",
        ),
        (
            "a.yaml",
            "image: ghcr.io/acme/web:1\n",
            "image: ghcr.io/acme/web:1 # @\n",
        ),
    ];
    let marked = |path: &str, text: &str| match path {
        "a.json" => text.replace('@', &MARKER.replace('"', "\\\"")),
        _ => text.replace('@', MARKER),
    };
    let bench = Bench::new();
    for (path, text, _) in &cases {
        bench.write(path, text);
    }
    let before = files(&bench.dir);
    let add = ["markers", "add", "--policy", "fs:web", "--write", "--formats", "all"];
    let ran = bench.ok(&[&add[..], &["--image", "ghcr.io/acme/web"]].concat());
    assert!(
        ran.out.ends_with("marked 11 fields in 11 files\n"),
        "{}{}",
        ran.out,
        ran.err
    );
    for (path, _, text) in &cases {
        assert_eq!(bench.read(path), marked(path, text), "{path}");
    }
    bench.ok(&["markers", "remove", "--write", "--formats", "all"]);
    assert_eq!(files(&bench.dir), before);
    for (path, text, wanted) in &cases {
        let line = text.lines().position(|line| line.contains("acme")).unwrap() + 1;
        let ran = bench.run(&[&add[..], &["--field", &format!("{path}:{line}")]].concat());
        assert_eq!(ran.code, 0, "{path}: {}{}", ran.out, ran.err);
        assert_eq!(bench.read(path), marked(path, wanted), "{path}");
    }
    let flags = ["markers", "add", "--policy", "fs:web", "--field", "Makefile:2"];
    let ran = bench.run(&flags);
    assert!(ran.err.contains("marked with --formats make"), "{}", ran.err);
}

/// What help texts and annotations say of formats is what there is.
#[test]
fn the_names_of_formats_are_told() {
    let names: Vec<&str> = bumpwright_edit::Format::ALL.iter().map(|(_, name)| *name).collect();
    let names = names.join(", ");
    let bench = Bench::new();
    for command in [
        &["update", "--help"][..],
        &["markers", "add", "--help"],
        &["markers", "remove", "--help"],
    ] {
        let words = bench.ok(command).out;
        let words: Vec<&str> = words.split_whitespace().collect();
        assert!(words.join(" ").contains(&names), "{command:?}: {}", words.join(" "));
    }
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guides/formats.md")).unwrap();
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let rows: Vec<&str> = rows.map(|(name, _)| name).collect();
    assert_eq!(rows.join(", "), names);
}

/// A fleet whose cluster has a policy: what is almost a marker, and what rules nobody follows.
#[test]
fn fleet_check_tells_what_no_marker_is_and_leaves_prose_alone() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    let kustomization = |name: &str, path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\nspec:\n  \
             {{interval: 5m, prune: true, path: {path}, sourceRef: {{kind: GitRepository, name: fleet}}}}\n---\n"
        )
    };
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: flux-system}\nspec: {interval: \
                  1m, url: 'https://git.example.com/fleet.git', ref: {branch: main}}\n";
    let images = "# Files here use {\"$imagepolicy\": \"...:tag\"}, never the whole image\napiVersion: image.toolkit.fluxcd.io/v1\nkind: \
                  ImageRepository\nmetadata: {name: web, namespace: flux-system}\nspec: {image: ghcr.io/acme/web, interval: 5m}\n---\n\
                  apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {name: web, namespace: flux-system}\nspec: \
                  {imageRepositoryRef: {name: web}, policy: {semver: {range: '*'}}}\n";
    bench.write(
        "clusters/prod/sync.yaml",
        kustomization("fleet", "./clusters/prod") + &kustomization("apps", "./apps") + source,
    );
    bench.write("clusters/prod/images.yaml", images);
    bench.write("apps/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata:\n  a: x # {\"$imagePolicy\": \"flux-system:web\"}\n  \
                 b: --image=ghcr.io/acme/web:1 # {\"$imagepolicy\": \"flux-system:web\"}\n");
    bench.write(
        "apps/kustomization.yaml",
        "resources: [config.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n    - op: replace\n      path: /data/a\n      value: \
         ghcr.io/acme/web:1.0.0 # {\"$imagepolicy\": \"flux-system:web\"}\n",
    );
    bench.write(".bumpwright.yml", "rules: []\n");
    bench.write("apps/rules/.bumpwright.yaml", "rules: []\n");
    let list = bench.ok(&["markers"]).out;
    let mismatch = "apps/config.yaml:6:6  skipped: Mismatch: the field holds a flag, which the whole image of flux-system:web would replace";
    assert!(list.contains(mismatch), "{list}");
    let (code, document) = bench.json(&["fleet", "check", "--offline", "clusters/prod"]);
    let findings = document["findings"].as_array().unwrap().iter();
    let findings: Vec<String> = findings
        .map(|finding| {
            format!(
                "{}:{} {}",
                finding["place"]["path"].as_str().unwrap(),
                finding["place"]["line"],
                finding["rule"].as_str().unwrap()
            )
        })
        .collect();
    for place in [
        ".bumpwright.yml:1 unmatched-rule",
        "apps/config.yaml:5 unknown-policy",
        "apps/config.yaml:6 unknown-policy",
        "apps/kustomization.yaml:7 unknown-policy",
        "apps/rules/.bumpwright.yaml:1 unmatched-rule",
    ] {
        assert!(findings.iter().any(|finding| finding == place), "{place}: {document:#}");
    }
    assert!(
        !findings.iter().any(|finding| finding.contains("images.yaml")),
        "{document:#}"
    );
    assert_eq!(code, 1);
}

/// One marker is taken away by its place, as the list has it.
#[test]
fn the_marker_of_one_field_is_removed() {
    let bench = Bench::new();
    let line = |key: &str, policy: &str| format!("{key}: o/app:1 # {{\"$imagepolicy\": \"fs:{policy}\"}}\n");
    let text = line("a", "app") + &line("b", "app") + &line("c", "other");
    bench.write("apps/a.yaml", &text);
    let ran = bench.ok(&["markers", "remove", "--field", "apps/a.yaml:2", "--write"]);
    assert!(ran.out.contains("unmarked"), "{}", ran.out);
    assert_eq!(
        bench.read("apps/a.yaml"),
        line("a", "app") + "b: o/app:1\n" + &line("c", "other")
    );
    for field in ["apps/a.yaml:2", "apps/a.yaml:1:1"] {
        let ran = bench.run(&["markers", "remove", "--field", field, "--write"]);
        assert!(
            ran.code == 2 && ran.err.contains(&format!("not every field of {field} has a marker")),
            "{}",
            ran.err
        );
    }
    // A field that is named twice has one marker; that of another field does not make up for it.
    let [first, third] = ["apps/a.yaml:1", "apps/a.yaml:3"];
    bench.ok(&["markers", "remove", "--field", first, "--field", first]);
    let ran = bench.run(&["markers", "remove", "--field", third, "--field", "apps/a.yaml:2"]);
    assert!(ran.code == 2 && ran.err.contains("not every field"), "{}", ran.err);
    let ran = bench.run(&["markers", "remove", "--field", "apps/a.yaml", "--write"]);
    assert!(ran.code == 2 && ran.err.contains("expected FILE:LINE"), "{}", ran.err);
}
