//! One conversation with `git-upload-pack`: greeting, listing, transfer.

use std::io::{BufRead, Write};
use std::mem::take;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::listing::{Capabilities, Greeting, Listing, ls_refs, read_greeting, read_ls_refs};
use crate::{Connection, GitError, Protocol, Service, Transport, TransportError};

/// The capabilities of a server that speaks version 2, remembered so that the greeting can be skipped: in the process,
/// and in a file of the mirror for the next process. A stale record costs one request ([`Conversation::list`]).
#[derive(Debug)]
pub(crate) struct KnownServer {
    /// None for a server that is asked once.
    file: Option<PathBuf>,
    capabilities: Mutex<Option<Capabilities>>,
}

impl KnownServer {
    /// Reads `file`, if it exists and is valid.
    pub(crate) fn load(file: PathBuf) -> Self {
        let text = std::fs::read_to_string(&file).ok();
        Self {
            file: Some(file),
            capabilities: Mutex::new(text.and_then(|text| Capabilities::remembered(&text))),
        }
    }

    /// Nothing is known, and nothing is kept.
    pub(crate) fn unknown() -> Self {
        Self {
            file: None,
            capabilities: Mutex::default(),
        }
    }

    fn get(&self) -> Option<Capabilities> {
        self.capabilities.lock().clone()
    }

    fn set(&self, capabilities: Option<Capabilities>) {
        let mut stored = self.capabilities.lock();
        if *stored == capabilities {
            return;
        }
        // A failure costs the next process one request.
        let _ = match (&self.file, &capabilities) {
            (None, _) => Ok(()),
            (Some(file), Some(capabilities)) => write(file, &capabilities.to_remember()),
            (Some(file), None) => std::fs::remove_file(file),
        };
        *stored = capabilities;
    }
}

/// Writes a small file so that another process sees all of it or none.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    fresh.persist(file).map(drop).map_err(|error| error.error)
}

/// The protocol version of the server.
#[derive(Clone, Debug)]
pub(crate) enum ServerProtocol {
    V2(Capabilities),
    /// Versions 0 and 1, with the capabilities of the advertisement.
    V0(Vec<String>, gix::hash::Kind),
}

pub(crate) struct Conversation<'a> {
    transport: &'a dyn Transport,
    known: &'a KnownServer,
    connection: Box<dyn Connection>,
    speaks: ServerProtocol,
    /// The references of a server that advertises them.
    advertised: Option<Arc<Listing>>,
    /// What references of an advertisement have to begin with to be kept.
    prefixes: Vec<String>,
    remembered: bool,
}

impl<'a> Conversation<'a> {
    /// Connects, and reads the greeting unless the server is known. Only references that begin with one of
    /// `prefixes` can be listed.
    pub(crate) fn start(
        transport: &'a dyn Transport,
        known: &'a KnownServer,
        prefixes: &[String],
    ) -> Result<Self, GitError> {
        let connection = transport.connect(Service::UploadPack, Protocol::V2)?;
        if connection.stateless()
            && let Some(capabilities) = known.get()
        {
            let speaks = ServerProtocol::V2(capabilities);
            return Ok(Self {
                transport,
                known,
                connection,
                speaks,
                advertised: None,
                prefixes: prefixes.to_vec(),
                remembered: true,
            });
        }
        Self::greet(transport, known, connection, prefixes.to_vec())
    }

    fn greet(
        transport: &'a dyn Transport,
        known: &'a KnownServer,
        mut connection: Box<dyn Connection>,
        prefixes: Vec<String>,
    ) -> Result<Self, GitError> {
        let (speaks, advertised) = match read_greeting(connection.advertisement()?, &prefixes)? {
            Greeting::V2(capabilities) => {
                known.set(Some(capabilities.clone()));
                (ServerProtocol::V2(capabilities), None)
            }
            Greeting::V0 {
                listing,
                capabilities,
                hash,
            } => {
                known.set(None);
                (ServerProtocol::V0(capabilities, hash), Some(Arc::new(listing)))
            }
        };
        Ok(Self {
            transport,
            known,
            connection,
            speaks,
            advertised,
            prefixes,
            remembered: false,
        })
    }

    /// Starts over with a fresh connection and greeting.
    fn restart(&mut self) -> Result<(), GitError> {
        self.known.set(None);
        let connection = self.transport.connect(Service::UploadPack, Protocol::V2)?;
        *self = Self::greet(self.transport, self.known, connection, take(&mut self.prefixes))?;
        Ok(())
    }

    /// Opens a fresh connection for the same conversation, after one whose answer was not read to its end.
    pub(crate) fn reconnect(&mut self) -> Result<(), GitError> {
        let connection = self.transport.connect(Service::UploadPack, Protocol::V2)?;
        if connection.stateless() {
            self.connection = connection;
        } else {
            *self = Self::greet(self.transport, self.known, connection, take(&mut self.prefixes))?;
        }
        Ok(())
    }

    pub(crate) fn speaks(&self) -> &ServerProtocol {
        &self.speaks
    }

    pub(crate) fn hash(&self) -> gix::hash::Kind {
        match &self.speaks {
            ServerProtocol::V2(capabilities) => capabilities.hash,
            ServerProtocol::V0(_, hash) => *hash,
        }
    }

    /// Lists the references that the conversation is about. Repeated once when the remembered capabilities turn
    /// out to be wrong.
    pub(crate) fn list(&mut self) -> Result<Arc<Listing>, GitError> {
        let prefixes = self.prefixes.clone();
        self.list_again(&prefixes, &prefixes)
    }

    /// Whether the remote has no references with a value.
    pub(crate) fn is_empty(&mut self) -> Result<bool, GitError> {
        Ok(!self.list_again(&["refs/".to_owned()], &[])?.has_any)
    }

    fn list_again(&mut self, prefixes: &[String], kept: &[String]) -> Result<Arc<Listing>, GitError> {
        match self.list_once(prefixes, kept) {
            Err(
                GitError::Protocol(_)
                | GitError::Transport(TransportError::Status { .. } | TransportError::Connect { .. }),
            ) if self.remembered => {
                self.restart()?;
                self.list_once(prefixes, kept)
            }
            other => other,
        }
    }

    fn list_once(&mut self, prefixes: &[String], kept: &[String]) -> Result<Arc<Listing>, GitError> {
        if let Some(listing) = &self.advertised {
            return Ok(Arc::clone(listing));
        }
        let ServerProtocol::V2(capabilities) = &self.speaks else {
            return Ok(Arc::default());
        };
        let body = ls_refs(capabilities, prefixes);
        read_ls_refs(self.connection.request(&body)?, capabilities.hash, kept).map(Arc::new)
    }

    pub(crate) fn request(&mut self, body: &[u8]) -> Result<Box<dyn BufRead + Send + '_>, GitError> {
        Ok(self.connection.request(body)?)
    }

    /// Closes the conversation, so that a program at the other side ends cleanly. The work is done by now,
    /// so errors are ignored.
    pub(crate) fn finish(mut self) {
        if !self.connection.stateless() {
            drop(self.connection.request(b"0000"));
            drop(self.connection.finish());
        }
    }
}
