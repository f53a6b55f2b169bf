//! Smart HTTP (`man gitprotocol-http`): one agent for each remote, streamed answers, redirects by hand.

use std::io::{BufRead, Cursor, Read};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ureq::http::{HeaderValue, Request, Response, StatusCode};
use ureq::{Agent, Body};
use url::Url;

use super::http_answer::{Answer, DRAIN, skip_service_line};
use super::http_error::failed;
use super::remote::{Auth, Remote};
use crate::user::authorization;
use crate::user::credential::{self, Credential};
use crate::{Connection, Protocol, Service, Transport, TransportError};
use bumpwright_http::{
    AgentError, Agents, Deadline, Fetched, Login, WORDS, bare, basic_header, gone, location, server_text, trusted,
};
use bumpwright_secret::Secret;

const REDIRECTS: usize = 5;

/// A repository behind `http://` or `https://`.
pub(crate) struct HttpTransport(Arc<Http>);

struct Http {
    remote: Remote,
    /// Without user information and trailing slash.
    base: Url,
    agents: Agents,
    memory: Mutex<ServerFacts>,
}

/// Facts learnt from the server that save later requests.
#[derive(Default)]
struct ServerFacts {
    /// Where the last advertisement was redirected to.
    moved: Option<Url>,
    /// A login of a credential helper that the server accepted, and its origin.
    login: Option<(url::Origin, Credential)>,
}

impl HttpTransport {
    /// # Errors
    /// [`TransportError::Config`] for credentials of SSH, unreadable certificates, an unusable proxy.
    pub(crate) fn new(remote: &Remote, base: &Url) -> Result<Self, TransportError> {
        if matches!(remote.auth, Auth::SshKey { .. }) {
            let detail = "an SSH key is of no use over HTTP; give a user name and password, or a token".to_owned();
            return Err(TransportError::Config {
                url: remote.url.to_string(),
                detail,
            });
        }
        let http = Http {
            remote: remote.clone(),
            base: base.clone(),
            agents: Agents::new(remote.peer()),
            memory: Mutex::default(),
        };
        http.agent(base, Deadline::after(remote.timeout))?;
        Ok(Self(Arc::new(http)))
    }
}

impl Transport for HttpTransport {
    fn connect(&self, service: Service, protocol: Protocol) -> Result<Box<dyn Connection>, TransportError> {
        let deadline = Deadline::after(self.0.remote.timeout);
        Ok(Box::new(HttpConnection {
            http: Arc::clone(&self.0),
            service,
            protocol,
            deadline,
        }))
    }

    fn timeout(&self) -> Duration {
        self.0.remote.timeout
    }
}

struct HttpConnection {
    http: Arc<Http>,
    service: Service,
    protocol: Protocol,
    deadline: Deadline,
}

impl Connection for HttpConnection {
    fn stateless(&self) -> bool {
        true
    }

    fn advertisement(&mut self) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        let mut answer = self.discover()?;
        let head = skip_service_line(&mut answer).map_err(|e| TransportError::from_stream(&self.http.shown(), e))?;
        Ok(Box::new(Cursor::new(head).chain(answer)))
    }

    fn request(&mut self, body: &[u8]) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        let mut base = self.http.memory.lock().moved.clone();
        for _ in 0..2 {
            let target = self.url(base.as_ref().unwrap_or(&self.http.base), None);
            let response = self.send(&target, Some(body))?;
            if location(&target, &response).is_none() {
                let answer = self.accept(response, &format!("application/x-{}-result", self.service.name()))?;
                return Ok(Box::new(answer));
            }
            // As git: only the advertisement is redirected when a repository moves. A caller that skipped
            // it requests it now.
            drop(self.discover()?);
            base.clone_from(&self.http.memory.lock().moved);
        }
        Err(self
            .http
            .connect_error("the server redirects requests, but not the advertisement"))
    }

    fn finish(self: Box<Self>) -> Result<(), TransportError> {
        Ok(())
    }
}

