//! A real OpenSSH server with its own keys, run by the current user on a free port.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::fixture::repo::run;
use crate::program::ports::free_port;
use crate::program::waiting::{until, wait_for};

const PROGRAM: &str = "/usr/sbin/sshd";

/// A server, which runs until it is dropped.
pub struct Sshd {
    pub port: u16,
    /// Keys, configuration and files of tests.
    pub dir: tempfile::TempDir,
    child: Child,
}

/// Makes a key pair with ssh-keygen; returns the path of the private one.
pub fn keygen(path: &Path, arguments: &[&str]) -> PathBuf {
    run(Command::new("ssh-keygen")
        .args(["-q", "-N", "", "-C", "test", "-f"])
        .arg(path)
        .args(arguments));
    path.to_owned()
}

impl Sshd {
    /// Starts it with an ed25519 and an RSA host key. Without the program the test is skipped, but fails when
    /// the environment variable `CI` is set.
    pub fn start() -> Option<Self> {
        if !crate::has(PROGRAM, "openssh-server") {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        keygen(&path("host_ed25519"), &["-t", "ed25519"]);
        keygen(&path("host_rsa"), &["-t", "rsa", "-b", "2048"]);
        std::fs::write(path("authorized"), "").unwrap();
        // Its default folder, required when it is started by root.
        let _ = std::fs::create_dir_all("/run/sshd");
        let port = free_port();
        let shown = dir.path().display();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {shown}/host_ed25519\nHostKey {shown}/host_rsa\n\
             AuthorizedKeysFile {shown}/authorized\nStrictModes no\nPidFile none\nUsePAM no\nLogLevel VERBOSE\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nMaxAuthTries 20\n\
             AcceptEnv GIT_PROTOCOL\nSetEnv GIT_CONFIG_GLOBAL=/dev/null\nMaxStartups 10:100:10\n"
        );
        std::fs::write(path("config"), config).unwrap();
        // Into a file: its log is available at once, without a reading thread.
        let mut child = Command::new(PROGRAM)
            .arg("-D")
            .arg("-E")
            .arg(path("log"))
            .arg("-f")
            .arg(path("config"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let log = || std::fs::read_to_string(path("log")).unwrap_or_default();
        // Not by a connection, which would be counted among those of the tests later.
        wait_for(
            || {
                let is_over = child.try_wait().unwrap().is_some();
                assert!(!is_over, "sshd does not start: {}", log());
                log().contains("Server listening")
            },
            || format!("sshd listens: {}", log()),
        );
        Some(Self { port, dir, child })
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    /// The number of connections. The server logs them before authentication; the log of a closed
    /// connection may be late.
    pub fn connections(&self) -> usize {
        self.log().matches("Connection from").count()
    }

    /// The number of logins. The server logs them before it runs a command.
    pub fn logins(&self) -> usize {
        self.log().matches("Accepted publickey").count()
    }

    /// Makes an authorized key pair; returns the private key's path.
    pub fn key(&self, name: &str, arguments: &[&str]) -> PathBuf {
        let path = keygen(&self.dir.path().join(name), arguments);
        self.authorize(&path);
        path
    }

    /// Like [`Sshd::key`], for a key with a forced command.
    pub fn forced_key(&self, name: &str, script: &str) -> PathBuf {
        let path = keygen(&self.dir.path().join(name), &["-t", "ed25519"]);
        let public = std::fs::read_to_string(path.with_extension("pub")).unwrap();
        let list = self.dir.path().join("authorized");
        let all = std::fs::read_to_string(&list).unwrap() + &format!("command=\"{script}\" {public}");
        std::fs::write(list, all).unwrap();
        path
    }

    /// Authorizes the public key beside `path`.
    pub fn authorize(&self, path: &Path) {
        let public = std::fs::read_to_string(path.with_extension("pub")).unwrap();
        let list = self.dir.path().join("authorized");
        let all = std::fs::read_to_string(&list).unwrap() + &public;
        std::fs::write(list, all).unwrap();
    }

    /// The host's line for known_hosts, for `ed25519` or `rsa`.
    pub fn host_line(&self, kind: &str) -> String {
        let public = std::fs::read_to_string(self.dir.path().join(format!("host_{kind}.pub"))).unwrap();
        format!("[127.0.0.1]:{} {public}", self.port)
    }

    /// `ssh://user@127.0.0.1:port/path`, for the current user.
    pub fn url(&self, path: &Path) -> String {
        let user = crate::fixture::repo::run_text(Command::new("id").arg("-un"));
        let path = path.display().to_string().replace(' ', "%20").replace('\'', "%27");
        format!("ssh://{user}@127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An ssh-agent, which ends when it is dropped.
pub struct Agent {
    pub socket: PathBuf,
    child: Child,
}

impl Agent {
    pub fn start(dir: &Path) -> Self {
        let socket = dir.join("agent.sock");
        let child = Command::new("ssh-agent")
            .args(["-D", "-a"])
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        until("ssh-agent makes its socket", || socket.exists());
        Self { socket, child }
    }

    pub fn add(&self, key: &Path) {
        std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o600)).unwrap();
        run(Command::new("ssh-add")
            .arg("-q")
            .arg(key)
            .env("SSH_AUTH_SOCK", &self.socket));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
