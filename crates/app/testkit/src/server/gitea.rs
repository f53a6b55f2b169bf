//! A real Gitea or Forgejo on loopback, one of each for all tests of a binary; each test has users and
//! repositories of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::fixture::repo::{Repo, run};
use crate::program::ports::free_port;
use crate::program::waiting::wait_for;
use crate::tool;

/// The password of each account.
pub const PASSWORD: &str = "p4ssword-of-gitea";

/// Quick to start, without anything that runs by the clock.
const CONFIGURATION: &str = "
RUN_MODE = prod
RUN_USER = <user>
WORK_PATH = <folder>
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
STATIC_ROOT_PATH = <files>
DOMAIN = 127.0.0.1
HTTP_ADDR = 127.0.0.1
HTTP_PORT = <web>
ROOT_URL = http://127.0.0.1:<web>/
OFFLINE_MODE = true
START_SSH_SERVER = true
BUILTIN_SSH_SERVER_USER = git
SSH_LISTEN_HOST = 127.0.0.1
SSH_LISTEN_PORT = <ssh>
SSH_PORT = <ssh>
LFS_START_SERVER = true
LFS_JWT_SECRET = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
[database]
DB_TYPE = sqlite3
PATH = <folder>/gitea.db
SQLITE_JOURNAL_MODE = WAL
SQLITE_TIMEOUT = 20000
[repository]
ROOT = <folder>/repositories
DEFAULT_BRANCH = main
[security]
INSTALL_LOCK = true
SECRET_KEY = of-tests
PASSWORD_HASH_ALGO = pbkdf2$1000$50
ALLOWED_HOST_LIST = *
[webhook]
ALLOWED_HOST_LIST = *
[service]
DISABLE_REGISTRATION = true
[oauth2]
ENABLED = false
[actions]
ENABLED = false
[cron]
ENABLED = false
[indexer]
ISSUE_INDEXER_TYPE = db
[log]
MODE = console
LEVEL = Info
";

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forge {
    Gitea,
    Forgejo,
}

impl Forge {
    /// The name of its program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gitea => "gitea",
            Self::Forgejo => "forgejo",
        }
    }
}

/// The server. It ends with the test process.
pub struct Gitea {
    port: u16,
    ssh_port: u16,
    folder: PathBuf,
}

/// An account with a token for everything.
#[derive(Clone, Debug)]
pub struct User {
    pub name: String,
    pub token: String,
}

