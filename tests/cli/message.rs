//! `bumpwright message` as its user runs it, and the documents' own templates.

use bumpwright_message::{self as message, Data, Era};
use bumpwright_template::Limits;
use bumpwright_testkit::cli::{Bench, automation, policy};
use bumpwright_testkit::repo::Change;
use bumpwright_update::Machine;
use serde_json::Value;

const DATA: &str = r#"{
  "automationObject": {"namespace": "fs", "name": "auto"},
  "values": {"cluster": "prod"},
  "changes": [
    {"file": "b.yaml", "object": {"apiVersion": "v1", "kind": "Pod", "name": "p"},
     "changes": [{"OldValue": "o/b:1", "NewValue": "o/b:2", "Setter": "fs:b"}]},
    {"file": "a.yaml", "object": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "d", "name": "app"},
     "changes": [{"OldValue": "o/a:1", "NewValue": "o/a:5.0.3", "Setter": "fs:a"}]}
  ],
  "images": [
    {"file": "b.yaml", "object": {"apiVersion": "v1", "kind": "Pod", "name": "p"},
     "refs": [{"ref": "o/b:2", "policy": {"namespace": "fs", "name": "b"}}]},
    {"file": "a.yaml", "object": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "d", "name": "app"},
     "refs": [{"ref": "o/a:5.0.3", "policy": {"namespace": "fs", "name": "a"}}]}
  ]
}"#;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("data.json", DATA);
    bench
}

#[test]
fn a_template_is_rendered_verbatim() {
    let bench = bench();
    let template = "{{ .AutomationObject }} {{ .Values.cluster | upper }}\n{{ range .Changed.Changes }}{{ .OldValue }} -> {{ .NewValue }}\n{{ end }}  ";
    bench.write("template", template);
    let ran = bench.ok(&["message", "--template", "@template", "--data", "data.json"]);
    assert_eq!(ran.out, "fs/auto PROD\no/a:1 -> o/a:5.0.3\no/b:1 -> o/b:2\n  ");
    assert_eq!(ran.err, "");
    assert_eq!(
        bench
            .ok(&["message", "--template", template, "--data", "data.json"])
            .out,
        ran.out
    );
}

#[test]
fn without_data_an_example_is_shown() {
    let ran = Bench::new().ok(&[
        "message",
        "--template",
        "{{ len .Changed.Changes }} {{ .AutomationObject }}",
    ]);
    assert_eq!(ran.out, "3 flux-system/apps");
    assert!(ran.err.contains("example"), "{}", ran.err);
    assert_eq!(Bench::new().ok(&["message"]).out, "Update from image update automation");
}

