//! Put-backs where commits are reviewed: a pull request, a change or an AGit request of their own, found again, merged
//! or closed by people.

use std::cell::OnceCell;

use super::{Applier, Fleet, deployment};
use bumpwright_testkit::forge::{Forge, ForgeKind};
use bumpwright_testkit::gerrit::{BOT, Change as GerritChange, Gerrit, Project};
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, SECRET, World};
use serde_json::{Value as Json, json};

const RECORD: &str = "state.bumpwright.dev/rollout";

/// With more annotations of the automation.
fn revert(more: &[(&str, &str)]) -> Json {
    let mut annotations = json!({"bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": "1s"});
    for (key, value) in more {
        annotations[format!("bumpwright.dev/{key}")] = json!(value);
    }
    annotations
}

fn record(fleet: &Fleet) -> Json {
    let automation = fleet.world.get(AUTOMATION, "all");
    let text = automation["metadata"]["annotations"][RECORD].as_str().unwrap_or("{}");
    serde_json::from_str(text).unwrap()
}

/// Requests a run and waits for its end; `at` must differ each time.
fn run(fleet: &Fleet, at: &str) {
    fleet.world.request(AUTOMATION, "all", at);
    until("the request is handled", || {
        fleet.world.get(AUTOMATION, "all")["status"]["lastHandledReconcileAt"] == at
    });
}

fn over(fleet: &Fleet) {
    until("the rollout is over", || record(fleet)["closed"].is_i64());
}

/// Merges a commit, as a squash with other words.
fn squash(fleet: &Fleet, commit: &str) {
    let file = fleet.repo.show(commit, "apps/web.yaml");
    fleet
        .repo
        .commit("main", "Squashed", &[Change::File("apps/web.yaml", &file)]);
}

/// Somebody else's work on the branch.
fn work(fleet: &Fleet, text: &str) {
    fleet
        .repo
        .commit("main", "person", &[Change::File("README", text.as_bytes())]);
}

#[test]
fn a_put_back_at_github_is_a_pull_request_of_its_own() {
    let annotations = revert(&[
        ("pull-request", "github"),
        ("pull-request-secret", "forge"),
        ("revert-message", "Take back {{ len .Changed.Changes }}\n\nIt failed."),
    ]);
    let forge: OnceCell<Forge> = OnceCell::new();
    let more = |world: &World<'_>| {
        let root = world.folder.path().join("forge");
        std::fs::create_dir_all(root.join("o")).unwrap();
        let served = world.repository("fleet.git");
        std::os::unix::fs::symlink(&served.dir, root.join("o/app.git")).unwrap();
        served.config("http.receivepack", "true");
        let forge = forge.get_or_init(|| Forge::start(ForgeKind::GitHub, &root, "Bearer t0ken"));
        let url = forge.server.url("o/app.git");
        world.patch(GIT_REPOSITORY, "fleet", &json!({"spec": {"url": url}}));
        world.put(SECRET, "forge", json!({"stringData": {"token": "t0ken"}}));
        let api = forge.server.url("api/v3/");
        let annotations = json!({"bumpwright.dev/pull-request-api": api});
        let push = json!({"git": {"push": {"branch": "auto"}}});
        world.patch(
            AUTOMATION,
            "all",
            &json!({"metadata": {"annotations": annotations}, "spec": push}),
        );
    };
    let Some(mut fleet) = Fleet::start_with("proposed-github", Applier::Ours, &annotations, &more) else {
        return;
    };
    let forge = forge.get().unwrap();
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    until("it is proposed", || forge.pulls().len() == 1);
    squash(&fleet, "auto");
    forge.by_hand(|pull| (pull.open, pull.merged) = (false, true));
    fleet.rolled_out("False", "; to be put back by pull request #2 (https://");
    let pull = forge.pulls()[1].clone();
    assert_eq!((pull.head.as_str(), pull.base.as_str()), ("auto-put-back", "main"));
    assert_eq!(pull.title, "Take back 1");
    let bad = fleet.repo.rev("auto").unwrap();
    for part in ["ghcr.io/o/web:1.0.0", "It failed.", &format!("Reverted-Commit: {bad}")] {
        assert!(pull.body.contains(part), "{part}: {}", pull.body);
    }
    // Found again by another process, and after others pushed: one request, on the new base.
    fleet.ours.take().unwrap().kill();
    fleet.start_ours();
    run(&fleet, "again");
    work(&fleet, "one");
    let tip = fleet.repo.rev("main").unwrap();
    run(&fleet, "on top");
    assert_eq!(fleet.repo.log("auto-put-back")[0].parents, [tip]);
    assert_eq!((forge.pulls().len(), fleet.tag("web").as_str()), (2, "1.1.0"));
    // Closed without a merge: it stays closed, whatever else is pushed.
    forge.by_hand(|pull| pull.open = false);
    run(&fleet, "closed");
    let told = fleet.rolled_out("False", "pull request #2 (https://");
    assert!(
        told.contains(") was closed, so it is not proposed again") && !told.contains("to be put back"),
        "{told}"
    );
    work(&fleet, "two");
    run(&fleet, "still closed");
    assert_eq!((forge.pulls().len(), fleet.commits()), (2, 4));
}

