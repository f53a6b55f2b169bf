//! Artifacts of sources as trees of files in memory, each fetched and unpacked once for all Kustomizations and
//! HelmCharts that are built from it.
//!
//! A tree in use is accounted to the build memory of the namespace that requested it first. Unused trees are cached
//! within a bound of their own.

mod download;
mod unpack;

use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use thiserror::Error;
use url::Url;

use crate::settings::ArtifactHosts;
use bumpwright_api::{Artifact, Kustomization};
use bumpwright_artifact::{Digest, ReadError};
use bumpwright_budget::{Budget, Budgets, Exceeded, Reservation};
use bumpwright_http::{Client, Deadline, Job, Peer, Request, RetryPolicy};
use bumpwright_kustomize::tree::MemoryTree;
use bumpwright_runtime::blocking;
use bumpwright_storage::{Shared, SharedError, Storage};
use download::{Download, copying, digest_of, other_bytes};
use unpack::unpacked;

/// Cache limit for unused trees, in bytes of files; larger trees are kept only while in use.
const KEPT: u64 = 32 << 20;

/// Why the files are not available.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum FetchError {
    /// The source has not made it, or has removed it.
    #[error("file not found")]
    Absent,
    /// It differs from the source's digest: the source may have another one by now.
    /// In Flux's words (`fluxcd/pkg/http/fetch`).
    #[error("{0}")]
    Changed(String),
    /// It cannot be downloaded. In Flux's words where it has any (`fluxcd/pkg/http/fetch`).
    #[error("{0}")]
    Failed(String),
    /// There is not enough memory now.
    #[error("{0}")]
    NoRoom(String),
}

fn failed(error: impl std::fmt::Display) -> FetchError {
    FetchError::Failed(error.to_string())
}

/// The requester of an artifact.
#[derive(Clone, Debug)]
pub(crate) struct Requester {
    /// The namespace of who builds from it.
    pub(crate) namespace: String,
    /// The time limit of the download.
    pub(crate) timeout: Duration,
}

/// Fetches, unpacks and shares artifacts. Calls block.
#[derive(Debug)]
pub(crate) struct ArtifactTrees {
    shared: Shared<Key, Kept, FetchError>,
    client: Client,
    /// The storage of our own artifacts, if we make any: they are read without a server.
    own: Option<Storage>,
    hosts: ArtifactHosts,
    builds: Budgets,
}

/// The longest time without a byte of an awaited archive. It is on the disk of its server: who says nothing for so long
/// is paused, or its node is lost, and the time limit of the Kustomization may be an hour.
const SILENCE: Duration = Duration::from_secs(10);

/// The files of a Kustomization's artifact, unless `is_replaced` says meanwhile that the source has another one.
pub(crate) async fn fetch(
    trees: &Arc<ArtifactTrees>,
    kustomization: &Kustomization,
    artifact: &Artifact,
    is_replaced: impl Fn() -> bool + Send + Sync + 'static,
) -> Result<Unpacked, FetchError> {
    let requester = Requester {
        namespace: kustomization.metadata.namespace_or_default().to_owned(),
        timeout: kustomization.spec.timeout(),
    };
    let (trees, artifact) = (Arc::clone(trees), artifact.clone());
    let fetched = blocking::ask(move || Job::unless(is_replaced, || trees.get(&artifact, &requester))).await;
    fetched.map_err(|error| FetchError::Failed(error.to_string()))?
}

/// The key under which a tree is shared. A digest alone shows what a requester expects, not what it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    digest: String,
    place: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Origin {
    /// A path in our own storage.
    Own(String),
    /// An address, which a tenant may have chosen: with the digest, and the namespace that downloaded it.
    Fetched { url: String, namespace: String },
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.digest)
    }
}

/// A tree, in use or not.
#[derive(Debug)]
struct Kept {
    tree: MemoryTree,
    /// The memory held by its users.
    held: Mutex<Weak<Reservation>>,
}

/// The files of an artifact, while they are needed.
#[derive(Clone, Debug)]
pub(crate) struct Unpacked {
    kept: Arc<Kept>,
    _held: Arc<Reservation>,
}

impl Unpacked {
    /// By path from the root.
    pub(crate) fn tree(&self) -> &MemoryTree {
        &self.kept.tree
    }
}

impl Kept {
    /// The memory of the tree, held jointly by its users.
    fn held_by(&self, budget: &Budget) -> Result<Arc<Reservation>, Exceeded> {
        let mut users = self.held.lock();
        if let Some(held) = users.upgrade() {
            return Ok(held);
        }
        let held = Arc::new(budget.memory.reserve(self.tree.weight())?);
        *users = Arc::downgrade(&held);
        Ok(held)
    }
}

