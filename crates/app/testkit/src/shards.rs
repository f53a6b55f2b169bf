//! A fleet for several controllers that share its objects: repositories with Kustomizations and automations, whose
//! counts a test chooses.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::apiserver::Cluster;
use crate::controller::Controller;
use crate::image_world::ImageWorld;
use crate::ports::free_port;
use crate::repo::{Change, Repo};
use crate::waiting::until_none_left;
use crate::world::{AUTOMATION, GIT_REPOSITORY, KUSTOMIZATION, automation, git_repository};

/// All kinds.
const CONTROLLERS: &str = "--controllers=image-reflector,image-automation,source,kustomize";

/// How many of each there are.
#[derive(Clone, Copy, Debug)]
pub struct Fleet {
    /// Repositories, each with an image.
    pub repositories: usize,
    /// Kustomizations, spread over the repositories.
    pub kustomizations: usize,
    /// Automations, spread over the repositories, each with a folder of its own.
    pub automations: usize,
}

/// A namespace with a fleet.
pub struct ShardWorld<'a> {
    world: ImageWorld<'a>,
    pub fleet: Fleet,
    repos: Vec<Repo>,
}

impl<'a> Deref for ShardWorld<'a> {
    type Target = ImageWorld<'a>;

    fn deref(&self) -> &ImageWorld<'a> {
        &self.world
    }
}

impl<'a> ShardWorld<'a> {
    pub fn new(cluster: &'a Cluster, namespace: &str, fleet: Fleet) -> Self {
        cluster.define();
        let world = ImageWorld::bare(cluster, namespace);
        let repos = (0..fleet.repositories).map(|number| world.repository(&format!("fleet-{number}.git")));
        let shard = Self {
            repos: repos.collect(),
            world,
            fleet,
        };
        for (number, repo) in shard.repos.iter().enumerate() {
            let (name, url) = (format!("fleet-{number}"), format!("fleet-{number}.git"));
            shard.publish(&name, "1.0.0");
            let own = (0..fleet.automations).filter(|one| one % fleet.repositories == number);
            let files: Vec<(String, String)> = own
                .map(|one| (format!("images/{one}/app.yaml"), shard.marker(number, "1.0.0")))
                .collect();
            let mut changes: Vec<Change<'_>> = files
                .iter()
                .map(|(path, text)| Change::File(path, text.as_bytes()))
                .collect();
            let map = map("0");
            changes.push(Change::File("map/map.yaml", map.as_bytes()));
            repo.commit("main", "first", &changes);
            shard.add(GIT_REPOSITORY, &name, git_repository(&shard.git.url(&url)));
            shard.add_image(&name, "1h");
        }
        for number in 0..fleet.kustomizations {
            let source = format!("fleet-{}", number % fleet.repositories);
            let spec = json!({
                "interval": "1h", "retryInterval": "1s", "path": "./map", "prune": true, "namePrefix": format!("k-{number}-"),
                "sourceRef": {"kind": "GitRepository", "name": source}, "targetNamespace": shard.namespace,
            });
            shard.add(KUSTOMIZATION, &format!("k-{number}"), spec);
        }
        for number in 0..fleet.automations {
            let mut spec = automation(&format!("fleet-{}", number % fleet.repositories));
            spec["update"]["path"] = json!(format!("./images/{number}"));
            shard.add(AUTOMATION, &format!("a-{number}"), spec);
        }
        shard
    }

    fn marker(&self, repository: usize, tag: &str) -> String {
        let image = format!("fleet-{repository}");
        let marker = json!({"$imagepolicy": format!("{}:{image}", self.namespace)});
        format!("image: {}:{tag} # {marker}\n", self.image(&image))
    }

    /// Starts a process with this name; its volume is in a folder of this name.
    pub fn shard(&self, name: &str, kubeconfig: &Path, flags: &[&str]) -> Controller {
        let address = format!("127.0.0.1:{}", free_port());
        let addresses = [
            format!("--storage-addr={address}"),
            format!("--storage-adv-addr={address}"),
        ];
        self.starter(name)
            .kubeconfig(kubeconfig)
            .variable("HOSTNAME", name)
            .flags(&[CONTROLLERS, "--requeue-dependency=1s", "--enable-leader-election"])
            .flags(&addresses)
            .flags(flags)
            .start()
    }

