//! Changes that are not only of the runs: amended or rebased by a person, abandoned, left behind.

use super::*;

/// The change of `--gerrit`, its author the account of the runs.
fn pushed(fleet: &Fleet) -> (i32, Value) {
    let author = format!("{} <{}>", BOT.user, BOT.email);
    fleet.update(BOT, &[&fleet.project.url(), "--gerrit", "--author", &author])
}

/// Adds a file to the open change as a person does: `git commit --amend` under a name, and a push.
fn amend(fleet: &Fleet, name: &str, email: &str) {
    let project = &fleet.project;
    project.git(&["fetch", "-q", "origin", &reference(&fleet.last())]);
    project.git(&["checkout", "-q", "--detach", "FETCH_HEAD"]);
    std::fs::write(fleet.bench.home.path().join(project.name).join("by-hand"), "kept\n").unwrap();
    project.git(&["add", "."]);
    let (name, email) = (
        format!("GIT_COMMITTER_NAME={name}"),
        format!("GIT_COMMITTER_EMAIL={email}"),
    );
    let clone = fleet.bench.home.path().join(project.name);
    let amended = std::process::Command::new("env")
        .args([name.as_str(), email.as_str(), "GIT_COMMITTER_DATE=2030-01-01T00:00:00Z"])
        .args([
            "git",
            "-C",
            clone.to_str().unwrap(),
            "commit",
            "-q",
            "--amend",
            "--no-edit",
        ])
        .output()
        .unwrap();
    assert!(amended.status.success(), "{}", String::from_utf8_lossy(&amended.stderr));
    project.git(&["push", "-q", "origin", "HEAD:refs/for/main"]);
}

/// The reference of the current patch set.
fn reference(change: &Change) -> String {
    format!(
        "refs/changes/{:02}/{}/{}",
        change.number % 100,
        change.number,
        change.patch_sets
    )
}

fn assert_left(fleet: &Fleet, (code, run): (i32, Value), patch_sets: usize) {
    assert_eq!((code, run["pushes"].as_array().map(Vec::len)), (0, Some(0)), "{run:#}");
    let notes = run["notes"].to_string();
    let url = format!("/c/{}/+/{}", fleet.project.name, fleet.last().number);
    assert!(
        notes.contains(&url) && notes.contains("submit the change, or abandon it"),
        "{notes}"
    );
    assert_eq!(run["skips"][0]["reason"], "BranchEdited", "{run:#}");
    assert_eq!(fleet.patch_sets(), [patch_sets]);
    assert_eq!(fleet.proposed("by-hand"), "kept");
}

#[test]
fn a_change_that_somebody_has_amended_is_left_alone() {
    let Some(fleet) = fleet("amended") else { return };
    assert_eq!(fleet.short(), "created");
    amend(&fleet, "Admin", ADMIN.email);
    assert_left(&fleet, pushed(&fleet), 2);
    fleet.images("3.0.0", "1.0.0");
    assert_left(&fleet, pushed(&fleet), 2);
    // Once it is abandoned, the next one is a change of its own.
    fleet.project.abandon(&fleet.last());
    assert_eq!(fleet.short(), "created");
    assert_eq!(fleet.patch_sets(), [2, 1]);
}

/// Its committer is the same, but not its time.
#[test]
fn a_change_that_was_amended_under_the_name_of_the_runs_is_left_alone() {
    let Some(fleet) = fleet("same-name") else { return };
    assert_eq!(fleet.short(), "created");
    let forge = json!({"rules": {"global:Registered-Users": {"action": "ALLOW"}}});
    let access = json!({"add": {"refs/heads/*": {"permissions": {"forgeCommitter": forge}}}});
    let path = format!("projects/{}/access", fleet.project.name);
    Gerrit::get().unwrap().rest("POST", &path, &access);
    amend(&fleet, BOT.user, BOT.email);
    assert_left(&fleet, pushed(&fleet), 2);
}

