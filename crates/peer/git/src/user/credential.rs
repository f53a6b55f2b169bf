//! The user's logins: of credential helpers, through `git credential` (`man git-credential`), and of `~/.netrc`.

use std::process::Command;

use url::Url;

use super::{netrc, program};
use bumpwright_http::Deadline;
use bumpwright_secret::Secret;

/// A user name and password; those of a helper with the description that approves or rejects them.
#[derive(Clone, Debug)]
pub struct Credential {
    pub username: String,
    /// The password or token.
    pub password: Secret,
    asked: Option<String>,
}

impl Credential {
    /// Reports to the helpers that the server accepted it (`git credential approve`).
    pub fn approve(&self, deadline: Deadline) {
        self.report("approve", deadline);
    }

    /// Reports to the helpers that the server refused it (`git credential reject`).
    pub fn reject(&self, deadline: Deadline) {
        self.report("reject", deadline);
    }

    fn report(&self, action: &str, deadline: Deadline) {
        let Some(asked) = &self.asked else { return };
        let (username, password) = (&self.username, self.password.expose());
        let description = Secret::new(format!("{asked}username={username}\npassword={password}\n"));
        // A helper that cannot store it does not fail this run.
        let _ = run(action, &description, deadline);
    }
}

/// Asks the helpers, without prompts on the terminal, and looks into `~/.netrc`. None when neither has a login.
pub fn fill(target: &Url, username: Option<&str>, deadline: Deadline) -> Option<Credential> {
    of_helpers(target, username, deadline).or_else(|| {
        let (username, password) = netrc::login(target.host_str()?, username)?;
        Some(Credential {
            username,
            password,
            asked: None,
        })
    })
}

fn of_helpers(target: &Url, username: Option<&str>, deadline: Deadline) -> Option<Credential> {
    let host = target.host_str()?;
    let port = target.port().map_or_else(String::new, |port| format!(":{port}"));
    let path = target.path().trim_start_matches('/');
    let description = format!("protocol={}\nhost={host}{port}\npath={path}\n", target.scheme());
    let name = username.map_or_else(String::new, |name| format!("username={name}\n"));
    let answer = run("fill", &Secret::new(format!("{description}{name}")), deadline)?;
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
        asked: Some(description),
    })
}

/// Runs `git credential ACTION`, as `git clone` would: with the user's settings, and without those of the repository in
/// the working directory, which may name a stranger's programs. None when it fails or the deadline passes.
fn run(action: &str, input: &Secret, deadline: Deadline) -> Option<Secret> {
    let mut command = Command::new("git");
    command
        .args(["credential", action])
        .current_dir("/")
        .env_remove("GIT_DIR")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GCM_INTERACTIVE", "never");
    program::answer(command, input, deadline)
}
