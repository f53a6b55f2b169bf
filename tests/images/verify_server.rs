//! `bumpwright.dev/verify: server`: what a commit changes is sent to the real API server as dry runs, as the
//! account that applies it.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tarball::archive;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{
    AUTOMATION, EVENT, GIT_REPOSITORY, IMAGE_POLICY, KUSTOMIZATION, SECRET, SERVICE_ACCOUNT, World, automation,
    git_repository,
};
use serde_json::{Value, json};

use super::verify_charts::status;

/// A Git repository, its objects, and a controller of automations for them.
struct Fleet<'a> {
    // Before the folder that has its log and storage goes.
    _controller: Controller,
    world: World<'a>,
    repo: Repo,
}

impl<'a> Fleet<'a> {
    fn start(cluster: &'a Cluster, namespace: &str, files: &[(&str, String)]) -> Self {
        Self::start_with(cluster, namespace, files, &cluster.kubeconfig_with(cluster.token()))
    }

    fn start_with(cluster: &'a Cluster, namespace: &str, files: &[(&str, String)], kubeconfig: &str) -> Self {
        cluster.define();
        let world = World::new(cluster, namespace);
        let repo = world.repository("app.git");
        let files: Vec<Change<'_>> = files
            .iter()
            .map(|(path, text)| Change::File(path, text.as_bytes()))
            .collect();
        repo.commit("main", "first", &files);
        world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
        let file = world.folder.path().join("kubeconfig");
        std::fs::write(&file, kubeconfig).unwrap();
        let starter = world.starter("controller").kubeconfig(&file);
        Self {
            _controller: starter.flags(&["--controllers=image-automation"]).start(),
            world,
            repo,
        }
    }

    /// A Kustomization of the repository.
    fn kustomize(&self, name: &str, path: &str, more: Value) {
        let mut spec = json!({
            "interval": "1h", "prune": false, "path": path, "sourceRef": {"kind": "GitRepository", "name": "app"},
        });
        merge(&mut spec, more);
        self.world.add(KUSTOMIZATION, name, spec);
    }

    /// The automation, which begins to run.
    fn automate(&self) {
        let annotations = json!({"bumpwright.dev/verify": "server"});
        self.world.annotated(AUTOMATION, "all", &annotations, automation("app"));
    }

    fn choose(&self, policy: &str, name: &str, tag: &str) {
        let latest = json!({"latestRef": {"name": name, "tag": tag}});
        self.world.patch_status(IMAGE_POLICY, policy, &latest);
    }

    /// Waits until the verification fails in all of these words, and returns its message.
    fn fails(&self, words: &[&str]) -> String {
        let says = |message: &str| words.iter().all(|word| message.contains(word));
        let message = self.world.ready(AUTOMATION, "all", "False", |reason, message| {
            reason == "VerifyFailed" && says(message)
        });
        assert_eq!(self.repo.log("main").len(), 1, "{message}");
        message
    }

    fn is_pushed(&self, path: &str, text: &str) {
        wait_for(
            || self.repo.show("main", path) == text.as_bytes(),
            || {
                let status = &self.world.get(AUTOMATION, "all")["status"];
                format!("{status:#}\n{}", String::from_utf8_lossy(&self.repo.show("main", path)))
            },
        );
    }

    /// Waits for an event of a push in these words.
    fn tells(&self, words: &str) {
        let messages = || {
            let events = self.world.list(EVENT);
            let messages: Vec<String> = events.iter().map(|event| event["message"].to_string()).collect();
            messages
        };
        let is_told = |message: &String| message.contains("pushed commit") && message.contains(words);
        wait_for(|| messages().iter().any(is_told), || messages().join("\n"));
    }
}

fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}

