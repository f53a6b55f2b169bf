//! A smart HTTP server: HTTP/1.1 with kept connections in front of the real `git http-backend`.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;

use crate::fixture::repo::hermetic;
use crate::program::reply::Reply;
use crate::server::http_server::{HttpServer, Out, Request};

/// A received request.
#[derive(Clone, Debug)]
pub struct Seen {
    request: Request,
    /// `git-upload-pack` or `git-receive-pack`; empty for others.
    pub service: String,
}

impl Seen {
    fn new(request: &Request) -> Self {
        let service = match request.query.strip_prefix("service=") {
            Some(name) => name,
            None => request.path.rsplit('/').next().unwrap_or(""),
        };
        Self {
            service: service.strip_prefix("git-").map_or("", |_| service).to_owned(),
            request: request.clone(),
        }
    }

    /// Whether it asks for references to be updated.
    pub fn is_push(&self) -> bool {
        self.method == "POST" && self.service == "git-receive-pack"
    }
}

impl Deref for Seen {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

/// Alters the bytes of an answer.
pub type Alter = fn(&[u8]) -> Vec<u8>;

/// A fault in the answer to a request.
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
    /// The answer stalls after so many bytes of the usual body, until the test is over.
    StallAfter(usize),
    /// The request is carried out, and then answered with this status.
    StatusAfter(u16),
    /// The usual answer with another body.
    Altered(Alter),
    /// As [`Fault::Altered`], by a closure.
    Made(Maker),
}

/// Alters the bytes of an answer, by a closure.
#[derive(Clone)]
pub struct Maker(pub Arc<Make>);

type Make = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

impl std::fmt::Debug for Maker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Maker")
    }
}

/// Required logins.
#[derive(Clone, Debug, Default)]
pub enum Login {
    #[default]
    Anybody,
    Basic(String, String),
    Bearer(String),
}

type Intercept = Arc<dyn Fn(&Seen) -> Option<Fault> + Send + Sync>;
type Hook = Box<dyn Fn(&Seen) + Send + Sync>;

/// How the server is reached.
#[derive(Default)]
pub struct Options {
    pub login: Login,
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Another git than the one in PATH.
    pub git: Option<PathBuf>,
}

struct Shared {
    root: PathBuf,
    login: Login,
    git: PathBuf,
    faults: Mutex<BTreeMap<usize, Fault>>,
    intercept: Mutex<Option<Intercept>>,
    before_push: Mutex<Option<Hook>>,
}

/// A running server; it ends when it is dropped.
pub struct GitHttp {
    server: HttpServer,
    shared: Arc<Shared>,
}

impl GitHttp {
    /// Serves all repositories below `root`, without login.
    pub fn start(root: &Path) -> Self {
        Self::with(root, Options::default())
    }

