//! A container without its runtime: the program in the root file system of its image, mounted read-only, with volumes,
//! as a user without rights, and with no variables but the given ones.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

use super::Image;
use bumpwright_testkit::cli::{Ran, ran};
use bumpwright_testkit::repo::run;
use bumpwright_testkit::waiting::until;

/// Mounts in a namespace of its own, then becomes what stands after `--`.
const SCRIPT: &str = r#"
    root=$1; shift
    mount --bind "$root" "$root"
    mount --rbind /proc "$root/proc"
    mount --rbind /dev "$root/dev"
    while [ "$1" != -- ]; do
        mount --bind "$1" "$root$2"
        [ "$3" = rw ] || mount -o remount,bind,ro "$root$2"
        shift 3
    done
    shift
    mount -o remount,bind,ro "$root"
    exec setpriv --no-new-privs env -i "$@""#;

pub struct Container<'a> {
    image: &'a Image,
    root: tempfile::TempDir,
    volumes: Vec<String>,
    environment: Vec<String>,
    user: String,
    folder: String,
}

impl<'a> Container<'a> {
    /// The image's user and variables. None where mounting is not allowed.
    pub fn of(image: &'a Image) -> Option<Self> {
        let mut probe = Command::new("unshare");
        probe
            .args(["--mount", "--setgid=65532", "--setuid=65532", "true"])
            .stderr(Stdio::null());
        if !probe.status().is_ok_and(|status| status.success()) {
            assert!(std::env::var_os("CI").is_none(), "a container needs root, to mount");
            println!("skipped: a container needs root, to mount");
            return None;
        }
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        run(Command::new("tar")
            .args(["--numeric-owner", "-xpf"])
            .arg(&image.files)
            .arg("-C")
            .arg(root.path()));
        for folder in ["proc", "dev"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        let config = &image.config["config"];
        let strings = |value: &Json| serde_json::from_value::<Vec<String>>(value.clone()).unwrap();
        let container = Self {
            environment: strings(&config["Env"]),
            user: config["User"].as_str().unwrap().to_owned(),
            folder: "/".to_owned(),
            volumes: Vec::new(),
            root,
            image,
        };
        // Names resolve as in any container.
        Some(container.volume(Path::new("/etc/hosts"), "/etc/hosts", "ro"))
    }

    /// Mounts a folder or file `ro` or `rw`.
    pub fn volume(mut self, from: &Path, to: &str, mode: &str) -> Self {
        let at = self.root.path().join(to.trim_start_matches('/'));
        if from.is_dir() {
            fs::create_dir_all(at).unwrap();
        } else {
            File::create(at).unwrap();
        }
        self.volumes
            .extend([from.to_str().unwrap(), to, mode].map(str::to_owned));
        self
    }

    /// Mounts an empty folder as the kubelet does an `emptyDir`, for a pod with `fsGroup`.
    pub fn empty(self, from: &Path, to: &str) -> Self {
        fs::create_dir_all(from).unwrap();
        chown(from, Some(0), Some(65532)).unwrap();
        fs::set_permissions(from, fs::Permissions::from_mode(0o2777)).unwrap();
        self.volume(from, to, "rw")
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push(format!("{name}={value}"));
        self
    }

    /// `--user` of docker and podman, with its group.
    pub fn user(mut self, id: u32) -> Self {
        self.user = format!("{id}:{id}");
        self
    }

    /// `-w` of docker and podman.
    pub fn folder(mut self, folder: &str) -> Self {
        folder.clone_into(&mut self.folder);
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let root = self.root.path();
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-euc", SCRIPT, "sh"]).arg(root);
        command.args(&self.volumes).arg("--").args(&self.environment);
        let (user, group) = self.user.split_once(':').unwrap();
        command.arg("unshare").arg(format!("--root={}", root.display()));
        command.arg(format!("--wd={}", self.folder));
        // Other groups go with the first.
        command.args([format!("--setgid={group}"), format!("--setuid={user}")]);
        let entrypoint = self.image.config["config"]["Entrypoint"].as_array().unwrap();
        command.args(entrypoint.iter().map(|word| word.as_str().unwrap()));
        command.args(arguments).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments).output().unwrap())
    }

    /// Starts it; what it prints is in `log`.
    pub fn start(&self, arguments: &[&str], log: &Path) -> Running {
        let mut command = self.command(arguments);
        let file = File::create(log).unwrap();
        let child = command.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        Running {
            child,
            log: log.to_owned(),
        }
    }
}

/// Runs until it is dropped.
pub struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    /// A file of `/proc` about it.
    pub fn about(&self, name: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).unwrap()
    }

    /// Ends it as a runtime does; returns the exit code.
    pub fn stop(mut self) -> Option<i32> {
        run(Command::new("kill").arg(self.child.id().to_string()));
        until("the container ends", || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            println!("{}", lines[lines.len().saturating_sub(30)..].join("\n"));
        }
    }
}
