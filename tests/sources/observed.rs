//! The visible results of a source: its status, its unpacked artifact, its events. In a form that is comparable between
//! two controllers: times, digests of archives, hosts and namespaces are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::ports::free_port;

/// The visible results of one source.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub status: Json,
    /// Mode and digest of each file, mode of each folder.
    pub files: BTreeMap<String, String>,
    pub events: BTreeSet<String>,
}

impl Shown {
    /// Whether no reconciliation is under way.
    pub fn is_settled(&self) -> bool {
        is_settled(&self.status)
    }
}

/// Whether a status says how it went, and not that something is under way.
pub fn is_settled(status: &Json) -> bool {
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let reads = |kind: &str, field: &str| {
        let found = conditions.iter().find(|condition| condition["type"] == kind);
        found.map(|condition| condition[field].as_str().unwrap_or_default().to_owned())
    };
    reads("Ready", "status").is_some_and(|status| status != "Unknown")
        && reads("Reconciling", "reason").is_none_or(|reason| reason == "ProgressingWithRetry")
}

/// One of the two controllers' side.
pub struct Side<'a> {
    pub cluster: &'a Cluster,
    pub namespace: &'static str,
    pub folder: PathBuf,
    /// The kind of the sources, in plural: `gitrepositories`.
    pub plural: &'static str,
    /// Of the controller's environment.
    pub variables: &'a [(&'a str, String)],
    /// Of both controllers.
    pub flags: &'a [&'a str],
}

/// Pauses grow as they do by default: what fails for good must not keep all workers busy.
const FLAGS: [&str; 5] = [
    "--watch-all-namespaces=false",
    "--concurrent=6",
    "--requeue-dependency=5s",
    "--interval-jitter-percentage=0",
    "--log-level=debug",
];

