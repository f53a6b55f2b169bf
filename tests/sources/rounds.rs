//! Sources of a kind at Flux's controller and at ours, each in a namespace of its own, in two rounds: new sources, and
//! the same ones reconciled again, after changes to the specs or the contents of some.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::observed::{Shown, Side, differences, is_settled};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::waiting::until;

/// A source, and its change.
pub struct Case {
    pub name: &'static str,
    pub spec: Json,
    /// A merge patch of the spec for the second round; without one, only a reconciliation is asked for.
    pub change: Option<Json>,
}

/// The expected outcome.
pub struct Known {
    /// Sources that are as Flux's. It only ever rises.
    pub floor: usize,
    /// Sources that are not, and why.
    pub otherwise: &'static [(&'static str, &'static str)],
}

/// How long a round may take on a very busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// How long the last events may take after everything else is there.
const LAST_EVENTS: Duration = Duration::from_secs(12);

/// Both sides, with their controllers at work.
pub struct Rounds<'a> {
    pub sides: [Side<'a>; 2],
    cases: &'a [Case],
    failed: Vec<Vec<String>>,
    _controllers: [Controller; 2],
}

/// A cluster of its own that knows the kinds of sources by Flux's definitions; none where one of the programs is
/// missing. The namespaces of the sides have the same names in each suite.
pub fn cluster() -> Option<Cluster> {
    bumpwright_testkit::tool("source-controller")?;
    let (cluster, definitions) = (Cluster::start()?, bumpwright_testkit::tool("flux-crds")?);
    for file in std::fs::read_dir(definitions).unwrap() {
        let file = file.unwrap().path();
        if file.file_name().unwrap().to_str().unwrap().starts_with("source.") {
            cluster.apply(&of_today(&std::fs::read_to_string(file).unwrap()).to_string());
        }
    }
    Some(cluster)
}

/// A definition of Flux with the field of 2.10 that the server would drop otherwise.
fn of_today(definition: &str) -> Json {
    let mut definition: Json = serde_saphyr::from_str(definition).unwrap();
    let kind = definition["spec"]["names"]["kind"].clone();
    if ["GitRepository", "OCIRepository"].contains(&kind.as_str().unwrap()) {
        for version in definition["spec"]["versions"].as_array_mut().unwrap() {
            let status = &mut version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
            status["sourceVerificationFingerprint"] = json!({"type": "string"});
        }
    }
    definition
}

