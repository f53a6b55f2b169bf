//! HelmCharts, compared with Flux's own source-controller, as in `helm_sources` for HelmRepositories: charts of repositories with an index,
//! of a real registry, and of Git. All visible results have to be the same: version, unpacked files, conditions, observed fields, events.
//!
//! Takes about a minute.

mod specs;
mod world;

use crate::rounds::{Known, Rounds};
use specs::{cases, objects};
use world::World;

const KNOWN: Known = Known {
    floor: 77,
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
}
