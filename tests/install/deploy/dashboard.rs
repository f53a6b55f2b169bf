//! The dashboard, the alerts and the PodMonitor: a process has the metrics that they query. `tests/real/prometheus.rs`
//! has Prometheus evaluate them.

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
        .filter(|word| !["histogram_quantile", "label_values", "max_over_time", "min_over_time"].contains(word))
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
    let mut asked: BTreeSet<String> = expressions(&dashboard()).iter().flat_map(|one| metrics(one)).collect();
    // Of Kustomizations, which this process has not.
    assert!(asked.remove("bumpwright_drift_corrections_total"));
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

/// The groups of `rules.yaml`.
fn rules() -> Json {
    let text = std::fs::read_to_string(deploy().join("monitoring/rules.yaml")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// kustomize cannot put a file into an object's spec, so there is a copy; `BLESS=1` makes it again.
#[test]
fn the_operator_gets_the_same_rules() {
    let text = std::fs::read_to_string(deploy().join("monitoring/rules.yaml")).unwrap();
    let file = deploy().join("monitoring/prometheus-rule.yaml");
    let kept = std::fs::read_to_string(&file).unwrap();
    let (head, _) = kept.split_once("\nspec:\n").unwrap();
    let lines = text.lines().skip_while(|line| *line != "groups:");
    let spec: String = lines.map(|line| format!("  {line}\n")).collect();
    let wanted = format!("{head}\nspec:\n{spec}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &wanted).unwrap();
    }
    assert!(
        kept == wanted || std::env::var_os("BLESS").is_some(),
        "{}: run this test with BLESS=1",
        file.display()
    );
    let object: Json = serde_saphyr::from_str(&wanted).unwrap();
    assert_eq!(object["spec"], rules());
}

/// Each has a section in the book, and its address.
#[test]
fn alerts_say_what_to_do() {
    let book = deploy().join("../docs/guides/monitoring.md");
    let book = std::fs::read_to_string(book).unwrap();
    let rules = rules();
    let groups = rules["groups"].as_array().unwrap().iter();
    let alerts: Vec<&Json> = groups.flat_map(|group| group["rules"].as_array().unwrap()).collect();
    assert!(alerts.len() > 8);
    for alert in alerts {
        let name = text(alert, "/alert");
        let notes = alert["annotations"].as_object().unwrap();
        assert!(
            ["summary", "description"]
                .iter()
                .all(|note| notes[*note].as_str().is_some_and(|text| text.len() > 10)),
            "{name}"
        );
        let page = "https://github.com/bumpwright/bumpwright/blob/main/docs/guides/monitoring.md";
        assert_eq!(notes["runbook_url"], format!("{page}#{}", name.to_lowercase()));
        assert!(book.contains(&format!("\n### {name}\n")), "{name} is not in the book");
        assert!(
            ["critical", "warning", "info"].contains(&text(alert, "/labels/severity")),
            "{name}"
        );
    }
}

/// A metric that other programs have, too, is chosen by its job: Flux's controllers and the API server
/// are scraped as well.
#[test]
fn names_of_others_are_chosen_by_the_job() {
    let rules = rules();
    let groups = rules["groups"].as_array().unwrap().iter();
    let alerts = groups.flat_map(|group| group["rules"].as_array().unwrap());
    let mut all = expressions(&dashboard());
    all.extend(alerts.map(|alert| text(alert, "/expr").to_owned()));
    for expression in all {
        for name in metrics(&expression)
            .iter()
            .filter(|name| !name.starts_with("bumpwright_"))
        {
            let uses = expression.matches(name.as_str()).count();
            let chosen = expression.matches(&format!("{name}{{job=~\".*bumpwright.*\"")).count();
            assert_eq!(uses, chosen, "{name} in {expression}");
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
            "PodMonitor flux-system/bumpwright",
            "PrometheusRule flux-system/bumpwright"
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
