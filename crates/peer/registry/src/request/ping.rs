//! The first request to a registry: `GET /v2/`. It determines the scheme and the challenge.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use ureq::http::Method;
use url::Url;

use super::address::{Scheme, endpoint};
use crate::auth::challenge::{Challenge, challenges, chosen};
use crate::{ErrorResponse, RegistryError};
use bumpwright_http::{Answer, Client, Deadline, Job, NetError, Request};

/// How long a local registry has for an answer over TLS before plain HTTP is tried too.
const HEAD_START: Duration = Duration::from_millis(300);

/// The largest answer, in bytes; it is not read.
const LIMIT: usize = 1 << 20;

/// Scheme and challenge of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// With TLS or not, after redirects.
    pub(crate) scheme: Scheme,
    /// Its challenge, if any.
    pub(crate) challenge: Option<Challenge>,
}

impl Access {
    /// Builds the address of a path.
    pub(crate) fn endpoint(&self, registry: &str, path: &str) -> Result<Url, RegistryError> {
        endpoint(self.scheme, registry, path)
    }
}

/// Sends the request over TLS. A local or insecure registry may also answer in plain HTTP, when it does not speak
/// TLS or is slow.
///
/// # Errors
/// When no answer comes, or it is neither a success nor a challenge.
pub(crate) fn ping(
    client: &Arc<Client>,
    registry: &str,
    local: bool,
    deadline: Deadline,
) -> Result<Access, RegistryError> {
    if local {
        race(client, registry, deadline)
    } else {
        probe(
            client,
            Request::get(endpoint(Scheme::Https, registry, "/v2/")?),
            deadline,
        )
    }
}

/// As `net/http` chooses an address family: the second attempt starts when the first one fails or is slow, and
/// the first usable answer counts.
fn race(client: &Arc<Client>, registry: &str, deadline: Deadline) -> Result<Access, RegistryError> {
    let secure = Request::get(endpoint(Scheme::Https, registry, "/v2/")?).without_reconnecting();
    let plain = Request::get(endpoint(Scheme::Http, registry, "/v2/")?);
    let (sender, result) = mpsc::channel();
    let racer = Arc::clone(client);
    // It ends with the deadline. The receiver may be gone by then.
    let job = Job::current_or_new();
    let started = thread::Builder::new().spawn(move || job.run(|| sender.send(probe(&racer, secure, deadline))));
    let late = || NetError::Timeout {
        url: format!("https://{registry}/v2/"),
        limit: deadline.limit(),
    };
    let failed = match started.map(|_| result.recv_timeout(HEAD_START.min(deadline.left()))) {
        Ok(Ok(Ok(access))) => return Ok(access),
        Ok(Ok(Err(error))) => Some(error),
        _ => None,
    };
    let http = match probe(client, plain, deadline) {
        Ok(access) => return Ok(access),
        Err(error) => error,
    };
    let https = match failed {
        Some(error) => error,
        None => match result.recv_timeout(deadline.left()) {
            Ok(Ok(access)) => return Ok(access),
            Ok(Err(error)) => error,
            Err(_) => late().into(),
        },
    };
    Err(RegistryError::Unreachable {
        https: Box::new(https),
        http: Box::new(http),
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "an answer to a registry's ping; bound: 1 MiB; account: memory of fetches"
)]
fn probe(client: &Client, request: Request, deadline: Deadline) -> Result<Access, RegistryError> {
    let answer = client.send(&request.limit(LIMIT), deadline)?;
    match answer.status.as_u16() {
        200 | 401 => Ok(access(&answer)),
        _ => Err(ErrorResponse::of(&Method::GET, &answer, &[]).into()),
    }
}

fn access(answer: &Answer) -> Access {
    let wanted = challenges(&answer.headers);
    Access {
        scheme: Scheme::of(&answer.url),
        challenge: chosen(&wanted).filter(|_| answer.status == 401).cloned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Instant;

    use super::*;
    use bumpwright_http::{Peer, RetryPolicy};

    /// Answers in plain HTTP; to TLS clients it does not answer, or closes the connection.
    fn plain_server(silent: bool) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut start = [0; 1];
                let _ = stream.read(&mut start);
                match start {
                    [b'G'] => {
                        let answer = "HTTP/1.1 401 Test\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n";
                        stream.write_all(answer.as_bytes()).unwrap();
                    }
                    _ if silent => {
                        thread::spawn(move || {
                            thread::sleep(Duration::from_secs(30));
                            drop(stream);
                        });
                    }
                    _ => drop(stream),
                }
            }
        });
        address
    }

    fn pinged(registry: &str, local: bool) -> Result<Access, RegistryError> {
        let once = RetryPolicy {
            tries: 1,
            ..RetryPolicy::default()
        };
        let client = Arc::new(Client::new(Peer::default(), once));
        ping(&client, registry, local, Deadline::after(Duration::from_secs(3)))
    }

    #[test]
    fn a_local_registry_may_speak_plain_http() {
        for silent in [false, true] {
            let start = Instant::now();
            let access = pinged(&plain_server(silent), true).unwrap();
            assert_eq!(
                (access.scheme, access.challenge.unwrap().scheme.as_str()),
                (Scheme::Http, "basic")
            );
            assert!(start.elapsed() < Duration::from_secs(2), "{silent}");
        }
    }

    #[test]
    fn no_other_registry_may() {
        let error = pinged(&plain_server(false), false).unwrap_err().to_string();
        assert!(
            error.starts_with("https://") && error.contains("the connection failed: "),
            "{error}"
        );
    }

    #[test]
    fn both_ways_are_told_when_neither_works() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let start = Instant::now();
        let error = pinged(&address, true).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("https://{address}/v2/: the connection failed: ")),
            "{error}"
        );
        assert!(
            error.contains(&format!("; http://{address}/v2/: the connection failed: ")),
            "{error}"
        );
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}
