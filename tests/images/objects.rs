//! Documented behaviour of ImageRepositories, ImagePolicies and ImageUpdateAutomations in a cluster that no other suite
//! covers: conditions, references, gates, and the guards of policies.

use std::process::Command;

use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::image_world::{ImageWorld, add_choice};
use bumpwright_testkit::images::Media;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, SECRET, World, automation, condition_of,
    git_repository, newest,
};
use serde_json::{Value as Json, json};

const AUTOMATIONS: &str = "--controllers=image-automation";
const IMAGES: &str = "--controllers=image-reflector";

/// A file whose image is marked for the policy `app`.
fn marked(namespace: &str, tag: &str) -> String {
    let marker = json!({"$imagepolicy": format!("{namespace}:app")});
    format!("image: ghcr.io/o/app:{tag} # {marker}\n")
}

/// A world whose policy `app` has chosen 1.1.0, and a repository that has 1.0.0 in these files.
fn updating<'a>(cluster: &'a Cluster, namespace: &str, files: &[&str]) -> (World<'a>, Repo) {
    cluster.define();
    let world = World::new(cluster, namespace);
    let repo = world.repository("app.git");
    let text = marked(namespace, "1.0.0");
    let files: Vec<Change<'_>> = files.iter().map(|file| Change::File(file, text.as_bytes())).collect();
    repo.commit("main", "first", &files);
    add_choice(&world, "app", "1.1.0");
    world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
    (world, repo)
}

fn holds(repo: &Repo, branch: &str, file: &str, text: &str) {
    wait_for(
        || repo.refs().contains_key(&format!("refs/heads/{branch}")) && repo.show(branch, file) == text.as_bytes(),
        || format!("{branch}:{file} is {text}: {:?}", repo.refs()),
    );
}

/// N-022, N-033: a strategy that nobody knows stalls the automation, by a reason of its own. Only a definition of the
/// kind that is not ours lets one through.
#[test]
fn an_unknown_strategy_stalls_the_automation() {
    let Some(cluster) = Cluster::shared() else { return };
    let (world, repo) = updating(cluster, "strategy", &["app.yaml"]);
    let known = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/update/properties/strategy/enum";
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/imageupdateautomations.image.toolkit.fluxcd.io";
    let patch = json!([{"op": "remove", "path": known}]).to_string();
    let patched = cluster.request("PATCH", path, "application/json-patch+json", &patch);
    assert_eq!(patched.status, 200, "{}", patched.body);
    let mut spec = automation("app");
    spec["update"]["strategy"] = json!("Helm");
    let object = json!({
        "apiVersion": AUTOMATION.api_version, "kind": AUTOMATION.kind,
        "metadata": {"name": "app", "namespace": "strategy"}, "spec": spec,
    });
    wait_for(
        || cluster.create(&object, "").is_ok(),
        || cluster.create(&object, "").unwrap_err(),
    );
    let before = repo.refs();
    let _controller = world.controller(&[AUTOMATIONS]);
    for condition in ["Ready", "Stalled"] {
        let status = if condition == "Ready" { "False" } else { "True" };
        let said = world.condition(AUTOMATION, "app", condition, status, |reason, _| {
            reason == "InvalidUpdateStrategy"
        });
        assert_eq!(said, "unsupported update strategy: Helm");
    }
    assert_eq!(repo.refs(), before);
    world.patch(AUTOMATION, "app", &json!({"spec": {"update": {"strategy": "Setters"}}}));
    holds(&repo, "main", "app.yaml", &marked("strategy", "1.1.0"));
}

