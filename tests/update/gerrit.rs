//! `bumpwright update` against a real Gerrit: changes through refspecs, the short form `--gerrit`, and refusals.

mod amended;

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::gerrit::{ADMIN, Account, BOT, Change, Gerrit, Project};
use bumpwright_testkit::sshd::keygen;
use serde_json::{Value, json};

const APP: &str = "image: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";
const WEB: &str = "image: ghcr.io/o/web:1.0.0 # {\"$imagepolicy\": \"fs:web\"}\n";

/// The template of the documents (004, *Gerrit*), in the fields of today.
const DOCUMENTED: &str = r#"      messageTemplate: |
        Perform automatic image update

        {{ range $filename, $_ := .Changed.FileChanges -}}
        - {{ $filename }}
        {{ end }}
        {{- $ChangeId := .AutomationObject -}}
        {{- $ChangeId = printf "%s%s" $ChangeId ( .Changed.FileChanges | toString ) -}}
        {{- $ChangeId = printf "%s%s" $ChangeId ( .Changed.Objects | toString ) -}}
        {{- $ChangeId = printf "%s%s" $ChangeId ( .Changed.Changes | toString ) }}
        Change-Id: {{ printf "I%s" ( sha256sum $ChangeId | trunc 40 ) }}
"#;

/// A Change-Id that only the automation's name makes.
const OF_THE_NAME: &str = r#"      messageTemplate: |
        Perform automatic image update

        Change-Id: {{ printf "I%s" ( toString .AutomationObject | sha256sum | trunc 40 ) }}
"#;

struct Fleet {
    bench: Bench,
    project: Project,
}

/// A project with two marked files and nobody's policies yet; none where Gerrit is missing.
fn fleet(name: &'static str) -> Option<Fleet> {
    let gerrit = Gerrit::get()?;
    let bench = Bench::new();
    let project = gerrit.project(name, bench.home.path(), &[("app.yaml", APP), ("web.yaml", WEB)]);
    for account in [ADMIN, BOT] {
        bench.write(account.user, account.password);
    }
    let fleet = Fleet { bench, project };
    fleet.images("2.0.0", "1.0.0");
    Some(fleet)
}

impl Fleet {
    /// The tags that the policies give.
    fn images(&self, app: &str, web: &str) {
        let policies = policy("fs", "app", "ghcr.io/o/app", app) + &policy("fs", "web", "ghcr.io/o/web", web);
        self.bench.write("p.yaml", policies);
    }

    /// The automation `fs/auto`; `git` is what `spec.git` has besides an author.
    fn automation(&self, template: &str, push: &str) {
        let git = format!("{template}    checkout: {{ref: {{branch: main}}}}\n    push: {push}\n");
        let text = git_repository("fs", "repo", &self.project.url(), "  ref: {branch: main}\n")
            + &automation("fs", "auto", "repo", &git, "");
        self.bench.write("a.yaml", text);
    }

    fn update(&self, account: Account, more: &[&str]) -> (i32, Value) {
        let login = ["--username", account.user, "--password-file", account.user, "--offline"];
        let server = format!("--git-server={}", self.project.url());
        let (code, mut document) = self
            .bench
            .json(&[&["update", "-f", "p.yaml", &server], login.as_slice(), more].concat());
        (code, document["runs"][0].take())
    }

    /// Runs the automation of `a.yaml`; gives the status of each push.
    fn automated(&self) -> Vec<(String, String)> {
        let (code, run) = self.update(BOT, &["-f", "a.yaml"]);
        assert_eq!(code, 0, "{run:#}");
        pushes(&run)
    }

    /// `update URL --gerrit`; gives the status of its only push.
    fn short(&self) -> String {
        let url = self.project.url();
        let author = format!("{} <{}>", BOT.user, BOT.email);
        let (code, run) = self.update(BOT, &[&url, "--gerrit", "--author", &author]);
        assert_eq!(code, 0, "{run:#}");
        let pushes = pushes(&run);
        assert_eq!((pushes.len(), pushes[0].0.as_str()), (1, "refs/for/main"), "{run:#}");
        pushes[0].1.clone()
    }

    fn refused(&self, account: Account, more: &[&str]) -> String {
        let (code, run) = self.update(account, more);
        assert_eq!(code, 2, "{run:#}");
        run["error"].as_str().unwrap().to_owned()
    }