impl Side<'_> {
    /// The controller of this side: Flux's where the namespace is `flux`, else ours.
    pub fn controller(&self) -> Controller {
        let storage = self.folder.join("data");
        std::fs::create_dir_all(&storage).unwrap();
        let (kubeconfig, address) = (self.cluster.kubeconfig(), format!("127.0.0.1:{}", free_port()));
        let starter = if self.namespace == "flux" {
            let starter = Controller::of_flux("source-controller", &kubeconfig, self.namespace, &self.folder);
            let storage = format!("--storage-path={}", storage.display());
            starter.unwrap().flags(&[&storage, "--events-addr="])
        } else {
            let starter = Controller::ours(&kubeconfig, self.namespace, &self.folder);
            starter.flags(&["--controllers=source,helm"])
        };
        let addresses = [
            format!("--storage-addr={address}"),
            format!("--storage-adv-addr={address}"),
        ];
        let starter = starter.flags(&FLAGS).flags(self.flags).flags(&addresses);
        let variables = self.variables.iter();
        variables
            .fold(starter, |starter, (name, value)| starter.variable(name, value))
            .start()
    }

    pub fn path(&self, name: &str) -> String {
        let (namespace, plural) = (self.namespace, self.plural);
        format!("/apis/source.toolkit.fluxcd.io/v1/namespaces/{namespace}/{plural}/{name}")
    }

    pub fn status(&self, name: &str) -> Json {
        self.cluster.get(&self.path(name))["status"].clone()
    }

    /// The events of all sources, by name.
    pub fn events(&self) -> BTreeMap<String, BTreeSet<String>> {
        let list = self
            .cluster
            .get(&format!("/api/v1/namespaces/{}/events", self.namespace));
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for event in list["items"].as_array().unwrap() {
            let text = |field: &str| event[field].as_str().unwrap_or_default();
            let shown = format!(
                "{} {}: {}",
                text("type"),
                text("reason"),
                self.anywhere(text("message"))
            );
            let name = event["involvedObject"]["name"].as_str().unwrap().to_owned();
            found.entry(name).or_default().insert(shown);
        }
        found
    }

    /// An annotation of an event about a source; null where none has it.
    pub fn event_annotation(&self, name: &str, key: &str) -> Json {
        let list = format!("/api/v1/namespaces/{}/events", self.namespace);
        let list = self.cluster.get(&list);
        let mut events = list["items"].as_array().unwrap().iter();
        let found = events.find(|event| {
            event["involvedObject"]["name"] == name && event["metadata"]["annotations"].get(key).is_some()
        });
        found.map_or(Json::Null, |event| event["metadata"]["annotations"][key].clone())
    }

    pub fn shown(&self, name: &str, events: &BTreeMap<String, BTreeSet<String>>) -> Shown {
        let status = self.status(name);
        let files = match status["artifact"]["url"].as_str() {
            Some(url) => self.unpacked(name, url, &status["artifact"]),
            None => BTreeMap::new(),
        };
        Shown {
            status: self.comparable(&status),
            files,
            events: events.get(name).cloned().unwrap_or_default(),
        }
    }

    fn comparable(&self, status: &Json) -> Json {
        let mut status = status.clone();
        let fields = status.as_object_mut().unwrap();
        // Of Flux 2.10; what runs here may be older.
        fields.remove("sourceVerificationFingerprint");
        for condition in fields
            .get_mut("conditions")
            .and_then(Json::as_array_mut)
            .into_iter()
            .flatten()
        {
            condition.as_object_mut().unwrap().remove("lastTransitionTime");
            condition["message"] = json!(self.anywhere(condition["message"].as_str().unwrap()));
        }
        let included = fields.get_mut("includedArtifacts").and_then(Json::as_array_mut);
        let mut artifacts: Vec<Json> = included.map(std::mem::take).unwrap_or_default();
        artifacts.iter_mut().for_each(|artifact| self.make_comparable(artifact));
        if !artifacts.is_empty() {
            fields.insert("includedArtifacts".to_owned(), json!(artifacts));
        }
        if let Some(url) = fields.get_mut("url") {
            *url = json!(self.anywhere(url.as_str().unwrap()));
        }
        if let Some(artifact) = fields.get_mut("artifact") {
            self.make_comparable(artifact);
        }
        status
    }

    fn make_comparable(&self, artifact: &mut Json) {
        let fields = artifact.as_object_mut().unwrap();
        fields.remove("lastUpdateTime").unwrap();
        assert!(fields["size"].as_u64() > Some(0));
        assert!(fields["digest"].as_str().unwrap().starts_with("sha256:"));
        // A chart that is not changed is stored as it is, but another is packaged again.
        let path = fields["path"].as_str().unwrap();
        if path.ends_with(".tar.gz") || path.ends_with(".tgz") {
            // A file is as long as its compressor is good.
            fields.remove("size");
            fields.remove("digest");
        }
        for field in ["path", "url"] {
            fields[field] = json!(self.anywhere(fields[field].as_str().unwrap()));
        }
    }

    /// A text without what differs from side to side and from run to run.
    fn anywhere(&self, text: &str) -> String {
        let text = text.trim_end().replace(&format!("{}/", self.namespace), "NS/");
        let text = without_system_calls(&text);
        let mut words: Vec<String> = Vec::new();
        for word in text.split(' ') {
            let host = word.find("http://127.0.0.1:").filter(|_| {
                word.contains(".tar.gz")
                    || (word.contains(".tgz") && word.contains("/helmchart/"))
                    || word.ends_with("/index.yaml")
                    || word.contains("/index-")
            });
            let temporary = word.find("/tmp/").filter(|_| word.contains("gitrepository-"));
            if let (Some(at), Some(source)) = (word.find("/tmp/"), word.find("/source/"))
                && word.contains("/helmchart-")
            {
                words.push(format!("{}{}", &word[..at], &word[source + "/source".len()..]));
                continue;
            }
            words.push(match (host, temporary) {
                (Some(at), _) => {
                    let path = word[at + 7..].split_once('/').unwrap().1;
                    format!("{}http://HOST/{path}", &word[..at])
                }
                (_, Some(at)) => {
                    let rest = &word[word.find("gitrepository-").unwrap()..];
                    let inside = rest.find('/').map_or("", |slash| &rest[slash..]);
                    format!("{}TMP{inside}", &word[..at])
                }
                _ => word.to_owned(),
            });
        }
        words.join(" ")
    }

    /// Fetches the archive as another controller would, and checks it against the status.
    fn unpacked(&self, name: &str, url: &str, artifact: &Json) -> BTreeMap<String, String> {
        let bytes = ureq::get(url)
            .call()
            .and_then(|mut answer| answer.body_mut().read_to_vec());
        let bytes = bytes.unwrap_or_else(|error| panic!("{url}: {error}"));
        let digest = format!("sha256:{}", hex(&Sha256::digest(&bytes)));
        assert_eq!(artifact["digest"], json!(digest), "{url}");
        assert_eq!(artifact["size"], json!(bytes.len()), "{url}");
        if !bytes.starts_with(&[0x1f, 0x8b]) {
            // A layer that was copied may be anything.
            return BTreeMap::from([("no archive".to_owned(), digest)]);
        }
        let (archive, folder) = (
            self.folder.join("archive"),
            self.folder.join(format!("unpacked-{name}")),
        );
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&archive, bytes).unwrap();
        let mut tar = Command::new("tar");
        tar.args(["-x", "-z", "--same-permissions", "--no-same-owner", "-f"])
            .arg(&archive)
            .arg("-C")
            .arg(&folder);
        let out = tar.output().unwrap();
        assert!(out.status.success(), "{url}: {}", String::from_utf8_lossy(&out.stderr));
        let mut files = BTreeMap::new();
        collect(&folder, "", &mut files);
        std::fs::remove_dir_all(&folder).unwrap();
        files
    }
}

