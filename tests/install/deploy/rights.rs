//! The controllers with the ServiceAccount of the manifests and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value as Json, json};

use super::{exported, kustomized, text};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::{Controller, ELECTION};
use bumpwright_testkit::forge::{Forge, ForgeKind};
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{
    AUTOMATION, CONFIG_MAP, EVENT, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, LEASE, SECRET,
    SERVICE_ACCOUNT, git_repository, newest,
};

/// An image world without objects in a namespace with an installation whose rights are in effect, and a token of its
/// ServiceAccount.
fn installed<'a>(cluster: &'a Cluster, namespace: &str, flags: &[&str]) -> (ImageWorld<'a>, String) {
    let namespace_flag = format!("--namespace={namespace}");
    let all = exported(&[&[namespace_flag.as_str()], flags].concat());
    installed_from(cluster, namespace, &all)
}

fn installed_from<'a>(cluster: &'a Cluster, namespace: &str, all: &BTreeMap<String, Json>) -> (ImageWorld<'a>, String) {
    let world = ImageWorld::bare(cluster, namespace);
    // Definitions first.
    let (first, then): (Vec<_>, Vec<_>) = all
        .values()
        .partition(|one| text(one, "/kind") == "CustomResourceDefinition");
    first
        .iter()
        .chain(&then)
        .for_each(|object| cluster.apply(&object.to_string()));
    let token = token_of(cluster, namespace);
    // The server takes note of bindings a little later. There are three: for all work, for images and for the leases.
    for (verb, group, resource) in [
        ("get", "", "secrets"),
        ("patch", "image.toolkit.fluxcd.io", "imagepolicies/status"),
        ("create", "coordination.k8s.io", "leases"),
    ] {
        until("the rights are in effect", || {
            may(cluster, namespace, verb, group, resource, namespace)
        });
    }
    (world, token)
}

/// A token of the ServiceAccount of an installation.
pub(crate) fn token_of(cluster: &Cluster, namespace: &str) -> String {
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/bumpwright/token");
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = cluster.request("POST", &path, "", &request.to_string());
    assert_eq!(answer.status, 201, "{}", answer.body);
    text(&answer.body, "/status/token").to_owned()
}

/// The arguments that the Deployment, or the StatefulSet, has, but for what [`Controller::ours`] says itself.
pub(crate) fn arguments(all: &BTreeMap<String, Json>) -> Vec<String> {
    let is_workload = |name: &str| name.starts_with("Deployment ") || name.starts_with("StatefulSet ");
    let (_, workload) = all.iter().find(|(name, _)| is_workload(name)).unwrap();
    let container = &workload["spec"]["template"]["spec"]["containers"][0];
    let given = container["args"].as_array().unwrap().iter().skip(1);
    given
        .map(|one| one.as_str().unwrap().to_owned())
        .filter(|one| !one.starts_with("--storage-path=") && !one.starts_with("--enable-leader-election"))
        .collect()
}

fn start(world: &ImageWorld<'_>, token: &str, flags: &[&str]) -> Controller {
    let kubeconfig = world.folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, world.cluster.kubeconfig_with(token)).unwrap();
    let starter = Controller::ours(&kubeconfig, &world.namespace, &world.folder_of("controller"));
    starter.flags(&arguments(&exported(flags))).flags(&ELECTION).start()
}

/// Starts a controller that serves artifacts on this machine, since the Service cannot be reached here.
fn start_serving(world: &ImageWorld<'_>, kubeconfig: &Path, all: &BTreeMap<String, Json>) -> Controller {
    let address = format!("127.0.0.1:{}", free_port());
    let mut flags = arguments(all);
    flags.retain(|flag| !flag.starts_with("--storage-adv-addr="));
    let addresses = [
        format!("--storage-addr={address}"),
        format!("--storage-adv-addr={address}"),
    ];
    let starter = Controller::ours(kubeconfig, &world.namespace, &world.folder_of("controller"));
    starter.flags(&flags).flags(&addresses).flags(&ELECTION).start()
}

