//! `--ui-auth=header` behind a proxy that signs people in.

use std::net::{Ipv4Addr, SocketAddr};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::sign_in_proxy::{Guest, SignInProxy};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{EVENT, GIT_REPOSITORY, KUSTOMIZATION, QUICK, World, git_repository};
use serde_json::{Value as Json, json};

use super::fleet::map;
use super::people::bind_role_to_group;
use super::seed::{self, Seed};

const SECRET: &str = "a secret between the proxy and the server";

const GUESTS: &[Guest] = &[
    Guest {
        name: "ann",
        password: "ann's",
        groups: "staff,devs",
    },
    Guest {
        name: "bob",
        password: "bob's",
        // As the provider lets him name them.
        groups: "system:masters, sso:devs",
    },
];

/// A namespace with a Kustomization that a controller reconciles.
fn reconciled(cluster: &'static Cluster, namespace: &str) -> (World<'static>, Repo) {
    let world = World::new(cluster, namespace).labelled("sso", "both");
    let repo = world.repository("app.git");
    repo.commit(
        "main",
        "first",
        &[Change::File("map.yaml", map("app", "first").as_bytes())],
    );
    world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
    let spec = json!({
        "interval": "1h", "path": "./", "prune": true, "targetNamespace": namespace,
        "sourceRef": {"kind": "GitRepository", "name": "app"},
    });
    world.add(KUSTOMIZATION, "app", spec);
    (world, repo)
}

/// Whether an event says that this person has asked for something.
fn is_told(world: &World<'_>, person: &str) -> bool {
    let events = world.list(EVENT);
    let mut messages = events.iter().filter_map(|event| event["message"].as_str());
    messages.any(|message| message.starts_with(&format!("{person} asked for it")))
}

/// Names and groups of the proxy have a prefix: what the cluster itself gives to a `devs` or a
/// `system:masters` is not theirs.
#[test]
fn a_proxy_signs_people_in() {
    let Some((browser, cluster)) = super::parts() else {
        return;
    };
    let (own, other) = ("sso-a", "sso-b");
    let (world, repo) = reconciled(cluster, own);
    World::new(cluster, other);
    Seed::new(cluster, other).labelled("sso", "both").fleet();
    bind_role_to_group(cluster, own, "sso:devs", &["get", "list", "watch", "patch"]);
    bind_role_to_group(cluster, other, "devs", &["get", "list", "watch", "patch"]);
    let secret = world.folder.path().join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    let starter = Controller::ours(&cluster.kubeconfig(), own, &world.folder_of("controller"));
    let starter = starter.flags(&QUICK[1..]).flags(&["--watch-label-selector=sso=both"]);
    let flags = [
        "--ui-auth=header",
        &format!("--ui-secret-file={}", secret.display()),
        "--ui-user-prefix=sso:",
        "--ui-groups-prefix=sso:",
        "--ui-actions",
    ];
    let (_controller, url) = super::controller(starter, &flags);
    world.ready(KUSTOMIZATION, "app", "True", |_, _| true);
    let port: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
    let proxy = SignInProxy::start(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SECRET, GUESTS);
    let arguments = json!({
        "url": proxy.url("").trim_end_matches('/'), "past": url, "path": format!("/kustomizations/{own}/app"), "own": own,
        "other": other, "secret": seed::SECRET, "guess": format!("{SECRET}."),
    });
    browser.play("proxied", arguments, |what, _| {
        match what {
            "ann has asked" => wait_for(
                || is_told(&world, "sso:ann"),
                || format!("an event says so: {:#?}", world.list(EVENT)),
            ),
            "is suspended" => until("it is suspended", || {
                world.get(KUSTOMIZATION, "app")["spec"]["suspend"] == true
            }),
            "commit" => return commit(&world, &repo),
            other => panic!("nobody does {other}"),
        }
        json!(true)
    });
    assert!(!is_told(&world, "sso:bob") && !is_told(&world, "ann"));
}

/// Commits, has it reconciled, and returns the first digits of the commit.
fn commit(world: &World<'_>, repo: &Repo) -> Json {
    let file = map("app", "second");
    let commit = repo.commit("main", "second", &[Change::File("map.yaml", file.as_bytes())]);
    world.request(GIT_REPOSITORY, "app", &commit);
    json!(commit[..7])
}
