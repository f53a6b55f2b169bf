//! A small HTTP server for scrapers and probes.
//!
//! It serves short pages to few clients, so it is a page of tokio instead of a framework. Slow clients are bounded: so
//! many connections, so long for a request, so large a head; controller-runtime's server allows 32 seconds and a
//! megabyte (`pkg/internal/httpserver`).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::{ListenAddress, Page, PageRequest};
use bumpwright_http_server::{Door, Guest};

/// The most connections at a time; more let idle ones go.
const CONNECTIONS: usize = 64;
/// How long a new connection may say nothing.
const FIRST_TIME: Duration = Duration::from_secs(5);
/// The largest head of a request, in bytes.
const HEAD: usize = 16 << 10;
/// From the first byte of a head to its last.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// For a client to take a page.
const PAGE_TIME: Duration = Duration::from_secs(10);
/// How long a connection is kept without a request.
const IDLE_TIME: Duration = Duration::from_secs(30);
/// How long pages that are being served are waited for at the end.
const END_TIME: Duration = Duration::from_secs(5);
/// After an error of `accept`, such as too many open files, before the next attempt.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server cannot be started.
#[derive(Debug, Error)]
#[error("cannot listen on {address} for {what}: {cause}; choose another address with {flag}")]
pub struct ServeError {
    what: &'static str,
    flag: &'static str,
    address: ListenAddress,
    cause: io::Error,
}

/// What answers requests. It may block for a moment, as it has a thread to itself.
type Answer = dyn Fn(&PageRequest) -> Page + Send + Sync;

/// A server that has its address and serves once it is run.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
}

impl Server {
    /// Takes an address; none when it is [`ListenAddress::Off`]. `what` and `flag` are for the error: `metrics`,
    /// `--metrics-addr`.
    ///
    /// # Errors
    /// [`ServeError`] when the address is taken or not this machine's.
    pub async fn bind(
        address: &ListenAddress,
        what: &'static str,
        flag: &'static str,
    ) -> Result<Option<Self>, ServeError> {
        let bound = match address {
            ListenAddress::Off => return Ok(None),
            ListenAddress::At { host, port } if host.is_empty() => everywhere(*port).await,
            ListenAddress::At { host, port } => TcpListener::bind((host.as_str(), *port)).await,
        };
        match bound {
            Ok(listener) => Ok(Some(Self { listener })),
            Err(cause) => Err(ServeError {
                what,
                flag,
                address: address.clone(),
                cause,
            }),
        }
    }

    /// The address, with the port that was chosen.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The address alone, for a server of another kind.
    #[must_use]
    pub fn into_listener(self) -> TcpListener {
        self.listener
    }

    /// Serves until `stop` is done: then takes no more connections, ends the idle ones, and waits some seconds for the
    /// pages on their way.
    pub async fn run(
        self,
        answer: impl Fn(&PageRequest) -> Page + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) {
        let answer: Arc<Answer> = Arc::new(answer);
        let (stopping, stopped) = watch::channel(());
        let mut connections = JoinSet::new();
        tokio::select! {
            () = self.accept(&answer, &stopped, &mut connections) => {}
            () = stop => {}
        }
        drop(self.listener);
        drop(stopping);
        // Whoever is not done by then is cut off when the set is dropped.
        let _ = timeout(END_TIME, async { while connections.join_next().await.is_some() {} }).await;
    }

