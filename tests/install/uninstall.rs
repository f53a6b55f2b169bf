//! `bumpwright uninstall` at a real API server: what `install` made goes, and nothing else.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use crate::deploy::{exported, text};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::{Bench, Ran};
use bumpwright_testkit::deployments::claim_of;

const GROUP: &str = "/apis/image.toolkit.fluxcd.io/v1";

fn run(cluster: &Cluster, arguments: &[&str]) -> Ran {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let (command, flags) = arguments.split_first().unwrap();
    Bench::new().run(&[&[command, kubeconfig.as_str()], flags].concat())
}

/// Runs the command at a terminal of its own, where this is typed and then the end of the input; its exit code, and
/// what the terminal shows. None without `script`.
fn at_a_terminal(cluster: &Cluster, arguments: &[&str], typed: &str) -> Option<(i32, String)> {
    let bench = Bench::new();
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let command = bench.command(&[arguments, &[kubeconfig.as_str()]].concat());
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let line: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let mut script = Command::new(bumpwright_testkit::tool("script")?);
    script
        .args(["--quiet", "--return", "--command", &line.join(" "), "/dev/null"])
        .current_dir(&bench.dir)
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = script.spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Some((output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap()))
}

fn ok(cluster: &Cluster, arguments: &[&str]) -> String {
    let ran = run(cluster, arguments);
    assert_eq!(ran.code, 0, "{arguments:?}\n{}\n{}", ran.out, ran.err);
    ran.out
}

fn namespace(cluster: &Cluster, name: &str) {
    cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}).to_string());
}

/// An object that a controller has in hand.
fn object(cluster: &Cluster, kind: &str, spec: Json) {
    let object = json!({
        "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": kind, "spec": spec,
        "metadata": {"name": "app", "namespace": "apps", "finalizers": ["finalizers.fluxcd.io", "example.com/own"]},
    });
    cluster.create(&object, "").unwrap();
}

