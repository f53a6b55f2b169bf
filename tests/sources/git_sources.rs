//! GitRepositories, compared with Flux's own source-controller: both serve the same specs, each in a namespace of
//! its own, at one API server. All visible results have to be the same: revision, files of the artifact,
//! conditions, observed fields, events.
//!
//! Takes about a minute, most of it real clones by both.

mod repositories;
mod specs;
mod ssh;

use crate::rounds::{Known, Rounds};
use bumpwright_testkit::repo::Change;
use repositories::World;
use specs::{cases, secrets};

const KNOWN: Known = Known {
    floor: 101,
    otherwise: &[
        ("name-head", "Flux cannot check out the symbolic reference HEAD"),
        ("sha256", "Flux reads no repositories with SHA-256"),
        ("host-missing", "words of Go's HTTP client and of the system"),
        ("too-slow", "words of Go's HTTP client"),
        (
            "submodules",
            "Flux archives the .git files of submodules, which name folders that nobody has",
        ),
        ("submodules-lost", "we say which submodule is lost"),
        ("ssh-passphrase-wrong", "words of Go's SSH client"),
        ("ssh-stranger", "words of Go's SSH client"),
        ("ssh-hosts-others", "words of Go's SSH client"),
    ],
};

#[test]
fn sources_show_what_fluxs_show() {
    let Some(cluster) = crate::rounds::cluster() else {
        return;
    };
    let world = World::build();
    let (cases, kind) = (cases(&world), ("GitRepository", "gitrepositories"));
    let mut rounds = Rounds::first(&cluster, kind, &secrets(&world), &cases, world.folder(), &[]);
    world.moving.commit("main", "two", &[Change::File("b.txt", b"2")]);
    rounds.second();
    rounds.report(&KNOWN);
}
