//! A controller as a process before a test's API server: ours, or one of Flux's own.
//!
//! ```ignore
//! let controller = Controller::ours(&kubeconfig, "apps", &folder).flags(&["--log-level=debug"]).start();
//! until("it is ready", || controller.probe("readyz").is_some_and(|(status, _)| status == 200));
//! assert_eq!(controller.stop(), Some(0));
//! ```
//!
//! Most suites start theirs by [`crate::fixture::world::World::controller`]. When a test fails, the end of
//! the log is printed.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use parking_lot::Mutex;

use crate::program::memory_group::MemoryGroup;
use crate::program::ports::free_port;
use crate::program::waiting::{until, wait_for};

/// Flags for leader election. Without them a controller leads from the start.
pub const ELECTION: [&str; 2] = ["--enable-leader-election=true", "--leader-election-retry-period=1s"];

/// The lines of a log that are printed when a test fails.
const LAST: usize = 30;

/// A controller that is about to be started. Its log, its home, and for ours its storage are in a folder of its own.
pub struct Starter {
    command: Command,
    kubeconfig: PathBuf,
    is_ours: bool,
    folder: PathBuf,
}

impl Starter {
    fn new(command: Command, is_ours: bool, kubeconfig: &Path, namespace: &str, folder: &Path) -> Self {
        let mut starter = Self {
            command,
            kubeconfig: kubeconfig.to_owned(),
            is_ours,
            folder: folder.to_owned(),
        };
        starter.command.env("RUNTIME_NAMESPACE", namespace);
        starter
    }

    /// After those that came so far.
    pub fn flags<T: AsRef<str>>(mut self, flags: &[T]) -> Self {
        self.command.args(flags.iter().map(AsRef::as_ref));
        self
    }

    /// An environment variable.
    pub fn variable(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Another way to the API server.
    pub fn kubeconfig(mut self, file: &Path) -> Self {
        file.clone_into(&mut self.kubeconfig);
        self
    }

    pub fn start(mut self) -> Controller {
        // The server of artifacts needs a port of its own, so sources and Kustomizations are opt-in.
        let named = |argument: &std::ffi::OsStr| argument.to_string_lossy().starts_with("--controllers");
        if self.is_ours && !self.command.get_args().any(named) {
            self.command.arg("--controllers=image-reflector,image-automation");
        }
        let (metrics, health) = (free_port(), free_port());
        let temp = self.folder.join("tmp");
        std::fs::create_dir_all(&temp).unwrap();
        // Ours supports both; this way both are tested.
        if self.is_ours {
            let flag = format!("--kubeconfig={}", self.kubeconfig.display());
            self.command.arg(flag).env_remove("KUBECONFIG");
        } else {
            self.command.env("KUBECONFIG", &self.kubeconfig);
        }
        let log = self.folder.join("log");
        let child = self
            .command
            .arg(format!("--metrics-addr=127.0.0.1:{metrics}"))
            .arg(format!("--health-addr=127.0.0.1:{health}"))
            .env("HOME", &self.folder)
            .env("TMPDIR", temp)
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&log).unwrap())
            .stderr(std::fs::OpenOptions::new().append(true).open(&log).unwrap())
            .spawn()
            .unwrap();
        Controller {
            id: child.id(),
            child: Mutex::new(child),
            folder: self.folder,
            metrics,
            health,
        }
    }
}

/// Runs until it is dropped.
pub struct Controller {
    id: u32,
    child: Mutex<Child>,
    folder: PathBuf,
    metrics: u16,
    health: u16,
}

impl Controller {
    /// `bumpwright controller` with its leases in `namespace` and its storage in `folder`.
    pub fn ours(kubeconfig: &Path, namespace: &str, folder: &Path) -> Starter {
        let program = Command::new(crate::program());
        Self::ours_by(program, kubeconfig, namespace, folder)
    }

    /// A controller that is never dropped: it ends with this process. Its storage is in `folder`.
    pub fn ours_to_the_end(kubeconfig: &Path, namespace: &str, folder: &Path, flags: &[String]) -> Self {
        Self::ours_to_the_end_in(None, kubeconfig, namespace, folder, |starter| starter.flags(flags))
    }