impl ArtifactTrees {
    /// An empty cache. `retries`: retries of a failing download.
    pub(crate) fn new(retries: u32, own: Option<Storage>, hosts: ArtifactHosts, builds: Budgets) -> Self {
        let retry_policy = RetryPolicy {
            tries: retries.saturating_add(1),
            ..RetryPolicy::default()
        };
        let peer = Peer {
            silence: Some(SILENCE),
            ..Peer::default()
        };
        Self {
            shared: Shared::new(KEPT, |kept| kept.tree.weight()),
            client: Client::new(peer, retry_policy),
            own,
            hosts,
            builds,
        }
    }

    /// The files of an artifact.
    pub(crate) fn get(&self, artifact: &Artifact, requester: &Requester) -> Result<Unpacked, FetchError> {
        let expected = digest_of(artifact)?;
        let budget = self.builds.of(&requester.namespace);
        let key = Key {
            digest: expected.to_string(),
            place: match self.own(artifact) {
                Some(_) => Origin::Own(artifact.path.clone()),
                None => Origin::Fetched {
                    url: artifact.url.clone(),
                    namespace: requester.namespace.clone(),
                },
            },
        };
        loop {
            let (mut held, mut has_tried) = (None, false);
            let open = || {
                has_tried = true;
                self.open(artifact, &expected, &budget, requester.timeout)
            };
            let got = self.shared.get(&key, open, |reader| {
                let (kept, room) = self.unpacked(reader, artifact, &expected, &budget)?;
                held = Some(room);
                Ok(kept)
            });
            let error = match got {
                Ok(kept) => {
                    let held = held.map_or_else(|| kept.held_by(&budget), Ok);
                    let _held = held.map_err(|error| no_room(&error))?;
                    return Ok(Unpacked { kept, _held });
                }
                Err(error) => error,
            };
            match &*error {
                // Another namespace is out of memory, which does not concern this one.
                SharedError::Caller(FetchError::NoRoom(_)) if !has_tried => {}
                SharedError::Caller(error) => return Err(error.clone()),
                SharedError::Read { cause, .. } => return Err(self.unread(artifact, &expected, cause)),
            }
        }
    }

    /// Our storage, if the artifact is in it.
    fn own(&self, artifact: &Artifact) -> Option<&Storage> {
        self.own.as_ref().filter(|own| own.url(&artifact.path) == artifact.url)
    }

    /// The bytes of an artifact, whose digest is checked at their end.
    pub(crate) fn bytes(&self, artifact: &Artifact, requester: &Requester) -> Result<Box<dyn Read>, FetchError> {
        let budget = self.builds.of(&requester.namespace);
        self.open(artifact, &digest_of(artifact)?, &budget, requester.timeout)
    }

    fn open(
        &self,
        artifact: &Artifact,
        expected: &Digest,
        budget: &Budget,
        timeout: Duration,
    ) -> Result<Box<dyn Read>, FetchError> {
        if let Some(storage) = self.own(artifact) {
            return match storage.open(artifact) {
                Ok(reader) => Ok(Box::new(reader)),
                Err(error) if error.is_absent() => Err(FetchError::Absent),
                Err(error) => Err(failed(error)),
            };
        }
        let url = self.address(&artifact.url)?;
        let request = Request::get(url).repeatable();
        let opened = self.client.open(&request, Deadline::after(timeout));
        let opened = opened.map_err(|error| FetchError::Failed(format!("failed to download archive: {error}")))?;
        match opened.body {
            Some(body) => Ok(Box::new(Download {
                body,
                digester: Some(expected.algorithm().digester()),
                expected: expected.clone(),
                bytes: budget.bytes.counter(),
            })),
            None if opened.answer.status == 404 => Err(FetchError::Absent),
            None => Err(FetchError::Failed(format!(
                "failed to download archive from {} (status: {})",
                artifact.url, opened.answer.status
            ))),
        }
    }

    fn unpacked(
        &self,
        mut reader: &mut dyn Read,
        artifact: &Artifact,
        expected: &Digest,
        budget: &Budget,
    ) -> Result<(Kept, Arc<Reservation>), FetchError> {
        let error = match unpacked(&mut reader, budget) {
            Ok((tree, held)) => {
                let held = Arc::new(held);
                let users = Mutex::new(Arc::downgrade(&held));
                return Ok((Kept { tree, held: users }, held));
            }
            Err(error) => error,
        };
        if error.exceeded().is_some_and(Exceeded::is_passing) {
            return Err(FetchError::NoRoom(format!("{EXTRACT}: {error}")));
        }
        let cause = match &error {
            ReadError::Source(cause) => Some(cause),
            _ => None,
        };
        if self.own(artifact).is_none() {
            if let Some(cause) = cause {
                return Err(copying(expected, cause));
            }
            // A wrong digest says more than a malformed archive.
            if let Err(cause) = io::copy(&mut reader, &mut io::sink()) {
                return Err(copying(expected, &cause));
            }
        }
        Err(self.why(artifact, expected, &error))
    }

