//! Comparison of the recorded behaviour of the real controller with the binary's.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::files;
use super::play::{Outcome, Play, Shown};
use bumpwright_testkit::repo::Repo;

/// Texts of errors: what the controller's message holds, and what ours has to hold one of.
const WORDS: &[(&str, &[&str])] = &[
    ("status code: 503", &["unexpected status 503"]),
    ("context deadline exceeded", &["no answer within 1s"]),
    ("connection refused", &["Connection refused"]),
    (
        "certificate signed by unknown authority",
        &["UnknownIssuer", "BadSignature", "no certificate"],
    ),
    ("tls: certificate required", &["CertificateRequired"]),
    (
        "referenced git repository does not exist",
        &["referenced git repository does not exist: GitRepository ${NS}/app"],
    ),
    ("semver parse error: improper constraint", &["improper constraint"]),
    (
        "decryption password incorrect",
        &[
            "cannot be read with the passphrase given",
            "decryption password incorrect",
        ],
    ),
    ("is passphrase protected", &["is encrypted; give its passphrase"]),
    (
        "unable to resolve commit object for",
        &["unable to resolve commit object for"],
    ),
    ("walking path for files: lstat", &["does not exist in"]),
    ("repository not found", &["repository not found: Repository not found"]),
    ("authentication required", &["authentication required"]),
    ("authorization failed: Forbidden", &["authorization failed: Forbidden"]),
    ("knownhosts: key is unknown", &["is not in known_hosts"]),
    ("knownhosts: key mismatch", &["is not the one in known_hosts"]),
    ("unable to authenticate", &["the server accepted no key"]),
];

/// What the controller puts before the reason.
const PREFIXES: &[&str] = &[
    "failed to checkout source: ",
    "failed to update source: ",
    "failed to push to remote: ",
    "failed configuring source manager: ",
    "failed to configure authentication options: ",
    "failed to apply policies: ",
];

/// What differs: the part of the record, and how.
#[derive(Debug)]
pub struct Difference {
    pub part: &'static str,
    pub text: String,
}

/// Pairs the ids of a record (`sha#1`) with ours.
#[derive(Default)]
struct Ids {
    ours: BTreeMap<String, String>,
    taken: BTreeSet<String>,
}

impl Ids {
    fn same(&mut self, recorded: &Value, ours: &Value) -> bool {
        let (Some(recorded), Some(ours)) = (recorded.as_str(), ours.as_str()) else {
            return recorded == ours;
        };
        if recorded == "zero" {
            return ours.bytes().all(|byte| byte == b'0');
        }
        match self.ours.get(recorded) {
            Some(known) => known == ours,
            None => {
                self.ours.insert(recorded.to_owned(), ours.to_owned());
                self.taken.insert(ours.to_owned())
            }
        }
    }
}

pub struct Comparison<'a, 'k> {
    play: &'a Play<'k>,
    ids: Ids,
    pub differences: Vec<Difference>,
    /// The decisions that explain values that differ.
    pub decisions: BTreeSet<&'static str>,
    /// How many captures were compared.
    pub compared: usize,
}

impl<'a, 'k> Comparison<'a, 'k> {
    pub fn new(play: &'a Play<'k>) -> Self {
        Self {
            play,
            ids: Ids::default(),
            differences: Vec::new(),
            decisions: BTreeSet::new(),
            compared: 0,
        }
    }

    pub fn compare(&mut self, expected: &Value) {
        let none = Value::Null;
        // Logs come first: they say most about what an id is.
        let order = |shown: &Shown| !matches!(shown, Shown::Log(..));
        let mut captures: Vec<_> = self.play.captures.iter().collect();
        captures.sort_by_key(|(_, shown)| order(shown));
        for (name, shown) in captures {
            let recorded = expected.get(name).unwrap_or(&none);
            self.compared += usize::from(!matches!(shown, Shown::Unseen));
            match shown {
                Shown::Unseen => {}
                Shown::Status(outcome) => self.status(name, recorded, outcome.as_ref()),
                Shown::Log(repo, log) => self.log(name, recorded, log, repo),
                Shown::Refs(refs) => self.refs(name, recorded, refs),
                Shown::Pushes(pushes) => self.pushes(name, recorded, pushes),
                Shown::Tree(tree) => self.tree(name, recorded, tree),
                Shown::Text(text) if recorded == text => {}
                Shown::Text(text) => self.differs("text", format!("{name}: {recorded} became {text}")),
            }
        }
    }