#[test]
fn an_automation_gives_template_values_and_name() {
    let bench = bench();
    let manifest = automation("fs", "auto", "repo", "", "").replace(
        "    commit:\n",
        "    commit:\n      messageTemplate: '{{ .AutomationObject }} {{ .Values.cluster }} {{ .Changed }}'\n      messageTemplateValues: {cluster: west}\n",
    );
    bench.write("m.yaml", &manifest);
    let ran = bench.ok(&["message", "-f", "m.yaml"]);
    assert!(ran.out.starts_with("fs/auto west {"), "{}", ran.out);
    bench.write("other.yaml", "a: 1\n");
    let ran = bench.run(&["message", "-f", "other.yaml"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
}

#[test]
fn an_error_points_at_the_template() {
    let bench = bench();
    let ran = bench.run(&[
        "message",
        "--data",
        "data.json",
        "--template",
        "subject\n\n{{ range .Changd.Changes }}x{{ end }}",
    ]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    let expected = "\
error: failed to run template from spec: template: commit message:3:16: executing \"commit message\" at <.Changd.Changes>: can't evaluate field Changd in type source.TemplateData
 --> message template, line 3, column 17
  |
3 | {{ range .Changd.Changes }}x{{ end }}
  |                 ^
  = no field `Changd`, did you mean `.Changed`?
";
    assert_eq!(ran.err, expected);
}

#[test]
fn what_is_no_data_is_refused() {
    let bench = Bench::new();
    for (json, error) in [
        (
            "{\"changes\": [{\"file\": 1}]}",
            "invalid type: integer `1`, expected a string at line 1 column 23",
        ),
        ("{\"change\": []}", "unknown field `change`"),
        (
            "{\"images\": [{\"file\": \"a\", \"object\": {}, \"refs\": [{\"ref\": \"A:1\"}]}]}",
            "images[0].refs: could not parse reference: A:1",
        ),
    ] {
        bench.write("data.json", json);
        let ran = bench.run(&["message", "--data", "data.json"]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains(error) && ran.err.contains("data.json"), "{}", ran.err);
    }
}

/// What `message --from-json` shows is what `update` commits.
#[test]
fn the_output_of_update_gives_the_message_of_its_commit() {
    let bench = Bench::new();
    let repo = bench.repository("app.git");
    let marked = "kind: Deployment\nmetadata: {name: a}\nspec:\n- image: o/app:1 # {\"$imagepolicy\": \"fs:app\"}\n- tag: 1 # {\"$imagepolicy\": \"fs:app:tag\"}\n";
    repo.commit("main", "first", &[Change::File("apps/a.yaml", marked.as_bytes())]);
    let template =
        "{{ .Changed.FileChanges }} {{ range .Updated.Images }}{{ .Name }}{{ end }} {{ toJson .Changed.Changes }}";
    let url = format!("file://{}", repo.dir.display());
    let manifests = policy("fs", "app", "o/app", "2.0.0")
        + &bumpwright_testkit::cli::git_repository("fs", "repo", &url, "  ref: {branch: main}\n")
        + &automation("fs", "auto", "repo", "", "  update: {path: ./apps}\n").replace(
            "    commit:\n",
            &format!("    commit:\n      messageTemplate: '{template}'\n"),
        );
    bench.write("m.yaml", &manifests);
    let preview = bench.ok(&["update", "-f", "m.yaml", "--dry-run", "--output", "json"]);
    bench.write("changes.json", &preview.out);
    let shown = bench.ok(&["message", "-f", "m.yaml", "--from-json", "changes.json"]);
    bench.ok(&["update", "-f", "m.yaml"]);
    assert_eq!(repo.git(&["log", "-1", "--format=%B", "main"]).trim_end(), shown.out);
    assert!(shown.out.contains("map[a.yaml:map["), "{}", shown.out);
    assert!(shown.out.contains("index.docker.io/o/app:2.0.0"), "{}", shown.out);
    // An automation may update a single file, which its message then calls by its own name.
    bench.write("one.yaml", manifests.replace("path: ./apps}", "path: ./apps/a.yaml}"));
    let shown = bench.ok(&["message", "-f", "one.yaml", "--from-json", "changes.json"]);
    assert!(shown.out.contains("map[a.yaml:map["), "{}", shown.out);
    // Without manifests only the changes are known: enough here.
    let alone = bench.ok(&[
        "message",
        "--template",
        "{{ .Updated.Images }}",
        "--from-json",
        "changes.json",
    ]);
    assert_eq!((alone.out.as_str(), alone.err.as_str()), ("[o/app:2.0.0]", ""));
}

fn render(template: &str, data: &Data) -> Result<String, String> {
    let rendered = message::render(template, data, Limits::default(), &Machine);
    rendered
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .map_err(|error| error.to_string())
}

fn data(era: Era) -> Data {
    Data {
        era,
        ..message::read(DATA).unwrap()
    }
}

/// The templates of the documents, as the examples have them.
fn documents() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![bumpwright_testkit::corpora::corpora().join("contract/examples")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            for document in text.split("\n---\n").filter(|text| text.contains("messageTemplate: ")) {
                let Ok(value) = serde_saphyr::from_str::<Value>(document) else {
                    continue;
                };
                let commits = ["/spec/git/commit", "/spec/commit"].map(|at| value.pointer(at));
                let templates = commits
                    .into_iter()
                    .flatten()
                    .filter_map(|commit| commit["messageTemplate"].as_str());
                found.extend(templates.map(|template| (name.clone(), template.to_owned())));
            }
        }
    }
    found.sort();
    found
}

/// IUA-061, IUA-064 to IUA-067, N-014 to N-018: every template of the documents of v1beta1, v1beta2 and v1 renders, but
/// for the one that Go refuses too (C28).
#[test]
fn the_documents_templates() {
    let documents = documents();
    if documents.is_empty() {
        println!("documents' templates: absent");
        return;
    }
    let outputs: &[(&str, &str)] = &[
        (
            "06-commit-message-template-data.yaml",
            "Automated image update\n\nAutomation name: fs/auto\n\nFiles:\n- a.yaml\n- b.yaml\nObjects:\n- Deployment app\n- Pod p\nImages:\n- o/a:5.0.3\n- o/b:2\n",
        ),
        (
            "14-message-template.yaml",
            "Automated image update\n\nAutomation name: fs/auto\n\nFiles:\n- a.yaml\n- b.yaml\nObjects:\n- Deployment app\n  Changes:\n    - o/a:1 -> o/a:5.0.3\n- Pod p\n  Changes:\n    - o/b:1 -> o/b:2\n",
        ),
        (
            "15-message-template.yaml",
            "Automated image update\n\nAutomation name: fs/auto\n\nFiles:\n- a.yaml\n- b.yaml\nObjects:\n- deployment app\n  Changes:\n  - o/a:1 -> o/a:5.0.3\n  - pod p\n  Changes:\n  [skip ci] wrong image\n  ",
        ),
        (
            "16-message-template.yaml",
            "Automated image update by Flux for cluster prod.",
        ),
        ("37-gitea.yaml", "o/a:1 -> o/a:5.0.3\no/b:1 -> o/b:2\n"),
        (
            "05-commit-messagetemplate.yaml",
            "Automated image update by Flux\n\n[ci skip]\n",
        ),
    ];
    let (mut compared, mut change_ids) = (0, 0);
    for (name, template) in &documents {
        for era in [Era::V1beta1, Era::V1beta2, Era::V1] {
            let rendered = render(template, &data(era));
            if name == "07-commit-message-with-template-functions.yaml" {
                let refused = rendered.unwrap_err();
                assert!(
                    refused.ends_with("<$image>: wrong type for value; expected string; got int"),
                    "{refused}"
                );
                continue;
            }
            let rendered = rendered.unwrap_or_else(|error| panic!("{name}: {error}"));
            if let Some((_, expected)) = outputs.iter().find(|(known, _)| known == name) {
                assert_eq!(rendered, *expected, "{name} {era:?}");
                compared += 1;
            }
            if rendered.contains("Change-Id") {
                change_id_is_one(template, &rendered, era);
                change_ids += 1;
            }
        }
    }
    println!("documents' templates: {} of {}", documents.len(), documents.len());
    assert_eq!((compared, change_ids), (18, 6));
}

/// IUA-090, IUA-091: `I` and 40 hexadecimal digits, the same for the same change, another for another.
fn change_id_is_one(template: &str, rendered: &str, era: Era) {
    let id_of = |text: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix("Change-Id: ").map(str::to_owned))
            .unwrap()
    };
    let id = id_of(rendered);
    let digits = id.strip_prefix('I').unwrap();
    assert!(
        digits.len() == 40 && digits.bytes().all(|b| b.is_ascii_hexdigit()),
        "{id}"
    );
    assert_eq!(id_of(&render(template, &data(era)).unwrap()), id);
    let mut other = data(era);
    other.changes[0].new = "o/b:3".to_owned();
    other.images.remove(0);
    assert_ne!(id_of(&render(template, &other).unwrap()), id);
}

