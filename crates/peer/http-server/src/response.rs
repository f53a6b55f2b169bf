//! Responses that all servers have.

use http::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use tokio::task::spawn_blocking;

use super::Body;

/// A response of plain text after which the connection is closed: to what is not a request, or not one that is
/// read to its end.
#[must_use]
pub fn refusal(status: StatusCode, text: impl Into<String>) -> Response<Body> {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The response that `answer` returns, which runs on a thread where it may block; status 500 if it panics.
pub async fn blocking(answer: impl FnOnce() -> Response<Body> + Send + 'static) -> Response<Body> {
    let failed = |_| refusal(StatusCode::INTERNAL_SERVER_ERROR, "500 Internal Server Error");
    spawn_blocking(answer).await.unwrap_or_else(failed)
}