    /// Number of patch sets of every change, oldest change first.
    fn patch_sets(&self) -> Vec<usize> {
        self.project.changes().iter().map(|change| change.patch_sets).collect()
    }

    fn last(&self) -> Change {
        self.project.changes().pop().unwrap()
    }

    /// What the newest patch set of the newest change holds.
    fn proposed(&self, path: &str) -> String {
        self.project.show(&self.last().current, path)
    }
}

fn pushes(run: &Value) -> Vec<(String, String)> {
    let text = |push: &Value, key: &str| push[key].as_str().unwrap().to_owned();
    let pushes = run["pushes"].as_array().unwrap().iter();
    pushes.map(|push| (text(push, "ref"), text(push, "status"))).collect()
}

fn one(reference: &str, status: &str) -> (String, String) {
    (reference.to_owned(), status.to_owned())
}

#[test]
fn a_refspec_for_review_makes_one_change_with_and_without_a_push_branch() {
    for (name, branch) in [("refspec-alone", ""), ("refspec-branch", "branch: auto, ")] {
        let Some(fleet) = fleet(name) else { return };
        fleet.project.open("refs/heads/auto");
        let push = format!("{{{branch}refspec: 'refs/heads/auto:refs/for/main', options: {{topic: images}}}}");
        fleet.automation(DOCUMENTED, &push);
        let first = fleet.automated();
        assert_eq!(first.last(), Some(&one("refs/for/main", "created")), "{name}");
        let change = fleet.last();
        assert_eq!(
            (change.topic.as_deref(), change.branch.as_str(), fleet.patch_sets()),
            (Some("images"), "main", vec![1]),
            "{name}"
        );
        assert_eq!(fleet.project.branch("auto").is_some(), !branch.is_empty());
        for _ in 0..2 {
            assert!(
                fleet.automated().iter().all(|(_, status)| status == "up-to-date"),
                "{name}"
            );
            assert_eq!(fleet.project.changes(), std::slice::from_ref(&change), "{name}");
        }
        // The template counts tags in: a new one is a change of its own.
        fleet.images("3.0.0", "1.0.0");
        fleet.automated();
        assert_eq!(fleet.patch_sets(), [1, 1], "{name}");
        // A template without them amends the change that is open.
        fleet.automation(OF_THE_NAME, &push);
        fleet.images("3.1.0", "1.0.0");
        fleet.automated();
        fleet.images("4.0.0", "1.0.0");
        fleet.automated();
        assert_eq!(fleet.patch_sets(), [1, 1, 2], "{name}");
        assert!(fleet.proposed("app.yaml").contains("4.0.0"), "{name}");
        assert_eq!(
            fleet.automated().last(),
            Some(&one("refs/for/main", "up-to-date")),
            "{name}"
        );
        assert_eq!(fleet.patch_sets(), [1, 1, 2], "{name}");
    }
}

/// The template of docs/start/gerrit.md, as the lines of an automation's `spec.git.commit`.
fn of_the_docs() -> String {
    let page = include_str!("../../docs/start/gerrit.md");
    let (_, rest) = page.split_once("      messageTemplate: |\n").unwrap();
    let (template, _) = rest.split_once("    push:\n").unwrap();
    format!("      messageTemplate: |\n{template}")
}

#[test]
fn the_documented_template_amends_its_change_until_it_is_merged() {
    let Some(fleet) = fleet("documented") else { return };
    fleet.automation(&of_the_docs(), "{refspec: 'refs/heads/auto:refs/for/main'}");
    let (_, run) = fleet.update(BOT, &["-f", "a.yaml"]);
    assert_eq!(pushes(&run), [one("refs/for/main", "created")]);
    let first = fleet.last();
    let url = run["pushes"][0]["url"].as_str().unwrap();
    assert!(url.starts_with("http://") && url.contains("/c/documented/+/"), "{url}");
    assert_eq!(fleet.automated(), [one("refs/for/main", "up-to-date")]);
    fleet.images("3.0.0", "1.0.0");
    assert_eq!(fleet.automated(), [one("refs/for/main", "updated")]);
    assert_eq!((fleet.last().id, fleet.patch_sets()), (first.id, vec![2]));
    assert!(fleet.proposed("app.yaml").contains("app:3.0.0"));
    fleet.project.submit(&fleet.last());
    fleet.images("4.0.0", "1.0.0");
    assert_eq!(fleet.automated(), [one("refs/for/main", "created")]);
    assert_eq!(fleet.patch_sets(), [2, 1]);
}