#[test]
fn a_put_back_by_agit_is_a_request_of_its_own() {
    if !bumpwright_testkit::has("python3", "python3") {
        return;
    }
    let more = |world: &World<'_>| {
        let repo = world.repository("fleet.git");
        repo.config("receive.advertisePushOptions", "true");
        repo.config("receive.procReceiveRefs", "refs/for");
        repo.hook("proc-receive", "exec python3 agit.py");
        let file = |name: &str| repo.dir.join(name);
        std::fs::write(file("agit.py"), include_str!("../../update/agit.py")).unwrap();
        let state = json!({"flavour": "gitea", "pulls": [], "calls": []});
        std::fs::write(file("agit.json"), state.to_string()).unwrap();
        let options = json!({"topic": "images", "title": "New images", "force-push": "true"});
        let push = json!({"refspec": "refs/heads/auto:refs/for/main", "options": options});
        world.patch(AUTOMATION, "all", &json!({"spec": {"git": {"push": push}}}));
    };
    let Some(fleet) = Fleet::start_with("proposed-agit", Applier::Ours, &revert(&[]), &more) else {
        return;
    };
    let file = fleet.repo.dir.join("agit.json");
    let state = || -> Json { serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap() };
    let count = || state()["pulls"].as_array().unwrap().len();
    let end = || {
        let mut state = state();
        state["pulls"].as_array_mut().unwrap().last_mut().unwrap()["open"] = json!(false);
        std::fs::write(&file, state.to_string()).unwrap();
    };
    for (round, tag) in ["1.1.0", "1.2.0"].into_iter().enumerate() {
        let (update, back) = (2 * round + 1, 2 * round + 2);
        fleet.nodes.break_image(&format!("ghcr.io/o/web:{tag}"));
        fleet.choose("web", tag);
        until("it is proposed", || count() == update);
        squash(&fleet, &format!("refs/pull/{update}/head"));
        end();
        let address = format!("; to be put back by https://forge.example/o/app/pulls/{back}\n");
        fleet.rolled_out("False", &address);
        let asked = state()["calls"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(asked, json!({"topic": "images-put-back", "force-push": "true"}));
        let head = format!("refs/pull/{back}/head");
        let commit = &fleet.repo.log(&head)[0];
        assert!(
            commit.message.contains("Put back images that failed"),
            "{}",
            commit.message
        );
        assert!(!commit.message.contains("Change-Id"), "{}", commit.message);
        run(&fleet, &format!("again {round}"));
        work(&fleet, tag);
        run(&fleet, &format!("on top {round}"));
        assert_eq!((count(), fleet.tag("web").as_str()), (back, tag));
        match round {
            0 => {
                squash(&fleet, &head);
                end();
            }
            // By a person who closes the request, and puts another version there some time later.
            _ => {
                end();
                work(&fleet, "more");
                run(&fleet, "closed");
                assert_eq!((count(), fleet.tag("web").as_str()), (back, tag));
                continue;
            }
        }
        over(&fleet);
        fleet.rolled_out("False", "; put back by https://forge.example/o/app/pulls/2\n");
        assert_eq!(fleet.tag("web"), "1.0.0");
        fleet.healthy();
    }
}

/// The bot may push changes for review, and no branch.
struct Reviewed {
    fleet: Fleet,
    project: Project,
}

