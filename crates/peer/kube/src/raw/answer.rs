//! Answers of the API server to requests about objects of any kind, and its errors in the words of Go's client.

use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde::Deserialize;

use super::answered::{self, Answer, Answered, ReadError};
use crate::client::cluster::Cluster;
use crate::error::ClusterError;
use bumpwright_budget::{Exceeded, Reservation};

/// The most bytes of an error that are read and shown: conditions are limited too.
const REFUSAL: usize = 256 << 10;
const WORDS: usize = 16 << 10;

/// A request about an object, or a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApiCall<'a> {
    pub(crate) method: &'a Method,
    /// Path and query.
    pub(crate) path: &'a str,
    /// The accepted media type; empty for plain JSON.
    pub(crate) accept: &'a str,
    /// The media type of the body; empty without one.
    pub(crate) content_type: &'a str,
    pub(crate) body: &'a [u8],
}

impl<'a> ApiCall<'a> {
    pub(crate) const fn get(path: &'a str) -> Self {
        Self {
            method: &Method::GET,
            path,
            accept: "",
            content_type: "",
            body: &[],
        }
    }

    /// The path alone, for messages: the query may be of any length.
    fn place(self) -> &'a str {
        self.path.split_once('?').map_or(self.path, |(path, _)| path)
    }
}

/// The relevant fields of `metav1.Status`.
#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    reason: String,
}

impl Cluster {
    /// Sends a request and reads its answer, within the requester's share of memory. Repeated once with credentials
    /// read again from disk after a 401.
    pub(crate) async fn answer<T: Answer>(&self, call: ApiCall<'_>) -> Result<Answered<T>, ClusterError> {
        let (bytes, room) = match self.bytes(call).await {
            Err(error) if error.is_unauthorized() => {
                self.renew().await;
                self.bytes(call).await?
            }
            bytes => bytes?,
        };
        answered::read(&bytes, room).map_err(|error| match error {
            ReadError::Exceeded(cause) => self.too_much(call, cause),
            ReadError::Malformed(error) => {
                ClusterError::Unreachable(format!("{} {}: unreadable answer: {error}", call.method, call.path))
            }
        })
    }

    async fn bytes(&self, call: ApiCall<'_>) -> Result<(Vec<u8>, Reservation), ClusterError> {
        let mut request = Request::builder().method(call.method).uri(call.path);
        if !call.accept.is_empty() {
            request = request.header("accept", call.accept);
        }
        if !call.content_type.is_empty() {
            request = request.header("content-type", call.content_type);
        }
        let request = request
            .body(Body::from(call.body.to_vec()))
            .map_err(|error| ClusterError::Unreachable(format!("{} {}: {error}", call.method, call.place())))?;
        self.wait_for_turn(self.budget.memory.tenant()).await?;
        let client = self.client();
        let mut room = self.budget.memory.nothing();
        let received = self.bounded(async {
            let (head, body) = client.send(request).await?.into_parts();
            Ok((head.status, received(head.status, body, &mut room).await?))
        });
        let (status, body) = received.await?;
        let body = body.map_err(|cause| self.too_much(call, cause))?;
        if status.is_success() {
            Ok((body, room))
        } else {
            Err(refusal(call, status, &body))
        }
    }

    /// The error of an answer that exceeds the memory: of which server, to which request.
    pub(crate) fn too_much(&self, call: ApiCall<'_>, cause: Exceeded) -> ClusterError {
        ClusterError::TooMuch {
            what: format!("the answer of {} to {} {}", self.identity(), call.method, call.place()),
            cause,
        }
    }
}

/// Reads a whole body, or the beginning of an error's. Memory, also for the copy on growth, is reserved before it is
/// used.
#[expect(
    clippy::disallowed_methods,
    reason = "an answer of an API server about objects of any kind; bound: 256 KiB of an error; account: the requester's share of memory"
)]
async fn received(
    status: StatusCode,
    mut body: impl http_body::Body<Data = bytes::Bytes, Error = impl Into<kube::Error>> + Unpin,
    room: &mut Reservation,
) -> Result<Result<Vec<u8>, Exceeded>, kube::Error> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Into::into)?.into_data() else {
            continue;
        };
        if let Err(exceeded) = room.grow(2 * data.len() as u64) {
            return Ok(Err(exceeded));
        }
        bytes.extend_from_slice(&data);
        if !status.is_success() && bytes.len() > REFUSAL {
            break;
        }
    }
    Ok(Ok(bytes))
}

/// The error of an answer. Without a `Status` it has apimachinery's words (`errors.NewGenericServerResponse`).
fn refusal(call: ApiCall<'_>, code: StatusCode, body: &[u8]) -> ClusterError {
    let status = serde_json::from_slice::<Status>(body).ok();
    let (reason, message) = match status.filter(|status| status.kind == "Status") {
        Some(status) => (status.reason, status.message),
        None => generic(call, code, body),
    };
    let (reason, message) = (cut(reason), cut(message));
    if code == StatusCode::CONFLICT && reason != "AlreadyExists" {
        return ClusterError::Conflict(message);
    }
    ClusterError::Refused {
        code: code.as_u16(),
        reason,
        message,
    }
}

/// Truncates a message of the server.
fn cut(mut words: String) -> String {
    if words.len() > WORDS {
        words.truncate(words.floor_char_boundary(WORDS));
        words.shrink_to_fit();
        words.push('…');
    }
    words
}

fn generic(call: ApiCall<'_>, code: StatusCode, body: &[u8]) -> (String, String) {
    let (reason, message) = match code.as_u16() {
        401 => (
            "Unauthorized",
            "the server has asked for the client to provide credentials",
        ),
        403 => (
            "Forbidden",
            "the server does not allow this method on the requested resource",
        ),
        404 => ("NotFound", "the server could not find the requested resource"),
        405 => (
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        ),
        409 => ("Conflict", "the server reported a conflict"),
        413 => (
            "RequestEntityTooLarge",
            "the server responded with the status code 413 but did not return more information",
        ),
        415 => (
            "UnsupportedMediaType",
            "the server was unable to respond with a content type that the client supports",
        ),
        422 => (
            "Invalid",
            "the server rejected our request due to an error in our request",
        ),
        429 => (
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        ),
        503 => (
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        504 => (
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
        _ => {
            let text = String::from_utf8_lossy(body);
            let why = match text.trim() {
                "" => format!("the server answered {} {} with status {code}", call.method, call.path),
                text => format!("an error on the server ({text:?}) has prevented the request from succeeding"),
            };
            let reason = if code.is_server_error() { "InternalError" } else { "" };
            return (reason.to_owned(), why);
        }
    };
    (reason.to_owned(), message.to_owned())
}
