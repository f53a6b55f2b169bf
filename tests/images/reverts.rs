//! What people take back in Git stays so, and production waits for staging, in a cluster
//! (docs/guides/reverts.md, docs/guides/promotion.md).

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::repo::{Change, Repo, git, run};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, World, automation, git_repository};
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of fetches at the Git server.
fn fetches(world: &World<'_>) -> usize {
    let requests = world.git.requests();
    let is_fetch = |path: &str| path.ends_with("/git-upload-pack");
    requests.iter().filter(|seen| is_fetch(&seen.path)).count()
}

/// A person reverts the newest commit.
fn revert(world: &World<'_>, repo: &Repo) -> String {
    let clone = tempfile::tempdir().unwrap();
    run(git(clone.path()).args(["clone", "-q", repo.dir.to_str().unwrap(), "."]));
    let mut command = git(clone.path());
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "Ann")
            .env_remove(format!("GIT_{who}_DATE"));
    }
    run(command.args(["revert", "--no-edit", "HEAD"]));
    run(git(clone.path()).args(["push", "-q", "origin", "HEAD:main"]));
    world.git.clear();
    repo.rev("main").unwrap()
}

/// flux2 #4676.
#[test]
fn a_revert_stops_the_automation_until_there_is_a_newer_tag() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "reverts");
    let repo = world.repository("app.git");
    let marked = |tag: &str| format!("image: ghcr.io/o/app:{tag} # {{\"$imagepolicy\": \"reverts:app\"}}\n");
    repo.commit("main", "first", &[Change::File("a.yaml", marked("1.0.0").as_bytes())]);
    add_choice(&world, "app", "1.0.0");
    world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
    let annotations = json!({"bumpwright.dev/respect-reverts": "true"});
    world.annotated(AUTOMATION, "all", &annotations, automation("app"));
    let flags = ["--controllers=image-automation"];
    let controller = world.controller(&flags);
    let choose = |tag: &str| world.patch_status(IMAGE_POLICY, "app", &json!({"latestRef": {"tag": tag}}));
    let landed = |tag: &str, commits: usize| {
        until("the tag is in Git", || {
            repo.show("main", "a.yaml") == marked(tag).into_bytes()
        });
        assert_eq!(repo.log("main").len(), commits);
    };
    let respected = |at: &str, short: &str| {
        world.request(AUTOMATION, "all", at);
        until("the request is handled", || {
            world.get(AUTOMATION, "all")["status"]["lastHandledReconcileAt"] == at
        });
        let told = format!("a.yaml:1: commit {short} of Ann, ");
        world.ready(AUTOMATION, "all", "True", |_, message| message.contains(&told));
    };
    choose("2.0.0");
    landed("2.0.0", 2);
    let short = revert(&world, &repo)[..7].to_owned();
    respected("one", &short);
    // The listing, and the revert itself: the mirror has the rest.
    assert_eq!(fetches(&world), 2);
    respected("two", &short);
    assert_eq!(fetches(&world), 3, "nothing is fetched again");
    let series = "bumpwright_skipped_markers{kind=\"ImageUpdateAutomation\",name=\"all\",namespace=\"reverts\",reason=\"Reverted\"}";
    controller.counts(series, 1.0);
    assert_eq!(repo.log("main").len(), 3);
    // A process without a mirror finds it in the history.
    controller.kill();
    world.git.clear();
    let _controller = world.starter("another").flags(&flags).start();
    respected("three", &short);
    respected("four", &short);
    assert_eq!(repo.log("main").len(), 3);
    choose("2.0.1");
    landed("2.0.1", 4);
    world.ready(AUTOMATION, "all", "True", |_, message| !message.contains("replaced"));
}

/// docs/guides/stages.md. The policy of production is another namespace's: the automation's own policies
/// do not change meanwhile.
#[test]
fn production_waits_for_what_git_says_of_staging() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "promotion").labelled("promotion", "here");
    let shared = World::new(cluster, "promotion-shared");
    let repo = world.repository("app.git");
    let stages = [(&world, "staging"), (&shared, "production")];
    let marked = |(world, stage): (&World<'_>, &str), tag: &str| {
        let namespace = &world.namespace;
        format!("image: ghcr.io/o/app:{tag} # {{\"$imagepolicy\": \"{namespace}:{stage}\"}}\n")
    };
    let file = |stage: &str| String::from_utf8(repo.show("main", &format!("clusters/{stage}/a.yaml"))).unwrap();
    let first = stages.map(|stage| (format!("clusters/{}/a.yaml", stage.1), marked(stage, "1.0.0")));
    let changes = first.each_ref().map(|(path, text)| Change::File(path, text.as_bytes()));
    repo.commit("main", "first", &changes);
    for (world, stage) in stages {
        add_choice(world, stage, "1.0.0");
        world.patch_status(IMAGE_POLICY, stage, &json!({"latestRef": {"name": "ghcr.io/o/app"}}));
    }
    let soak = |soak: &str| {
        let annotations = json!({
            "bumpwright.dev/allow-automations-from": "promotion",
            "bumpwright.dev/promote-path": "clusters/staging",
            "bumpwright.dev/soak": soak,
        });
        shared.patch(
            IMAGE_POLICY,
            "production",
            &json!({"metadata": {"annotations": annotations}}),
        );
    };
    soak("1h");
    world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
    world.add(AUTOMATION, "all", automation("app"));
    // In all namespaces, for this automation only.
    let starter = Controller::ours(&cluster.kubeconfig(), "promotion", &world.folder_of("controller"));
    let flags = [
        "--controllers=image-automation",
        "--watch-label-selector=promotion=here",
    ];
    let _controller = starter.flags(&flags.map(str::to_owned)).start();
    let [staging, production] = stages;
    for (world, stage) in [production, staging] {
        world.patch_status(IMAGE_POLICY, stage, &json!({"latestRef": {"tag": "1.1.0"}}));
    }
    until("staging follows", || file("staging") == marked(staging, "1.1.0"));
    world.request(AUTOMATION, "all", "later");
    let told = "clusters/production/a.yaml:1: ImagePolicy promotion-shared/production: 1.1.0 is not proven: clusters/staging has 1.1.0 since ";
    world.ready(AUTOMATION, "all", "True", |_, message| message.contains(told));
    assert_eq!(file("production"), marked(production, "1.0.0"));
    // Long before its interval, at the end of the time.
    let since: i64 = repo.git(&["log", "-1", "--format=%ct", "main"]).trim().parse().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    soak(&format!("{}s", i64::try_from(now).unwrap() - since + 4));
    world.request(AUTOMATION, "all", "soon");
    until("production follows", || {
        file("production") == marked(production, "1.1.0")
    });
    assert_eq!(repo.log("main").len(), 3);
}