/// An answer of the API.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Gitea {
    /// The running server, started by the first test that needs it. None when it is missing (see [`tool`]).
    pub fn get(forge: Forge) -> Option<&'static Self> {
        static GITEA: OnceLock<Option<Gitea>> = OnceLock::new();
        static FORGEJO: OnceLock<Option<Gitea>> = OnceLock::new();
        let name = forge.name();
        let server = match forge {
            Forge::Gitea => &GITEA,
            Forge::Forgejo => &FORGEJO,
        };
        let start = || Some(Self::start(name, &tool(name)?, &tool(&format!("{name}-files"))?));
        server.get_or_init(start).as_ref()
    }

    fn start(name: &str, program: &Path, files: &Path) -> Self {
        let folder = crate::fresh_folder(name);
        let gitea = Self {
            port: free_port(),
            ssh_port: free_port(),
            folder,
        };
        std::fs::write(gitea.folder.join("app.ini"), gitea.configuration(files)).unwrap();
        run(gitea.command(program).arg("migrate"));
        let admin = [
            "--username",
            "root",
            "--email",
            "root@example.com",
            "--password",
            PASSWORD,
        ];
        run(gitea
            .command(program)
            .args(["admin", "user", "create", "--admin", "--must-change-password=false"])
            .args(admin));
        gitea.serve(program);
        let answers = || {
            gitea
                .ask(None, "GET", "version", &Value::Null)
                .is_some_and(|answer| answer.status == 200)
        };
        wait_for(answers, || format!("{name} answers: {}", gitea.log()));
        gitea
    }

    fn command(&self, program: &Path) -> Command {
        // The kernel kills it when the thread that started it ends.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL"])
            .arg(program)
            .arg("--config")
            .arg(self.folder.join("app.ini"))
            .env("HOME", &self.folder)
            .env_remove("GIT_CONFIG_GLOBAL");
        command
    }

    fn serve(&self, program: &Path) {
        let mut command = self.command(program);
        let log = std::fs::File::create(self.folder.join("log")).unwrap();
        command.arg("web").stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        // This thread ends with the process.
        std::thread::spawn(move || {
            command.status().unwrap();
        });
    }

    fn configuration(&self, files: &Path) -> String {
        let user = String::from_utf8(run(Command::new("id").arg("-un"))).unwrap();
        CONFIGURATION
            .replace("<user>", user.trim())
            .replace("<files>", files.canonicalize().unwrap().to_str().unwrap())
            .replace("<folder>", self.folder.to_str().unwrap())
            .replace("<web>", &self.port.to_string())
            .replace("<ssh>", &self.ssh_port.to_string())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    pub fn address(&self) -> std::net::SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    pub fn ssh_port(&self) -> u16 {
        self.ssh_port
    }

    /// The URL of a path without leading slash.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// A request to the API; none without an answer. Without a user, as nobody.
    fn ask(&self, authorization: Option<&str>, method: &str, path: &str, body: &Value) -> Option<Answer> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .proxy(None)
            .http_status_as_error(false)
            .max_redirects(0)
            .build()
            .into();
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(self.url(&format!("api/v1/{path}")))
            .header("Content-Type", "application/json");
        if let Some(authorization) = authorization {
            request = request.header("Authorization", authorization);
        }
        let answer = if body.is_null() {
            agent.run(request.body(()).unwrap())
        } else {
            agent.run(request.body(body.to_string()).unwrap())
        };
        let mut answer = answer.ok()?;
        let text = answer.body_mut().read_to_string().unwrap();
        Some(Answer {
            status: answer.status().as_u16(),
            body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
        })
    }

    fn by_password(&self, user: &str, method: &str, path: &str, body: &Value) -> Value {
        let login = format!("Basic {}", STANDARD.encode(format!("{user}:{PASSWORD}")));
        let answer = self.ask(Some(&login), method, path, body).unwrap();
        assert!((200..300).contains(&answer.status), "{method} {path}: {answer:?}");
        answer.body
    }

    /// A request of a user.
    pub fn api(&self, user: &User, method: &str, path: &str, body: &Value) -> Answer {
        let token = format!("token {}", user.token);
        self.ask(Some(&token), method, path, body).unwrap()
    }

    /// A new account.
    pub fn user(&self, name: &str) -> User {
        let account = json!({
            "username": name, "email": format!("{name}@example.com"), "password": PASSWORD, "must_change_password": false,
        });
        self.by_password("root", "POST", "admin/users", &account);
        User {
            name: name.to_owned(),
            token: self.token(name, "all", &["all"]),
        }
    }

    /// A token of an account with these scopes.
    pub fn token(&self, account: &str, name: &str, scopes: &[&str]) -> String {
        let token = json!({"name": name, "scopes": scopes});
        let made = self.by_password(account, "POST", &format!("users/{account}/tokens"), &token);
        made["sha1"].as_str().unwrap().to_owned()
    }

    /// An account that needs a second factor from now on; nobody has it.
    pub fn require_second_factor(&self, user: &User) {
        let statement = "INSERT INTO two_factor (uid, secret, scratch_salt, scratch_hash) \
                         SELECT id, '', '', '' FROM user WHERE name = ?";
        self.change_database(statement, &user.name);
    }

    /// Executes a statement with one argument, for what only time or a browser brings about.
    fn change_database(&self, statement: &str, argument: &str) {
        let script = "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1], timeout=30) as database:\n    \
                      database.execute(sys.argv[2], sys.argv[3:])";
        let database = self.folder.join("gitea.db");
        run(Command::new("python3")
            .args(["-c", script])
            .arg(database)
            .args([statement, argument]));
    }

    /// A repository of `owner` with `files` on `main`.
    pub fn repository(&'static self, owner: &User, name: &str, files: &[(&str, &str)]) -> Hosted {
        let settings = json!({"name": name, "auto_init": true, "default_branch": "main"});
        let made = self.api(owner, "POST", "user/repos", &settings);
        assert_eq!(made.status, 201, "{made:?}");
        let path = format!("{}/{name}.git", owner.name.to_lowercase());
        let hosted = Hosted {
            gitea: self,
            path: format!("{}/{name}", owner.name),
            repo: Repo {
                dir: self.folder.join("repositories").join(path),
            },
        };
        hosted.commit(owner, "main", files);
        hosted
    }
}

