//! The parts for CI as their runners run them: the action, the component, the Jenkinsfile, the hooks, the workflows,
//! and the blocks of docs/start/ci.md.

mod documents;
mod files;
mod github;
mod gitlab;
mod hooks;
mod jenkins;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use bumpwright_testkit::cli::{Bench, Ran, policy, ran};
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::stub_http::StubHttp;
use serde_json::Value;

/// A field that is behind: the policy of [`policies`] wants 2.0.0.
const MARKED: &str = "image: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";
const TOKEN: &str = "t0ken-of-the-job";

fn policies() -> String {
    policy("fs", "app", "ghcr.io/o/app", "2.0.0")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// Whether there is what the scripts need.
fn equipped() -> bool {
    ["curl", "jq"].iter().all(|name| bumpwright_testkit::has(name, name))
}

/// A machine that runs jobs: programs write their arguments into a log before they run.
struct Machine {
    bench: Bench,
}

impl Machine {
    fn new() -> Self {
        let bench = Bench::new();
        let machine = Self { bench };
        let program = bumpwright_testkit::program();
        machine.logged("bumpwright", program.to_str().unwrap());
        for name in ["curl", "jq", "git"] {
            machine.logged(name, &found(name));
        }
        std::fs::create_dir(machine.outside("temp")).unwrap();
        machine
    }

    /// A path outside of the working folder.
    fn outside(&self, name: &str) -> PathBuf {
        self.bench.home.path().join(name)
    }

    /// A repository that accepts pushes, and a checkout of it that is the working folder. Its field is behind.
    fn repository(&self, name: &str) -> Repo {
        let repo = Repo::init(self.outside(name));
        repo.config("http.receivepack", "true");
        let files = [("a.yaml", MARKED.to_owned()), ("p.yaml", policies())];
        let changes = files
            .each_ref()
            .map(|(path, bytes)| Change::File(path, bytes.as_bytes()));
        repo.commit("main", "first", &changes);
        for (path, bytes) in &files {
            self.bench.write(path, bytes);
        }
        repo
    }

    fn logged(&self, name: &str, program: &str) {
        let log = self.outside("arguments");
        let script = format!("printf '%s\\n' \"$@\" >>'{}'\nexec '{program}' \"$@\"", log.display());
        self.program(name, &script);
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.outside("bin").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The arguments of all programs so far.
    fn arguments(&self) -> String {
        std::fs::read_to_string(self.outside("arguments")).unwrap_or_default()
    }

    /// Runs a shell script in the working folder with this environment and nothing else but PATH and HOME.
    fn shell(&self, shell: &[&str], script: &str, environment: &BTreeMap<String, String>) -> Ran {
        let file = self.outside("script");
        std::fs::write(&file, script).unwrap();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.outside("bin").display());
        let mut command = Command::new(shell[0]);
        command
            .args(&shell[1..])
            .arg(file)
            .current_dir(&self.bench.dir)
            .env_clear()
            .envs(environment)
            .env("PATH", path)
            .env("HOME", self.bench.home.path());
        ran(command.output().unwrap())
    }
}

fn found(program: &str) -> String {
    let path = std::env::var_os("PATH").unwrap();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    let place = places.find(|place| place.is_file()).unwrap();
    place.to_str().unwrap().to_owned()
}

/// The pages of releases v0.1.0, and of the raw files of this repository. The program in the release runs
/// the one under test.
fn releases(checksum: Option<&str>) -> StubHttp {
    let folder = tempfile::tempdir().unwrap();
    let machine = std::env::consts::ARCH;
    let name = format!("bumpwright-0.1.0-{machine}-unknown-linux-musl");
    let contents = folder.path().join(&name);
    std::fs::create_dir(&contents).unwrap();
    let program = contents.join("bumpwright");
    let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", bumpwright_testkit::program().display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let archive = format!("{name}.tar.gz");
    let run = |program: &str, arguments: &[&str]| {
        bumpwright_testkit::repo::run_text(Command::new(program).args(arguments).current_dir(folder.path()))
    };
    run("tar", &["-czf", &archive, &name]);
    let sum = run("sha256sum", &[&archive]);
    let sum = checksum.map_or(sum, |checksum| format!("{checksum}  {archive}"));
    let sums = format!(
        "{}  bumpwright_0.1.0_amd64.deb\n{sum}\n{}  sbom.json\n",
        "1".repeat(64),
        "2".repeat(64)
    );
    let bytes = std::fs::read(folder.path().join(&archive)).unwrap();
    StubHttp::start(move |request: &Request| {
        let release = "/bumpwright/bumpwright/releases/download/v0.1.0/";
        if let Some(file) = request.path.strip_prefix("/raw/v0.1.0/") {
            return Reply::text(200, &text(file));
        }
        match request.path.strip_prefix(release) {
            Some("SHA256SUMS") => Reply::text(200, &sums),
            Some(file) if file == archive => Reply::bytes(200, "application/gzip", bytes.clone()),
            _ => Reply::status(404),
        }
    })
}

/// A comment or note at a request for review.
#[derive(Clone, Debug)]
struct Comment {
    id: u64,
    body: String,
}