fn deployment(namespace: &str, image: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: {namespace}}}\nspec:\n  selector: {{matchLabels: {{app: \
         web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - name: web\n        image: {image} # \
         {{\"$imagepolicy\": \"{namespace}:one\"}}\n"
    )
}

fn map(namespace: &str, rest: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: app, namespace: {namespace}}}\n{rest}")
}

/// A folder by the tag of the policy `one`.
fn folder(namespace: &str, tag: &str) -> String {
    format!("resources:\n- {tag} # {{\"$imagepolicy\": \"{namespace}:one:tag\"}}\n")
}

/// Has the API server refuse Deployments of the namespace with images of other registries than ghcr.io.
fn ghcr_only(cluster: &Cluster, namespace: &str) {
    let (api, name) = ("admissionregistration.k8s.io/v1", format!("ghcr-{namespace}"));
    let rule = json!({"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"]});
    let expression = "object.spec.template.spec.containers.all(c, c.image.startsWith('ghcr.io/'))";
    let policy = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": expression, "message": "images come from ghcr.io only"}],
        },
    });
    let labels = json!({"kubernetes.io/metadata.name": namespace});
    let binding = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {
            "policyName": name, "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": labels}},
        },
    });
    cluster.apply(&policy.to_string());
    cluster.apply(&binding.to_string());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    cluster.apply(&namespace.to_string());
    let name = namespace["metadata"]["name"].as_str().unwrap();
    let bad: Value = serde_saphyr::from_str(&deployment(name, "docker.io/evil/web:1")).unwrap();
    until("the policy is in effect", || {
        let answer = cluster.create(&bad, "dryRun=All");
        answer.is_err_and(|error| error.contains("images come from ghcr.io only"))
    });
}