fn policy(cluster: &Cluster) {
    object(
        cluster,
        "ImagePolicy",
        json!({"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "1.x"}}}),
    );
}

fn finalizers(cluster: &Cluster, plural: &str) -> Json {
    cluster.get(&format!("{GROUP}/namespaces/apps/{plural}/app"))["metadata"]["finalizers"].clone()
}

fn is_there(cluster: &Cluster, path: &str) -> bool {
    match cluster.request("GET", path, "", "").status {
        200 => true,
        404 => false,
        status => panic!("{path}: {status}"),
    }
}

#[test]
fn all_that_was_installed_goes_and_definitions_when_they_are_named() {
    let Some(cluster) = Cluster::start() else { return };
    let flags = [
        "--namespace=images",
        "--components=all,webhooks",
        "--workload-identity",
        "--promotion",
        "--ui",
        "--ui-actions",
        "--reviews",
    ];
    ok(&cluster, &[&["install", "--wait=false"], &flags[..]].concat());
    namespace(&cluster, "apps");
    policy(&cluster);
    let all = exported(&flags);
    let paths: Vec<(&String, String)> = all.iter().map(|(name, one)| (name, cluster.path_of(one))).collect();
    let is_kept = |name: &str| name.starts_with("CustomResourceDefinition") || name.starts_with("Namespace");

    // A dry run says the same, and does nothing.
    let dry = ok(&cluster, &["uninstall", "--namespace=images", "--dry-run"]);
    assert!(paths.iter().all(|(_, path)| is_there(&cluster, path)));
    assert_eq!(
        cluster.get("/apis/apps/v1/namespaces/images/deployments/bumpwright")["spec"]["replicas"],
        1
    );
    assert_eq!(
        finalizers(&cluster, "imagepolicies"),
        json!(["finalizers.fluxcd.io", "example.com/own"])
    );
    assert!(
        dry.contains("deployment.apps \"bumpwright\" deleted (dry run)\n"),
        "{dry}"
    );

    // Something of a user's own holds the namespace.
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tokens", "namespace": "images"}});
    cluster.create(&secret, "").unwrap();
    let said = ok(&cluster, &["uninstall", "--namespace=images"]);
    let held = "namespace/images left as it is: it has secrets/tokens\n";
    assert_eq!(
        said.replace(held, ""),
        dry.replace(" (dry run)", "")
            .replace("namespace \"images\" deleted\n", "")
    );
    assert!(said.contains(held), "{said}");
    assert!(
        said.starts_with("imagepolicy.image.toolkit.fluxcd.io/app in the namespace apps without finalizer\ndeployment.apps \"bumpwright\" deleted\n"),
        "{said}"
    );
    for (name, path) in &paths {
        assert_eq!(is_there(&cluster, path), is_kept(name), "{name}");
    }
    assert_eq!(finalizers(&cluster, "imagepolicies"), json!(["example.com/own"]));

    // Without it the namespace goes.
    cluster.request("DELETE", "/api/v1/namespaces/images/secrets/tokens", "", "");
    assert_eq!(
        ok(&cluster, &["uninstall", "--namespace=images"]),
        "namespace \"images\" deleted\n"
    );
    let said = ok(&cluster, &["uninstall", "--namespace=images"]);
    assert_eq!(said, "there is nothing of `bumpwright install` to remove\n");

    // Definitions are asked for, with what goes with them.
    let refused = run(&cluster, &["uninstall", "--namespace=images", "--crds"]);
    let words = "error: --crds would delete 8 definitions and 1 object: ";
    assert!(refused.code == 2 && refused.err.starts_with(words), "{}", refused.err);
    assert!(
        refused
            .err
            .contains("imagepolicies.image.toolkit.fluxcd.io with 1 object"),
        "{}",
        refused.err
    );
    let definitions = || {
        paths
            .iter()
            .filter(|(name, _)| name.starts_with("CustomResourceDefinition"))
    };
    // At a terminal the user is asked. Only a yes is one: neither another answer nor the end of the input.
    let asked = ["uninstall", "--namespace=images", "--crds", "--timeout=1s"];
    let question = "This deletes 8 definitions and 1 object: ";
    for typed in ["n\n", "\n", "yes, but\n", ""] {
        let Some((code, said)) = at_a_terminal(&cluster, &asked, typed) else {
            return;
        };
        assert_eq!(code, 2, "{typed:?}: {said}");
        assert!(
            said.contains(question) && said.contains("Go on? [y/N] "),
            "{typed:?}: {said}"
        );
        assert!(said.contains("error: nothing is removed"), "{typed:?}: {said}");
    }
    assert!(definitions().all(|(_, path)| is_there(&cluster, path)));
    // A finalizer of another client holds its object, and that the definition.
    let Some((code, said)) = at_a_terminal(&cluster, &asked, "Y\n") else {
        return;
    };
    let words =
        "imagepolicies.image.toolkit.fluxcd.io is not gone after 1s: apps/app has the finalizers example.com/own";
    assert!(code == 2 && said.contains(question) && said.contains(words), "{said}");
    let path = format!("{GROUP}/namespaces/apps/imagepolicies/app");
    cluster.merge_patch(&path, &json!({"metadata": {"finalizers": null}}));
    ok(&cluster, &["uninstall", "--namespace=images", "--crds", "--yes"]);
    definitions().for_each(|(_, path)| cluster.gone(path));
}

/// A process outside of the cluster holds the lease of image policies, and goes on to serve them.
#[test]
fn what_another_process_serves_keeps_its_finalizer() {
    let Some(cluster) = Cluster::start() else { return };
    ok(&cluster, &["install", "--wait=false", "--namespace=images"]);
    namespace(&cluster, "apps");
    policy(&cluster);
    let now = "2100-01-01T00:00:00.000000Z";
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "image-reflector-controller-leader-election", "namespace": "images"},
        "spec": {"holderIdentity": "laptop_1234", "leaseDurationSeconds": 600, "renewTime": now, "acquireTime": now},
    });
    cluster.create(&lease, "").unwrap();
    let dry = ok(&cluster, &["uninstall", "--namespace=images", "--dry-run"]);
    let said = ok(&cluster, &["uninstall", "--namespace=images"]);
    let kept = "imagepolicy.image.toolkit.fluxcd.io keep their finalizer: laptop_1234 holds the lease \
                image-reflector-controller-leader-election and serves them; once it has ended, run the command again\n";
    let both = json!(["finalizers.fluxcd.io", "example.com/own"]);
    assert!(said.contains(kept) && dry.contains(kept), "{said}\n{dry}");
    assert_eq!(finalizers(&cluster, "imagepolicies"), both);

    // The second run says so as long as the process runs, and finishes the work once it has ended.
    let nothing = "there is nothing of `bumpwright install` to remove";
    let said = ok(&cluster, &["uninstall", "--namespace=images"]);
    assert!(said.contains(kept) && !said.contains(nothing), "{said}");
    assert_eq!(finalizers(&cluster, "imagepolicies"), both);
    // So does one that names another namespace, since nothing says any more where the installation was.
    let said = ok(&cluster, &["uninstall", "--namespace=other"]);
    let elsewhere = kept.replace("-leader-election", "-leader-election in the namespace images");
    assert!(said.contains(&elsewhere), "{said}");
    assert_eq!(finalizers(&cluster, "imagepolicies"), both);
    let lease = "/apis/coordination.k8s.io/v1/namespaces/images/leases/image-reflector-controller-leader-election";
    cluster.request("DELETE", lease, "", "");

    // A controller that is scaled to zero for a while serves them again later.
    let labels = json!({"app": "image-reflector-controller", "app.kubernetes.io/part-of": "flux"});
    let reflector = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "image-reflector-controller", "namespace": "apps", "labels": labels},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "flux:v1"}]},
        }},
    });
    cluster.apply(&reflector.to_string());
    ok(&cluster, &["uninstall", "--namespace=images"]);
    assert_eq!(finalizers(&cluster, "imagepolicies"), both);
    cluster.request("DELETE", &cluster.path_of(&reflector), "", "");
    cluster.gone(&cluster.path_of(&reflector));

    let dry = ok(&cluster, &["uninstall", "--namespace=images", "--dry-run"]);
    let without = "imagepolicy.image.toolkit.fluxcd.io/app in the namespace apps without finalizer";
    assert!(dry.contains(&format!("{without} (dry run)\n")), "{dry}");
    assert_eq!(finalizers(&cluster, "imagepolicies"), both);
    let said = ok(&cluster, &["uninstall", "--namespace=images"]);
    assert!(
        said.contains(&format!("{without}\n")) && !said.contains(nothing),
        "{said}"
    );
    assert_eq!(finalizers(&cluster, "imagepolicies"), json!(["example.com/own"]));
    let said = ok(&cluster, &["uninstall", "--namespace=images"]);
    assert!(said.contains(nothing), "{said}");
}

