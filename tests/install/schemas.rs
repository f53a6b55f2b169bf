//! The bundled schemas beside a real API server: what one of the two refuses, the other refuses too, and for
//! the same unknown fields.

use std::collections::BTreeSet;
use std::sync::Once;

use serde_json::{Map, Value as Json};

use bumpwright_schemas::{Known, Schemas};
use bumpwright_testkit::apiserver::Cluster;

const WIDGETS: &str = include_str!("schemas/widgets.yaml");
const BASES: &str = include_str!("schemas/bases.yaml");
const VERDICTS: &str = include_str!("schemas/verdicts.txt");

/// The server with the kind of `widgets.yaml`, and the same as schemas. None when its programs are missing.
fn cluster() -> Option<(&'static Cluster, Schemas)> {
    static APPLIED: Once = Once::new();
    let cluster = Cluster::shared()?;
    APPLIED.call_once(|| cluster.apply(WIDGETS));
    let version = cluster.get("/version");
    let minor = format!(
        "{}.{}",
        version["major"].as_str().unwrap(),
        version["minor"].as_str().unwrap()
    );
    let mut schemas = Schemas::bundled(Some(&minor)).unwrap();
    schemas.add_crd(&serde_saphyr::from_str(WIDGETS).unwrap()).unwrap();
    Some((cluster, schemas))
}

#[test]
fn the_server_and_the_schemas_refuse_the_same() {
    let Some((cluster, schemas)) = cluster() else { return };
    let bases: Vec<Json> = serde_saphyr::from_multiple(BASES).unwrap();
    let (mut checked, mut wrong) = (0, Vec::new());
    for base in &bases {
        compare(cluster, &schemas, base, true, &mut wrong);
    }
    let mut heading = ("", "");
    for line in VERDICTS.lines().filter(|line| !line.starts_with('#')) {
        let Some(row) = line.strip_prefix(' ') else {
            heading = line.split_once(' ').unwrap();
            continue;
        };
        let (verdict, kind) = heading;
        let mut object = bases.iter().find(|base| base["kind"] == kind).unwrap().clone();
        change(&mut object, row);
        let before = wrong.len();
        compare(cluster, &schemas, &object, verdict == "taken", &mut wrong);
        checked += 1;
        if wrong.len() > before {
            wrong.push(format!("  for {kind} {row}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    println!(
        "schemas: {checked} changes of {} kinds have the verdict of Kubernetes {}",
        bases.len(),
        schemas.minor()
    );
}

/// Sends an object to the server and checks it; appends where the two differ, or the server does not do
/// as the row says.
fn compare(cluster: &Cluster, schemas: &Schemas, object: &Json, taken: bool, wrong: &mut Vec<String>) {
    let said = cluster.create(object, "fieldValidation=Strict&dryRun=All");
    let found = schemas.check(object);
    let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
    if said.is_ok() != taken {
        wrong.push(format!("the row is wrong: the server says {said:?}"));
    }
    if said.is_ok() != found.is_empty() {
        let said = said.as_ref().map(|_| "taken");
        wrong.push(format!("the server says {said:?}, the schemas {texts:?}"));
    }
    for one in &found {
        let parent = one.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
        if object.pointer(&one.pointer).or(object.pointer(parent)).is_none() {
            wrong.push(format!("{} points nowhere", one.pointer));
        }
    }
    let server = said.err().unwrap_or_default();
    let (theirs, ours) = (unknown(&server), unknown(&texts.join("\n")));
    if theirs != ours {
        wrong.push(format!("unknown to the server {theirs:?}, to the schemas {ours:?}"));
    }
}

/// The paths of `unknown field "…"`.
fn unknown(text: &str) -> BTreeSet<String> {
    let parts = text.split("unknown field \"").skip(1);
    parts
        .filter_map(|part| Some(part.split_once('"')?.0.to_owned()))
        .collect()
}

/// Makes the change of a row.
pub(crate) fn change(object: &mut Json, row: &str) {
    let (pointer, value) = row.split_once(' ').unwrap_or((row, ""));
    let (parents, last) = pointer.rsplit_once('/').unwrap();
    let mut at = object;
    for segment in parents.split('/').skip(1) {
        at = match at {
            Json::Array(items) => &mut items[segment.parse::<usize>().unwrap()],
            Json::Object(entries) => entries.entry(segment).or_insert_with(|| Json::Object(Map::new())),
            other => panic!("{other} has no {segment}"),
        };
    }
    let value = (!value.is_empty()).then(|| serde_saphyr::from_str(value).unwrap());
    match (at, value) {
        (Json::Object(entries), None) => drop(entries.remove(last).expect("a row removes what is there")),
        (Json::Object(entries), Some(value)) => drop(entries.insert(last.to_owned(), value)),
        (Json::Array(items), Some(value)) => items[last.parse::<usize>().unwrap()] = value,
        (other, _) => panic!("{other} has no {last}"),
    }
}

#[test]
fn the_schemas_know_all_that_the_server_serves() {
    let Some((cluster, schemas)) = cluster() else { return };
    let groups = cluster.get("/apis");
    let names = groups["groups"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| group["versions"].as_array().unwrap());
    let mut served = vec![("v1".to_owned(), "/api/v1".to_owned())];
    served.extend(
        names
            .map(|version| version["groupVersion"].as_str().unwrap().to_owned())
            .map(|name| (name.clone(), format!("/apis/{name}"))),
    );
    let mut count = 0;
    for (api_version, path) in served {
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        // Other tests of this process define kinds of their own.
        if group.contains('.') && !group.ends_with(".k8s.io") && group != "example.com" {
            continue;
        }
        let list = cluster.get(&path);
        for resource in list["resources"].as_array().unwrap() {
            let kind = resource["kind"].as_str().unwrap();
            if resource["name"].as_str().unwrap().contains('/') {
                continue;
            }
            assert_eq!(
                schemas.knows(group, version, kind),
                Known::Served,
                "{api_version} {kind}"
            );
            assert_eq!(
                schemas.is_namespaced(group, kind),
                resource["namespaced"].as_bool(),
                "{api_version} {kind}"
            );
            count += 1;
        }
    }
    assert!(count > 60, "only {count} kinds");
    for (group, version, kind) in [
        ("policy", "v1beta1", "PodDisruptionBudget"),
        ("autoscaling", "v2beta2", "HorizontalPodAutoscaler"),
    ] {
        assert_eq!(
            cluster
                .request("GET", &format!("/apis/{group}/{version}"), "", "")
                .status,
            404
        );
        assert!(schemas.unserved(group, version, kind).unwrap().contains("write it as"));
    }
}