/// A ServiceAccount that may read and write these kinds of its namespace.
fn account(world: &World<'_>, name: &str, groups: &[&str], resources: &[&str]) {
    let (api, namespace) = ("rbac.authorization.k8s.io/v1", &world.namespace);
    world.put(SERVICE_ACCOUNT, name, json!({}));
    let verbs = json!(["get", "create", "patch"]);
    let metadata = json!({"name": name, "namespace": namespace});
    world.apply(&json!({
        "apiVersion": api, "kind": "Role", "metadata": metadata,
        "rules": [{"apiGroups": groups, "resources": resources, "verbs": verbs}],
    }));
    world.apply(&json!({
        "apiVersion": api, "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }));
    let attributes = json!({"verb": "patch", "group": groups[0], "resource": resources[0], "namespace": namespace});
    until("the rights are in effect", || may(world, name, &attributes));
}

fn may(world: &World<'_>, account: &str, attributes: &Value) -> bool {
    let user = format!("system:serviceaccount:{}:{account}", world.namespace);
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answer = world.cluster.request("POST", path, "", &review.to_string());
    answer.body["status"]["allowed"] == true
}

/// A token of a ServiceAccount.
fn token(cluster: &Cluster, namespace: &str, account: &str) -> String {
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = cluster.request("POST", &path, "", &request.to_string());
    answer.body["status"]["token"].as_str().unwrap().to_owned()
}

/// With `spec.force` an object is made again when immutable fields change; what admission control says counts even so.
#[test]
fn an_image_that_admission_control_refuses_is_not_pushed() {
    let Some(cluster) = Cluster::shared() else { return };
    let namespace = "server-policy";
    ghcr_only(cluster, namespace);
    let one = |image: &str| deployment(namespace, image);
    let two = |tag: &str| {
        let data = format!("data:\n  tag: {tag} # {{\"$imagepolicy\": \"{namespace}:two:tag\"}}\n");
        map(namespace, &data)
    };
    let files = [
        ("app/map.yaml", two("v1")),
        ("app/web.yaml", one("ghcr.io/o/one:1.0.0")),
    ];
    let fleet = Fleet::start(cluster, namespace, &files);
    let world = &fleet.world;
    cluster.apply(&one("ghcr.io/o/one:1.0.0"));
    account(world, "deployer", &["apps", ""], &["deployments", "configmaps"]);
    for (name, more) in [("app", json!({})), ("forced", json!({"force": true}))] {
        let mut more = more;
        merge(&mut more, json!({"serviceAccountName": "deployer"}));
        fleet.kustomize(name, "./app", more);
    }
    add_choice(world, "one", "1.0.0");
    add_choice(world, "two", "v2");
    fleet.choose("one", "docker.io/evil/one", "1.1.0");
    fleet.automate();
    let message = fleet.fails(&[
        "Kustomization server-policy/app would be refused by the API server: Deployment/server-policy/web dry-run failed",
        "Kustomization server-policy/forced would be refused by the API server",
        "images come from ghcr.io only",
        "(in app/web.yaml:1:1)",
        "caused by app/web.yaml:11:16 (server-policy:one: ghcr.io/o/one:1.0.0 → docker.io/evil/one:1.1.0)",
    ]);
    assert!(!message.contains("app/map.yaml"), "{message}");
    fleet.choose("one", "ghcr.io/o/one", "1.1.0");
    fleet.is_pushed("app/web.yaml", &one("ghcr.io/o/one:1.1.0"));
    fleet.is_pushed("app/map.yaml", &two("v2"));
    // Nothing was applied.
    let web = cluster.get(&format!("/apis/apps/v1/namespaces/{namespace}/deployments/web"));
    assert_eq!(
        web["spec"]["template"]["spec"]["containers"][0]["image"],
        "ghcr.io/o/one:1.0.0"
    );
}

#[test]
fn what_was_refused_before_is_pushed_and_told() {
    let Some(cluster) = Cluster::shared() else { return };
    let namespace = "server-broken";
    ghcr_only(cluster, namespace);
    let one = |tag: &str| deployment(namespace, &format!("docker.io/evil/one:{tag}"));
    let fleet = Fleet::start(cluster, namespace, &[("app/web.yaml", one("1.0.0"))]);
    fleet.kustomize("app", "./app", json!({}));
    add_choice(&fleet.world, "one", "1.0.0");
    fleet.choose("one", "docker.io/evil/one", "1.1.0");
    fleet.automate();
    fleet.is_pushed("app/web.yaml", &one("1.1.0"));
    fleet.tells("note: Kustomization server-broken/app is refused by the API server without the change as well: ");
}

#[test]
fn objects_are_asked_about_as_the_account_and_secrets_are_not_told() {
    let Some(cluster) = Cluster::shared() else { return };
    let namespace = "server-account";
    let plain = map(namespace, "");
    let service = format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: app, namespace: {namespace}}}\nspec: {{ports: [{{port: 80}}]}}\n"
    );
    let files = [
        ("app/kustomization.yaml", folder(namespace, "1.0.0")),
        ("app/1.0.0/kustomization.yaml", "resources: [map.yaml]\n".to_owned()),
        ("app/1.0.0/map.yaml", plain.clone()),
        (
            "app/1.1.0/kustomization.yaml",
            "resources: [map.yaml, service.yaml]\n".to_owned(),
        ),
        ("app/1.1.0/map.yaml", plain.clone()),
        ("app/1.1.0/service.yaml", service),
        ("app/1.2.0/kustomization.yaml", "resources: [map.yaml]\n".to_owned()),
        (
            "app/1.2.0/map.yaml",
            plain.replace("name: app", "name: app, labels: {city: '${city}'}"),
        ),
    ];
    let fleet = Fleet::start(cluster, namespace, &files);
    let world = &fleet.world;
    account(world, "deployer", &[""], &["configmaps"]);
    world.put(SERVICE_ACCOUNT, "remote", json!({}));
    world.put(SECRET, "city", json!({"stringData": {"city": "not to be seen!"}}));
    let kubeconfig = |server: &str| {
        let text = cluster.kubeconfig_with(&token(cluster, namespace, "remote"));
        json!({"stringData": {"value": text.replace(cluster.url(), server)}})
    };
    world.put(SECRET, "remote", kubeconfig(cluster.url()));
    let variables = json!({"substituteFrom": [{"kind": "Secret", "name": "city"}]});
    fleet.kustomize(
        "app",
        "./app",
        json!({"serviceAccountName": "deployer", "postBuild": variables}),
    );
    add_choice(world, "one", "1.1.0");
    fleet.automate();
    fleet.fails(&[
        "Kustomization server-account/app would be refused by the API server: Service/server-account/app",
        "User \"system:serviceaccount:server-account:deployer\" cannot patch resource \"services\"",
        "caused by app/kustomization.yaml:2:3",
    ]);
    fleet.choose("one", "ghcr.io/o/one", "1.2.0");
    let message = fleet.fails(&["ConfigMap/server-account/app", "metadata.labels: Invalid value: \"**\""]);
    assert!(!message.contains("not to be seen"), "{message}");
    // In another cluster as its kubeconfig says.
    let remote = json!({"kubeConfig": {"secretRef": {"name": "remote"}}});
    fleet.kustomize("elsewhere", "./app", remote);
    world.delete(KUSTOMIZATION, "app");
    fleet.choose("one", "ghcr.io/o/one", "1.1.0");
    fleet.fails(&[
        "Kustomization server-account/elsewhere would be refused by the API server",
        "User \"system:serviceaccount:server-account:remote\" cannot patch resource \"services\"",
    ]);
    world.put(SECRET, "remote", kubeconfig("https://127.0.0.1:1"));
    fleet.fails(&[
        "the API server could not be asked about the changes of Kustomization server-account/elsewhere",
        "onnection refused",
    ]);
}

