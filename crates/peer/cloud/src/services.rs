//! Requests to cloud services, and to metadata endpoints, which are local or absent.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use ureq::http::StatusCode;
use url::Url;
use zeroize::Zeroizing;

use super::refusal::{error_details, is_passing};
use super::{Absence, CloudError};
use bumpwright_http::{Answer, Client, Deadline, Peer, Request, RetryPolicy, scrubbed, shown};
use bumpwright_secret::Secret;

/// The time limit of one request (Flux, `fluxcd/pkg/auth`, `GetHTTPClient`).
const REQUEST: Duration = Duration::from_secs(10);
/// The time limit for a connection to a metadata endpoint. It is on the same machine or its host.
const CONNECT: Duration = Duration::from_secs(1);
/// How long an endpoint without a connection counts as absent.
const ABSENT: Duration = Duration::from_secs(30);
/// The largest accepted answer, in bytes. A token of Entra with many groups has some 20 KiB.
const ANSWER: usize = 1 << 20;

/// One client for services, through the proxy if any, and one for metadata endpoints, without it.
#[derive(Debug)]
pub(super) struct Services {
    far: Client,
    near: Client,
    absent: Mutex<HashMap<String, (Instant, Absence)>>,
}

impl Services {
    pub(super) fn new(peer: Peer) -> Self {
        let timeout = peer.timeout.min(REQUEST);
        let near = Peer {
            proxy: None,
            environment: false,
            timeout,
            ..peer.clone()
        };
        let quick = RetryPolicy {
            tries: 3,
            ..RetryPolicy::default()
        };
        Self {
            far: Client::new(Peer { timeout, ..peer }, RetryPolicy::default()),
            near: Client::new(near, quick),
            absent: Mutex::default(),
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.far
    }

    /// Sends a request to a service. `secrets` are those of the request; no error contains them.
    ///
    /// # Errors
    /// [`CloudError::Net`] and [`CloudError::Refused`].
    #[expect(
        clippy::disallowed_methods,
        reason = "an answer of a cloud's token service; bound: 1 MiB; account: memory of fetches"
    )]
    pub(super) fn send(
        &self,
        doing: &str,
        request: Request,
        secrets: &[&Secret],
        deadline: Deadline,
    ) -> Result<Answer, CloudError> {
        let request = request.limit(ANSWER).repeatable();
        let mut pause = Duration::from_millis(500);
        loop {
            let answer = self.far.send(&request, deadline).map_err(|cause| CloudError::Net {
                doing: doing.to_owned(),
                cause: cause.reworded(|text| scrubbed(text, secrets.iter().copied())),
            })?;
            if answer.status.is_success() {
                return Ok(answer);
            }
            let said = error_details(&answer, secrets);
            if !is_passing(answer.status, &said.code) || pause > Duration::from_secs(1) || pause >= deadline.left() {
                return Err(said.error(doing, &answer.url, answer.status));
            }
            thread::sleep(pause);
            pause *= 2;
        }
    }

    /// Sends a request to a metadata endpoint, after [`Services::present`]. Any status is an answer.
    ///
    /// # Errors
    /// [`CloudError::Net`].
    #[expect(
        clippy::disallowed_methods,
        reason = "an answer of a cloud's metadata service; bound: 1 MiB; account: memory of fetches"
    )]
    pub(super) fn send_to_metadata(
        &self,
        doing: &str,
        request: &Request,
        deadline: Deadline,
    ) -> Result<Answer, CloudError> {
        let request = request.clone().limit(ANSWER);
        self.near.send(&request, deadline).map_err(|cause| CloudError::Net {
            doing: doing.to_owned(),
            cause,
        })
    }

    /// Checks whether a metadata endpoint accepts connections within a second.
    ///
    /// # Errors
    /// [`Absence::Silent`].
    pub(super) fn present(&self, endpoint: &Url) -> Result<(), Absence> {
        let place = endpoint.origin().ascii_serialization();
        let mut absent = self.absent.lock();
        if let Some((_, why)) = absent.get(&place).filter(|(since, _)| since.elapsed() < ABSENT) {
            return Err(why.clone());
        }
        // The lock is held meanwhile: other callers wait for this result.
        match connected(endpoint) {
            Ok(()) => {
                absent.remove(&place);
                Ok(())
            }
            Err(cause) => {
                let why = Absence::Silent {
                    place: place.clone(),
                    cause: cause.to_string(),
                };
                absent.insert(place, (Instant::now(), why.clone()));
                Err(why)
            }
        }
    }
}

