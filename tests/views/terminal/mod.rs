//! Commands that look at a cluster: `status`, `get`, `tree`, `trace`, `events`; and
//! `reconcile`, `suspend` and `resume`.

mod actions;
mod beside_flux;
mod get;
mod guide;
mod hostile;
mod releases;
mod rights;
mod scale;
mod screen;
mod status;
mod story;
mod trace;

use std::path::Path;
use std::process::{Command, Stdio};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::{Bench, Ran};
use bumpwright_testkit::world::World;

/// Runs a command at a cluster.
fn run(cluster: &Cluster, arguments: &[&str]) -> Ran {
    run_as(&cluster.kubeconfig(), arguments)
}

/// Runs a command with another kubeconfig.
fn run_as(kubeconfig: &Path, arguments: &[&str]) -> Ran {
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let (command, flags) = arguments.split_first().unwrap();
    Bench::new().run(&[&[command, kubeconfig.as_str()], flags].concat())
}

/// Runs a command in a namespace, which must succeed; what it prints.
fn ok(world: &World<'_>, arguments: &[&str]) -> String {
    let ran = run(world.cluster, &[arguments, &["-n", &world.namespace]].concat());
    assert_eq!(ran.code, 0, "{arguments:?}\n{}\n{}", ran.out, ran.err);
    ran.out
}

/// Runs a command in a namespace; what it prints for programs.
fn json(world: &World<'_>, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&ok(world, &[arguments, &["-o", "json"]].concat())).unwrap()
}

/// The text with the namespace and the ends of lines made even.
fn even(text: &str, namespace: &str) -> String {
    text.replace(namespace, "NS")
}

/// The command at a terminal of this many columns, with colours. None without `script` and `stty`.
fn at_a_terminal(cluster: &Cluster, columns: usize, arguments: &[&str]) -> Option<Command> {
    let bench = Bench::new();
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let command = bench.command(&[arguments, &[kubeconfig.as_str()]].concat());
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let line: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let line = format!("stty cols {columns} rows 50; exec {}", line.join(" "));
    let mut script = Command::new(bumpwright_testkit::tool("script")?);
    script
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    Some(script)
}