#[test]
fn an_immutable_field_may_change_only_by_force() {
    let Some(cluster) = Cluster::shared() else { return };
    let namespace = "server-immutable";
    let object = |tag: &str| {
        let data = format!("immutable: true\ndata:\n  tag: {tag} # {{\"$imagepolicy\": \"{namespace}:one:tag\"}}\n");
        map(namespace, &data)
    };
    let fleet = Fleet::start(cluster, namespace, &[("app/map.yaml", object("v1"))]);
    cluster.apply(&object("v1"));
    fleet.kustomize("app", "./app", json!({}));
    add_choice(&fleet.world, "one", "v2");
    fleet.automate();
    fleet.fails(&[
        "ConfigMap/server-immutable/app",
        "field is immutable when `immutable` is set",
        "caused by app/map.yaml:6:8",
    ]);
    fleet.kustomize("app", "./app", json!({"force": true}));
    fleet.is_pushed("app/map.yaml", &object("v2"));
}

/// An apply creates namespaces and definitions first.
#[test]
fn what_the_same_build_brings_is_not_missing() {
    let Some(cluster) = Cluster::shared() else { return };
    let namespace = "server-staged";
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.staged.example.com"},
        "spec": {
            "group": "staged.example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    let thing = json!({
        "apiVersion": "staged.example.com/v1", "kind": "Thing", "metadata": {"name": "app", "namespace": "server-staged-new"},
    });
    let new = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "server-staged-new"}});
    let files = [
        ("app/kustomization.yaml", folder(namespace, "v1")),
        ("app/v1/kustomization.yaml", "resources: [map.yaml]\n".to_owned()),
        ("app/v1/map.yaml", map(namespace, "")),
        ("app/v2/kustomization.yaml", "resources: [map.yaml]\n".to_owned()),
        ("app/v2/map.yaml", map("server-staged-new", "")),
        ("app/v3/kustomization.yaml", "resources: [all.yaml]\n".to_owned()),
        (
            "app/v3/all.yaml",
            format!(
                "{}---\n{definition}\n---\n{thing}\n---\n{new}\n",
                map("server-staged-new", "")
            ),
        ),
    ];
    let fleet = Fleet::start(cluster, namespace, &files);
    fleet.kustomize("app", "./app", json!({}));
    add_choice(&fleet.world, "one", "v2");
    fleet.automate();
    fleet.fails(&[
        "ConfigMap/server-staged-new/app not found: namespaces \"server-staged-new\" not found",
        "caused by app/kustomization.yaml:2:3",
    ]);
    fleet.choose("one", "ghcr.io/o/one", "v3");
    fleet.is_pushed("app/kustomization.yaml", &folder(namespace, "v3"));
}

