//! Rekor 2, sigstore's transparency log, built by `tests/tools/prepare-real`.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::fixture::repo::run;
use crate::program::ports::free_port;
use crate::program::waiting::wait_for;

/// The name that its checkpoints bear: readers look for the host of its address.
pub const ORIGIN: &str = "127.0.0.1";

/// An empty log; it ends when it is dropped.
pub struct Rekor {
    port: u16,
    dir: tempfile::TempDir,
    child: Child,
}

impl Rekor {
    /// None when the program is missing.
    pub fn start() -> Option<Self> {
        let program = crate::tool("rekor")?;
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        run(Command::new("openssl")
            .args(["genpkey", "-algorithm", "ed25519", "-out"])
            .arg(file("key")));
        run(Command::new("openssl")
            .args(["pkey", "-pubout", "-in"])
            .arg(file("key"))
            .arg("-out")
            .arg(file("key.pub")));
        let port = free_port();
        let flag = |name: &str, value: &str| format!("--{name}={value}");
        let mut command = Command::new(program);
        command.arg("serve").args([
            flag("hostname", ORIGIN),
            flag("http-address", "127.0.0.1"),
            flag("http-port", &port.to_string()),
            flag("http-metrics-port", &free_port().to_string()),
            flag("grpc-address", "127.0.0.1"),
            flag("grpc-port", &free_port().to_string()),
            flag("checkpoint-interval", "1s"),
            flag("storage-dir", file("log").to_str().unwrap()),
            flag("signer-filepath", file("key").to_str().unwrap()),
        ]);
        let log = File::create(file("output")).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let child = command.spawn().unwrap();
        let rekor = Self { port, dir, child };
        let healthy = || ureq::get(format!("{}/healthz", rekor.url())).call().is_ok();
        wait_for(healthy, || {
            std::fs::read_to_string(rekor.dir.path().join("output")).unwrap()
        });
        Some(rekor)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The file with its public key.
    pub fn public_key(&self) -> PathBuf {
        self.dir.path().join("key.pub")
    }
}

impl Drop for Rekor {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
