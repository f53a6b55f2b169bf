//! A smart HTTP server: HTTP/1.1 with kept connections in front of the real `git http-backend`.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::repo::hermetic;

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    /// Decoded, without the query.
    pub path: String,
    pub query: String,
    /// `git-upload-pack` or `git-receive-pack`; empty for others.
    pub service: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Which connection it came by, counted from 1.
    pub connection: usize,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What happens to a request instead of, or besides, its usual answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Status and text.
    Status(u16, String),
    /// Status, content type and body.
    Page(u16, String, Vec<u8>),
    /// Status and location.
    Redirect(u16, String),
    /// The usual answer, later.
    Delay(Duration),
    /// The connection is closed after so many bytes of the usual answer's body.
    CloseAfter(usize),
    /// The connection is closed without an answer.
    Drop,
    /// An answer whose body is so many zero bytes, of this content type.
    Zeros(String, u64),
    /// 401 with a challenge and this text.
    Unauthorized(String),
}

/// Who may come in.
#[derive(Clone, Debug, Default)]
pub enum Login {
    #[default]
    Anybody,
    Basic(String, String),
    Bearer(String),
}

type Intercept = Box<dyn Fn(&Seen) -> Option<Fault> + Send + Sync>;
type Hook = Box<dyn Fn(&Seen) + Send + Sync>;

#[derive(Default)]
pub struct Options {
    pub login: Login,
    pub tls: Option<Arc<rustls::ServerConfig>>,
}

struct Shared {
    root: PathBuf,
    options: Options,
    seen: Mutex<Vec<Seen>>,
    faults: Mutex<BTreeMap<usize, Fault>>,
    intercept: Mutex<Option<Intercept>>,
    before_push: Mutex<Option<Hook>>,
    connections: AtomicUsize,
    stop: AtomicBool,
}

/// A running server; it ends when it is dropped.
pub struct GitHttp {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl GitHttp {
    /// Serves all repositories below `root`, to anybody.
    pub fn start(root: &Path) -> Self {
        Self::with(root, Options::default())
    }

    pub fn with(root: &Path, options: Options) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            options,
            seen: Mutex::default(),
            faults: Mutex::default(),
            intercept: Mutex::default(),
            before_push: Mutex::default(),
            connections: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.stop.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&serving);
                thread::spawn(move || shared.welcome(stream));
            }
        });
        Self { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a repository, as `path` below the root.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.shared.options.tls.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}/{path}", self.host())
    }

    /// `localhost:port`, for which the test certificates are made too.
    pub fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// Forgets the requests so far.
    pub fn clear(&self) {
        self.shared.seen.lock().unwrap().clear();
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Lets the `nth` request from now (from 1) meet a fault.
    pub fn fault(&self, nth: usize, fault: Fault) {
        let so_far = self.shared.seen.lock().unwrap().len();
        self.shared.faults.lock().unwrap().insert(so_far + nth, fault);
    }

    /// Looks at each request; what it gives is done.
    pub fn intercept(&self, look: impl Fn(&Seen) -> Option<Fault> + Send + Sync + 'static) {
        *self.shared.intercept.lock().unwrap() = Some(Box::new(look));
    }

    /// Runs before each receive-pack POST is passed on: the place for a rival's commit.
    pub fn before_push(&self, hook: impl Fn(&Seen) + Send + Sync + 'static) {
        *self.shared.before_push.lock().unwrap() = Some(Box::new(hook));
    }
}