fn connected(endpoint: &Url) -> io::Result<()> {
    let mut last = io::Error::other("no address");
    for address in addresses(endpoint)?.iter().take(4) {
        match TcpStream::connect_timeout(address, CONNECT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Parses an address of a variable or file.
///
/// # Errors
/// [`CloudError::Settings`] when it is not valid.
pub(super) fn address(named_by: &str, value: &str) -> Result<Url, CloudError> {
    let url = Url::parse(value).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| CloudError::settings(named_by, "is not an address; give https://host or http://host:port"))
}

pub(super) fn addresses(endpoint: &Url) -> io::Result<Vec<SocketAddr>> {
    let port = endpoint.port_or_known_default().unwrap_or(80);
    let addresses = match endpoint.host() {
        Some(url::Host::Ipv4(ip)) => return Ok(vec![SocketAddr::from((ip, port))]),
        Some(url::Host::Ipv6(ip)) => return Ok(vec![SocketAddr::from((ip, port))]),
        Some(url::Host::Domain(name)) => (name, port).to_socket_addrs()?,
        None => return Ok(Vec::new()),
    };
    Ok(addresses.collect())
}

/// The error of a refusal.
pub(super) fn refused(doing: &str, answer: &Answer, secrets: &[&Secret]) -> CloudError {
    error_details(answer, secrets).error(doing, &answer.url, answer.status)
}

/// The error of an unusable answer.
pub(super) fn unusable(doing: &str, url: &Url, detail: impl Into<String>) -> CloudError {
    CloudError::Answer {
        doing: doing.to_owned(),
        url: shown(url),
        detail: detail.into(),
    }
}

/// Parses the answer's JSON, and wipes the answer.
///
/// # Errors
/// [`CloudError::Answer`], without any of the text, which may be a secret.
pub(super) fn json<T: DeserializeOwned>(doing: &str, answer: Answer) -> Result<T, CloudError> {
    let (url, body) = (answer.url, Zeroizing::new(answer.body));
    serde_json::from_slice(&body).map_err(|e| unusable(doing, &url, no_json(&e)))
}

/// Describes an error in a JSON text without quoting it, unlike the library's message.
pub(super) fn no_json(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        serde_json::error::Category::Data => {
            format!("it has a missing or invalid field (line {line}, column {column})")
        }
        _ => format!("it is not JSON (line {line}, column {column})"),
    }
}

/// Whether an answer is a metadata endpoint's success.
pub(super) fn is_ok(answer: &Answer) -> bool {
    answer.status == StatusCode::OK
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn absent_endpoints_are_found_absent_once() {
        let services = Services::new(Peer::default());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Url::parse(&format!("http://{}/latest", listener.local_addr().unwrap())).unwrap();
        services.present(&endpoint).unwrap();
        drop(listener);
        let why = services.present(&endpoint).unwrap_err();
        assert!(why.to_string().contains("does not answer"), "{why}");
        let _again = TcpListener::bind((endpoint.host_str().unwrap(), endpoint.port().unwrap())).unwrap();
        assert_eq!(services.present(&endpoint), Err(why), "remembered");
    }

    #[test]
    fn errors_about_json_do_not_quote_it() {
        #[derive(Debug, serde::Deserialize)]
        struct Number {
            #[allow(dead_code)]
            n: u32,
        }
        for text in [r#"{"n":"hunter2"}"#, r#"{"n":hunter2}"#, "hunter2"] {
            let said = no_json(&serde_json::from_str::<Number>(text).unwrap_err());
            assert!(!said.contains("hunter2") && said.contains("line 1"), "{said}");
        }
    }
}