/// A repository at the server.
pub struct Hosted {
    pub gitea: &'static Gitea,
    /// `OWNER/NAME`
    pub path: String,
    /// Its folder at the server, to look at.
    pub repo: Repo,
}

impl Hosted {
    /// The URL for Git, without credentials.
    pub fn url(&self) -> String {
        self.gitea.url(&format!("{}.git", self.path))
    }

    /// A request about the repository that may fail.
    pub fn try_api(&self, user: &User, method: &str, below: &str, body: &Value) -> Answer {
        let path = format!("repos/{}{below}", self.path);
        self.gitea.api(user, method, &path, body)
    }

    /// A request about the repository; must succeed.
    pub fn api(&self, user: &User, method: &str, below: &str, body: &Value) -> Value {
        let answer = self.try_api(user, method, below, body);
        assert!((200..300).contains(&answer.status), "{method} {below}: {answer:?}");
        answer.body
    }

    /// Commits files to a branch, as in the browser.
    pub fn commit(&self, user: &User, branch: &str, files: &[(&str, &str)]) {
        let existing: Vec<String> = match self.repo.rev(branch) {
            Some(_) => self.repo.tree(branch).into_iter().map(|entry| entry.path).collect(),
            None => Vec::new(),
        };
        let operations: Vec<Value> = files
            .iter()
            .map(|(path, text)| {
                let is_there = existing.iter().any(|known| known == path);
                let mut operation = json!({"operation": "create", "path": path, "content": STANDARD.encode(text)});
                if is_there {
                    operation["operation"] = json!("update");
                    operation["sha"] = json!(self.repo.git(&["rev-parse", &format!("{branch}:{path}")]));
                }
                operation
            })
            .collect();
        let commit = json!({"branch": branch, "message": "by hand", "files": operations});
        self.api(user, "POST", "/contents", &commit);
    }

    /// The pull requests in a state, oldest first.
    pub fn requests(&self, user: &User, state: &str) -> Vec<Value> {
        let list = self.api(user, "GET", &format!("/pulls?state={state}&limit=50"), &Value::Null);
        let mut list: Vec<Value> = serde_json::from_value(list).unwrap();
        list.sort_by_key(|request| request["number"].as_u64());
        list
    }

    pub fn request(&self, user: &User, number: u64) -> Value {
        self.api(user, "GET", &format!("/pulls/{number}"), &Value::Null)
    }

    /// Merges a request, as soon as the server knows that it can be merged.
    pub fn merge(&self, user: &User, number: u64, style: &str, deletes_branch: bool) {
        let body = json!({"Do": style, "delete_branch_after_merge": deletes_branch});
        let merged = || {
            let answer = self.try_api(user, "POST", &format!("/pulls/{number}/merge"), &body);
            match answer.status {
                200 => true,
                405 | 409 => false,
                _ => panic!("{style}: {answer:?}"),
            }
        };
        wait_for(merged, || {
            format!("{style} of #{number}: {}", self.request(user, number))
        });
    }

    /// Makes the requests look as if they had been opened a minute before they were.
    pub fn age_requests(&self) {
        let statement = "UPDATE issue SET created_unix = created_unix - 60 WHERE repo_id = \
                         (SELECT id FROM repository WHERE owner_name || '/' || name = ?)";
        self.gitea.change_database(statement, &self.path);
    }

    /// Closes a request, as people do.
    pub fn close(&self, user: &User, number: u64) {
        self.api(user, "PATCH", &format!("/pulls/{number}"), &json!({"state": "closed"}));
    }
}
