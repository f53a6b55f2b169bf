//! `bumpwright fleet check`: findings that somebody accepts are counted, and what accepts nothing is told.

use crate::fleet_check::{found, sound};
use bumpwright_testkit::cli::Bench;

const DATABASE: &str =
    "apiVersion: v1\nkind: Secret\nmetadata: {name: database, namespace: web}\nstringData:\n  password: hunter2\n";

fn with_secret(text: &str) -> Bench {
    let bench = sound();
    bench.write("apps/web/secret.yaml", text);
    bench
}

fn summary(bench: &Bench, arguments: &[&str]) -> (i32, String) {
    let ran = bench.run(&[&["fleet", "check", "--offline", "clusters/prod"], arguments].concat());
    (ran.code, ran.out.lines().last().unwrap_or(&ran.err).to_owned())
}

const ACCEPTED: &str = "no findings in 2 Kustomizations, 1 accepted";

#[test]
fn findings_are_accepted_in_three_places() {
    assert_eq!(summary(&with_secret(DATABASE), &[]).0, 1);
    let annotated = DATABASE.replace(
        "namespace: web}",
        "namespace: web, annotations: {bumpwright.dev/accept: 'schema, clear-text-secret: of laptops'}}",
    );
    let own = with_secret(&annotated);
    // Of two rules that are accepted it is enough that one is found.
    assert_eq!(summary(&own, &["--fail-on", "note"]), (0, ACCEPTED.to_owned()));
    for text in [
        format!("# bumpwright.dev/accept: clear-text-secret: of laptops\n{DATABASE}"),
        DATABASE.replace(
            "  password",
            "  # bumpwright.dev/accept: clear-text-secret: of laptops\n  password",
        ),
        DATABASE.replace(
            "hunter2",
            "hunter2 # bumpwright.dev/accept: clear-text-secret: of laptops",
        ),
    ] {
        let bench = with_secret(&text);
        assert_eq!(
            summary(&bench, &["--fail-on", "note"]),
            (0, ACCEPTED.to_owned()),
            "{text}"
        );
    }
    for entry in [
        "files: apps/",
        "files: secret.yaml",
        "object: Secret web/*",
        "{files: [/apps/web/secret.yaml], object: Secret web/database, rule: clear-text-secret, reason: r}",
    ] {
        let bench = with_secret(DATABASE);
        let entry = if entry.starts_with('{') {
            format!("accept:\n- {entry}\n")
        } else {
            format!("accept:\n- rule: [clear-text-secret]\n  reason: of laptops\n  {entry}\n")
        };
        bench.write(".bumpwright.yaml", entry.as_str());
        assert_eq!(
            summary(&bench, &["--fail-on", "note"]),
            (0, ACCEPTED.to_owned()),
            "{entry}"
        );
    }
    let (_, _, document) = found(&own, &["clusters/prod"]);
    assert_eq!(document["counts"]["accepted"], 1);
    assert_eq!(document["counts"]["errors"], 0);
    assert_eq!(document["findings"][0]["accepted"]["reason"], "of laptops");
    let sarif = own
        .run(&["fleet", "check", "--offline", "clusters/prod", "--output", "sarif"])
        .out;
    assert!(sarif.contains("\"suppressions\""), "{sarif}");
}

#[test]
fn other_findings_stay() {
    for text in [
        format!("# bumpwright.dev/accept: schema: another rule\n{DATABASE}"),
        format!(
            "# bumpwright.dev/accept: clear-text-secret: another document\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: web}}\n---\n{DATABASE}"
        ),
    ] {
        let (code, summary) = summary(&with_secret(&text), &[]);
        assert_eq!(
            (code, summary.as_str()),
            (1, "1 error, 1 note in 2 Kustomizations"),
            "{text}"
        );
    }
    let bench = with_secret(DATABASE);
    bench.write(
        ".bumpwright.yaml",
        "accept:\n- {rule: clear-text-secret, files: clusters/, reason: r}\n",
    );
    assert_eq!(summary(&bench, &[]).0, 1);
}

#[test]
fn what_accepts_nothing_is_told_and_what_is_misspelt_is_an_error() {
    let sealed = DATABASE.replace("hunter2", "${PASSWORD}");
    let bench = with_secret(&format!("# bumpwright.dev/accept: clear-text-secret: old\n{sealed}"));
    let note = "apps/web/secret.yaml:1:1 note[unmatched-acceptance]";
    assert_eq!(found(&bench, &["clusters/prod"]).1, [note]);
    let bench = with_secret(&sealed);
    bench.write(
        ".bumpwright.yaml",
        "accept:\n- {rule: clear-text-secret, files: apps/, reason: r}\n",
    );
    assert_eq!(
        found(&bench, &["clusters/prod"]).1,
        [".bumpwright.yaml:2:3 note[unmatched-acceptance]"]
    );
    for (entry, column) in [
        ("- {rule: clear-text-secrets, files: apps/, reason: r}", 10),
        ("- {rule: clear-text-secret, files: apps/}", 3),
        ("- {rule: clear-text-secret, reason: r}", 3),
    ] {
        bench.write(".bumpwright.yaml", format!("accept:\n{entry}\n"));
        let all = found(&bench, &["clusters/prod"]).1;
        let wanted = format!(".bumpwright.yaml:2:{column} error[unmatched-acceptance]");
        assert!(all.contains(&wanted), "{entry}: {all:?}");
    }
    for text in ["clear-text-secrets: x", "clear-text-secret"] {
        let bench = with_secret(&format!("# bumpwright.dev/accept: {text}\n{sealed}"));
        let all = found(&bench, &["clusters/prod"]).1;
        assert_eq!(all, ["apps/web/secret.yaml:1:1 error[unmatched-acceptance]"], "{text}");
    }
}

#[test]
fn a_baseline_accepts_what_is_there_today() {
    let bench = with_secret(DATABASE);
    let file = bench.path("baseline.json");
    let file = file.to_str().unwrap();
    assert_eq!(summary(&bench, &["--write-baseline", file]), (0, ACCEPTED.to_owned()));
    let known = ["--baseline", file, "--fail-on", "note"];
    assert_eq!(summary(&bench, &known), (0, ACCEPTED.to_owned()));
    // Lines move, and files are renamed.
    bench.write("apps/web/secret.yaml", format!("# a\n# b\n{DATABASE}"));
    assert_eq!(summary(&bench, &known), (0, ACCEPTED.to_owned()));
    std::fs::rename(bench.path("apps/web/secret.yaml"), bench.path("apps/web/other.yaml")).unwrap();
    assert_eq!(summary(&bench, &known), (0, ACCEPTED.to_owned()));
    // What is new is found.
    bench.write("apps/web/new.yaml", DATABASE.replace("database", "new"));
    let new = "1 error in 2 Kustomizations, 1 accepted".to_owned();
    assert_eq!(summary(&bench, &known), (1, new));
    // What is gone is told.
    std::fs::remove_file(bench.path("apps/web/new.yaml")).unwrap();
    std::fs::remove_file(bench.path("apps/web/other.yaml")).unwrap();
    let ran = bench.run(&["fleet", "check", "--offline", "clusters/prod", "--baseline", file]);
    assert!(
        ran.code == 0 && ran.out.contains("note[unmatched-acceptance]"),
        "{}",
        ran.out
    );
    bench.write("baseline.json", "{}");
    let (code, error) = summary(&bench, &known);
    assert!(code == 2 && error.contains("--baseline"), "{error}");
}