#[test]
fn an_automation_leaves_an_amended_change_alone() {
    let Some(fleet) = fleet("automation-amended") else {
        return;
    };
    fleet.automation(&of_the_docs(), "{refspec: 'refs/heads/auto:refs/for/main'}");
    assert_eq!(fleet.automated(), [one("refs/for/main", "created")]);
    amend(&fleet, "Admin", ADMIN.email);
    fleet.images("3.0.0", "1.0.0");
    assert_left(&fleet, fleet.update(BOT, &["-f", "a.yaml"]), 2);
}

/// The button *Rebase* makes a patch set of somebody else, with the same edits.
#[test]
fn a_rebased_change_is_amended_by_the_next_tag() {
    let Some(fleet) = fleet("rebased") else { return };
    assert_eq!(fleet.short(), "created");
    fleet.project.land(&[("README", "hello\n")]);
    let path = format!("changes/{}/revisions/current/rebase", fleet.last().number);
    Gerrit::get().unwrap().rest("POST", &path, &json!({}));
    assert_eq!((fleet.short().as_str(), fleet.patch_sets()), ("up-to-date", vec![2]));
    fleet.images("3.0.0", "1.0.0");
    assert_eq!((fleet.short().as_str(), fleet.patch_sets()), ("updated", vec![3]));
    assert!(fleet.proposed("app.yaml").contains("app:3.0.0"));
}

#[test]
fn a_branch_that_moves_in_an_edited_file_makes_a_patch_set() {
    let Some(fleet) = fleet("moved-below") else { return };
    assert_eq!(fleet.short(), "created");
    let text = format!("{APP}replicas: 2\n");
    fleet.project.land(&[("app.yaml", &text)]);
    assert_eq!((fleet.short().as_str(), fleet.patch_sets()), ("updated", vec![2]));
    assert!(fleet.proposed("app.yaml").contains("replicas: 2"));
}

#[test]
fn an_older_change_for_the_same_files_is_named() {
    let Some(fleet) = fleet("left-behind") else { return };
    assert_eq!(fleet.short(), "created");
    let older = fleet.last();
    let more = "image: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";
    fleet.project.land(&[("more.yaml", more)]);
    let (code, run) = pushed(&fleet);
    assert_eq!(
        (code, pushes(&run)),
        (0, vec![one("refs/for/main", "created")]),
        "{run:#}"
    );
    let notes = run["notes"].to_string();
    let url = format!("/c/left-behind/+/{} ", older.number);
    assert!(
        notes.contains(&url) && notes.contains("still open, edits the same files"),
        "{notes}"
    );
    // Each run says so, until it is abandoned.
    let names_it = |status: &str| {
        let (_, run) = pushed(&fleet);
        assert_eq!(pushes(&run), [one("refs/for/main", status)]);
        run["notes"].to_string().contains(&url)
    };
    assert!(names_it("up-to-date"));
    fleet.images("3.0.0", "1.0.0");
    assert!(names_it("updated"));
    fleet.project.abandon(&older);
    assert!(!names_it("up-to-date"));
}

#[test]
fn an_automation_with_an_abandoned_change_says_the_way_out() {
    let Some(fleet) = fleet("automation-closed") else {
        return;
    };
    fleet.automation(&of_the_docs(), "{refspec: 'refs/heads/auto:refs/for/main'}");
    fleet.automated();
    fleet.project.abandon(&fleet.last());
    fleet.images("3.0.0", "1.0.0");
    let error = fleet.refused(BOT, &["-f", "a.yaml"]);
    assert!(
        error.contains(" closed; restore it there if it was abandoned") && error.contains("another Change-Id"),
        "{error}"
    );
}

#[test]
fn a_branch_may_be_given_by_its_full_name() {
    let Some(fleet) = fleet("full-name") else { return };
    let author = format!("{} <{}>", BOT.user, BOT.email);
    let url = fleet.project.url();
    let (code, run) = fleet.update(BOT, &[&url, "--gerrit=refs/heads/main", "--author", &author]);
    assert_eq!(
        (code, pushes(&run)),
        (0, vec![one("refs/for/main", "created")]),
        "{run:#}"
    );
    assert_eq!(fleet.short(), "up-to-date");
}

