//! The dashboard and the PodMonitor: a process has the metrics that they query.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{deploy, exported, kustomized, text};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::ELECTION;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::AUTOMATION;

fn dashboard() -> Json {
    serde_json::from_slice(&std::fs::read(deploy().join("monitoring/dashboard.json")).unwrap()).unwrap()
}

/// Every expression in it, the ones of variables too.
fn expressions(dashboard: &Json) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut all: Vec<String> = targets.map(|target| text(target, "/expr").to_owned()).collect();
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    all.extend(
        variables
            .filter(|one| one["type"] == "query")
            .map(|one| text(one, "/query/query").to_owned()),
    );
    all
}

/// The metrics in an expression: names that hold an underscore and are no function, label or variable.
fn metrics(expression: &str) -> BTreeSet<String> {
    let outside_of_strings: String = expression.split('"').step_by(2).collect();
    let words = outside_of_strings.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$');
    words
        .filter(|word| word.contains('_') && !word.starts_with('$'))
        .filter(|word| !["histogram_quantile", "label_values"].contains(word))
        .map(str::to_owned)
        .collect()
}

/// Names of samples on a page of metrics.
fn samples(page: &str) -> BTreeSet<String> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split(['{', ' ']).next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_metric_of_the_dashboard_is_shown_by_a_process() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "dashboard", "1h");
    let odd = "odd: a:1 # {\"$imagepolicy\": \"dashboard:nobody\"}\n";
    world.repo.commit(
        "main",
        "a marker of no policy",
        &[Change::File("odd.yaml", odd.as_bytes())],
    );
    world.publish("app", "1.1.0");
    let controller = world.controller(&[&ELECTION[..], &["--events-addr=http://127.0.0.1:9/"]].concat());
    world.app_ready(AUTOMATION);
    world.in_git("1.1.0");
    let asked: BTreeSet<String> = expressions(&dashboard()).iter().flat_map(|one| metrics(one)).collect();
    assert!(asked.len() > 12, "{asked:?}");
    let missing = || -> Vec<String> { asked.difference(&samples(&controller.metrics())).cloned().collect() };
    wait_for(
        || missing().is_empty(),
        || format!("not shown: {:?}\n{}", missing(), controller.metrics()),
    );
}

/// What Grafana asks of the model of a dashboard (Grafana, *Dashboard JSON model*), as far as ours uses it.
#[test]
fn the_dashboard_is_one() {
    let dashboard = dashboard();
    assert_eq!(dashboard["id"], Json::Null, "an id belongs to one Grafana");
    assert_eq!(
        (text(&dashboard, "/uid"), text(&dashboard, "/title")),
        ("bumpwright", "bumpwright")
    );
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 36);
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "ids of panels differ");
    let mut cells = BTreeSet::new();
    for panel in panels {
        assert!(["stat", "table", "timeseries"].contains(&text(panel, "/type")));
        assert_eq!(text(panel, "/datasource/uid"), "${datasource}");
        let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(side("x") + side("w") <= 24, "{}", panel["title"]);
        for (x, y) in
            (side("x")..side("x") + side("w")).flat_map(|x| (side("y")..side("y") + side("h")).map(move |y| (x, y)))
        {
            assert!(cells.insert((x, y)), "{} covers another", panel["title"]);
        }
        let letters: BTreeSet<&str> = panel["targets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| text(one, "/refId"))
            .collect();
        assert_eq!(letters.len(), panel["targets"].as_array().unwrap().len());
    }
    for expression in expressions(&dashboard) {
        for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
            let count = |wanted: char| expression.chars().filter(|c| *c == wanted).count();
            assert_eq!(count(open), count(close), "{expression}");
        }
    }
}

#[test]
fn the_monitor_finds_the_pods_and_their_port() {
    let Some(all) = kustomized("resources: [DEPLOY/monitoring]\n") else {
        return;
    };
    let names: Vec<&String> = all.keys().collect();
    assert_eq!(
        names,
        [
            "ConfigMap flux-system/bumpwright-dashboard",
            "PodMonitor flux-system/bumpwright"
        ]
    );
    let monitor = &all["PodMonitor flux-system/bumpwright"];
    let template = &exported(&[])["Deployment flux-system/bumpwright"]["spec"]["template"];
    for (key, value) in monitor["spec"]["selector"]["matchLabels"].as_object().unwrap() {
        assert_eq!(&template["metadata"]["labels"][key], value);
    }
    let wanted = &monitor["spec"]["podMetricsEndpoints"][0]["port"];
    let ports = template["spec"]["containers"][0]["ports"].as_array().unwrap();
    let port = ports.iter().find(|port| &port["name"] == wanted).unwrap();
    assert_eq!(port["containerPort"], 8080, "the default of --metrics-addr");
    let map = &all["ConfigMap flux-system/bumpwright-dashboard"];
    let kept: Json = serde_json::from_str(map["data"]["bumpwright.json"].as_str().unwrap()).unwrap();
    assert_eq!(kept, dashboard());
}