    fn differs(&mut self, part: &'static str, text: String) {
        self.differences.push(Difference { part, text });
    }

    fn status(&mut self, name: &str, recorded: &Value, outcome: Option<&Outcome>) {
        let conditions = recorded["status"]["conditions"].as_array();
        let ready = conditions.and_then(|all| all.iter().find(|one| one["type"] == "Ready"));
        let error = outcome.and_then(|outcome| outcome.error.as_deref());
        match ready.map(|ready| {
            (
                ready["status"] == "True",
                ready["message"].as_str().unwrap_or_default(),
                error,
            )
        }) {
            // Nothing was tried, or nothing is said about how it ended.
            None => {}
            Some((true, _, None)) if outcome.is_some() => {}
            Some((false, message, Some(error))) if says(message, error) => {}
            Some((_, message, error)) => self.differs("status", format!("{name}: {message:?} became {error:?}")),
        }
        if let Some(commit) = recorded["status"].get("lastPushCommit") {
            let ours = outcome
                .and_then(|outcome| outcome.pushed.clone())
                .map_or(Value::Null, Value::String);
            if !self.ids.same(commit, &ours) {
                self.differs("last push", format!("{name}: {commit} became {ours}"));
            }
        }
    }

    fn refs(&mut self, name: &str, recorded: &Value, ours: &Value) {
        let (recorded, ours) = (object(recorded), object(ours));
        if recorded.keys().ne(ours.keys()) {
            self.differs(
                "refs",
                format!("{name}: {:?} became {:?}", recorded.keys(), ours.keys()),
            );
            return;
        }
        for (reference, id) in &recorded {
            if !self.ids.same(id, &ours[reference]) {
                self.differs("refs", format!("{name}: {reference} is not {id}"));
            }
        }
    }

    fn pushes(&mut self, name: &str, recorded: &Value, ours: &Value) {
        let flat = |pushes: &Value| -> Vec<(Value, Vec<Value>)> {
            let pushes = pushes.as_array().into_iter().flatten();
            pushes
                .map(|push| (push["options"].clone(), push["refs"].as_array().unwrap().clone()))
                .collect()
        };
        let (theirs, mine) = (flat(recorded), flat(ours));
        let shape = |all: &[(Value, Vec<Value>)]| -> Vec<(Value, Vec<Value>)> {
            let names = |refs: &[Value]| refs.iter().map(|one| one["ref"].clone()).collect();
            all.iter()
                .map(|(options, refs)| (options.clone(), names(refs)))
                .collect()
        };
        if shape(&theirs) != shape(&mine) {
            self.differs("pushes", format!("{name}: {recorded} became {ours}"));
            return;
        }
        for ((_, theirs), (_, mine)) in theirs.iter().zip(&mine) {
            for (theirs, mine) in theirs.iter().zip(mine) {
                if !(self.ids.same(&theirs["old"], &mine["old"]) && self.ids.same(&theirs["new"], &mine["new"])) {
                    self.differs("pushes", format!("{name}: {theirs} became {mine}"));
                }
            }
        }
    }