    /// Publishes a new tag of all images, and requests scans.
    pub fn release_all(&self, tag: &str) {
        for number in 0..self.fleet.repositories {
            let name = format!("fleet-{number}");
            self.publish(&name, tag);
            self.request(crate::world::IMAGE_REPOSITORY, &name, tag);
        }
    }

    /// Commits another content of all ConfigMaps, and requests fetches; not while automations push, as this is no push.
    pub fn commit_all(&self, content: &str) {
        for (number, repo) in self.repos.iter().enumerate() {
            let map = map(content);
            repo.commit("main", content, &[Change::File("map/map.yaml", map.as_bytes())]);
            self.request(GIT_REPOSITORY, &format!("fleet-{number}"), content);
        }
    }

    /// Waits until all automations have committed this tag.
    pub fn all_in_git(&self, tag: &str) {
        let missing: RefCell<Vec<usize>> = RefCell::new((0..self.fleet.automations).collect());
        let is_missing = |one: &usize| {
            let number = one % self.fleet.repositories;
            let shown = self.repos[number].show("main", &format!("images/{one}/app.yaml"));
            shown != self.marker(number, tag).as_bytes()
        };
        // What is there stays, and each look at one is a process of Git.
        let left = || {
            let mut missing = missing.borrow_mut();
            while missing.last().is_some_and(|one| !is_missing(one)) {
                missing.pop();
            }
            missing.len()
        };
        until_none_left(left, || {
            let missing = missing.borrow();
            let last = missing
                .last()
                .map(|one| self.get(AUTOMATION, &format!("a-{one}"))["status"].clone());
            format!("{tag} is in Git, but {missing:?} were not seen: {last:#?}")
        });
    }

    /// Waits until all Kustomizations have applied this content.
    pub fn all_applied(&self, content: &str) {
        let missing = || -> BTreeSet<String> {
            let maps = self.list(crate::world::CONFIG_MAP);
            let done = maps.iter().filter(|map| map["data"]["content"] == content);
            let done: BTreeSet<&str> = done.filter_map(|map| map["metadata"]["name"].as_str()).collect();
            let all = (0..self.fleet.kustomizations).map(|number| format!("k-{number}-map"));
            all.filter(|name| !done.contains(name.as_str())).collect()
        };
        until_none_left(
            || missing().len(),
            || {
                let missing = missing();
                let first = missing.first().map(|name| name.trim_end_matches("-map").to_owned());
                let first = first.map(|name| self.get(KUSTOMIZATION, &name)["status"].clone());
                format!("{content:?} is applied, but not {missing:?}: {first:#?}")
            },
        );
    }

    /// The number of commits of automations, in all repositories.
    pub fn bumps(&self) -> usize {
        let logs = self.repos.iter().map(|repo| repo.log("main"));
        logs.map(|log| log.iter().filter(|commit| commit.author.starts_with("bot")).count())
            .sum()
    }

    /// The repositories have nothing that is damaged.
    pub fn repos_are_sound(&self) {
        self.repos.iter().for_each(Repo::fsck);
    }

    /// The number of objects that a process reconciles.
    pub fn objects_of(controller: &Controller) -> usize {
        let page = controller.metrics();
        let lines = page
            .lines()
            .filter(|line| line.starts_with("bumpwright_shard_objects{"));
        let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.sum::<f64>() as usize
    }

    /// Waits until these processes, and no others, have all objects, each within a fifth of even.
    pub fn shared(&self, controllers: &[&Controller]) {
        let Fleet {
            repositories,
            kustomizations,
            automations,
        } = self.fleet;
        let all = 3 * repositories + kustomizations + automations;
        let loads = || -> Vec<usize> { controllers.iter().map(|one| Self::objects_of(one)).collect() };
        let epochs = || -> BTreeSet<String> {
            let epochs = controllers.iter().map(|one| one.metric("bumpwright_shard_epoch"));
            epochs.map(|epoch| format!("{epoch:?}")).collect()
        };
        let is_even = |load: &usize| (load * controllers.len()).abs_diff(all) * 5 <= all;
        let left = || {
            let loads = loads();
            let uneven = loads.iter().filter(|load| !is_even(load)).count();
            uneven + loads.iter().sum::<usize>().abs_diff(all) + epochs().len() - 1
        };
        until_none_left(left, || format!("{all} objects are shared: {:?}", loads()));
    }
}

fn map(content: &str) -> String {
    let map: Json =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}, "data": {"content": content}});
    map.to_string()
}
