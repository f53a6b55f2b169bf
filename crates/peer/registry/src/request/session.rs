//! Requests about one repository, with authentication.

use ureq::http::{HeaderValue, Method, StatusCode};
use url::Url;

use super::connections::Connections;
use super::ping::Access;
use crate::auth::challenge::{Challenge, challenges, chosen};
use crate::auth::realm::Realm;
use crate::auth::token::{Token, TokenRequest, secrets};
use crate::refusal::{request, unanswered};
use crate::{Asker, ErrorResponse, Login, RegistryError};
use bumpwright_budget::Exceeded;
use bumpwright_http::{Answer, Client, Deadline, Incoming, NetError, Opened, Request, basic_header, scrubbed};
use bumpwright_policy::Reference;
use bumpwright_secret::Secret;

/// The longest scope that is requested for a server's challenge, in bytes.
const LONGEST_SCOPE: usize = 4 << 10;

#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) accept: Option<&'static str>,
    /// The largest answer, in bytes.
    pub(crate) limit: usize,
}

/// The function that sends a request.
type Sending<T> = fn(&Client, &Request, Deadline) -> Result<T, NetError>;

/// A series of requests about one repository.
pub(crate) struct Session<'a> {
    connections: &'a Connections,
    pub(crate) image: &'a Reference,
    login: &'a Login,
    deadline: Deadline,
    access: Access,
    /// `/v2/` of the registry.
    base: Url,
    realm: Option<Realm>,
    token: Option<Token>,
}

impl<'a> Session<'a> {
    /// Pings the registry, if that is not done yet.
    ///
    /// # Errors
    /// When the registry does not answer, or its challenge cannot be met.
    pub(crate) fn open(
        connections: &'a Connections,
        image: &'a Reference,
        login: &'a Login,
        deadline: Deadline,
    ) -> Result<Self, RegistryError> {
        let access = connections.access(image, deadline);
        let access = access.map_err(|error| connections.worded(error))?;
        let base = access.endpoint(image.registry(), "/v2/")?;
        let is_exchanged = !matches!(login, Login::RegistryToken(_));
        let bearer = access
            .challenge
            .as_ref()
            .filter(|challenge| challenge.is_bearer() && is_exchanged);
        let realm = bearer.map(|challenge| Realm::of(challenge, &base)).transpose()?;
        Ok(Self {
            connections,
            image,
            login,
            deadline,
            access,
            base,
            realm,
            token: None,
        })
    }

    /// Builds an address in the repository: `tags/list`, `manifests/1.0.0`.
    pub(crate) fn endpoint(&self, rest: &str) -> Result<Url, RegistryError> {
        let path = format!("/v2/{}/{rest}", self.image.repository());
        self.access.endpoint(self.image.registry(), &path)
    }

    /// Whether an address is on the registry itself, whatever its scheme: see [`Session::own`].
    pub(crate) fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    /// Gives an address on the registry's host the registry's scheme: registries behind a proxy often send a wrong one.
    pub(crate) fn own(&self, mut url: Url) -> Url {
        let (host, port) = (self.base.host(), self.base.port());
        if url.host() == host && url.port() == port {
            // Fails only for schemes other than the web's, which are refused later.
            let _ = url.set_scheme(self.base.scheme());
        }
        url
    }

    /// Sends a request, and returns its answer if it is a success.
    ///
    /// # Errors
    /// When no answer comes, no token for it is issued, or the answer is an error.
    pub(crate) fn fetch(&mut self, query: &Query) -> Result<Answer, RegistryError> {
        let answer = self.query(query)?;
        match answer.status {
            StatusCode::OK => Ok(answer),
            _ => Err(self.refused(&query.method, &answer)),
        }
    }

