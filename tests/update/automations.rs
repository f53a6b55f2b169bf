//! `bumpwright update -f` with ImageUpdateAutomations: repository, push branch, author (docs/cli.md, *TARGET*,
//! rules 3 to 6).

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::repo::{Change, Repo};
use serde_json::{Value, json};

const MARKED: &str = "image: o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";

struct Fleet {
    bench: Bench,
    repo: Repo,
    manifests: String,
}

fn fleet() -> Fleet {
    let bench = Bench::new();
    let repo = bench.repository("app.git");
    repo.commit(
        "main",
        "first",
        &[
            Change::File("apps/a.yaml", MARKED.as_bytes()),
            Change::File("infra/i.yaml", MARKED.as_bytes()),
        ],
    );
    let manifests =
        policy("fs", "app", "o/app", "2.0.0") + &git_repository("fs", "repo", &url(&repo), "  ref: {branch: main}\n");
    Fleet { bench, repo, manifests }
}

fn url(repo: &Repo) -> String {
    format!("file://{}", repo.dir.display())
}

impl Fleet {
    fn with(mut self, more: &str) -> Self {
        self.manifests += more;
        self
    }

    fn run(&self, more: &[&str]) -> (i32, Value) {
        self.bench.write("m.yaml", &self.manifests);
        self.bench.json(&[&["update", "-f", "m.yaml"], more].concat())
    }

    fn landed(&self, more: &[&str]) -> Value {
        let (code, document) = self.run(more);
        assert_eq!(code, 0, "{document:#}");
        document
    }

    fn error(&self, more: &[&str]) -> String {
        let (code, document) = self.run(more);
        assert_eq!(code, 2, "{document:#}");
        document["runs"][0]["error"].as_str().unwrap_or_default().to_owned()
    }

    /// What the manifests have at the place that an error begins with, and the error without the place.
    fn placed<'a>(&'a self, error: &'a str) -> (&'a str, &'a str) {
        let parts: Vec<&str> = error.splitn(4, ':').collect();
        let &["m.yaml", line, column, rest] = parts.as_slice() else {
            panic!("no place: {error}");
        };
        let number = |text: &str| text.parse::<usize>().unwrap();
        let line = self.manifests.lines().nth(number(line) - 1).unwrap();
        (&line[number(column) - 1..], rest.trim_start())
    }
}

/// Errors of a setting begin with the place of its field.
#[test]
fn errors_of_settings_have_their_places() {
    for (settings, rest, at, message) in [
        (
            "    push: {branch: a..b}\n",
            "",
            "a..b}",
            "is not a valid reference name",
        ),
        ("    push: {refspec: main}\n", "", "main}", "separators are wrong"),
        (
            "    push: {branch: x, refspec: 'refs/heads/x:a..b'}\n",
            "",
            "'refs/heads/x:a..b'}",
            "not a full reference name",
        ),
        (
            "    checkout: {ref: {branch: gone}}\n",
            "",
            "gone}}",
            "couldn't find remote ref",
        ),
        (
            "    checkout: {ref: {tag: v9}}\n    push: {branch: x}\n",
            "",
            "v9}}",
            "couldn't find remote ref",
        ),
        (
            "    checkout: {ref: {semver: new}}\n    push: {branch: x}\n",
            "",
            "new}}",
            "semver \"new\"",
        ),
        ("", "  update: {path: ./app}\n", "./app}", "does not exist in"),
    ] {
        let fleet = fleet().with(&automation("fs", "auto", "repo", settings, rest));
        let error = fleet.error(&[]);
        let (found, text) = fleet.placed(&error);
        assert!(
            found.starts_with(at) && text.contains(message),
            "{settings}{rest}: {error}"
        );
    }
    let near = fleet().with(&automation("fs", "auto", "repo", "", "  update: {path: ./app}\n"));
    assert!(near.error(&[]).ends_with("; did you mean apps?"), "{}", near.error(&[]));
    // In a folder as at a remote.
    near.bench.write("apps/b.yaml", MARKED);
    let in_folder = near.error(&["."]);
    assert!(near.placed(&in_folder).0.starts_with("./app}"), "{in_folder}");
    assert!(
        in_folder.ends_with("does not exist in .; did you mean apps?"),
        "{in_folder}"
    );
    // What a flag says is in no manifest.
    let flag = near.error(&["--path", "infa"]);
    assert!(
        flag.starts_with("update path \"infa\"") && flag.ends_with("; did you mean infra?"),
        "{flag}"
    );
    // The repository says what is checked out, where the automation does not.
    let mut gone = fleet().with(&automation("fs", "auto", "repo", "", ""));
    gone.manifests = gone.manifests.replace("ref: {branch: main}", "ref: {branch: gone}");
    assert!(gone.placed(&gone.error(&[])).0.starts_with("gone}"));
    let without = automation("fs", "auto", "repo", "", "")
        .split("  git:")
        .next()
        .unwrap()
        .to_owned();
    let fleet = fleet().with(&without);
    let error = fleet.error(&[]);
    assert!(
        fleet.placed(&error).1.contains("necessitates field .spec.git"),
        "{error}"
    );
}

