//! Servers that accept a connection and then send nothing, or too little.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A server that runs until the process ends.
pub struct Tarpit {
    pub port: u16,
    open: Arc<AtomicUsize>,
    seen: Arc<AtomicUsize>,
}

impl Tarpit {
    /// Accepts connections and never answers.
    pub fn silent() -> Self {
        Self::start(|stream| {
            let mut bytes = [0; 4 << 10];
            while matches!(stream.read(&mut bytes), Ok(1..)) {}
        })
    }

    /// Handles each connection, and keeps it open until the client closes it.
    pub fn start(treat: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (open, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counted, total) = (Arc::clone(&open), Arc::clone(&seen));
        let treat = Arc::new(treat);
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let (open, treat) = (Arc::clone(&counted), Arc::clone(&treat));
                total.fetch_add(1, Ordering::SeqCst);
                open.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    treat(&mut stream);
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { port, open, seen }
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    /// The number of connections so far.
    pub fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }
}

/// The head of a request; none when the client is gone.
pub fn request(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Sends a text; false when the client is gone.
pub fn say(stream: &mut TcpStream, text: &[u8]) -> bool {
    stream.write_all(text).is_ok()
}

/// A byte each second, until the client is gone.
pub fn trickle(stream: &mut TcpStream) {
    while say(stream, b"x") {
        thread::sleep(Duration::from_secs(1));
    }
}
