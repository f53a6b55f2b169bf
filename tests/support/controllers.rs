//! Controllers as processes beside a test's API server: ours, and Flux's own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Calls `look` until it gives something; panics with what `describe` says when that takes too long.
pub fn wait_for<T>(mut look: impl FnMut() -> Option<T>, describe: impl Fn() -> String) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{}", describe());
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Runs until it is dropped.
pub struct Controller {
    child: Child,
    log: PathBuf,
    metrics: u16,
}

impl Controller {
    /// `bumpwright controller` with leases in `namespace`.
    pub fn ours(kubeconfig: &Path, namespace: &str, folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bumpwright"));
        command.arg("controller").args(arguments);
        Self::start(command, "bumpwright", kubeconfig, namespace, folder)
    }

    /// One of Flux's controllers, which `tests/tools/prepare` builds. None when it is missing.
    pub fn of_flux(name: &str, kubeconfig: &Path, namespace: &str, folder: &Path, arguments: &[&str]) -> Option<Self> {
        let mut command = Command::new(super::tool(name)?);
        command.args(arguments);
        Some(Self::start(command, name, kubeconfig, namespace, folder))
    }

    fn start(mut command: Command, name: &str, kubeconfig: &Path, namespace: &str, folder: &Path) -> Self {
        let metrics = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = folder.join(format!("{name}-{metrics}.log"));
        let temp = folder.join("tmp");
        std::fs::create_dir_all(&temp).unwrap();
        let child = command
            .args(["--enable-leader-election=true", "--leader-election-retry-period=1s"])
            .arg(format!("--metrics-addr=127.0.0.1:{metrics}"))
            .arg("--health-addr=127.0.0.1:0")
            .env("KUBECONFIG", kubeconfig)
            .env("RUNTIME_NAMESPACE", namespace)
            .env("HOME", folder)
            .env("TMPDIR", temp)
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&log).unwrap())
            .stderr(std::fs::OpenOptions::new().append(true).open(&log).unwrap())
            .spawn()
            .unwrap();
        Self { child, log, metrics }
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
    }

    /// Waits until it has logged this.
    pub fn says(&self, text: &str) {
        wait_for(
            || self.log().contains(text).then_some(()),
            || format!("{text:?} is not in\n{}", self.log()),
        );
    }

    /// Its page of metrics.
    pub fn metrics(&self) -> String {
        let url = format!("http://127.0.0.1:{}/metrics", self.metrics);
        let get = || ureq::get(&url).call().ok()?.body_mut().read_to_string().ok();
        wait_for(get, || format!("no metrics\n{}", self.log()))
    }

    /// Asks it to end, as the kubelet does when a Deployment is scaled down, and waits until it has.
    pub fn stop(mut self) {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(asked.success());
        let _ = self.child.wait();
    }

    /// Ends it without a chance to give its lease back, as when a node is lost.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
