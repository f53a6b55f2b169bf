//! `bumpwright controller` as a process.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Runs until it is dropped.
pub struct Controller {
    child: Child,
    log: PathBuf,
    metrics: u16,
    health: u16,
}

impl Controller {
    /// `flags` come after those of a test: one namespace, and an own log and storage in `folder`.
    pub fn start(kubeconfig: &Path, namespace: &str, folder: &Path, flags: &[&str]) -> Self {
        let program = Command::new(env!("CARGO_BIN_EXE_bumpwright"));
        Self::start_as(program, kubeconfig, namespace, folder, flags)
    }

    /// On a disk of its own of this many bytes, at [`Controller::disk`]. None where users may not mount.
    pub fn start_on_disk(
        size: usize,
        kubeconfig: &Path,
        namespace: &str,
        folder: &Path,
        flags: &[&str],
    ) -> Option<Self> {
        const SCRIPT: &str = r#"mkdir -p "$1" && mount -t tmpfs -o size="$2" none "$1" && shift 2 && exec "$@""#;
        let disk = folder.join("data");
        let mounting = || {
            let mut command = Command::new("unshare");
            command.args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"]);
            command.arg(&disk).arg(size.to_string());
            command
        };
        if !mounting().arg("true").status().is_ok_and(|status| status.success()) {
            println!("skipped: a disk of its own needs user namespaces");
            return None;
        }
        let mut program = mounting();
        program.arg(env!("CARGO_BIN_EXE_bumpwright"));
        Some(Self::start_as(program, kubeconfig, namespace, folder, flags))
    }

    /// The storage folder, as the process sees it.
    pub fn disk(&self) -> PathBuf {
        let storage = self.log.parent().unwrap().join("data");
        Path::new(&format!("/proc/{}/root", self.child.id())).join(storage.strip_prefix("/").unwrap())
    }

    fn start_as(mut program: Command, kubeconfig: &Path, namespace: &str, folder: &Path, flags: &[&str]) -> Self {
        let (metrics, health) = (free_port(), free_port());
        std::fs::create_dir_all(folder).unwrap();
        let log = folder.join("log");
        let stderr = std::fs::File::create(&log).unwrap();
        let child = program
            .arg("controller")
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--storage-path={}", folder.join("data").display()))
            .arg(format!("--metrics-addr=127.0.0.1:{metrics}"))
            .arg(format!("--health-addr=127.0.0.1:{health}"))
            .args(["--watch-all-namespaces=false", "--interval-jitter-percentage=0"])
            .args(["--max-retry-delay=1s"])
            .args(flags)
            .env("RUNTIME_NAMESPACE", namespace)
            .stderr(stderr)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            child,
            log,
            metrics,
            health,
        }
    }

    /// Everything that it logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Status and text of a page of probes, `readyz` for one; none while nobody answers.
    pub fn probe(&self, path: &str) -> Option<(u16, String)> {
        page(self.health, path)
    }

    /// The metrics; empty while nobody answers.
    pub fn metrics(&self) -> String {
        page(self.metrics, "metrics").map(|(_, text)| text).unwrap_or_default()
    }

    /// Sends a signal, `STOP` for one.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the end of the process; gives its exit code.
    pub fn ended(&mut self) -> Option<i32> {
        until("the controller ends", || self.child.try_wait().unwrap()).code()
    }

    /// A figure of the process in KiB, as `/proc` has it: `VmRSS`, `RssAnon`.
    pub fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap().trim().trim_end_matches(" kB").parse().unwrap()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            let last: Vec<&str> = log.lines().rev().take(30).collect();
            last.iter().rev().for_each(|line| println!("{line}"));
        }
    }
}

/// Waits for what does not come at once.
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_within(Duration::from_secs(60), what, look)
}

/// As [`until`], for what takes long on a busy machine.
pub fn until_within<T>(patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < patience, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

fn page(port: u16, path: &str) -> Option<(u16, String)> {
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .new_agent();
    let mut answer = agent.get(format!("http://127.0.0.1:{port}/{path}")).call().ok()?;
    let text = answer.body_mut().read_to_string().ok()?;
    Some((answer.status().as_u16(), text))
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
