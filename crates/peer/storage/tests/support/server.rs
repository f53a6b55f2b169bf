//! A running server, and clients that see every byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bumpwright_storage::{Limits, Storage, limits, listen, serve};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use super::World;

/// The timeout of clients.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);

/// A server on a thread of its own; it stops when this is dropped.
pub struct Serving {
    address: SocketAddr,
    faults: Arc<Mutex<Vec<String>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    pub fn start(world: &World) -> Self {
        Self::with_limits(&world.storage, limits())
    }

    pub fn with_limits(storage: &Storage, limits: Limits) -> Self {
        let faults = Arc::new(Mutex::new(Vec::new()));
        let (stop, stopped) = oneshot::channel();
        let (ready, address) = std::sync::mpsc::channel();
        let (told, storage) = (Arc::clone(&faults), storage.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = listen("127.0.0.1:0").await.unwrap();
                let on_fault = move |fault: &bumpwright_storage::StorageError| told.lock().push(fault.to_string());
                ready.send(listener.local_addr().unwrap()).unwrap();
                let stop = async { drop(stopped.await) };
                serve(listener, storage, limits, on_fault, stop).await;
            });
        });
        Self {
            address: address.recv().unwrap(),
            faults,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The reported faults of files.
    pub fn faults(&self) -> Vec<String> {
        self.faults.lock().clone()
    }

    pub fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(CLIENT_TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(CLIENT_TIMEOUT)).unwrap();
        Client {
            stream: BufReader::new(stream),
        }
    }

    /// Sends a head of fixtures/storage/http.jsonl, whose empty line is left out, on a connection of its own.
    pub fn ask(&self, head: &str) -> Answer {
        let end = if head.contains("\r\n") { "\r\n" } else { "\n" };
        let mut client = self.connect();
        client.send(&(head.replace("FILE", "/gitrepository/apps/podinfo/a.tar.gz") + end));
        client.stream.get_ref().shutdown(Shutdown::Write).unwrap();
        client.answer(!head.starts_with("HEAD"))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: h\r\n"))
    }

    /// Signals the server to stop, without waiting for it.
    pub fn signal_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until the server has stopped.
    pub fn join(&mut self) {
        self.signal_stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.signal_stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A connection.
pub struct Client {
    pub stream: BufReader<TcpStream>,
}

impl Client {
    pub fn send(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// The next answer. One to HEAD has no body, whatever its length says.
    pub fn answer(&mut self, has_body: bool) -> Answer {
        let mut answer = Answer::default();
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        answer.status = line
            .split(' ')
            .nth(1)
            .unwrap_or_else(|| panic!("{line:?}"))
            .parse()
            .unwrap();
        loop {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            match line.trim_end() {
                "" => break,
                text if text.starts_with("Date: ") => {}
                text => answer.headers.push(text.to_owned()),
            }
        }
        let length = answer
            .header("Content-Length")
            .map_or(0, |length| length.parse().unwrap());
        answer.body = vec![0; if has_body { length } else { 0 }];
        self.stream.read_exact(&mut answer.body).unwrap();
        answer.hide_boundary();
        answer.digest = "sha256:".to_owned();
        for byte in Sha256::digest(&answer.body) {
            answer.digest.push_str(&format!("{byte:02x}"));
        }
        answer
    }

    /// Whether the server has ended the connection.
    pub fn is_over(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0))
    }
}

/// An answer; headers without Date, boundaries of parts read BOUNDARY.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
    pub digest: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.headers.iter().filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.to_owned())
    }

    fn hide_boundary(&mut self) {
        let boundary = self
            .header("Content-Type")
            .and_then(|value| Some(value.split_once("boundary=")?.1.to_owned()));
        let Some(boundary) = boundary else {
            return;
        };
        for line in &mut self.headers {
            *line = line.replace(&boundary, "BOUNDARY");
        }
        while let Some(at) = self
            .body
            .windows(boundary.len())
            .position(|bytes| bytes == boundary.as_bytes())
        {
            self.body.splice(at..at + boundary.len(), *b"BOUNDARY");
        }
    }
}