fn events(world: &ImageWorld<'_>) -> Vec<String> {
    let events = world.list(EVENT);
    let events = events.iter();
    events
        .map(|event| format!("{} {}", text(event, "/involvedObject/kind"), text(event, "/reason")))
        .collect()
}

/// Leases, finalizers, status, events, Secrets, service accounts, labels of namespaces: all that a run asks for.
#[test]
fn the_rights_are_enough_for_all_namespaces() {
    // Its own, since it acts in all namespaces.
    let Some(cluster) = Cluster::start() else { return };
    let (world, token) = installed(&cluster, "rights", &[]);
    let controller = start(&world, &token, &[]);
    let login = json!({"username": "bot", "password": "secret"});
    world.put(SECRET, "git", json!({ "stringData": login }));
    world.put(
        SERVICE_ACCOUNT,
        "puller",
        json!({"imagePullSecrets": [{"name": "pull"}]}),
    );
    let docker = json!({"auths": {world.registry.host(): {"username": "a", "password": "b"}}});
    let data = json!({".dockerconfigjson": docker.to_string()});
    world.put(
        SECRET,
        "pull",
        json!({"type": "kubernetes.io/dockerconfigjson", "stringData": data}),
    );
    world.add_all("1h");
    let mut spec = world.scanning("app");
    spec["serviceAccountName"] = json!("puller");
    spec["accessFrom"] = json!({"namespaceSelectors": [{"matchLabels": {"may": "read"}}]});
    world.add(IMAGE_REPOSITORY, "app", spec);
    let mut spec = git_repository(&world.git.url("app.git"));
    spec["secretRef"] = json!({"name": "git"});
    world.add(GIT_REPOSITORY, "app", spec);
    world.ready(IMAGE_REPOSITORY, "app", "True", |_, message| {
        message.starts_with("successful scan")
    });
    world.settled();
    world.release("1.1.0");
    world.in_git("1.1.0");
    // A policy of another namespace, which the repository lets in.
    world.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "rights-guest", "labels": {"may": "read"}}}));
    let mut spec = newest("app");
    spec["imageRepositoryRef"]["namespace"] = json!("rights");
    world.apply(&json!({
        "apiVersion": IMAGE_POLICY.api_version, "kind": IMAGE_POLICY.kind,
        "metadata": {"name": "guest", "namespace": "rights-guest"}, "spec": spec,
    }));
    let guest = "/apis/image.toolkit.fluxcd.io/v1/namespaces/rights-guest/imagepolicies/guest";
    wait_for(
        || cluster.get(guest)["status"]["latestRef"]["tag"] == "1.1.0",
        || format!("{:#}", cluster.get(guest)["status"]),
    );
    let wanted = [
        "ImageRepository Succeeded",
        "ImagePolicy Succeeded",
        "ImageUpdateAutomation Succeeded",
    ];
    wait_for(
        || wanted.iter().all(|one| events(&world).iter().any(|event| event == one)),
        || format!("{:?}", events(&world)),
    );
    for name in [
        "image-reflector-controller-leader-election",
        "image-automation-controller-leader-election",
    ] {
        assert!(!text(&world.get(LEASE, name), "/spec/holderIdentity").is_empty());
    }
    // Finalizers are taken off.
    for kind in [IMAGE_POLICY, IMAGE_REPOSITORY, AUTOMATION] {
        assert_eq!(
            world.get(kind, "app")["metadata"]["finalizers"],
            json!(["finalizers.fluxcd.io"]),
            "{kind:?}"
        );
        world.delete(kind, "app");
        world.gone(kind, "app");
    }
    let log = controller.log();
    assert!(!log.contains("forbidden"), "{log}");
    controller.stop();
}

