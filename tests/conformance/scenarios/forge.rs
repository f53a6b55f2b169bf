//! The Git host of a scenario: repositories with scripted faults, over HTTP, TLS and SSH.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use bumpwright_testkit::git_http::{Fault, Seen};
use bumpwright_testkit::repo::{self, Repo};

const SETTINGS: &str = "[http]\nreceivepack=true\n[receive]\nadvertisePushOptions=true\nautogc=false\n\
                        [uploadpack]\nallowAnySHA1InWant=true\nallowFilter=true\n[gc]\nauto=0\n";

const PRE_RECEIVE: &str = r#"[ -f reject ] || exit 0
while read old new ref; do
  if [ ! -f reject_ref ] || [ "$(cat reject_ref)" = "$ref" ]; then cat reject >&2; exit 1; fi
done
exit 0"#;

const POST_RECEIVE: &str = r#"{ echo P
i=0; while [ "$i" -lt "${GIT_PUSH_OPTION_COUNT:-0}" ]; do
eval "o=\"\$GIT_PUSH_OPTION_$i\""; printf 'O '; printf '%s' "$o" | base64 -w0; echo; i=$((i+1)); done
while read old new ref; do echo "R $old $new $ref"; done; } >> pushes"#;

/// What a path of a commit holds; none deletes it.
pub type Files = BTreeMap<String, Option<(&'static str, Vec<u8>)>>;

pub struct Forge {
    /// The folder of the repositories.
    pub root: PathBuf,
    settings: Mutex<BTreeMap<String, Map<String, Value>>>,
    clock: AtomicU64,
}

impl Forge {
    pub fn new(root: PathBuf) -> Self {
        std::fs::create_dir_all(&root).unwrap();
        Self {
            root,
            settings: Mutex::default(),
            clock: AtomicU64::new(1_700_000_000),
        }
    }

    pub fn repo(&self, name: &str) -> Repo {
        Repo {
            dir: self.root.join(format!("{name}.git")),
        }
    }

    pub fn repos(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.root).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter_map(|name| name.strip_suffix(".git").map(str::to_owned))
            .collect()
    }

    pub fn ensure(&self, name: &str) -> Repo {
        let repo = self.repo(name);
        if !repo.dir.exists() {
            let repo = Repo::init(&repo.dir);
            let config = repo.dir.join("config");
            let text = std::fs::read_to_string(&config).unwrap() + SETTINGS;
            std::fs::write(config, text).unwrap();
            repo.hook("pre-receive", PRE_RECEIVE);
            repo.hook("post-receive", POST_RECEIVE);
        }
        repo
    }

    /// Changes how the server treats a repository from now on.
    pub fn configure(&self, name: &str, changes: &Map<String, Value>) {
        let repo = self.ensure(name);
        let mut all = self.settings.lock();
        let settings = all.entry(name.to_owned()).or_default();
        settings.extend(changes.clone());
        if let Some(offered) = changes.get("push_options") {
            repo.config(
                "receive.advertisePushOptions",
                if offered == true { "true" } else { "false" },
            );
        }
        for (key, end) in [("reject", "\n"), ("reject_ref", "")] {
            let file = repo.dir.join(key);
            match settings.get(key).and_then(Value::as_str) {
                Some(text) => std::fs::write(file, format!("{text}{end}")).unwrap(),
                None => drop(std::fs::remove_file(file)),
            }
        }
    }

    /// What the server does to a request below `/NAMESPACE/`.
    pub fn meet(&self, seen: &Seen) -> Option<Fault> {
        let inside = seen
            .path
            .trim_start_matches('/')
            .split_once('/')
            .map_or("", |(_, rest)| rest);
        let name = inside.split('/').next().unwrap_or_default().trim_end_matches(".git");
        if name.is_empty() || !self.repo(name).dir.exists() {
            return Some(Fault::Status(404, "Repository not found\n".to_owned()));
        }
        let settings = self.settings.lock().get(name).cloned().unwrap_or_default();
        if let Some(seconds) = settings.get("delay").and_then(Value::as_f64) {
            std::thread::sleep(Duration::from_secs_f64(seconds));
        }
        if let Some(status) = status(&settings, "fail_http") {
            return Some(Fault::Status(status, "failing as told\n".to_owned()));
        }
        if settings
            .get("auth")
            .and_then(wanted_login)
            .is_some_and(|login| seen.header("authorization") != Some(&login))
        {
            return Some(Fault::Unauthorized("Unauthorized\n".to_owned()));
        }
        if seen.service == "git-receive-pack" {
            if let Some(status) = status(&settings, "reject_code") {
                return Some(Fault::Status(status, "Forbidden\n".to_owned()));
            }
            if seen.method == "POST" {
                self.race(name);
            }
        }
        None
    }

    /// A concurrent commit just before a push arrives, once.
    fn race(&self, name: &str) {
        let race = self
            .settings
            .lock()
            .get_mut(name)
            .and_then(|settings| settings.remove("race"));
        if let Some(race) = race.filter(Value::is_object) {
            let files = self.files(&race["files"], Path::new(""));
            let step = json!({"branch": race.get("branch"), "from": race.get("from"), "message": "race"});
            self.commit(name, &step, &files);
        }
    }

    /// Reads the `files` of a step.
    pub fn files(&self, spec: &Value, folder: &Path) -> Files {
        let mut out = Files::new();
        for (path, value) in spec.as_object().into_iter().flatten() {
            let text = |key: &str| value.get(key).and_then(Value::as_str);
            let content = if value.is_null() {
                None
            } else if let Some(plain) = value.as_str() {
                Some(("100644", plain.as_bytes().to_vec()))
            } else if let Some(target) = text("symlink") {
                Some(("120000", target.as_bytes().to_vec()))
            } else if let Some(url) = text("submodule") {
                let branch = text("branch").unwrap_or("main");
                let id = self.repo(text("repo").unwrap()).rev(branch).unwrap();
                let modules = format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = {url}\n");
                out.insert(".gitmodules".to_owned(), Some(("100644", modules.into_bytes())));
                Some(("160000", id.into_bytes()))
            } else {
                let executable = value.get("mode").is_some_and(|mode| mode == "755" || mode == 755);
                Some((if executable { "100755" } else { "100644" }, bytes(value, folder)))
            };
            out.insert(path.clone(), content);
        }
        out
    }

    /// Makes a commit and a tag, as a `git` step says.
    pub fn commit(&self, name: &str, step: &Value, files: &Files) {
        let repo = self.ensure(name);
        let text = |key: &str| step.get(key).and_then(Value::as_str);
        let on = |key: &str| step.get(key).is_some_and(|value| value == true);
        let who = format!(
            "test <test@example.com> {} +0000",
            60 + self.clock.fetch_add(60, Ordering::SeqCst)
        );
        let reference = format!("refs/heads/{}", text("branch").unwrap_or("main"));
        let tip = |name: &str| repo.rev(&format!("{name}^{{commit}}"));
        let parent = if on("force") {
            None
        } else {
            tip(&reference).or_else(|| text("from").and_then(tip))
        };
        let mut out = Vec::new();
        let commits = !files.is_empty() || on("allow_empty");
        if commits {
            write!(out, "commit {reference}\ncommitter {who}\n").unwrap();
            data(&mut out, text("message").unwrap_or("commit").as_bytes());
            if let Some(parent) = &parent {
                writeln!(out, "from {parent}").unwrap();
            }
            for (path, content) in files {
                let path = path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                match content {
                    None => writeln!(out, "D \"{path}\"").unwrap(),
                    Some(("160000", id)) => {
                        writeln!(out, "M 160000 {} \"{path}\"", String::from_utf8_lossy(id)).unwrap()
                    }
                    Some((mode, content)) => {
                        writeln!(out, "M {mode} inline \"{path}\"").unwrap();
                        data(&mut out, content);
                    }
                }
            }
            if on("force") && repo.rev(&reference).is_some() {
                repo.git(&["update-ref", "-d", &reference]);
            }
        } else if let Some(parent) = &parent {
            write!(out, "reset {reference}\nfrom {parent}\n\n").unwrap();
        }
        if let Some(tag) = text("tag") {
            let source = if commits { reference } else { parent.unwrap() };
            match text("tag_message") {
                None => write!(out, "reset refs/tags/{tag}\nfrom {source}\n\n").unwrap(),
                Some(message) => {
                    write!(out, "tag {tag}\nfrom {source}\ntagger {who}\n").unwrap();
                    data(&mut out, message.as_bytes());
                }
            }
        }
        import(&repo, &out);
    }

    /// The accepted pushes of a repository, in order.
    pub fn pushes(&self, name: &str) -> Value {
        let log = std::fs::read_to_string(self.repo(name).dir.join("pushes")).unwrap_or_default();
        let mut all: Vec<(Vec<Value>, Vec<String>)> = Vec::new();
        for line in log.lines() {
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            match (kind, all.last_mut()) {
                ("O", Some((_, options))) => options.push(String::from_utf8(STANDARD.decode(rest).unwrap()).unwrap()),
                ("R", Some((refs, _))) => {
                    let mut words = rest.splitn(3, ' ');
                    let mut next = || words.next().unwrap().to_owned();
                    let (old, new, reference) = (next(), next(), next());
                    refs.push(json!({"ref": reference, "old": old, "new": new}));
                }
                _ => all.push(<_>::default()),
            }
        }
        let shown = all.into_iter().map(|(refs, mut options)| {
            options.sort();
            json!({"refs": refs, "options": options})
        });
        Value::Array(shown.collect())
    }
}

