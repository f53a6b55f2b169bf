//! OCIRepositories, compared with Flux's own source-controller, as in `git_sources` for GitRepositories: artifacts of
//! the real `flux push artifact`, odd ones, and those of registries with a login, at a real registry. All visible
//! results have to be the same: revision, files of the artifact, metadata, conditions, observed fields, events.
//!
//! Takes about half a minute.

mod artifacts;
mod specs;

use std::collections::BTreeMap;

use crate::rounds::{Known, Rounds};
use artifacts::World;
use specs::{cases, objects};

const KNOWN: Known = Known {
    floor: 62,
    otherwise: &[
        ("no-archive", "we say more of what is not an archive"),
        ("out-of-the-root", "we say why a name is refused"),
        ("cut-off", "we say what to do about it"),
        ("account-of-cloud", "no gate closes it, as since Flux 2.10"),
        ("cloud-elsewhere", "words of Go's HTTP client around the error"),
        ("keyless-anybody", "refused with the field's name"),
        ("keyless-identity", "refused in other words"),
        ("keyless-sigstore", "refused in other words"),
        ("keyless-pattern", "refused with the field's name"),
        ("keyless-root-invalid", "refused in other words"),
        (
            "verified-by-referrer",
            "cosign 2's signatures among the referrers count, too",
        ),
    ],
};

#[test]
fn oci_sources_show_what_fluxs_show() {
    let (Some(cluster), Some(world)) = (crate::rounds::cluster(), World::build()) else {
        return;
    };
    let (cases, kind) = (cases(&world), ("OCIRepository", "ocirepositories"));
    let mut rounds = Rounds::first(&cluster, kind, &objects(&world), &cases, world.folder(), &[]);
    let ours = &rounds.sides[1];
    let verified = &ours.status("verified-by-referrer")["artifact"]["revision"];
    assert_eq!(*verified, world.candidate, "by a signature that Flux does not read");
    let origin = &ours.status("tag")["artifact"]["metadata"]["org.opencontainers.image.revision"];
    let told = ours.event_annotation("tag", "source.toolkit.fluxcd.io/originRevision");
    assert!(origin.is_string() && told == *origin, "{told} instead of {origin}");
    let files = ours.shown("tag", &ours.events()).files;
    assert_eq!(
        contents(&files),
        contents(&world.pulled("app:1.0.0")),
        "as `flux pull artifact` unpacks it"
    );
    world.go_on();
    rounds.second();
    rounds.report(&KNOWN);
}

/// The digests of files, without modes.
fn contents(files: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let digests = files
        .iter()
        .filter_map(|(path, shown)| Some((path.as_str(), shown.split_once(' ')?.1)));
    digests.collect()
}
