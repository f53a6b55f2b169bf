//! Real servers for tests and benches: repositories, a smart HTTP server, an SSH server, a registry; and stubs for
//! behaviour that real ones do not have. A suite about controllers begins with a cluster ([`apiserver`]) and a
//! namespace in it ([`world`]); delayed effects are waited for ([`waiting`]).
//!
//! For tests of the root package Cargo builds the program: see [`program`]. Benchmarks start the servers by
//! `src/bin/servers.rs`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::new_without_default,
    clippy::print_stdout
)]

mod fixture;
pub mod forge;
mod program;
mod server;
mod signature;

use std::path::{Path, PathBuf};
use std::process::Command;

pub use fixture::{
    deployments, hostile, image_world, images, kustomize_world, mirror, nodes, old_manifests, packets, repo, shards,
    tarball, windows, world,
};
pub use program::{
    browser, cli, controller, gotemplate_struct, helm_controller, memory_group, oracle, ports, reply, running, waiting,
};
pub use server::{
    api_proxy, apiserver, gerrit, git_http, gitea, http_server, key_stores, moto, object_stores, prometheus, proxy,
    registries, registry, rekor, sign_in_proxy, sshd, stub_http, token_server,
};
pub use signature::{aws_signature, digests, gpg, rsa, signatures, sigstore, tls};

pub use bumpwright_corpora::{self as corpora, root};

/// The program under test. Before a test of the root package runs, Cargo builds it and puts it two
/// folders above the test.
pub fn program() -> PathBuf {
    built("bumpwright")
}

/// Runs a test again in a process of its own, to set its environment or to measure it. The test has to detect
/// that, for example by a variable.
pub fn again<Test: Fn()>(_: Test) -> Command {
    let path = std::any::type_name::<Test>();
    let (_, name) = path.split_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name]);
    command
}

/// Cargo's target folder.
fn target() -> PathBuf {
    built("..")
}

/// A folder for this process, and none any more for those that have ended. In memory where possible: on a busy disk
/// each transaction takes seconds.
pub(crate) fn fresh_folder(server: &str) -> PathBuf {
    let prefix = format!("bumpwright-{server}-");
    let memory = PathBuf::from("/dev/shm");
    let root = if memory.is_dir() { memory } else { target().join("tmp") };
    std::fs::create_dir_all(&root).unwrap();
    for entry in std::fs::read_dir(&root).unwrap().filter_map(Result::ok) {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(&prefix));
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            drop(std::fs::remove_dir_all(entry.path()));
        }
    }
    let folder = root.join(format!("{prefix}{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A file in the folder above `deps`, in which a running test is.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().with_file_name(name)
}

/// Whether a program that a test needs exists. Without it the test is skipped, but fails when `CI` is set.
pub fn has(program: &str, package: &str) -> bool {
    Path::new(program).exists() || found_in_path(program).is_some() || skipped(program, &format!("install {package}"))
}

/// A program built by `tests/tools/prepare`, or the user's own. Without it the test is skipped, but fails
/// when `CI` is set.
pub fn tool(program: &str) -> Option<PathBuf> {
    let tools = match (std::env::var_os("BUMPWRIGHT_TOOLS"), std::env::var_os("HOME")) {
        (Some(tools), _) => Some(PathBuf::from(tools)),
        (None, home) => home.map(|home| Path::new(&home).join(".cache/bumpwright/bin")),
    };
    let built = tools
        .map(|tools| tools.join(program))
        .filter(|program| program.exists());
    let found = built.or_else(|| found_in_path(program));
    if found.is_none() {
        skipped(
            program,
            "run tests/tools/prepare, or prepare-real for those of tests/real",
        );
    }
    found
}

fn found_in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|program| program.exists())
}

fn skipped(program: &str, remedy: &str) -> bool {
    assert!(std::env::var_os("CI").is_none(), "{program} is missing; {remedy}");
    println!("skipped: {program} is missing; {remedy}");
    false
}
