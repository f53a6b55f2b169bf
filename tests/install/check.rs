//! `bumpwright check` at a real API server. The test writes what the Deployment's controller, a kubelet
//! and the leaders would.

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::{Bench, Ran};
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::deployments;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::waiting::wait_for;

const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

fn run(cluster: &Cluster, arguments: &[&str]) -> Ran {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let (command, flags) = arguments.split_first().unwrap();
    Bench::new().run(&[&[command, kubeconfig.as_str()], flags].concat())
}

/// Runs a check until it has this exit code and says these lines, since the server takes note of rights a little later.
fn check(cluster: &Cluster, flags: &[&str], code: i32, lines: &[&str]) -> Ran {
    let look = || run(cluster, &[&["check"], flags].concat());
    let is_wanted = |ran: &Ran| {
        let has = |line: &&str| ran.out.lines().any(|said| said.starts_with(*line));
        ran.code == code && lines.iter().all(has)
    };
    wait_for(
        || Some(look()).filter(is_wanted),
        || {
            let ran = look();
            format!("{code} {lines:#?}\n{} {}{}", ran.code, ran.out, ran.err)
        },
    )
}

fn deployment(namespace: &str, name: &str, image: &str, replicas: u64) -> Json {
    let labels = json!({"app": name, "app.kubernetes.io/part-of": "flux"});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": image}]},
        }},
    })
}

fn lease(cluster: &Cluster, controller: &str, holder: &str, renewed: &str) {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": format!("{controller}-leader-election"), "namespace": "flux-system"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 35, "renewTime": renewed},
    });
    cluster.apply(&lease.to_string());
}

const FUTURE: &str = "2999-01-01T00:00:00.000000Z";
const PAST: &str = "2020-01-01T00:00:00.000000Z";

