//! The HTTP server of webhooks: short requests with a body, answered by one line.
//!
//! It stands open to forges and registries, so each client is bounded: in connections, in the time for head and body, and
//! in their size.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body, Bytes};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::time::timeout;

use bumpwright_http_server::Door;

/// The most connections at a time; more let those go whose request is not there yet.
const CONNECTIONS: usize = 64;
/// For a head to come in.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// For a body to come in.
const BODY_TIME: Duration = Duration::from_secs(10);
/// The largest head, in bytes.
const HEAD: usize = 64 << 10;
/// After an error of `accept`, such as too many open files, before the next attempt.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A request with all of its body; names of headers are in lower case.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    /// Without the query. It may be a secret.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

/// A status and a line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn new(status: u16, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { status, text }
    }
}

/// Answers requests for ever. Bodies of more than `most` bytes are not read to their end.
pub(crate) async fn serve<F, A>(listener: TcpListener, most: usize, answer: F)
where
    F: Fn(Call) -> A + Send + Sync + 'static,
    A: Future<Output = Reply> + Send + 'static,
{
    let answer = Arc::new(answer);
    let door = Door::new(CONNECTIONS);
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            door.relieve();
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let guest = door.enter(peer.ip()).await;
        let answer = Arc::clone(&answer);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let (answer, guest) = (Arc::clone(&answer), &guest);
                async move {
                    let reply = match read(request, most).await {
                        Ok(call) => {
                            guest.busy();
                            answer(call).await
                        }
                        Err(refused) => refused,
                    };
                    guest.idle();
                    Ok::<_, Infallible>(response(reply))
                }
            });
            // A client that went away is nobody's concern.
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .max_buf_size(HEAD)
                .serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = served => {}
                () = guest.sent_away() => {}
            }
        });
    }
}

async fn read<B>(request: Request<B>, most: usize) -> Result<Call, Reply>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let body = timeout(BODY_TIME, Limited::new(body, most).collect())
        .await
        .map_err(|_| Reply::new(408, "the body did not come in time"))?
        .map_err(|error| match error.is::<http_body_util::LengthLimitError>() {
            true => Reply::new(413, format!("the body is larger than {most} bytes")),
            false => Reply::new(400, "the body could not be read"),
        })?;
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).trim().to_owned();
    Ok(Call {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        headers: head
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), text(value)))
            .collect(),
        body: body.to_bytes(),
    })
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(Full::from(reply.text + "\n"));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("POST"));
    }
    response
}