/// Flux's errors have paths on disk: `cannot stat /tmp/…: no such file or directory`. Only the end is compared.
fn without_system_calls(text: &str) -> String {
    let calls = ["lstat /", "link error: ", "cannot stat /"];
    let call = calls.iter().filter_map(|call| text.find(call)).min();
    match (call, text.rsplit_once(": ")) {
        (Some(at), Some((_, last))) => format!("{}{last}", &text[..at]),
        _ => text.to_owned(),
    }
}

/// Mode and digest of each file below a folder, mode of each folder.
pub fn collect(folder: &Path, below: &str, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        let data = entry.metadata().unwrap();
        let mode = data.permissions().mode() & 0o7777;
        if data.is_dir() {
            files.insert(format!("{path}/"), format!("{mode:o}"));
            collect(&entry.path(), &format!("{path}/"), files);
        } else if data.is_file() {
            let digest = hex(&Sha256::digest(std::fs::read(entry.path()).unwrap()));
            files.insert(path, format!("{mode:o} {digest}"));
        } else {
            files.insert(path, format!("{mode:o} {:?}", data.file_type()));
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What differs, line by line; empty when nothing does.
pub fn differences(flux: &Shown, ours: &Shown) -> Vec<String> {
    let mut found = Vec::new();
    compare("status", &flux.status, &ours.status, &mut found);
    let paths: BTreeSet<&String> = flux.files.keys().chain(ours.files.keys()).collect();
    for path in paths {
        let (theirs, our) = (flux.files.get(path), ours.files.get(path));
        if theirs != our {
            found.push(format!("file {path}: Flux {theirs:?}, ours {our:?}"));
        }
    }
    let kept = |shown: &Shown| -> BTreeSet<String> {
        // The order is random.
        let is_chance = |event: &String| event.starts_with("Normal NoArtifact: ") && shown.events.len() > 1;
        let kept = shown.events.iter().filter(|event| !is_chance(event));
        kept.cloned().collect()
    };
    let (flux, ours) = (kept(flux), kept(ours));
    found.extend(flux.difference(&ours).map(|event| format!("only Flux says: {event}")));
    found.extend(ours.difference(&flux).map(|event| format!("only we say: {event}")));
    found
}

fn compare(place: &str, flux: &Json, ours: &Json, found: &mut Vec<String>) {
    match (flux, ours) {
        (Json::Object(a), Json::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter()
                .for_each(|key| compare(&format!("{place}.{key}"), &flux[key], &ours[key], found));
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                compare(&format!("{place}[{index}]"), a, b, found);
            }
        }
        _ if flux != ours => found.push(format!("{place}:\n    Flux {flux}\n    ours {ours}")),
        _ => {}
    }
}