#[test]
fn an_automation_says_what_to_clone_where_to_look_and_who_commits() {
    let fleet = fleet().with(&automation(
        "fs",
        "auto",
        "repo",
        "",
        "  update: {path: ./apps, strategy: Setters}\n",
    ));
    let document = fleet.landed(&[]);
    let run = &document["runs"][0];
    assert_eq!(run["automation"], "fs/auto");
    assert_eq!(run["commit"]["author"], "fluxbot <flux@example.com>");
    assert_eq!(run["changes"][0]["path"], "apps/a.yaml");
    assert_eq!(fleet.repo.show("main", "infra/i.yaml"), MARKED.as_bytes(), "IUA-098");
    assert_eq!(fleet.repo.log("main")[0].author, "fluxbot <flux@example.com>");
    assert_eq!(fleet.repo.log("main")[0].message, "Update from image update automation");
}

#[test]
fn checkout_and_push_sections_are_followed() {
    let git = "    checkout: {ref: {branch: release}}\n    push: {branch: auto, refspec: 'refs/heads/auto:refs/heads/copy'}\n";
    let fleet = fleet().with(&automation("fs", "auto", "repo", git, ""));
    fleet
        .repo
        .commit("release", "release", &[Change::File("r.yaml", MARKED.as_bytes())]);
    let release = fleet.repo.rev("release").unwrap();
    let document = fleet.landed(&[]);
    let refs: Vec<_> = document["runs"][0]["pushes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["ref"].clone())
        .collect();
    assert_eq!(refs, [json!("refs/heads/auto"), json!("refs/heads/copy")]);
    assert_eq!(fleet.repo.log("auto")[0].parents, [release]);
    assert_eq!(fleet.repo.rev("auto"), fleet.repo.rev("copy"));
}

#[test]
fn every_kind_of_reference_can_be_checked_out() {
    let fleet = fleet();
    let base = fleet.repo.rev("main").unwrap();
    fleet.repo.git(&["tag", "v1.0.0", "main"]);
    fleet.repo.git(&[
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "tag",
        "-a",
        "-m",
        "annotated",
        "v1.2.0",
        "main",
    ]);
    fleet.repo.git(&["tag", "v2.0.0-rc.1", "main"]);
    fleet.repo.git(&["update-ref", "refs/pull/1/head", "main"]);
    fleet.repo.commit("main", "later", &[Change::File("later", b"")]);
    let references = [
        ("{tag: v1.0.0}".to_owned(), "t1"),
        ("{semver: '>=1.0.0 <2.0.0'}".to_owned(), "t2"),
        ("{name: refs/pull/1/head}".to_owned(), "t3"),
        (format!("{{commit: {base}, branch: main}}"), "t4"),
    ];
    for (reference, branch) in references {
        let git = format!("    checkout: {{ref: {reference}}}\n    push: {{branch: {branch}}}\n");
        let manifests = fleet.manifests.clone() + &automation("fs", "auto", "repo", &git, "");
        fleet.bench.write("m.yaml", manifests);
        let (code, document) = fleet.bench.json(&["update", "-f", "m.yaml"]);
        assert_eq!(code, 0, "{reference}: {document:#}");
        assert_eq!(
            fleet.repo.log(branch)[0].parents,
            std::slice::from_ref(&base),
            "{reference}"
        );
    }
}

#[test]
fn iua_074_a_tag_alone_gives_no_branch_to_push_to() {
    let fleet = fleet().with(&automation(
        "fs",
        "auto",
        "repo",
        "    checkout: {ref: {tag: v1}}\n",
        "",
    ));
    fleet.repo.git(&["tag", "v1", "main"]);
    let expected =
        "push spec not provided, and cannot be inferred from .spec.git.checkout.ref or GitRepository .spec.ref";
    assert_eq!(fleet.placed(&fleet.error(&[])).1, expected);
}

#[test]
fn iua_074_without_any_reference_nothing_is_fetched() {
    let expected =
        "push spec not provided, and cannot be inferred from .spec.git.checkout.ref or GitRepository .spec.ref";
    for reference in ["", "  ref: {}\n"] {
        let mut fleet = fleet().with(&automation("fs", "auto", "repo", "", ""));
        fleet.repo.git(&["branch", "master", "main"]);
        fleet.manifests = fleet.manifests.replace("  ref: {branch: main}\n", reference);
        assert_eq!(fleet.placed(&fleet.error(&[])).1, expected, "{reference:?}");
        fleet.landed(&["--branch", "master"]);
        assert_eq!(fleet.repo.log("master").len(), 2);
    }
    let mut fleet = fleet().with(&automation("fs", "auto", "repo", "    push: {branch: auto}\n", ""));
    fleet.repo.git(&["branch", "master", "main"]);
    fleet.manifests = fleet.manifests.replace("  ref: {branch: main}\n", "");
    fleet.landed(&[]);
    assert_eq!(fleet.repo.log("auto").len(), 2, "it starts from master");
}

#[test]
fn what_is_no_image_is_never_written() {
    for (image, tag, shown) in [("o/App", "2.0.0", "o/App:2.0.0"), ("o/app", "2+1", "o/app:2+1")] {
        let bad = policy("fs", "bad", image, tag);
        let expected = format!("encountered invalid image ref \"{shown}\": could not parse reference: {shown}");
        let automated = fleet().with(&automation("fs", "auto", "repo", "", "")).with(&bad);
        let error = automated.error(&[]);
        assert!(
            error.starts_with(&format!("ImagePolicy fs/bad: {expected}; ")),
            "{error}"
        );
        assert_eq!(
            automated.repo.log("main").len(),
            1,
            "the other policy's markers wait too"
        );
        let other = fleet()
            .with(&automation("fs", "auto", "repo", "", ""))
            .with(&bad.replace("namespace: fs", "namespace: elsewhere"));
        other.landed(&[]);
        let plain = fleet().with(&bad);
        plain.bench.write("a.yaml", MARKED.replace("fs:app", "fs:bad"));
        plain.bench.write("m.yaml", &plain.manifests);
        let (code, document) = plain.bench.json(&["update", "-f", "m.yaml", "a.yaml"]);
        let skip = &document["runs"][0]["skips"][0];
        assert_eq!(
            (code, skip["reason"].as_str()),
            (0, Some("PolicyNotReady")),
            "{document:#}"
        );
        assert!(skip["message"].as_str().unwrap().contains(&expected), "{skip}");
    }
}

#[test]
fn app_data_and_provider_belong_together() {
    let of = |repository: &str| {
        let mut fleet = fleet().with(&automation("fs", "auto", "repo", "", ""));
        fleet.manifests = fleet.manifests.replace("  ref:", &format!("  {repository}\n  ref:"));
        fleet.manifests += "---\napiVersion: v1\nkind: Secret\nmetadata: {name: app, namespace: fs}\n\
                            stringData: {githubAppID: '1', githubAppPrivateKey: x}\n";
        fleet.error(&[])
    };
    assert_eq!(
        of("provider: github"),
        "secretRef with github app data must be specified when provider is set to github: invalid source configuration"
    );
    assert_eq!(
        of("secretRef: {name: app}"),
        "secretRef 'fs/app' has github app data but provider is not set to github: invalid source configuration"
    );
}

#[test]
fn what_is_missing_is_named() {
    let gone = fleet().with(&automation("fs", "auto", "elsewhere", "", ""));
    let error = gone.error(&[]);
    let (at, text) = gone.placed(&error);
    assert!(
        at.starts_with("elsewhere}") && text.contains("GitRepository fs/elsewhere is not among the manifests"),
        "{error}"
    );
    let none = fleet().with(&automation(
        "fs",
        "auto",
        "repo",
        "    checkout: {ref: {semver: '>=5'}}\n    push: {branch: x}\n",
        "",
    ));
    assert!(none.error(&[]).contains("no match found for semver: >=5"));
    let selector = fleet().with(&automation(
        "fs",
        "auto",
        "repo",
        "",
        "  policySelector: {matchExpressions: [{key: a, operator: Like, values: [b]}]}\n",
    ));
    let error = selector.error(&[]);
    let (at, text) = selector.placed(&error);
    assert!(at.starts_with("{matchExpressions"), "{error}");
    assert_eq!(
        text,
        "failed to parse policy selector: \"Like\" is not a valid label selector operator"
    );
}

#[test]
fn a_commit_that_should_be_signed_is_never_made_otherwise() {
    let signed = automation("fs", "auto", "repo", "", "").replace(
        "    commit:\n",
        "    commit:\n      signingKey: {secretRef: {name: k}}\n",
    );
    let fleet = fleet().with(&signed);
    let before = fleet.repo.rev("main");
    assert_eq!(
        fleet.error(&[]),
        "could not find signing key secret 'k': secrets \"k\" not found"
    );
    assert_eq!(fleet.repo.rev("main"), before);
}

fn templated(template: &str) -> String {
    automation("fs", "auto", "repo", "", "  update: {path: ./apps}\n").replace(
        "    commit:\n",
        &format!("    commit:\n      messageTemplate: '{template}'\n      messageTemplateValues: {{cluster: prod}}\n"),
    )
}

/// IUA-044, IUA-058, IUA-062, N-014, N-018.
#[test]
fn a_message_tells_what_changed() {
    let template = "{{ .AutomationObject }} {{ .Values.cluster }}:{{ range $file, $objects := .Changed.FileChanges }} {{ $file }}{{ end }}{{ range .Changed.Changes }} {{ .OldValue }}->{{ .NewValue }} {{ .Setter }}{{ end }}{{ range .Updated.Images }} {{ .Identifier }} {{ .Policy }}{{ end }}";
    let fleet = fleet().with(&templated(template));
    let (code, document) = fleet.run(&[]);
    assert_eq!(code, 0, "{document}");
    let message = &document["runs"][0]["commit"]["message"];
    let change = &document["runs"][0]["changes"][0];
    let [old, new] = ["old", "new"].map(|key| change[key].as_str().unwrap());
    let setter = change["setter"].as_str().unwrap();
    let file = change["path"].as_str().unwrap().strip_prefix("apps/").unwrap();
    let tag = new.rsplit(':').next().unwrap();
    let policy = change["policy"].as_str().unwrap();
    let expected = format!("fs/auto prod: {file} {old}->{new} {setter} {tag} {policy}");
    assert_eq!(message.as_str(), Some(expected.as_str()));
    let written = fleet.repo.git(&["log", "-1", "--format=%B", "main"]);
    assert_eq!(written.trim_end(), expected);
}

/// IUA-063: nothing is pushed, and the error says where and what was meant.
#[test]
fn a_message_that_cannot_be_rendered_stops_the_run() {
    for (template, error, note) in [
        (
            "{{ .Update.Files }}",
            "failed to run template from spec: template: commit message:1:10: executing \"commit message\" at <.Update.Files>: can't evaluate field Update in type source.TemplateData",
            "message template, line 1, column 11: no field `Update`, did you mean `.Updated`?",
        ),
        (
            "{{ uper .Values.cluster }}",
            "unable to create commit message template from spec: template: commit message:1: function \"uper\" not defined",
            "message template, line 1, column 4: no function `uper`, did you mean `upper`?",
        ),
    ] {
        let fleet = fleet().with(&templated(template));
        let before = fleet.repo.rev("main");
        assert_eq!(fleet.error(&[]), error);
        assert_eq!(fleet.repo.rev("main"), before);
        let ran = fleet.bench.run(&["update", "-f", "m.yaml", "--dry-run"]);
        assert_eq!(ran.code, 2);
        assert!(
            format!("{}{}", ran.out, ran.err).contains(note),
            "{}\n{}",
            ran.out,
            ran.err
        );
    }
}

/// Before there is anything to commit: with the first bump it would be too late.
#[test]
fn a_template_that_cannot_become_a_message_is_reported_without_a_bump() {
    let fleet = fleet().with(&automation("fs", "auto", "repo", "", ""));
    fleet.landed(&[]);
    let before = fleet.repo.rev("main");
    let Fleet { bench, repo, manifests } = fleet;
    let plain = manifests.replace(&automation("fs", "auto", "repo", "", ""), "");
    for (template, expected) in [
        (
            "{{ range .Changed.Changes }}{{ .OldValue }}{{ end }}{{ index .Updated.Images 9 }}",
            None,
        ),
        ("{{ .Values.unknown }}", None),
        ("{{ uper .Values.cluster }}", Some("function \"uper\" not defined")),
        ("{{ if .Changed }}", Some("unexpected EOF")),
        (
            "{{ range .Changed.Changes }}{{ .Old }}{{ end }}",
            Some("can't evaluate field Old in type"),
        ),
    ] {
        bench.write("m.yaml", plain.clone() + &templated(template));
        let (code, document) = bench.json(&["update", "-f", "m.yaml"]);
        let error = document["runs"][0]["error"].as_str().unwrap_or_default();
        assert_eq!(code, if expected.is_some() { 2 } else { 0 }, "{document:#}");
        assert!(error.contains(expected.unwrap_or_default()), "{template}: {error}");
        assert_eq!(repo.rev("main"), before);
    }
}

#[test]
fn a_target_stands_for_the_one_repository_of_all_automations() {
    let mut fleet = fleet().with(&automation("fs", "auto", "repo", "", ""));
    let other = fleet.bench.repository("other.git");
    other.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
    let target = url(&other);
    let before = fleet.repo.rev("main");
    fleet.landed(&[&target]);
    assert_eq!(fleet.repo.rev("main"), before);
    assert_eq!(other.log("main").len(), 2);
    fleet.manifests += &git_repository("fs", "second", "https://git.example.com/x.git", "");
    fleet.manifests += &automation("fs", "auto2", "second", "", "");
    fleet.bench.write("m.yaml", &fleet.manifests);
    let ran = fleet.bench.run(&["update", "-f", "m.yaml", &target]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("fs/repo, fs/second"), "{}", ran.err);
}

#[test]
fn flags_about_one_push_are_refused_with_several_automations() {
    let fleet = fleet()
        .with(&automation("fs", "a", "repo", "", ""))
        .with(&automation("fs", "b", "repo", "", ""));
    fleet.bench.write("m.yaml", &fleet.manifests);
    for flag in [
        ["--push-branch", "x"],
        ["--branch", "x"],
        ["--refspec", "a:b"],
        ["--push-option", "a=b"],
    ] {
        let ran = fleet.bench.run(&["update", "-f", "m.yaml", flag[0], flag[1]]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("cannot be used with 2 automations"), "{}", ran.err);
    }
}

#[test]
fn one_failing_automation_does_not_stop_the_others() {
    let fleet = fleet()
        .with(&automation("fs", "a-bad", "repo", "", "  update: {path: ./nowhere}\n"))
        .with(&automation("fs", "b-good", "repo", "", "  update: {path: ./apps}\n"))
        .with(&automation("fs", "c-missing", "nope", "", ""))
        .with(&automation("fs", "d-suspended", "repo", "", "  suspend: true\n"));
    let (code, document) = fleet.run(&[]);
    assert_eq!(code, 2);
    let runs = document["runs"].as_array().unwrap();
    let names: Vec<_> = runs
        .iter()
        .map(|run| (run["automation"].as_str().unwrap(), run["error"].is_null()))
        .collect();
    assert_eq!(
        names,
        [
            ("fs/a-bad", false),
            ("fs/b-good", true),
            ("fs/c-missing", false),
            ("fs/d-suspended", true)
        ]
    );
    assert_eq!(runs[3]["changes"], json!([]));
    assert_eq!(fleet.repo.log("main").len(), 2);
}

#[test]
fn a_selector_leaves_policies_out_and_says_so() {
    let fleet = fleet().with(&automation(
        "fs",
        "auto",
        "repo",
        "",
        "  policySelector: {matchLabels: {team: a}}\n",
    ));
    let document = fleet.landed(&[]);
    let run = &document["runs"][0];
    assert_eq!(
        (&run["changes"], run["skips"][0]["reason"].as_str()),
        (&json!([]), Some("NotSelected"))
    );
}

#[test]
fn secrets_in_the_manifests_open_the_repository() {
    let fleet = fleet();
    let login = bumpwright_testkit::git_http::Login::Basic("bot".into(), "s3cret".into());
    let options = bumpwright_testkit::git_http::Options {
        login,
        ..bumpwright_testkit::git_http::Options::default()
    };
    let server = bumpwright_testkit::git_http::GitHttp::with(&fleet.bench.dir, options);
    let manifests = policy("fs", "app", "o/app", "2.0.0")
        + &git_repository(
            "fs",
            "repo",
            &server.url("app.git"),
            "  ref: {branch: main}\n  secretRef: {name: login}\n",
        )
        + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: fs}\nstringData: {username: bot, password: s3cret}\n"
        + &automation("fs", "auto", "repo", "", "");
    fleet.bench.write("m.yaml", manifests);
    let (code, document) = fleet.bench.json(&["update", "-f", "m.yaml"]);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(fleet.repo.log("main").len(), 2);
}