impl HttpConnection {
    fn url(&self, base: &Url, query: Option<&str>) -> Url {
        let mut url = base.clone();
        let path = base.path().trim_end_matches('/');
        match query {
            Some(query) => {
                url.set_path(&format!("{path}/info/refs"));
                url.set_query(Some(query));
            }
            None => url.set_path(&format!("{path}/{}", self.service.name())),
        }
        url
    }

    /// Requests the advertisement at the address as given, and remembers its redirect.
    fn discover(&self) -> Result<Answer, TransportError> {
        let query = format!("service={}", self.service.name());
        let mut target = self.url(&self.http.base, Some(&query));
        for _ in 0..=REDIRECTS {
            let response = self.send(&target, None)?;
            let Some(next) = location(&target, &response) else {
                let answer = self.accept(
                    response,
                    &format!("application/x-{}-advertisement", self.service.name()),
                )?;
                self.http.memory.lock().moved = self.http.moved_base(&target, &query)?;
                return Ok(answer);
            };
            target = self.http.follow(&target, &next)?;
        }
        Err(self
            .http
            .connect_error(&format!("more than {REDIRECTS} redirects, the last one to {target}")))
    }

    /// Sends one request, with credentials; uses the user's helpers when that is allowed and needed.
    fn send(&self, target: &Url, body: Option<&[u8]>) -> Result<Response<Body>, TransportError> {
        if let Auth::Fetched(source) = &self.http.remote.auth
            && trusted(&self.http.base, target)
        {
            return self.send_fetched(source, target, body);
        }
        let login = self.http.login_for(target);
        let header = login.as_ref().map(basic).or_else(|| self.http.own_header(target));
        let response = self.send_once(target, body, header.as_ref())?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        if let Some(token) = self.http.token_in_url(target) {
            drain(response);
            return self.send_once(target, body, Some(&token));
        }
        if !matches!(self.http.remote.auth, Auth::User) {
            return Ok(response);
        }
        if let Some(stale) = &login {
            stale.reject(self.deadline);
            self.http.memory.lock().login = None;
        }
        let user = self.http.remote.url.user().filter(|_| trusted(&self.http.base, target));
        let Some(found) = credential::fill(&self.repository(target), user, self.deadline) else {
            return Ok(response);
        };
        drain(response);
        let response = self.send_once(target, body, Some(&basic(&found)))?;
        if response.status() == StatusCode::UNAUTHORIZED {
            found.reject(self.deadline);
        } else {
            found.approve(self.deadline);
            self.http.memory.lock().login = Some((target.origin(), found));
        }
        Ok(response)
    }

    /// Sends one request with a valid login. A login that the server refuses may have been revoked, or have expired by
    /// the server's clock: the request had no effect, so it is sent once more with a new one.
    fn send_fetched(
        &self,
        source: &Fetched,
        target: &Url,
        body: Option<&[u8]>,
    ) -> Result<Response<Body>, TransportError> {
        let first = self.fetched(source, None)?;
        let response = self.send_once(target, body, Some(&first.header()))?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let fresh = self.fetched(source, Some(&first))?;
        if fresh == first {
            return Ok(response);
        }
        drain(response);
        self.send_once(target, body, Some(&fresh.header()))
    }

    fn fetched(&self, source: &Fetched, refused: Option<&Login>) -> Result<Login, TransportError> {
        source.login(refused, self.deadline).map_err(|why| {
            let detail = match refused {
                Some(_) => format!("the server refused the cached login, and there is no other: {why}"),
                None => why.to_string(),
            };
            let url = self.http.shown();
            TransportError::Credentials { url, detail }
        })
    }

    /// The repository of a request's address, for helpers that distinguish repositories of a host.
    fn repository(&self, target: &Url) -> Url {
        let mut url = target.clone();
        let path = target.path();
        let path = path
            .strip_suffix("/info/refs")
            .or_else(|| path.strip_suffix(self.service.name()));
        url.set_path(path.map_or(target.path(), |path| path.trim_end_matches('/')));
        url
    }

    /// The server may just have closed a kept connection: a request without side effects is sent once more.
    fn send_once(
        &self,
        url: &Url,
        body: Option<&[u8]>,
        login: Option<&Secret>,
    ) -> Result<Response<Body>, TransportError> {
        let first = self.transmit(url, body, login)?;
        let repeatable = body.is_none() || self.service == Service::UploadPack;
        let result = match first {
            Err(ureq::Error::Io(e)) if repeatable && gone(&e) => self.transmit(url, body, login)?,
            other => other,
        };
        result.map_err(|e| failed(&self.http.shown(), e, self.deadline))
    }

