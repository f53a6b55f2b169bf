//! Rule files (docs/guides/rules.md): in a folder, at a remote, of an automation's ConfigMap.

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::repo::Change;

const RULES: &str = "rules:\n- {files: values.yaml, path: $.image.tag, policy: 'fs:app', part: tag}\n\
                     - {files: kustomization.yaml, images: auto, policy: 'fs:app'}\n";
const VALUES: &str = "# untouched\nimage: {repository: ghcr.io/o/app, tag:  '1.0.0'} # really\n";
const IMAGES: &str = "images:\n- name: ghcr.io/o/app\n  newTag: 1.0.0\n- name: ghcr.io/o/api\n  newTag: 1.0.0\n";

fn newer(text: &str) -> String {
    text.replacen("1.0.0", "2.0.0", 1)
}

/// Path, place and reason of each skip.
fn skips(run: &serde_json::Value) -> Vec<String> {
    let skips = run["runs"][0]["skips"].as_array().unwrap_or_else(|| panic!("{run:#}"));
    let text = |skip: &serde_json::Value| {
        let (path, reason) = (skip["path"].as_str().unwrap(), skip["reason"].as_str().unwrap());
        format!("{path}:{}:{} {reason}", skip["line"], skip["column"])
    };
    skips.iter().map(text).collect()
}

fn fleet(bench: &Bench) {
    bench.write(".bumpwright.yaml", RULES);
    bench.write("charts/web/values.yaml", VALUES);
    bench.write("apps/kustomization.yaml", IMAGES);
    bench.write("p.yaml", policy("fs", "app", "ghcr.io/o/app", "2.0.0"));
}

#[test]
fn rules_set_fields_without_markers_and_nothing_else() {
    let bench = Bench::new();
    fleet(&bench);
    let (_, run) = bench.json(&["update", "--offline"]);
    assert_eq!(skips(&run), [""; 0]);
    assert_eq!(bench.read("charts/web/values.yaml"), newer(VALUES));
    assert_eq!(bench.read("apps/kustomization.yaml"), newer(IMAGES));
    let again = bench.ok(&["update", "--offline"]);
    assert_eq!(again.out, "nothing to change\n");
}

/// The rules of a repository are for its folders too, and a folder without files for a rule is not told of it.
#[test]
fn the_rule_file_may_be_above() {
    let bench = Bench::new();
    fleet(&bench);
    // A folder that is in no repository has no rules from above: they may be anybody's.
    let (_, run) = bench.json(&["update", "charts", "--offline", "-f", "p.yaml"]);
    assert_eq!(
        (skips(&run).len(), bench.read("charts/web/values.yaml").as_str()),
        (0, VALUES)
    );
    bench.write(".git/HEAD", "");
    let (_, run) = bench.json(&["update", "charts", "--offline", "-f", "p.yaml"]);
    assert_eq!(skips(&run), ["../.bumpwright.yaml:3:3 UnmatchedRule"]);
    assert_eq!(bench.read("charts/web/values.yaml"), newer(VALUES));
    assert_eq!(bench.read("apps/kustomization.yaml"), IMAGES);
    let (_, run) = bench.json(&["update", "--path", "apps", "--offline", "-f", "p.yaml"]);
    assert_eq!(skips(&run), [""; 0]);
    assert_eq!(bench.read("apps/kustomization.yaml"), newer(IMAGES));
}

#[test]
fn what_rules_do_not_find_is_told() {
    let bench = Bench::new();
    fleet(&bench);
    bench.write("charts/web/values.yaml", "image: {}\n");
    bench.write("apps/kustomization.yaml", IMAGES.replace("o/app", "o/other"));
    let (code, json) = bench.json(&["update", "--offline", "--strict=markers"]);
    assert_eq!(code, 3);
    assert_eq!(
        skips(&json),
        [
            ".bumpwright.yaml:2:3 UnmatchedRule",
            ".bumpwright.yaml:3:3 UnmatchedRule"
        ]
    );
    bench.write(".bumpwright.yaml", format!("{RULES}- path: $.a\n"));
    bench.write(
        "charts/web/values.yaml",
        "tag: 1.0.0 # {\"$imagepolicy\": \"fs:app:tag\"}\n",
    );
    let (_, json) = bench.json(&["update", "--offline"]);
    assert_eq!(skips(&json), [".bumpwright.yaml:4:3 Unparsable"]);
    // Markers are followed all the same.
    assert!(bench.read("charts/web/values.yaml").starts_with("tag: 2.0.0 "));
    bench.write(".bumpwright.yaml", RULES.replace("fs:app", "fs:ap"));
    let (_, json) = bench.json(&["update", "--offline"]);
    assert_eq!(
        skips(&json),
        [
            ".bumpwright.yaml:2:3 UnmatchedRule",
            ".bumpwright.yaml:3:3 UnknownPolicy"
        ]
    );
    bench.write("apps/kustomization.yaml", IMAGES);
    let (_, json) = bench.json(&["update", "--offline"]);
    assert_eq!(
        skips(&json),
        [
            ".bumpwright.yaml:2:3 UnmatchedRule",
            ".bumpwright.yaml:3:3 UnknownPolicy"
        ]
    );
}

