//! Markers in other formats than YAML (docs/guides/formats.md): in a folder, at a remote, by an
//! automation's annotation.

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::repo::Change;

const TERRAFORM: &str = "tag = \"1.0.0\" # {\"$imagepolicy\": \"fs:app:tag\"}\r\n";
const DOCKERFILE: &str = "# {\"$imagepolicy\": \"fs:app\"}\nFROM ghcr.io/o/app:1.0.0\n";

fn newer(text: &str) -> String {
    text.replace("1.0.0", "2.0.0")
}

fn reasons(run: &serde_json::Value) -> Vec<(String, String)> {
    let skips = run["runs"][0]["skips"].as_array().unwrap();
    let text = |skip: &serde_json::Value, key: &str| skip[key].as_str().unwrap().to_owned();
    skips
        .iter()
        .map(|skip| (text(skip, "path"), text(skip, "reason")))
        .collect()
}

#[test]
fn formats_are_edited_where_they_are_asked_for() {
    let bench = Bench::new();
    bench.write("main.tf", TERRAFORM);
    bench.write("Dockerfile", DOCKERFILE);
    bench.write("p.yaml", policy("fs", "app", "ghcr.io/o/app", "2.0.0"));
    let (_, run) = bench.json(&["update", "--offline"]);
    let not_yaml = |path: &str| (path.to_owned(), "NotYaml".to_owned());
    assert_eq!(reasons(&run), [not_yaml("Dockerfile"), not_yaml("main.tf")]);
    assert_eq!(bench.read("main.tf"), TERRAFORM);

    bench.ok(&["update", "--offline", "--formats", "hcl"]);
    assert_eq!(
        (bench.read("main.tf"), bench.read("Dockerfile")),
        (newer(TERRAFORM), DOCKERFILE.to_owned())
    );
    bench.ok(&["update", "--offline", "--formats", "all"]);
    assert_eq!(bench.read("Dockerfile"), newer(DOCKERFILE));
    let again = bench.ok(&["update", "--offline", "--formats", "all"]);
    assert_eq!(again.out, "nothing to change\n");

    let wrong = bench.run(&["update", "--formats", "xml"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.err.contains("\"xml\" is no format; they are docker,"),
        "{}",
        wrong.err
    );
}

fn repository(bench: &Bench) -> String {
    let repo = bench.repository("fleet.git");
    let files = [
        ("deploy/main.tf", TERRAFORM),
        ("deploy/Dockerfile", DOCKERFILE),
        ("app.yaml", "kind: A\n"),
    ];
    let changes = files.map(|(path, text)| Change::File(path, text.as_bytes()));
    repo.commit("main", "first", &changes);
    format!("file://{}", repo.dir.display())
}

fn changes(run: &serde_json::Value) -> usize {
    run["runs"][0]["changes"]
        .as_array()
        .unwrap_or_else(|| panic!("{run:#}"))
        .len()
}

/// Runs with other formats on one mirror do not take each other's facts for theirs.
#[test]
fn what_is_known_of_a_folder_is_of_its_formats() {
    let bench = Bench::new();
    let url = repository(&bench);
    let run = |formats: &[&str]| {
        let image = "fs:app=ghcr.io/o/app:2.0.0";
        let update = [
            "update",
            &url,
            "--set",
            image,
            "--dry-run",
            "--author",
            "Bot <bot@example.com>",
        ];
        changes(&bench.json(&[&update[..], formats].concat()).1)
    };
    for _ in 0..2 {
        assert_eq!(run(&[]), 0);
        assert_eq!(run(&["--formats=hcl"]), 1);
        assert_eq!(run(&["--formats=all"]), 2);
    }
}

#[test]
fn the_annotation_of_an_automation_counts() {
    let bench = Bench::new();
    let url = repository(&bench);
    let run = |formats: &str| {
        let annotations = format!("name: all, annotations: {{bumpwright.dev/formats: {formats}}},");
        let objects = git_repository("fs", "fleet", &url, "  ref: {branch: main}\n")
            + &policy("fs", "app", "ghcr.io/o/app", "2.0.0")
            + &automation("fs", "all", "fleet", "", "").replace("name: all,", &annotations);
        bench.write("objects.yaml", objects);
        bench.json(&["update", "-f", "objects.yaml", "--dry-run"])
    };
    assert_eq!(changes(&run("toml").1), 0);
    assert_eq!(changes(&run("'hcl,toml'").1), 1);
    let (code, broken) = run("xml");
    assert_eq!(code, 2);
    assert!(
        broken["runs"][0]["error"]
            .as_str()
            .unwrap()
            .contains("bumpwright.dev/formats"),
        "{broken:#}"
    );
}