    fn unread(&self, artifact: &Artifact, expected: &Digest, cause: &io::Error) -> FetchError {
        match self.own(artifact) {
            Some(_) => self.why(artifact, expected, cause),
            None => copying(expected, cause),
        }
    }

    /// Why an archive is unusable. Damage of a stored file is noticed while it is unpacked, and its digest says more.
    fn why(&self, artifact: &Artifact, expected: &Digest, error: &dyn std::fmt::Display) -> FetchError {
        let own = self.own(artifact);
        match own.map(|storage| storage.verify(artifact)) {
            Some(Err(_)) => other_bytes(expected),
            _ => FetchError::Failed(format!("{EXTRACT}: {error}")),
        }
    }

    fn address(&self, text: &str) -> Result<Url, FetchError> {
        let mut url = Url::parse(text).map_err(|error| {
            FetchError::Failed(format!(
                "failed to download archive: the address {text:?} of the artifact: {error}"
            ))
        })?;
        let (variable, host) = if text.contains("//source-watcher") {
            ("SOURCE_WATCHER_LOCALHOST", &self.hosts.source_watcher)
        } else {
            ("SOURCE_CONTROLLER_LOCALHOST", &self.hosts.source_controller)
        };
        if let Some(host) = host {
            let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
            let replaced = url.set_host(Some(name)).is_ok() && url.set_port(port.parse().ok()).is_ok();
            if !replaced {
                return Err(FetchError::Failed(format!("{variable}: {host:?} is not a host")));
            }
        }
        Ok(url)
    }
}

/// Flux's prefix for errors of unpacking.
const EXTRACT: &str = "failed to extract archive (check whether file size exceeds max download size)";

