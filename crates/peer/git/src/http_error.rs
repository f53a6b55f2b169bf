//! What the HTTP agent's errors mean.

use super::TransportError;
use bumpwright_http::{Deadline, Fault, explain};

/// An error of the agent as one of the transport.
pub(crate) fn failed(url: &str, error: ureq::Error, deadline: Deadline) -> TransportError {
    match explain(error, deadline) {
        Fault::Timeout => TransportError::timeout(url, deadline),
        Fault::Broken(detail) => TransportError::Connect {
            url: url.to_owned(),
            detail,
        },
    }
}