    pub fn with(root: &Path, options: Options) -> Self {
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            login: options.login,
            git: options.git.unwrap_or_else(|| "git".into()),
            faults: Mutex::default(),
            intercept: Mutex::default(),
            before_push: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let server = HttpServer::start(options.tls, move |request, out| {
            let seen = Seen::new(request);
            let fault = serving.faults.lock().remove(&request.number);
            // The hook may block; other requests are served meanwhile.
            let look = serving.intercept.lock().clone();
            let fault = fault.or_else(|| look.and_then(|look| look(&seen)));
            serving.answer(out, &seen, fault)
        });
        Self { server, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The URL of a repository, as `path` below the root.
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// `localhost:port`, for which the test certificates are made too.
    pub fn host(&self) -> String {
        self.server.host()
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Seen> {
        self.server.requests().iter().map(Seen::new).collect()
    }

    /// Number of requests.
    pub fn count(&self) -> usize {
        self.server.count()
    }

    /// Clears the recorded requests and byte counts.
    pub fn clear(&self) {
        self.server.clear();
    }

    /// The number of sent bytes, including heads.
    pub fn sent(&self) -> usize {
        self.server.sent()
    }

    /// The number of accepted connections.
    pub fn connections(&self) -> usize {
        self.server.connections()
    }

    /// Injects a fault into the `nth` request from now (from 1).
    pub fn fault(&self, nth: usize, fault: Fault) {
        let so_far = self.server.count();
        self.shared.faults.lock().insert(so_far + nth, fault);
    }

    /// Intercepts each request; the returned fault is injected.
    pub fn intercept(&self, look: impl Fn(&Seen) -> Option<Fault> + Send + Sync + 'static) {
        *self.shared.intercept.lock() = Some(Arc::new(look));
    }

    /// Runs before each receive-pack POST is passed on, for a concurrent commit.
    pub fn before_push(&self, hook: impl Fn(&Seen) + Send + Sync + 'static) {
        *self.shared.before_push.lock() = Some(Box::new(hook));
    }
}

impl Shared {
    /// Answers a request; true when the connection can be kept.
    fn answer(&self, out: &mut Out<'_>, seen: &Seen, fault: Option<Fault>) -> io::Result<bool> {
        let mut limit = None;
        let mut stalls = false;
        let mut alter: Option<Maker> = None;
        let mut status = None;
        let reply = match fault {
            Some(Fault::Status(status, text)) => Some(Reply::text(status, &text)),
            Some(Fault::Page(status, kind, body)) => Some(Reply::bytes(status, &kind, body)),
            Some(Fault::Redirect(status, to)) => Some(Reply::status(status).header("Location", &to)),
            Some(Fault::Drop) => Some(Reply::hang_up()),
            Some(Fault::Zeros(kind, count)) => Some(Reply::bytes(200, &kind, [0; 4096]).filled(count)),
            Some(Fault::Unauthorized(text)) => Some(challenged("Basic", &text)),
            Some(Fault::Delay(time)) => {
                out.sleep(time);
                None
            }
            Some(Fault::CloseAfter(bytes)) => {
                limit = Some(bytes);
                None
            }
            Some(Fault::StallAfter(bytes)) => {
                limit = Some(bytes);
                stalls = true;
                None
            }
            Some(Fault::StatusAfter(code)) => {
                status = Some(code);
                None
            }
            Some(Fault::Altered(change)) => {
                alter = Some(Maker(Arc::new(change)));
                None
            }
            Some(Fault::Made(maker)) => {
                alter = Some(maker);
                None
            }
            None => None,
        };
        let scheme = if matches!(self.login, Login::Bearer(_)) {
            "Bearer"
        } else {
            "Basic"
        };
        let stranger = !self.may_come_in(seen);
        if let Some(reply) = reply.or_else(|| stranger.then(|| challenged(scheme, "Unauthorized\n"))) {
            return reply.send(seen, out);
        }
        let push = seen.is_push();
        if let Some(hook) = self.before_push.lock().as_ref().filter(|_| push) {
            hook(seen);
        }
        if let Some(code) = status {
            self.backend(seen, |answer| io::copy(answer, &mut io::sink()))?;
            return Reply::text(code, "out of order\n").send(seen, out);
        }
        if let Some(change) = alter {
            return self
                .backend(seen, |answer| altered(answer, seen, &*change.0))?
                .send(seen, out);
        }
        let kept = self.backend(seen, |answer| pass_on(answer, out, limit))?;
        if stalls {
            out.sleep(Duration::from_secs(600));
        }
        Ok(kept)
    }

    fn may_come_in(&self, seen: &Seen) -> bool {
        let (wanted, login) = match &self.login {
            Login::Anybody => return true,
            Login::Basic(user, password) => ("Basic", STANDARD.encode(format!("{user}:{password}"))),
            Login::Bearer(token) => ("Bearer", token.clone()),
        };
        // The name of a scheme has no case (RFC 9110, section 11.1).
        let sent = seen.header("authorization").and_then(|header| header.split_once(' '));
        sent.is_some_and(|(scheme, sent)| scheme.eq_ignore_ascii_case(wanted) && sent == login)
    }

    /// Runs the CGI program and streams its output to `take`.
    fn backend<T>(
        &self,
        seen: &Seen,
        take: impl FnOnce(&mut BufReader<ChildStdout>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut command = Command::new(&self.git);
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
            // The program may answer, or fail, before it has read everything.
            scope.spawn(move || stdin.write_all(&seen.body));
            take(&mut stdout)
        });
        drop(stdout);
        child.wait()?;
        kept
    }
}

/// The answer of the CGI program, read to its end, with another body.
fn altered(cgi: &mut impl BufRead, seen: &Seen, change: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<Reply> {
    let mut kind = String::new();
    read_head(cgi, |name, value| {
        if name.eq_ignore_ascii_case("content-type") {
            value.clone_into(&mut kind);
        }
    })?;
    let mut body = Vec::new();
    cgi.read_to_end(&mut body)?;
    assert!(!body.is_empty(), "{} was answered with nothing", seen.target);
    Ok(Reply::bytes(200, &kind, change(&body)))
}

fn read_head(cgi: &mut impl BufRead, mut header: impl FnMut(&str, &str)) -> io::Result<()> {
    loop {
        let mut line = String::new();
        cgi.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => header(name, value),
            None => return Ok(()),
        }
    }
}

fn pass_on(cgi: &mut impl BufRead, out: &mut dyn Write, limit: Option<usize>) -> io::Result<bool> {
    let (mut status, mut head) = ("200 OK".to_owned(), String::new());
    read_head(cgi, |name, value| {
        if name.eq_ignore_ascii_case("status") {
            value.clone_into(&mut status);
        } else {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    })?;
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

fn challenged(scheme: &str, text: &str) -> Reply {
    Reply::text(401, text).header("WWW-Authenticate", &format!("{scheme} realm=\"git\""))
}
