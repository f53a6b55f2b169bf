//! Learning what policies of other namespaces choose, and waking the automations of others by one's own.

use serde_json::{Value as Json, json};

use crate::siege::siege;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, EVENT, GIT_REPOSITORY, IMAGE_POLICY, World, automation, git_repository};

/// A repository with a field for this policy, and an automation of the same name.
fn automated(world: &World<'_>, name: &str, policy: &str) -> Repo {
    let repo = world.repository(&format!("{name}.git"));
    let file = format!("image: ghcr.io/o/app:1.0.0 # {{\"$imagepolicy\": \"{policy}\"}}\n");
    repo.commit("main", "first", &[Change::File("a.yaml", file.as_bytes())]);
    world.add(
        GIT_REPOSITORY,
        name,
        git_repository(&world.git.url(&format!("{name}.git"))),
    );
    // Or its source asks the server for the repository later, too.
    world.ready(GIT_REPOSITORY, name, "True", |_, _| true);
    world.add(AUTOMATION, name, automation(name));
    world.ready(AUTOMATION, name, "True", |_, message| {
        message.starts_with("repository up-to-date")
    });
    repo
}

fn choose(world: &World<'_>, policy: &str, tag: &str) {
    let latest = json!({"latestRef": {"name": "ghcr.io/o/app", "tag": tag}});
    world.patch_status(IMAGE_POLICY, policy, &latest);
}

fn holds(repo: &Repo, tag: &str) -> bool {
    String::from_utf8_lossy(&repo.show("main", "a.yaml")).contains(tag)
}

/// A tenant names a policy of another one that allows nobody, and one that is not there: nothing that he sees differs,
/// also when the policy changes.
#[test]
fn by_naming_it() {
    let Some(siege) = siege() else { return };
    let alice = World::new(siege.cluster, "alice-policy");
    add_choice(&alice, "secret", "1.0.0");
    let own = automated(&alice, "own", "alice-policy:secret");
    let mallory = World::new(siege.cluster, "mallory-policy");
    let repos = ["secret", "absent"].map(|name| automated(&mallory, name, &format!("alice-policy:{name}")));
    let before = mallory.git.requests().len();
    choose(&alice, "secret", "7.7.7");
    until("the policy has chosen", || holds(&own, "7.7.7"));
    assert_eq!(mallory.git.requests().len(), before, "nothing of his runs");
    mallory.request(AUTOMATION, "secret", "now");
    let status = || mallory.get(AUTOMATION, "secret")["status"].take();
    until("it has run", || status()["lastHandledReconcileAt"] == "now");
    let shown = |name: &str| {
        let status = &mallory.get(AUTOMATION, name)["status"];
        (
            status["conditions"][0]["message"].clone(),
            status["observedPolicies"].clone(),
        )
    };
    assert_eq!(shown("secret"), (json!("repository up-to-date"), Json::Null));
    assert_eq!(shown("secret"), shown("absent"));
    let seen = [mallory.list(AUTOMATION), mallory.list(EVENT)].concat();
    assert!(!json!(seen).to_string().contains("7.7.7"), "{seen:#?}");
    assert!(repos.iter().all(|repo| repo.log("main").len() == 1));
    siege.stands();
}

/// A tenant allows all namespaces to use a policy, and changes it again and again: only who names it runs.
#[test]
fn and_wake_everybody() {
    let Some(siege) = siege() else { return };
    let mallory = World::new(siege.cluster, "mallory-wakes");
    add_choice(&mallory, "loud", "1.0.0");
    let annotations = json!({"bumpwright.dev/allow-automations-from": "*"});
    mallory.patch(IMAGE_POLICY, "loud", &json!({"metadata": {"annotations": annotations}}));
    let (bob, carol) = (
        World::new(siege.cluster, "bob-sleeps"),
        World::new(siege.cluster, "carol-follows"),
    );
    automated(&bob, "own", "bob-sleeps:absent");
    let followed = automated(&carol, "own", "mallory-wakes:loud");
    let before = bob.git.requests().len();
    for round in 1..=20 {
        choose(&mallory, "loud", &format!("1.0.{round}"));
    }
    until("the last one is pushed", || holds(&followed, "1.0.20"));
    assert_eq!(bob.git.requests().len(), before);
    let observed = &bob.get(AUTOMATION, "own")["status"]["observedPolicies"];
    assert!(observed.is_null(), "it fills nobody's status: {observed}");
    siege.stands();
}