#[test]
fn old_versions_of_the_kinds_are_read() {
    let fleet = fleet();
    let policy = "---\napiVersion: image.toolkit.fluxcd.io/v1beta1\nkind: ImagePolicy\nmetadata: {name: app, namespace: fs}\n\
                  spec: {imageRepositoryRef: {name: app}, policy: {semver: {range: '*'}}}\nstatus: {latestImage: 'o/app:9.0.0'}\n";
    let repository = git_repository("fs", "repo", &url(&fleet.repo), "  ref: {branch: main}\n")
        .replace("fluxcd.io/v1\n", "fluxcd.io/v1beta2\n");
    let automation = automation("fs", "auto", "repo", "", "").replace("fluxcd.io/v1\n", "fluxcd.io/v1beta1\n");
    fleet
        .bench
        .write("m.yaml", policy.to_owned() + &repository + &automation);
    let (code, document) = fleet.bench.json(&["update", "-f", "m.yaml"]);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(document["runs"][0]["changes"][0]["new"], "o/app:9.0.0");
}

#[test]
fn a_secret_is_never_sent_to_another_server_than_its_own() {
    let fleet = fleet();
    let server = bumpwright_testkit::git_http::GitHttp::start(&fleet.bench.dir);
    let manifests = policy("fs", "app", "o/app", "2.0.0")
        + &git_repository(
            "fs",
            "repo",
            "https://git.example.com/app.git",
            "  ref: {branch: main}\n  secretRef: {name: login}\n",
        )
        + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: fs}\nstringData: {username: bot, password: s3cret}\n"
        + &automation("fs", "auto", "repo", "", "");
    fleet.bench.write("m.yaml", manifests);
    let ran = fleet.bench.ok(&["update", "-f", "m.yaml", &server.url("app.git")]);
    assert!(
        ran.out.contains("the secret of fs/repo is not sent to another server"),
        "{}",
        ran.out
    );
    assert!(
        server
            .requests()
            .iter()
            .all(|seen| seen.header("authorization").is_none())
    );
    assert_eq!(fleet.repo.log("main").len(), 2);
}

