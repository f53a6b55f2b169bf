//! `bumpwright demo`: the main job on an example fleet, over a real transport, with git as the only requirement.

pub mod args;
mod fleet;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cli::console;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::places::Places;
use crate::cli::update::{self, args::Update};
use args::Demo;
use fleet::FILES;

/// Reads a command line of `update`.
type Typed = fn(&[&str]) -> Result<Box<Update>, CliError>;

#[must_use]
pub fn run(args: &Demo, typed: Typed) -> ExitCode {
    console::end_with(demo(args, typed))
}

fn demo(args: &Demo, typed: Typed) -> Result<u8, CliError> {
    let (folder, temporary) = folder(args)?;
    let fleet = folder.join("fleet");
    let remote = folder.join("fleet.git");
    make(&fleet, &remote)?;
    let url = format!("file://{}", remote.display());
    let manifests = fleet.join("clusters").display().to_string();
    tell(&format!(
        "A fleet of {} files stands in {url}; its policies want newer images.\n",
        FILES.len()
    ));

    let cache = folder.join("cache");
    let preview = ["update", "-f", &manifests, &url, "--dry-run", "--output", "diff"];
    let code = step(&preview, &cache, typed)?;
    if code != 0 {
        return Ok(code);
    }
    let code = step(&["update", "-f", &manifests, &url], &cache, typed)?;
    if code != 0 {
        return Ok(code);
    }
    let shown = git(&remote, &["log", "--stat", "--format=%h %an: %s", "-2"])?;
    tell(&format!("\n$ git log --stat -2\n{shown}"));
    match temporary {
        None => tell(&format!("\nLook at it: git -C {} show", remote.display())),
        Some(_) => tell("\nThe repository is gone now; `bumpwright demo --keep DIR` keeps it."),
    }
    Ok(0)
}

/// Prints a command line and runs it.
fn step(arguments: &[&str], cache: &Path, typed: Typed) -> Result<u8, CliError> {
    tell(&format!("$ bumpwright {}", arguments.join(" ")));
    // A demo does not use the user's keys.
    let line = [&["bumpwright"], arguments, &["--no-sign"]].concat();
    let args = typed(&line)?;
    Ok(update::code(&args, &mut Places::in_folder(cache.to_owned())))
}

/// The working folder, and a guard that removes a temporary one.
fn folder(args: &Demo) -> Result<(PathBuf, Option<tempfile::TempDir>), CliError> {
    let Some(keep) = &args.keep else {
        let temporary = tempfile::tempdir().at("cannot make a temporary folder")?;
        return Ok((temporary.path().to_owned(), Some(temporary)));
    };
    fs::create_dir_all(keep).at(keep.display())?;
    if fs::read_dir(keep).at(keep.display())?.next().is_some() {
        return Err(CliError::new(format!(
            "{} is not empty: give --keep a new folder",
            keep.display()
        )));
    }
    Ok((fs::canonicalize(keep).at(keep.display())?, None))
}

/// Writes the fleet, and creates a bare repository with it.
fn make(fleet: &Path, remote: &Path) -> Result<(), CliError> {
    for (name, content) in FILES {
        let path = fleet.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).at(path.display())?;
        }
        fs::write(&path, content).at(path.display())?;
    }
    git(fleet, &["init", "--quiet", "--initial-branch=main"])?;
    git(fleet, &["add", "--all"])?;
    git(
        fleet,
        &["commit", "--quiet", "--message=The fleet as its people wrote it"],
    )?;
    let to = remote.display().to_string();
    git(fleet, &["clone", "--quiet", "--bare", ".", &to]).map(drop)
}

/// Runs git without the user's settings, so that the demo is the same for everybody.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, CliError> {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    // The environment of a hook would redirect git to the hook's repository.
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT",
    ] {
        command.env_remove(name);
    }
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "Ada")
            .env(format!("GIT_{role}_EMAIL"), "ada@acme.example");
    }
    let out = command
        .output()
        .at("cannot run git")
        .hint("the demo needs it on the PATH")?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(CliError::new(format!("git {}: {}", arguments.join(" "), said.trim())));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

fn tell(text: &str) {
    let _ = writeln!(anstream::stdout(), "{text}");
}