/// A template cannot hang, fill the memory or end the process.
#[test]
fn hostile_templates_end_in_an_error() {
    for template in [
        "{{ range 1000000000000 }}{{ end }}",
        "{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" . }}",
        "{{ $x := \"0123456789\" }}{{ range 64 }}{{ $x = print $x $x }}{{ end }}",
        "{{ $x := list 1 }}{{ range 64 }}{{ $x = concat $x $x }}{{ end }}",
        "{{ repeat 1000000000 \"x\" }}",
        "{{ until 1000000000 }}",
        "{{ untilStep 0 1000000000 1 }}",
        "{{ seq 1000000000 }}",
        "{{ indent 1000000000 \"a\\nb\" }}",
        "{{ range 100000 }}{{ range 100000 }}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{ end }}{{ end }}",
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ $d }}",
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ toJson $d }}{{ deepCopy $d }}",
        "{{ range 1000 }}{{ bcrypt \"x\" }}{{ end }}",
        "{{ range 1000 }}{{ derivePassword 1 \"long\" \"a\" \"b\" \"c\" }}{{ end }}",
        "{{ $s := repeat 100000 \"a\" }}{{ range 100000 }}{{ $s | replace \"a\" \"b\" | upper | sha256sum }}{{ end }}",
        "{{ $x := list }}{{ range 1000000 }}{{ $x = list $x }}{{ end }}{{ $x }}",
        "{{ regexReplaceAll \"\" (repeat 1000000 \"x\") (repeat 1000 \"y\") }}",
        "{{ printf \"%999999d%999999d\" 1 2 | repeat 300 }}",
        "{{ $a := repeat 5000000 \"0\" }}{{ range 100000 }}{{ $x := atoi $a }}{{ end }}",
        "{{ $a := repeat 5000000 \"0\" }}{{ $b := print $a }}{{ range 100000 }}{{ $x := eq $a $b }}{{ end }}",
        "{{ $d := dict (repeat 5000000 \"0\") 1 }}{{ range 100000 }}{{ $x := omit $d \"x\" }}{{ end }}",
        "{{ range 1000000 }}{{ $x := regexMatch (printf `(?i)[\\pL]{9}%d` .) `x` }}{{ end }}",
        "{{ $a := dict `x` 1 }}{{ range 64 }}{{ $a = dict `a` $a `b` $a }}{{ end }}{{ deepCopy $a }}",
        "{{ fromJson (print `[` (repeat 1000000 `{\"a\":1},`) `1]`) }}",
        "{{ $d := dict }}{{ range $i := until 1000000 }}{{ $_ := set $d (print $i) (dict `a` $i) }}{{ end }}",
        "{{ $a := until 100000 }}{{ $b := list }}{{ range 1000 }}{{ $b = append $b (append $a 1) }}{{ end }}",
        "{{ quote (repeat 100000000 `\x01`) }}",
        "{{ toJson (repeat 40000000 `\x01`) }}",
        "{{ indent 100000 (repeat 100000 \"\\n\") }}",
        "{{ wrapWith 1 (repeat 100000 `x`) (repeat 5000 `a `) }}",
        "{{ split `` (repeat 5000000 `a`) }}",
    ] {
        let started = std::time::Instant::now();
        let rendered = render(template, &Data::default());
        let error = rendered.expect_err(template);
        assert!(
            error.starts_with("failed to run template from spec: template: "),
            "{template}: {error}"
        );
        println!("{:>6} ms {template}: {error}", started.elapsed().as_millis());
    }
}

#[test]
fn lists_can_grow_item_by_item() {
    let template = "{{ $l := list }}{{ range 8000 }}{{ $l = append $l . }}{{ end }}{{ len $l }}";
    assert_eq!(render(template, &Data::default()).as_deref(), Ok("8000"));
}