#[test]
fn a_preview_reports_a_change_id_that_gerrit_refuses() {
    let Some(fleet) = fleet("wrong-id") else { return };
    let author = format!("{} <{}>", BOT.user, BOT.email);
    let message = "Bump\n\nChange-Id: Iaaaa";
    let url = fleet.project.url();
    let flags = [
        &*url,
        "--gerrit",
        "--author",
        &author,
        "--message",
        message,
        "--dry-run",
    ];
    let (code, run) = fleet.update(BOT, &flags);
    assert_eq!(code, 0, "{run:#}");
    let notes = run["notes"].to_string();
    assert!(
        notes.contains("Iaaaa") && notes.contains("expected I and 40 hexadecimal digits"),
        "{notes}"
    );
}

#[test]
fn an_automation_names_the_change_that_is_up_to_date() {
    let Some(fleet) = fleet("automation-again") else { return };
    fleet.automation(&of_the_docs(), "{refspec: 'refs/heads/auto:refs/for/main'}");
    fleet.automated();
    let (_, run) = fleet.update(BOT, &["-f", "a.yaml"]);
    let url = run["pushes"][0]["url"].as_str().unwrap();
    assert!(
        url.ends_with(&format!("/c/automation-again/+/{}", fleet.last().number)),
        "{run:#}"
    );
}

/// Abandoned with these edits: not proposed again because the branch has moved elsewhere.
#[test]
fn an_abandoned_change_stays_so_until_the_edits_are_others() {
    let Some(fleet) = fleet("abandoned") else { return };
    assert_eq!(fleet.short(), "created");
    let first = fleet.last();
    fleet.project.abandon(&first);
    fleet.project.land(&[("README", "hello\n")]);
    let (code, run) = pushed(&fleet);
    assert_eq!(
        (code, pushes(&run)),
        (0, vec![one("refs/for/main", "up-to-date")]),
        "{run:#}"
    );
    let notes = run["notes"].to_string();
    let page = format!("/c/abandoned/+/{} closed; restore it there", first.number);
    assert!(notes.contains(&page), "{notes}");
    assert_eq!(fleet.patch_sets(), [1]);
    fleet.images("3.0.0", "1.0.0");
    assert_eq!(fleet.short(), "created");
    assert_eq!(fleet.patch_sets(), [1, 1]);
    // Back at what was abandoned.
    fleet.images("2.0.0", "1.0.0");
    assert_eq!((fleet.short().as_str(), fleet.patch_sets()), ("up-to-date", vec![1, 1]));
}

#[test]
fn an_automation_leaves_an_abandoned_change_where_the_branch_moves() {
    let Some(fleet) = fleet("automation-abandoned") else {
        return;
    };
    fleet.automation(&of_the_docs(), "{refspec: 'refs/heads/auto:refs/for/main'}");
    fleet.automated();
    fleet.project.abandon(&fleet.last());
    fleet.project.land(&[("README", "hello\n")]);
    assert_eq!(fleet.automated(), [one("refs/for/main", "up-to-date")]);
    assert_eq!(fleet.patch_sets(), [1]);
}

/// The commit of the run is an older patch set of it: restored, it would not be reviewed.
#[test]
fn the_advice_on_an_abandoned_change_knows_whose_its_patch_set_is() {
    let Some(fleet) = fleet("amended-abandoned") else {
        return;
    };
    assert_eq!(fleet.short(), "created");
    amend(&fleet, "Admin", ADMIN.email);
    fleet.project.abandon(&fleet.last());
    let (code, run) = pushed(&fleet);
    assert_eq!((code, fleet.patch_sets()), (0, vec![2]), "{run:#}");
    let notes = run["notes"].to_string();
    assert!(
        notes.contains("its newest patch set is of Admin") && !notes.contains("to have this commit reviewed"),
        "{notes}"
    );
}