/// Everything that an API server would refuse is reported before any request or push, each with its place.
#[test]
fn a_field_that_is_misspelt_pushes_nothing() {
    let fleet = fleet().with(&automation(
        "fs",
        "auto",
        "repo",
        "    psuh: {branch: auto}\n",
        "  intreval: 5m\n",
    ));
    let error = fleet.error(&[]);
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 2, "{error}");
    for (line, said) in lines.iter().zip([
        "ImageUpdateAutomation fs/auto: spec.git.psuh is unknown: did you mean push?",
        "ImageUpdateAutomation fs/auto: spec.intreval is unknown: did you mean interval?",
    ]) {
        let (place, text) = line.split_once(": ").unwrap();
        let mut place = place.split(':');
        assert_eq!(place.next(), Some("m.yaml"));
        assert!(place.all(|number| number.parse::<usize>().is_ok()), "{line}");
        assert_eq!(text, said);
    }
    assert_eq!(fleet.repo.log("main").len(), 1);
    let document = fleet.landed(&["--allow-unknown-fields"]);
    assert_eq!(document["runs"][0]["pushes"][0]["ref"], "refs/heads/main");
}

/// In a folder an object may be what a kustomization is built on; what is there has to fit all the same.
#[test]
fn objects_in_a_folder_may_lack_what_patches_add() {
    let fleet = fleet();
    let base = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {name: base, namespace: fs}\nspec:\n  \
                imageRepositoryRef: {name: base}\n";
    let all = fleet.manifests.clone() + &automation("fs", "auto", "repo", "", "");
    fleet.bench.write("folder/fleet.yaml", all);
    let file = fleet.bench.write("folder/base.yaml", base);
    let (code, document) = fleet.bench.json(&["update", "-f", "folder", "--dry-run"]);
    assert_eq!(code, 0, "{document:#}");
    let named = fleet.bench.run(&["update", "-f", "folder/base.yaml", "--dry-run"]);
    let missing = "folder/base.yaml:5:3: ImagePolicy fs/base: spec.policy is required";
    assert!(named.err.contains(missing), "{}", named.err);
    std::fs::write(file, base.replace("imageRepositoryRef", "imageRepositoryref")).unwrap();
    let (code, document) = fleet.bench.json(&["update", "-f", "folder", "--dry-run"]);
    assert_eq!(code, 2);
    let error = document["runs"][0]["error"].as_str().unwrap();
    assert!(
        error.contains("spec.imageRepositoryref is unknown: did you mean imageRepositoryRef?"),
        "{error}"
    );
}