impl Reviewed {
    fn start(name: &'static str) -> Option<Self> {
        let gerrit = Gerrit::get()?;
        let project: OnceCell<Project> = OnceCell::new();
        let template = "Bump\n\nChange-Id: {{ printf \"I%s\" (toString .Changed.Changes | sha256sum | trunc 40) }}\n";
        let more = |world: &World<'_>| {
            let files = ["web", "api"].map(|it| (format!("apps/{it}.yaml"), deployment(name, it, "1.0.0")));
            let files: Vec<(&str, &str)> = files
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str()))
                .collect();
            let project = project.get_or_init(|| gerrit.project(name, world.folder.path(), &files));
            let login = json!({"username": BOT.user, "password": BOT.password});
            world.put(SECRET, "gerrit", json!({"stringData": login}));
            let source = json!({"url": project.url(), "secretRef": {"name": "gerrit"}});
            world.patch(GIT_REPOSITORY, "fleet", &json!({"spec": source}));
            let git = json!({
                "commit": {"author": {"name": BOT.user, "email": BOT.email}, "messageTemplate": template},
                "push": {"refspec": "refs/heads/auto:refs/for/main", "options": {"topic": "images"}},
            });
            world.patch(AUTOMATION, "all", &json!({"spec": {"git": git}}));
        };
        let fleet = Fleet::start_with(name, Applier::Ours, &revert(&[]), &more)?;
        let project = project.into_inner()?;
        Some(Self { fleet, project })
    }

    fn tag(&self) -> String {
        let text = self.project.show("main", "apps/web.yaml");
        text.split_once("o/web:").unwrap().1[..5].to_owned()
    }

    /// Waits for as many changes, and gives the newest.
    fn change(&self, count: usize) -> GerritChange {
        until("there is a change", || self.project.changes().len() == count);
        self.project.changes().pop().unwrap()
    }
}

#[test]
fn a_put_back_at_gerrit_is_a_change_of_its_own() {
    let Some(world) = Reviewed::start("proposed-gerrit") else {
        return;
    };
    let (fleet, project) = (&world.fleet, &world.project);
    for (round, tag) in ["1.1.0", "1.2.0"].into_iter().enumerate() {
        fleet.nodes.break_image(&format!("ghcr.io/o/web:{tag}"));
        fleet.choose("web", tag);
        let update = world.change(2 * round + 1);
        project.submit(&update);
        let back = world.change(2 * round + 2);
        let told = fleet.rolled_out("False", &format!("/c/proposed-gerrit/+/{}", back.number));
        assert!(told.contains("; to be put back by http"), "{told}");
        assert_ne!(back.id, update.id);
        assert_eq!(
            (back.branch.as_str(), back.topic.as_deref()),
            ("main", Some("images-put-back"))
        );
        let message = project.message(&back.current);
        let lines = [
            "Put back images that failed\n\n- ghcr.io/o/web:".to_owned(),
            format!("Reverted-Commit: {}\n", update.current),
            format!("Change-Id: {}\n", back.id),
        ];
        assert!(lines.iter().all(|line| message.contains(line)), "{message}");
        assert!(project.show(&back.current, "apps/web.yaml").contains("o/web:1.0.0"));
        // Found again; a newer base amends it.
        run(fleet, &format!("again {round}"));
        assert_eq!(world.change(2 * round + 2), back);
        project.land(&[("README", tag)]);
        run(fleet, &format!("on top {round}"));
        let amended = world.change(2 * round + 2);
        assert_eq!((amended.id.as_str(), amended.patch_sets), (back.id.as_str(), 2));
        assert_eq!(world.tag(), tag);
        if round == 0 {
            project.submit(&amended);
            over(fleet);
            fleet.rolled_out("False", "; put back by http");
            assert_eq!(world.tag(), "1.0.0");
            fleet
                .world
                .ready(bumpwright_testkit::world::KUSTOMIZATION, "apps", "True", |_, _| true);
        } else {
            project.abandon(&amended);
            run(fleet, "closed");
            fleet.rolled_out("False", " was closed, so it is not proposed again");
            project.land(&[("README", "more")]);
            run(fleet, "still closed");
            assert_eq!((project.changes().len(), world.tag().as_str()), (4, tag));
        }
    }
}
