//! HelmCharts, compared with Flux's own source-controller, as in `helm_sources` for HelmRepositories: charts of
//! repositories with an index, of a real registry, and of Git. All visible results have to be the same: version,
//! unpacked files, conditions, observed fields, events.
//!
//! Takes about a minute.

mod specs;
mod world;

use crate::rounds::{Case, Known, Rounds};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::sigstore::{ISSUER, Sigstore};
use bumpwright_testkit::world::{HELM_CHART, HELM_REPOSITORY, SECRET, World as KubernetesWorld, condition_of};
use serde_json::json;
use specs::{cases, objects};
use world::World;

const KNOWN: Known = Known {
    floor: 83,
    otherwise: &[
        ("http-text", "words of another reader of archives"),
        ("git-file", "words of another reader of archives"),
        ("git-text", "words of another reader of archives"),
        ("oci-missing", "words of another client of registries"),
        ("oci-unknown", "words of another client of registries"),
        ("oci-odd", "words of another client of registries"),
        ("oci-signed-by-other", "refused in other words"),
        ("oci-unsigned", "refused in other words"),
        ("http-refused", "the reason of the conditions is that of the event"),
        ("oci-elsewhere", "the reason of the conditions is that of the event"),
        ("oci-no-secret", "the reason of the conditions is that of the event"),
        ("oci-http", "the reason of the conditions is that of the event"),
        ("oci-no-key", "one condition, where Flux has Unknown as well"),
        ("oci-keys-missing", "one condition, where Flux has Unknown as well"),
        ("oci-anonymous", "a registry that wants a login says so"),
        ("http-other-name", "fetched once, and not at each interval"),
        ("oci-path", "fetched once, and its file is in no folder of its own"),
        ("git-schema", "it is packaged while it is stored"),
        ("bucket-text", "words of another reader of archives"),
    ],
};

#[test]
fn helm_charts_show_what_fluxs_show() {
    let (Some(cluster), Some(world)) = (crate::rounds::cluster(), World::build()) else {
        return;
    };
    let (cases, kind) = (cases(), ("HelmChart", "helmcharts"));
    let mut rounds = Rounds::first(&cluster, kind, &objects(&world), &cases, world.folder(), &[]);
    world.go_on();
    rounds.second();
    rounds.report(&KNOWN);
    // The second one is suspended.
    ["git", "then-suspended"]
        .into_iter()
        .for_each(|name| rounds.delete(name));
}

/// By means of a Sigstore of ours: a HelmChart of Flux 1.9.3 cannot name another one than the public one.
#[test]
fn charts_may_be_signed_without_keys() {
    let (Some(cluster), Some(world)) = (Cluster::shared(), World::build()) else {
        return;
    };
    cluster.define();
    let objects = KubernetesWorld::new(cluster, "charts-keyless");
    let root = Sigstore::of("acme").trusted_root().to_string();
    objects.put(SECRET, "sigstore", json!({"stringData": {"trusted_root.json": root}}));
    let url = format!("oci://{}/charts", world.open.host());
    let registry = json!({"type": "oci", "url": url, "insecure": true});
    objects.add(HELM_REPOSITORY, "registry", registry);
    let storage = format!("--storage-addr=127.0.0.1:{}", free_port());
    let _controller = objects.controller(&["--controllers=source,helm", &storage]);
    for (name, version, subject, wanted) in [
        ("bundle", "1.0.0", "acme/app", "True"),
        ("simple", "2.0.0", "acme/app", "True"),
        ("identity", "1.0.0", "mallory/app", "False"),
        ("sigstore", "3.0.0", "acme/app", "False"),
    ] {
        let subject = format!("^https://github.com/{subject}/.*$");
        let identity = json!([{"issuer": format!("^{ISSUER}$"), "subject": subject}]);
        let verify =
            json!({"provider": "cosign", "trustedRootSecretRef": {"name": "sigstore"}, "matchOIDCIdentity": identity});
        let source = json!({"kind": "HelmRepository", "name": "registry"});
        let spec =
            json!({"chart": "keyless", "version": version, "interval": "1h", "sourceRef": source, "verify": verify});
        objects.add(HELM_CHART, name, spec);
        objects.ready(HELM_CHART, name, wanted, |reason, _| {
            (reason == "VerificationError") == (wanted == "False")
        });
        let status = objects.get(HELM_CHART, name)["status"].take();
        let verified = condition_of(&json!({ "status": status }), "SourceVerified").cloned();
        assert_eq!(verified.unwrap()["status"], wanted, "{name}: {status:#}");
        assert_eq!(status["artifact"].is_object(), wanted == "True", "{name}");
    }
}

#[test]
fn charts_have_the_bytes_of_flags_at_most() {
    let (Some(cluster), Some(world)) = (crate::rounds::cluster(), World::build()) else {
        return;
    };
    let wanted = [
        "http",
        "http-nameless",
        "oci",
        "git",
        "git-version",
        "git-packed",
        "git-old",
    ];
    let cases: Vec<Case> = cases().into_iter().filter(|case| wanted.contains(&case.name)).collect();
    let flags: &[_] = &["--helm-chart-max-size=300", "--helm-chart-file-max-size=60"];
    let kind = ("HelmChart", "helmcharts");
    let rounds = Rounds::flagged(&cluster, kind, &objects(&world), &cases, world.folder(), (&[], flags));
    for (name, words) in [
        ("http", "size of chart exceeds '300' bytes limit"),
        ("oci", "size of chart exceeds '300' bytes limit"),
        (
            "git",
            "cannot load file Chart.yaml as file size (76) exceeds limit (60)",
        ),
        ("git-packed", "size of chart 'web.tgz' exceeds '300' bytes limit"),
        ("git-old", "size of 'requirements.yaml' exceeds '60' bytes limit"),
    ] {
        let told = rounds.sides[1].status(name).to_string();
        assert!(told.contains(words), "{name}: {told}");
    }
    rounds.report(&Known {
        floor: 5,
        otherwise: &[
            ("http", "Flux names a temporary file"),
            ("oci", "Flux names a temporary file"),
        ],
    });
}