/// The component for sources: a GitRepository gets an artifact, which is fetched from where its status says.
#[test]
fn the_rights_are_enough_for_sources() {
    // Its own, since it acts in all namespaces.
    let Some(cluster) = Cluster::start() else { return };
    let kustomization = "resources: [DEPLOY]\ncomponents: [DEPLOY/source-controller]\nnamespace: rights-sources\n";
    let Some(all) = kustomized(kustomization) else { return };
    let (world, token) = installed_from(&cluster, "rights-sources", &all);
    until("the right to write a status is in effect", || {
        may(
            &cluster,
            "rights-sources",
            "patch",
            "source.toolkit.fluxcd.io",
            "gitrepositories/status",
            "default",
        )
    });
    let kubeconfig = world.folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, cluster.kubeconfig_with(&token)).unwrap();
    let controller = start_serving(&world, &kubeconfig, &all);
    let repo = world.repository("fleet.git");
    repo.commit("main", "first", &[Change::File("a.yaml", b"a: 1\n")]);
    world.add(GIT_REPOSITORY, "fleet", git_repository(&world.git.url("fleet.git")));
    world.ready(GIT_REPOSITORY, "fleet", "True", |_, message| {
        message.starts_with("stored artifact")
    });
    let status = &world.get(GIT_REPOSITORY, "fleet")["status"];
    let mut answer = ureq::get(text(status, "/artifact/url")).call().unwrap();
    let artifact = answer.body_mut().read_to_vec().unwrap();
    assert_eq!(status["artifact"]["size"], artifact.len());
    assert!(artifact.starts_with(&[0x1f, 0x8b]), "no gzip");
    world.delete(GIT_REPOSITORY, "fleet");
    world.gone(GIT_REPOSITORY, "fleet");
    let log = controller.log();
    assert!(!log.contains("forbidden"), "{log}");
}

/// The whole product with the rights of one namespace: an artifact, and what is applied from it.
/// Nothing is applied elsewhere.
#[test]
fn the_rights_are_enough_for_the_whole_product_in_one_namespace() {
    let Some(cluster) = Cluster::shared() else { return };
    let flags = ["--components=all", "--watch-all-namespaces=false"];
    let (world, token) = installed(cluster, "rights-whole", &flags);
    for (group, resource) in [
        ("source", "gitrepositories/status"),
        ("kustomize", "kustomizations/status"),
    ] {
        let group = format!("{group}.toolkit.fluxcd.io");
        until("the right to write a status is in effect", || {
            may(cluster, "rights-whole", "patch", &group, resource, "rights-whole")
        });
    }
    let kubeconfig = world.folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, cluster.kubeconfig_with(&token)).unwrap();
    let controller = start_serving(&world, &kubeconfig, &exported(&flags));
    let repo = world.repository("fleet.git");
    let map = |namespace: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied", "namespace": namespace}})
            .to_string()
    };
    let (inside, outside) = (map("rights-whole"), map("default"));
    let files = [
        Change::File("inside/map.yaml", inside.as_bytes()),
        Change::File("outside/map.yaml", outside.as_bytes()),
    ];
    repo.commit("main", "first", &files);
    world.add(GIT_REPOSITORY, "fleet", git_repository(&world.git.url("fleet.git")));
    for name in ["inside", "outside"] {
        let source = json!({"kind": "GitRepository", "name": "fleet"});
        let spec = json!({"interval": "1h", "prune": true, "path": name, "sourceRef": source});
        world.add(KUSTOMIZATION, name, spec);
    }
    world.ready(KUSTOMIZATION, "inside", "True", |_, _| true);
    assert_eq!(
        text(&world.get(CONFIG_MAP, "applied"), "/metadata/namespace"),
        "rights-whole"
    );
    world.ready(KUSTOMIZATION, "outside", "False", |_, message| {
        message.contains("forbidden")
    });
    controller.stop();
}