/// A marker counts more than a rule, of two rules the first one, and one of another image does not count.
#[test]
fn one_field_is_set_once() {
    let bench = Bench::new();
    fleet(&bench);
    bench.write(
        ".bumpwright.yaml",
        "rules:\n- {files: a.yaml, path: $.*, policy: 'fs:app', part: tag}\n- {files: kustomization.yaml, images: auto, policy: 'fs:api'}\n\
         - {files: kustomization.yaml, images: auto, policy: 'fs:app'}\n",
    );
    bench.write("q.yaml", policy("fs", "api", "ghcr.io/o/api", "3.0.0"));
    bench.write("a.yaml", "a: 1 # {\"$imagepolicy\": \"fs:api:tag\"}\nb: 1\n");
    bench.ok(&["update", "--offline"]);
    assert_eq!(
        bench.read("a.yaml"),
        "a: 3.0.0 # {\"$imagepolicy\": \"fs:api:tag\"}\nb: 2.0.0\n"
    );
    let images = newer(IMAGES).replacen("1.0.0", "3.0.0", 1);
    assert_eq!(bench.read("apps/kustomization.yaml"), images);
}

/// A run at a remote reads the rules of the branch, and again only what has changed.
#[test]
fn rules_are_followed_at_a_remote() {
    let bench = Bench::new();
    let repo = bench.repository("fleet.git");
    let files = [
        (".bumpwright.yaml", RULES),
        ("charts/web/values.yaml", VALUES),
        ("apps/kustomization.yaml", IMAGES),
    ];
    repo.commit(
        "main",
        "first",
        &files.map(|(path, text)| Change::File(path, text.as_bytes())),
    );
    let url = format!("file://{}", repo.dir.display());
    let update = |image: &str, more: &[&str]| {
        let flags = ["update", &url, "--set", image, "--author", "Bot <bot@example.com>"];
        let (code, json) = bench.json(&[&flags[..], more].concat());
        assert_eq!(code, 0, "{json:#}");
        json
    };
    let show = |path: &str| String::from_utf8(repo.show("main", path)).unwrap();
    let json = update("fs:app=ghcr.io/o/app:2.0.0", &[]);
    assert_eq!(json["runs"][0]["changes"].as_array().unwrap().len(), 2, "{json:#}");
    assert_eq!(show("charts/web/values.yaml"), newer(VALUES));
    assert_eq!(show("apps/kustomization.yaml"), newer(IMAGES));
    repo.commit(
        "main",
        "back",
        &[Change::File("charts/web/values.yaml", VALUES.as_bytes())],
    );
    // Somebody has set it back: the story of a field that a rule names is known.
    let json = update("fs:app=ghcr.io/o/app:2.0.0", &["--respect-reverts=500"]);
    assert_eq!(skips(&json), ["charts/web/values.yaml:2:42 Reverted"], "{json:#}");
    let json = update("fs:app=ghcr.io/o/app:2.1.0", &["--path", "charts"]);
    assert_eq!(json["runs"][0]["changes"].as_array().unwrap().len(), 1, "{json:#}");
    let values = VALUES.replace("1.0.0", "2.1.0");
    assert_eq!(show("charts/web/values.yaml"), values);
}

#[test]
fn an_automation_has_rules_of_its_own() {
    let bench = Bench::new();
    let repo = bench.repository("fleet.git");
    repo.commit("main", "first", &[Change::File("values.yaml", VALUES.as_bytes())]);
    let url = format!("file://{}", repo.dir.display());
    let annotated = "name: all, annotations: {bumpwright.dev/rules: fleet-rules},";
    bench.write(
        "a.yaml",
        automation("fs", "all", "fleet", "", "").replace("name: all,", annotated),
    );
    bench.write("g.yaml", git_repository("fs", "fleet", &url, "  ref: {branch: main}\n"));
    bench.write("p.yaml", policy("fs", "app", "ghcr.io/o/app", "2.0.0"));
    let missing = bench.run(&["update", "-f", "a.yaml", "-f", "g.yaml", "-f", "p.yaml", "--dry-run"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing.err.contains("ConfigMap fs/fleet-rules has no entry"),
        "{}",
        missing.err
    );
    let indented = RULES.replace('\n', "\n    ");
    bench.write(
        "c.yaml",
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: fleet-rules, namespace: fs}}\ndata:\n  .bumpwright.yaml: |\n    {indented}\n"),
    );
    let (_, json) = bench.json(&["update", "-f", "a.yaml", "-f", "g.yaml", "-f", "p.yaml", "-f", "c.yaml"]);
    assert_eq!(skips(&json), ["ConfigMap fs/fleet-rules:3:3 UnmatchedRule"], "{json:#}");
    assert_eq!(repo.show("main", "values.yaml"), newer(VALUES).into_bytes());
}

#[test]
fn markers_lists_what_rules_find() {
    let bench = Bench::new();
    fleet(&bench);
    let listed = bench.ok(&["markers"]);
    assert_eq!(
        listed.out,
        "apps/kustomization.yaml:3:11  fs/app  tag  1.0.0  (rule .bumpwright.yaml:3:3, if the policy is of ghcr.io/o/app)\n\
         apps/kustomization.yaml:5:11  fs/app  tag  1.0.0  (rule .bumpwright.yaml:3:3, if the policy is of ghcr.io/o/api)\n\
         charts/web/values.yaml:2:42  fs/app  tag  1.0.0  (rule .bumpwright.yaml:2:3)\n"
    );
}
