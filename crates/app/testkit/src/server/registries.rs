//! Registries beside distribution's, in memory: go-containerregistry's and CUE's. And pushes over HTTP,
//! which any registry takes.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};

use serde_json::{Value as Json, json};

use crate::fixture::images::Media;
use crate::program::waiting::wait_for;
use crate::signature::digests::sha256;

/// A registry, empty at first, which runs until it is dropped.
pub struct InMemory {
    port: u16,
    dir: tempfile::TempDir,
    child: Child,
}

impl InMemory {
    /// go-containerregistry's (`crane registry serve`): without the API of referrers, with pages of tags that no link
    /// leads on from. None when the program is missing.
    pub fn crane() -> Option<Self> {
        Self::start("crane", &["registry", "serve", "--address=127.0.0.1:0"])
    }

    /// CUE's, built by `tests/tools/prepare-real`: with the API of referrers. Flags say what
    /// it does not have: see `tests/tools/ociserver`.
    pub fn cue(flags: &[&str]) -> Option<Self> {
        Self::start("ociserver", flags)
    }

    fn start(program: &str, arguments: &[&str]) -> Option<Self> {
        let program = crate::tool(program)?;
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(File::create(log).unwrap()).spawn().unwrap();
        let mut registry = Self { port: 0, dir, child };
        registry.port = wait_for(|| port(&registry.log()), || format!("no port: {}", registry.log()));
        Some(registry)
    }

    /// `localhost:port`
    pub fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap()
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Of `… serving on port 1234` or `… listening on 127.0.0.1:1234`, once the line is whole.
fn port(log: &str) -> Option<u16> {
    let lines = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let mut said = lines.filter(|line| line.contains(" on "));
    said.next()?.trim().rsplit([' ', ':']).next()?.parse().ok()
}

/// A repository in any registry without TLS and login.
pub struct Repository<'a> {
    agent: ureq::Agent,
    host: &'a str,
    name: &'a str,
}

impl<'a> Repository<'a> {
    pub fn new(host: &'a str, name: &'a str) -> Self {
        let agent = ureq::Agent::new_with_defaults();
        Self { agent, host, name }
    }

    fn url(&self, rest: &str) -> String {
        format!("http://{}/v2/{}/{rest}", self.host, self.name)
    }

    /// Pushes a layer or a config; returns its digest.
    pub fn blob(&self, bytes: &[u8]) -> String {
        let digest = sha256(bytes);
        let begun = self.agent.post(self.url("blobs/uploads/")).send_empty().unwrap();
        let mut place = begun.headers()["location"].to_str().unwrap().to_owned();
        if place.starts_with('/') {
            place.insert_str(0, &format!("http://{}", self.host));
        }
        place.push(if place.contains('?') { '&' } else { '?' });
        let put = self.agent.put(format!("{place}digest={digest}"));
        put.header("content-type", "application/octet-stream")
            .send(bytes)
            .unwrap();
        digest
    }

    /// Pushes a manifest to a tag; returns its digest.
    pub fn manifest(&self, tag: &str, manifest: &Json) -> String {
        let text = manifest.to_string();
        let put = self.agent.put(self.url(&format!("manifests/{tag}")));
        let kind = manifest["mediaType"].as_str().unwrap();
        put.header("content-type", kind).send(text.as_str()).unwrap();
        sha256(text.as_bytes())
    }

    /// Pushes one small image to many tags; returns its digest.
    pub fn tags<T: AsRef<str>>(&self, tags: &[T]) -> String {
        let config = br#"{"architecture":"amd64","os":"linux","created":"2024-01-02T03:04:05Z","rootfs":{"type":"layers","diff_ids":[]}}"#;
        let digest = self.blob(config);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": Media::Oci.manifest(),
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": config.len()},
            "layers": [],
        });
        let mut pushed = String::new();
        for tag in tags {
            pushed = self.manifest(tag.as_ref(), &manifest);
        }
        pushed
    }

    /// The manifest of a tag or digest.
    pub fn get(&self, reference: &str) -> Json {
        let get = self.agent.get(self.url(&format!("manifests/{reference}")));
        let accept = format!("{}, {}", Media::Oci.manifest(), Media::Oci.index());
        let mut answer = get.header("accept", accept).call().unwrap();
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
    }

    /// The bytes of a blob.
    pub fn read(&self, digest: &str) -> Vec<u8> {
        let mut answer = self.agent.get(self.url(&format!("blobs/{digest}"))).call().unwrap();
        answer.body_mut().read_to_vec().unwrap()
    }
}