/// The rights of image controllers alone: neither to impersonate nor to write.
#[test]
fn what_the_controller_may_not_ask_is_said_and_pushed_only_if_that_is_wanted() {
    let Some(cluster) = Cluster::shared() else { return };
    let namespace = "server-rights";
    cluster.define();
    let own = World::new(cluster, namespace);
    own.put(SERVICE_ACCOUNT, "images", json!({}));
    let rule = |group: &str, resources: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": ["*"]});
    let rules = [
        rule("image.toolkit.fluxcd.io", &["*"]),
        rule("source.toolkit.fluxcd.io", &["gitrepositories"]),
        rule("kustomize.toolkit.fluxcd.io", &["kustomizations"]),
        rule("", &["events"]),
    ];
    own.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": namespace}, "rules": rules,
    }));
    cluster.bind(
        namespace,
        namespace,
        &json!({"kind": "ServiceAccount", "name": "images", "namespace": namespace}),
    );
    let attributes = json!({"verb": "patch", "group": "", "resource": "events", "namespace": namespace});
    until("the rights are in effect", || may(&own, "images", &attributes));
    let kubeconfig = cluster.kubeconfig_with(&token(cluster, namespace, "images"));
    let one = |tag: &str| deployment(namespace, &format!("ghcr.io/o/one:{tag}"));
    let files = [("app/web.yaml", one("1.0.0"))];
    let fleet = Fleet::start_with(cluster, namespace, &files, &kubeconfig);
    let world = &fleet.world;
    account(world, "deployer", &["apps"], &["deployments"]);
    fleet.kustomize("app", "./app", json!({"serviceAccountName": "deployer"}));
    add_choice(world, "one", "1.1.0");
    fleet.automate();
    fleet.fails(&[
        "the API server could not be asked about the changes of Kustomization server-rights/app",
        "User \"system:serviceaccount:server-rights:images\" cannot impersonate resource \"serviceaccounts\"",
        "takes the verb impersonate on serviceaccounts deployer in namespace server-rights",
    ]);
    fleet.kustomize("own", "./app", json!({}));
    world.delete(KUSTOMIZATION, "app");
    fleet.fails(&[
        "User \"system:serviceaccount:server-rights:images\" cannot patch resource \"deployments\"",
        "names no ServiceAccount (spec.serviceAccountName)",
    ]);
    let push = json!({"metadata": {"annotations": {"bumpwright.dev/verify-on-timeout": "push"}}});
    world.patch(AUTOMATION, "all", &push);
    fleet.is_pushed("app/web.yaml", &one("1.1.0"));
    fleet.tells("note: the API server could not be asked about the changes of Kustomization server-rights/own");
}

/// The author of the files does not choose the account.
#[test]
fn accounts_that_only_the_files_name_are_not_used() {
    let Some(cluster) = Cluster::shared() else { return };
    let namespace = "server-child";
    let child = |name: &str, account: &str| {
        let spec = json!({
            "interval": "1h", "prune": false, "path": "./evil", "serviceAccountName": account,
            "sourceRef": {"kind": "GitRepository", "name": "app"},
        });
        json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": name, "namespace": namespace}, "spec": spec,
        })
    };
    let tagged = |tag: &str| {
        let rest = format!("data:\n  tag: {tag} # {{\"$imagepolicy\": \"{namespace}:one:tag\"}}\n");
        map(namespace, &rest)
    };
    let refused = |tag: &str| tagged(tag).replace("name: app", "name: app, labels: {never: 'not valid!'}");
    let files = [
        ("app/new.yaml", child("new", "boss").to_string()),
        ("app/other.yaml", child("other", "boss").to_string()),
        ("evil/map.yaml", refused("v1")),
    ];
    let fleet = Fleet::start(cluster, namespace, &files);
    fleet.kustomize("app", "./app", json!({}));
    // In the cluster it has another account; as if `app` had applied it.
    fleet.world.put(
        KUSTOMIZATION,
        "other",
        json!({
            "metadata": {"labels": {
                "kustomize.toolkit.fluxcd.io/name": "app", "kustomize.toolkit.fluxcd.io/namespace": namespace,
            }},
            "spec": child("other", "deployer")["spec"],
        }),
    );
    add_choice(&fleet.world, "one", "v2");
    fleet.automate();
    fleet.is_pushed("evil/map.yaml", &refused("v2"));
    let why = "the API server is not asked about its changes: it does not have this Kustomization";
    fleet.tells(&format!("note: Kustomization {namespace}/new: {why}"));
    fleet.tells(&format!("note: Kustomization {namespace}/other: {why}"));
}

