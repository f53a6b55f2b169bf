//! Requests to one peer: short ones, and those with streamed answers.

use std::time::Duration;

use ureq::http::{self, HeaderValue, Method, Response, StatusCode};
use ureq::{Agent, Body};
use url::Url;

use super::agent::Peer;
use super::agents::{AgentError, Agents, redirected_inside};
use super::error::shown;
use super::explain::gone;
use super::retry_policy::{RetryPolicy, asked, means_later};
use super::web::leads_inside;
use super::whole::read_whole;
use super::{Answer, Deadline, Job, NetError, Opened, Request, Sent, Streamed, bare, location, trusted};

/// How many redirects are followed, as by Go's client.
const REDIRECTS: usize = 10;

/// Bytes of an error's body that are read.
const ERROR_BODY: usize = 64 << 10;

/// Sends requests to servers that share trust, proxy and limits; connections are reused. Its calls block.
#[derive(Debug)]
pub struct Client {
    agents: Agents,
    retry_policy: RetryPolicy,
    sent: Sent,
}

impl Client {
    /// Creates a client. Nothing is connected yet, and certificates are read on demand.
    #[must_use]
    pub fn new(peer: Peer, retry_policy: RetryPolicy) -> Self {
        Self {
            agents: Agents::new(peer),
            retry_policy,
            sent: Sent::default(),
        }
    }

    /// The same, with a hook for each sent request, including redirects and retries.
    #[must_use]
    pub fn telling(self, sent: Sent) -> Self {
        Self { sent, ..self }
    }

    /// Tells the hook that a login was refused, which only its caller knows: a 401 may ask for one.
    pub fn login_refused(&self) {
        self.sent.refused();
    }

    #[must_use]
    pub fn peer(&self) -> &Peer {
        self.agents.peer()
    }

    /// Sends a request and reads its answer, whatever its status; follows redirects of `GET` and `HEAD`, and on
    /// its own host those of repeatable requests with a body; retries repeatable requests when the server
    /// demands it or the connection breaks.
    ///
    /// # Errors
    /// [`NetError`] when no answer comes within the deadline, or one that is too large.
    pub fn send(&self, request: &Request, deadline: Deadline) -> Result<Answer, NetError> {
        let once = || {
            self.follow(request, deadline, Some(self.peer().timeout))?
                .read(request.limit)
        };
        self.patiently(request, deadline, once, |answer| answer)
    }

    /// As [`Client::send`], but the body of a success (200) is a stream of any size; the request's own limit
    /// applies to the bodies of other answers. The deadline applies to the stream, the peer's time limit does not.
    ///
    /// # Errors
    /// As [`Client::send`], until the body begins.
    pub fn open(&self, request: &Request, deadline: Deadline) -> Result<Opened, NetError> {
        self.opened(request, deadline, None)
    }

    /// As [`Client::open`], for a body of the request's limit at most, within the peer's time limit. The inner error is
    /// an answer that is not a success.
    pub fn stream(&self, request: &Request, deadline: Deadline) -> Result<Result<Streamed, Answer>, NetError> {
        let Opened { answer, body } = self.opened(request, deadline, Some(self.peer().timeout))?;
        Ok(match body {
            Some(body) => Ok(Streamed::new(answer.headers, body, request.limit)),
            None => Err(answer),
        })
    }

    fn opened(&self, request: &Request, deadline: Deadline, most: Option<Duration>) -> Result<Opened, NetError> {
        let once = || {
            let followed = self.follow(request, deadline, most)?;
            Ok(match followed.response.status() {
                StatusCode::OK => Opened::of(followed.response, followed.url, followed.redirected, followed.deadline),
                _ => Opened::refused(followed.read(request.limit)?),
            })
        };
        self.patiently(request, deadline, once, |opened: &Opened| &opened.answer)
    }

    fn patiently<T>(
        &self,
        request: &Request,
        deadline: Deadline,
        once: impl Fn() -> Result<T, NetError>,
        answer: impl Fn(&T) -> &Answer,
    ) -> Result<T, NetError> {
        let mut next = 2;
        loop {
            let result = once();
            let wait = match &result {
                Ok(found) if means_later(answer(found).status) => asked(answer(found)),
                Err(error) if error.is_passing() && request.reconnects => None,
                _ => return result,
            };
            let pause = self.retry_policy.pause(next, wait).filter(|_| request.repeatable);
            match pause {
                Some(pause) if pause < deadline.left() => Job::pause(pause),
                _ => return result,
            }
            next += 1;
        }
    }

    /// Follows redirects and returns the last answer. One request takes `most` at most.
    fn follow(
        &self,
        request: &Request,
        deadline: Deadline,
        most: Option<Duration>,
    ) -> Result<FollowedResponse, NetError> {
        let mut target = bare(&request.url);
        for redirects in 0..=REDIRECTS {
            let deadline = most.map_or(deadline, |most| deadline.within(most));
            let response = self.send_once(request, &target, deadline)?;
            match location(&target, &response).filter(|next| follows(request, response.status(), next)) {
                None => {
                    return Ok(FollowedResponse {
                        response,
                        url: target,
                        redirected: redirects > 0,
                        deadline,
                    });
                }
                Some(next) => target = allowed(&target, &next)?,
            }
        }
        Err(NetError::Redirect {
            url: shown(&request.url),
            detail: format!("more than {REDIRECTS} redirects, the last one to {}", shown(&target)),
        })
    }