/// IUA-022: what lies in another namespace is refused before any of it is read: no repository,
/// no credentials, no clone.
#[test]
fn a_source_of_another_namespace_is_refused_unread() {
    let Some(cluster) = Cluster::shared() else { return };
    let (theirs, _repo) = updating(cluster, "theirs", &["app.yaml"]);
    theirs.put(
        SECRET,
        "login",
        json!({"stringData": {"username": "u", "password": "p"}}),
    );
    theirs.patch(
        GIT_REPOSITORY,
        "app",
        &json!({"spec": {"secretRef": {"name": "login"}}}),
    );
    let ours = World::new(cluster, "ours");
    let mut spec = automation("app");
    spec["sourceRef"]["namespace"] = json!("theirs");
    ours.add(AUTOMATION, "app", spec);
    let proxy = ApiProxy::start(cluster);
    let kubeconfig = proxy.kubeconfig(ours.folder.path(), None);
    let flags = [AUTOMATIONS, "--no-cross-namespace-refs=true"];
    let _controller = ours.controller_at(&kubeconfig, "controller", &flags);
    let said = ours.ready(AUTOMATION, "app", "False", |reason, _| reason == "AccessDenied");
    assert_eq!(
        said,
        "can't access 'GitRepository/theirs/app', cross-namespace references have been blocked"
    );
    let of_theirs = proxy
        .requests()
        .into_iter()
        .filter(|request| request.path.contains("/namespaces/theirs/"));
    assert_eq!(
        of_theirs.map(|request| request.target).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
    assert_eq!(theirs.git.requests().len(), 0);
}

/// How many commits a mirror of the controller has of the branch main, and whether its history is cut off.
fn mirrored(world: &World<'_>, controller: &str) -> (usize, bool) {
    let folder = world.folder_of(controller).join("data/mirrors");
    let mut mirrors = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mirror = mirrors.find(|path| path.join("packed-refs").exists()).unwrap();
    let counted = Command::new("git")
        .arg("--git-dir")
        .arg(&mirror)
        .args(["rev-list", "--count", "--all"])
        .output();
    let counted = counted.unwrap();
    assert!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
    let count = String::from_utf8(counted.stdout).unwrap().trim().parse().unwrap();
    (count, mirror.join("shallow").exists())
}

/// IUA-025: whatever `gitImplementation` says, the repository is updated. IUA-033: with `GitShallowClone=false` the
/// whole history is fetched, and without it (IUA-032) the tip alone.
#[test]
fn the_implementation_does_not_count_and_the_depth_is_a_gate() {
    let Some(cluster) = Cluster::shared() else { return };
    for (namespace, implementation, flag, shallow) in [
        ("deep", "libgit2", "--feature-gates=GitShallowClone=false", false),
        ("flat", "go-git", "--feature-gates=GitShallowClone=true", true),
    ] {
        let (world, repo) = updating(cluster, namespace, &["app.yaml"]);
        for n in 0..4 {
            repo.commit("main", "more", &[Change::File("more.txt", n.to_string().as_bytes())]);
        }
        world.patch(
            GIT_REPOSITORY,
            "app",
            &json!({"spec": {"gitImplementation": implementation}}),
        );
        assert_eq!(
            world.get(GIT_REPOSITORY, "app")["spec"]["gitImplementation"],
            implementation
        );
        let mut spec = automation("app");
        spec["sourceRef"]["namespace"] = json!("");
        world.add(AUTOMATION, "app", spec);
        let controller = world.controller(&[AUTOMATIONS, flag]);
        holds(&repo, "main", "app.yaml", &marked(namespace, "1.1.0"));
        world.ready(AUTOMATION, "app", "True", |_, _| true);
        assert_eq!(controller.stop(), Some(0));
        // Five that were there, and ours; of the others only the tip.
        let wanted = if shallow { 2 } else { 6 };
        assert_eq!(mirrored(&world, "controller"), (wanted, shallow), "{namespace}");
    }
}

/// The gate `GitSparseCheckout` (N-023): what is not below the path as it is written is not there.
#[test]
fn a_sparse_checkout_follows_no_link_to_its_path() {
    let Some(cluster) = Cluster::shared() else { return };
    let (world, repo) = updating(cluster, "sparse", &["real/app.yaml", "plain/app.yaml"]);
    repo.commit("main", "link", &[Change::Symlink("linked", "real")]);
    for path in ["linked", "plain"] {
        let mut spec = automation("app");
        spec["update"]["path"] = json!(format!("./{path}"));
        world.add(AUTOMATION, path, spec);
    }
    let gated = world.controller(&[AUTOMATIONS, "--feature-gates=GitSparseCheckout=true"]);
    holds(&repo, "main", "plain/app.yaml", &marked("sparse", "1.1.0"));
    world.ready(AUTOMATION, "linked", "False", |reason, message| {
        reason == "UpdateFailed" && message.contains("./linked")
    });
    assert_eq!(gated.stop(), Some(0));
    assert_eq!(repo.show("main", "real/app.yaml"), marked("sparse", "1.0.0").as_bytes());

    let _whole = world.controller_at(&cluster.kubeconfig(), "whole", &[AUTOMATIONS]);
    holds(&repo, "main", "real/app.yaml", &marked("sparse", "1.1.0"));
}

/// C30 without `GitForcePushBranch`: the push branch is continued; without `GitAllBranchReferences` as well nobody sees
/// what it holds, so the commit is made on what is checked out, and nothing of the branch is lost.
#[test]
fn a_push_branch_is_continued_or_left_alone() {
    let Some(cluster) = Cluster::shared() else { return };
    for (namespace, more, continued) in [("seen", "true", true), ("unseen", "false", false)] {
        let (world, repo) = updating(cluster, namespace, &["app.yaml"]);
        let refs = repo.refs();
        let text = marked(namespace, "1.0.0");
        repo.commit(
            "update",
            "theirs",
            &[
                Change::File("theirs.txt", b"x"),
                Change::File("app.yaml", text.as_bytes()),
            ],
        );
        let mut spec = automation("app");
        spec["git"]["push"] = json!({"branch": "update"});
        world.add(AUTOMATION, "app", spec.clone());
        spec["git"]["push"] = json!({"branch": "fresh"});
        world.add(AUTOMATION, "fresh", spec);
        let gates = format!("--feature-gates=GitForcePushBranch=false,GitAllBranchReferences={more}");
        let _controller = world.controller(&[AUTOMATIONS, &gates]);
        holds(&repo, "fresh", "app.yaml", &marked(namespace, "1.1.0"));
        if continued {
            holds(&repo, "update", "app.yaml", &marked(namespace, "1.1.0"));
        } else {
            let said = world.ready(AUTOMATION, "app", "False", |reason, _| reason == "GitOperationFailed");
            assert!(said.contains("non-fast-forward update"), "{said}");
            assert_eq!(repo.show("update", "app.yaml"), text.as_bytes());
        }
        assert_eq!(repo.show("update", "theirs.txt"), b"x");
        assert_eq!(repo.refs()["refs/heads/main"], refs["refs/heads/main"]);
    }
}

/// N-046, N-055: what the conditions say, from a scan and a choice that succeed to each way in which they fail. While
/// something goes on the reason is the one of Flux's controllers, which the documents have other words for.
#[test]
fn conditions_tell_what_became_of_scans_and_choices() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "conditions", "1h");
    world.publish("app", "1.1.0");
    let put = |name: &str, spec: Json| {
        let mut whole = world.scanning("app");
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        world.add(IMAGE_REPOSITORY, name, whole);
    };
    put("slow", json!({"image": world.image("slow")}));
    put("no-name", json!({"image": "https://example.com/app"}));
    put("no-login", json!({"secretRef": {"name": "nobody"}}));
    put("no-image", json!({"image": world.image("nothing")}));
    let choose = |name: &str, reference: Json, policy: Json| {
        world.add(
            IMAGE_POLICY,
            name,
            json!({"imageRepositoryRef": reference, "policy": policy}),
        );
    };
    choose(
        "own",
        json!({"name": "app", "namespace": ""}),
        json!({"semver": {"range": "*"}}),
    );
    choose(
        "no-repository",
        json!({"name": "nobody"}),
        json!({"semver": {"range": "*"}}),
    );
    choose(
        "no-access",
        json!({"name": "app", "namespace": "conditions-theirs"}),
        json!({"semver": {"range": "*"}}),
    );
    choose("no-tag", json!({"name": "app"}), json!({"semver": {"range": "9.x"}}));
    choose(
        "no-rule",
        json!({"name": "app"}),
        json!({"semver": {"range": "not a range"}}),
    );
    let theirs = World::new(cluster, "conditions-theirs");
    theirs.add(IMAGE_REPOSITORY, "app", world.scanning("app"));
    world.publish("slow", "1.0.0");
    world.hold("slow");
    let _controller = world.controller(&[IMAGES]);

    world.await_held();
    let object = world.get(IMAGE_REPOSITORY, "slow");
    let found = condition_of(&object, "Reconciling").unwrap();
    assert_eq!(
        (&found["status"], &found["reason"]),
        (&json!("True"), &json!("Progressing"))
    );
    assert_eq!(found["message"], "processing object: new generation -1 -> 1");
    world.resume();
    let scanned = world.ready(IMAGE_REPOSITORY, "app", "True", |reason, _| reason == "Succeeded");
    assert!(scanned.starts_with("successful scan: found 2 tags"), "{scanned}");
    assert!(condition_of(&world.get(IMAGE_REPOSITORY, "app"), "Reconciling").is_none());
    let chosen = world.ready(IMAGE_POLICY, "app", "True", |reason, _| reason == "Succeeded");
    assert_eq!(
        chosen,
        format!("Latest image tag for {} resolved to 1.1.0", world.image("app"))
    );
    world.ready(IMAGE_POLICY, "own", "True", |_, message| message == chosen);
    for (kind, name, reason, words, stalls) in [
        (IMAGE_REPOSITORY, "no-name", "ImageURLInvalid", "https://", true),
        (IMAGE_REPOSITORY, "no-login", "AuthenticationFailed", "nobody", false),
        (
            IMAGE_REPOSITORY,
            "no-image",
            "ReadOperationFailed",
            "scan failed",
            false,
        ),
        (
            IMAGE_POLICY,
            "no-repository",
            "DependencyNotReady",
            "ImageRepository does not exist",
            false,
        ),
        (IMAGE_POLICY, "no-access", "AccessDenied", "access denied", false),
        (
            IMAGE_POLICY,
            "no-tag",
            "Failure",
            "unable to determine latest version",
            false,
        ),
        (IMAGE_POLICY, "no-rule", "InvalidPolicy", "not a range", true),
    ] {
        let said = world.ready(kind, name, "False", |found, _| found == reason);
        assert!(said.contains(words), "{name}: {said}");
        let object = world.get(kind, name);
        assert_eq!(
            condition_of(&object, "Stalled").is_some(),
            stalls,
            "{name}: {:#}",
            object["status"]
        );
    }
}

