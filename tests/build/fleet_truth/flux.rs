//! `flux build kustomization` over a whole fleet.
//!
//! It cannot read `substituteFrom` without a cluster. So each Kustomization is given to it with those variables inline
//! that the fleet itself builds, which means the same, and is built by a call of its own. Where there are none,
//! `--recursive` has to agree.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use super::{Groups, documents, normal};
use bumpwright_testkit::repo::hermetic;

/// What the real CLI builds of a fleet.
pub(super) struct Reality {
    /// The objects.
    pub(super) groups: Groups,
    /// The Kustomizations by name, with inline variables.
    pub(super) kustomizations: BTreeMap<String, Value>,
}

/// Variables of ConfigMaps and Secrets by `KIND/NAMESPACE/NAME`.
type Configs = BTreeMap<String, Map<String, Value>>;

pub(super) struct Flux {
    program: PathBuf,
    root: PathBuf,
    scratch: tempfile::TempDir,
    /// What was built, by Kustomization: the walk is repeated until all variables are known.
    built: RefCell<BTreeMap<String, Vec<Value>>>,
}

impl Flux {
    pub(super) fn new(program: &Path, root: PathBuf) -> Self {
        Self {
            program: program.to_owned(),
            root,
            scratch: tempfile::tempdir().unwrap(),
            built: RefCell::default(),
        }
    }

    /// All Kustomizations from an entry on, whose source is the GitRepository of this name.
    pub(super) fn walk(&self, entry: &str, source: &str) -> Reality {
        let first = self.first(entry, source);
        let mut configs = Configs::new();
        loop {
            let reality = self.walk_with(&first, &configs);
            let found = configs_of(&reality.groups);
            if found == configs {
                self.check_recursive(&reality, &first, source);
                return disown(reality, &first, entry);
            }
            configs = found;
        }
    }

    /// The Kustomization that syncs the entry. It comes out of the entry itself, where it may have been patched.
    fn first(&self, entry: &str, source: &str) -> Value {
        let made = json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": "flux-system", "namespace": "flux-system"},
            "spec": {"interval": "1h", "prune": true, "path": entry, "sourceRef": {"kind": "GitRepository", "name": source}},
        });
        let objects = self.alone(&made);
        let syncs = |one: &Value| is_kustomization(one) && path(one) == entry;
        objects.into_iter().find(syncs).unwrap_or(made)
    }

    fn walk_with(&self, first: &Value, configs: &Configs) -> Reality {
        let mut reality = Reality {
            groups: Groups::new(),
            kustomizations: BTreeMap::new(),
        };
        let mut todo = VecDeque::from([first.clone()]);
        while let Some(one) = todo.pop_front() {
            let name = name(&one);
            if reality.groups.contains_key(&name) {
                continue;
            }
            let one = inlined(one, configs);
            let objects = self.alone(&one);
            todo.extend(objects.iter().filter(|one| is_kustomization(one)).cloned());
            reality.kustomizations.insert(name.clone(), one);
            reality.groups.insert(name, objects);
        }
        reality
    }

    /// One call for all gives the same, apart from Kustomizations whose variables it did not read.
    fn check_recursive(&self, reality: &Reality, first: &Value, source: &str) {
        let sources = format!("GitRepository/flux-system/{source}=.");
        let mut groups = Groups::new();
        for object in self.build(first, &["--recursive", "--local-sources", &sources]) {
            let label = |key: &str| {
                object["metadata"]["labels"][format!("kustomize.toolkit.fluxcd.io/{key}")]
                    .as_str()
                    .unwrap()
            };
            let owner = format!("{}/{}", label("namespace"), label("name"));
            groups.entry(owner).or_default().push(object.clone());
        }
        let all = reality.groups.values().flatten().filter(|one| is_kustomization(one));
        for kustomization in all.filter(|one| one["spec"]["postBuild"]["substituteFrom"].is_null()) {
            let name = name(kustomization);
            let alone = &reality.groups[&name];
            let together = groups.get(&name).map_or(&[][..], Vec::as_slice);
            let found: Vec<String> = normal::differences(alone, together).collect();
            assert!(found.is_empty(), "--recursive, {name}: {found:?}");
        }
    }

    fn alone(&self, kustomization: &Value) -> Vec<Value> {
        let mut built = self.built.borrow_mut();
        let objects = built
            .entry(kustomization.to_string())
            .or_insert_with(|| self.build(kustomization, &[]));
        objects.clone()
    }

    fn build(&self, kustomization: &Value, more: &[&str]) -> Vec<Value> {
        let file = self.scratch.path().join("kustomization.yaml");
        std::fs::write(&file, kustomization.to_string()).unwrap();
        let metadata = &kustomization["metadata"];
        let mut command = Command::new(&self.program);
        hermetic(&mut command);
        let output = command
            .args(["build", "kustomization", metadata["name"].as_str().unwrap()])
            .args(["--namespace", metadata["namespace"].as_str().unwrap()])
            .args(["--path", path(kustomization)])
            .arg("--kustomization-file")
            .arg(&file)
            // In memory: it would write into the folders that it builds.
            .args(["--dry-run", "--in-memory-build"])
            .args(more)
            .current_dir(&self.root)
            .env("HOME", self.scratch.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "flux build of {}: {said}", name(kustomization));
        documents(&String::from_utf8(output.stdout).unwrap())
    }
}