    /// The server may just have closed a kept connection: a repeatable request is sent once more.
    fn send_once(&self, request: &Request, target: &Url, deadline: Deadline) -> Result<Response<Body>, NetError> {
        let result = match self.transmit(request, target, deadline)? {
            Err(ureq::Error::Io(e)) if request.repeatable && request.reconnects && gone(&e) => {
                self.transmit(request, target, deadline)?
            }
            other => other,
        };
        result.map_err(|error| match redirected_inside(&error) {
            Some(inside) => NetError::Redirect {
                url: shown(request.named()),
                detail: inside.to_string(),
            },
            None => NetError::of(error, target, deadline),
        })
    }

    fn transmit(
        &self,
        request: &Request,
        target: &Url,
        deadline: Deadline,
    ) -> Result<Result<Response<Body>, ureq::Error>, NetError> {
        let agent = self.agent(request.named(), target, deadline)?;
        let left = deadline.left();
        if left.is_zero() {
            return Err(NetError::Timeout {
                url: shown(target),
                limit: deadline.limit(),
            });
        }
        let head = match head(request, target) {
            Ok(head) => head,
            Err(e) => return Ok(Err(e.into())),
        };
        self.sent.notify();
        Ok(match &request.body {
            Some(body) => {
                let request = head.map(|()| body.expose().as_bytes());
                agent.run(agent.configure_request(request).timeout_global(Some(left)).build())
            }
            None => agent.run(agent.configure_request(head).timeout_global(Some(left)).build()),
        })
    }

    fn agent(&self, named: &Url, target: &Url, deadline: Deadline) -> Result<Agent, NetError> {
        self.agents
            .redirected(named, target, deadline)
            .map_err(|why| match why {
                AgentError::Settings(error) => NetError::Config {
                    url: shown(target),
                    detail: error.to_string(),
                },
                AgentError::PrivateAddress(inside) => NetError::Redirect {
                    url: shown(named),
                    detail: inside.to_string(),
                },
            })
    }
}

fn head(request: &Request, target: &Url) -> Result<http::Request<()>, http::Error> {
    let mut head = http::Request::builder()
        .method(request.method.clone())
        .uri(target.as_str());
    for (name, value) in &request.headers {
        head = head.header(*name, value);
    }
    if trusted(&request.url, target) {
        for (name, value) in &request.secret_headers {
            let mut value = HeaderValue::from_str(value.expose())?;
            value.set_sensitive(true);
            head = head.header(*name, value);
        }
    }
    head.body(())
}

/// Whether a request follows a redirect. One with a body does so only when the redirect keeps the method, the request
/// is repeatable, and the host is the same: the body may hold secrets.
fn follows(request: &Request, status: StatusCode, next: &Url) -> bool {
    if !request.redirects {
        return false;
    }
    match request.body {
        None => matches!(request.method, Method::GET | Method::HEAD),
        Some(_) => request.repeatable && matches!(status.as_u16(), 307 | 308) && trusted(&request.url, next),
    }
}

/// The target of a redirect, if it may be followed: never from https to http, and never to a private address of another
/// host, against hostile servers. Names are judged by [`Agents::redirected`].
fn allowed(from: &Url, next: &Url) -> Result<Url, NetError> {
    let refused = |why| {
        Err(NetError::Redirect {
            url: shown(from),
            detail: format!("refused to follow a redirect to {}{why}", shown(next)),
        })
    };
    match (from.scheme(), next.scheme()) {
        _ if leads_inside(from.host(), next) => refused(", a private or link-local address"),
        ("http", "http") | (_, "https") => Ok(bare(next)),
        _ => refused(""),
    }
}

/// The answer after redirects.
struct FollowedResponse {
    response: Response<Body>,
    url: Url,
    redirected: bool,
    deadline: Deadline,
}

impl FollowedResponse {
    #[expect(
        clippy::disallowed_methods,
        reason = "an answer of HTTP, unpacked; bound: 8 MiB or what its request says, 64 KiB of an error; account: memory of fetches"
    )]
    fn read(self, limit: usize) -> Result<Answer, NetError> {
        let (head, body) = self.response.into_parts();
        let most = if head.status.is_client_error() || head.status.is_server_error() {
            limit.min(ERROR_BODY)
        } else {
            limit.saturating_add(1)
        };
        let read = read_whole(&mut body.into_reader(), most, &Job::account());
        let (bytes, held) = read.map_err(|error| error.at(&self.url, self.deadline))?;
        if bytes.len() > limit {
            return Err(NetError::TooLarge {
                url: shown(&self.url),
                limit,
            });
        }
        Ok(Answer {
            url: self.url,
            redirected: self.redirected,
            status: head.status,
            headers: head.headers,
            body: bytes,
            held: Some(held),
        })
    }
}
