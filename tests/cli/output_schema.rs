//! `docs/reference/output.schema.json`: real outputs of `update --output json`, validated by Python's jsonschema, which
//! comes with moto (`tests/tools/prepare`).

use std::process::Command;

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::forge::{Forge, ForgeKind};
use bumpwright_testkit::repo::{self, Change};
use bumpwright_update::{
    ChangedObject, ChangedWorkload, ContainerImage, DeadMarker, Impact, KustomizationName, ObjectAction,
};
use serde_json::{Value, json};

const SCHEMA: &str = include_str!("../../docs/reference/output.schema.json");
const MARKED: &str = "kind: App\nmetadata: {name: web}\nimage: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n\
    other: ghcr.io/o/other:1.0.0 # {\"$imagepolicy\": \"fs:absent\"}\n";
const AUTHOR: [&str; 2] = ["--author", "Bot <bot@example.com>"];

/// The schema as published, and one that refuses fields it does not name: what is printed is to be described.
fn closed(schema: &Value) -> Value {
    match schema {
        Value::Object(entries) => {
            let mut closed: serde_json::Map<_, _> = entries
                .iter()
                .map(|(key, value)| (key.clone(), self::closed(value)))
                .collect();
            if entries.get("type") == Some(&json!("object")) {
                closed.insert("additionalProperties".to_owned(), json!(false));
            }
            Value::Object(closed)
        }
        Value::Array(items) => items.iter().map(closed).collect(),
        other => other.clone(),
    }
}

/// What jsonschema says to each document by a schema: empty where it is valid. None without Python's jsonschema.
pub fn verdicts(schema: &str, documents: &[Value]) -> Option<Vec<String>> {
    const SCRIPT: &str = "import json, sys\nfrom jsonschema import Draft202012Validator as V\n\
        given = json.load(open(sys.argv[1]))\nV.check_schema(given['schema'])\nv = V(given['schema'])\n\
        print(json.dumps(['; '.join(e.json_path + ': ' + e.message for e in v.iter_errors(d)) for d in given['documents']]))";
    let moto = std::fs::canonicalize(bumpwright_testkit::tool("moto_server")?).unwrap();
    let bench = Bench::new();
    let given = json!({"schema": closed(&serde_json::from_str(schema).unwrap()), "documents": documents});
    let file = bench.write("given.json", given.to_string());
    let out = Command::new(moto.with_file_name("python"))
        .arg("-c")
        .arg(SCRIPT)
        .arg(file)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(serde_json::from_slice(&out.stdout).unwrap())
}

/// A folder with a marked file and a policy beside it.
fn folder() -> Bench {
    let bench = Bench::new();
    bench.write("fleet/a.yaml", MARKED);
    bench.write("p.yaml", policy("fs", "app", "ghcr.io/o/app", "2.0.0"));
    bench
}

fn of_folder() -> Vec<Value> {
    let bench = folder();
    let preview = bench
        .json(&["update", "-f", "p.yaml", "fleet", "--offline", "--dry-run"])
        .1;
    repo::run(repo::git(&bench.path("fleet")).args(["init", "-q"]));
    repo::run(repo::git(&bench.path("fleet")).args(["add", "."]));
    repo::run(repo::git(&bench.path("fleet")).args(["commit", "-q", "-m", "first"]));
    let commit = ["update", "-f", "p.yaml", "fleet", "--offline", "--commit"];
    let committed = bench.json(&[&commit[..], &AUTHOR].concat()).1;
    let (code, error) = bench.json(&["update", "-f", "p.yaml", "absent", "--offline"]);
    assert_eq!(code, 2, "{error:#}");
    // A digest that a whole image loses is told.
    let pinned = "image: ghcr.io/o/app:1.0.0@sha256:0a # {\"$imagepolicy\": \"fs:app\"}\n";
    bench.write("pinned/a.yaml", pinned);
    let noted = bench
        .json(&["update", "-f", "p.yaml", "pinned", "--offline", "--dry-run"])
        .1;
    let note = noted["runs"][0]["notes"][0].as_str().unwrap_or_default();
    assert!(note.contains("digest"), "{noted:#}");
    vec![preview, committed, error, noted]
}

/// With a pull request at a forge: planned, opened, and unchanged.
fn of_remote() -> Vec<Value> {
    let bench = folder();
    let repo = bench.repository("o/app.git");
    repo.config("http.receivepack", "true");
    repo.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
    bench.write("token", "t\n");
    let forge = Forge::start(ForgeKind::Gitea, &bench.dir, "token t");
    let url = forge.server.url("o/app.git");
    let flags = [
        "update",
        "-f",
        "p.yaml",
        &url,
        "--offline",
        "--push-branch",
        "auto",
        "--pull-request=gitea",
        "--pull-request-token-file",
        "token",
    ];
    let run = |more: &[&str]| bench.json(&[&flags[..], &AUTHOR, more].concat()).1;
    vec![run(&["--dry-run"]), run(&[]), run(&[])]
}

