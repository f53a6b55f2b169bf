//! Buckets, compared with Flux's own source-controller, as in `git_sources` for GitRepositories: objects of moto,
//! public and behind a proxy that checks each signature. All visible results have to be the same: revision, files of
//! the artifact, conditions, observed fields, events.
//!
//! Takes about half a minute.

mod objects;
mod specs;

use crate::rounds::{Known, Rounds};
use objects::World;
use specs::{cases, secrets};

const KNOWN: Known = Known {
    floor: 53,
    otherwise: &[
        (
            "clash",
            "Flux lets chance say which of two objects is refused, and names its folder",
        ),
        ("aws-account", "no gate closes it, as since Flux 2.10"),
        ("gcp-account", "no gate closes it, as since Flux 2.10"),
        ("azure-account", "no gate closes it, as since Flux 2.10"),
        ("key-empty", "Flux asks where the bucket is although it signs nothing"),
        ("nobody", "Flux asks where the bucket is although it signs nothing"),
        ("ldap-wrong", "we say who refused"),
        ("ldap-nobody", "we say who refused"),
        ("tls-unknown", "words of Go's HTTP client"),
        ("tls-of-plain", "words of Go's HTTP client"),
        ("proxy-dead", "words of Go's HTTP client"),
        ("nowhere", "words of Go's HTTP client"),
        ("too-slow", "words of Go's HTTP client"),
    ],
};

#[test]
fn buckets_show_what_fluxs_show() {
    let (Some(cluster), Some(world)) = (crate::rounds::cluster(), World::build()) else {
        return;
    };
    let (cases, kind) = (cases(&world), ("Bucket", "buckets"));
    let mut rounds = Rounds::first(&cluster, kind, &secrets(&world), &cases, world.folder(), &[]);
    world.go_on();
    rounds.second();
    rounds.report(&KNOWN);
    assert!(!world.proxy.targets().is_empty(), "the proxy was used");
}
