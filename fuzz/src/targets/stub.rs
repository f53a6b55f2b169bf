//! A server on a thread that answers each request with what the target has set.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// The first byte of a TLS connection.
const TLS_HANDSHAKE: u8 = 22;

/// Makes the bytes of a response from the first line of a request.
pub type Respond = Box<dyn FnMut(&str) -> Vec<u8> + Send>;

/// The server. It is started once; its connections end after one response.
pub struct Stub {
    /// `127.0.0.1:PORT`
    pub address: String,
    respond: Arc<Mutex<Respond>>,
}

impl Stub {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let respond: Arc<Mutex<Respond>> = Arc::new(Mutex::new(Box::new(|_: &str| Vec::new())));
        let shared = Arc::clone(&respond);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = serve(stream, &shared);
            }
        });
        Self { address, respond }
    }

    /// Sets what is answered from now on.
    pub fn answers(&self, respond: impl FnMut(&str) -> Vec<u8> + Send + 'static) {
        *self.respond.lock() = Box::new(respond);
    }
}

fn serve(mut stream: TcpStream, respond: &Mutex<Respond>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.set_nodelay(true)?;
    let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => head.extend_from_slice(&buffer[..count]),
        }
        // That of a client that tries TLS first has no such end: it would wait for the read timeout.
        if head.starts_with(&[TLS_HANDSHAKE]) {
            return Ok(());
        }
    }
    let line = String::from_utf8_lossy(&head)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    let response = {
        let mut respond = respond.lock();
        (*respond)(&line)
    };
    stream.write_all(&response)?;
    stream.shutdown(std::net::Shutdown::Write)
}

/// A response: as it is when it has a head, otherwise a body of JSON.
pub fn response(part: &[u8]) -> Vec<u8> {
    if part.starts_with(b"HTTP/") {
        return part.to_vec();
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        part.len()
    );
    [head.as_bytes(), part].concat()
}