/// With the impact on two clusters.
fn of_fleet() -> Value {
    let kustomization = KustomizationName {
        cluster: "clusters/production".to_owned(),
        namespace: "flux-system".to_owned(),
        name: "apps".to_owned(),
    };
    let impact = Impact {
        kustomizations: vec![kustomization.clone()],
        workloads: vec![ChangedWorkload {
            kustomization: kustomization.clone(),
            images: vec![ContainerImage::default()],
            restarts: true,
            release: "shop/web".to_owned(),
            ..ChangedWorkload::default()
        }],
        objects: vec![ChangedObject {
            action: ObjectAction::Deleted,
            ..ChangedObject::default()
        }],
        dead_markers: vec![DeadMarker {
            path: "a.yaml".to_owned(),
            line: 1,
            column: 1,
            setter: "fs:app".to_owned(),
        }],
        notes: vec!["a note".to_owned()],
        ..Impact::default()
    };
    let run = json!({"automation": null, "changes": [], "skips": [], "commit": null, "pushes": [], "impact": impact, "error": null});
    json!({"version": 1, "runs": [run]})
}

/// Two automations, of which one fails.
fn of_automations() -> Vec<Value> {
    let bench = folder();
    let repo = bench.repository("fleet.git");
    repo.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
    let url = format!("file://{}", repo.dir.display());
    let objects = [
        git_repository("fs", "fleet", &url, ""),
        git_repository("fs", "gone", &format!("{url}-gone"), ""),
        automation("fs", "all", "fleet", "", ""),
        automation("fs", "bad", "gone", "", ""),
    ];
    bench.write("objects.yaml", objects.concat());
    let (code, document) = bench.json(&["update", "-f", "p.yaml", "-f", "objects.yaml", "--offline"]);
    assert_eq!(code, 2, "{document:#}");
    vec![document]
}

#[test]
fn outputs_are_as_described() {
    let documents: Vec<Value> = [of_folder(), of_remote(), of_automations(), vec![of_fleet()]].concat();
    let runs: Vec<&Value> = documents
        .iter()
        .flat_map(|document| document["runs"].as_array().unwrap())
        .collect();
    let has = |pointer: &str, wanted: Value| runs.iter().any(|run| run.pointer(pointer) == Some(&wanted));
    // All parts of the shape occur.
    for (pointer, value) in [
        ("/automation", json!("fs/all")),
        ("/automation", Value::Null),
        ("/skips/0/reason", json!("UnknownPolicy")),
        ("/changes/0/setter", json!("fs:app")),
        ("/commit/id", Value::Null),
        ("/commit/signed", json!(false)),
        ("/pushes/0/status", json!("created")),
        ("/pullRequest/state", json!("planned")),
        ("/pullRequest/number", Value::Null),
        ("/pullRequest/state", json!("opened")),
    ] {
        assert!(has(pointer, value.clone()), "{pointer} {value}: {documents:#?}");
    }
    assert!(
        runs.iter().filter(|run| run["error"].is_string()).count() >= 2,
        "{documents:#?}"
    );
    let Some(verdicts) = verdicts(SCHEMA, &documents) else {
        return;
    };
    for (document, verdict) in documents.iter().zip(verdicts) {
        assert_eq!(verdict, "", "{document:#}");
    }
}

/// The validator refuses what is not described.
#[test]
fn other_documents_are_refused() {
    let run = json!({"automation": null, "changes": [], "skips": [], "commit": null, "pushes": [], "error": null});
    let with = |key: &str, value: Value| {
        let mut run = run.clone();
        run[key] = value;
        json!({"version": 1, "runs": [run]})
    };
    let skip = json!({"path": "a", "line": 0, "column": 1, "reason": "Odd", "message": ""});
    let documents = [
        json!({"version": 1, "runs": [run]}),
        json!({"version": 2, "runs": []}),
        with("novel", json!(1)),
        with("error", json!(1)),
        with("skips", json!([skip])),
    ];
    let Some(verdicts) = verdicts(SCHEMA, &documents) else {
        return;
    };
    let is_valid: Vec<bool> = verdicts.iter().map(String::is_empty).collect();
    assert_eq!(is_valid, [true, false, false, false, false], "{verdicts:?}");
}

/// The reasons are those of the program (the type has no list of its variants).
#[test]
fn reasons_are_those_of_the_program() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let source = include_str!("../../crates/engine/edit/src/model.rs");
    let (_, after) = source.split_once("pub enum Reason {").unwrap();
    let (variants, _) = after.split_once('}').unwrap();
    let is_variant = |line: &&str| line.ends_with(',') && !line.starts_with('/');
    let variants: Vec<&str> = variants
        .lines()
        .map(str::trim)
        .filter(is_variant)
        .map(|line| line.trim_end_matches(','))
        .collect();
    assert_eq!(json!(variants), schema["$defs"]["skip"]["properties"]["reason"]["enum"]);
}