/// An entry that no Kustomization syncs has the name of its folder here, and its objects no owner. The real
/// CLI was given one.
fn disown(mut reality: Reality, first: &Value, entry: &str) -> Reality {
    let given = name(first);
    if reality
        .groups
        .values()
        .flatten()
        .any(|one| is_kustomization(one) && name(one) == given)
    {
        return reality;
    }
    let mut objects = reality.groups.remove(&given).unwrap();
    for object in &mut objects {
        let metadata = object["metadata"].as_object_mut().unwrap();
        let labels = metadata["labels"].as_object_mut().unwrap();
        labels.retain(|label, _| !label.starts_with("kustomize.toolkit.fluxcd.io/name"));
        if labels.is_empty() {
            metadata.remove("labels");
        }
    }
    reality.kustomizations.remove(&given);
    reality.groups.insert(entry.to_owned(), objects);
    reality
}

fn is_kustomization(object: &Value) -> bool {
    let group = "kustomize.toolkit.fluxcd.io/";
    object["kind"] == "Kustomization"
        && object["apiVersion"]
            .as_str()
            .is_some_and(|version| version.starts_with(group))
}

fn name(object: &Value) -> String {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

fn path(kustomization: &Value) -> &str {
    let path = kustomization["spec"]["path"].as_str().unwrap_or(".");
    path.trim_start_matches("./").trim_end_matches('/')
}

/// With the variables of `substituteFrom` in `substitute`, whose own ones win.
fn inlined(mut kustomization: Value, configs: &Configs) -> Value {
    let namespace = kustomization["metadata"]["namespace"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let Some(build) = kustomization
        .pointer_mut("/spec/postBuild")
        .and_then(Value::as_object_mut)
    else {
        return kustomization;
    };
    let Some(Value::Array(references)) = build.remove("substituteFrom") else {
        return kustomization;
    };
    let names = references.iter().map(|reference| {
        let text = |key: &str| reference[key].as_str().unwrap();
        format!("{}/{namespace}/{}", text("kind"), text("name"))
    });
    let mut variables: Map<String, Value> = names.filter_map(|name| configs.get(&name).cloned()).flatten().collect();
    if let Some(Value::Object(own)) = build.remove("substitute") {
        variables.extend(own);
    }
    if !variables.is_empty() {
        build.insert("substitute".to_owned(), variables.into());
    }
    kustomization
}

fn configs_of(groups: &Groups) -> Configs {
    let objects = groups.values().flatten();
    let known = objects.filter_map(|one| match one["kind"].as_str()? {
        kind @ "ConfigMap" => Some((format!("{kind}/{}", name(one)), one["data"].as_object()?.clone())),
        kind @ "Secret" => Some((format!("{kind}/{}", name(one)), variables_of(one))),
        _ => None,
    });
    known.collect()
}

/// The variables of a Secret. Of an encrypted one the keys are known: its variables stay expressions.
fn variables_of(secret: &Value) -> Map<String, Value> {
    let normal = normal::normal(secret.clone());
    let values = normal["data"].as_object().into_iter().flatten();
    let variable = |(key, value): (&String, &Value)| {
        if value == normal::MASK {
            (key.clone(), format!("${{{key}}}").into())
        } else {
            (key.clone(), value.clone())
        }
    };
    values.map(variable).collect()
}
