//! `bumpwright policy` as its user runs it, against a real registry.

use bumpwright_testkit::cli::{Bench, policy as status_only};
use bumpwright_testkit::images::Media;
use bumpwright_testkit::registry::{Access, Options, Registry};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{git, run};
use bumpwright_testkit::stub_http::StubHttp;
use serde_json::{Value as Json, json};
use std::io::Read;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

const GROUP: &str = "apiVersion: image.toolkit.fluxcd.io/v1";

/// A policy `fs/NAME` on an image repository of its own; `spec` is flow YAML below `spec`, `more` what comes after it.
fn manifests(name: &str, image: &str, spec: &str, annotations: &str, more: &str) -> String {
    format!(
        "---\n{GROUP}\nkind: ImageRepository\nmetadata: {{name: {name}, namespace: fs}}\n\
         spec: {{interval: 1h, image: '{image}', exclusionList: ['\\.sig$', ^sha256-]}}\n\
         ---\n{GROUP}\nkind: ImagePolicy\nmetadata: {{name: {name}, namespace: fs, annotations: {{{annotations}}}}}\n\
         spec: {{imageRepositoryRef: {{name: {name}}}, {spec}}}\n{more}"
    )
}

fn range(range: &str) -> String {
    format!("policy: {{semver: {{range: '{range}'}}}}")
}

/// A registry with `team/app`, whose tags meet every fate that a range with a filter knows.
fn registry() -> Option<(Registry, String)> {
    let registry = Registry::start()?;
    let tags = [
        "v1.0.0",
        "v1.2.0",
        "v1.9.0",
        "v1.10.0",
        "v1.11.0-rc.1",
        "v2.0.0",
        "v3",
        "main",
        "sha256-00.sig",
    ];
    registry.images().tags("team/app", &tags);
    let image = format!("{}/team/app", registry.host());
    Some((registry, image))
}

const BY_V: &str = "policy: {semver: {range: '<2'}}, filterTags: {pattern: ^v(.*)$, extract: $1}";

/// The columns of a line of the table.
fn columns(line: &str) -> Vec<&str> {
    line.split("  ")
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .collect()
}

#[test]
fn a_table_shows_choice_runners_up_and_what_became_of_all_tags() {
    let Some((_registry, image)) = registry() else { return };
    let bench = Bench::new();
    let twin = manifests(
        "twin",
        &image,
        &range("1.x"),
        "",
        "status: {latestRef: {name: app, tag: v1.2.0}}\n",
    );
    bench.write("m/app.yaml", manifests("app", &image, BY_V, "", "") + &twin);
    let ran = bench.ok(&["policy", "-f", "m"]);
    let lines: Vec<Vec<&str>> = ran.out.lines().map(columns).collect();
    assert_eq!(
        lines,
        [
            vec!["POLICY", "IMAGE", "CHOICE", "RUNNER-UPS", "TAGS"],
            vec![
                "fs/app",
                image.as_str(),
                "v1.10.0",
                "v1.9.0, v1.2.0, v1.0.0",
                "4 of 9: 1 excluded, 1 non-version, 1 out of range, 1 prerelease, 1 unmatched",
            ],
            vec![
                "fs/twin",
                image.as_str(),
                "v1.10.0 (was app:v1.2.0)",
                "v1.9.0, v1.2.0, v1.0.0",
                "4 of 9: 1 excluded, 2 non-versions, 1 out of range, 1 prerelease",
            ],
        ],
        "{}",
        ran.out
    );
    let heading = ran.out.lines().next().unwrap().find("CHOICE").unwrap();
    let row = ran.out.lines().nth(1).unwrap();
    assert_eq!(row.find("v1.10.0"), Some(heading), "{}", ran.out);
    // One of them by name, with its namespace or without.
    for name in ["fs/twin", "twin"] {
        let ran = bench.ok(&["policy", name, "-f", "m"]);
        assert!(
            ran.out.contains("fs/twin") && !ran.out.contains("fs/app"),
            "{}",
            ran.out
        );
    }
}

