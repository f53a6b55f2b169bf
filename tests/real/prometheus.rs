//! The real Prometheus scrapes running controllers: names follow its conventions, every panel of the dashboard has
//! data, every alert is unit-tested and finds its trouble in the scrape. Grafana's own types read the dashboard.

mod scenario;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::prometheus::{Prometheus, Target};
use bumpwright_testkit::waiting::wait_for;
use scenario::Scenario;
use serde_json::Value as Json;

fn monitoring(name: &str) -> PathBuf {
    bumpwright_testkit::root().join("deploy/monitoring").join(name)
}

fn text<'a>(value: &'a Json, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

/// Name and expression of all alerts.
fn alerts() -> Vec<(String, String)> {
    let rules: Json = serde_saphyr::from_str(&std::fs::read_to_string(monitoring("rules.yaml")).unwrap()).unwrap();
    let groups = rules["groups"].as_array().unwrap().iter();
    let alerts = groups.flat_map(|group| group["rules"].as_array().unwrap());
    let named = |alert: &Json| (text(alert, "/alert").to_owned(), text(alert, "/expr").to_owned());
    alerts.map(named).collect()
}

fn dashboard() -> Json {
    serde_json::from_slice(&std::fs::read(monitoring("dashboard.json")).unwrap()).unwrap()
}

fn said(out: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    )
}

fn promtool(arguments: &[&str]) -> Option<Command> {
    let mut command = Command::new(bumpwright_testkit::tool("promtool")?);
    command.args(arguments);
    Some(command)
}

/// Each alert in both ways: it fires, and it does not.
#[test]
fn alerts_fire_when_they_should() {
    let rules = monitoring("rules.yaml");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/prometheus/alerts.yaml");
    let Some(mut check) = promtool(&["check", "rules", "--lint-fatal", "--lint=all"]) else {
        return;
    };
    let out = check.arg(rules).output().unwrap();
    assert!(out.status.success(), "{}", said(&out));
    let out = promtool(&["test", "rules"]).unwrap().arg(&tests).output().unwrap();
    assert!(out.status.success(), "{}", said(&out));
    let tested: Json = serde_saphyr::from_str(&std::fs::read_to_string(tests).unwrap()).unwrap();
    let rows = tested["tests"].as_array().unwrap().iter();
    let rows: Vec<&Json> = rows
        .flat_map(|test| test["alert_rule_test"].as_array().unwrap())
        .collect();
    for (name, _) in alerts() {
        let of_alert = || rows.iter().filter(|row| row["alertname"] == name.as_str());
        let fires = |row: &&&Json| !row["exp_alerts"].as_array().unwrap().is_empty();
        assert!(
            of_alert().any(|row| fires(&row)) && !of_alert().all(|row| fires(&row)),
            "{name}"
        );
    }
}

/// What Grafana makes of the file: fields that it does not know, or misses, are errors.
#[test]
fn grafana_knows_all_of_the_dashboard() {
    let Some(program) = bumpwright_testkit::tool("grafana-dashboard") else {
        return;
    };
    let read = |file: &Path| Command::new(&program).arg(file).output().unwrap();
    let out = read(&monitoring("dashboard.json"));
    assert!(out.status.success(), "{}", said(&out));
    let folder = tempfile::tempdir().unwrap();
    for (pointer, wrong) in [
        ("/panels/0/options/graph", serde_json::json!("none")),
        ("/panels/7/fieldConfig/defaults/custom/lineWide", serde_json::json!(1)),
        ("/panels/0/gridPos/h", serde_json::json!("high")),
        ("/panels/0/targets/0/exprr", serde_json::json!("up")),
        ("/refreshh", serde_json::json!("1m")),
    ] {
        let mut broken = dashboard();
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        broken.pointer_mut(parent).unwrap()[last] = wrong;
        let file = folder.path().join("dashboard.json");
        std::fs::write(&file, broken.to_string()).unwrap();
        assert!(!read(&file).status.success(), "{pointer} is not noticed");
    }
}