#[test]
fn a_commit_that_is_only_on_a_branch_becomes_a_change_after_all() {
    let Some(fleet) = fleet("branch-first") else { return };
    fleet.project.open("refs/heads/auto");
    fleet.automation(DOCUMENTED, "{branch: auto}");
    fleet.automated();
    assert_eq!(fleet.patch_sets(), [0; 0]);
    fleet.automation(DOCUMENTED, "{branch: auto, refspec: 'refs/heads/auto:refs/for/main'}");
    let wanted = [one("refs/heads/auto", "up-to-date"), one("refs/for/main", "created")];
    assert_eq!(fleet.automated(), wanted);
    assert_eq!(fleet.patch_sets(), [1]);
}

#[test]
fn iua_089_a_direct_push_lands_for_those_who_may() {
    let Some(fleet) = fleet("direct") else { return };
    fleet.automation(DOCUMENTED, "{branch: auto, refspec: 'refs/heads/auto:refs/heads/main'}");
    let first = fleet.refused(BOT, &["-f", "a.yaml"]);
    assert!(
        first.contains("refs/heads/auto: prohibited by Gerrit: not permitted: create"),
        "{first}"
    );
    assert_eq!(fleet.refused(BOT, &["-f", "a.yaml"]), first);
    // The branch may be pushed now, the second push still not; the run is no success.
    fleet.project.open("refs/heads/auto");
    let second = fleet.refused(BOT, &["-f", "a.yaml"]);
    assert!(
        second.contains("refs/heads/main: prohibited by Gerrit: not permitted: update"),
        "{second}"
    );
    assert_eq!(fleet.refused(BOT, &["-f", "a.yaml"]), second);
    let (_, run) = fleet.update(BOT, &["-f", "a.yaml"]);
    assert_eq!(pushes(&run), [one("refs/heads/auto", "up-to-date")]);
    assert!(fleet.project.show("main", "app.yaml").contains("1.0.0"));

    // The commit that the branch has is what lands.
    let (code, run) = fleet.update(ADMIN, &["-f", "a.yaml"]);
    assert_eq!(code, 0, "{run:#}");
    let landed = [one("refs/heads/auto", "up-to-date"), one("refs/heads/main", "updated")];
    assert_eq!(pushes(&run), landed);
    let author = format!("Admin <{}>", ADMIN.email);
    fleet.images("3.0.0", "1.0.0");
    let (code, run) = fleet.update(ADMIN, &["-f", "a.yaml", "--author", &author]);
    assert_eq!(code, 0, "{run:#}");
    assert_eq!(
        pushes(&run),
        [one("refs/heads/auto", "updated"), one("refs/heads/main", "updated")]
    );
    assert!(fleet.project.show("main", "app.yaml").contains("3.0.0"));
    assert_eq!(fleet.project.branch("main"), fleet.project.branch("auto"));
}

#[test]
fn the_short_form_amends_its_change_until_it_is_merged() {
    let Some(fleet) = fleet("short") else { return };
    assert_eq!(fleet.short(), "created");
    let first = fleet.last();
    let message = fleet.project.message(&first.current);
    assert_eq!(
        message,
        format!(
            "Bump app to 2.0.0\n\n- ghcr.io/o/app: 1.0.0 → 2.0.0\n\nChange-Id: {}\n",
            first.id
        )
    );
    assert_eq!(fleet.short(), "up-to-date");
    assert_eq!(fleet.patch_sets(), [1]);
    // A newer tag, a tag of another policy: the same change. A branch that has moved elsewhere is no news.
    fleet.images("3.0.0", "1.0.0");
    assert_eq!(fleet.short(), "updated");
    fleet.images("3.0.0", "2.0.0");
    assert_eq!(fleet.short(), "updated");
    fleet.project.land(&[("README", "hello\n")]);
    assert_eq!((fleet.short().as_str(), fleet.patch_sets()), ("up-to-date", vec![3]));
    assert!(fleet.proposed("app.yaml").contains("3.0.0") && fleet.proposed("web.yaml").contains("2.0.0"));
    // Back to what an older patch set held, and once more.
    for (n, tag) in ["3.1.0", "3.0.0", "3.1.0", "3.0.0"].into_iter().enumerate() {
        fleet.images(tag, "2.0.0");
        assert_eq!(fleet.short(), "updated", "{tag}");
        assert_eq!(
            (fleet.patch_sets(), fleet.short().as_str()),
            (vec![4 + n], "up-to-date")
        );
        assert!(fleet.proposed("app.yaml").contains(tag));
    }
    fleet.project.submit(&fleet.last());
    assert_eq!(
        fleet.project.show("main", "app.yaml"),
        APP.replace("1.0.0", "3.0.0").trim()
    );
    fleet.images("4.0.0", "2.0.0");
    assert_eq!(fleet.short(), "created");
    assert_ne!(fleet.last().id, first.id);
    assert_eq!(fleet.patch_sets(), [7, 1]);
}