impl Drop for GitHttp {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread so that it sees the flag.
        let _ = TcpStream::connect(self.address);
    }
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Shared {
    fn welcome(&self, tcp: TcpStream) {
        // Without it each second answer on a kept connection waits 40 ms for the client's delayed ACK.
        tcp.set_nodelay(true).unwrap();
        let connection = self.connections.fetch_add(1, Ordering::SeqCst) + 1;
        let stream: Box<dyn Stream> = match &self.options.tls {
            Some(config) => {
                let session = rustls::ServerConnection::new(Arc::clone(config)).unwrap();
                Box::new(rustls::StreamOwned::new(session, tcp))
            }
            None => Box::new(tcp),
        };
        let mut stream = BufReader::new(stream);
        // A client that goes away is no fault of the server.
        while let Ok(Some(seen)) = read_request(&mut stream, connection) {
            let number = {
                let mut all = self.seen.lock().unwrap();
                all.push(seen.clone());
                all.len()
            };
            let fault = self.faults.lock().unwrap().remove(&number);
            let fault = fault.or_else(|| self.intercept.lock().unwrap().as_ref().and_then(|look| look(&seen)));
            match self.answer(stream.get_mut(), &seen, fault) {
                Ok(true) if !self.stop.load(Ordering::SeqCst) => {}
                _ => return,
            }
        }
    }

    /// True when the connection can be kept.
    fn answer(&self, out: &mut dyn Write, seen: &Seen, fault: Option<Fault>) -> io::Result<bool> {
        let mut limit = None;
        match fault {
            Some(Fault::Status(status, text)) => return page(out, status, "text/plain", text.as_bytes(), &[]),
            Some(Fault::Page(status, kind, body)) => return page(out, status, &kind, &body, &[]),
            Some(Fault::Redirect(status, to)) => return page(out, status, "text/plain", b"", &[("Location", &to)]),
            Some(Fault::Delay(time)) => self.sleep(time),
            Some(Fault::CloseAfter(bytes)) => limit = Some(bytes),
            Some(Fault::Drop) => return Ok(false),
            Some(Fault::Zeros(kind, count)) => return zeros(out, &kind, count),
            Some(Fault::Unauthorized(text)) => {
                let challenge = [("WWW-Authenticate", "Basic realm=\"git\"")];
                return page(out, 401, "text/plain", text.as_bytes(), &challenge);
            }
            None => {}
        }
        if !self.may_come_in(seen) {
            let challenge = match self.options.login {
                Login::Bearer(_) => "Bearer realm=\"git\"",
                _ => "Basic realm=\"git\"",
            };
            return page(
                out,
                401,
                "text/plain",
                b"Unauthorized\n",
                &[("WWW-Authenticate", challenge)],
            );
        }
        let push = seen.method == "POST" && seen.service == "git-receive-pack";
        if let Some(hook) = self.before_push.lock().unwrap().as_ref().filter(|_| push) {
            hook(seen);
        }
        self.backend(out, seen, limit)
    }

    fn sleep(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && !self.stop.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(10).min(end.saturating_duration_since(Instant::now())));
        }
    }

    fn may_come_in(&self, seen: &Seen) -> bool {
        let wanted = match &self.options.login {
            Login::Anybody => return true,
            Login::Basic(user, password) => format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))),
            Login::Bearer(token) => format!("Bearer {token}"),
        };
        seen.header("authorization") == Some(&wanted)
    }

    /// Runs the CGI program and passes its output on as it comes.
    fn backend(&self, out: &mut dyn Write, seen: &Seen, limit: Option<usize>) -> io::Result<bool> {
        let mut command = Command::new("git");
        hermetic(&mut command);
        command
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1");
        command
            .env("PATH_INFO", &seen.path)
            .env("QUERY_STRING", &seen.query)
            .env("REQUEST_METHOD", &seen.method);
        command
            .env("CONTENT_LENGTH", seen.body.len().to_string())
            .env("REMOTE_USER", "test");
        command.env("REMOTE_ADDR", "127.0.0.1").env_remove("GIT_PROTOCOL");
        for (header, name) in [
            ("content-type", "CONTENT_TYPE"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
            ("git-protocol", "HTTP_GIT_PROTOCOL"),
            ("git-protocol", "GIT_PROTOCOL"),
        ] {
            if let Some(value) = seen.header(header) {
                command.env(name, value);
            }
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let kept = thread::scope(|scope| {
            // The program may answer, or give up, before it has read everything.
            scope.spawn(move || stdin.write_all(&seen.body));
            pass_on(&mut stdout, out, limit)
        });
        drop(stdout);
        child.wait()?;
        kept
    }
}

fn pass_on(cgi: &mut impl BufRead, out: &mut dyn Write, limit: Option<usize>) -> io::Result<bool> {
    let (mut status, mut head) = ("200 OK".to_owned(), String::new());
    loop {
        let mut line = String::new();
        cgi.read_line(&mut line)?;
        let line = line.trim_end();
        match line.split_once(": ") {
            _ if line.is_empty() => break,
            Some((name, value)) if name.eq_ignore_ascii_case("status") => value.clone_into(&mut status),
            _ => head.push_str(&format!("{line}\r\n")),
        }
    }
    write!(out, "HTTP/1.1 {status}\r\n{head}Transfer-Encoding: chunked\r\n\r\n")?;
    let mut sent = 0;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let n = cgi.read(&mut buffer)?;
        let n = limit.map_or(n, |limit| n.min(limit - sent));
        let mut chunk = format!("{n:x}\r\n").into_bytes();
        chunk.extend_from_slice(&buffer[..n]);
        chunk.extend_from_slice(b"\r\n");
        if limit.is_some_and(|limit| sent + n >= limit) {
            chunk.truncate(chunk.len() - 2);
            out.write_all(&chunk)?;
            return out.flush().map(|()| false);
        }
        out.write_all(&chunk)?;
        out.flush()?;
        sent += n;
        if n == 0 {
            return Ok(true);
        }
    }
}

fn page(out: &mut dyn Write, status: u16, kind: &str, body: &[u8], more: &[(&str, &str)]) -> io::Result<bool> {
    let mut head = format!(
        "HTTP/1.1 {status} Test\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in more {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    out.write_all(format!("{head}\r\n").as_bytes())?;
    out.write_all(body)?;
    out.flush().map(|()| true)
}

fn zeros(out: &mut dyn Write, kind: &str, count: u64) -> io::Result<bool> {
    write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {count}\r\n\r\n"
    )?;
    io::copy(&mut io::repeat(0).take(count), out)?;
    out.flush().map(|()| true)
}

fn read_request(stream: &mut impl BufRead, connection: usize) -> io::Result<Option<Seen>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let (method, target) = (method.to_owned(), target.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    let body = read_body(stream, &headers)?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let service = match query.strip_prefix("service=") {
        Some(name) => name,
        None => path
            .rsplit('/')
            .next()
            .filter(|last| last.starts_with("git-"))
            .unwrap_or(""),
    };
    let (path, query, service) = (decoded(path), query.to_owned(), service.to_owned());
    Ok(Some(Seen {
        method,
        path,
        query,
        service,
        headers,
        connection,
        body,
    }))
}

fn read_body(stream: &mut impl BufRead, headers: &BTreeMap<String, String>) -> io::Result<Vec<u8>> {
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
    let length = headers.get("content-length").and_then(|v| v.parse().ok()).unwrap_or(0);
    stream.take(length).read_to_end(&mut body)?;
    Ok(body)
}

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