#[test]
fn before_an_installation_rights_and_other_controllers_are_checked() {
    let Some(cluster) = Cluster::start() else { return };
    let ran = check(&cluster, &["--pre", "--components=all"], 0, &[]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(
        lines[1..],
        [
            "✔ you may install into this cluster",
            "✔ no Flux",
            "✔ no other controller serves the kinds of image-reflector-controller, image-automation-controller, source-controller, kustomize-controller",
            "✔ no HelmReleases: a Kustomization that has one fails until Flux's helm-controller is installed (docs/start/cluster.md)",
        ]
    );
    assert!(lines[0].starts_with("✔ Kubernetes v1."), "{}", ran.out);

    // Flux in the same namespace shares leases, and elsewhere it does not.
    for namespace in ["flux-system", "elsewhere"] {
        cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).to_string());
    }
    let reflector = "image-reflector-controller";
    cluster.apply(
        &deployment(
            "flux-system",
            reflector,
            "ghcr.io/fluxcd/image-reflector-controller:v1.2.4",
            1,
        )
        .to_string(),
    );
    cluster.apply(&deployment("flux-system", "source-controller", "x:v1", 0).to_string());
    lease(&cluster, reflector, "image-reflector-controller-0_1", FUTURE);
    lease(&cluster, "source-controller", "gone_1", PAST);
    let waits = "! image-reflector-controller (ghcr.io/fluxcd/image-reflector-controller:v1.2.4) runs in the namespace flux-system: install needs --beside-flux";
    let held = "! the lease image-reflector-controller-leader-election is held by image-reflector-controller-0_1";
    let ran = check(&cluster, &["--pre", "--components=all"], 0, &[waits, held]);
    assert!(!ran.out.contains("source-controller"), "{}", ran.out);
    check(
        &cluster,
        &["--pre", "--components=source"],
        0,
        &["✔ no other controller serves the kinds of source-controller"],
    );
    let fights = "✗ image-reflector-controller (ghcr.io/fluxcd/image-reflector-controller:v1.2.4) runs in the namespace flux-system, where its leases are: \
                  both would act on the same objects; install with -n flux-system";
    check(&cluster, &["--pre", "--namespace=elsewhere"], 1, &[fights]);

    charts_are_told(&cluster);
    lenient_variables_are_told(&cluster);
    releases_without_a_controller_are_told(&cluster);

    // Somebody without rights cannot install, nor see who is there.
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nobody", "namespace": "elsewhere"}});
    cluster.apply(&account.to_string());
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let path = "/api/v1/namespaces/elsewhere/serviceaccounts/nobody/token";
    let token = cluster.request("POST", path, "", &request.to_string()).body["status"]["token"].clone();
    let bench = Bench::new();
    bench.write("kubeconfig", cluster.kubeconfig_with(token.as_str().unwrap()));
    let ran = bench.run(&["check", "--pre", "--kubeconfig=kubeconfig"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    for line in [
        "✗ you may not get namespaces, ",
        "create deployments.apps in flux-system, ",
        "! you may grant only rights that you have yourself",
        "? cannot find out whether Flux is there: ",
        "? cannot list the Deployments and StatefulSets of all namespaces, ",
    ] {
        assert!(ran.out.contains(line), "{line}\n{}", ran.out);
    }
    the_rights_that_are_named_are_enough(&cluster, &bench, &ran.out);
    let away = cluster
        .kubeconfig_with("any")
        .replace(cluster.url(), &format!("https://localhost:{}", free_port()));
    bench.write("away", away);
    let ran = bench.run(&["check", "--kubeconfig=away"]);
    let words = "error: cannot ask the API server of the kubeconfig for its version: ";
    assert!(ran.code == 2 && ran.err.starts_with(words), "{}", ran.err);
    let ran = bench.run(&["check", "--kubeconfig=absent"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.starts_with("error: cannot connect to the cluster: "),
        "{}",
        ran.err
    );
}

/// Without the component helm, HelmCharts would wait for ever once source-controller is gone.
fn charts_are_told(cluster: &Cluster) {
    let Some(definitions) = bumpwright_testkit::tool("flux-crds") else {
        return;
    };
    for plural in ["helmcharts", "helmrepositories"] {
        let file = definitions.join(format!("source.toolkit.fluxcd.io_{plural}.yaml"));
        cluster.apply(&std::fs::read_to_string(file).unwrap());
    }
    let source = json!({"kind": "GitRepository", "name": "charts"});
    let chart = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmChart", "metadata": {"name": "app", "namespace": "elsewhere"},
        "spec": {"interval": "1h", "chart": "./app", "sourceRef": source},
    });
    cluster.apply(&chart.to_string());
    let told = "! objects of the kind HelmChart, which bumpwright does not serve without the component helm: 1, such as elsewhere/app";
    let ran = check(cluster, &["--pre", "--components=source"], 0, &[told]);
    assert!(!ran.out.contains("HelmRepository"), "{}", ran.out);
    let ran = check(cluster, &["--pre", "--components=source,helm"], 0, &[]);
    assert!(!ran.out.contains("HelmChart"), "{}", ran.out);
    // The image controllers have nothing to do with them.
    let ran = check(cluster, &["--pre", "--components=image-reflector"], 0, &[]);
    assert!(!ran.out.contains("HelmChart"), "{}", ran.out);
}

/// C17: whoever comes from a kustomize-controller that leaves undefined variables empty hears of it.
fn lenient_variables_are_told(cluster: &Cluster) {
    let name = "kustomize-controller";
    let pre = ["--pre", "--components=kustomize"];
    let gate = |value: &str| {
        json!([format!(
            "--feature-gates=GroupChangeLog=true,StrictPostBuildSubstitutions={value}"
        )])
    };
    for (image, arguments, is_told) in [
        ("ghcr.io/fluxcd/kustomize-controller:v1.8.4", json!([]), true),
        ("ghcr.io/fluxcd/kustomize-controller:v1.8.4", gate("true"), false),
        ("ghcr.io/fluxcd/kustomize-controller:v1.10.1", json!([]), false),
        ("ghcr.io/fluxcd/kustomize-controller:v1.10.1", gate("false"), true),
    ] {
        let mut one = deployment("flux-system", name, image, 1);
        one["spec"]["template"]["spec"]["containers"][0]["args"] = arguments.clone();
        cluster.apply(&one.to_string());
        let ran = check(
            cluster,
            &pre,
            0,
            &[&format!("! {name} ({image}) runs in the namespace flux-system")],
        );
        let told = ran.out.contains(&format!(
            "! {name} ({image}) in the namespace flux-system leaves variables"
        ));
        assert_eq!(told, is_told, "{image} {arguments}\n{}", ran.out);
    }
    cluster.apply(&deployment("flux-system", name, "ghcr.io/fluxcd/kustomize-controller:v1.10.1", 0).to_string());
}

