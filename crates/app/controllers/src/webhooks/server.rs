//! The HTTP server of webhooks: short requests with a body, answered by one line.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use tokio::net::TcpListener;

use bumpwright_http_server::{self as http_server, Body, Limits};

/// A request with all of its body; names of headers are in lower case.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    /// Without the query. May be a secret.
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

/// Answers requests until the process ends. Bodies of more than `most` bytes are rejected.
pub(crate) async fn serve<F, A>(listener: TcpListener, most: usize, answer: F)
where
    F: Fn(Call) -> A + Send + Sync + 'static,
    A: Future<Output = Reply> + Send + 'static,
{
    let limits = Limits {
        first_time: Duration::from_secs(10),
        idle_time: Duration::from_secs(10),
        head_size: 64 << 10,
        body_size: most,
        ..Limits::default()
    };
    let answer = Arc::new(answer);
    let handler = move |request| {
        let answer = Arc::clone(&answer);
        async move { response(answer(call(request)).await) }
    };
    http_server::serve(listener, limits, handler, std::future::pending()).await;
}

fn call(request: Request<Bytes>) -> Call {
    let (head, body) = request.into_parts();
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).trim().to_owned();
    Call {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        headers: head
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), text(value)))
            .collect(),
        body,
    }
}

fn response(reply: Reply) -> Response<Body> {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(Body::from(reply.text + "\n"));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("POST"));
    }
    response
}
