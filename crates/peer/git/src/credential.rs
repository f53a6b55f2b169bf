//! The user's credential helpers, through `git credential` (`man git-credential`).

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use url::Url;

use bumpwright_http::Deadline;
use bumpwright_secret::Secret;

/// A user name and password from a helper, with the description that approves or rejects them.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The user name.
    pub username: String,
    /// The password or token.
    pub password: Secret,
    asked: String,
}

impl Credential {
    /// Reports to the helpers that the server accepted it (`git credential approve`).
    pub fn approve(&self, deadline: Deadline) {
        // A helper that cannot store it does not fail this run.
        let _ = run("approve", &self.description(), deadline);
    }

    /// Reports to the helpers that the server refused it (`git credential reject`).
    pub fn reject(&self, deadline: Deadline) {
        let _ = run("reject", &self.description(), deadline);
    }

    fn description(&self) -> Secret {
        Secret::new(format!(
            "{}username={}\npassword={}\n",
            self.asked,
            self.username,
            self.password.expose()
        ))
    }
}

/// Asks the helpers, without prompts on the terminal. None when they have no login.
pub fn fill(target: &Url, username: Option<&str>, deadline: Deadline) -> Option<Credential> {
    let host = target.host_str()?;
    let port = target.port().map_or_else(String::new, |port| format!(":{port}"));
    let path = target.path().trim_start_matches('/');
    let asked = format!("protocol={}\nhost={host}{port}\npath={path}\n", target.scheme());
    let name = username.map_or_else(String::new, |name| format!("username={name}\n"));
    let answer = run("fill", &Secret::new(format!("{asked}{name}")), deadline)?;
    let field = |name: &str| {
        answer
            .expose()
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
    };
    let (username, password) = (field("username")?.to_owned(), Secret::from(field("password")?));
    Some(Credential {
        username,
        password,
        asked,
    })
}

/// Runs `git credential ACTION`, as `git clone` would: with the user's settings, and without those of the repository in the
/// working directory, which may name a stranger's programs. None when it fails or the deadline passes.
#[expect(
    clippy::disallowed_methods,
    reason = "the output of a credential helper; bound: 64 KiB; account: none, of the user's machine"
)]
fn run(action: &str, input: &Secret, deadline: Deadline) -> Option<Secret> {
    let mut command = Command::new("git");
    command
        .args(["credential", action])
        .current_dir("/")
        .env_remove("GIT_DIR")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GCM_INTERACTIVE", "never");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    // A short text fits into an empty pipe: this cannot block.
    let written = stdin.is_some_and(|mut pipe| pipe.write_all(input.expose().as_bytes()).is_ok());
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        let ended = stdout.map(|pipe| pipe.take(64 * 1024).read_to_string(&mut text));
        // The receiver may have timed out.
        let _ = sender.send(ended.is_some_and(|r| r.is_ok()).then(|| Secret::new(text)));
    });
    let answer = receiver
        .recv_timeout(deadline.left())
        .ok()
        .flatten()
        .filter(|_| written);
    if answer.is_none() {
        // It may have ended on its own.
        let _ = child.kill();
    }
    child.wait().ok().filter(std::process::ExitStatus::success).and(answer)
}
