//! A short request and its answer.

use std::ops::Deref;

use ureq::http::{HeaderMap, Method, StatusCode};
use url::Url;

use super::explain::{WORDS, server_text};
use bumpwright_budget::Reservation;
use bumpwright_secret::Secret;
use bumpwright_text::Cuts;

/// The default limit of an answer, in bytes.
const LIMIT: usize = 8 << 20;

/// A request, with its body in memory.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: Vec<(&'static str, String)>,
    /// Headers for the original host only.
    pub(super) secret_headers: Vec<(&'static str, Secret)>,
    pub(super) body: Option<Secret>,
    pub(super) limit: usize,
    pub(super) repeatable: bool,
    pub(super) reconnects: bool,
    pub(super) redirects: bool,
    pub(super) named: Option<Url>,
}

impl Request {
    /// `GET`, which may be retried.
    #[must_use]
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    /// `HEAD`, which may be retried.
    #[must_use]
    pub fn head(url: Url) -> Self {
        Self::new(Method::HEAD, url)
    }

    /// `POST`; the body may hold secrets. It is sent once, see [`Request::repeatable`].
    #[must_use]
    pub fn post(url: Url, content_type: &str, body: impl Into<Secret>) -> Self {
        let mut request = Self::new(Method::POST, url).header("content-type", content_type);
        request.body = Some(body.into());
        request.repeatable = false;
        request
    }

    fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: Vec::new(),
            secret_headers: Vec::new(),
            body: None,
            limit: LIMIT,
            repeatable: true,
            reconnects: true,
            redirects: true,
            named: None,
        }
    }

    /// Marks the address as one from a server at `named`, an address of the settings: it is restricted like a redirect.
    #[must_use]
    pub fn redirected_from(mut self, named: Url) -> Self {
        self.named = Some(named);
        self
    }

    /// The address of the settings.
    pub(super) fn named(&self) -> &Url {
        self.named.as_ref().unwrap_or(&self.url)
    }

    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Another method, such as `PUT` or `PATCH`.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds a secret header, which is never sent to another host.
    #[must_use]
    pub fn secret_header(mut self, name: &'static str, value: impl Into<Secret>) -> Self {
        self.secret_headers.push((name, value.into()));
        self
    }

    /// Sets the `Authorization` header, as [`Request::secret_header`].
    #[must_use]
    pub fn authorization(self, value: impl Into<Secret>) -> Self {
        self.secret_header("authorization", value)
    }

    /// Sets the largest answer, in bytes.
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Marks the request as idempotent, so that it may be retried.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Does not retry after a broken connection.
    #[must_use]
    pub fn without_reconnecting(mut self) -> Self {
        self.reconnects = false;
        self
    }

    /// Returns a redirect as the answer.
    #[must_use]
    pub fn without_redirects(mut self) -> Self {
        self.redirects = false;
        self
    }
}

/// An answer of any status, read to its end.
#[derive(Debug)]
pub struct Answer {
    /// Its address, after redirects.
    pub url: Url,
    /// Whether the address comes from a redirect.
    pub redirected: bool,
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body; empty for `HEAD`.
    pub body: Vec<u8>,
    /// The memory of the body on the account of the tenant ([`super::Job::account`]). Who keeps the body for
    /// longer keeps this, too.
    pub held: Option<Reservation>,
}

/// The body of an answer, on the account of the tenant as long as it is kept.
#[derive(Debug)]
pub struct HeldBody {
    bytes: Vec<u8>,
    _held: Option<Reservation>,
}

impl HeldBody {
    /// The bytes, on no account any more.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Deref for HeldBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Answer {
    #[must_use]
    pub fn into_body(self) -> HeldBody {
        HeldBody {
            bytes: self.body,
            _held: self.held,
        }
    }

    /// A header's value, when it is ASCII text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The media type, in lower case and without parameters; may be empty.
    #[must_use]
    pub fn media_type(&self) -> String {
        let value = self.header("content-type");
        value.map_or_else(String::new, |value| value.before(';').trim().to_ascii_lowercase())
    }

    /// The server's text, cleaned for a message; empty for a web page.
    #[must_use]
    pub fn words(&self) -> String {
        if self.media_type() == "text/html" {
            String::new()
        } else {
            server_text(&self.body, WORDS)
        }
    }
}
