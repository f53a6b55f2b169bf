//! The flags of Flux's four controllers: each of their Deployments starts with our image in place of theirs, and limits
//! on requests are respected.
//!
//! Takes about ten seconds.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, documents, map};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::World;
use parking_lot::Mutex;
use serde_json::json;

/// Flux's controllers, and what `--controllers` calls their kinds.
const CONTROLLERS: [(&str, &str); 4] = [
    ("source-controller", "source"),
    ("kustomize-controller", "kustomize"),
    ("image-reflector-controller", "image-reflector"),
    ("image-automation-controller", "image-automation"),
];

/// Where a process listens and writes is for the test to say.
const PLACES: [&str; 4] = ["storage-path", "storage-addr", "metrics-addr", "health-addr"];

/// All flags of a program of Flux with their defaults, by its own help: `      --name type   What
/// it does (default value)`.
fn flags_of(program: &str) -> Option<Vec<String>> {
    let output = Command::new(bumpwright_testkit::tool(program)?)
        .arg("--help")
        .output()
        .unwrap();
    let help = [output.stdout, output.stderr].concat();
    let help = String::from_utf8(help).unwrap();
    let lines = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    let flags = lines.filter_map(|line| {
        let (name, rest) = line.split_once(' ')?;
        let kind = rest.split_once("  ").map_or("", |(kind, _)| kind);
        let default = rest
            .rsplit_once("(default ")
            .map(|(_, default)| default.trim_end_matches(')'));
        let value = match (default, kind) {
            (Some(default), _) => default.trim_matches('"'),
            (None, "") => "false",
            (None, "int" | "uint8" | "uint16" | "float32") => "0",
            (None, _) => "",
        };
        let is_ours = !PLACES.contains(&name);
        is_ours.then(|| format!("--{name}={value}"))
    });
    Some(flags.collect())
}

/// The variables of the environment that have defaults of flags are those of Flux's controllers.
#[test]
fn variables_of_flags_are_those_of_flux() {
    let mut read = BTreeSet::new();
    for (program, _) in CONTROLLERS {
        let Some(program) = bumpwright_testkit::tool(program) else {
            return;
        };
        let help = |variables: &[String]| {
            let mut command = Command::new(&program);
            command
                .arg("--help")
                .envs(variables.iter().map(|name| (name, format!("<{name}>"))));
            let output = command.output().unwrap();
            String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
        };
        let flags = |help: &str| -> Vec<(String, String)> {
            let lines = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
            let flags = lines.filter_map(|line| line.split_once(' '));
            flags.map(|(name, rest)| (name.to_owned(), rest.to_owned())).collect()
        };
        // A variable has the name of its flag, but for one.
        let mut variables: Vec<String> = flags(&help(&[]))
            .iter()
            .map(|(name, _)| name.to_uppercase().replace('-', "_"))
            .collect();
        variables.push("STORAGE_ADDRESS".to_owned());
        for (flag, rest) in flags(&help(&variables)) {
            let found = variables
                .iter()
                .find(|name| rest.contains(&format!("(default \"<{name}>\")")));
            read.extend(found.map(|name| (flag, name.clone())));
        }
    }
    let named: Vec<&str> = read.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(
        named,
        [
            "EVENTS_ADDR",
            "METRICS_ADDR",
            "STORAGE_ADDRESS",
            "STORAGE_ADV_ADDR",
            "STORAGE_PATH"
        ]
    );
    let help = Bench::new().ok(&["controller", "--help"]).out;
    for (flag, name) in &read {
        let (_, after) = help.split_once(&format!("--{flag} <")).unwrap();
        let about = after.split("\n      --").next().unwrap();
        assert!(about.contains(&format!("[env: {name}=")), "{flag}: {about}");
    }
}

/// Before anything is started. An empty variable counts as unset.
#[test]
fn a_variable_takes_the_place_of_its_flag() {
    let run = |value: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bumpwright"));
        command
            .args(["controller", "--kubeconfig=/nowhere"])
            .env("RUNTIME_NAMESPACE", "x");
        for name in ["METRICS_ADDR", "STORAGE_ADDRESS"] {
            command.env(name, value);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = run("nowhere");
    assert!(said.contains("--metrics-addr: ") && said.contains("nowhere"), "{said}");
    let said = run("");
    assert!(said.contains("/nowhere"), "{said}");
}

#[test]
fn every_flag_of_flux_is_taken() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    for (program, kinds) in CONTROLLERS {
        let Some(mut flags) = flags_of(program) else { return };
        assert!(flags.len() > 20, "{program}: {flags:#?}");
        // Others are at work in this cluster.
        flags.retain(|flag| !flag.starts_with("--watch-all-namespaces"));
        flags.push(format!("--storage-addr=127.0.0.1:{}", free_port()));
        flags.push(format!("--controllers={kinds}"));
        flags.push("--watch-all-namespaces=false".to_owned());
        let world = World::new(cluster, program);
        let folder = world.folder_of("controller");
        let controller = Controller::ours(&cluster.kubeconfig(), program, &folder)
            .flags(&flags)
            .start();
        until("it is ready", || {
            assert!(controller.is_running(), "{program}: {}", controller.log());
            controller.probe("readyz").is_some_and(|(status, _)| status == 200)
        });
        let log = controller.log();
        let said = log.matches("have no effect here").count();
        let means_nothing = |flag: &String| flag.starts_with("--helm-") || flag.starts_with("--gc-");
        assert_eq!(said, usize::from(flags.iter().any(means_nothing)), "{program}: {log}");
        assert_eq!(controller.stop(), Some(0));
    }
}

/// No request is refused or lost, none comes before its time, and what is to be done is done.
#[test]
fn requests_keep_to_the_pace() {
    const PER_SECOND: f64 = 40.0;
    const BURST: f64 = 10.0;
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "pace");
    let proxy = ApiProxy::start(cluster);
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    proxy.intercept(move |_| {
        seen.lock().push(Instant::now());
        None
    });
    let maps: Vec<String> = (0..60).map(|n| map(&format!("map{n}"), "1")).collect();
    world.publish("app", "1", &[("maps.yaml", &documents(&maps))]);
    world.kustomize("app", json!({}));
    let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
    let began = Instant::now();
    let flags = [
        format!("--kube-api-qps={PER_SECOND}"),
        format!("--kube-api-burst={BURST}"),
    ];
    let flags = flags.each_ref().map(String::as_str);
    let controller = world.controller_through(&kubeconfig, "controller", &flags);
    world.applied("app", "1");
    let times = times.lock().clone();
    assert!(times.len() > 120, "{}: {}", times.len(), controller.log());
    for (before, time) in times.iter().enumerate() {
        let allowed = BURST + PER_SECOND * (*time - began).as_secs_f64();
        assert!(
            (before as f64) < allowed,
            "request {before} came after {:?}",
            *time - began
        );
    }
}

#[test]
fn a_pace_of_nothing_is_refused() {
    let run = |flag: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bumpwright"));
        command.args(["controller", "--kubeconfig=/nowhere", flag]);
        let output = command.env("RUNTIME_NAMESPACE", "x").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = run("--kube-api-burst=-1");
    assert_eq!(code, Some(2));
    assert!(said.contains("--kube-api-burst: -1 lets no request pass"), "{said}");
    let (_, said) = run("--kube-api-qps=many");
    assert!(said.contains("--kube-api-qps"), "{said}");
}
