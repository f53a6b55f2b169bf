//! Server programs on a port of 127.0.0.1: started, awaited, ended with the test; and plain requests to them.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::program::ports::free_port;

/// The time limit for a start, most of which a busy machine needs.
const START: Duration = Duration::from_secs(60);

/// A server, which runs until it is dropped.
pub struct Running {
    child: Child,
    address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Running {
    /// Starts the command made for a port and an empty folder, which is its home too.
    pub fn start(command: impl Fn(u16, &Path) -> Command) -> Self {
        // A free port can be taken by another process before the server listens on it.
        let tried = (0..3).find_map(|_| Self::try_start(&command));
        tried.expect("the server does not start; its output is above")
    }

    fn try_start(command: &impl Fn(u16, &Path) -> Command) -> Option<Self> {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let mut command = command(port, folder.path());
        let log = File::create(folder.path().join("log")).unwrap();
        let child = command
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut running = Self {
            child,
            address: ([127, 0, 0, 1], port).into(),
            folder,
        };
        let end = Instant::now() + START;
        while running.child.try_wait().unwrap().is_none() && Instant::now() < end {
            if TcpStream::connect(running.address).is_ok() {
                return Some(running);
            }
            thread::sleep(Duration::from_millis(20));
        }
        println!("{}", running.log());
        None
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its folder, with everything that it keeps.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its output so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.path().join("log")).unwrap()).into_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header; empty when there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map(|value| value.to_str().unwrap())
            .unwrap_or_default()
    }

    /// The same, for a request that has to succeed.
    pub fn good(self) -> Self {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.text());
        self
    }
}

/// A client that keeps its connections.
pub struct Client(ureq::Agent);

impl Client {
    pub fn new() -> Self {
        Self::trusting(None)
    }

    /// Trusts the servers of this authority (PEM) alone.
    pub fn trusting(ca: Option<&[u8]>) -> Self {
        use ureq::tls::{Certificate, RootCerts, TlsConfig};
        let mut tls = TlsConfig::builder();
        if let Some(ca) = ca {
            let certificate = Certificate::from_pem(ca).unwrap();
            tls = tls.root_certs(RootCerts::new_with_certs(&[certificate]));
        }
        let config = ureq::Agent::config_builder()
            .proxy(None)
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .tls_config(tls.build())
            .build();
        Self(config.new_agent())
    }

    pub fn send<'h>(
        &self,
        method: &str,
        url: &str,
        headers: impl IntoIterator<Item = (&'h str, &'h str)>,
        body: &[u8],
    ) -> Answer {
        let answer = self.try_send(method, url, headers, body);
        answer.unwrap_or_else(|error| panic!("{method} {url}: {error}"))
    }

    /// # Errors
    /// No answer, as of a server that is not ready yet.
    pub fn try_send<'h>(
        &self,
        method: &str,
        url: &str,
        headers: impl IntoIterator<Item = (&'h str, &'h str)>,
        body: &[u8],
    ) -> Result<Answer, ureq::Error> {
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let mut answer = match body {
            [] if matches!(method, "GET" | "HEAD" | "DELETE") => self.0.run(request.body(())?)?,
            body => self.0.run(request.body(body)?)?,
        };
        Ok(Answer {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            body: answer.body_mut().with_config().limit(1 << 30).read_to_vec()?,
        })
    }
}
