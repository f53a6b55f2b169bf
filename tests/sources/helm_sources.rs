//! HelmRepositories, compared with Flux's own source-controller, as in `bucket_sources` for Buckets: chart repositories
//! with and without `ETag`, with passwords, with TLS, and broken ones. All visible results have to be the same:
//! revision, digest, size and bytes of the artifact, conditions, events.
//!
//! Takes about half a minute.

mod indexes;
mod specs;

use serde_json::{Value as Json, json};

use crate::observed::Side;
use crate::rounds::{Case, Known, Rounds};
use bumpwright_testkit::waiting::until;
use indexes::World;
use specs::{cases, secrets};

const KNOWN: Known = Known {
    floor: 44,
    otherwise: &[
        ("then-broken", "words of another YAML parser"),
        ("not-yaml", "words of another YAML parser"),
        ("numbers", "a number in the place of a text is taken as it is"),
        ("nowhere", "words of Go's HTTP client"),
        ("slow", "words of Go's HTTP client"),
        ("tls-without-pair", "words of Go's HTTP client"),
        ("tls-unknown", "words of Go's HTTP client"),
    ],
};

#[test]
fn helm_repositories_show_what_fluxs_show() {
    let (Some(cluster), Some(world)) = (crate::rounds::cluster(), World::build()) else {
        return;
    };
    let (cases, kind) = (cases(&world), ("HelmRepository", "helmrepositories"));
    let mut rounds = Rounds::first(&cluster, kind, &secrets(&world), &cases, world.folder(), &[]);
    assert_eq!(world.answered("/etag/index.yaml", 304), 0);
    world.go_on();
    rounds.second();
    rounds.report(&KNOWN);
    for place in ["/etag/index.yaml", "/dated/index.yaml"] {
        assert_eq!(
            world.answered(place, 304),
            1,
            "{place}: we ask whether it is another one, Flux does not"
        );
    }
    rounds.sides.iter().for_each(becomes_a_registry);
    // The second one is suspended.
    ["etag", "then-suspended"]
        .into_iter()
        .for_each(|name| rounds.delete(name));
}

#[test]
fn an_index_has_the_bytes_of_a_flag_at_most() {
    let (Some(cluster), Some(world)) = (crate::rounds::cluster(), World::build()) else {
        return;
    };
    let cases = ["plain", "no-charts"].map(|name| Case {
        name,
        spec: json!({"url": world.plain.url(name)}),
        change: None,
    });
    let kind = ("HelmRepository", "helmrepositories");
    let extras: (&[_], &[_]) = (&[], &["--helm-index-max-size=100"]);
    let rounds = Rounds::flagged(&cluster, kind, &[], &cases, world.folder(), extras);
    let told = rounds.sides[1].status("plain").to_string();
    assert!(
        told.contains("exceeds the maximum index file size of 100 bytes"),
        "{told}"
    );
    rounds.report(&Known {
        floor: 2,
        otherwise: &[],
    });
}

/// One of a registry has no index: what it had before is taken away.
fn becomes_a_registry(side: &Side<'_>) {
    let spec = json!({"spec": {"type": "oci", "url": "oci://registry.example/charts"}});
    let url = side.status("default")["artifact"]["url"].as_str().unwrap().to_owned();
    let is_served = || ureq::get(&url).call().is_ok();
    assert!(is_served(), "{url}");
    let answer = side.cluster.merge_patch(&side.path("default"), &spec);
    assert_eq!(answer.status, 200, "{}", answer.body);
    until("nothing is left", || {
        let object: Json = side.cluster.get(&side.path("default"));
        object["status"] == json!({}) && object["metadata"]["finalizers"].is_null() && !is_served()
    });
}