#[test]
fn a_page_tells_the_choices_and_the_steps() {
    let Some((_registry, image)) = registry() else { return };
    let bench = Bench::new();
    bench.write("m.yaml", manifests("app", &image, BY_V, "", ""));
    let html = bench
        .ok(&["policy", "-f", "m.yaml", "--explain", "v1.9.0", "--output", "html"])
        .out;
    for text in [
        "<!doctype html>",
        "fs/app",
        "v1.10.0",
        "fs/app: the tag v1.9.0",
        "5. It is number 2: v1.10.0 wins.",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    assert!(!html.contains("<script"), "{html}");
}

#[test]
fn json_tells_all_of_it() {
    let Some((registry, image)) = registry() else { return };
    let digest = registry.images().tags("team/app", &["v1.10.0"]);
    let bench = Bench::new();
    let spec = format!("{BY_V}, digestReflectionPolicy: IfNotPresent");
    let status = format!("status: {{latestRef: {{name: '{image}', tag: v1.9.0, digest: 'sha256:00'}}}}\n");
    bench.write("m.yaml", manifests("app", &image, &spec, "", &status));
    let (code, document) = bench.json(&["policy", "-f", "m.yaml", "--explain", "v1.9.0"]);
    let expected = json!({"version": 1, "policies": [{
        "policy": "fs/app",
        "repository": "fs/app",
        "image": image,
        "canonical": image,
        "choice": {"name": image, "tag": "v1.10.0", "digest": digest},
        "previous": {"name": image, "tag": "v1.9.0", "digest": "sha256:00"},
        "runnersUp": ["v1.9.0", "v1.2.0", "v1.0.0"],
        "tags": {
            "total": 9, "excluded": 1, "counted": 4,
            "dropped": {"NotAVersion": 1, "OutOfRange": 1, "Prerelease": 1, "Unmatched": 1},
        },
        "guards": [],
        "explanation": {
            "tag": "v1.9.0", "listed": true, "excludedBy": null, "value": "1.9.0", "verdict": "Outranked", "place": 2,
            "winner": "v1.10.0",
            "steps": [
                "The repository has the tag v1.9.0.",
                "The exclusion list lets it pass: it does not match \\.sig$ or ^sha256-.",
                "The filter ^v(.*)$ matches it, and $1 extracts 1.9.0.",
                "1.9.0 is a version in the range <2.",
                "It is number 2: v1.10.0 wins.",
            ],
        },
        "error": null,
    }]});
    assert_eq!((code, document), (0, expected));
}

#[test]
fn a_tag_is_explained_step_by_step() {
    let Some((_registry, image)) = registry() else { return };
    let bench = Bench::new();
    bench.write(
        "m.yaml",
        manifests("app", &image, BY_V, "bumpwright.dev/hold: freeze", ""),
    );
    let ran = bench.ok(&["policy", "-f", "m.yaml", "--explain", "v1.10.0"]);
    let expected = format!(
        "fs/app {image}: the tag v1.10.0\n  \
           1. The repository has the tag v1.10.0.\n  \
           2. The exclusion list lets it pass: it does not match \\.sig$ or ^sha256-.\n  \
           3. The filter ^v(.*)$ matches it, and $1 extracts 1.10.0.\n  \
           4. 1.10.0 is a version in the range <2.\n  \
           5. Nothing is newer: it is the choice.\n  \
         guard: held: freeze\n"
    );
    assert_eq!(ran.out, expected);
    for (tag, said) in [
        (
            "main",
            "3. The filter ^v(.*)$ does not match it, so it does not count.\n  4. The choice is v1.10.0.\n",
        ),
        (
            "v3",
            "4. 3 is not a version of three segments (invalid semantic version)",
        ),
        ("v2.0.0", "is a version outside of the range <2"),
        ("v1.11.0-rc.1", "is a prerelease, which the range <2 leaves out"),
        ("v1.99.0", "The repository does not have the tag v1.99.0"),
        ("v1.99.0", "It would be the choice instead of v1.10.0."),
        (
            "sha256-00.sig",
            "1. The exclusion list leaves sha256-00.sig out: it matches \\.sig$.\n  2. The choice is v1.10.0.\n",
        ),
    ] {
        let ran = bench.ok(&["policy", "-f", "m.yaml", "--explain", tag]);
        assert!(ran.out.contains(said), "{}", ran.out);
    }
}

#[test]
fn one_policy_can_be_made_from_flags() {
    let Some((_registry, image)) = registry() else { return };
    let bench = Bench::new();
    for (rule, choice) in [
        (&["--semver", ">=1.0.0-0 <2"][..], "v1.11.0-rc.1"),
        (&["--semver", "1.x"], "v1.10.0"),
        (&["--alphabetical", "asc"], "v3"),
        (&["--alphabetical", "Desc"], "main"),
        (
            &["--numerical", "desc", "--filter", "^v([0-9]+)", "--extract", "$1"],
            "v1.0.0",
        ),
        (
            &["--numerical", "asc", "--filter", "^v([0-9]+)$", "--extract", "$1"],
            "v3",
        ),
    ] {
        let (code, document) = bench.json(&[&["policy", "--image", &image], rule].concat());
        let found = &document["policies"][0];
        assert_eq!(
            (code, &found["choice"]["tag"]),
            (0, &json!(choice)),
            "{rule:?} {document}"
        );
        assert_eq!((&found["policy"], &found["repository"]), (&Json::Null, &Json::Null));
        // The default exclusion list holds.
        assert_eq!(found["tags"]["excluded"], 1);
    }
    let ran = bench.ok(&["policy", "--image", &image, "--semver", "1.x"]);
    assert!(ran.out.starts_with("IMAGE "), "{}", ran.out);
}

#[test]
fn the_users_own_login_opens_the_registry() {
    let Some(registry) = Registry::with(&Options {
        access: Access::Password("puller", "s3cret"),
        ..Options::default()
    }) else {
        return;
    };
    registry.images().tags("team/app", &["1.0.0"]);
    let image = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let arguments = ["policy", "--image", &image, "--semver", "*"];
    let (code, document) = bench.json(&arguments);
    assert_eq!(
        (code, &document["policies"][0]["error"]["reason"]),
        (2, &json!("ScanFailed"))
    );
    let told = document["policies"][0]["error"]["message"].as_str().unwrap();
    // The registry's code and message, without what it adds for programs.
    let way_out = format!(
        ": UNAUTHORIZED: authentication required; {0} needs a login; none was given (`docker login {0}`)",
        registry.host()
    );
    assert!(told.ends_with(&way_out), "{told}");
    std::fs::create_dir(bench.home.path().join(".docker")).unwrap();
    let log_in = |password: &str| {
        let login = json!({"auths": {registry.host(): {"username": "puller", "password": password}}});
        std::fs::write(bench.home.path().join(".docker/config.json"), login.to_string()).unwrap();
    };
    log_in("secret");
    let (_, document) = bench.json(&arguments);
    let told = document["policies"][0]["error"]["message"].as_str().unwrap();
    let refused = format!("{0} refused the login of puller (`docker login {0}`)", registry.host());
    assert!(told.ends_with(&refused), "{told}");
    log_in("s3cret");
    let (code, document) = bench.json(&arguments);
    assert_eq!(
        (code, &document["policies"][0]["choice"]["tag"]),
        (0, &json!("1.0.0")),
        "{document}"
    );
}

#[test]
fn what_fails_is_told_and_the_rest_is_shown() {
    let Some((_registry, image)) = registry() else { return };
    let angry = StubHttp::start(|_| Reply::registry_error(404, "NAME_UNKNOWN", "no \u{1b}[31msuch\u{9b}2J\nname"));
    let bad = format!("localhost:{}/team/bad", angry.address().port());
    let bench = Bench::new();
    let parts = [
        manifests("app", &image, BY_V, "", ""),
        manifests("bad", &bad, &range("*"), "", ""),
        manifests("none", &image, &range(">9"), "", ""),
        manifests("rule", &image, &range("x.y.z"), "", ""),
        manifests("url", "https://o/app", &range("*"), "", ""),
        manifests("when", &image, &range("*"), "bumpwright.dev/hold-until: soon", ""),
    ];
    bench.write("m.yaml", parts.concat());
    let ran = bench.run(&["policy", "-f", "m.yaml"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(!ran.out.contains(['\u{1b}', '\u{9b}']), "{}", ran.out);
    assert!(
        ran.out.contains("v1.10.0") && ran.out.contains("NAME_UNKNOWN: no "),
        "{}",
        ran.out
    );
    assert_eq!(ran.out.lines().count(), 12, "{}", ran.out);
    let (code, document) = bench.json(&["policy", "-f", "m.yaml"]);
    assert_eq!(code, 2);
    let errors: Vec<(&str, &str)> = document["policies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| (&found["error"]["reason"], &found["error"]["message"]))
        .map(|(reason, message)| {
            (
                reason.as_str().unwrap_or_default(),
                message.as_str().unwrap_or_default(),
            )
        })
        .collect();
    for (n, (reason, message)) in [
        ("", ""),
        ("ScanFailed", "NAME_UNKNOWN"),
        (
            "PolicyNotReady",
            "unable to determine latest version from provided list",
        ),
        // Of a field, with its place.
        ("PolicyNotReady", ": invalid policy: improper constraint: \"x.y.z\""),
        ("ScanFailed", "should not include URL scheme; remove 'https://'"),
        (
            "PolicyNotReady",
            "bumpwright.dev/hold-until: \"soon\" is not an RFC 3339 time",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(
            errors[n].0 == reason && errors[n].1.contains(message),
            "{:?}",
            errors[n]
        );
        let is_placed = errors[n].1.starts_with("m.yaml:");
        let is_of_field = message.starts_with(": invalid policy") || message.contains("URL scheme");
        assert_eq!(is_placed, is_of_field, "{:?}", errors[n]);
    }
    assert_eq!(document["policies"][2]["choice"], Json::Null);
    assert_eq!(document["policies"][2]["tags"]["counted"], 0);
    assert_eq!(document["policies"][4]["canonical"], Json::Null);
    assert_eq!(document["policies"][5]["runnersUp"], json!([]));
}

#[test]
fn what_another_stage_proves_is_not_known_here() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("team/app", &["1.1.0", "1.2.0"]);
    let image = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let guards = "bumpwright.dev/promote-from: Kustomization/fs/staging, bumpwright.dev/soak: 24h";
    bench.write("m.yaml", manifests("app", &image, &range("*"), guards, ""));
    let ran = bench.ok(&["policy", "-f", "m.yaml"]);
    let guard = "  guard: not proven by Kustomization fs/staging: only the controller in a cluster can look at it\n";
    assert!(ran.out.ends_with(guard), "{}", ran.out);
    let (_, document) = bench.json(&["policy", "-f", "m.yaml", "--explain", "1.2.0"]);
    let found = &document["policies"][0];
    assert_eq!(found["guards"][0]["reason"], "NotProven");
    let steps = found["explanation"]["steps"].as_array().unwrap();
    assert_eq!(
        *steps.last().unwrap(),
        "Whatever is chosen is taken only once Kustomization fs/staging has run it in good health for 24h0m0s, which only the \
         controller in a cluster can see (bumpwright.dev/promote-from)."
    );
}

/// docs/guides/stages.md
#[test]
fn what_a_path_proves_is_told_where_its_repository_is() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("team/app", &["1.0.0", "1.1.0", "1.2.0"]);
    let image = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let guards = "bumpwright.dev/promote-path: clusters/staging, bumpwright.dev/soak: 24h";
    bench.write(
        "fleet/policies/p.yaml",
        manifests("app", &image, &range("*"), guards, ""),
    );
    let judged = |tag: &str| {
        let (_, document) = bench.json(&["policy", "-f", "fleet/policies/p.yaml", "--explain", tag]);
        let found = &document["policies"][0];
        assert_eq!(found["choice"]["tag"], "1.2.0", "{document:#}");
        let steps = found["explanation"]["steps"].as_array().unwrap();
        let last = steps.last().unwrap().as_str().unwrap().to_owned();
        let guards = found["guards"].as_array().unwrap().iter();
        let guards: Vec<String> = guards
            .map(|guard| {
                assert_eq!(guard["reason"], "NotProven");
                guard["message"].as_str().unwrap().to_owned()
            })
            .collect();
        (last, guards.join(" "))
    };
    let later = "Whatever is chosen is written only once clusters/staging has had it for 24h0m0s, as the branch says at the time of an \
                 update (bumpwright.dev/promote-path).";
    assert_eq!(judged("1.2.0"), (later.to_owned(), String::new()));
    // A repository with a commit, but without the path.
    let fleet = bench.path("fleet");
    run(git(&fleet).args(["init", "-q"]));
    assert_eq!(judged("1.2.0"), (later.to_owned(), String::new()));
    let stage = |tag: &str, date: &str| {
        if !tag.is_empty() {
            let field = format!("image: {image}:{tag} # {{\"$imagepolicy\": \"fs:staging\"}}\n");
            bench.write("fleet/clusters/staging/app.yaml", field);
        }
        run(git(&fleet).args(["add", "-A"]));
        let mut git = git(&fleet);
        run(git.env("GIT_COMMITTER_DATE", date).args(["commit", "-qm", "change"]));
    };
    stage("", "1700000000 +0000");
    assert_eq!(judged("1.2.0"), (later.to_owned(), String::new()));
    // An older tag is proven.
    stage("1.1.0", "1700000000 +0000");
    let (last, guard) = judged("1.2.0");
    let has = "clusters/staging has 1.1.0 since 2023-11-14T22:13:20Z (commit ";
    assert!(
        last.starts_with(&format!("By the commit that is checked out, {has}")),
        "{last}"
    );
    assert!(last.ends_with(&format!("), so {image}:1.1.0 is proven.")), "{last}");
    assert!(guard.starts_with(&format!("not proven: {has}")), "{guard}");
    assert!(guard.ends_with(&format!("); {image}:1.1.0 is proven")), "{guard}");
    // The choice is; then it is not there for long enough.
    stage("1.2.0", "1700000100 +0000");
    let (last, guard) = judged("1.1.0");
    assert!(last.ends_with(&format!("), so {image}:1.2.0 is proven.")), "{last}");
    assert_eq!(guard, "");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    for (tag, hours) in [("1.1.0", 2), ("1.2.0", 1)] {
        stage(tag, &format!("{} +0000", now - hours * 3600));
    }
    let (last, guard) = judged("1.2.0");
    assert!(last.ends_with("s too short, so nothing is proven."), "{last}");
    let has = "not proven: clusters/staging has 1.2.0 since ";
    assert!(guard.starts_with(has) && guard.ends_with("s too short"), "{guard}");
}

#[test]
fn guards_are_told_and_are_no_failure() {
    let Some(registry) = Registry::start() else { return };
    let images = registry.images();
    let unknown = images.image("team/app", Media::Oci, "linux/amd64", None);
    images.tag("team/app", "1.2.0", &unknown);
    let image = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let status = format!("status: {{latestRef: {{name: '{image}', tag: 1.3.0}}}}\n");
    let guards =
        "bumpwright.dev/hold: freeze, bumpwright.dev/minimum-age: 72h, bumpwright.dev/allow-downgrade: 'false'";
    bench.write("m.yaml", manifests("app", &image, &range("*"), guards, &status));
    let ran = bench.ok(&["policy", "-f", "m.yaml"]);
    assert!(ran.out.contains("1.2.0 (was 1.3.0)"), "{}", ran.out);
    let lines: Vec<&str> = ran.out.lines().skip(2).collect();
    assert_eq!(
        lines,
        [
            "  guard: held: freeze",
            "  guard: the image's age is not known, 72h0m0s at least is wanted",
            "  guard: 1.2.0 is lower than 1.3.0, which is in use",
        ]
    );
    let (_, document) = bench.json(&["policy", "-f", "m.yaml"]);
    let found = &document["policies"][0];
    let reasons: Vec<&str> = (0..3).filter_map(|n| found["guards"][n]["reason"].as_str()).collect();
    assert_eq!(reasons, ["Held", "TooYoung", "WouldDowngrade"]);
    assert_eq!(found["choice"]["tag"], "1.2.0");
}

#[test]
fn the_status_stands_in_where_no_registry_is_asked() {
    let Some((registry, image)) = registry() else { return };
    let bench = Bench::new();
    // With the conditions that `kubectl get -o yaml` prints.
    let status = format!(
        "status: {{latestRef: {{name: '{image}', tag: v1.2.0}}, observedGeneration: 1, conditions: [{{type: Ready, status: 'True', \
         reason: Succeeded, message: m, lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1}}]}}\n"
    );
    let suspended = manifests("sleeps", &image, &(range("*") + ", suspend: true"), "", &status);
    let absent = status_only("fs", "alone", "o/app", "7");
    let parts = [manifests("app", &image, BY_V, "", &status), suspended, absent];
    bench.write("m.yaml", parts.concat());
    let ran = bench.ok(&["policy", "-f", "m.yaml", "--offline"]);
    assert_eq!(registry.requests().len(), 0);
    assert_eq!(columns(ran.out.lines().next().unwrap()), ["POLICY", "IMAGE", "CHOICE"]);
    assert_eq!(columns(ran.out.lines().nth(2).unwrap()), ["fs/app", &image, "v1.2.0"]);
    let ran = bench.ok(&["policy", "-f", "m.yaml"]);
    let notes: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("note: ")).collect();
    assert_eq!(
        notes,
        [
            "note: ImagePolicy fs/alone: its ImageRepository fs/alone is not among the manifests; what is shown is its status",
            "note: ImagePolicy fs/sleeps: it is suspended; what is shown is its status",
        ]
    );
    bench.write("m.yaml", manifests("app", &image, BY_V, "", ""));
    let ran = bench.run(&["policy", "-f", "m.yaml", "--offline"]);
    assert_eq!(ran.code, 2);
    let said = "  error: PolicyNotReady: no registry is asked, and it has no status.latestRef\n";
    assert!(ran.out.ends_with(said), "{}", ran.out);
}

/// What is told where there is none.
const NO_POLICY: &str = "there is no ImagePolicy in this folder: `-f FILE|DIR` names another";

/// Without flags the policies of the folder count, as for `update`.
#[test]
fn without_flags_the_policies_of_this_folder_are_shown() {
    let bench = Bench::new();
    bench.write("apps/m.yaml", manifests("app", "o/app", BY_V, "", ""));
    let here = bench.run(&["policy", "--offline"]);
    let named = bench.run(&["policy", "-f", ".", "--offline"]);
    assert!(
        here.out.starts_with("POLICY") && here.out.contains("fs/app"),
        "{}",
        here.out
    );
    assert_eq!((here.code, here.out, here.err), (named.code, named.out, named.err));
}

#[test]
fn what_cannot_be_meant_is_a_usage_error() {
    let bench = Bench::new();
    bench.write("empty.yaml", "a: 1\n");
    let ran = bench.run(&["policy"]);
    assert!(ran.code == 2 && ran.err.contains(NO_POLICY), "{}", ran.err);
    bench.write("m.yaml", manifests("app", "o/app", BY_V, "", ""));
    for (arguments, said) in [
        (
            &["-f", "m.yaml", "--image", "o/app", "--semver", "*"][..],
            "cannot be used with",
        ),
        (
            &["--image", "o/app"],
            "<--semver <RANGE>|--alphabetical <ORDER>|--numerical <ORDER>>",
        ),
        (
            &["--image", "o/app", "--semver", "*", "--numerical", "asc"],
            "cannot be used with",
        ),
        (&["--image", "o/app", "--numerical", "up"], "invalid value 'up'"),
        (
            &["--image", "o/app", "--semver", "*", "--extract", "$1"],
            "--filter <PATTERN>",
        ),
        (
            &["--image", "o/app", "--semver", "*", "--offline"],
            "cannot be used with",
        ),
        (
            &["--image", "o/app:1", "--semver", "*"],
            "--image: image 'o/app:1' should not include a tag; remove ':1'",
        ),
        (&["--image", "o/app", "--semver", "x y"], "improper constraint: \"x y\""),
        (
            &["--image", "o/app", "--semver", "*", "--filter", "("],
            "invalid regular expression pattern '('",
        ),
        (&["-f", "m.yaml", "--offline", "--explain", "1"], "cannot be used with"),
        (&["-f", "m.yaml", "--release", "1.0.0"], "cannot be used with"),
        (&["--release", "1.0.0"], "--release needs one policy, as NAMESPACE/NAME"),
        (
            &["--release", "1.0.0", "app"],
            "--release needs one policy, as NAMESPACE/NAME",
        ),
        (&["-f", "m.yaml", "other"], "there is no ImagePolicy other in -f"),
        (&["-f", "empty.yaml"], "there is no ImagePolicy in -f"),
        (&["-f", "nowhere.yaml"], "nowhere.yaml"),
    ] {
        let ran = bench.run(&[&["policy"], arguments].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?} {}", ran.err);
        assert!(ran.err.contains(said), "{arguments:?} {}", ran.err);
    }
}

/// `get imagerepositories -f`: neither a cluster nor a registry is asked.
#[test]
fn image_repositories_of_files_are_listed_with_their_places() {
    let bench = Bench::new();
    let repository = |name: &str| {
        format!(
            "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: {name}, namespace: fs}}\n\
             spec: {{image: ghcr.io/o/{name}, interval: 5m, secretRef: {{name: ghcr}}}}\n"
        )
    };
    let policy = "---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {name: app, namespace: fs}\n\
                  spec: {imageRepositoryRef: {name: app}, policy: {semver: {range: '*'}}}\n";
    bench.write("m/a.yaml", format!("{}---\n{}", repository("web"), repository("app")));
    bench.write("m/p.yaml", policy);
    let ran = bench.ok(&["get", "imagerepositories", "-f", "m"]);
    let rows: Vec<Vec<&str>> = ran.out.lines().map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(
        rows,
        [
            ["NAMESPACE", "NAME", "IMAGE", "POLICIES", "PLACE"],
            ["fs", "app", "ghcr.io/o/app", "1", "m/a.yaml:6:1"],
            ["fs", "web", "ghcr.io/o/web", "0", "m/a.yaml:1:1"],
        ]
    );
    let ran = bench.ok(&["get", "imagerepositories", "app", "-f", "m", "-o", "json"]);
    let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        document,
        serde_json::json!({"version": 1, "imageRepositories": [{
            "id": "ImageRepository/fs/app", "image": "ghcr.io/o/app", "interval": "5m", "secret": "ghcr", "suspended": false,
            "policies": ["ImagePolicy/fs/app"], "place": "m/a.yaml:6:1"
        }]})
    );
    let ran = bench.run(&["get", "imagerepositories", "ap", "-f", "m"]);
    assert!(ran.code == 2 && ran.err.ends_with("did you mean app?\n"), "{}", ran.err);
    let ran = bench.run(&["get", "images", "-f", "m"]);
    assert!(
        ran.code == 2 && ran.err.contains("-f shows imagerepositories alone"),
        "{}",
        ran.err
    );
}

#[test]
fn a_reader_that_goes_away_is_content() {
    let bench = Bench::new();
    let many: String = (0..3000)
        .map(|n| status_only("fs", &format!("p{n}"), "o/app", "1.0.0"))
        .collect();
    bench.write("m.yaml", many);
    for output in ["text", "json"] {
        let mut command = bench.command(&["policy", "-f", "m.yaml", "--offline", "-o", output]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{output}");
    }
}