    async fn accept(&self, answer: &Arc<Answer>, stopped: &watch::Receiver<()>, connections: &mut JoinSet<()>) {
        let door = Door::new(CONNECTIONS);
        loop {
            // Those that ended are forgotten as new ones come.
            while connections.try_join_next().is_some() {}
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    let guest = door.enter(peer.ip()).await;
                    let connection = Connection {
                        stream,
                        read: Vec::new(),
                        answer: Arc::clone(answer),
                        stopped: stopped.clone(),
                    };
                    connections.spawn(async move {
                        tokio::select! {
                            () = connection.serve(&guest) => {}
                            () = guest.sent_away() => {}
                        }
                    });
                }
                Err(_) => {
                    door.relieve();
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// All addresses of the machine, as Go takes `:PORT`: those of IPv6, which have those of IPv4 among them, or these alone
/// where there is no IPv6.
async fn everywhere(port: u16) -> io::Result<TcpListener> {
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        Err(e) if !matches!(e.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await
        }
        bound => bound,
    }
}

struct Connection {
    stream: TcpStream,
    /// Read, and not yet part of a request.
    read: Vec<u8>,
    answer: Arc<Answer>,
    /// Its sender goes away when the server stops.
    stopped: watch::Receiver<()>,
}

/// What came instead of a request.
enum NoRequest {
    /// There will be none.
    Gone,
    /// The client gets this, and then the connection is closed.
    Refused(Page),
}

impl Connection {
    async fn serve(mut self, guest: &Guest) {
        let mut idle_time = FIRST_TIME;
        loop {
            let asked = self.request(idle_time).await;
            guest.busy();
            let (page, request) = match asked {
                Ok(request) => (self.page(&request).await, request),
                Err(NoRequest::Gone) => return,
                Err(NoRequest::Refused(page)) => (page, PageRequest::default()),
            };
            let keep = request.keep && self.stopped.has_changed().is_ok();
            let sent = timeout(PAGE_TIME, self.stream.write_all(&page.encode(&request, keep))).await;
            if !keep || !matches!(sent, Ok(Ok(()))) {
                let _ = timeout(PAGE_TIME, self.stream.shutdown()).await;
                return;
            }
            guest.idle();
            idle_time = IDLE_TIME;
        }
    }

    async fn request(&mut self, idle_time: Duration) -> Result<PageRequest, NoRequest> {
        if self.read.is_empty() {
            let mut stopped = self.stopped.clone();
            let first = tokio::select! {
                read = timeout(idle_time, read_some(&mut self.stream, &mut self.read)) => read,
                _ = stopped.changed() => return Err(NoRequest::Gone),
            };
            if !matches!(first, Ok(Ok(()))) {
                return Err(NoRequest::Gone);
            }
        }
        let head = match timeout(HEAD_TIME, self.head()).await {
            Ok(head) => head?,
            Err(_) => return Err(NoRequest::Refused(Page::text(408, "408 Request Timeout\n"))),
        };
        let head = std::str::from_utf8(&head).ok().and_then(PageRequest::parse);
        head.ok_or_else(|| NoRequest::Refused(Page::text(400, "400 Bad Request\n")))
    }

    /// The next head, without its empty line.
    async fn head(&mut self) -> Result<Vec<u8>, NoRequest> {
        const END: &[u8] = b"\r\n\r\n";
        loop {
            if let Some(end) = self.read.windows(END.len()).position(|bytes| bytes == END) {
                let rest = self.read.split_off(end + END.len());
                let mut head = std::mem::replace(&mut self.read, rest);
                head.truncate(end);
                return Ok(head);
            }
            if self.read.len() > HEAD {
                return Err(NoRequest::Refused(Page::text(
                    431,
                    "431 Request Header Fields Too Large\n",
                )));
            }
            let read = read_some(&mut self.stream, &mut self.read).await;
            read.map_err(|_| NoRequest::Gone)?;
        }
    }

    async fn page(&self, request: &PageRequest) -> Page {
        if !["GET", "HEAD"].contains(&request.method.as_str()) {
            return Page::text(405, "405 Method Not Allowed\n");
        }
        let (answer, request) = (Arc::clone(&self.answer), request.clone());
        let page = spawn_blocking(move || answer(&request)).await;
        page.unwrap_or_else(|_| Page::text(500, "500 Internal Server Error\n"))
    }
}

/// Reads what has come, at least a byte.
async fn read_some(stream: &mut TcpStream, into: &mut Vec<u8>) -> io::Result<()> {
    let mut bytes = [0; 4 << 10];
    let number = stream.read(&mut bytes).await?;
    match bytes.get(..number) {
        Some(read) if !read.is_empty() => into.extend_from_slice(read),
        _ => return Err(io::ErrorKind::UnexpectedEof.into()),
    }
    Ok(())
}
