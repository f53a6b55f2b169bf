//! A bound on memory that the kernel holds, as that of a pod: a process that needs more is killed. It is a control
//! group made by hand where this process may make one, else a scope of systemd; it is `None` where neither can be had.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// The beginning of the names of our groups; the id of the process that made it follows.
const PREFIX: &str = "bumpwright-test-";

/// A group with a bound. The process that is started by [`MemoryGroup::starting`] and its children are in it.
#[derive(Debug)]
pub struct MemoryGroup {
    bytes: u64,
    /// None for a scope of systemd, which ends with its process.
    folder: Option<PathBuf>,
}

impl MemoryGroup {
    /// A group of this many bytes, without swap. None where groups cannot be made, which is said.
    pub fn of(bytes: u64) -> Option<Self> {
        let folder = parents().iter().find_map(|parent| made_below(parent, bytes));
        if folder.is_some() || scopes_work() {
            return Some(Self { bytes, folder });
        }
        println!("no group with a bound on memory can be made here: the peak is looked at, but nothing is killed");
        None
    }

    /// A command that runs the program that follows its arguments inside of the group.
    pub fn starting(&self) -> Command {
        match &self.folder {
            Some(folder) => {
                let mut command = Command::new("sh");
                command
                    .args(["-c", r#"echo $$ >"$0" && exec "$@""#])
                    .arg(folder.join("cgroup.procs"));
                command
            }
            None => scope(self.bytes),
        }
    }

    /// How many of its processes the kernel has killed; none where systemd keeps the group.
    pub fn killed(&self) -> Option<u64> {
        let folder = self.folder.as_ref()?;
        let events = fs::read_to_string(folder.join("memory.events"));
        let text = events
            .or_else(|_| fs::read_to_string(folder.join("memory.oom_control")))
            .ok()?;
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // It is busy while the process ends; the next group sweeps it.
        let _ = self.folder.as_ref().map(fs::remove_dir);
    }
}

/// The groups below which one may be made: that of this process and those above, of version 1 and then of version 2.
fn parents() -> Vec<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let root = match fields.next() {
            Some("") => PathBuf::from(ROOT),
            Some(controllers) if controllers.split(',').any(|name| name == "memory") => Path::new(ROOT).join("memory"),
            _ => continue,
        };
        let path = root.join(fields.next().unwrap_or_default().trim_start_matches('/'));
        found.extend(
            path.ancestors()
                .filter(|above| above.starts_with(&root))
                .map(Path::to_owned),
        );
    }
    found
}

/// A group below this one; none where it may not be made, or would have no bound.
fn made_below(parent: &Path, bytes: u64) -> Option<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    sweep(parent);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
    fs::create_dir(&folder).ok()?;
    let set = |file: &str, value: &str| fs::write(folder.join(file), value).is_ok();
    let bound = bytes.to_string();
    let is_bound = set("memory.max", &bound) || set("memory.limit_in_bytes", &bound);
    if !is_bound {
        let _ = fs::remove_dir(&folder);
        return None;
    }
    // A machine without swap does not have these files.
    let _ = set("memory.swap.max", "0") || set("memory.memsw.limit_in_bytes", &bound);
    Some(folder)
}

/// Removes the groups of processes that have ended.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let id = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if id.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// systemd replaces itself by the program, which keeps the id of the process.
fn scope(bytes: u64) -> Command {
    let mut command = Command::new("systemd-run");
    if !is_root() {
        command.arg("--user");
    }
    command.args(["--scope", "--quiet", "--collect", "-p", "MemorySwapMax=0", "-p"]);
    command.arg(format!("MemoryMax={bytes}")).arg("--");
    command
}

fn scopes_work() -> bool {
    let mut tried = scope(64 << 20);
    let tried = tried.arg("true").stdout(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Whether this process is root's: the owner of its own folder of `/proc`.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