#[test]
fn a_preview_asks_gerrit() {
    let Some(fleet) = fleet("previewed") else { return };
    let author = format!("{} <{}>", BOT.user, BOT.email);
    let previewed = || {
        let before = fleet.patch_sets();
        let url = fleet.project.url();
        let (code, run) = fleet.update(BOT, &[&url, "--gerrit", "--author", &author, "--dry-run"]);
        assert_eq!((code, fleet.patch_sets()), (0, before), "{run:#}");
        run
    };
    let says = |words: &str| {
        let run = previewed();
        assert!(run["notes"].to_string().contains(words), "{words}: {run:#}");
        run["commit"]["message"].as_str().unwrap().to_owned()
    };
    let first = says("it would be a change for review");
    assert_eq!(fleet.short(), "created");
    says("has this commit already: nothing would be pushed");
    fleet.images("3.0.0", "1.0.0");
    says("it would be the next patch set of http");
    fleet.images("2.0.0", "1.0.0");
    fleet.project.abandon(&fleet.last());
    says("was abandoned with this commit: nothing would be pushed");
    // The Change-Id that the run would take.
    fleet.images("3.0.0", "1.0.0");
    let second = says("it would be a change for review");
    let id = |message: &str| message.lines().last().map(str::to_owned);
    assert_ne!(id(&first), id(&second));
    assert_eq!(fleet.short(), "created");
    assert_eq!(id(&second), Some(format!("Change-Id: {}", fleet.last().id)));
    // What somebody has amended would not be pushed.
    amend(&fleet, "Admin", ADMIN.email);
    let run = previewed();
    assert_eq!(run["skips"][0]["reason"], "BranchEdited", "{run:#}");
    assert_eq!(run["changes"].as_array().map(Vec::len), Some(0), "{run:#}");
}

/// By `gerrit query`: no password is known there.
#[test]
fn an_amended_change_is_seen_over_ssh() {
    let Some(fleet) = fleet("amended-ssh") else { return };
    let gerrit = Gerrit::get().unwrap();
    let key = keygen(&fleet.bench.path("key"), &["-t", "ed25519"]);
    gerrit.authorize(BOT, &key);
    fleet.bench.write("hosts", gerrit.host_line());
    let (url, author) = (fleet.project.ssh_url(BOT), format!("{} <{}>", BOT.user, BOT.email));
    let over_ssh = || {
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
        let login = ["--ssh-key", "key", "--known-hosts", "hosts"];
        let (code, mut document) = fleet.bench.json(&[fixed.as_slice(), &login].concat());
        (code, document["runs"][0].take())
    };
    let (code, run) = over_ssh();
    assert_eq!(
        (code, pushes(&run)),
        (0, vec![one("refs/for/main", "created")]),
        "{run:#}"
    );
    let (_, run) = over_ssh();
    let page = run["pushes"][0]["url"].as_str().unwrap();
    assert!(
        page.ends_with(&format!("/c/amended-ssh/+/{}", fleet.last().number)),
        "{run:#}"
    );
    amend(&fleet, "Admin", ADMIN.email);
    fleet.images("3.0.0", "1.0.0");
    assert_left(&fleet, over_ssh(), 2);
    fleet.project.abandon(&fleet.last());
    let (_, run) = over_ssh();
    assert_eq!(pushes(&run), [one("refs/for/main", "created")], "{run:#}");
}

/// One line for each push, and why there is another commit.
#[test]
fn a_push_after_a_closed_change_is_explained_in_its_line() {
    let Some(fleet) = fleet("explained") else { return };
    assert_eq!(fleet.short(), "created");
    fleet.project.abandon(&fleet.last());
    fleet.images("3.0.0", "1.0.0");
    let (url, author) = (fleet.project.url(), format!("{} <{}>", BOT.user, BOT.email));
    let login = ["--username", BOT.user, "--password-file", BOT.user, "--offline"];
    let fixed = ["update", "-f", "p.yaml", &url, "--gerrit", "--author", &author];
    let ran = fleet.bench.ok(&[fixed.as_slice(), &login].concat());
    let lines: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("pushing: ")).collect();
    assert_eq!(lines.len(), 1, "{}", ran.err);
    assert!(
        lines[0].contains("another change, since the one with the Change-Id before is closed"),
        "{}",
        ran.err
    );
}