/// docs/cli.md, *Annotations*: they count here as they do in the cluster.
#[test]
fn annotations_of_an_automation_count() {
    let annotated = |annotation: &str| {
        let automation = automation("fs", "auto", "repo", "", "");
        automation.replacen(
            "namespace: fs}",
            &format!("namespace: fs, annotations: {{bumpwright.dev/{annotation}}}}}"),
            1,
        )
    };
    let dry = fleet().with(&annotated("dry-run: 'true'"));
    let document = dry.landed(&[]);
    assert_eq!(
        document["runs"][0]["changes"].as_array().unwrap().len(),
        2,
        "{document:#}"
    );
    assert_eq!(document["runs"][0]["pushes"].as_array().map_or(0, Vec::len), 0);
    assert_eq!(dry.repo.log("main").len(), 1);
    let text = dry.bench.ok(&["update", "-f", "m.yaml"]).out;
    assert!(text.contains("would commit on main"), "{text}");
    assert!(
        text.contains("the annotation bumpwright.dev/dry-run is \"true\""),
        "{text}"
    );
    for (annotation, words) in [
        (
            "settle: '20'",
            "annotation bumpwright.dev/settle: \"20\" is not a duration such as 20s or 5m",
        ),
        (
            "dry-run: 'yes'",
            "annotation bumpwright.dev/dry-run: \"yes\" is not \"true\" or \"false\"",
        ),
        (
            "dryRun: 'true'",
            "annotation bumpwright.dev/dryRun is unknown: did you mean bumpwright.dev/dry-run?",
        ),
        (
            "hold: ''",
            "annotation bumpwright.dev/hold is unknown: it is for objects of kind ImagePolicy",
        ),
    ] {
        let closed = fleet().with(&annotated(annotation));
        let error = closed.error(&[]);
        assert!(error.contains(words), "{annotation}: {error}");
        assert_eq!(closed.repo.log("main").len(), 1);
    }
    // Of the policies of a repository, too, which are read without their schema.
    let held = fleet().with(&automation("fs", "auto", "repo", "", ""));
    let policy = policy("fs", "other", "ghcr.io/o/other", "2.0.0").replace(
        "namespace: fs}",
        "namespace: fs, annotations: {bumpwright.dev/minimumAge: 1h}}",
    );
    let marked = "image: ghcr.io/o/other:1.0.0 # {\"$imagepolicy\": \"fs:other\"}\n";
    let files =
        [("other.yaml", marked), ("policy.yaml", &policy)].map(|(name, text)| Change::File(name, text.as_bytes()));
    held.repo.commit("main", "more", &files);
    let document = held.landed(&[]);
    let skips = document["runs"][0]["skips"].to_string();
    assert!(
        skips.contains("did you mean bumpwright.dev/minimum-age?"),
        "{document:#}"
    );
    assert!(String::from_utf8_lossy(&held.repo.show("main", "other.yaml")).contains("1.0.0"));
}