#[test]
fn the_command_asks_the_cluster_of_the_kubeconfig() {
    let Some(cluster) = Cluster::shared() else { return };
    let namespace = "server-command";
    ghcr_only(cluster, namespace);
    let world = World::new(cluster, namespace);
    account(&world, "deployer", &["apps"], &["deployments"]);
    let bench = Bench::new();
    let kustomization = |name: &str, path: &str, account: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: \
             {{interval: 1h, prune: true, path: {path}, sourceRef: {{kind: GitRepository, name: fleet}}{account}}}\n---\n"
        )
    };
    let source = format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: fleet, namespace: {namespace}}}\n\
         spec: {{interval: 1m, url: 'https://git.example.com/acme/fleet'}}\n"
    );
    let entry = kustomization("fleet", "./clusters/prod", "")
        + &kustomization("app", "./app", ", serviceAccountName: deployer")
        + &source;
    bench.write("clusters/prod/all.yaml", entry);
    let before = deployment(namespace, "ghcr.io/o/one:1.0.0");
    bench.write("app/web.yaml", &before);
    let kubeconfig = cluster.kubeconfig();
    let update = |image: &str, more: &[&str]| {
        let set = format!("{namespace}:one={image}");
        let arguments = ["update", "--fleet", "clusters/prod", "--set", set.as_str()];
        bench.run(&[&arguments[..], more].concat())
    };
    let server = ["--verify", "server", "--kubeconfig", kubeconfig.to_str().unwrap()];
    let ran = update("docker.io/evil/one:1.1.0", &server);
    assert_eq!(ran.code, 2, "{}", ran.out);
    for part in [
        "Kustomization server-command/app would be refused by the API server: Deployment/server-command/web dry-run failed",
        "images come from ghcr.io only",
        "caused by app/web.yaml:11:16",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert_eq!(bench.read("app/web.yaml"), before);
    let ran = update("ghcr.io/o/one:1.1.0", &server);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert_eq!(bench.read("app/web.yaml"), before.replace("1.0.0", "1.1.0"));
    for (more, words) in [
        (&["--kubeconfig", "x"][..], "are for --verify server"),
        (&["--verify", "server", "--fleet", "clusters/two"], "asks one cluster"),
        (&["--verify", "server", "--kubeconfig", "none"], "--verify server: "),
    ] {
        let ran = update("ghcr.io/o/one:1.2.0", more);
        assert!(ran.code == 2 && ran.err.contains(words), "{words}: {}", ran.err);
    }
}

/// What a release installs is asked about as its account, if the cluster has the release so.
#[test]
fn objects_of_releases_are_asked_about_as_their_own_account() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(()) = cluster.define_helm() else { return };
    let namespace = "server-helm";
    ghcr_only(cluster, namespace);
    let of_source = |source: &str, name: &str, image: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  interval: 1h\n  \
             serviceAccountName: helm\n  chart: {{spec: {{chart: ./chart, sourceRef: {{kind: GitRepository, name: {source}}}}}}}\n  values:\n    \
             image: {image} # {{\"$imagepolicy\": \"{namespace}:one\"}}\n"
        )
    };
    let release = |name: &str, image: &str| of_source("app", name, image);
    // Without the marker, which is in the values.
    let template = deployment(namespace, "{{ .Values.image }}").replace("name: web,", "name: '{{ .Release.Name }}',");
    let template = template.split(" # ").next().unwrap().to_owned();
    let files = [
        ("app/web.yaml", release("web", "ghcr.io/o/one:1.0.0")),
        ("app/new.yaml", release("new", "ghcr.io/o/one:1.0.0")),
        ("app/far.yaml", of_source("charts", "far", "ghcr.io/o/one:1.0.0")),
        (
            "chart/Chart.yaml",
            "{apiVersion: v2, name: web, version: 1.0.0}".to_owned(),
        ),
        ("chart/templates/web.yaml", template.clone()),
    ];
    let fleet = Fleet::start(cluster, namespace, &files);
    let world = &fleet.world;
    // A chart of another source is in the artifact of that.
    let archive = archive(&[
        ("chart/Chart.yaml", b"{apiVersion: v2, name: far, version: 1.0.0}"),
        ("chart/templates/web.yaml", template.as_bytes()),
    ]);
    let sent = archive.clone();
    let server = StubHttp::start(move |_| Reply::bytes(200, "application/gzip", sent.clone()));
    world.add(
        GIT_REPOSITORY,
        "charts",
        git_repository("https://git.example.com/charts.git"),
    );
    world.patch_status(GIT_REPOSITORY, "charts", &status(&server, &archive));
    account(world, "helm", &["apps"], &["deployments"]);
    for live in [
        release("web", "ghcr.io/o/one:1.0.0"),
        of_source("charts", "far", "ghcr.io/o/one:1.0.0"),
    ] {
        let mut live: Value = serde_saphyr::from_str(&live).unwrap();
        live["metadata"]["labels"] =
            json!({"kustomize.toolkit.fluxcd.io/name": "app", "kustomize.toolkit.fluxcd.io/namespace": namespace});
        world.apply(&live);
    }
    fleet.kustomize("app", "./app", json!({}));
    add_choice(world, "one", "1.0.0");
    fleet.choose("one", "docker.io/evil/one", "1.1.0");
    fleet.automate();
    fleet.fails(&[
        "HelmRelease server-helm/web of Kustomization server-helm/app would be refused by the API server: Deployment/server-helm/web dry-run failed",
        "HelmRelease server-helm/far of Kustomization server-helm/app would be refused by the API server: Deployment/server-helm/far dry-run failed",
        "images come from ghcr.io only",
        "app/far.yaml:9:12",
        "app/web.yaml:9:12",
    ]);
    fleet.choose("one", "ghcr.io/o/one", "1.1.0");
    fleet.is_pushed("app/web.yaml", &release("web", "ghcr.io/o/one:1.1.0"));
    fleet.tells(
        "HelmRelease server-helm/new of Kustomization server-helm/app: the API server is not asked about its changes",
    );
    // The command asks as the account, too, which may not do this in a cluster without the right.
    let bench = Bench::new();
    for (path, text) in &files {
        bench.write(path, text);
    }
    let kustomization = format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: app, namespace: {namespace}}}\nspec: {{interval: 1h, \
         prune: false, path: ./app, sourceRef: {{kind: GitRepository, name: app}}}}\n"
    );
    bench.write("c/all.yaml", kustomization);
    let kubeconfig = cluster.kubeconfig();
    let set = format!("{namespace}:one=docker.io/evil/one:1.1.0");
    let ran = bench.run(&[
        "update",
        "--fleet",
        "c",
        "--set",
        &set,
        "--verify",
        "server",
        "--kubeconfig",
        kubeconfig.to_str().unwrap(),
    ]);
    let words = "HelmRelease server-helm/web of Kustomization server-helm/app would be refused by the API server";
    assert!(ran.code == 2 && ran.err.contains(words), "{}\n{}", ran.out, ran.err);
    assert!(ran.err.contains("images come from ghcr.io only"), "{}", ran.err);
}

