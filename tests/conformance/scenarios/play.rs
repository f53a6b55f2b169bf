//! Plays the steps of a scenario: each change that a controller would see is followed by a run of the binary.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::forge::Forge;
use super::keys::Keys;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::git_http::{GitHttp, Options};
use bumpwright_testkit::repo::{git, run};

/// The kinds that `update -f` reads.
const KINDS: [&str; 4] = ["ImagePolicy", "ImageUpdateAutomation", "GitRepository", "Secret"];

/// How the last run of an automation ended.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub error: Option<String>,
    /// The commit that was last pushed.
    pub pushed: Option<String>,
}

/// What a capture shows, as far as a command line can show it.
pub enum Shown {
    Status(Option<Outcome>),
    /// Of a repository.
    Log(String, Value),
    Refs(Value),
    Pushes(Value),
    Tree(Value),
    Text(String),
    /// Only a cluster shows this.
    Unseen,
}

pub struct Play<'a> {
    keys: &'a Keys,
    pub namespace: String,
    pub forge: Arc<Forge>,
    folder: &'a Path,
    vars: Value,
    bench: Bench,
    servers: BTreeMap<&'static str, GitHttp>,
    objects: BTreeMap<(String, String, String), Value>,
    outcomes: BTreeMap<(String, String), Outcome>,
    changed: bool,
    pub runs: usize,
    pub captures: BTreeMap<String, Shown>,
}

/// Where an automation pushes.
pub struct Pushes {
    pub repo: String,
    pub start: String,
    pub branch: String,
}

impl<'a> Play<'a> {
    pub fn new(keys: &'a Keys, folder: &'a Path, text: &str) -> Self {
        let bench = Bench::new();
        let namespace = format!("fb-{}", folder.file_name().unwrap().to_str().unwrap());
        let root = bench.path("git");
        let forge = Arc::new(Forge::new(root.join(&namespace)));
        let mut servers = BTreeMap::new();
        let tls = |clients| keys.tls.as_ref().map(|tls| tls.server_config(clients));
        for (name, tls) in [
            ("GIT_URL", None),
            ("GIT_TLS_URL", tls(false)),
            ("GIT_MTLS_URL", tls(true)),
        ] {
            if text.contains(name) {
                let server = GitHttp::with(
                    &root,
                    Options {
                        tls,
                        ..Options::default()
                    },
                );
                let host = Arc::clone(&forge);
                server.intercept(move |seen| host.meet(seen));
                servers.insert(name, server);
            }
        }
        Self {
            keys,
            namespace,
            forge,
            folder,
            vars: Value::Null,
            bench,
            servers,
            objects: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            changed: false,
            runs: 0,
            captures: BTreeMap::new(),
        }
    }

    pub fn play(&mut self, scenario: &Value) {
        self.vars = scenario["vars"].clone();
        for step in scenario["steps"].as_array().unwrap() {
            let (key, step) = step
                .as_object()
                .unwrap()
                .iter()
                .find(|(key, _)| *key != "comment")
                .unwrap();
            let step = self.substituted(step);
            match key.as_str() {
                "git" => self.git(&step),
                "apply" => self.apply(&step),
                "patch" => self.patch(&step),
                "annotate" | "reconcile" => {}
                "delete" => drop(self.objects.remove(&self.key_of(&step))),
                "wait" if step["kind"] != "ImageUpdateAutomation" => continue,
                "wait" | "waitpush" | "waitgit" => {
                    self.run();
                    continue;
                }
                "record" => {
                    self.run();
                    self.record(&step);
                    continue;
                }
                "sleep" | "flux" | "kubectl" | "controllers" | "image" | "oci" => continue,
                other => panic!("a step {other:?}"),
            }
            self.changed = true;
        }
    }

    /// A text with namespaces and addresses as records have them.
    pub fn masked(&self, text: &str) -> String {
        let mut text = text
            .replace(&format!("{}-2", self.namespace), "${NS2}")
            .replace(&self.namespace, "${NS}");
        for (name, server) in &self.servers {
            text = text.replace(&server.host(), &format!("${{{}}}", name.trim_end_matches("_URL")));
        }
        text
    }