    /// Sends a request, and returns its answer with a body of any size if it is a success.
    #[expect(
        clippy::disallowed_methods,
        reason = "a layer of an image; bound: its size in the manifest, `--max-content-size`; account: disk space of fetches"
    )]
    pub(crate) fn open_body(&mut self, query: &Query) -> Result<(Answer, Incoming), RegistryError> {
        let Opened { answer, body } = self.authorized(query, Client::open, |opened| &opened.answer)?;
        match body {
            Some(body) => Ok((answer, body)),
            None => Err(self.refused(&query.method, &answer)),
        }
    }

    /// The error of an error response.
    pub(crate) fn refused(&self, method: &Method, answer: &Answer) -> RegistryError {
        self.telling(ErrorResponse::of(method, answer, &self.secrets()).into())
    }

    /// Tells the client of a refused login, and the error of whose it is.
    fn telling(&self, mut error: RegistryError) -> RegistryError {
        if let RegistryError::Refused(refusal) = &mut error {
            refusal.asker = Asker::from(self.login);
        }
        if error.refused().is_some() {
            self.connections.client().login_refused();
        }
        self.connections.worded(error)
    }

    /// Sends a request, and returns any answer.
    ///
    /// # Errors
    /// When no answer comes, or no token for it is issued.
    pub(crate) fn query(&mut self, query: &Query) -> Result<Answer, RegistryError> {
        self.authorized(query, Client::send, |answer| answer)
    }

    /// Sends a request with authentication. A refused token is renewed once. Only the registry itself gets a token, and
    /// only its challenges count.
    fn authorized<T>(
        &mut self,
        query: &Query,
        send: Sending<T>,
        answer: fn(&T) -> &Answer,
    ) -> Result<T, RegistryError> {
        let own = self.is_own(&query.url);
        let authorization = if own { self.authorization(None, &[])? } else { None };
        let first = self.send(query, authorization, send)?;
        let answered = answer(&first);
        if answered.status != StatusCode::UNAUTHORIZED || !own || !self.is_own(&answered.url) {
            return Ok(first);
        }
        match self.renewed(&challenges(&answered.headers))? {
            Some(authorization) => self.send(query, Some(authorization), send),
            None => Ok(first),
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "an answer of a registry; bound: manifests and referrers 4 MiB, configurations 8 MiB, pages of tags 64 MiB; account: memory of fetches"
    )]
    fn send<T>(&self, query: &Query, authorization: Option<Secret>, send: Sending<T>) -> Result<T, RegistryError> {
        let mut request = match query.method {
            Method::HEAD => Request::head(query.url.clone()),
            _ => Request::get(query.url.clone()),
        };
        if let Some(accept) = query.accept {
            request = request.header("accept", accept);
        }
        if let Some(authorization) = authorization {
            request = request.authorization(authorization);
        }
        // Pages and blobs may be at addresses of the registry's choice.
        let request = request.limit(query.limit).redirected_from(self.base.clone());
        let result = send(self.connections.client(), &request, self.deadline);
        if let Err(NetError::Broken { .. }) = result {
            // Its scheme or challenge may change.
            self.connections.forget(self.image.registry());
        }
        result.map_err(|error| unanswered(error, &query.url, &self.secrets()))
    }

    /// The authorization for a challenge in the middle of a session: tokens expire, and some registries demand a login
    /// or more scopes for some repositories only. None when nothing else can be tried.
    fn renewed(&mut self, wanted: &[Challenge]) -> Result<Option<Secret>, RegistryError> {
        let Some(challenge) = chosen(wanted) else {
            return Ok(None);
        };
        match (challenge.scheme.as_str(), self.login) {
            // It was sent already, and cannot be exchanged.
            (_, Login::RegistryToken(_)) => Ok(None),
            ("bearer", _) => {
                let realm = Realm::of(challenge, &self.base)?;
                let other = self.realm.as_ref() != Some(&realm);
                if other {
                    self.adopt(challenge, Some(realm));
                }
                let scopes = wanted.iter().filter_map(|challenge| challenge.parameter("scope"));
                let scopes: Vec<String> = scopes
                    .filter(|scope| scope.len() <= LONGEST_SCOPE)
                    .map(str::to_owned)
                    .collect();
                let refused = self.token.take();
                self.authorization(refused.as_ref(), &scopes)
            }
            ("basic", Login::Basic { .. }) if self.realm.is_some() => {
                self.adopt(challenge, None);
                self.authorization(None, &[])
            }
            _ => Ok(None),
        }
    }

    fn adopt(&mut self, challenge: &Challenge, realm: Option<Realm>) {
        self.access.challenge = Some(challenge.clone());
        self.realm = realm;
        self.connections.remember(self.image.registry(), self.access.clone());
    }

    fn authorization(&mut self, refused: Option<&Token>, more: &[String]) -> Result<Option<Secret>, RegistryError> {
        let bearer = |token: &Secret| Secret::new(format!("Bearer {}", token.expose()));
        let value = match (&self.realm, self.login) {
            (_, Login::RegistryToken(token)) => bearer(token),
            (Some(realm), login) => {
                let wanted = TokenRequest {
                    realm,
                    scope: &format!("repository:{}:pull", self.image.repository()),
                    login,
                    refused,
                    more,
                };
                let (tokens, client) = (self.connections.tokens(), self.connections.client());
                let token = tokens.get(client, &wanted, self.deadline);
                let token = token.map_err(|error| self.telling(error))?;
                let value = bearer(&token.text);
                self.token = Some(token);
                value
            }
            // Also without a challenge: some registries demand it for some repositories only.
            (None, Login::Basic { username, password }) => basic_header(username, password),
            (None, Login::Anonymous | Login::IdentityToken(_)) => return Ok(None),
        };
        match HeaderValue::from_str(value.expose()) {
            Ok(_) => Ok(Some(value)),
            Err(_) => Err(RegistryError::Login(self.image.registry().to_owned())),
        }
    }

    /// The error of a malformed answer.
    pub(crate) fn malformed(&self, method: &Method, answer: &Answer, detail: &str) -> RegistryError {
        RegistryError::Malformed {
            request: self.request(method, answer),
            detail: self.scrubbed(detail),
        }
    }

    /// The error of what the account of the job has no memory for.
    pub(crate) fn no_memory(&self, url: &Url, exceeded: Exceeded) -> RegistryError {
        NetError::no_memory(url, exceeded)
            .reworded(|text| self.scrubbed(text))
            .into()
    }

    /// Method and address of a request.
    pub(crate) fn request(&self, method: &Method, answer: &Answer) -> String {
        request(method, answer, &self.secrets())
    }

    /// Removes the secrets sent to a server from a text that it influenced, for messages.
    pub(crate) fn scrubbed(&self, text: &str) -> String {
        scrubbed(text, &self.secrets())
    }

    /// The secrets sent to the registry.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let mut values = secrets(self.login);
        values.extend(self.token.as_ref().map(|token| token.text.clone()));
        if let Login::Basic { username, password } = self.login {
            let header = basic_header(username, password);
            values.extend(header.expose().strip_prefix("Basic ").map(Secret::from));
        }
        values
    }
}
