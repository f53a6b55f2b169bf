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
pub struct Folders<'a> {
    // Before the folder that has its log and storage goes.
    _controller: Controller,
    pub world: World<'a>,
    pub repo: Repo,
}

pub fn kustomization(path: &str, source: &Value) -> Value {
    json!({"interval": "1h", "prune": false, "path": path, "sourceRef": source})
}

fn chosen(namespace: &str, tag: &str) -> String {
    format!("resources:\n- {tag} # {{\"$imagepolicy\": \"{namespace}:one:tag\"}}\n")
}

impl<'a> Folders<'a> {
    fn start(cluster: &'a Cluster, namespace: &str, annotations: &Value, flags: &[&str]) -> Self {
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  city: ${city}\n";
        let kustomization_file = chosen(namespace, "1.0.0");
        let files = [
            Change::File("app/kustomization.yaml", kustomization_file.as_bytes()),
            Change::File("app/1.0.0/map.yaml", map.as_bytes()),
            Change::File("app/1.0.0/kustomization.yaml", b"resources: [map.yaml]\n"),
            Change::File("app/1.1.0/map.yaml", map.as_bytes()),
            Change::File("app/1.1.0/kustomization.yaml", b"resources: [map.yaml]\n"),
        ];
        Self::with(cluster, namespace, annotations, flags, &files)
    }

    pub fn with(
        cluster: &'a Cluster,
        namespace: &str,
        annotations: &Value,
        flags: &[&str],
        files: &[Change<'_>],
    ) -> Self {
        cluster.define();
        let world = World::new(cluster, namespace).labelled("verified", namespace);
        let repo = world.repository("app.git");
        repo.commit("main", "first", files);
        add_choice(&world, "one", "1.0.0");
        world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
        world.annotated(AUTOMATION, "all", annotations, automation("app"));
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

    pub fn choose(&self, tag: &str) {
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

/// Charts in the repository are rendered; one at another address is not fetched, and stops nothing.
#[test]
fn a_commit_that_breaks_the_render_of_a_release_is_not_pushed() {
    let Some(cluster) = Cluster::shared() else { return };
    let namespace = "verify-helm";
    let release = |name: &str, kind: &str, chart: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  interval: 1h\n  \
             chart: {{spec: {{chart: {chart}, version: 1.0.0, sourceRef: {{kind: {kind}, name: app}}}}}}\n  \
             valuesFrom: [{{kind: Secret, name: login}}]\n  values:\n    tag: 1.0.0 # {{\"$imagepolicy\": \"{namespace}:one:tag\"}}\n"
        )
    };
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {tag: {{ .Values.tag | quote }}}\n\
                    {{ if eq .Values.tag \"1.2.0\" }}{{ fail (printf \"no %s\" .Values.password) }}{{ end }}\n";
    let (near, far) = (
        release("near", "GitRepository", "./chart"),
        release("far", "HelmRepository", "web"),
    );
    let files = [
        Change::File("app/near.yaml", near.as_bytes()),
        Change::File("app/far.yaml", far.as_bytes()),
        Change::File(
            "app/other.yaml",
            b"apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: verify-helm}\nstringData: {values.yaml: 'password: hunter22'}\n---\n\
              apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: app, namespace: verify-helm}\n\
              spec: {interval: 1h, url: 'http://127.0.0.1:1'}\n",
        ),
        Change::File("chart/Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}"),
        Change::File("chart/templates/map.yaml", template.as_bytes()),
    ];
    let annotations = json!({"bumpwright.dev/verify": "build"});
    let folders = Folders::with(cluster, namespace, &annotations, &[], &files);
    let world = &folders.world;
    let source = json!({"kind": "GitRepository", "name": "app"});
    world.add(KUSTOMIZATION, "app", kustomization("./app", &source));
    let before = folders.repo.refs();
    folders.choose("1.2.0");
    let message = world.ready(AUTOMATION, "all", "False", |reason, _| reason == "VerifyFailed");
    for part in [
        "HelmRelease verify-helm/near of Kustomization verify-helm/app would fail",
        "no **",
        "app/near.yaml:9:10",
        "1.2.0",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(
        !message.contains("hunter22") && !message.contains("app/far.yaml"),
        "{message}"
    );
    assert_eq!(folders.repo.refs(), before);
    folders.choose("1.1.0");
    let is_pushed = || String::from_utf8_lossy(&folders.repo.show("main", "app/far.yaml")).contains("tag: 1.1.0");
    until("the commit is pushed", is_pushed);
    world.ready(AUTOMATION, "all", "True", |_, _| true);
}