    fn transmit(
        &self,
        url: &Url,
        body: Option<&[u8]>,
        login: Option<&Secret>,
    ) -> Result<Result<Response<Body>, ureq::Error>, TransportError> {
        let agent = self.http.agent(url, self.deadline)?;
        let left = self.deadline.left();
        if left.is_zero() {
            return Err(TransportError::timeout(&self.http.shown(), self.deadline));
        }
        let head = self.head(url, body.is_some(), login);
        Ok(match (head, body) {
            (Err(e), _) => Err(e.into()),
            (Ok(head), Some(body)) => {
                let request = head.map(|()| body);
                agent.run(agent.configure_request(request).timeout_global(Some(left)).build())
            }
            // The agent's own limit is the same, and without own settings of the request it keeps its TLS setup.
            (Ok(head), None) if self.deadline.is_fresh() => agent.run(head),
            (Ok(head), None) => agent.run(agent.configure_request(head).timeout_global(Some(left)).build()),
        })
    }

    fn head(&self, url: &Url, body: bool, login: Option<&Secret>) -> Result<Request<()>, ureq::http::Error> {
        let mut head = Request::builder().uri(url.as_str()).header("Pragma", "no-cache");
        if self.protocol == Protocol::V2 {
            head = head.header("Git-Protocol", "version=2");
        }
        if body {
            let name = self.service.name();
            head = head
                .method("POST")
                .header("Content-Type", format!("application/x-{name}-request"));
            head = head.header("Accept", format!("application/x-{name}-result"));
        }
        if let Some(login) = login {
            let mut value = HeaderValue::from_str(login.expose())?;
            value.set_sensitive(true);
            head = head.header("Authorization", value);
        }
        head.body(())
    }

    /// Accepts a successful answer of the wanted content type; anything else becomes an error with the server's words.
    #[expect(
        clippy::disallowed_methods,
        reason = "an answer of Git over HTTP; bound: packets of 64 KiB, the timeout; account: lists and packs on that of fetches"
    )]
    fn accept(&self, response: Response<Body>, wanted: &str) -> Result<Answer, TransportError> {
        let url = self.http.shown();
        let status = response.status();
        let kind = content_type(&response);
        if status == StatusCode::OK && kind == wanted {
            return Ok(Answer::new(response.into_body().into_reader(), url, self.deadline));
        }
        if status == StatusCode::OK {
            let detail = format!(
                "not a smart HTTP Git server: the answer is `{kind}`, not `{wanted}`; is the address that of a web page \
                 or of a login?"
            );
            return Err(TransportError::Remote { url, detail });
        }
        let reason = status.canonical_reason().unwrap_or("no reason given");
        let words = if kind == "text/html" {
            String::new()
        } else {
            words(response)
        };
        let detail = if words.is_empty() { reason.to_owned() } else { words };
        Err(match status.as_u16() {
            401 => {
                let hint = self.http.remote.login_hint();
                TransportError::Unauthorized { url, detail, hint }
            }
            403 => TransportError::Forbidden { url, detail },
            404 => TransportError::NotFound { url, detail },
            status => TransportError::Status { url, status, detail },
        })
    }
}

impl Http {
    fn shown(&self) -> String {
        self.remote.url.to_string()
    }

    /// The agent for the repository's address, and for addresses that its server redirects to.
    fn agent(&self, target: &Url, deadline: Deadline) -> Result<Agent, TransportError> {
        self.agents
            .redirected(&self.base, target, deadline)
            .map_err(|why| match why {
                AgentError::Settings(error) => TransportError::Config {
                    url: self.shown(),
                    detail: error.to_string(),
                },
                AgentError::PrivateAddress(inside) => self.connect_error(&inside.to_string()),
            })
    }

