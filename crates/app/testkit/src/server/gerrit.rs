//! A real Gerrit on loopback, one for all tests of a process; each test has a project of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::fixture::repo::{git, run};
use crate::tool;

/// The server. It ends with the test process, by a pipe.
pub struct Gerrit {
    url: String,
    ssh_port: String,
    /// The public host key, as in the server's folder.
    host_key: String,
    _server: Mutex<Child>,
}

/// An account.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    pub user: &'static str,
    pub password: &'static str,
    pub email: &'static str,
}

/// May do everything but force.
pub const ADMIN: Account = Account {
    user: "admin",
    password: "secret",
    email: "admin@example.com",
};

/// May push changes, and no branch.
pub const BOT: Account = Account {
    user: "fluxbot",
    password: "botpw",
    email: "flux@example.com",
};

/// The relevant fields of `GET /changes/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub number: u64,
    pub id: String,
    pub branch: String,
    pub status: String,
    pub topic: Option<String>,
    pub patch_sets: usize,
    pub current: String,
}

impl Gerrit {
    /// The running server, started by the first test that needs it. None when it is missing (see [`tool`]).
    pub fn get() -> Option<&'static Self> {
        static SERVER: OnceLock<Option<Gerrit>> = OnceLock::new();
        SERVER
            .get_or_init(|| tool("gerrit").map(|program| Self::start(&program)))
            .as_ref()
    }

    fn start(program: &Path) -> Self {
        let folder = crate::fresh_folder("gerrit");
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let mut child = Command::new(program)
            .arg(folder.join("site"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut addresses = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut addresses)
            .unwrap();
        let Some((url, ssh_port)) = addresses.trim().split_once(' ') else {
            panic!("gerrit did not start: {}", folder.join("log").display())
        };
        let gerrit = Self {
            url: url.to_owned(),
            ssh_port: ssh_port.to_owned(),
            host_key: std::fs::read_to_string(folder.join("site/etc/ssh_host_ed25519_key.pub")).unwrap(),
            _server: Mutex::new(child),
        };
        let bot = json!({"name": BOT.user, "email": BOT.email, "http_password": BOT.password});
        gerrit.rest("PUT", &format!("accounts/{}", BOT.user), &bot);
        gerrit
    }

    /// Lets an account log in by SSH with the public key beside `path`.
    pub fn authorize(&self, account: Account, path: &Path) {
        let key = std::fs::read_to_string(path.with_extension("pub")).unwrap();
        let path = format!("accounts/{}/sshkeys", account.user);
        self.send("POST", &path, "text/plain", key);
    }

    /// The host's line for known_hosts.
    pub fn host_line(&self) -> String {
        format!("[127.0.0.1]:{} {}", self.ssh_port, self.host_key)
    }

    /// A request as the administrator; must succeed.
    pub fn rest(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.send(method, path, "application/json", body)
    }

    fn send(&self, method: &str, path: &str, kind: &str, body: String) -> Value {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .proxy(None)
            .http_status_as_error(false)
            .build()
            .into();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}a/{path}", self.url))
            .header("Authorization", format!("Basic {}", STANDARD.encode("admin:secret")))
            .header("Content-Type", kind);
        let mut answer = if body.is_empty() {
            agent.run(request.body(()).unwrap()).unwrap()
        } else {
            agent.run(request.body(body).unwrap()).unwrap()
        };
        let text = answer.body_mut().read_to_string().unwrap();
        assert!(
            answer.status().is_success(),
            "{method} {path}: {} {text}",
            answer.status()
        );
        let text = text.strip_prefix(")]}'").unwrap_or(&text);
        if text.trim().is_empty() {
            Value::Null
        } else {
            serde_json::from_str(text).unwrap()
        }
    }

    /// A new project with `files` on `main`, in a clone below `work`.
    pub fn project(&'static self, name: &'static str, work: &Path, files: &[(&str, &str)]) -> Project {
        self.rest(
            "PUT",
            &format!("projects/{name}"),
            &json!({"create_empty_commit": true, "branches": ["main"]}),
        );
        let project = Project {
            gerrit: self,
            name,
            clone: work.join(name),
        };
        run(git(work).args(["clone", "-q", &project.address(ADMIN), name]));
        project.land(files);
        project
    }
}

