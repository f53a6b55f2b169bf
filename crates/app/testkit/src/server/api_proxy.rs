//! A proxy between a controller and its API server, over plain HTTP: answers in place of the server, and breaks or
//! freezes the connections of watches.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;

use crate::program::reply::Reply;
use crate::server::apiserver::Cluster;
use crate::server::http_server::{HttpServer, Out, Request};

/// The header of servers with priority and fairness, for which clients have no rate limit.
const FAIR: &str = "X-Kubernetes-Pf-Flowschema-Uid";

type Look = dyn Fn(&Request) -> Option<Reply> + Send + Sync;

struct Shared {
    url: String,
    token: &'static str,
    agent: ureq::Agent,
    look: Mutex<Arc<Look>>,
    /// Watches that began before this many cuts have been ended.
    cuts: AtomicUsize,
    /// Watches that began before this many freezes pass nothing on.
    freezes: AtomicUsize,
}

/// A running proxy; it ends when it is dropped. Its requests are those of [`HttpServer`].
pub struct ApiProxy {
    server: HttpServer,
    shared: Arc<Shared>,
}

impl Deref for ApiProxy {
    type Target = HttpServer;

    fn deref(&self) -> &HttpServer {
        &self.server
    }
}

impl ApiProxy {
    /// Starts in front of this API server. Every client is accepted: credentials are up to [`ApiProxy::intercept`].
    pub fn start(cluster: &Cluster) -> Self {
        let shared = Arc::new(Shared {
            url: cluster.url().to_owned(),
            token: cluster.token(),
            agent: cluster.streaming_agent(),
            look: Mutex::new(Arc::new(|_| None)),
            cuts: AtomicUsize::new(0),
            freezes: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&shared);
        let server = HttpServer::start(None, move |request, out| serving.answer(request, out));
        Self { server, shared }
    }

    /// Intercepts each request from now on; the returned reply is the answer. It may block.
    pub fn intercept(&self, look: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) {
        *self.shared.look.lock() = Arc::new(look);
    }

    /// Writes each Lease once more just before it is first given back, as a renewal that was under way does.
    pub fn renew_before_release(&self, cluster: &'static Cluster) {
        let seen = Mutex::new(BTreeSet::new());
        self.intercept(move |request| {
            let body = String::from_utf8_lossy(&request.body);
            let is_release = request.path.contains("/leases/") && body.contains(r#""holderIdentity":"""#);
            if is_release && seen.lock().insert(request.path.clone()) {
                cluster.merge_patch(&request.path, &json!({"metadata": {"labels": {"renewed": "late"}}}));
            }
            None
        });
    }

    /// Ends all watches that are under way, in the middle of a line.
    pub fn cut_watches(&self) {
        self.shared.cuts.fetch_add(1, Ordering::SeqCst);
    }

    /// Freezes all watches that are under way, without ending them.
    pub fn freeze_watches(&self) {
        self.shared.freezes.fetch_add(1, Ordering::SeqCst);
    }

    /// The number of watches of a kind so far.
    pub fn watches(&self, plural: &str) -> usize {
        let ours = |request: &&Request| is_watch(request) && request.path.ends_with(&format!("/{plural}"));
        self.requests().iter().filter(ours).count()
    }

    /// The number of lists of a kind so far.
    pub fn lists(&self, plural: &str) -> usize {
        let ours = |request: &&Request| {
            !is_watch(request) && request.method == "GET" && request.path.ends_with(&format!("/{plural}"))
        };
        self.requests().iter().filter(ours).count()
    }

    /// Writes a kubeconfig for the proxy into `folder`; the token is read from `token_file`, if any.
    pub fn kubeconfig(&self, folder: &Path, token_file: Option<&Path>) -> PathBuf {
        let mut user = json!({});
        if let Some(file) = token_file {
            user["tokenFile"] = json!(file);
        }
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
            "clusters": [{"name": "proxy", "cluster": {"server": self.url("").trim_end_matches('/')}}],
            "users": [{"name": "proxy", "user": user}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
        });
        let file = folder.join("proxied.kubeconfig");
        std::fs::write(&file, config.to_string()).unwrap();
        file
    }
}

pub fn is_watch(request: &Request) -> bool {
    request.parameter("watch").is_some()
}

impl Shared {
    fn answer(&self, request: &Request, out: &mut Out<'_>) -> io::Result<bool> {
        let look = Arc::clone(&self.look.lock());
        if let Some(reply) = look(request) {
            return reply.send(request, out);
        }
        let (cuts, freezes) = (self.cuts.load(Ordering::SeqCst), self.freezes.load(Ordering::SeqCst));
        let mut builder = ureq::http::Request::builder()
            .method(request.method.as_str())
            .uri(format!("{}{}", self.url, request.target))
            .header("authorization", format!("Bearer {}", self.token));
        for name in ["accept", "content-type"] {
            if let Some(value) = request.header(name) {
                builder = builder.header(name, value);
            }
        }
        let sent = match request.body.as_slice() {
            [] => self.agent.run(builder.body(()).unwrap()),
            body => self.agent.run(builder.body(body).unwrap()),
        };
        let Ok(answer) = sent else {
            return Reply::hang_up().send(request, out);
        };
        let status = answer.status().as_u16();
        let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_owned();
        let fair = answer.headers().get(FAIR).and_then(|uid| uid.to_str().ok());
        let fair = fair.map(str::to_owned);
        let mut body = answer.into_body().into_reader();
        if !is_watch(request) || status != 200 {
            let mut bytes = Vec::new();
            body.read_to_end(&mut bytes)?;
            let reply = Reply::bytes(status, &kind, bytes);
            let reply = fair.iter().fold(reply, |reply, uid| reply.header(FAIR, uid));
            return reply.send(request, out);
        }
        write!(
            out,
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )?;
        out.flush()?;
        self.pass_on(body, out, cuts, freezes)
    }

    fn pass_on(
        &self,
        mut body: impl Read + Send + 'static,
        out: &mut Out<'_>,
        cuts: usize,
        freezes: usize,
    ) -> io::Result<bool> {
        let (send, receive) = sync_channel(16);
        thread::spawn(move || {
            let mut buffer = vec![0; 16 << 10];
            while let Ok(length @ 1..) = body.read(&mut buffer) {
                if send.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        loop {
            if self.cuts.load(Ordering::SeqCst) > cuts {
                out.write_all(b"e\r\n{\"type\":\"MODIF\r\n")?;
                return out.flush().map(|()| false);
            }
            if out.stopped() {
                return Ok(false);
            }
            match receive.recv_timeout(Duration::from_millis(10)) {
                Ok(_) if self.freezes.load(Ordering::SeqCst) > freezes => {}
                Ok(bytes) => {
                    write!(out, "{:x}\r\n", bytes.len())?;
                    out.write_all(&bytes)?;
                    out.write_all(b"\r\n")?;
                    out.flush()?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The server has ended the watch; a frozen client does not see it.
                Err(RecvTimeoutError::Disconnected) if self.freezes.load(Ordering::SeqCst) > freezes => {
                    out.sleep(Duration::from_millis(50));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    out.write_all(b"0\r\n\r\n")?;
                    return out.flush().map(|()| true);
                }
            }
        }
    }
}