#[test]
fn what_belongs_to_somebody_else_stays() {
    let Some(cluster) = Cluster::start() else { return };
    // Flux's definitions and namespace, and one of its controllers.
    for (name, one) in exported(&["--components=all"]) {
        if name.starts_with("CustomResourceDefinition") || name.starts_with("Namespace") {
            cluster.apply(&one.to_string());
        }
    }
    let labels = json!({"app": "image-reflector-controller", "app.kubernetes.io/part-of": "flux"});
    let reflector = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "image-reflector-controller", "namespace": "flux-system", "labels": labels},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "flux:v1"}]},
        }},
    });
    cluster.apply(&reflector.to_string());
    ok(&cluster, &["install", "--wait=false", "--beside-flux"]);
    namespace(&cluster, "apps");
    policy(&cluster);
    object(
        &cluster,
        "ImageUpdateAutomation",
        json!({"interval": "30m", "sourceRef": {"kind": "GitRepository", "name": "fleet"}}),
    );

    // Another installation needs the roles that have one name for all of them.
    namespace(&cluster, "second");
    ok(
        &cluster,
        &[
            "install",
            "--wait=false",
            "--namespace=second",
            "--components=image-automation",
        ],
    );
    let said = ok(&cluster, &["uninstall", "--namespace=second", "--crds"]);
    assert!(said.contains("deployment.apps \"bumpwright\" deleted\n"), "{said}");
    let words = "clusterrole.rbac.authorization.k8s.io/bumpwright left as it is: the installation in the namespace flux-system uses it\n";
    assert!(said.contains(words), "{said}");
    assert!(
        said.contains("namespace/second left as it is: it was made by an unknown client\n"),
        "{said}"
    );
    assert!(!said.contains("without finalizer"), "{said}");
    assert!(is_there(
        &cluster,
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/bumpwright"
    ));
    assert!(is_there(
        &cluster,
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/bumpwright-flux-system"
    ));

    // Flux's controller goes on with the policies; nobody does with the automation. No definition was ours alone.
    let said = ok(&cluster, &["uninstall", "--crds"]);
    assert_eq!(
        finalizers(&cluster, "imagepolicies"),
        json!(["finalizers.fluxcd.io", "example.com/own"])
    );
    assert_eq!(
        finalizers(&cluster, "imageupdateautomations"),
        json!(["example.com/own"])
    );
    let left = "customresourcedefinition.apiextensions.k8s.io/imagepolicies.image.toolkit.fluxcd.io left as it is: it is managed by test\n";
    assert!(said.contains(left), "{said}");
    assert!(
        said.contains("namespace/flux-system left as it is: it was made by test\n"),
        "{said}"
    );
    for (name, one) in exported(&["--components=all"]) {
        let is_kept = name.starts_with("CustomResourceDefinition") || name.starts_with("Namespace");
        assert_eq!(is_there(&cluster, &cluster.path_of(&one)), is_kept, "{name}");
    }
    assert!(is_there(&cluster, &cluster.path_of(&reflector)));

    // Made by another tool, which has to remove it.
    let all = exported(&[]);
    cluster.apply(&all["Deployment flux-system/bumpwright"].to_string());
    let refused = run(&cluster, &["uninstall"]);
    assert_eq!(refused.code, 2);
    let words =
        "error: deployment.apps/bumpwright was not made by `bumpwright install` but by test: remove it with that tool";
    assert!(refused.err.starts_with(words), "{}", refused.err);
    let path = cluster.path_of(&all["Deployment flux-system/bumpwright"]);
    assert_eq!(text(&cluster.get(&path), "/metadata/name"), "bumpwright");
    pods_that_do_not_end_are_reported(&cluster);
}