/// Jobs may write it in another way each; and what Gerrit does not look at is told.
#[test]
fn one_change_for_all_spellings_of_the_address() {
    let Some(fleet) = fleet("spelled") else { return };
    assert_eq!(fleet.short(), "created");
    let url = fleet.project.url();
    let author = format!("{} <{}>", BOT.user, BOT.email);
    for spelled in [format!("{url}.git"), format!("{url}/")] {
        let server = format!("--git-server={spelled}");
        let topic = ["--push-option", "topic=images"];
        let (code, run) = fleet.update(
            BOT,
            &[
                &[spelled.as_str(), &server, "--gerrit", "--author", &author],
                &topic[..],
            ]
            .concat(),
        );
        assert_eq!(code, 0, "{run:#}");
        assert_eq!(pushes(&run), [one("refs/for/main", "up-to-date")], "{spelled}");
        assert!(
            run["notes"]
                .to_string()
                .contains("Gerrit did not look at the push options (topic=images)"),
            "{run:#}"
        );
        assert_eq!(fleet.patch_sets(), [1], "{spelled}");
    }
}

#[test]
fn the_short_form_goes_on_after_a_closed_change() {
    let Some(fleet) = fleet("closed") else { return };
    fleet.short();
    fleet.project.abandon(&fleet.last());
    // This commit was abandoned: it is not pushed again.
    assert_eq!(fleet.short(), "up-to-date");
    assert_eq!(fleet.patch_sets(), [1]);
    // But another image is, and amended from then on.
    fleet.images("3.0.0", "1.0.0");
    assert_eq!(fleet.short(), "created");
    fleet.images("4.0.0", "1.0.0");
    assert_eq!(fleet.short(), "updated");
    assert_eq!(fleet.short(), "up-to-date");
    assert_eq!(fleet.patch_sets(), [1, 2]);
    // A merge that is taken back leaves the fields as they were before it.
    fleet.project.submit(&fleet.last());
    fleet.project.land(&[("app.yaml", APP)]);
    assert_eq!(fleet.short(), "created");
    assert_eq!(fleet.patch_sets(), [1, 2, 1]);
    let open = fleet
        .project
        .changes()
        .into_iter()
        .filter(|change| change.status == "NEW");
    assert_eq!(open.count(), 1);
}