/// The guards of a policy hold in a cluster: what was chosen before stays, the message says why, and once the guard is
/// gone the newer image is chosen.
#[test]
fn guards_keep_what_was_chosen() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(registry) = Registry::start() else { return };
    cluster.define();
    let world = World::new(cluster, "guards");
    let images = registry.images();
    let image = |tag: &str, created: &str| {
        let digest = images.image("team/app", Media::Docker, "linux/amd64", Some(created));
        images.tag("team/app", tag, &digest);
    };
    image("1.0.0", "2020-01-01T00:00:00Z");
    let name = format!("{}/team/app", registry.host());
    world.add(
        IMAGE_REPOSITORY,
        "app",
        json!({"image": name, "interval": "1h", "insecure": true}),
    );
    let guards = [
        ("held", "bumpwright.dev/hold", "freeze"),
        ("aged", "bumpwright.dev/minimum-age", "72h"),
        ("upwards", "bumpwright.dev/allow-downgrade", "false"),
        ("free", "example.com/none", "none"),
    ];
    for (policy, _, _) in guards {
        world.add(IMAGE_POLICY, policy, newest("app"));
    }
    let _controller = world.controller(&[IMAGES]);
    let chooses = |policy: &str, tag: &str| {
        world.ready(IMAGE_POLICY, policy, "True", |_, message| {
            message.contains(&format!("resolved to {tag}"))
        })
    };
    for (policy, key, value) in guards {
        chooses(policy, "1.0.0");
        world.patch(
            IMAGE_POLICY,
            policy,
            &json!({"metadata": {"annotations": {key: value}}}),
        );
    }
    // Younger than any age.
    image("1.1.0", "2100-01-01T00:00:00Z");
    world.request(IMAGE_REPOSITORY, "app", "newer");
    chooses("free", "1.1.0");
    chooses("upwards", "1.1.0");
    for (policy, why) in [("held", "freeze"), ("aged", "72h")] {
        let said = world.ready(IMAGE_POLICY, policy, "True", |_, message| message.contains(why));
        assert!(
            said.starts_with(&format!("Latest image tag for {name} resolved to 1.0.0")),
            "{said}"
        );
        assert_eq!(world.get(IMAGE_POLICY, policy)["status"]["latestRef"]["tag"], "1.0.0");
    }
    // The newest that is old enough is taken.
    image("1.0.5", "2021-01-01T00:00:00Z");
    world.request(IMAGE_REPOSITORY, "app", "between");
    let said = chooses("aged", "1.0.5");
    assert!(
        said.contains(":1.1.0 is passed over: it was made at 2100-01-01T00:00:00Z"),
        "{said}"
    );
    images.untag("team/app", "1.0.5");
    images.untag("team/app", "1.1.0");
    world.request(IMAGE_REPOSITORY, "app", "older");
    chooses("free", "1.0.0");
    let said = world.ready(IMAGE_POLICY, "upwards", "True", |_, message| {
        message.ends_with("1.0.0 is lower than 1.1.0, which is in use")
    });
    assert!(said.contains("resolved to 1.1.0"), "{said}");
    image("1.1.0", "2020-01-01T00:00:00Z");
    world.request(IMAGE_REPOSITORY, "app", "newer again");
    chooses("aged", "1.1.0");
    world.patch(
        IMAGE_POLICY,
        "held",
        &json!({"metadata": {"annotations": {"bumpwright.dev/hold": null}}}),
    );
    chooses("held", "1.1.0");
}