/// The pods have to end first: a controller that runs would put its finalizers back.
fn pods_that_do_not_end_are_reported(cluster: &Cluster) {
    ok(
        cluster,
        &[
            "install",
            "--wait=false",
            "--namespace=lasting",
            "--components=image-automation",
            "--watch-all-namespaces=false",
        ],
    );
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "bumpwright-0", "namespace": "lasting", "labels": {"app": "bumpwright"}},
        "spec": {"containers": [{"name": "manager", "image": "x"}]},
    });
    cluster.create(&pod, "").unwrap();
    let refused = run(cluster, &["uninstall", "--namespace=lasting", "--timeout=1s"]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    let words = "the pods of deployment.apps/bumpwright have not ended in 1s: bumpwright-0; once they have, run the command again";
    assert!(refused.err.contains(words), "{}", refused.err);
    let path = "/apis/apps/v1/namespaces/lasting/deployments/bumpwright";
    assert_eq!(cluster.get(path)["spec"]["replicas"], 0);
}

#[test]
fn several_processes_go_as_one_and_leave_their_volumes() {
    let Some(cluster) = Cluster::start() else { return };
    let flags = ["--namespace=images", "--components=all,webhooks", "--shards=2"];
    ok(&cluster, &[&["install", "--wait=false"], &flags[..]].concat());
    let set = "/apis/apps/v1/namespaces/images/statefulsets/bumpwright";
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "bumpwright-1", "namespace": "images", "labels": {"app": "bumpwright"}},
        "spec": {"containers": [{"name": "manager", "image": "x"}]},
    });
    claim_of(&cluster, "images", "data-bumpwright-0");
    claim_of(&cluster, "images", "data-bumpwright-1");
    for name in ["bumpwright-shard-0a-bumpwright-1", "bumpwright-shards-0a"] {
        let metadata = json!({"name": name, "namespace": "images"});
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata});
        cluster.create(&lease, "").unwrap();
    }

    let dry = ok(&cluster, &["uninstall", "--namespace=images", "--dry-run"]);
    assert_eq!(cluster.get(set)["spec"]["replicas"], 2);
    cluster.create(&pod, "").unwrap();
    let refused = run(&cluster, &["uninstall", "--namespace=images", "--timeout=1s"]);
    let words = "error: the pods of statefulset.apps/bumpwright have not ended in 1s: bumpwright-1; once they have";
    assert!(refused.code == 2 && refused.err.starts_with(words), "{}", refused.err);
    assert_eq!(cluster.get(set)["spec"]["replicas"], 0);
    let now = json!({"gracePeriodSeconds": 0}).to_string();
    cluster.request("DELETE", &cluster.path_of(&pod), "application/json", &now);
    cluster.gone(&cluster.path_of(&pod));

    let said = ok(&cluster, &["uninstall", "--namespace=images"]);
    assert_eq!(said, dry.replace(" (dry run)", ""));
    assert!(said.starts_with("statefulset.apps \"bumpwright\" deleted\n"), "{said}");
    for line in [
        "service \"bumpwright-shards\" deleted\n",
        "persistentvolumeclaim/data-bumpwright-0, data-bumpwright-1 are left: no process has them now, and one of the same name would take them again; \
         to delete them: kubectl -n images delete persistentvolumeclaim data-bumpwright-0 data-bumpwright-1\n",
        "namespace/images left as it is: it has persistentvolumeclaims/data-bumpwright-0, persistentvolumeclaims/data-bumpwright-1\n",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    for (name, one) in exported(&flags) {
        let is_kept = name.starts_with("CustomResourceDefinition") || name.starts_with("Namespace");
        assert_eq!(is_there(&cluster, &cluster.path_of(&one)), is_kept, "{name}");
    }

    // Volumes are a user's to delete; then the leases of the processes go with the namespace.
    for name in ["data-bumpwright-0", "data-bumpwright-1"] {
        let path = format!("/api/v1/namespaces/images/persistentvolumeclaims/{name}");
        cluster.merge_patch(&path, &json!({"metadata": {"finalizers": null}}));
        cluster.request("DELETE", &path, "", "");
        cluster.gone(&path);
    }
    assert_eq!(
        ok(&cluster, &["uninstall", "--namespace=images"]),
        "namespace \"images\" deleted\n"
    );
}