    /// The automations that start from the tip of a branch and push to another.
    pub fn switching(&self) -> Vec<Pushes> {
        let automations = self
            .objects
            .iter()
            .filter(|((kind, ..), _)| kind == "ImageUpdateAutomation");
        let pushes = automations.filter_map(|((_, namespace, _), automation)| {
            let spec = &automation["spec"];
            let source = spec["sourceRef"]["name"].as_str()?.to_owned();
            let repository = self
                .objects
                .get(&("GitRepository".to_owned(), namespace.clone(), source))?;
            let own = &spec["git"]["checkout"]["ref"];
            let reference = if own.is_null() { &repository["spec"]["ref"] } else { own };
            let start = reference["branch"]
                .as_str()
                .filter(|_| reference.as_object().is_some_and(|all| all.len() == 1))?;
            let branch = spec["git"]["push"]["branch"]
                .as_str()
                .filter(|branch| *branch != start)?;
            let repo = repository["spec"]["url"]
                .as_str()?
                .rsplit('/')
                .next()?
                .trim_end_matches(".git");
            let (repo, start, branch) = (repo.to_owned(), start.to_owned(), branch.to_owned());
            Some(Pushes { repo, start, branch })
        });
        pushes.collect()
    }

    // Placeholders.

    fn substituted(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.filled(text)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.substituted(item)).collect()),
            Value::Object(entries) => {
                let pair = |(key, value): (&String, &Value)| (self.filled(key), self.substituted(value));
                Value::Object(entries.iter().map(pair).collect())
            }
            other => other.clone(),
        }
    }

    fn filled(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(start) = rest.find("${") {
            let (before, from) = rest.split_at(start);
            out.push_str(before);
            let Some(end) = from.find('}') else { break };
            let (whole, after) = from.split_at(end + 1);
            if before.ends_with('$') {
                // `$${NAME}` is a literal `${NAME}`.
                out.push_str(&whole[1..]);
            } else {
                out.push_str(&self.lookup(&whole[2..end]).unwrap_or_else(|| whole.to_owned()));
            }
            rest = after;
        }
        out + rest
    }

    fn lookup(&self, name: &str) -> Option<String> {
        if let Some(value) = self.vars.get(name) {
            return Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
        if let Some(server) = self.servers.get(name) {
            return Some(server.url(&self.namespace));
        }
        match name {
            "NS" => Some(self.namespace.clone()),
            "NS2" => Some(format!("{}-2", self.namespace)),
            "NAME" => Some(self.namespace.trim_start_matches("fb-").to_owned()),
            "GIT_SSH_URL" => self.keys.sshd.as_ref().map(|sshd| sshd.url(&self.forge.root)),
            _ if name.starts_with("COMMIT_") => self.commit_named(name),
            _ => self.keys.text(name),
        }
    }

    fn commit_named(&self, name: &str) -> Option<String> {
        for repo in self.forge.repos() {
            for reference in self.forge.repo(&repo).refs().into_keys() {
                let short = reference
                    .trim_start_matches("refs/heads/")
                    .trim_start_matches("refs/tags/");
                if name == format!("COMMIT_{repo}_{short}").replace(['-', '/', '.'], "_") {
                    return self.forge.repo(&repo).rev(&format!("{reference}^{{commit}}"));
                }
            }
        }
        None
    }

    // Steps.

    fn git(&self, step: &Value) {
        let name = step["repo"].as_str().unwrap();
        let repo = self.forge.ensure(name);
        if let Some(config) = step["config"].as_object() {
            self.forge.configure(name, config);
        }
        if let Some(branch) = step["delete_branch"].as_str() {
            repo.git(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
        }
        if let Some(branch) = step["head"].as_str() {
            repo.git(&["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]);
        }
        let mut files = self.forge.files(&step["files"], self.folder);
        if let Some(tree) = step["tree"].as_str() {
            for (path, bytes) in bumpwright_testkit::cli::files(&self.folder.join(tree)) {
                files.insert(path, Some(("100644", bytes)));
            }
        }
        if !files.is_empty() || step["allow_empty"] == true || step["from"].is_string() || step["tag"].is_string() {
            self.forge.commit(name, step, &files);
        }
    }

    fn apply(&mut self, step: &Value) {
        if step["expect_error"] == true {
            return;
        }
        let objects = match step {
            Value::Array(objects) => objects.clone(),
            Value::String(text) => documents(text),
            Value::Object(form) if form.contains_key("text") => documents(step["text"].as_str().unwrap()),
            Value::Object(form) if form.contains_key("file") => {
                let text = std::fs::read_to_string(self.folder.join(step["file"].as_str().unwrap())).unwrap();
                documents(&text).iter().map(|object| self.substituted(object)).collect()
            }
            one => vec![one.clone()],
        };
        for mut object in objects {
            if object.is_null() {
                continue;
            }
            if object["metadata"]["namespace"].is_null() {
                object["metadata"]["namespace"] = json!(self.namespace);
            }
            let key = self.key_of(&json!({
                "kind": object["kind"], "name": object["metadata"]["name"], "namespace": object["metadata"]["namespace"],
            }));
            if object["status"].is_null() {
                let kept = self.objects.get(&key).map_or(Value::Null, |old| old["status"].clone());
                let entries = object.as_object_mut().unwrap();
                entries.remove("status");
                if !kept.is_null() {
                    entries.insert("status".to_owned(), kept);
                }
            }
            self.objects.insert(key, object);
        }
    }

    fn patch(&mut self, step: &Value) {
        let key = self.key_of(step);
        let object = self.objects.get_mut(&key).unwrap();
        assert_ne!(step["type"], "json", "JSON patches are not played");
        merge(object, &step["patch"]);
    }

    fn key_of(&self, step: &Value) -> (String, String, String) {
        let text = |key: &str| step[key].as_str().map(str::to_owned);
        let namespace = text("namespace").unwrap_or_else(|| self.namespace.clone());
        (text("kind").unwrap(), namespace, text("name").unwrap())
    }

    /// Runs the binary with all objects, when something has changed since it ran last.
    fn run(&mut self) {
        let has_automation = self.objects.keys().any(|(kind, _, _)| kind == "ImageUpdateAutomation");
        if !std::mem::take(&mut self.changed) || !has_automation {
            return;
        }
        self.runs += 1;
        let mut manifests = String::new();
        for ((kind, _, _), object) in &self.objects {
            if KINDS.contains(&kind.as_str()) {
                manifests += &format!("---\n{}\n", serde_json::to_string_pretty(object).unwrap());
            }
        }
        self.bench.write("manifests.yaml", manifests);
        let mut command = self
            .bench
            .command(&["update", "-f", "manifests.yaml", "--output", "json"]);
        command.env_remove("SSH_AUTH_SOCK");
        let ran = bumpwright_testkit::cli::ran(command.output().unwrap());
        let Ok(document) = serde_json::from_str::<Value>(&ran.out) else {
            // Nothing was run: the error is everybody's.
            for (kind, namespace, name) in self.objects.keys() {
                if kind == "ImageUpdateAutomation" {
                    let outcome = self.outcomes.entry((namespace.clone(), name.clone())).or_default();
                    outcome.error = Some(format!("exit code {}: {}", ran.code, ran.err));
                }
            }
            return;
        };
        let runs = document["runs"].as_array().unwrap();
        let failed = runs.iter().any(|run| !run["error"].is_null());
        assert_eq!(ran.code, if failed { 2 } else { 0 }, "{}\n{}", ran.out, ran.err);
        for run in runs {
            self.note(run);
        }
    }

    /// Keeps how a run ended. A suspended automation stays as it was.
    fn note(&mut self, run: &Value) {
        let (namespace, name) = run["automation"].as_str().unwrap().split_once('/').unwrap();
        let key = (
            "ImageUpdateAutomation".to_owned(),
            namespace.to_owned(),
            name.to_owned(),
        );
        if self.objects[&key]["spec"]["suspend"] == true {
            return;
        }
        let error = run["error"].as_str().map(|error| self.masked(error));
        let outcome = self
            .outcomes
            .entry((namespace.to_owned(), name.to_owned()))
            .or_default();
        outcome.error = error;
        let pushed = run["pushes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|push| push["status"] != "up-to-date");
        if pushed && outcome.error.is_none() {
            outcome.pushed = run["commit"]["id"].as_str().map(str::to_owned);
        }
    }

    // Captures.

    fn record(&mut self, step: &Value) {
        for (name, what) in step.as_object().unwrap() {
            if name != "basic" {
                let (kind, arguments) = what.as_object().unwrap().iter().next().unwrap();
                let shown = self.capture(kind, arguments);
                self.captures.insert(name.clone(), shown);
                continue;
            }
            let prefix = what["prefix"].as_str().unwrap_or_default();
            let mut arguments = what.clone();
            if what["max"].is_null() {
                arguments["max"] = json!(5);
            }
            for (suffix, kind) in [
                ("status", "object"),
                ("log", "log"),
                ("pushes", "pushes"),
                ("refs", "refs"),
            ] {
                if kind == "object" || what["repo"].is_string() {
                    let shown = self.capture(kind, &arguments);
                    self.captures.insert(format!("{prefix}{suffix}"), shown);
                }
            }
        }
    }

    fn capture(&self, kind: &str, arguments: &Value) -> Shown {
        let repo = || arguments["repo"].as_str().unwrap();
        let branch = format!("refs/heads/{}", arguments["branch"].as_str().unwrap_or("main"));
        match kind {
            "object" if arguments["kind"] == "ImageUpdateAutomation" => {
                let (_, namespace, name) = self.key_of(arguments);
                Shown::Status(self.outcomes.get(&(namespace, name)).cloned())
            }
            "log" => {
                let reference = arguments["ref"].as_str().unwrap_or(&branch);
                let max = arguments["max"].as_u64().unwrap_or(10);
                Shown::Log(repo().to_owned(), log(&self.forge, repo(), reference, max))
            }
            "refs" => Shown::Refs(json!(self.forge.repo(repo()).refs())),
            "pushes" => Shown::Pushes(self.forge.pushes(repo())),
            "tree" => Shown::Tree(self.tree(repo(), &branch, &arguments["paths"])),
            "verify" => Shown::Text(self.keys.verify(&self.forge.repo(repo()).dir, &branch)),
            _ => Shown::Unseen,
        }
    }

    fn tree(&self, repo: &str, branch: &str, paths: &Value) -> Value {
        let repo = self.forge.repo(repo);
        let wanted = |path: &str| {
            paths
                .as_array()
                .is_none_or(|paths| paths.iter().any(|p| path.starts_with(p.as_str().unwrap())))
        };
        let mut out = Map::new();
        if repo.rev(branch).is_none() {
            return Value::Object(out);
        }
        for entry in repo.tree(branch).into_iter().filter(|entry| wanted(&entry.path)) {
            let content = match entry.mode.as_str() {
                "160000" => entry.id,
                _ => String::from_utf8_lossy(&repo.show(branch, &entry.path)).into_owned(),
            };
            out.insert(
                entry.path,
                json!({"mode": entry.mode, "content": self.masked(&content)}),
            );
        }
        Value::Object(out)
    }
}

fn documents(text: &str) -> Vec<Value> {
    super::yaml_tree::parse(text)
        .unwrap()
        .iter()
        .map(super::yaml_tree::Node::value)
        .collect()
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        let entries = target.as_object_mut().unwrap();
        if value.is_null() {
            entries.remove(key);
        } else {
            merge(entries.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Commits, newest first, in the shape of a recorded `log`, with the first parent beside.
fn log(forge: &Forge, repo: &str, reference: &str, max: u64) -> Value {
    let dir = forge.repo(repo).dir;
    if forge.repo(repo).rev(reference).is_none() {
        return json!([]);
    }
    let text = |arguments: &[&str]| {
        String::from_utf8_lossy(&run(git(&dir).args(["-c", "core.quotePath=false"]).args(arguments))).into_owned()
    };
    let list = text(&["rev-list", &format!("--max-count={max}"), reference]);
    let commit = |id: &str| {
        let raw = text(&["cat-file", "commit", id]);
        let (head, message) = raw.split_once("\n\n").unwrap();
        let lines = |key: &str| {
            head.lines()
                .filter_map(move |line| line.strip_prefix(key))
                .collect::<Vec<_>>()
        };
        let who = |key: &str| lines(key)[0].rsplitn(3, ' ').nth(2).unwrap().to_owned();
        let parents = lines("parent ");
        let names = text(&["diff-tree", "--root", "-r", "--no-commit-id", "--name-status", id]);
        json!({
            "sha": id, "author": who("author "), "committer": who("committer "), "message": message,
            "parents": parents.len(), "parent": parents.first(), "signed": head.contains("\ngpgsig"),
            "changed": names.lines().take(50).collect::<Vec<_>>(),
        })
    };
    Value::Array(list.lines().map(commit).collect())
}
