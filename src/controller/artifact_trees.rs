//! Artifacts of sources as trees of files in memory, each fetched and unpacked once for all Kustomizations that build from it.

use std::io::{self, Read, Seek as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use url::Url;

use super::artifacts;
use crate::api::Artifact;
use crate::artifact::archive::{Kind, Limits, Links, unpack};
use crate::artifact::{Digest, ReadError};
use crate::kustomize::tree::{MemoryTree, Tree as _};
use crate::net::{Client, Deadline, Patience, Peer, Request};
use crate::storage::{self, Shared, SharedError, Storage};

/// So many bytes of files are kept for the next Kustomization; what is larger is kept while somebody uses it.
const KEPT: u64 = 32 << 20;

/// The longest that fetching one artifact may take.
const LIMIT: Duration = Duration::from_secs(300);

/// Why there are no files.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(super) enum FetchError {
    /// The source has not made it, or not any more.
    #[error("file not found")]
    Absent,
    /// It cannot be had, or is not what the source says. In Flux's words where it has any (`fluxcd/pkg/http/fetch`).
    #[error("{0}")]
    Failed(String),
}

fn failed(error: impl std::fmt::Display) -> FetchError {
    FetchError::Failed(error.to_string())
}

/// Fetches, unpacks and shares artifacts. Its calls block.
#[derive(Debug)]
pub(super) struct ArtifactTrees {
    shared: Shared<Unpacked, FetchError>,
    client: Client,
    /// Where our own artifacts are, if we make any: they need no server.
    own: Option<Storage>,
    /// A host in place of the one that sources name (`SOURCE_CONTROLLER_LOCALHOST`).
    host: Option<String>,
}

/// The files of an artifact.
#[derive(Debug)]
pub(super) struct Unpacked {
    /// By path from the root.
    pub(super) tree: MemoryTree,
    bytes: u64,
}

impl ArtifactTrees {
    /// Nothing is fetched yet. `retries`: how often a server that fails is asked again.
    pub(super) fn new(retries: u32, own: Option<Storage>, host: Option<String>) -> Self {
        let patience = Patience {
            tries: retries.saturating_add(1),
            ..Patience::default()
        };
        Self {
            shared: Shared::new(KEPT, |unpacked| unpacked.bytes),
            client: Client::new(Peer::default(), patience),
            own,
            host,
        }
    }

    /// The files of an artifact.
    ///
    /// # Errors
    /// [`FetchError`]
    pub(super) fn get(&self, artifact: &Artifact) -> Result<Arc<Unpacked>, FetchError> {
        let expected = digest_of(artifact)?;
        let key: storage::Digest = expected.to_string().parse().map_err(failed)?;
        // Nobody waits for a server that somebody else has named: what has to be downloaded is here before the others wait.
        let downloaded = match self.own(artifact) {
            Some(_) => None,
            None => match self.shared.at_hand(&key) {
                Some(unpacked) => return Ok(unpacked),
                None => Some(self.open(artifact, &expected)?),
            },
        };
        let got = self.shared.get(
            &key,
            || downloaded.map_or_else(|| self.open(artifact, &expected), Ok),
            |reader| unpacked(reader).map_err(|error| self.why(artifact, &expected, &error)),
        );
        got.map_err(|error| match &*error {
            SharedError::Caller(error) => error.clone(),
            SharedError::Read { cause, .. } => self.why(artifact, &expected, cause),
        })
    }

    /// The storage that has an artifact, if it is one of ours.
    fn own(&self, artifact: &Artifact) -> Option<&Storage> {
        self.own.as_ref().filter(|own| own.url(&artifact.path) == artifact.url)
    }

    fn open(&self, artifact: &Artifact, expected: &Digest) -> Result<Box<dyn Read>, FetchError> {
        if let Some(storage) = self.own(artifact) {
            return match storage.open(&artifacts::stored(artifact)) {
                Ok(reader) => Ok(Box::new(reader)),
                Err(error) if error.is_absent() => Err(FetchError::Absent),
                Err(error) => Err(failed(error)),
            };
        }
        let url = self.address(&artifact.url)?;
        let request = Request::get(url).repeatable();
        let opened = self.client.open(&request, Deadline::after(LIMIT));
        let opened = opened.map_err(|error| FetchError::Failed(format!("failed to download archive: {error}")))?;
        match opened.body {
            Some(body) => Ok(Box::new(downloaded(body, expected)?)),
            None if opened.answer.status == 404 => Err(FetchError::Absent),
            None => Err(FetchError::Failed(format!(
                "failed to download archive from {} (status: {})",
                artifact.url, opened.answer.status
            ))),
        }
    }

    /// Why an archive cannot be used. Damage of a file of ours shows while it is unpacked, and its digest says more.
    fn why(&self, artifact: &Artifact, expected: &Digest, error: &dyn std::fmt::Display) -> FetchError {
        let own = self.own(artifact);
        match own.map(|storage| storage.verify(&artifacts::stored(artifact))) {
            Some(Err(_)) => other_bytes(expected),
            _ => FetchError::Failed(format!(
                "failed to extract archive (check whether file size exceeds max download size): {error}"
            )),
        }
    }