/// Helm deletes a hook and makes it again: a Job that exists would refuse the change as an update.
#[test]
fn hooks_of_releases_are_not_asked_about_as_updates() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(()) = cluster.define_helm() else { return };
    let namespace = "server-hooks";
    let world = World::new(cluster, namespace);
    let job = |image: &str| {
        format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: migrate, namespace: {namespace}, annotations: {{helm.sh/hook: pre-upgrade}}}}\n\
             spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: m, image: '{image}'}}]}}}}}}\n"
        )
    };
    world.apply(&serde_saphyr::from_str::<Value>(&job("ghcr.io/o/one:1.0.0")).unwrap());
    let bench = Bench::new();
    bench.write("chart/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}");
    bench.write("chart/templates/job.yaml", job("{{ .Values.image }}"));
    bench.write(
        "app/web.yaml",
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: {namespace}}}\nspec:\n  interval: 1h\n  \
             chart: {{spec: {{chart: ./chart, sourceRef: {{kind: GitRepository, name: app}}}}}}\n  values:\n    \
             image: ghcr.io/o/one:1.0.0 # {{\"$imagepolicy\": \"{namespace}:one\"}}\n"
        ),
    );
    bench.write(
        "c/all.yaml",
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: app, namespace: {namespace}}}\nspec: {{interval: \
             1h, prune: false, path: ./app, sourceRef: {{kind: GitRepository, name: app}}}}\n"
        ),
    );
    let kubeconfig = cluster.kubeconfig();
    let set = format!("{namespace}:one=ghcr.io/o/one:1.1.0");
    let arguments = ["update", "--fleet", "c", "--set", set.as_str(), "--verify", "server"];
    let ran = bench.run(&[&arguments[..], &["--kubeconfig", kubeconfig.to_str().unwrap()]].concat());
    let text = ran.out + &ran.err;
    assert_eq!(ran.code, 0, "{text}");
    let words = "the API server is not asked about 1 of its changed objects: Helm deletes hooks and recreates them";
    assert!(text.contains(words), "{text}");
}
