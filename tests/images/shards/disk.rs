//! What processes keep on their own disks of objects that others own by now, and what a process does with what it kept,
//! when it gets them back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::FLAGS;
use bumpwright_scan::{Scanned, TagStore};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::shards::{Fleet, ShardWorld};
use bumpwright_testkit::waiting::until_none_left;
use bumpwright_testkit::world::{CONFIG_MAP, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION};

const FLEET: Fleet = Fleet {
    repositories: 8,
    kustomizations: 16,
    automations: 8,
};

/// A process and its disk.
struct Shard<'a> {
    world: &'a ShardWorld<'a>,
    name: &'static str,
    controller: Controller,
}

fn names(folder: PathBuf) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

impl<'a> Shard<'a> {
    fn start(world: &'a ShardWorld<'a>, name: &'static str) -> Self {
        let controller = world.shard(name, &world.cluster.kubeconfig(), &FLAGS);
        Self {
            world,
            name,
            controller,
        }
    }

    fn disk(&self, folder: &str) -> PathBuf {
        self.world.folder_of(self.name).join("data").join(folder)
    }

    /// The GitRepositories whose artifacts it has.
    fn sources(&self) -> BTreeSet<String> {
        names(self.disk("artifacts/gitrepository").join(&self.world.namespace))
    }

    /// The number of objects of a kind that it reconciles.
    fn owns(&self, kind: &str) -> usize {
        let series = format!("bumpwright_shard_objects{{kind=\"{kind}\"}}");
        self.controller.metric(&series).unwrap_or_default() as usize
    }

    /// How many things are on the disk too many or too few, for what it reconciles.
    fn misfits(&self) -> BTreeMap<&'static str, usize> {
        let mirrors = names(self.disk("mirrors"));
        let mirrors = mirrors
            .iter()
            .filter(|name| self.disk("mirrors").join(name).is_dir() && !name.starts_with('.'));
        let applied = names(self.disk("applied"));
        let applied = applied.iter().filter(|name| *name != "key").count();
        let sources = self.owns("GitRepository");
        BTreeMap::from([
            ("artifacts", self.sources().len().abs_diff(sources)),
            ("mirrors", mirrors.count().abs_diff(sources)),
            ("applied", applied.abs_diff(self.owns("Kustomization"))),
        ])
    }

    /// Ends it, and returns the repositories whose tags it has.
    fn stop(self) -> BTreeSet<String> {
        let (world, data) = (self.world, self.disk(""));
        assert_eq!(self.controller.stop(), Some(0));
        let tags = TagStore::open(&data, |what| panic!("{what}")).unwrap();
        let names = (0..world.fleet.repositories).map(|number| format!("fleet-{number}"));
        let has_tags = |name: &String| {
            let uid = world.get(IMAGE_REPOSITORY, name)["metadata"]["uid"].clone();
            let scanned = Scanned::new(&world.namespace, name, uid.as_str().unwrap(), &world.image(name));
            !tags.tags(&scanned).unwrap().is_empty()
        };
        names.filter(has_tags).collect()
    }
}

/// Waits until each disk has what belongs to the objects of its process, and nothing else but `later`.
fn tidied(shards: &[&Shard<'_>], later: &[&str]) {
    let misfits = || shards.iter().map(|one| (one.name, one.misfits())).collect::<Vec<_>>();
    let left = || -> usize {
        let all = misfits();
        let counts = all.iter().flat_map(|(_, counts)| counts);
        counts
            .filter(|(what, _)| !later.contains(what))
            .map(|(_, count)| count)
            .sum()
    };
    until_none_left(left, || format!("{:?}", misfits()));
}

/// The versions of all ConfigMaps that are applied, and the images of all policies.
fn results(world: &ShardWorld<'_>) -> (BTreeMap<String, String>, Vec<String>) {
    let text =
        |object: &serde_json::Value, pointer: &str| object.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    let maps = world.list(CONFIG_MAP);
    let maps = maps.iter().filter(|map| map["data"]["content"].is_string());
    let versions = maps.map(|map| (text(map, "/metadata/name"), text(map, "/metadata/resourceVersion")));
    let policies = world.list(IMAGE_POLICY);
    let tags = policies.iter().map(|policy| text(policy, "/status/latestRef/tag"));
    (versions.collect(), tags.collect())
}

#[test]
fn disks_have_what_belongs_to_the_objects_of_their_processes() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ShardWorld::new(cluster, "shards-disk", FLEET);
    let a = Shard::start(&world, "a");
    world.shared(&[&a.controller]);
    world.all_applied("0");
    tidied(&[&a], &[]);
    assert_eq!(a.sources().len(), FLEET.repositories);
    let b = Shard::start(&world, "b");
    world.shared(&[&a.controller, &b.controller]);
    tidied(&[&a, &b], &[]);
    assert!(a.sources().is_disjoint(&b.sources()));

    // While b is away, all that it has on its disk gets old; one of its sources is deleted.
    let deleted = b.sources().into_iter().next().unwrap();
    let (of_b, repositories_of_b) = (b.sources(), b.owns("ImageRepository"));
    assert_eq!(b.stop().len(), repositories_of_b);
    world.shared(&[&a.controller]);
    world.commit_all("1");
    world.release_all("1.1.0");
    world.all_in_git("1.1.0");
    world.all_applied("1");
    world.delete(GIT_REPOSITORY, &deleted);
    world.gone(GIT_REPOSITORY, &deleted);
    let before = (results(&world), world.bumps());
    assert!(before.0.1.iter().all(|tag| tag == "1.1.0"), "{before:?}");
    assert_eq!(before.1, FLEET.automations);

    let b = Shard::start(&world, "b");
    assert_eq!(b.sources(), of_b, "its volume is as it was");
    let all = FLEET.repositories - 1;
    until_none_left(
        || {
            (a.owns("GitRepository") + b.owns("GitRepository")).abs_diff(all)
                + usize::from(b.owns("GitRepository") == 0)
        },
        || {
            format!(
                "{all} sources are shared: {} {}",
                a.owns("GitRepository"),
                b.owns("GitRepository")
            )
        },
    );
    // Mirrors of an earlier process go with the first cleanup, in ten minutes.
    tidied(&[&a, &b], &["mirrors"]);
    assert!(a.sources().is_disjoint(&b.sources()));
    assert!(!b.sources().contains(&deleted), "{deleted} is left over");
    assert_eq!((results(&world), world.bumps()), before, "nothing old is used");
    let kustomizations = world.list(KUSTOMIZATION);
    assert_eq!(kustomizations.len(), FLEET.kustomizations);
    // It had the tags of all of them while b was away.
    let repositories_of_a = a.owns("ImageRepository");
    assert!(repositories_of_a < FLEET.repositories);
    assert_eq!(a.stop().len(), repositories_of_a);
}