#[test]
fn the_short_form_for_another_branch_and_with_trailers() {
    let Some(fleet) = fleet("stable") else { return };
    fleet.project.git(&["push", "-q", "origin", "main:refs/heads/stable"]);
    let url = fleet.project.url();
    let author = format!("{} <{}>", BOT.user, BOT.email);
    let message = "Bump\n\nWords.\n\nFleet-Run: 7";
    let flags = [&url, "--gerrit=stable", "--author", &author, "--message", message];
    let more = ["--push-option", "hashtag=fleet"];
    let ran = fleet.update(BOT, &[flags.as_slice(), &more].concat());
    assert_eq!(ran.0, 0, "{:#}", ran.1);
    let change = fleet.last();
    assert_eq!((change.branch.as_str(), change.patch_sets), ("stable", 1));
    let whole = format!("{message}\nChange-Id: {}\n", change.id);
    assert_eq!(fleet.project.message(&change.current), whole);
    assert_eq!(ran.1["commit"]["message"], json!(whole));
    // A dry run tells the same.
    let (code, run) = fleet.update(BOT, &[flags.as_slice(), &["--dry-run"]].concat());
    assert_eq!((code, &run["commit"]["message"]), (0, &json!(whole)));
    let notes = run["notes"].to_string();
    let review = format!(
        "it would be a change for review, pushed to refs/for/stable (Change-Id {}",
        change.id
    );
    assert!(notes.contains(&review), "{notes}");
    assert_eq!(fleet.patch_sets(), [1]);
    // And people are told where to look.
    fleet.images("3.0.0", "1.0.0");
    let login = ["--username", BOT.user, "--password-file", BOT.user, "--offline"];
    let all = [["update", "-f", "p.yaml"].as_slice(), &flags, &login].concat();
    let ran = fleet.bench.ok(&all);
    let link = format!("/c/stable/+/{}", change.number);
    assert!(
        ran.out.contains(&link) && ran.out.contains("refs/for/stable"),
        "{}\n{}",
        ran.out,
        ran.err
    );
}

#[test]
fn what_gerrit_refuses_is_said_in_its_words() {
    let Some(fleet) = fleet("refused") else { return };
    let url = fleet.project.url();
    let author = format!("{} <{}>", BOT.user, BOT.email);
    let by_bot = [&url, "--author", &author];
    let id = format!("I{}", "0".repeat(40));
    let misplaced = format!("Bump\n\nChange-Id: {id}\n\nWords");
    for (more, words) in [
        (vec!["--gerrit=nosuch"], "couldn't find remote ref"),
        (
            vec!["--refspec", "HEAD:refs/for/main"],
            "missing Change-Id in message footer",
        ),
        (
            vec!["--gerrit", "--message", &misplaced],
            "Change-Id must be in message footer",
        ),
        (
            vec!["--gerrit", "--message", "Bump\n\nChange-Id: I1234"],
            "invalid Change-Id",
        ),
        (vec!["--gerrit", "--push-option", "nonsense=1"], "is not a valid option"),
        (
            vec!["--gerrit", "--push-option", "r=nobody@example.com"],
            "nobody@example.com",
        ),
        (vec!["--gerrit", "--push-branch", "auto"], "leave out --push-branch"),
    ] {
        let error = fleet.refused(BOT, &[by_bot.as_slice(), &more].concat());
        assert!(error.contains(words), "{more:?}: {error}");
    }
    let error = fleet.refused(BOT, &[&url, "--gerrit", "--author", "X <x@elsewhere.example>"]);
    assert!(
        error.contains("forge committer") && error.contains("an email of the account: --author"),
        "{error}"
    );
    let error = fleet.refused(BOT, &[&format!("{url}-none"), "--gerrit", "--author", &author]);
    assert!(
        error.ends_with(": refused-none unavailable (there is no such project, or the account may not read it)"),
        "{error}"
    );
    let error = fleet.refused(BOT, &[by_bot.as_slice(), &["--refspec", "HEAD:refs/for/main"]].concat());
    assert!(
        !error.contains("Processing changes") && !error.contains("hooks/commit-msg"),
        "{error}"
    );
    assert_eq!(fleet.patch_sets(), [0; 0]);
    let wrong = fleet.bench.write("wrong", "wrong").display().to_string();
    let flags = [
        "update",
        "-f",
        "p.yaml",
        &url,
        "--gerrit",
        "--author",
        &author,
        "--username",
        BOT.user,
    ];
    let ran = fleet
        .bench
        .run(&[flags.as_slice(), &["--password-file", &wrong, "--offline"]].concat());
    assert_eq!(ran.code, 2, "{}", ran.err);
}

/// The script of a stage of ci/jenkins/Jenkinsfile.
fn stage(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/jenkins/Jenkinsfile");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, stage) = text.split_once(&format!("stage('{name}')")).unwrap();
    stage.split("'''").nth(1).unwrap().to_owned()
}