/// Roles of one namespace are enough for that namespace.
#[test]
fn the_rights_are_enough_for_one_namespace() {
    let Some(cluster) = Cluster::shared() else { return };
    let flags = ["--watch-all-namespaces=false"];
    let (world, token) = installed(cluster, "rights-one", &flags);
    let controller = start(&world, &token, &flags);
    world.add_all("1h");
    world.settled();
    world.release("1.1.0");
    world.in_git("1.1.0");
    let log = controller.log();
    assert!(!log.contains("forbidden"), "{log}");
    assert!(!may(cluster, "rights-one", "get", "", "secrets", "default"));
    assert!(may(cluster, "rights-one", "get", "", "secrets", "rights-one"));
}

/// Whether the ServiceAccount may do something, by the server's own word.
pub(crate) fn may(cluster: &Cluster, account: &str, verb: &str, group: &str, resource: &str, namespace: &str) -> bool {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": format!("system:serviceaccount:{account}:bumpwright"),
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace,
            },
        },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answer = cluster.request("POST", path, "", &review.to_string());
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["status"]["allowed"] == true
}

#[test]
fn the_rights_are_not_more() {
    let Some(cluster) = Cluster::shared() else { return };
    installed(cluster, "rights-bounds", &[]);
    let may = |verb, group, resource, namespace| may(cluster, "rights-bounds", verb, group, resource, namespace);
    assert!(may("get", "", "secrets", "default"));
    let image = "image.toolkit.fluxcd.io";
    for (verb, group, resource) in [
        ("list", "", "secrets"),
        ("watch", "", "secrets"),
        ("create", "", "secrets"),
        ("list", "", "configmaps"),
        ("create", "", "configmaps"),
        ("list", "", "pods"),
        ("get", "", "pods/log"),
        ("list", "", "namespaces"),
        ("delete", image, "imagepolicies"),
        ("create", image, "imageupdateautomations"),
        ("delete", "source.toolkit.fluxcd.io", "gitrepositories"),
        ("patch", "source.toolkit.fluxcd.io", "gitrepositories/status"),
        ("get", "kustomize.toolkit.fluxcd.io", "kustomizations"),
        ("impersonate", "", "serviceaccounts"),
        ("create", "", "serviceaccounts/token"),
        ("patch", "apps", "deployments"),
        ("create", "rbac.authorization.k8s.io", "clusterrolebindings"),
        ("patch", "apiextensions.k8s.io", "customresourcedefinitions"),
        ("get", "coordination.k8s.io", "leases"),
    ] {
        assert!(!may(verb, group, resource, "default"), "{verb} {resource}");
    }
    assert!(may("create", "coordination.k8s.io", "leases", "rights-bounds"));
    assert!(!may("delete", "coordination.k8s.io", "leases", "rights-bounds"));
}

/// The roles `view` and `edit` of a namespace cover the kinds of an installation and no others.
#[test]
fn people_may_view_and_edit_the_kinds_that_are_installed() {
    let of = |flags: &[&str], verb: &str| -> BTreeSet<String> {
        let label = format!("/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-{verb}");
        let all = exported(flags);
        let roles = all.values().filter(|one| text(one, &label) == "true");
        let wanted = if verb == "view" { "list" } else { "create" };
        let rules: Vec<&Json> = roles.flat_map(|role| role["rules"].as_array().unwrap()).collect();
        let rules = rules
            .into_iter()
            .filter(|rule| rule["verbs"].as_array().unwrap().contains(&json!(wanted)));
        let kinds = rules.flat_map(|rule| {
            let group = rule["apiGroups"][0].as_str().unwrap();
            let resources = rule["resources"].as_array().unwrap().iter();
            resources.map(move |resource| format!("{}.{group}", resource.as_str().unwrap()))
        });
        kinds.collect()
    };
    for (flags, count) in [
        (&["--components=all"][..], 8),
        (&["--components=all", "--watch-all-namespaces=false"], 8),
        (&[], 4),
    ] {
        let all = exported(flags);
        let definitions = all
            .keys()
            .filter_map(|name| name.strip_prefix("CustomResourceDefinition /"));
        let defined: BTreeSet<String> = definitions.map(str::to_owned).collect();
        assert_eq!(defined.len(), count);
        for verb in ["view", "edit"] {
            assert_eq!(of(flags, verb), defined, "{verb} {flags:?}");
        }
    }
}

