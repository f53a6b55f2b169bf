//! A fleet that several processes share, while they are killed, paused, added and taken away during commits. The audit
//! log of the API server proves that each object had one owner at every moment.

mod proof;

use std::path::PathBuf;

use serde_json::Value as Json;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::shards::{Fleet, ShardWorld};
use bumpwright_testkit::waiting::until;

/// Leases as they are by default: a shorter one is lost on a busy machine.
const FLAGS: [&str; 2] = ["--shards=3", "--leader-election-retry-period=1s"];

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

const FLEET: Fleet = Fleet {
    repositories: 12,
    kustomizations: 300,
    automations: 60,
};

/// A process whose writes the log can tell from those of others.
fn start(world: &ShardWorld<'_>, name: &str) -> Controller {
    let kubeconfig: PathBuf = world.folder.path().join(format!("{name}.kubeconfig"));
    let text = world.cluster.kubeconfig_with(&Cluster::token_of(name));
    std::fs::write(&kubeconfig, text).unwrap();
    world.shard(name, &kubeconfig, &FLAGS)
}

fn change(world: &ShardWorld<'_>, number: u32) {
    world.commit_all(&number.to_string());
    world.release_all(&format!("1.{number}.0"));
}

fn changed(world: &ShardWorld<'_>, number: u32) {
    world.all_applied(&number.to_string());
    world.all_in_git(&format!("1.{number}.0"));
}

#[test]
fn each_object_has_one_owner_whatever_happens_to_processes() {
    let Some(cluster) = Cluster::audited(&NAMES) else {
        return;
    };
    let world = ShardWorld::new(&cluster, "shards", FLEET);
    let [a, b, c] = [0, 1, 2].map(|number| start(&world, NAMES[number]));
    world.shared(&[&a, &b, &c]);
    changed(&world, 0);

    // One is killed in the middle of its work, and comes back when others have done it.
    change(&world, 1);
    until("it is at work", || c.log().contains("pushed commit"));
    c.kill();
    changed(&world, 1);
    world.shared(&[&a, &b]);
    let c = start(&world, "c");
    world.shared(&[&a, &b, &c]);

    // Two more come while there is work.
    change(&world, 2);
    let (d, e) = (start(&world, "d"), start(&world, "e"));
    changed(&world, 2);
    world.shared(&[&a, &b, &c, &d, &e]);

    // The first that pushes is paused in the middle of its work, for longer than its lease, and two go.
    let pushed = |by: &Controller| by.log().matches("pushed commit").count();
    let mut others = vec![("a", a), ("b", b), ("c", c)];
    let before: Vec<usize> = others.iter().map(|(_, one)| pushed(one)).collect();
    change(&world, 3);
    let mut first = None;
    until("one of them is at work", || {
        first = (0..others.len()).find(|number| pushed(&others[*number].1) > before[*number]);
        first.is_some()
    });
    let (paused, member) = others.remove(first.unwrap());
    member.signal("STOP");
    assert_eq!([d.stop(), e.stop()], [Some(0), Some(0)]);
    changed(&world, 3);
    world.shared(&others.iter().map(|(_, one)| one).collect::<Vec<_>>());
    member.signal("CONT");
    assert_eq!(member.ended(), Some(2), "its lease is another's");

    assert_eq!(world.bumps(), 3 * FLEET.automations, "each change is committed once");
    world.repos_are_sound();
    for (name, one) in others {
        assert_eq!(one.stop(), Some(0), "{name}");
    }
    let (done, failed) = cluster.audit();
    prove(&done, &failed, &world.namespace, &[paused, "d"]);
}

/// That there was one owner at every moment, that nothing was done twice, and that nothing was pruned.
fn prove(audit: &[Json], failed: &[Json], namespace: &str, members: &[&str]) {
    let check = |events: &[Json]| proof::check(events, namespace, FLEET.repositories);
    let proof = check(audit).unwrap();
    println!("{} writes, {} moves, {} deals", proof.writes, proof.moves, proof.deals);
    assert!(proof.deals >= 6, "{}", proof.deals);
    assert!(proof.moves > FLEET.kustomizations / 3, "{}", proof.moves);
    assert_eq!(proof.applied.len(), FLEET.kustomizations);
    // Each is written once for each of four contents, by any owner. Of a request that a killed process did not wait for
    // the log says that it failed, whether or not it was written.
    let cut_off = |map: &str| {
        let is_it = |one: &&Json| {
            one["objectRef"]["name"] == map && one["responseStatus"]["code"].as_u64().is_none_or(|code| code >= 500)
        };
        failed.iter().filter(is_it).count()
    };
    let wrong = |(map, count): &(&String, &usize)| **count > 4 || **count + cut_off(map) < 4;
    let wrong: Vec<_> = proof.applied.iter().filter(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let is_pruned = |one: &&Json| one["verb"] == "delete" && one["objectRef"]["resource"] == "configmaps";
    let pruned: Vec<_> = audit.iter().chain(failed).filter(is_pruned).collect();
    assert!(pruned.is_empty(), "{pruned:?}");
    for silent in members {
        assert!(check(&proof::without_word_of(silent, audit)).is_err(), "{silent}");
    }
}
