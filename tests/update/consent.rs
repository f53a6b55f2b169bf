//! `bumpwright.dev/allow-automations-from` on policies of `-f` (docs/guides/tenants.md, *Sharing policies*).

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::repo::{Change, Repo};
use serde_json::{Value, json};

const MARKED: &str = "web: o/web:1.0.0 # {\"$imagepolicy\": \"shared:web\"}\n\
    none: o/none:1.0.0 # {\"$imagepolicy\": \"shared:none\"}\nown: o/own:1.0.0 # {\"$imagepolicy\": \"team-a:own\"}\n";

const MESSAGE: &str =
    "      messageTemplate: \"{{ range .Changed.Changes }}{{ .Setter }} {{ .NewValue }};{{ end }}\"\n";

/// A policy of the namespace `shared` that allows automations by this annotation.
fn shared(name: &str, tag: &str, allowed: Option<&str>) -> String {
    let manifest = policy("shared", name, &format!("o/{name}"), tag);
    let Some(allowed) = allowed else { return manifest };
    let named = format!("metadata: {{name: {name}, ");
    let annotations = json!({"bumpwright.dev/allow-automations-from": allowed});
    let labels = "labels: {tier: front}";
    manifest.replace(&named, &format!("{named}{labels}, annotations: {annotations}, "))
}

fn namespace(name: &str, labels: &str) -> String {
    format!("---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {labels}}}\n")
}

struct Team {
    bench: Bench,
    repo: Repo,
}

impl Team {
    /// The automation of `team-a`, with these manifests besides.
    fn new(spec: &str, more: &str) -> Self {
        let bench = Bench::new();
        let repo = bench.repository("app.git");
        repo.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
        let url = format!("file://{}", repo.dir.display());
        let all = automation("team-a", "all", "repo", MESSAGE, spec)
            + &git_repository("team-a", "repo", &url, "  ref: {branch: main}\n")
            + &policy("team-a", "own", "o/own", "2.0.0");
        bench.write("m.yaml", all + more);
        Self { bench, repo }
    }

    fn run(&self, more: &[&str]) -> Value {
        let (code, mut document) = self.bench.json(&[&["update", "-f", "m.yaml"], more].concat());
        assert_eq!(code, 0, "{document:#}");
        document["runs"][0].take()
    }
}

/// The policies whose fields have changed.
fn changed(run: &Value) -> Vec<&str> {
    let changes = run["changes"].as_array().unwrap().iter();
    changes.map(|change| change["policy"].as_str().unwrap()).collect()
}

/// Reason and message of a skip, by the line of its marker.
fn skip(run: &Value, line: u64) -> (&str, &str) {
    let skips = run["skips"].as_array().unwrap();
    let skip = skips
        .iter()
        .find(|skip| skip["line"] == line)
        .unwrap_or_else(|| panic!("{run:#}"));
    (skip["reason"].as_str().unwrap(), skip["message"].as_str().unwrap())
}

/// IUA-002: without consent nothing tells whether there is such a policy.
#[test]
fn a_policy_that_does_not_allow_it_is_as_one_that_is_not_there() {
    for allowed in [None, Some("team-b"), Some("env=prod"), Some("Team-A")] {
        let team = Team::new("", &shared("web", "2.0.0", allowed));
        for more in [&[][..], &["--set", "shared:web=o/web:3.0.0"]] {
            let run = team.run(&[&["--dry-run"], more].concat());
            assert_eq!(changed(&run), ["team-a/own"]);
            let (there, missing) = (skip(&run, 1), skip(&run, 2));
            assert_eq!(there.0, "OtherNamespace", "{allowed:?}");
            assert_eq!(
                (there.0, there.1.replace("shared/web", "shared/none")),
                (missing.0, missing.1.to_owned())
            );
        }
    }
}

#[test]
fn a_policy_is_used_by_those_that_it_allows() {
    let labels = namespace("team-a", "{env: prod, team: a}");
    for (allowed, namespaces, is_used) in [
        ("team-b, team-a", "", true),
        ("*", "", true),
        ("env=prod,team in (a,b)", labels.as_str(), true),
        ("env=prod,team in (b)", labels.as_str(), false),
        ("!env", labels.as_str(), false),
        // Labels that are not known select nothing, not even what has to be absent.
        ("!env", "", false),
        ("!env", &namespace("team-b", "{}"), false),
        ("!env", &namespace("team-a", "{}"), true),
        ("team!=b", &(labels.clone() + &namespace("team-a", "{team: c}")), false),
    ] {
        let team = Team::new("", &(shared("web", "2.0.0", Some(allowed)) + namespaces));
        let run = team.run(&[]);
        let expected: &[&str] = if is_used {
            &["shared/web", "team-a/own"]
        } else {
            &["team-a/own"]
        };
        assert_eq!(changed(&run), expected, "{allowed} {namespaces}");
        if is_used {
            assert_eq!(skip(&run, 2).0, "OtherNamespace");
            let message = "shared:web o/web:2.0.0;team-a:own o/own:2.0.0;";
            assert_eq!(team.repo.log("main")[0].message, message);
        }
    }
}

#[test]
fn selector_hold_and_set_are_as_for_policies_of_its_own() {
    let allowed = shared("web", "2.0.0", Some("team-a"));
    let run = Team::new("  policySelector: {matchLabels: {tier: back}}\n", &allowed).run(&[]);
    assert_eq!((changed(&run), skip(&run, 1).0), (vec![], "NotSelected"));
    let run = Team::new("  policySelector: {matchLabels: {tier: front}}\n", &allowed).run(&[]);
    assert_eq!((changed(&run), skip(&run, 3).0), (vec!["shared/web"], "NotSelected"));
    let held = allowed.replace("annotations: {", "annotations: {\"bumpwright.dev/hold\": freeze, ");
    let run = Team::new("", &held).run(&[]);
    assert_eq!((changed(&run), skip(&run, 1).0), (vec!["team-a/own"], "Held"));
    let run = Team::new("", &allowed).run(&["--set", "shared:web=o/web:3.0.0"]);
    assert_eq!(run["changes"][0]["new"], "o/web:3.0.0");
}

/// An invalid image of its own ends a run, as in Flux; one of another namespace must not.
#[test]
fn an_invalid_image_of_another_namespace_stops_nothing_else() {
    let run = Team::new("", &shared("web", "not a tag", Some("*"))).run(&[]);
    assert_eq!((changed(&run), skip(&run, 1).0), (vec!["team-a/own"], "PolicyNotReady"));
}

/// docs/cli.md, *TARGET*, rule 5.
#[test]
fn policies_in_the_repository_may_allow_it_too() {
    let team = Team::new("", "");
    let manifest = shared("web", "2.0.0", Some("team-a"));
    team.repo.commit(
        "main",
        "policies",
        &[Change::File("policies.yaml", manifest.as_bytes())],
    );
    assert_eq!(changed(&team.run(&["--offline"])), ["shared/web", "team-a/own"]);
}