impl<'a> Rounds<'a> {
    /// Makes the sources of `cases`, with `objects` that they name, and starts the controllers with these variables in
    /// their environments; the first round.
    pub fn first(
        cluster: &'a Cluster,
        (kind, plural): (&str, &'static str),
        objects: &[Json],
        cases: &'a [Case],
        folder: &Path,
        variables: &'a [(&'a str, String)],
    ) -> Self {
        Self::flagged(cluster, (kind, plural), objects, cases, folder, (variables, &[]))
    }

    /// The same with flags for both controllers.
    pub fn flagged(
        cluster: &'a Cluster,
        (kind, plural): (&str, &'static str),
        objects: &[Json],
        cases: &'a [Case],
        folder: &Path,
        (variables, flags): (&'a [(&'a str, String)], &'a [&'a str]),
    ) -> Self {
        let sides = ["flux", "ours"].map(|namespace| {
            let folder = folder.join(namespace);
            std::fs::create_dir_all(&folder).unwrap();
            Side {
                cluster,
                namespace,
                folder,
                plural,
                variables,
                flags,
            }
        });
        // What others are made of comes first: nobody has to wait for it then, which takes one time as long as another.
        let is_source = |object: &&Json| {
            object["apiVersion"]
                .as_str()
                .is_some_and(|version| version.starts_with("source."))
        };
        let made_of: Vec<&Json> = objects.iter().filter(is_source).collect();
        sides.iter().for_each(|side| add_all(side, objects));
        if made_of.is_empty() {
            sides.iter().for_each(|side| fill(side, kind, cases));
        }
        let controllers = sides.each_ref().map(Side::controller);
        if !made_of.is_empty() {
            sides
                .iter()
                .for_each(|side| made_of.iter().for_each(|one| await_first(side, one)));
            sides.iter().for_each(|side| fill(side, kind, cases));
        }
        let mut rounds = Self {
            _controllers: controllers,
            sides,
            cases,
            failed: vec![Vec::new(); cases.len()],
        };
        rounds.settle("");
        rounds.compare("first");
        rounds
    }

    /// Asks for all sources again, with other specs for some; the second round.
    pub fn second(&mut self) {
        for (side, case) in self
            .sides
            .iter()
            .flat_map(|side| self.cases.iter().map(move |case| (side, case)))
        {
            let mut patch = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "again"}}});
            if let Some(change) = &case.change {
                patch["spec"] = change.clone();
            }
            let answer = side.cluster.merge_patch(&side.path(case.name), &patch);
            assert_eq!(answer.status, 200, "{}: {}", case.name, answer.body);
        }
        self.settle("again");
        self.compare("second");
    }

    /// Deletes a source at both sides: nothing is left of it, and its artifact is not served any more.
    pub fn delete(&self, name: &str) {
        for side in &self.sides {
            let url = side.status(name)["artifact"]["url"].clone();
            let url = url.as_str().unwrap_or_else(|| panic!("{name} has an artifact"));
            assert!(ureq::get(url).call().is_ok(), "{}: {url}", side.namespace);
            let finalizers = &side.cluster.get(&side.path(name))["metadata"]["finalizers"];
            assert_eq!(*finalizers, json!(["finalizers.fluxcd.io"]), "{}", side.namespace);
            side.cluster.request("DELETE", &side.path(name), "application/json", "");
            side.cluster.gone(&side.path(name));
            until("it is not served", || ureq::get(url).call().is_err());
        }
    }

    /// Waits until nothing is under way any more at Flux's side, and then at ours. Those that fail are tried again and
    /// again: once is enough.
    fn settle(&self, handled: &str) {
        let end = Instant::now() + PATIENCE;
        for side in &self.sides {
            let mut under_way: Vec<&Case> = self.cases.iter().collect();
            while !under_way.is_empty() && Instant::now() < end {
                under_way.retain(|case| {
                    let object: Json = side.cluster.get(&side.path(case.name));
                    let status = &object["status"];
                    let is_handled = status["lastHandledReconcileAt"].as_str().unwrap_or_default() == handled;
                    !(is_handled && (object["spec"]["suspend"] == true || is_settled(status)))
                });
                std::thread::sleep(Duration::from_millis(200));
            }
            let names: Vec<&str> = under_way.iter().map(|case| case.name).collect();
            assert!(names.len() < self.cases.len(), "{}: nothing is done", side.namespace);
            if !names.is_empty() {
                println!("{}: still under way: {names:?}", side.namespace);
            }
        }
    }

    /// Compares until everything is equal or time is up: the last events come when they like.
    fn compare(&mut self, round: &str) {
        let (end, latest) = (Instant::now() + LAST_EVENTS, Instant::now() + PATIENCE);
        let mut differing: Vec<(usize, Vec<String>)> = (0..self.cases.len()).map(|index| (index, Vec::new())).collect();
        let mut last: Vec<[Option<Shown>; 2]> = vec![[None, None]; self.cases.len()];
        while !differing.is_empty() {
            let events = self.sides.each_ref().map(Side::events);
            differing.retain_mut(|(index, found)| {
                for (side, (events, last)) in self.sides.iter().zip(events.iter().zip(&mut last[*index])) {
                    let shown = side.shown(self.cases[*index].name, events);
                    // The state between two attempts counts.
                    if shown.is_settled() || last.is_none() {
                        *last = Some(shown);
                    }
                }
                *found = match &last[*index] {
                    [Some(flux), Some(ours)] => differences(flux, ours),
                    _ => Vec::new(),
                };
                !found.is_empty()
            });
            // A slow one may always be in the middle of an attempt.
            let shown = |index: &usize| last[*index].iter().flatten().all(Shown::is_settled);
            let all_shown = differing.iter().all(|(index, _)| shown(index));
            if Instant::now() > if all_shown { end } else { latest } {
                break;
            }
            std::thread::sleep(Duration::from_millis(300));
        }
        for (index, found) in differing {
            self.failed[index].extend(found.into_iter().map(|line| format!("{round} round: {line}")));
        }
    }

    /// Shows what differs, and insists on what is known. `SOURCE` in the environment names a case to be shown,
    /// for work on it.
    pub fn report(&self, known: &Known) {
        let wanted = std::env::var("SOURCE").ok();
        let shown = |case: &Case| wanted.as_deref().is_none_or(|wanted| case.name.contains(wanted));
        for (case, lines) in self.cases.iter().zip(&self.failed) {
            let otherwise = known.otherwise.iter().find(|(name, _)| *name == case.name);
            if let Some((name, why)) = otherwise.filter(|_| wanted.is_none()) {
                println!("--- {name}: {why}");
            } else if !lines.is_empty() && shown(case) {
                println!("--- {}\n{}", case.name, lines.join("\n"));
            }
        }
        let same = self.failed.iter().filter(|lines| lines.is_empty()).count();
        println!("sources: {same} of {}", self.cases.len());
        assert!(
            same >= known.floor,
            "{same} sources are as Flux's, {} were",
            known.floor
        );
    }
}

/// Waits for the first outcome of a source; one of a registry has none.
fn await_first(side: &Side<'_>, source: &Json) {
    if source["spec"]["type"] == "oci" {
        return;
    }
    let plural = match source["kind"].as_str().unwrap() {
        "HelmRepository" => "helmrepositories",
        "GitRepository" => "gitrepositories",
        "Bucket" => "buckets",
        kind => panic!("{kind}"),
    };
    let (namespace, name) = (side.namespace, source["metadata"]["name"].as_str().unwrap());
    let path = format!("/apis/source.toolkit.fluxcd.io/v1/namespaces/{namespace}/{plural}/{name}");
    until("the sources are there", || {
        is_settled(&side.cluster.get(&path)["status"])
    });
}

fn add_all(side: &Side<'_>, objects: &[Json]) {
    let (cluster, namespace) = (side.cluster, side.namespace);
    cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).to_string());
    for object in objects {
        let mut object = object.clone();
        object["metadata"]["namespace"] = json!(namespace);
        cluster.apply(&object.to_string());
    }
}

fn fill(side: &Side<'_>, kind: &str, cases: &[Case]) {
    let (cluster, namespace) = (side.cluster, side.namespace);
    for case in cases {
        let mut spec = case.spec.clone();
        spec["interval"] = json!("10m");
        let metadata = json!({"name": case.name, "namespace": namespace});
        let object =
            json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": kind, "metadata": metadata, "spec": spec});
        let created = cluster.create(&object, "");
        created.unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
}
