//! One connection: requests one after the other, as hyper reads them.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, HOST, HeaderValue};
use http::{Request, Response, StatusCode, Version};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::progress::Progress;
use super::stream::TimedStream;
use super::{Body, Limits, refusal};

/// The smallest buffer that hyper accepts, in bytes.
const LEAST_BUFFER: usize = 8 << 10;
/// How long a client is listened to after the last response.
const LINGER: Duration = Duration::from_millis(500);
/// The response to a head that does not come in time. hyper has none: it only ends the connection.
const OVERDUE: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\
    Content-Length: 19\r\n\r\n408 Request Timeout";

/// Serves a connection until it ends. `stopped` is closed when the server stops.
pub(super) async fn serve<H, F>(
    stream: TcpStream,
    progress: Arc<Progress>,
    handler: Arc<H>,
    mut stopped: watch::Receiver<()>,
) where
    H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let service = service_fn(|request| {
        let (progress, handler) = (Arc::clone(&progress), Arc::clone(&handler));
        Box::pin(async move { Ok::<_, Infallible>(respond(request, progress, &*handler).await) })
    });
    let limits = progress.limits;
    let mut http = http1::Builder::new()
        .half_close(limits.half_close)
        .title_case_headers(true)
        .max_buf_size(limits.head_size.max(LEAST_BUFFER))
        .serve_connection(TokioIo::new(TimedStream::new(stream, Arc::clone(&progress))), service);
    let mut stopping = false;
    let ended = loop {
        tokio::select! {
            ended = poll_fn(|cx| http.poll_without_shutdown(cx)) => break ended,
            _ = stopped.changed(), if !stopping => {
                stopping = true;
                Pin::new(&mut http).graceful_shutdown();
            }
        }
    };
    let mut stream = http.into_parts().io.into_inner().stream;
    // hyper has answered what it could not parse. After other errors the connection just ends, so that the client does
    // not take a part of a response for all of it; only a request that does not come in time is answered.
    if ended.is_err_and(|error| !error.is_parse()) {
        let is_answered = progress.is_head_overdue() && stream.write_all(OVERDUE).await.is_ok();
        if !is_answered {
            return;
        }
    }
    linger(stream, &limits).await;
}

/// Ends a connection so that the client gets the response: what it still sends is read for a moment, or the system
/// would answer that with a reset, which may overtake the response.
async fn linger(mut stream: TcpStream, limits: &Limits) {
    let drained = timeout(limits.stall_time.min(LINGER), async {
        let _ = stream.shutdown().await;
        let mut bytes = [0; 4 << 10];
        while matches!(stream.read(&mut bytes).await, Ok(1..)) {}
    });
    let _ = drained.await;
}

async fn respond<H, F>(request: Request<Incoming>, progress: Arc<Progress>, handler: &H) -> Response<Tracked>
where
    H: Fn(Request<Bytes>) -> F,
    F: Future<Output = Response<Body>>,
{
    progress.received_head();
    let is_last = progress.limits.body_size == 0 && !request.body().is_end_stream();
    let request = received(request, &progress.limits).await;
    progress.received_request();
    let mut response = match request {
        Ok(request) => handler(request).await,
        Err(refused) => refused,
    };
    if is_last {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
        // As Go has it.
        let reason = ReasonPhrase::from_static(b"Requested Range Not Satisfiable");
        response.extensions_mut().insert(reason);
    }
    progress.responds(response.body().size());
    response.map(|body| Tracked { body, progress })
}

/// The request with its body, if bodies are read.
///
/// # Errors
/// The response to what is not taken.
#[expect(
    clippy::disallowed_methods,
    reason = "the body of a request, such as a webhook; bound: 1 MiB of a webhook, 16 KiB for pages; account: none, bounded by the connections"
)]
async fn received(request: Request<Incoming>, limits: &Limits) -> Result<Request<Bytes>, Response<Body>> {
    let hosts = request.headers().get_all(HOST).iter().count();
    // As Go's server has it.
    match hosts {
        0 if request.version() == Version::HTTP_11 => {
            let text = "400 Bad Request: missing required Host header";
            return Err(refusal(StatusCode::BAD_REQUEST, text));
        }
        0 | 1 => {}
        _ => return Err(refusal(StatusCode::BAD_REQUEST, "400 Bad Request")),
    }
    let (head, body) = request.into_parts();
    if limits.body_size == 0 || body.is_end_stream() {
        return Ok(Request::from_parts(head, Bytes::new()));
    }
    let body = timeout(limits.body_time, Limited::new(body, limits.body_size).collect()).await;
    let body = body
        .map_err(|_| refusal(StatusCode::REQUEST_TIMEOUT, "the body did not come in time\n"))?
        .map_err(|error| {
            if error.is::<LengthLimitError>() {
                let text = format!("the body is larger than {} bytes\n", limits.body_size);
                refusal(StatusCode::PAYLOAD_TOO_LARGE, text)
            } else {
                refusal(StatusCode::BAD_REQUEST, "the body could not be read\n")
            }
        })?;
    Ok(Request::from_parts(head, body.to_bytes()))
}

/// The body of a response. hyper drops it when it has all of it.
struct Tracked {
    body: Body,
    progress: Arc<Progress>,
}

impl http_body::Body for Tracked {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.progress.handed_over_response();
    }
}
