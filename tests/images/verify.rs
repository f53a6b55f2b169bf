//! `bumpwright.dev/verify: build`: the Kustomizations of the cluster are built with a commit before it is pushed.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, KUSTOMIZATION, World, automation, git_repository,
};
use serde_json::{Value, json};

/// A Kustomization that builds the folder of the tag that a policy chooses: there are 1.0.0 and 1.1.0.
struct Folders<'a> {
    // Before the folder that has its log and storage goes.
    _controller: Controller,
    world: World<'a>,
    repo: Repo,
}

fn kustomization(path: &str, source: &Value) -> Value {
    json!({"interval": "1h", "prune": false, "path": path, "sourceRef": source})
}

fn chosen(namespace: &str, tag: &str) -> String {
    format!("resources:\n- {tag} # {{\"$imagepolicy\": \"{namespace}:one:tag\"}}\n")
}

impl<'a> Folders<'a> {
    fn start(cluster: &'a Cluster, namespace: &str, annotations: &Value, flags: &[&str]) -> Self {
        cluster.define();
        let world = World::new(cluster, namespace).labelled("verified", namespace);
        let repo = world.repository("app.git");
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  city: ${city}\n";
        let kustomization_file = chosen(namespace, "1.0.0");
        let files = [
            Change::File("app/kustomization.yaml", kustomization_file.as_bytes()),
            Change::File("app/1.0.0/map.yaml", map.as_bytes()),
            Change::File("app/1.0.0/kustomization.yaml", b"resources: [map.yaml]\n"),
            Change::File("app/1.1.0/map.yaml", map.as_bytes()),
            Change::File("app/1.1.0/kustomization.yaml", b"resources: [map.yaml]\n"),
        ];
        repo.commit("main", "first", &files);
        add_choice(&world, "one", "1.0.0");
        world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
        world.annotated(AUTOMATION, "all", &annotations, automation("app"));
        // In all namespaces, for these objects only.
        let mut all = vec![
            "--controllers=image-automation".to_owned(),
            "--max-retry-delay=5s".to_owned(),
            format!("--watch-label-selector=verified={namespace}"),
        ];
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let starter = Controller::ours(&cluster.kubeconfig(), namespace, &world.folder_of("controller"));
        Self {
            _controller: starter.flags(&all).start(),
            world,
            repo,
        }
    }

    fn choose(&self, tag: &str) {
        self.world
            .patch_status(IMAGE_POLICY, "one", &json!({"latestRef": {"tag": tag}}));
    }

    fn is_pushed(&self, namespace: &str, tag: &str) -> bool {
        self.repo.show("main", "app/kustomization.yaml") == chosen(namespace, tag).as_bytes()
    }
}

#[test]
fn a_commit_that_breaks_a_build_is_not_pushed_and_the_field_is_named() {
    let Some(cluster) = Cluster::shared() else { return };
    let folders = Folders::start(cluster, "verify", &json!({"bumpwright.dev/verify": "build"}), &[]);
    let world = &folders.world;
    let source = json!({"kind": "GitRepository", "name": "app"});
    world.add(KUSTOMIZATION, "app", kustomization("./app", &source));
    // What was broken before does not count.
    world.add(KUSTOMIZATION, "broken", kustomization("./none", &source));
    let before = folders.repo.refs();
    folders.choose("1.2.0");
    let message = world.ready(AUTOMATION, "all", "False", |reason, _| reason == "VerifyFailed");
    for part in [
        "Kustomization verify/app would fail",
        "app/kustomization.yaml:2:3",
        "1.2.0",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!message.contains("verify/broken"), "{message}");
    assert_eq!(folders.repo.refs(), before);
    folders.choose("1.1.0");
    until("the commit is pushed", || folders.is_pushed("verify", "1.1.0"));
    world.ready(AUTOMATION, "all", "True", |_, _| true);
}

#[test]
fn kustomizations_of_other_namespaces_count_unless_that_is_blocked_and_their_secrets_are_not_read() {
    let Some(cluster) = Cluster::shared() else { return };
    for (namespace, flags, may_break) in [
        ("verify-open", &[][..], false),
        ("verify-closed", &["--no-cross-namespace-refs"], true),
    ] {
        let other = World::new(cluster, &format!("{namespace}-other"));
        let folders = Folders::start(cluster, namespace, &json!({"bumpwright.dev/verify": "build"}), flags);
        let source = json!({"kind": "GitRepository", "name": "app", "namespace": namespace});
        let mut spec = kustomization("./app", &source);
        spec["postBuild"] = json!({"substituteFrom": [{"kind": "Secret", "name": "city"}]});
        other.apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "city", "namespace": format!("{namespace}-other")},
            "stringData": {"city": "- *not-to-be-seen"},
        }));
        other.add(KUSTOMIZATION, "app", spec);
        folders.choose("1.2.0");
        if may_break {
            until("the commit is pushed", || folders.is_pushed(namespace, "1.2.0"));
        } else {
            let message = folders
                .world
                .ready(AUTOMATION, "all", "False", |reason, _| reason == "VerifyFailed");
            assert!(!message.contains("not-to-be-seen"), "{message}");
            assert!(!folders.is_pushed(namespace, "1.2.0"));
        }
    }
}

#[test]
fn without_the_annotation_nothing_is_built() {
    let Some(cluster) = Cluster::shared() else { return };
    let folders = Folders::start(cluster, "verify-not", &json!({}), &[]);
    let source = json!({"kind": "GitRepository", "name": "app"});
    folders.world.add(KUSTOMIZATION, "app", kustomization("./app", &source));
    folders.choose("1.2.0");
    until("the commit is pushed", || folders.is_pushed("verify-not", "1.2.0"));
}
