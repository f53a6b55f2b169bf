//! `bumpwright envsubst`, beside the one of Flux (K-097).

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use bumpwright_testkit::cli::{Bench, Ran, ran};

const VARIABLES: [(&str, &str); 3] = [("cluster_region", "eu-central-1"), ("EMPTY", ""), ("VERSION", "v1.2.3")];

const TEXT: &str = "\
labels:
  environment: ${cluster_env:=dev}
  region: ${cluster_region}
  short: ${cluster_region:0:2}${cluster_region/-*/}
  none: \"${EMPTY}|${EMPTY:-x}\"
  kept: $${VERSION} $VERSION {VERSION}
  upper: ${VERSION^^} ${VERSION#v} ${#VERSION}
";

/// A program with the text as its input.
fn piped(mut command: Command, text: &str) -> Ran {
    let command = command
        .envs(VARIABLES)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    ran(child.wait_with_output().unwrap())
}

fn flux(program: &Path, arguments: &[&str], text: &str) -> Ran {
    let mut command = Command::new(program);
    command
        .arg("envsubst")
        .args(arguments)
        .env("HTTPS_PROXY", "http://127.0.0.1:9");
    piped(command, text)
}

#[test]
fn variables_are_those_of_the_environment() {
    let bench = Bench::new();
    let ours = |arguments: &[&str], text: &str| piped(bench.command(&[&["envsubst"], arguments].concat()), text);
    let text = ours(&["--strict"], TEXT);
    assert_eq!(text.code, 0, "{}", text.err);
    assert!(
        text.out.contains("environment: dev\n  region: eu-central-1\n"),
        "{}",
        text.out
    );
    let missing = format!("{TEXT}a: ${{nowhere}}\n");
    assert!(ours(&[], &missing).out.ends_with("a: \n"));
    let refused = ours(&["--strict"], &missing);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    assert!(
        refused
            .err
            .contains("standard input:8: variable not set (strict mode): \"nowhere\""),
        "{}",
        refused.err
    );
    // Neither a line break at the end is made, nor is an expression bound to a line.
    bench.write("a.yaml", "a: ${x:=b\nc}");
    assert_eq!(bench.ok(&["envsubst", "a.yaml"]).out, "a: b\nc");
    assert!(bench.run(&["envsubst", "none.yaml"]).err.contains("none.yaml: "));

    let Some(program) = bumpwright_testkit::tool("flux") else {
        return;
    };
    assert_eq!(flux(&program, &["--strict"], TEXT).out, text.out);
    assert_eq!(flux(&program, &[], &missing).out, ours(&[], &missing).out);
    assert_ne!(flux(&program, &["--strict"], &missing).code, 0);
}