/// A project of the shared Gerrit, and a clone of it to commit in.
pub struct Project {
    gerrit: &'static Gerrit,
    pub name: &'static str,
    clone: std::path::PathBuf,
}

impl Project {
    /// The URL for Git, without credentials.
    pub fn url(&self) -> String {
        format!("{}a/{}", self.gerrit.url, self.name)
    }

    /// The URL for Git over SSH.
    pub fn ssh_url(&self, account: Account) -> String {
        format!(
            "ssh://{}@127.0.0.1:{}/{}",
            account.user, self.gerrit.ssh_port, self.name
        )
    }

    fn address(&self, account: Account) -> String {
        let login = format!("http://{}:{}@", account.user, account.password);
        self.url().replacen("http://", &login, 1)
    }

    /// `git ARGUMENTS` in the clone; must succeed.
    pub fn git(&self, arguments: &[&str]) -> String {
        crate::fixture::repo::run_text(git(&self.clone).args(arguments))
    }

    /// Commits files onto `main`, past any review.
    pub fn land(&self, files: &[(&str, &str)]) {
        self.git(&["fetch", "-q", "origin"]);
        self.git(&["checkout", "-q", "-B", "main", "origin/main"]);
        for (path, text) in files {
            let path = self.clone.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        self.git(&["add", "."]);
        let id = format!("user.email={}", ADMIN.email);
        run(git(&self.clone)
            .env_remove("GIT_AUTHOR_EMAIL")
            .env_remove("GIT_COMMITTER_EMAIL")
            .args(["-c", &id, "commit", "-q", "-m", "by hand"]));
        self.git(&["push", "-q", "origin", "main:main"]);
    }

    /// The content of a file in a revision at the server.
    pub fn show(&self, reference: &str, path: &str) -> String {
        self.git(&["fetch", "-q", "origin", reference]);
        self.git(&["show", &format!("FETCH_HEAD:{path}")])
    }

    /// The message of a commit at the server.
    pub fn message(&self, commit: &str) -> String {
        let answer = self
            .gerrit
            .rest("GET", &format!("projects/{}/commits/{commit}", self.name), &Value::Null);
        answer["message"].as_str().unwrap().to_owned()
    }

    /// The commit of a branch, if there is one.
    pub fn branch(&self, name: &str) -> Option<String> {
        let listed = self.git(&["ls-remote", "origin", &format!("refs/heads/{name}")]);
        listed.split_whitespace().next().map(str::to_owned)
    }

    /// All changes, oldest first.
    pub fn changes(&self) -> Vec<Change> {
        let query = format!("changes/?q=project:{}&o=ALL_REVISIONS&n=100", self.name);
        let listed = self.gerrit.rest("GET", &query, &Value::Null);
        let text = |change: &Value, key: &str| change[key].as_str().map(str::to_owned);
        let mut changes: Vec<Change> = (listed.as_array().unwrap().iter())
            .map(|change| Change {
                number: change["_number"].as_u64().unwrap(),
                id: text(change, "change_id").unwrap(),
                branch: text(change, "branch").unwrap(),
                status: text(change, "status").unwrap(),
                topic: text(change, "topic"),
                patch_sets: change["revisions"].as_object().unwrap().len(),
                current: text(change, "current_revision").unwrap(),
            })
            .collect();
        changes.sort_by_key(|change| change.number);
        changes
    }

    /// Reviews and merges a change.
    pub fn submit(&self, change: &Change) {
        let path = |rest: &str| format!("changes/{}/{rest}", change.number);
        self.gerrit.rest(
            "POST",
            &path("revisions/current/review"),
            &json!({"labels": {"Code-Review": 2}}),
        );
        self.gerrit.rest("POST", &path("submit"), &json!({}));
    }

    pub fn abandon(&self, change: &Change) {
        self.gerrit
            .rest("POST", &format!("changes/{}/abandon", change.number), &json!({}));
    }

    /// Allows all accounts to create, push and force references.
    pub fn open(&self, reference: &str) {
        let rule = json!({"rules": {"global:Registered-Users": {"action": "ALLOW", "force": true}}});
        let access = json!({"add": {reference: {"permissions": {"create": rule, "push": rule}}}});
        self.gerrit
            .rest("POST", &format!("projects/{}/access", self.name), &access);
    }
}
