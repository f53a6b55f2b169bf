//! One connection: requests one after the other, each with its time.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bumpwright_http_server::Guest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::limits::Limits;
use super::listen::OnFault;
use super::reply::Reply;
use super::request::{Request, head_end};
use super::resource::answer;
use super::send::send;
use crate::storage::Storage;

/// The largest head of a request, in bytes.
const HEAD: usize = 16 << 10;
/// How long a client is listened to after the last answer.
const LINGER: Duration = Duration::from_millis(500);

pub(super) struct Connection {
    pub(super) stream: TcpStream,
    /// Read, and not yet part of a request.
    pub(super) read: Vec<u8>,
    pub(super) storage: Storage,
    pub(super) limits: Limits,
    pub(super) on_fault: Arc<OnFault>,
    /// Its sender goes away when the server stops.
    pub(super) stopped: watch::Receiver<()>,
}

/// What came instead of a request.
enum NoRequest {
    /// There will be none.
    Gone,
    /// The client gets this, and then the connection ends.
    Refused(Reply),
}

impl Connection {
    pub(super) async fn serve(mut self, guest: &Guest) {
        let mut idle_time = self.limits.first_time.min(self.limits.idle_time);
        loop {
            let asked = self.request(idle_time).await;
            guest.busy();
            let (request, reply) = match asked {
                Ok(request) => self.reply(request).await,
                Err(NoRequest::Gone) => return,
                Err(NoRequest::Refused(reply)) => (Request::default(), reply),
            };
            let keep = request.keep && !reply.last && self.stopped.has_changed().is_ok();
            let head = reply.head(&request, keep);
            let has_body = request.method != "HEAD";
            let sent = send(&mut self.stream, head, reply, has_body, &self.limits).await;
            match sent {
                Ok(()) if keep => guest.idle(),
                Ok(()) => return self.end().await,
                // The client must not take what it has for all: it is cut off.
                Err(_) => return,
            }
            idle_time = self.limits.idle_time;
        }
    }

    async fn request(&mut self, idle_time: Duration) -> Result<Request, NoRequest> {
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
        let head = match timeout(self.limits.head_time, self.head()).await {
            Ok(head) => head?,
            Err(_) => return Err(NoRequest::Refused(Reply::refusal(408, "408 Request Timeout"))),
        };
        Request::parse(&head).map_err(NoRequest::Refused)
    }

    /// The next head, with its empty line.
    async fn head(&mut self) -> Result<Vec<u8>, NoRequest> {
        let mut searched = 0;
        loop {
            if let Some(end) = head_end(&self.read, searched) {
                let rest = self.read.split_off(end);
                return Ok(std::mem::replace(&mut self.read, rest));
            }
            searched = self.read.len();
            if searched > HEAD {
                let text = "431 Request Header Fields Too Large";
                return Err(NoRequest::Refused(Reply::refusal(431, text)));
            }
            let read = read_some(&mut self.stream, &mut self.read).await;
            read.map_err(|_| NoRequest::Gone)?;
        }
    }

    async fn reply(&self, request: Request) -> (Request, Reply) {
        let (storage, on_fault) = (self.storage.clone(), Arc::clone(&self.on_fault));
        let answered = spawn_blocking(move || {
            let (reply, fault) = answer(&storage, &request);
            if let Some(fault) = fault {
                on_fault(&fault);
            }
            (request, reply)
        });
        let failed = |_| (Request::default(), Reply::refusal(500, "500 Internal Server Error"));
        answered.await.unwrap_or_else(failed)
    }

    /// Ends the connection so that the client gets the answer: what it still sends is taken for a moment, or the system
    /// would answer that with a reset, which may overtake the answer.
    async fn end(mut self) {
        let drained = timeout(self.limits.stall_time.min(LINGER), async {
            let _ = self.stream.shutdown().await;
            let mut bytes = [0; 4 << 10];
            while matches!(self.stream.read(&mut bytes).await, Ok(1..)) {}
        });
        let _ = drained.await;
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