    fn address(&self, text: &str) -> Result<Url, FetchError> {
        let mut url = Url::parse(text).map_err(|error| {
            FetchError::Failed(format!(
                "failed to download archive: the address {text:?} of the artifact: {error}"
            ))
        })?;
        if let Some(host) = &self.host {
            let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
            let replaced = url.set_host(Some(name)).is_ok() && url.set_port(port.parse().ok()).is_ok();
            if !replaced {
                return Err(FetchError::Failed(format!(
                    "SOURCE_CONTROLLER_LOCALHOST: {host:?} is no host"
                )));
            }
        }
        Ok(url)
    }
}

fn digest_of(artifact: &Artifact) -> Result<Digest, FetchError> {
    let digest = match artifact.digest.as_str() {
        "" => return Err(FetchError::Failed("failed to verify archive: empty digest".to_owned())),
        hex if !hex.contains(':') => format!("sha256:{hex}"),
        digest => digest.to_owned(),
    };
    let read = digest.parse();
    read.map_err(|error| {
        FetchError::Failed(format!(
            "failed to verify archive: failed to parse digest '{digest}': {error}"
        ))
    })
}

/// The bytes of an archive, all there and checked against its digest. They wait on disk: nobody knows how many they are.
fn downloaded(mut body: impl Read, expected: &Digest) -> Result<std::fs::File, FetchError> {
    let mut copied = || -> io::Result<(std::fs::File, Digest)> {
        let mut file = tempfile::tempfile()?;
        let mut digester = expected.algorithm().digester();
        let mut bytes = vec![0; 64 << 10];
        loop {
            let count = body.read(&mut bytes)?;
            let Some(read) = bytes.get(..count).filter(|read| !read.is_empty()) else {
                break;
            };
            digester.update(read);
            file.write_all(read)?;
        }
        file.rewind()?;
        Ok((file, digester.finish()))
    };
    let (file, found) =
        copied().map_err(|error| FetchError::Failed(format!("failed to copy temp contents: {error}")))?;
    match found == *expected {
        true => Ok(file),
        false => Err(other_bytes(expected)),
    }
}

fn other_bytes(expected: &Digest) -> FetchError {
    FetchError::Failed(format!(
        "failed to verify archive: computed digest doesn't match provided '{expected}' (check whether file size exceeds max \
         download size)"
    ))
}

fn unpacked(reader: &mut dyn Read) -> Result<Unpacked, ReadError> {
    let mut tree = MemoryTree::new();
    let mut bytes = 0;
    let limits = Limits {
        unpacked: u64::MAX,
        ..Limits::default()
    };
    unpack(reader, limits, Links::Skip, |entry| {
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        let content = match &entry.kind {
            Kind::Directory => {
                tree.add_directory(&path);
                return Ok(());
            }
            Kind::File { size, .. } => {
                let mut content = Vec::with_capacity(usize::try_from(*size).unwrap_or_default().min(1 << 20));
                entry.read_to_end(&mut content)?;
                content
            }
            Kind::HardLink { target } => {
                let target = format!("/{}", String::from_utf8_lossy(target));
                tree.read(&target).map_err(io::Error::other)?.into_owned()
            }
        };
        bytes += (content.len() + path.len()) as u64;
        tree.add_file(&path, content);
        Ok(())
    })?;
    Ok(Unpacked { tree, bytes })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::artifact::Algorithm;
    use crate::storage::{Retention, Settings};

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

    /// Answers one request.
    fn server() -> (String, std::thread::JoinHandle<()>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/1.tar.gz", listener.local_addr().unwrap());
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).unwrap();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", BYTES.len());
            stream.write_all(&[head.as_bytes(), BYTES].concat()).unwrap();
        });
        (url, answering)
    }

    #[test]
    fn an_archive_of_another_server_is_not_looked_for_in_our_storage() {
        let folder = tempfile::tempdir().unwrap();
        let trees = ArtifactTrees::new(0, Some(storage(folder.path())), None);
        let (url, answering) = server();
        let message = trees.get(&artifact(url, BYTES)).unwrap_err().to_string();
        answering.join().unwrap();
        assert!(message.starts_with("failed to extract archive "), "{message}");
    }

    #[test]
    fn nobody_waits_for_a_server_that_somebody_else_has_named() {
        let trees = ArtifactTrees::new(0, None, None);
        let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let slow = artifact(format!("http://{}/1.tar.gz", silent.local_addr().unwrap()), BYTES);
        let (url, answering) = server();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| trees.get(&slow));
            let (connection, _) = silent.accept().unwrap();
            let message = trees.get(&artifact(url, BYTES)).unwrap_err().to_string();
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
        let trees = ArtifactTrees::new(0, Some(storage), None);
        let message = trees.get(&ours).unwrap_err().to_string();
        assert!(
            message.starts_with("failed to verify archive: computed digest "),
            "{message}"
        );
    }
}