/// Each installation has bindings of its own. Those with the names of before go with the installation
/// that they are for.
#[test]
fn a_second_installation_leaves_the_bindings_of_the_first() {
    const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let Some(cluster) = Cluster::start() else { return };
    let account = |namespace: &str| json!({"kind": "ServiceAccount", "name": "bumpwright", "namespace": namespace});
    let install = |namespace: &str| {
        let namespace = format!("--namespace={namespace}");
        ok(
            &cluster,
            &["install", "--wait=false", "--components=all,webhooks", &namespace],
        )
    };
    let former = |name: &str, subjects: Json| {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}, "subjects": subjects,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "bumpwright-sources"},
        });
        let path = format!("{BINDINGS}/{name}?fieldManager=bumpwright");
        let answer = cluster.request("PATCH", &path, "application/apply-patch+yaml", &binding.to_string());
        assert_eq!(answer.status, 201, "{}", answer.body);
    };
    install("one");
    former("bumpwright-sources", json!([account("one")]));
    former("bumpwright-webhooks", json!([account("two")]));
    let user = json!({"kind": "User", "name": "ada", "apiGroup": "rbac.authorization.k8s.io"});
    former("bumpwright-kustomizations", json!([account("one"), user]));
    let said = install("two");
    let deleted = |said: &str| -> Vec<String> {
        let lines = said.lines().filter_map(|line| line.split_once(" deleted"));
        lines.map(|(what, _)| what.to_owned()).collect()
    };
    let former = |name: &str| format!("clusterrolebinding.rbac.authorization.k8s.io \"{name}\"");
    assert_eq!(deleted(&said), [former("bumpwright-webhooks")]);
    assert_eq!(deleted(&install("one")), [former("bumpwright-sources")]);
    for (name, namespace) in ["", "-images", "-sources", "-kustomizations", "-webhooks"]
        .into_iter()
        .flat_map(|name| [(name, "one"), (name, "two")])
    {
        let binding = cluster.get(&format!("{BINDINGS}/bumpwright{name}-{namespace}"));
        assert_eq!(binding["subjects"], json!([account(namespace)]), "{name}-{namespace}");
    }

    // One of sources alone takes no rights of the first from it.
    let rules = || cluster.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/bumpwright-images")["rules"].clone();
    let before = rules();
    let fewer = ["install", "--wait=false", "--components=source", "--namespace=two"];
    assert!(deleted(&ok(&cluster, &fewer)).contains(&former("bumpwright-images-two")));
    assert!(before.is_array());
    assert_eq!(rules(), before);

    let said = ok(&cluster, &["uninstall", "--namespace=one"]);
    let kept = "clusterrolebinding.rbac.authorization.k8s.io/bumpwright-kustomizations left as it is: it is for the User ada\n";
    assert!(said.contains(kept), "{said}");
    for (name, is_kept) in [
        ("bumpwright-kustomizations", true),
        ("bumpwright-sources-two", true),
        ("bumpwright-kustomizations-one", false),
    ] {
        assert_eq!(is_there(&cluster, &format!("{BINDINGS}/{name}")), is_kept, "{name}");
    }
}