#[test]
fn prometheus_understands_a_running_controller() {
    let Some(cluster) = Cluster::shared() else { return };
    let scenario = Scenario::start(cluster);
    let server = cluster.url().trim_start_matches("https://").to_owned();
    let of_ours = |pod: &'static str, controller: &Controller| Target {
        job: if pod == "leader" {
            "flux-system/bumpwright"
        } else {
            "flux-system/bumpwright-standby"
        },
        pod,
        address: format!("127.0.0.1:{}", controller.ports().0),
        secure: None,
    };
    // The API server has metrics of the same names.
    let other = Target {
        job: "apiserver",
        pod: "",
        address: server,
        secure: Some((cluster.ca().to_vec(), cluster.token().to_owned())),
    };
    let targets = [
        of_ours("leader", &scenario.leader),
        of_ours("standby", &scenario.standby),
        other,
    ];
    let Some(prometheus) = Prometheus::start(&targets, &monitoring("rules.yaml")) else {
        return;
    };
    // Counters grow from what was scraped first.
    prometheus.finds("bumpwright_push_races_total == 0");
    scenario.makes_trouble(|| drop(prometheus.finds("bumpwright_drift_corrections_total{name=\"app\"} == 0")));
    conventions(&scenario.leader);
    panels(&prometheus);
    troubles(&prometheus);
    others_are_left_out(&prometheus);
    let Scenario { leader, standby, .. } = scenario;
    drop((leader, standby));
    prometheus.finds("ALERTS{alertname=\"BumpwrightDown\",alertstate=\"pending\"}");
    let log = prometheus.log();
    assert!(log.is_empty(), "{log}");
}

/// `promtool check metrics` of what a process shows: it finds nothing, also not in the names of Flux's controllers.
fn conventions(controller: &Controller) {
    let Some(mut check) = promtool(&["check", "metrics"]) else {
        return;
    };
    let pipes = check
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(controller.metrics().as_bytes())
        .unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success() && said(&out).is_empty(), "{}", said(&out));
}

/// Every query of the dashboard, and every variable.
fn panels(prometheus: &Prometheus) {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    for target in panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap()) {
        let expression = text(target, "/expr").replace("$namespace", ".*");
        let series = prometheus.finds(&expression);
        let legend = text(target, "/legendFormat");
        for name in legend.split("{{").skip(1).map(|part| part.split_once("}}").unwrap().0) {
            let named = series.iter().all(|one| one["metric"][name].as_str().is_some());
            assert!(named, "{expression} has no label {name}: {series:#?}");
        }
    }
    let variable = text(&dashboard, "/templating/list/1/query/query");
    let (selector, label) = variable
        .strip_prefix("label_values(")
        .and_then(|rest| rest.strip_suffix(')')?.rsplit_once(", "))
        .unwrap();
    let values = prometheus
        .ask(&format!("label/{label}/values"), &[("match[]", selector)])
        .unwrap();
    assert_eq!(values, serde_json::json!([scenario::NAMESPACE]));
}

/// Every alert finds what the scenario did, as far as it does not look at the past; none has an error.
fn troubles(prometheus: &Prometheus) {
    // They ask for a quarter of an hour, or a day: `alerts.yaml` has them.
    let of_the_past = [
        "BumpwrightQueueNotDraining",
        "BumpwrightObjectBehind",
        "BumpwrightMarkersSkipped",
    ];
    let at_the_end = ["BumpwrightDown"];
    for (name, expression) in alerts() {
        let now = prometheus.query(&expression).unwrap();
        if of_the_past.contains(&name.as_str()) || at_the_end.contains(&name.as_str()) {
            assert!(now.is_empty(), "{name}: {now:#?}");
            continue;
        }
        let found = prometheus.finds(&expression);
        let objects: BTreeSet<&str> = found
            .iter()
            .map(|one| text(one, "/metric/name"))
            .filter(|one| !one.is_empty())
            .collect();
        let wanted = scenario::TROUBLES.iter().find(|(alert, _)| *alert == name);
        let wanted: BTreeSet<&str> = wanted.iter().flat_map(|(_, objects)| objects.iter().copied()).collect();
        assert_eq!(objects, wanted, "{name}");
    }
    let healthy = || {
        let rules = prometheus.ask("rules", &[]).unwrap();
        let groups = rules["groups"].as_array().unwrap().iter();
        let mut all = groups.flat_map(|group| group["rules"].as_array().unwrap());
        all.all(|rule| rule["health"] == "ok" || (rule["health"] == "unknown" && rule["lastError"] == Json::Null))
    };
    wait_for(healthy, || format!("{:#}", prometheus.ask("rules", &[]).unwrap()));
}

/// What other programs count, and what waits in a process that does not lead.
fn others_are_left_out(prometheus: &Prometheus) {
    prometheus.finds("workqueue_depth{job=\"apiserver\"}");
    let waiting = prometheus
        .query("sum by (controller) (workqueue_depth{job=~\".*bumpwright.*\"})")
        .unwrap();
    assert_eq!(waiting.len(), 9, "{waiting:#?}");
    let standby = prometheus.query("sum(workqueue_depth{pod=\"standby\"})").unwrap();
    assert_eq!(
        standby[0]["value"][1], "0",
        "nothing waits for a process that does not lead"
    );
    assert!(
        prometheus
            .query("leader_election_master_status{pod=\"standby\"} == 1")
            .unwrap()
            .is_empty()
    );
    let up = prometheus.query("count(up == 1)").unwrap();
    assert_eq!(up[0]["value"][1], "3");
}