    /// The header for configured credentials, if they may be sent to `target`: never to another host or from https
    /// to http.
    fn own_header(&self, target: &Url) -> Option<Secret> {
        if !trusted(&self.base, target) {
            return None;
        }
        let url = &self.remote.url;
        match (&self.remote.auth, url.user(), url.password()) {
            (Auth::Basic { username, password }, ..) => Some(basic_header(username, password)),
            (Auth::Bearer { token }, ..) => Some(Secret::new(format!("Bearer {}", token.expose()))),
            (_, Some(user), Some(password)) => Some(basic_header(user, password)),
            (Auth::User, None, None) => authorization(target),
            _ => None,
        }
    }

    /// The header for an address like `https://TOKEN@host/…`: a name without a password, which is only sent after a
    /// 401, because public repositories refuse unknown names.
    fn token_in_url(&self, target: &Url) -> Option<Secret> {
        let url = &self.remote.url;
        match (&self.remote.auth, url.user(), url.password()) {
            (Auth::None, Some(token), None) if trusted(&self.base, target) => {
                Some(basic_header(token, &Secret::default()))
            }
            _ => None,
        }
    }

    /// The login that a helper returned before for this origin.
    fn login_for(&self, target: &Url) -> Option<Credential> {
        self.memory
            .lock()
            .login
            .as_ref()
            .filter(|(origin, _)| *origin == target.origin())
            .map(|(_, login)| login.clone())
    }

    fn follow(&self, from: &Url, next: &Url) -> Result<Url, TransportError> {
        match (from.scheme(), next.scheme()) {
            ("https", "http") => {
                Err(self.connect_error(&format!("refused to follow a redirect from https to {}", bare(next))))
            }
            (_, "http" | "https") => Ok(bare(next)),
            _ => Err(self.connect_error(&format!("refused to follow a redirect to {}", bare(next)))),
        }
    }

    /// The repository's address after a redirected advertisement; none without a redirect.
    fn moved_base(&self, target: &Url, query: &str) -> Result<Option<Url>, TransportError> {
        let path = target
            .path()
            .strip_suffix("/info/refs")
            .filter(|_| target.query() == Some(query));
        let Some(path) = path else {
            return Err(self.connect_error(&format!(
                "redirected to {target}, which is not an address of a Git service"
            )));
        };
        let mut base = target.clone();
        base.set_query(None);
        base.set_path(path);
        Ok((base != self.base).then_some(base))
    }

    fn connect_error(&self, detail: &str) -> TransportError {
        TransportError::Connect {
            url: self.shown(),
            detail: detail.to_owned(),
        }
    }
}

fn basic(login: &Credential) -> Secret {
    basic_header(&login.username, &login.password)
}

fn content_type(response: &Response<Body>) -> String {
    let value = response
        .headers()
        .get("content-type")
        .and_then(|v| v.to_str().ok())
        .unwrap_or("nothing");
    value.split(';').next().unwrap_or(value).trim().to_ascii_lowercase()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the text of a refusal of Git over HTTP; bound: 16 KiB; account: none, one for each request"
)]
fn words(response: Response<Body>) -> String {
    let mut body = Vec::new();
    // The status is the message; its text may be missing.
    let _ = response.into_body().into_reader().take(DRAIN).read_to_end(&mut body);
    match in_packets(&body) {
        Some(error) if error.trim_ascii_end().ends_with(b" unavailable") => {
            // Gerrit does not tell these apart.
            let why = "there is no such project, or the account may not read it";
            format!("{} ({why})", server_text(error, WORDS).trim_end())
        }
        Some(error) => server_text(error, WORDS),
        None => server_text(&body, WORDS),
    }
}

/// The error of an answer in the packets of Git's protocol, as Gerrit sends it with a status of HTTP.
fn in_packets(body: &[u8]) -> Option<&[u8]> {
    let mut rest = body;
    while let Some((length, after)) = rest.split_at_checked(4) {
        let length = usize::from_str_radix(std::str::from_utf8(length).ok()?, 16).ok()?;
        let (data, next) = after.split_at_checked(length.saturating_sub(4))?;
        if let Some(error) = data.strip_prefix(b"ERR ") {
            return Some(error);
        }
        rest = next;
    }
    None
}

fn drain(response: Response<Body>) {
    words(response);
}
