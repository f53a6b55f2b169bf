//! A small HTTP/1.1 server for tests: kept connections, a thread for each, optional TLS. It records every request.
//!
//! Answers are written as bytes by a closure, so that they can be truncated, endless, or not HTTP at
//! all. A mock server based on an HTTP library, such as wiremock, does not allow that.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;

/// A received request.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    /// Decoded, without the query.
    pub path: String,
    pub query: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The number of its connection, from 1.
    pub connection: usize,
    /// Its number among the requests since the start or the last clear, from 1.
    pub number: usize,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// All values of a parameter in the query, decoded.
    pub fn parameters(&self, name: &str) -> Vec<String> {
        form_values(self.query.as_bytes(), name)
    }

    /// The first value of a parameter in the query, decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.parameters(name).into_iter().next()
    }

    /// All values of a field in a form body, decoded.
    pub fn fields(&self, name: &str) -> Vec<String> {
        form_values(&self.body, name)
    }

    /// User name and password of Basic authentication.
    pub fn login(&self) -> Option<(String, String)> {
        let encoded = self.header("authorization")?.strip_prefix("Basic ")?;
        let text = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
        text.split_once(':')
            .map(|(user, password)| (user.to_owned(), password.to_owned()))
    }
}

fn form_values(form: &[u8], name: &str) -> Vec<String> {
    url::form_urlencoded::parse(form)
        .filter(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
        .collect()
}

/// The output of an answer. Long answers check `stopped`.
pub struct Out<'a> {
    stream: &'a mut dyn Write,
    stop: &'a AtomicBool,
    sent: &'a AtomicUsize,
    socket: &'a TcpStream,
}

impl Out<'_> {
    /// Whether the client has closed the connection.
    pub fn is_left(&self) -> bool {
        self.socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let peeked = self.socket.peek(&mut [0]);
        self.socket.set_read_timeout(None).unwrap();
        match peeked {
            Ok(read) => read == 0,
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        }
    }

    /// Whether the test is over.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Sleeps, at most until the test is over.
    pub fn sleep(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && !self.stopped() {
            thread::sleep(Duration::from_millis(10).min(end.saturating_duration_since(Instant::now())));
        }
    }
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Counted before the client has it, since a test may check as soon as the client is done.
        self.sent.fetch_add(bytes.len(), Ordering::SeqCst);
        let taken = self.stream.write(bytes);
        let rest = bytes.len() - taken.as_ref().copied().unwrap_or(0);
        self.sent.fetch_sub(rest, Ordering::SeqCst);
        taken
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Answers a request; true when the connection can be kept.
type Handler = Box<dyn Fn(&Request, &mut Out<'_>) -> io::Result<bool> + Send + Sync>;

struct Shared {
    tls: Option<Arc<rustls::ServerConfig>>,
    requests: Mutex<Vec<Request>>,
    connections: AtomicUsize,
    sent: AtomicUsize,
    stop: AtomicBool,
}

/// A running server; it ends when it is dropped.
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl HttpServer {
    /// Listens on a free port of 127.0.0.1.
    pub fn start(
        tls: Option<Arc<rustls::ServerConfig>>,
        handler: impl Fn(&Request, &mut Out<'_>) -> io::Result<bool> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            tls,
            requests: Mutex::default(),
            connections: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let (serving, handler) = (Arc::clone(&shared), Arc::<Handler>::new(Box::new(handler)));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.stop.load(Ordering::SeqCst) {
                    return;
                }
                let (shared, handler) = (Arc::clone(&serving), Arc::clone(&handler));
                thread::spawn(move || shared.converse(stream, &handler));
            }
        });
        Self { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `localhost:port`, for which the test certificates are made too.
    pub fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    /// The URL of a path without leading slash.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/{path}", self.host())
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().clone()
    }

    /// The number of requests so far.
    pub fn count(&self) -> usize {
        self.shared.requests.lock().len()
    }

    /// Clears the recorded requests and byte counts.
    pub fn clear(&self) {
        self.shared.requests.lock().clear();
        self.shared.sent.store(0, Ordering::SeqCst);
    }

    /// The number of sent bytes, including heads.
    pub fn sent(&self) -> usize {
        self.shared.sent.load(Ordering::SeqCst)
    }

    /// The number of accepted connections.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread so that it sees the flag.
        let _ = TcpStream::connect(self.address);
    }
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Shared {
    fn converse(&self, tcp: TcpStream, handler: &Handler) {
        // Without it each second answer on a kept connection waits 40 ms for the client's delayed ACK.
        tcp.set_nodelay(true).unwrap();
        let connection = self.connections.fetch_add(1, Ordering::SeqCst) + 1;
        let socket = tcp.try_clone().unwrap();
        let stream: Box<dyn Stream> = match &self.tls {
            Some(config) => {
                let session = rustls::ServerConnection::new(Arc::clone(config)).unwrap();
                Box::new(rustls::StreamOwned::new(session, tcp))
            }
            None => Box::new(tcp),
        };
        let mut stream = BufReader::new(stream);
        // A client that disconnects is not an error.
        while let Ok(Some(mut request)) = read_request(&mut stream, connection) {
            {
                let mut all = self.requests.lock();
                request.number = all.len() + 1;
                all.push(request.clone());
            }
            let stream = stream.get_mut();
            let mut out = Out {
                stream,
                stop: &self.stop,
                sent: &self.sent,
                socket: &socket,
            };
            match handler(&request, &mut out) {
                Ok(true) if !self.stop.load(Ordering::SeqCst) => {}
                _ => return,
            }
        }
    }
}

fn read_request(stream: &mut impl BufRead, connection: usize) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let (method, target) = (method.to_owned(), target.to_owned());
    let headers = read_headers(stream)?;
    let body = read_body(stream, &headers, 0)?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (decoded(path), query.to_owned());
    Ok(Some(Request {
        method,
        target,
        path,
        query,
        headers,
        connection,
        number: 0,
        body,
    }))
}

/// Reads headers up to the empty line, names in lower case. Of repeated headers the last one counts.
pub fn read_headers(stream: &mut impl BufRead) -> io::Result<BTreeMap<String, String>> {
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => return Ok(headers),
        };
    }
}

/// Reads a body by chunks or length; without either, so many bytes at most.
pub fn read_body(stream: &mut impl BufRead, headers: &BTreeMap<String, String>, otherwise: u64) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if headers
        .get("transfer-encoding")
        .is_some_and(|v| v.eq_ignore_ascii_case("chunked"))
    {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let size = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            stream.by_ref().take(size).read_to_end(&mut body)?;
            stream.read_line(&mut String::new())?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = headers.get("content-length").and_then(|v| v.parse().ok());
    stream.take(length.unwrap_or(otherwise)).read_to_end(&mut body)?;
    Ok(body)
}

/// Percent-decodes a path.
fn decoded(path: &str) -> String {
    let mut out = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after
            .get(..2)
            .filter(|_| first == b'%')
            .and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(out).unwrap()
}
