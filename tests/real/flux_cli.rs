//! The real `flux` command (v2.9.5): its verbs for all of our kinds, in a cluster with our controllers and in one with
//! Flux's own. What it prints and its exit code have to be the same, but for times, hashes and ports.
//!
//! `tests/conformance/flux_cli.rs` has what it does with our installation: check, version, logs, uninstall.

mod side;
mod table;

use parking_lot::Mutex;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::moto::Moto;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::world::KUSTOMIZATION;
use side::Shown;
use table::{Cell, PHASES};

use crate::beside::{Side, define};

/// Commands that print something else on purpose, and why.
const OTHERWISE: [(&str, &str); 1] = [("logs -A", "what a program says of itself, as of its start, is its own")];

/// How often commands that only look are run again while they print something else: an object may be in the
/// middle of a retry.
const LOOKS: usize = 5;

/// Commands of a side that run at a time: each waits for the API server and for controllers most of the time.
const AT_A_TIME: usize = 4;

/// A cluster with the definitions of its side.
fn cluster(side: Side) -> Option<Cluster> {
    let cluster = Cluster::start()?;
    match side {
        Side::Ours => cluster.define(),
        Side::Flux => {
            define(&cluster, "flux-crds", &["source.", "image."])?;
            define(&cluster, "flux-neighbour-crds", &["kustomize."])?;
        }
    }
    Some(cluster)
}

/// Runs the commands of a phase, some at a time; gives what each printed.
fn run(shown: &Shown<'_>, cells: &[Cell]) -> Vec<String> {
    let next = Mutex::new(0..cells.len());
    let said = Mutex::new(vec![String::new(); cells.len()]);
    let work = || {
        loop {
            let Some(index) = next.lock().next() else {
                return;
            };
            let text = shown.run(&cells[index]);
            said.lock()[index] = text;
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(work);
        }
    });
    said.into_inner()
}

/// Does the same at both sides.
fn both<T: Send>(sides: [&Shown<'_>; 2], what: impl Fn(&Shown<'_>) -> T + Sync) -> [T; 2] {
    std::thread::scope(|scope| {
        let what = &what;
        let doing = sides.map(|shown| scope.spawn(move || what(shown)));
        doing.map(|done| done.join().unwrap())
    })
}

#[test]
fn flux_prints_the_same_of_ours_and_of_flux() {
    let (Some(registry), Some(moto)) = (Registry::start(), Moto::start()) else {
        return;
    };
    let (Some(flux), Some(ours)) = (cluster(Side::Flux), cluster(Side::Ours)) else {
        return;
    };
    moto.put("/maps", "");
    let start = |side, cluster| Shown::start(side, cluster, &registry, &moto);
    let (Some(flux), Some(ours)) = (start(Side::Flux, &flux), start(Side::Ours, &ours)) else {
        return;
    };
    let (mut same, mut all, mut unexpected) = (0, 0, Vec::new());
    for phase in PHASES {
        // Some servers are for both.
        both([&flux, &ours], phase.before);
        let said = both([&flux, &ours], |shown| run(shown, phase.cells));
        all += phase.cells.len();
        for (index, cell) in phase.cells.iter().enumerate() {
            let mut said = said.each_ref().map(|said| said[index].clone());
            let looks = if phase.is_a_look { LOOKS } else { 0 };
            for _ in 0..looks {
                if said[0] != said[1] {
                    said = both([&flux, &ours], |shown| shown.run(cell));
                }
            }
            let known = OTHERWISE.iter().find(|(line, _)| cell.line == *line);
            match (said[0] == said[1], known) {
                (true, _) => same += 1,
                (false, Some((_, why))) => println!("flux {}: {why}", cell.line),
                (false, None) => unexpected.push(format!("flux {}\nFlux: {}\nours: {}", cell.line, said[0], said[1])),
            }
        }
    }
    println!("flux cli: {same} of {all}");
    // Hashes are not compared above; this one is made of what was built, which is the same for both.
    let built = |shown: &Shown<'_>| shown.world.get(KUSTOMIZATION, "oci")["status"]["history"][0]["digest"].take();
    let [built_by_flux, built_by_ours] = both([&flux, &ours], built);
    assert_eq!(built_by_ours, built_by_flux);
    assert!(built_by_flux.is_string());
    assert!(unexpected.is_empty(), "{same} of {all}\n{}", unexpected.join("\n"));
}