    fn log(&mut self, name: &str, recorded: &Value, ours: &Value, repo: &str) {
        let none = Vec::new();
        let (theirs, mine) = (recorded.as_array().unwrap_or(&none), ours.as_array().unwrap_or(&none));
        if theirs.len() != mine.len() {
            self.differs("log", format!("{name}: {} commits became {}", theirs.len(), mine.len()));
            return;
        }
        for (theirs, mine) in theirs.iter().zip(mine) {
            if !self.ids.same(&theirs["sha"], &mine["sha"]) {
                self.differs("log", format!("{name}: {} is another commit", theirs["sha"]));
            }
            for key in ["author", "committer", "message", "parents", "signed"] {
                let shown = mine[key]
                    .as_str()
                    .map_or_else(|| mine[key].clone(), |text| Value::String(self.play.masked(text)));
                if theirs[key] != shown {
                    self.differs("log", format!("{name}: {key} {} became {shown}", theirs[key]));
                }
            }
            if theirs["changed"] != mine["changed"] {
                self.differs(
                    "files",
                    format!("{name}: {} became {}", theirs["changed"], mine["changed"]),
                );
            }
            if mine["author"] != "test <test@example.com>" {
                self.commit(name, theirs, mine, &self.play.forge.repo(repo));
            }
        }
    }

    /// The files of one of our commits.
    fn commit(&mut self, name: &str, theirs: &Value, mine: &Value, repo: &Repo) {
        let lines: Vec<&str> = theirs["diff"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let patches = files::patches(&lines);
        let (id, parent) = (mine["sha"].as_str().unwrap(), mine["parent"].as_str());
        for change in mine["changed"].as_array().unwrap() {
            let (status, path) = change.as_str().unwrap().split_once('\t').unwrap();
            let Some(parent) = parent.filter(|_| status == "M") else {
                continue;
            };
            let (old, new) = (repo.show(parent, path), repo.show(id, path));
            if let Err(error) = files::only_marked(&old, &new) {
                self.differs("bytes", format!("{name}: {path}: {error}"));
            }
            let text = |bytes: &[u8]| self.play.masked(&String::from_utf8_lossy(bytes));
            let (old, new) = (text(&old), text(&new));
            if let Some(patch) = patches.get(path) {
                self.values(&format!("{name}: {path}"), Some(&old), &patch.apply(&old), &new);
            }
        }
    }

    fn values(&mut self, what: &str, old: Option<&str>, theirs: &str, mine: &str) {
        match files::compare(old, theirs, mine) {
            Ok(decisions) => self.decisions.extend(decisions),
            Err(differences) => self.differs("values", format!("{what}: {}", differences.join("; "))),
        }
    }

    fn tree(&mut self, name: &str, recorded: &Value, ours: &Value) {
        let (theirs, mine) = (object(recorded), object(ours));
        if theirs.keys().ne(mine.keys()) {
            self.differs("tree", format!("{name}: {:?} became {:?}", theirs.keys(), mine.keys()));
            return;
        }
        for (path, file) in &theirs {
            let own = &mine[path];
            if file["mode"] != own["mode"] {
                self.differs(
                    "tree",
                    format!("{name}: {path}: mode {} became {}", file["mode"], own["mode"]),
                );
            } else if file["mode"] == "160000" {
                if !self.ids.same(&file["content"], &own["content"]) {
                    self.differs("tree", format!("{name}: {path}: another submodule"));
                }
            } else if let (Some(content), Some(own)) = (file["content"].as_str(), own["content"].as_str())
                && content != own
                && !content.starts_with("sha256:")
            {
                self.values(&format!("{name}: {path}"), None, content, own);
            }
        }
    }
}

fn object(value: &Value) -> BTreeMap<String, Value> {
    value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Whether our error corresponds to the controller's message.
fn says(message: &str, error: &str) -> bool {
    if let Some((_, ours)) = WORDS.iter().find(|(theirs, _)| message.contains(theirs)) {
        return ours.iter().any(|words| error.contains(words));
    }
    let mut reason = message;
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| reason.strip_prefix(prefix)) {
        reason = rest;
    }
    if let Some((_, rest)) = reason
        .strip_prefix("unable to clone '")
        .and_then(|rest| rest.split_once("': "))
    {
        reason = rest;
    }
    error.contains(reason.trim_end())
}