/// Tokens of ServiceAccounts are for those who ask for them.
#[test]
fn the_right_to_issue_tokens_is_given_when_it_is_asked_for() {
    let Some(cluster) = Cluster::shared() else { return };
    installed(cluster, "rights-tokens", &["--workload-identity"]);
    let token = |account, namespace| may(cluster, account, "create", "", "serviceaccounts/token", namespace);
    until("the right is in effect", || token("rights-tokens", "default"));
    installed(
        cluster,
        "rights-token",
        &["--watch-all-namespaces=false", "--workload-identity"],
    );
    until("the right is in effect", || token("rights-token", "rights-token"));
    assert!(!token("rights-token", "default"));
}

/// Kustomizations with their variables, Secrets by name, events, and a lease of its own: nothing that images need.
#[test]
fn the_rights_are_enough_for_reviews() {
    // Its own, since it defines kinds that the others bring.
    let Some(cluster) = Cluster::start() else { return };
    cluster.define();
    let namespace = "rights-reviews";
    let flags = ["--watch-all-namespaces=false", "--reviews"];
    let (world, token) = installed(&cluster, namespace, &flags);
    let binding = "/apis/rbac.authorization.k8s.io/v1/namespaces/rights-reviews/rolebindings/bumpwright-images";
    assert_eq!(cluster.request("DELETE", binding, "", "").status, 200);
    let root = world.folder.path().join("forge");
    let repo = Repo::init(root.join("o/app.git"));
    for (branch, value) in [("main", "one"), ("change", "two")] {
        let map =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: app}}\ndata: {{a: {value}, b: \"${{b}}\"}}\n");
        repo.commit(branch, value, &[Change::File("app/map.yaml", map.as_bytes())]);
        if branch == "main" {
            repo.git(&["branch", "change", "main"]);
        }
    }
    let forge = Forge::start(ForgeKind::Gitea, &root, "token t0ken");
    forge.open("change", "main", 1);
    world.put(SECRET, "forge", json!({"stringData": {"token": "t0ken"}}));
    world.put(SECRET, "secret", json!({"stringData": {"b": "hunter22"}}));
    world.put(CONFIG_MAP, "plain", json!({"data": {"b": "three"}}));
    let variables = json!([{"kind": "ConfigMap", "name": "plain"}, {"kind": "Secret", "name": "secret"}]);
    let spec = json!({
        "interval": "1h", "prune": true, "path": "./app", "sourceRef": {"kind": "GitRepository", "name": "app"},
        "postBuild": {"substituteFrom": variables},
    });
    world.add(KUSTOMIZATION, "app", spec);
    let annotations = json!({"bumpwright.dev/review": "gitea", "bumpwright.dev/review-secret": "forge"});
    let spec = git_repository(&forge.server.url("o/app.git"));
    world.annotated(GIT_REPOSITORY, "app", &annotations, spec);
    let kubeconfig = world.folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, cluster.kubeconfig_with(&token)).unwrap();
    let mut arguments = arguments(&exported(&flags));
    arguments.retain(|argument| !argument.starts_with("--controllers="));
    let starter = Controller::ours(&kubeconfig, namespace, &world.folder_of("controller"));
    let controller = starter
        .flags(&arguments)
        .flags(&["--controllers="])
        .flags(&ELECTION)
        .start();
    wait_for(|| forge.statuses().len() == 1, || controller.log());
    assert!(
        forge.statuses()[0].description.starts_with("1 changed; "),
        "{:?}",
        forge.statuses()
    );
    wait_for(
        || events(&world).iter().any(|event| event == "GitRepository Reviewed"),
        || format!("{:?}", events(&world)),
    );
    let lease = world.get(LEASE, "review-controller-leader-election");
    assert!(!text(&lease, "/spec/holderIdentity").is_empty());
    let log = controller.log();
    assert!(!log.contains("forbidden"), "{log}");
    controller.stop();
}
