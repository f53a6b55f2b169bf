//! Facts of the build for `bumpwright version`: the compiler and the target. Neither the time nor a path, so that builds can be
//! reproduced; and nothing of Git, so that a commit rebuilds nothing. The commit is given by who packages (`src/cli/program/version.rs`).
#![allow(clippy::print_stdout)] // how a build script speaks to Cargo

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = env::var_os("RUSTC").and_then(|rustc| Command::new(rustc).arg("--version").output().ok());
    let compiler = compiler.and_then(|output| String::from_utf8(output.stdout).ok());
    println!(
        "cargo::rustc-env=BUMPWRIGHT_RUSTC={}",
        compiler.unwrap_or_default().trim()
    );
    println!(
        "cargo::rustc-env=BUMPWRIGHT_TARGET={}",
        env::var("TARGET").unwrap_or_default()
    );
}