fn status(settings: &Map<String, Value>, key: &str) -> Option<u16> {
    settings
        .get(key)
        .and_then(Value::as_u64)
        .and_then(|status| u16::try_from(status).ok())
}

fn wanted_login(auth: &Value) -> Option<String> {
    let text = |key: &str| auth.get(key).and_then(Value::as_str);
    if let Some(token) = text("bearer") {
        return Some(format!("Bearer {token}"));
    }
    Some(format!(
        "Basic {}",
        STANDARD.encode(format!("{}:{}", text("username")?, text("password")?))
    ))
}

fn bytes(value: &Value, folder: &Path) -> Vec<u8> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    if let Some(encoded) = text("base64") {
        return STANDARD.decode(encoded).unwrap();
    }
    if let Some(line) = text("repeat") {
        let times = usize::try_from(value.get("times").and_then(Value::as_u64).unwrap_or(1)).unwrap();
        let around = |key: &str| text(key).unwrap_or_default().to_owned();
        return (around("prefix") + &line.repeat(times) + &around("suffix")).into_bytes();
    }
    match text("file") {
        Some(file) => std::fs::read(folder.join(file)).unwrap(),
        None => text("content").unwrap_or_default().as_bytes().to_vec(),
    }
}

fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    writeln!(out, "data {}", bytes.len()).unwrap();
    out.extend_from_slice(bytes);
    out.push(b'\n');
}

fn import(repo: &Repo, input: &[u8]) {
    let mut command = repo::git(&repo.dir);
    command
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    assert!(child.wait().unwrap().success(), "git fast-import failed");
}