    /// As [`Controller::ours_to_the_end`], with the memory of a group, and prepared by a closure.
    pub fn ours_to_the_end_in(
        group: Option<&MemoryGroup>,
        kubeconfig: &Path,
        namespace: &str,
        folder: &Path,
        prepare: impl FnOnce(Starter) -> Starter,
    ) -> Self {
        // The kernel kills it when the thread that started it ends; this one ends with the process.
        let killing = ["setpriv", "--pdeathsig", "KILL"];
        let mut program = match group.map(MemoryGroup::starting) {
            Some(mut command) => {
                command.args(killing);
                command
            }
            None => {
                let mut command = Command::new(killing[0]);
                command.args(&killing[1..]);
                command
            }
        };
        program.arg(crate::program());
        let starter = prepare(Self::ours_by(program, kubeconfig, namespace, folder));
        let (send, started) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            send.send(starter.start()).unwrap();
            loop {
                std::thread::park();
            }
        });
        started.recv().unwrap()
    }

    /// With its storage on a disk of its own of this many bytes, at [`Controller::disk`]. None where
    /// users may not mount.
    pub fn ours_on_disk(size: usize, kubeconfig: &Path, namespace: &str, folder: &Path) -> Option<Starter> {
        const SCRIPT: &str = r#"mkdir -p "$1" && mount -t tmpfs -o size="$2" none "$1" && shift 2 && exec "$@""#;
        let mounting = || {
            let mut command = Command::new("unshare");
            command.args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"]);
            command.arg(folder.join("data")).arg(size.to_string());
            command
        };
        if !mounting().arg("true").status().is_ok_and(|status| status.success()) {
            println!("skipped: a disk of its own needs user namespaces");
            return None;
        }
        let mut program = mounting();
        program.arg(crate::program());
        Some(Self::ours_by(program, kubeconfig, namespace, folder))
    }

    fn ours_by(mut program: Command, kubeconfig: &Path, namespace: &str, folder: &Path) -> Starter {
        program.arg("controller");
        let storage = format!("--storage-path={}", folder.join("data").display());
        Starter::new(program, true, kubeconfig, namespace, folder).flags(&[storage])
    }

    /// One of Flux's controllers, built by `tests/tools/prepare`, with its leases in `namespace`. The flags of its
    /// storage are up to the caller. None when it is missing.
    pub fn of_flux(name: &str, kubeconfig: &Path, namespace: &str, folder: &Path) -> Option<Starter> {
        let program = Command::new(crate::tool(name)?);
        Some(Starter::new(program, false, kubeconfig, namespace, folder))
    }

    /// The storage folder of ours, in the mount namespace of the process.
    pub fn disk(&self) -> PathBuf {
        let storage = self.folder.join("data");
        Path::new(&format!("/proc/{}/root", self.id)).join(storage.strip_prefix("/").unwrap())
    }

    /// Everything that it has logged so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.folder.join("log")).unwrap()).into_owned()
    }

    /// Waits until it has logged this.
    pub fn says(&self, text: &str) {
        until(&format!("{text:?} is logged"), || self.log().contains(text));
    }

    /// Its metrics, as soon as they are served.
    pub fn metrics(&self) -> String {
        let look = || {
            let shown = page(self.metrics, "metrics");
            assert!(
                shown.is_some() || self.is_running(),
                "there are no metrics: it has ended"
            );
            shown
        };
        until("it shows its metrics", look).1
    }

    /// The value of a series, written as in the metrics; none when it does not exist.
    pub fn metric(&self, series: &str) -> Option<f64> {
        let page = self.metrics();
        let mut lines = page.lines();
        let value = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.map(|value| value.parse().unwrap())
    }

    /// Waits until a series has this value. Counters are updated a little after the effects of an action.
    pub fn counts(&self, series: &str, value: f64) {
        wait_for(
            || self.metric(series) == Some(value),
            || format!("{series} {value}, but it is {:?}", self.metric(series)),
        );
    }

    /// Whether it leads for a lease, by its metrics.
    pub fn leads(&self, lease: &str) -> bool {
        self.metric(&format!("leader_election_master_status{{name=\"{lease}\"}}")) == Some(1.0)
    }

    /// Status and text of a page of probes, such as `readyz`; none without an answer.
    pub fn probe(&self, path: &str) -> Option<(u16, String)> {
        page(self.health, path)
    }

    /// The ports of its metrics and of its probes.
    pub fn ports(&self) -> (u16, u16) {
        (self.metrics, self.health)
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Sends a signal, such as `STOP`.
    pub fn signal(&self, name: &str) {
        let id = self.id.to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    pub fn is_running(&self) -> bool {
        self.child.lock().try_wait().unwrap().is_none()
    }

    /// Waits for the exit of the process; returns its exit code, none after a signal.
    pub fn ended(&self) -> Option<i32> {
        until("the controller ends", || self.child.lock().try_wait().unwrap()).code()
    }

    /// Terminates it, as the kubelet does when a Deployment is scaled down, and waits for its exit.
    /// It releases its leases.
    pub fn stop(self) -> Option<i32> {
        self.signal("TERM");
        self.ended()
    }

    /// Kills it without a chance to release its leases, as when a node is lost.
    pub fn kill(self) {
        self.signal("KILL");
        self.ended();
    }

    /// A number of the process in KiB from `/proc`: `VmRSS`, `RssAnon`.
    pub fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id)).unwrap();
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap().trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// From now on `VmHWM` is the peak since now (proc(5), *clear_refs*). False where this process may not say so.
    pub fn forget_peak(&self) -> bool {
        std::fs::write(format!("/proc/{}/clear_refs", self.id), "5").is_ok()
    }

    /// The CPU time that the process has taken (proc(5), *stat*: `utime` and `stime`, in hundredths of a second).
    pub fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id)).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let times = fields.split_whitespace().skip(11).take(2);
        Duration::from_millis(times.map(|ticks| 10 * ticks.parse::<u64>().unwrap()).sum())
    }

    /// Finds a text in the memory that the process has written to: an address and the name of its region each.
    /// None without root, which alone may read its memory.
    pub fn places_in_memory(&self, text: &str) -> Option<Vec<String>> {
        let memory = match File::open(format!("/proc/{}/mem", self.id)) {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                println!("skipped: only root sees the memory of the process");
                return None;
            }
            opened => opened.unwrap(),
        };
        let regions = std::fs::read_to_string(format!("/proc/{}/maps", self.id)).unwrap();
        let mut places = Vec::new();
        for region in regions.lines() {
            let mut fields = region.split_whitespace();
            let (range, access) = (fields.next().unwrap(), fields.next().unwrap());
            let bounds = range.split('-').map(|end| u64::from_str_radix(end, 16).unwrap());
            let [first, end] = bounds.collect::<Vec<_>>()[..] else {
                continue;
            };
            if !access.starts_with("rw") {
                continue;
            }
            let mut bytes = vec![0; usize::try_from(end - first).unwrap()];
            // Gone meanwhile, or unreadable.
            if memory.read_exact_at(&mut bytes, first).is_err() {
                continue;
            }
            let found = memchr::memmem::find_iter(&bytes, text.as_bytes());
            places.extend(
                found.map(|at| format!("{:x} {}", first + at as u64, fields.clone().next_back().unwrap_or(""))),
            );
        }
        Some(places)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // The holder of the lock has failed; the process must end all the same.
        let child = self.child.get_mut();
        let _ = child.kill();
        let _ = child.wait();
        if std::thread::panicking() {
            let log = std::fs::read(self.folder.join("log")).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            let lines: Vec<&str> = log.lines().collect();
            println!("{}:", self.folder.display());
            lines[lines.len().saturating_sub(LAST)..]
                .iter()
                .for_each(|line| println!("{line}"));
        }
    }
}

/// Status and text; none without an answer, as when the process is paused.
fn page(port: u16, path: &str) -> Option<(u16, String)> {
    let agent = ureq::Agent::config_builder()
        .proxy(None)
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(20)))
        .build()
        .new_agent();
    let mut answer = agent.get(format!("http://127.0.0.1:{port}/{path}")).call().ok()?;
    let text = answer.body_mut().read_to_string().ok()?;
    Some((answer.status().as_u16(), text))
}
