//! Errors of the HTTP agent as transport errors.

use crate::TransportError;
use bumpwright_http::{Deadline, Fault, explain};

/// Converts an error of the agent.
pub(crate) fn failed(url: &str, error: ureq::Error, deadline: Deadline) -> TransportError {
    match explain(error, deadline) {
        Fault::Timeout => TransportError::timeout(url, deadline),
        Fault::Broken(detail) => TransportError::Connect {
            url: url.to_owned(),
            detail,
        },
    }
}