fn no_room(error: &Exceeded) -> FetchError {
    FetchError::NoRoom(format!("{EXTRACT}: {error}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;
    use bumpwright_artifact::{Algorithm, Writer};
    use bumpwright_budget::{BUILD_MEMORY, Memory};
    use bumpwright_storage::{Retention, Settings};

    const BYTES: &[u8] = b"no archive";

    fn artifact(url: String, bytes: &[u8]) -> Artifact {
        let mut digester = Algorithm::Sha256.digester();
        digester.update(bytes);
        Artifact {
            path: "gitrepository/apps/fleet/1.tar.gz".to_owned(),
            url,
            revision: "main@sha1:a".to_owned(),
            digest: digester.finish().to_string(),
            ..Artifact::default()
        }
    }

    fn storage(folder: &std::path::Path) -> Storage {
        let settings = Settings {
            path: folder.to_owned(),
            host: "ours.example".to_owned(),
            retention: Retention::default(),
            algorithm: Algorithm::Sha256,
            max_size: None,
            room: u64::MAX,
        };
        Storage::new(settings).unwrap()
    }

    fn trees(own: Option<Storage>) -> ArtifactTrees {
        ArtifactTrees::new(0, own, ArtifactHosts::default(), builds(64 << 20))
    }

    fn builds(memory: u64) -> Budgets {
        Budgets::new(Memory::shared(memory, BUILD_MEMORY), 1000, 1 << 20)
    }

    fn requester(namespace: &str) -> Requester {
        Requester {
            namespace: namespace.to_owned(),
            timeout: Duration::from_secs(10),
        }
    }

    /// Answers one request.
    fn server() -> (String, std::thread::JoinHandle<()>) {
        serving(BYTES.to_vec())
    }

    fn serving(bytes: Vec<u8>) -> (String, std::thread::JoinHandle<()>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/1.tar.gz", listener.local_addr().unwrap());
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).unwrap();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len());
            stream.write_all(&[head.as_bytes(), &bytes].concat()).unwrap();
        });
        (url, answering)
    }

    #[test]
    fn an_archive_of_another_server_is_not_looked_for_in_our_storage() {
        let folder = tempfile::tempdir().unwrap();
        let trees = trees(Some(storage(folder.path())));
        let (url, answering) = server();
        let message = trees
            .get(&artifact(url, BYTES), &requester("apps"))
            .unwrap_err()
            .to_string();
        answering.join().unwrap();
        assert!(message.starts_with("failed to extract archive "), "{message}");
    }

    #[test]
    fn nobody_waits_for_a_server_that_somebody_else_has_named() {
        let trees = trees(None);
        let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let slow = artifact(format!("http://{}/1.tar.gz", silent.local_addr().unwrap()), BYTES);
        let (url, answering) = server();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| trees.get(&slow, &requester("mallory")));
            let (connection, _) = silent.accept().unwrap();
            let message = trees
                .get(&artifact(url, BYTES), &requester("apps"))
                .unwrap_err()
                .to_string();
            assert!(message.starts_with("failed to extract archive "), "{message}");
            assert!(!waiting.is_finished());
            drop((silent, connection));
        });
        answering.join().unwrap();
    }

    #[test]
    fn damage_of_a_file_of_ours_is_told_by_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage(folder.path());
        let ours = artifact(storage.url("gitrepository/apps/fleet/1.tar.gz"), b"what was written");
        let file = folder.path().join(&ours.path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, BYTES).unwrap();
        let trees = trees(Some(storage));
        let message = trees.get(&ours, &requester("apps")).unwrap_err().to_string();
        assert!(
            message.starts_with("failed to verify archive: computed digest "),
            "{message}"
        );
    }

    #[test]
    fn variables_replace_the_hosts_of_artifacts() {
        let hosts = ArtifactHosts {
            source_controller: Some("localhost:8080".to_owned()),
            source_watcher: Some("localhost:8081".to_owned()),
        };
        let trees = ArtifactTrees::new(0, None, hosts, builds(1 << 20));
        for (url, expected) in [
            (
                "http://source-controller.flux-system.svc./a.tar.gz",
                "http://localhost:8080/a.tar.gz",
            ),
            (
                "http://source-watcher.flux-system.svc./a.tar.gz",
                "http://localhost:8081/a.tar.gz",
            ),
        ] {
            assert_eq!(trees.address(url).unwrap().to_string(), expected);
        }
    }

    fn archive(files: &[(&str, usize)]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for (path, size) in files {
            // Does not compress to nothing.
            let bytes: Vec<u8> = (0..*size).map(|at| (at * at / 7) as u8).collect();
            writer.file(path.as_bytes(), false, *size as u64, &bytes[..]).unwrap();
        }
        writer.finish().unwrap().1
    }

    #[test]
    fn who_names_a_digest_and_an_address_of_his_own_gets_what_is_there() {
        let trees = trees(None);
        let bytes = archive(&[("secret.yaml", 100)]);
        let (url, answering) = serving(bytes.clone());
        let theirs = trees.get(&artifact(url, &bytes), &requester("innocent")).unwrap();
        answering.join().unwrap();
        // The same digest, from a server that does not have it.
        let (url, answering) = serving(BYTES.to_vec());
        let error = trees.get(&artifact(url, &bytes), &requester("mallory")).unwrap_err();
        answering.join().unwrap();
        assert!(error.to_string().contains("computed digest doesn't match"), "{error}");
        drop(theirs);
    }

    #[test]
    fn an_address_that_another_namespace_has_fetched_is_fetched_again() {
        let trees = trees(None);
        let bytes = archive(&[("secret.yaml", 100)]);
        let (url, answering) = serving(bytes.clone());
        let artifact = artifact(url, &bytes);
        trees.get(&artifact, &requester("innocent")).unwrap();
        answering.join().unwrap();
        // The server is gone.
        trees.get(&artifact, &requester("innocent")).unwrap();
        assert!(trees.get(&artifact, &requester("mallory")).is_err());
    }

    #[test]
    fn a_tree_is_held_while_it_is_used_and_no_longer() {
        let trees = trees(None);
        let bytes = archive(&[("a", 10_000), ("b", 10_000)]);
        let (url, answering) = serving(bytes.clone());
        let artifact = artifact(url, &bytes);
        let memory = trees.builds.memory.clone();
        let first = trees.get(&artifact, &requester("apps")).unwrap();
        answering.join().unwrap();
        let held = memory.held();
        assert!((20_000..40_000).contains(&held), "{held}");
        let second = trees.get(&artifact, &requester("apps")).unwrap();
        assert_eq!(memory.held(), held, "shared");
        drop(first);
        assert_eq!(memory.held(), held);
        drop(second);
        assert_eq!(memory.held(), 0);
        drop(trees.get(&artifact, &requester("apps")).unwrap());
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn an_archive_that_holds_too_much_names_the_flag_and_gives_all_back() {
        for (memory, files, flag) in [
            (
                20_000,
                vec![("a", 9_000), ("b", 9_000)],
                "--build-memory raises the bound",
            ),
            (
                64 << 20,
                vec![("a", 600_000), ("b", 600_000)],
                "--max-content-size raises the bound",
            ),
        ] {
            let trees = ArtifactTrees::new(0, None, ArtifactHosts::default(), builds(memory));
            let bytes = archive(&files);
            let (url, answering) = serving(bytes.clone());
            let error = trees.get(&artifact(url, &bytes), &requester("apps")).unwrap_err();
            answering.join().unwrap();
            assert!(error.to_string().contains(flag), "{error}");
            assert_eq!(trees.builds.memory.held(), 0);
        }
    }
}