#[test]
fn the_jenkinsfile_keeps_one_change() {
    let Some(fleet) = fleet("jenkins") else { return };
    let temporary = fleet.bench.home.path().join("tmp");
    std::fs::create_dir_all(temporary.join("bumpwright")).unwrap();
    let program = temporary.join("bumpwright/bumpwright");
    std::os::unix::fs::symlink(bumpwright_testkit::program(), program).unwrap();
    let mut landed = "";
    for (tag, patch_sets) in [("2.0.0", [1]), ("2.0.0", [1]), ("3.0.0", [2])] {
        let policies = policy("fs", "app", "ghcr.io/o/app", tag);
        if std::mem::replace(&mut landed, tag) != tag {
            fleet.project.land(&[("p.yaml", &policies)]);
        }
        let ran = std::process::Command::new("sh")
            .args(["-xe", "-c", &stage("Bump")])
            .current_dir(&fleet.bench.dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", fleet.bench.home.path())
            .env("WORKSPACE_TMP", &temporary)
            .env("FLEET_URL", fleet.project.url())
            .env("FLEET_BRANCH", "main")
            .env("BUMPWRIGHT_AUTHOR", format!("{} <{}>", BOT.user, BOT.email))
            .env("BUMPWRIGHT_GIT_USERNAME", BOT.user)
            .env("BUMPWRIGHT_GIT_PASSWORD", BOT.password)
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && !log.contains(BOT.password), "{log}");
        assert_eq!(fleet.patch_sets(), patch_sets, "{tag}");
        assert!(fleet.proposed("app.yaml").contains(tag));
        assert!(fleet.bench.read("bumpwright.md").contains(tag));
    }
}

#[test]
fn a_change_is_made_and_amended_over_ssh() {
    let Some(fleet) = fleet("over-ssh") else { return };
    let gerrit = Gerrit::get().unwrap();
    let key = keygen(&fleet.bench.path("key"), &["-t", "ed25519"]);
    gerrit.authorize(BOT, &key);
    fleet.bench.write("hosts", gerrit.host_line());
    let url = fleet.project.ssh_url(BOT);
    let author = format!("{} <{}>", BOT.user, BOT.email);
    for (tag, patch_sets) in [("2.0.0", 1), ("3.0.0", 2)] {
        fleet.images(tag, "1.0.0");
        let login = ["--ssh-key", "key", "--known-hosts", "hosts"];
        let fixed = [
            "update",
            "-f",
            "p.yaml",
            &url,
            "--gerrit",
            "--offline",
            "--author",
            &author,
        ];
        let (code, document) = fleet.bench.json(&[fixed.as_slice(), &login].concat());
        assert_eq!(code, 0, "{document:#}");
        assert_eq!(fleet.patch_sets(), [patch_sets]);
        assert!(fleet.proposed("app.yaml").contains(tag));
    }
}

const SYNC: &str = "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {interval: 1m, url: 'URL'}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 10m, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: fleet}}
";

/// A Deployment, and a claim whose template is in another folder.
fn apps(image: &str, size: &str) -> [(&'static str, String); 2] {
    let web = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: shop}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    \
         metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - name: web\n        image: {image}\n"
    );
    let claim = format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data, namespace: shop}}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources:\n    \
         requests:\n      storage: {size}\n"
    );
    [("apps/web.yaml", web), ("apps/claim.yaml", claim)]
}

