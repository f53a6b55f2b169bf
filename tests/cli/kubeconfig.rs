//! Commands for a cluster without one: what is wrong with the kubeconfig, and the way out.

use bumpwright_testkit::cli::Bench;

const FILE: &str = "\
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}, {name: d, cluster: {}}]
users: [{name: u, user: {token: hunter2}}]
contexts: [{name: a, context: {cluster: c, user: u}}, {name: b, context: {cluster: x, user: u}}, {name: e, context: {cluster: d, user: u}}]
";

/// What `status` says on standard error, without its first words.
fn said(bench: &Bench, flags: &[&str]) -> String {
    let mut command = bench.command(&[&["status"], flags].concat());
    command.env_remove("KUBECONFIG").env("HOME", bench.home.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8(output.stderr).unwrap();
    let said = err.strip_prefix("error: cannot connect to the cluster: ");
    said.unwrap_or(&err).trim_end().to_owned()
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_named_with_the_way_out() {
    let bench = Bench::new();
    for (text, context, wanted) in [
        (
            None,
            None,
            "cannot read the kubeconfig config: No such file or directory",
        ),
        (Some(""), None, "the kubeconfig config is empty: it has no contexts"),
        (
            Some("{}"),
            Some("a"),
            "the kubeconfig config has no context \"a\"; it has no contexts",
        ),
        (
            Some(FILE),
            None,
            "the kubeconfig config has no current-context: choose one of \"a\", \"b\", \"e\" with --context",
        ),
        (
            Some(FILE),
            Some("z"),
            "the kubeconfig config has no context \"z\"; it has \"a\", \"b\", \"e\"",
        ),
        (
            Some(FILE),
            Some("b"),
            "the kubeconfig config has no cluster \"x\", which its context names",
        ),
        (
            Some(FILE),
            Some("e"),
            "the kubeconfig config has no server for the cluster of its context",
        ),
    ] {
        if let Some(text) = text {
            bench.write("config", text);
        }
        let context = context.map(|name| format!("--context={name}"));
        let flags: Vec<&str> = ["--kubeconfig=config"].into_iter().chain(context.as_deref()).collect();
        assert_eq!(said(&bench, &flags), wanted);
    }
    bench.write("config", "users: [{name: u, user: {token: hunter2}}");
    let broken = said(&bench, &["--kubeconfig=config"]);
    assert!(
        broken.starts_with("the kubeconfig config is invalid: line 1 column "),
        "{broken}"
    );
    assert!(!broken.contains("hunter2") && !broken.contains('\n'), "{broken}");
    let folder = said(&bench, &["--kubeconfig=."]);
    assert_eq!(folder, "cannot read the kubeconfig .: Is a directory");
}

#[test]
fn without_any_kubeconfig_the_ways_to_name_one_are_told() {
    let bench = Bench::new();
    let none = said(&bench, &[]);
    let place = bench.home.path().join(".kube/config");
    assert_eq!(
        none,
        format!(
            "there is no kubeconfig at {}, and this is not a pod of a cluster: give --kubeconfig FILE, or set KUBECONFIG",
            place.display()
        )
    );
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    let bench = Bench::new();
    bench.write("config", FILE);
    let away = said(&bench, &["--kubeconfig=config", "--context=a"]);
    assert!(
        away.contains("https://127.0.0.1:1") && away.contains("Connection refused"),
        "{away}"
    );
}