/// N-048: certificates under keys of older versions count, and the log says so in each turn as Flux's does.
#[test]
fn older_keys_of_certificates_are_told_in_the_log() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "keys", "1h");
    let ca = String::from_utf8_lossy(cluster.ca()).into_owned();
    world.put(SECRET, "older", json!({"stringData": {"caFile": ca}}));
    world.put(SECRET, "newer", json!({"stringData": {"caFile": ca, "ca.crt": ca}}));
    let mut spec = world.scanning("app");
    spec["certSecretRef"] = json!({"name": "newer"});
    world.add(IMAGE_REPOSITORY, "newer", spec.clone());
    spec["certSecretRef"] = json!({"name": "older"});
    world.add(IMAGE_REPOSITORY, "older", spec);
    world.patch(
        GIT_REPOSITORY,
        "app",
        &json!({"spec": {"secretRef": {"name": "older"}}}),
    );
    let address = format!("--storage-addr=127.0.0.1:{}", bumpwright_testkit::ports::free_port());
    let controller = world.controller(&["--controllers=image-reflector,source", &address]);
    for (kind, name) in [
        (IMAGE_REPOSITORY, "newer"),
        (IMAGE_REPOSITORY, "older"),
        (GIT_REPOSITORY, "app"),
    ] {
        world.ready(kind, name, "True", |_, _| true);
    }
    let told = || {
        let log = controller.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
        let lines = lines.filter(|line| line["msg"] == "using legacy key in secret data");
        lines.collect::<Vec<_>>()
    };
    let kinds = || {
        told()
            .iter()
            .map(|line| line["controllerKind"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    until("both are told", || {
        ["ImageRepository", "GitRepository"]
            .iter()
            .all(|kind| kinds().iter().any(|told| told == kind))
    });
    for line in told() {
        assert_eq!(line["level"], "error", "{line}");
        assert_eq!(line["secret"], json!({"name": "older", "namespace": "keys"}), "{line}");
        assert_eq!(
            (&line["key"], &line["preferred"]),
            (&json!("caFile"), &json!("ca.crt")),
            "{line}"
        );
    }
}

/// `bumpwright.dev/rules`: a ConfigMap of the automation's namespace names fields without markers; without it the
/// automation is not ready.
#[test]
fn rules_of_a_config_map_are_followed() {
    let Some(cluster) = Cluster::shared() else { return };
    let (world, repo) = updating(cluster, "rules", &["other.yaml"]);
    repo.commit(
        "main",
        "values",
        &[Change::File("values.yaml", b"image: {tag: 1.0.0}\n")],
    );
    let named = json!({"bumpwright.dev/rules": "fields"});
    world.annotated(AUTOMATION, "app", &named, automation("app"));
    let _controller = world.controller(&[AUTOMATIONS]);
    let said = world.condition(AUTOMATION, "app", "Ready", "False", |reason, _| reason == "Failed");
    assert!(said.contains("ConfigMap rules/fields"), "{said}");
    let rules = "rules:\n- {files: values.yaml, path: $.image.tag, policy: 'rules:app', part: tag}\n";
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fields", "namespace": "rules"},
        "data": {".bumpwright.yaml": rules},
    });
    cluster.create(&config, "").unwrap();
    holds(&repo, "main", "values.yaml", "image: {tag: 1.1.0}\n");
    holds(&repo, "main", "other.yaml", &marked("rules", "1.1.0"));
}