/// Their definition alone installs no chart.
fn releases_without_a_controller_are_told(cluster: &Cluster) {
    if cluster.define_helm().is_none() {
        return;
    }
    let nobody = "! HelmReleases are defined, but no helm-controller of Flux runs";
    check(cluster, &["--pre", "--components=kustomize"], 0, &[nobody]);
    cluster.apply(&deployment("flux-system", "helm-controller", "x:v1", 1).to_string());
    let ran = check(cluster, &["--pre", "--components=kustomize"], 0, &[]);
    assert!(!ran.out.contains("HelmReleases"), "{}", ran.out);
    // Who installs image automation alone applies none.
    let ran = check(cluster, &["--pre", "--components=image-reflector"], 0, &[]);
    assert!(!ran.out.contains("HelmReleases"), "{}", ran.out);
}

/// An account gets what `check --pre` has said that it may not, and the right to grant; then it installs, and prunes
/// what an administrator installed before.
fn the_rights_that_are_named_are_enough(cluster: &Cluster, bench: &Bench, said: &str) {
    let denied = said
        .lines()
        .find_map(|line| line.strip_prefix("✗ you may not "))
        .unwrap();
    let rbac = "rbac.authorization.k8s.io";
    let mut rules = vec![("", rule(&["escalate", "bind"], rbac, "clusterroles"))];
    rules.push(("flux-system", rule(&["escalate", "bind"], rbac, "roles")));
    for right in denied.split(", ") {
        let (right, namespace) = right.split_once(" in ").unwrap_or((right, ""));
        let (verb, resource) = right.split_once(' ').unwrap();
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        rules.push((namespace, rule(&[verb], group, plural)));
    }
    for (namespace, scope) in [("", "Cluster"), ("flux-system", "")] {
        let of_scope: Vec<&Json> = rules
            .iter()
            .filter(|(of, _)| *of == namespace)
            .map(|(_, one)| one)
            .collect();
        let mut metadata = json!({"name": "installer"});
        if !namespace.is_empty() {
            metadata["namespace"] = json!(namespace);
        }
        let role = json!({"apiVersion": format!("{rbac}/v1"), "kind": format!("{scope}Role"), "metadata": metadata, "rules": of_scope});
        let binding = json!({
            "apiVersion": format!("{rbac}/v1"), "kind": format!("{scope}RoleBinding"), "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": format!("{scope}Role"), "name": "installer"},
            "subjects": [{"kind": "ServiceAccount", "name": "nobody", "namespace": "elsewhere"}],
        });
        cluster.apply(&role.to_string());
        cluster.apply(&binding.to_string());
    }
    let may = || bench.run(&["check", "--pre", "--kubeconfig=kubeconfig"]);
    wait_for(
        || Some(may()).filter(|ran| ran.out.contains("✔ you may install into this cluster\n")),
        || may().out,
    );
    assert!(!may().out.contains("! you may grant only"), "{}", may().out);
    let more = ["--components=all,webhooks", "--workload-identity", "--wait=false"];
    flux_is_named_or_stopped(cluster);
    let ran = run(cluster, &[&["install"], &more[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = bench.run(&["install", "--wait=false", "--kubeconfig=kubeconfig"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(
        ran.out.contains("service \"bumpwright-artifacts\" deleted"),
        "{}",
        ran.out
    );
}

/// An installation where Flux's controllers run says that it is beside them.
fn flux_is_named_or_stopped(cluster: &Cluster) {
    let reflector = "image-reflector-controller";
    let place = "nothing is applied: Flux's image-reflector-controller runs in the namespace flux-system";
    for (flags, why) in [
        (&["--wait=false"][..], "for the same kinds; add --beside-flux"),
        (
            &["--wait=false", "--namespace=elsewhere", "--beside-flux"][..],
            "and leases count within a namespace only",
        ),
    ] {
        let ran = run(cluster, &[&["install"], flags].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(ran.err.starts_with(&format!("error: {place}, {why}")), "{}", ran.err);
    }
    cluster.apply(&deployment("flux-system", reflector, "x:v1", 0).to_string());
}

fn rule(verbs: &[&str], group: &str, resource: &str) -> Json {
    json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
}

#[test]
fn an_installation_is_checked_from_deployment_to_services() {
    let Some(cluster) = Cluster::start() else { return };
    let missing = "✗ neither deployment.apps/bumpwright nor statefulset.apps/bumpwright is in the namespace flux-system: run `bumpwright install`";
    check(&cluster, &[], 1, &[missing]);
    let ran = run(&cluster, &["install", "--wait=false", "--components=all,webhooks"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let reflector = "image-reflector-controller";
    let unheld = "✗ the lease image-reflector-controller-leader-election has no holder: the kinds of image-reflector-controller are not reconciled";
    let unready = "✗ deployment.apps/bumpwright is not ready: the Deployment's controller has not seen it yet";
    let secret = "✗ secret/bumpwright-webhooks is missing: all webhooks are refused";
    check(&cluster, &[], 1, &[unready, unheld, secret]);

    // All is well.
    let path = "/apis/apps/v1/namespaces/flux-system/deployments/bumpwright";
    deployments::report(&cluster, &cluster.get(path), 1);
    let controllers = [
        reflector,
        "image-automation-controller",
        "source-controller",
        "kustomize-controller",
    ];
    controllers
        .iter()
        .for_each(|controller| lease(&cluster, controller, "bumpwright-0_1", FUTURE));
    for (kind, name, spec) in [
        (
            "Pod",
            "bumpwright-0",
            json!({"containers": [{"name": "manager", "image": "x"}]}),
        ),
        ("Secret", "bumpwright-webhooks", Json::Null),
    ] {
        let metadata = json!({"name": name, "namespace": "flux-system", "labels": {"app": "bumpwright"}});
        let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
        if !spec.is_null() {
            object["spec"] = spec;
        }
        cluster.create(&object, "").unwrap();
    }
    let image = format!("✔ ghcr.io/bumpwright/bumpwright:{VERSION} has the version of this program as its tag");
    let well = [
        "✔ Kubernetes v1.",
        "✔ deployment.apps/bumpwright is ready",
        &image,
        "✔ the definition imagepolicies.image.toolkit.fluxcd.io serves v1, v1beta2, v1beta1; objects are stored as v1",
        "✔ the definition kustomizations.kustomize.toolkit.fluxcd.io serves v1, v1beta2, v1beta1; objects are stored as v1",
        "✔ no HelmReleases: a Kustomization that has one fails until Flux's helm-controller is installed",
        "✔ bumpwright-0 holds the lease kustomize-controller-leader-election",
        "✔ the ServiceAccount flux-system/bumpwright has the rights that its kinds need",
        "✔ service/bumpwright-artifacts leads to the port artifacts of bumpwright",
        "✔ service/bumpwright-webhooks leads to the port webhooks of bumpwright",
        "✔ secret/bumpwright-webhooks is there",
    ];
    let ran = check(&cluster, &[], 0, &well);
    assert!(ran.out.lines().all(|line| line.starts_with('✔')), "{}", ran.out);
    let (code, document) = {
        let ran = run(&cluster, &["check", "--output=json"]);
        (ran.code, serde_json::from_str::<Json>(&ran.out).unwrap())
    };
    assert_eq!(
        (code, &document["version"], &document["ok"]),
        (0, &json!(1), &json!(true))
    );
    let rows = document["checks"].as_array().unwrap();
    assert_eq!(rows.len(), ran.out.lines().count());
    assert!(
        rows.contains(
            &json!({"check": "deployment", "status": "ok", "message": "deployment.apps/bumpwright is ready"})
        )
    );

    faults_are_found(&cluster);
}

/// The members of a StatefulSet hold the leases together, and each has an address of its own.
#[test]
fn several_processes_are_checked_as_one_installation() {
    let Some(cluster) = Cluster::start() else { return };
    // Without Kustomizations, for which it may do everything.
    let kinds = "--components=image-reflector,image-automation,source";
    let ran = run(&cluster, &["install", "--wait=false", kinds, "--shards=3"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let unready = "✗ statefulset.apps/bumpwright is not ready: the StatefulSet's controller has not seen it yet";
    check(&cluster, &[], 1, &[unready]);
    let set = "/apis/apps/v1/namespaces/flux-system/statefulsets/bumpwright";
    deployments::report_set(&cluster, &cluster.get(set), 3);
    for controller in [
        "image-reflector-controller",
        "image-automation-controller",
        "source-controller",
    ] {
        lease(&cluster, controller, "bumpwright-shards-0a1b", FUTURE);
    }
    let well = [
        "✔ statefulset.apps/bumpwright is ready: 3 of 3 members",
        "✔ processes with --shards hold the lease source-controller-leader-election together",
        "✔ the ServiceAccount flux-system/bumpwright has the rights that its kinds need",
        "✔ service/bumpwright-shards leads to the port 9090 of bumpwright",
    ];
    let ran = check(&cluster, &[], 0, &well);
    assert!(ran.out.lines().all(|line| line.starts_with('✔')), "{}", ran.out);
    let document = serde_json::from_str::<Json>(&run(&cluster, &["check", "--output=json"]).out).unwrap();
    let row = json!({"check": "statefulset", "status": "ok", "message": "statefulset.apps/bumpwright is ready: 3 of 3 members"});
    assert!(document["checks"].as_array().unwrap().contains(&row), "{document}");

    // It is an installation to others, too, and known before another one.
    let known = "✔ ghcr.io/bumpwright/bumpwright:";
    check(&cluster, &["--pre", "--components=all", "--shards=3"], 0, &[known]);
    let fights = format!(
        "✗ bumpwright (ghcr.io/bumpwright/bumpwright:{VERSION}) runs in the namespace flux-system, where its leases are: both"
    );
    check(&cluster, &["--pre", "--namespace=elsewhere"], 1, &[&fights]);
    let ran = run(&cluster, &["check", "--pre", "--shards=1"]);
    assert!(
        ran.code == 2 && ran.err.contains("--shards: at least 2 processes"),
        "{}",
        ran.err
    );

    // A member too few, no address, rights of one process, and another process beside them.
    let mut fewer = cluster.get(set);
    fewer["status"]["readyReplicas"] = json!(2);
    fewer["status"]["availableReplicas"] = json!(2);
    cluster.put_status(&fewer).unwrap();
    cluster.request(
        "DELETE",
        "/api/v1/namespaces/flux-system/services/bumpwright-shards",
        "",
        "",
    );
    let role = "/apis/rbac.authorization.k8s.io/v1/namespaces/flux-system/roles/bumpwright-leases";
    let patch = json!([{"op": "replace", "path": "/rules/0/verbs", "value": ["get", "create", "patch"]}]);
    cluster.request("PATCH", role, "application/json-patch+json", &patch.to_string());
    cluster.apply(&deployment("flux-system", "bumpwright", "x:v1", 1).to_string());
    let wrong = [
        "✗ statefulset.apps/bumpwright is not ready: 2 of 3 members are ready",
        "✗ deployment.apps/bumpwright and statefulset.apps/bumpwright are both in the namespace flux-system, and one waits",
    ];
    check(&cluster, &[], 1, &wrong);
    cluster.request(
        "DELETE",
        "/apis/apps/v1/namespaces/flux-system/deployments/bumpwright",
        "",
        "",
    );
    let wrong = [
        "✗ the ServiceAccount flux-system/bumpwright may not list leases.coordination.k8s.io in flux-system, delete leases",
        "✗ service/bumpwright-shards is missing, so the port 9090 of bumpwright cannot be reached",
    ];
    check(&cluster, &[], 1, &wrong);
}

/// Definitions of an older Flux, which an installation leaves as they are: without v1 the controllers
/// would wait for ever.
#[test]
fn definitions_that_are_too_old_are_found_before_an_installation() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.define_at("v1beta2");
    let old = "✗ the definition gitrepositories.source.toolkit.fluxcd.io serves v1beta2 and not v1, and `bumpwright install` leaves it";
    for components in ["--components=all", "--components=image-automation"] {
        let ran = check(&cluster, &["--pre", components], 1, &[old]);
        assert!(
            ran.out
                .contains("`bumpwright crds | kubectl apply --server-side --force-conflicts -f -`"),
            "{}",
            ran.out
        );
    }
    check(&cluster, &["--pre", "--components=image-reflector"], 0, &[]);
    let folder = tempfile::tempdir().unwrap();
    let controller = Controller::ours(&cluster.kubeconfig(), "flux-system", folder.path()).start();
    controller.says("the definition gitrepositories.source.toolkit.fluxcd.io is missing or does not serve v1");
    drop(controller);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}});
    cluster.apply(&namespace.to_string());
    put_old_kustomization(&cluster);
    // The command that was named mends it.
    cluster.apply(&Bench::new().run(&["crds"]).out);
    let ran = check(&cluster, &["--pre", "--components=all"], 0, &[]);
    assert!(!ran.out.contains("definition gitrepositories"), "{}", ran.out);
    lost_fields_are_found(&cluster);
}

/// Stored in its own version, as by an older Flux.
fn put_old_kustomization(cluster: &Cluster) {
    let old = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1beta2", "kind": "Kustomization",
        "metadata": {"name": "old", "namespace": "flux-system"},
        "spec": {"interval": "1h", "path": "./", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "x"},
            "patchesStrategicMerge": [{"kind": "Deployment", "metadata": {"name": "a"}}]},
    });
    cluster.apply(&old.to_string());
}

/// Flux's v1 has not all fields of its older versions.
fn lost_fields_are_found(cluster: &Cluster) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/kustomizations.kustomize.toolkit.fluxcd.io";
    let mut definition = cluster.get(path);
    let versions = definition["spec"]["versions"].as_array_mut().unwrap();
    let v1 = versions.iter_mut().find(|version| version["name"] == "v1").unwrap();
    let fields = v1["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        .as_object_mut()
        .unwrap();
    assert!(fields.remove("patchesStrategicMerge").is_some() && fields.remove("patchesJson6902").is_some());
    let answer = cluster.request("PUT", path, "application/json", &definition.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    cluster.apply(&deployment("flux-system", "bumpwright", "bumpwright:v0", 1).to_string());
    let lost = "✗ the definition kustomizations.kustomize.toolkit.fluxcd.io serves v1, v1beta2, v1beta1; objects have fields that v1 lacks, and \
                `flux migrate` would drop them: flux-system/old (spec.patchesStrategicMerge): first run `bumpwright migrate`";
    check(cluster, &[], 1, &[lost]);
}

fn faults_are_found(cluster: &Cluster) {
    let path = "/apis/apps/v1/namespaces/flux-system/deployments/bumpwright";
    // Another holder, one that is silent, and old stored versions.
    lease(cluster, "source-controller", "source-controller-0_1", FUTURE);
    let other = "! the lease source-controller-leader-election is held by source-controller-0_1, which is not a pod of bumpwright but Flux's, or a process outside of the cluster: pods of bumpwright wait until it is released";
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/imagepolicies.image.toolkit.fluxcd.io";
    let mut stored = cluster.get(definition);
    stored["status"]["storedVersions"] = json!(["v1beta2", "v1"]);
    cluster.put_status(&stored).unwrap();
    let old = "! the definition imagepolicies.image.toolkit.fluxcd.io serves v1, v1beta2, v1beta1; objects may still be stored as v1beta2, \
               so that no definition without v1beta2 can replace it: `flux migrate` stores them all as v1";
    check(cluster, &[], 0, &[other, old]);
    lease(cluster, "source-controller", "bumpwright-0_1", PAST);
    let silent = "✗ bumpwright-0_1 holds the lease source-controller-leader-election and has not renewed it in time";
    check(cluster, &[], 1, &[silent]);

    // Another image, no replicas; no right, no Service, no definition.
    let image = format!("a/b:{VERSION}1");
    let patch =
        json!({"spec": {"replicas": 0, "template": {"spec": {"containers": [{"name": "manager", "image": image}]}}}});
    let answer = cluster.request(
        "PATCH",
        path,
        "application/strategic-merge-patch+json",
        &patch.to_string(),
    );
    assert_eq!(answer.status, 200, "{}", answer.body);
    deployments::report(cluster, &cluster.get(path), 0);
    for gone in [
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/bumpwright-kustomizations-flux-system",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/bumpwright-sources-flux-system",
        "/api/v1/namespaces/flux-system/services/bumpwright-artifacts",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/buckets.source.toolkit.fluxcd.io",
    ] {
        cluster.request("DELETE", gone, "", "");
        cluster.gone(gone);
    }
    let version = format!("! {image} runs, and this program is {VERSION}");
    let wrong = [
        "! deployment.apps/bumpwright has 0 replicas: nothing is reconciled",
        &version,
        "✗ the definition buckets.source.toolkit.fluxcd.io is missing: run `bumpwright install`",
        "✗ the ServiceAccount flux-system/bumpwright may not ",
        "✗ service/bumpwright-artifacts is missing, so the port artifacts of bumpwright cannot be reached",
    ];
    let ran = check(cluster, &[], 1, &wrong);
    let rights = ran
        .out
        .lines()
        .find(|line| line.starts_with("✗ the ServiceAccount flux-system/bumpwright may not "));
    let rights = rights.unwrap_or_default();
    for right in [
        "patch gitrepositories.source.toolkit.fluxcd.io",
        "patch kustomizations.kustomize.toolkit.fluxcd.io/status",
    ] {
        assert!(rights.contains(right), "{}", ran.out);
    }
}