/// `fleet review -o gerrit`, posted by REST and by SSH.
#[test]
fn a_change_is_reviewed_with_a_vote_and_comments_at_its_lines() {
    let Some(gerrit) = Gerrit::get() else { return };
    let bench = Bench::new();
    let name = "reviewed";
    let before = apps("ghcr.io/o/web:1.0.0", "10Gi");
    let files = before.each_ref().map(|(path, text)| (*path, text.as_str()));
    let project = gerrit.project(name, bench.home.path(), &files);
    project.land(&[("clusters/prod/sync.yaml", &SYNC.replace("URL", &project.url()))]);
    let label = json!({"values": {"-1": "Fails", " 0": "No score", "+1": "Verified"}, "function": "NoBlock"});
    gerrit.rest("PUT", &format!("projects/{name}/labels/Verified"), &label);
    let range = json!({"action": "ALLOW", "min": -1, "max": 1});
    let vote = json!({"label": "Verified", "rules": {"global:Registered-Users": range}});
    let access = json!({"add": {"refs/heads/*": {"permissions": {"label-Verified": vote}}}});
    gerrit.rest("POST", &format!("projects/{name}/access"), &access);

    let clone = bench.home.path().join(name);
    let pushed = |image: &str, size: &str, amend: bool| {
        for (path, text) in apps(image, size) {
            std::fs::write(clone.join(path), text).unwrap();
        }
        let email = format!("user.email={}", ADMIN.email);
        let id = format!("I{}", "7".repeat(40));
        let message = format!("Bump web\n\nChange-Id: {id}");
        let commit = ["-c", &email, "commit", "-q", "-a", "-m", &message];
        project.git(&[&commit[..], if amend { &["--amend"] } else { &[] }].concat());
        project.git(&["push", "-q", "origin", "HEAD:refs/for/main"]);
    };
    let review = |more: &[&str]| {
        let mut command = bench.command(&[
            "fleet",
            "review",
            "--offline",
            "--from",
            "origin/main",
            "--to",
            "HEAD",
            "-o",
            "gerrit",
        ]);
        let output = command
            .args(more)
            .arg("clusters/prod")
            .current_dir(&clone)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text)
    };
    let posted = |change: &Change| {
        let path = |rest: &str| format!("changes/{}/{rest}", change.number);
        let detail = gerrit.rest("GET", &path("detail"), &Value::Null);
        let comments = gerrit.rest("GET", &path("comments"), &Value::Null);
        (
            detail["labels"]["Verified"]["all"][0]["value"].clone(),
            detail["messages"].clone(),
            comments,
        )
    };

    pushed("ghcr.io/o/web:2.0.0", "8Gi", false);
    let change = project.changes().pop().unwrap();
    let (code, text) = review(&[]);
    assert_eq!(code, 1, "{text}");
    let input: Value = serde_json::from_str(&text).unwrap();
    gerrit.rest(
        "POST",
        &format!("changes/{}/revisions/current/review", change.number),
        &input,
    );
    let (vote, messages, comments) = posted(&change);
    assert_eq!(vote, -1, "{messages:#}");
    let message = messages.as_array().unwrap().last().unwrap();
    assert_eq!(message["tag"], "autogenerated:bumpwright");
    let text = message["message"].as_str().unwrap();
    for part in [
        "In the clusters: 2 changed.",
        "New with this change: 1 error, 1 note",
        "* Deployment shop/web: ghcr.io/o/web:1.0.0 → ghcr.io/o/web:2.0.0 (restarts)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let comment = &comments["apps/claim.yaml"][0];
    assert_eq!(
        (&comment["line"], &comment["unresolved"]),
        (&json!(8), &json!(true)),
        "{comments:#}"
    );
    let said = comment["message"].as_str().unwrap();
    assert!(
        said.starts_with("error [immutable-field]: PersistentVolumeClaim shop/data: "),
        "{said}"
    );
    assert_eq!(comments["apps/web.yaml"][0]["unresolved"], false, "{comments:#}");

    // The next patch set is fine. By SSH, as an account that may vote.
    pushed("ghcr.io/o/web:1.0.1", "10Gi", true);
    let (code, text) = review(&[]);
    assert_eq!(code, 0, "{text}");
    let key = bench.path("key");
    keygen(&key, &["-t", "ed25519"]);
    gerrit.authorize(BOT, &key);
    let change = project.changes().pop().unwrap();
    let address = project.ssh_url(BOT);
    let (host, rest) = address.trim_start_matches("ssh://").split_once(':').unwrap();
    let port = rest.split('/').next().unwrap();
    let file = bench.path("review.json");
    std::fs::write(&file, &text).unwrap();
    let ssh = std::process::Command::new("ssh")
        .args([
            "-i",
            key.to_str().unwrap(),
            "-p",
            port,
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
        ])
        .args([
            "-o",
            "IdentitiesOnly=yes",
            host,
            "gerrit",
            "review",
            "--json",
            "--project",
            name,
            &change.current,
        ])
        .stdin(std::fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    assert!(ssh.status.success(), "{}", String::from_utf8_lossy(&ssh.stderr));
    let (_, messages, _) = posted(&change);
    let last = messages.as_array().unwrap().last().unwrap()["message"]
        .as_str()
        .unwrap();
    assert!(last.starts_with("Patch Set 2: Verified+1"), "{last}");

    // Without a vote, also for who may not give one.
    let (_, text) = review(&["--gerrit-label", ""]);
    let input: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(input.get("labels"), None);
}
