//! Azure Blob Storage (Blob service REST API: *List Blobs*, *Get Blob*; azblob).

use std::time::SystemTime;

use url::Url;

use super::azure_list;
use super::azure_login::Login;
use super::object::{Object, Page};
use super::{BucketError, Contents, ObjectError, Settings};
use bumpwright_cloud::aws_sigv4::escaped;
use bumpwright_cloud::xml;
use bumpwright_gostd::{HTTP_DATE, Time};
use bumpwright_http::{Answer, Client, Deadline, Request, RetryPolicy, scrubbed, shown};
use bumpwright_secret::Secret;
use bumpwright_text::Excerpt;

/// The API version: names with characters that XML cannot have are escaped since an older one.
const VERSION: &str = "2023-11-03";

/// The largest page of a list, in bytes: 5000 names of 1 KiB, escaped, with their properties.
const PAGE: usize = 48 << 20;

/// The meaning of a refusal with a container's own signature (source-controller, `azure.BucketExists`).
const PERHAPS: &str = "the specified bucket name may be incorrect, nonexistent, or the caller might lack sufficient permissions \
    to access it";

#[derive(Debug)]
pub(super) struct Azure {
    client: Client,
    /// Without the query, which may be a signature.
    endpoint: Url,
    /// The endpoint's own query.
    query: Secret,
    container: String,
    login: Login,
}

/// A signed request, and its secrets, which errors must not contain.
struct SignedRequest {
    request: Request,
    secrets: Vec<Secret>,
}

impl Azure {
    pub(super) fn open(settings: &Settings) -> Result<Self, BucketError> {
        let wrong = |detail: String| BucketError::Settings(format!("spec.endpoint cannot be used: {detail}"));
        let mut endpoint = Url::parse(&settings.endpoint).map_err(|e| wrong(e.to_string()))?;
        if !matches!(endpoint.scheme(), "http" | "https") {
            return Err(wrong("give https://account.blob.core.windows.net".to_owned()));
        }
        let login = Login::of(settings, &endpoint)?;
        let own = endpoint.query().unwrap_or_default().to_owned();
        endpoint.set_query(None);
        endpoint.set_fragment(None);
        Ok(Self {
            client: Client::new(settings.peer.clone(), RetryPolicy::default()),
            query: login.query().cloned().unwrap_or_else(|| Secret::new(own)),
            endpoint,
            container: settings.bucket.clone(),
            login,
        })
    }

    pub(super) fn exists(&self, deadline: Deadline) -> Result<bool, ObjectError> {
        let query = [("comp", "list"), ("maxresults", "1"), ("restype", "container")];
        match self.send(&query, deadline) {
            Ok(_) => Ok(true),
            Err(ObjectError::Refused { code, .. }) if code == "ContainerNotFound" => Ok(false),
            Err(ObjectError::Refused { code, status, text }) if code == "AuthenticationFailed" => {
                Err(ObjectError::Refused {
                    text: format!("{PERHAPS}: {text}"),
                    code,
                    status,
                })
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn page(&self, prefix: &str, from: Option<&str>, deadline: Deadline) -> Result<Page, ObjectError> {
        let mut query = vec![("comp", "list")];
        query.extend(from.map(|from| ("marker", from)));
        query.extend(Some(("prefix", prefix)).filter(|_| !prefix.is_empty()));
        query.push(("restype", "container"));
        let answer = self.send(&query, deadline)?;
        let unusable = |detail| ObjectError::answer(shown(&answer.url), detail);
        let document = std::str::from_utf8(&answer.body).map_err(|_| unusable("it is not UTF-8"))?;
        azure_list::page(document).map_err(unusable)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "an object of Azure Blob Storage; bound: what is left of `--max-content-size`; account: disk space of fetches"
    )]
    pub(super) fn get(&self, object: &Object, limit: usize, deadline: Deadline) -> Result<Contents, ObjectError> {
        let ready = self.ready(self.url(Some(&object.key), &[])?, deadline)?;
        let sent = self.client.stream(&ready.request.limit(limit), deadline);
        let sent = sent.map_err(|e| e.reworded(|text| scrubbed(text, &ready.secrets)))?;
        let body = sent.map_err(|answer| match refused(&answer, &ready.secrets) {
            ObjectError::Refused { code, text, .. } if code == "BlobNotFound" => ObjectError::Missing(text),
            other => other,
        })?;
        // Without one, a change of the object would not change the revision.
        let etag = body.header("etag").filter(|etag| !etag.is_empty());
        let etag = etag.ok_or_else(|| ObjectError::Unfit(format!("the answer for {:?} has no ETag", object.key)))?;
        let etag = etag.to_owned();
        Ok(Contents::new(object, etag, true, body))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a page of a list of Azure Blob Storage; bound: 48 MiB; account: memory of fetches"
    )]
    fn send(&self, query: &[(&str, &str)], deadline: Deadline) -> Result<Answer, ObjectError> {
        let ready = self.ready(self.url(None, query)?, deadline)?;
        let answer = self
            .client
            .send(&ready.request.limit(PAGE), deadline)
            .map_err(|e| e.reworded(|text| scrubbed(text, &ready.secrets)))?;
        match answer.status.as_u16() {
            200 => Ok(answer),
            _ => Err(refused(&answer, &ready.secrets)),
        }
    }

    /// Builds the address of the container, or of a blob in it.
    fn url(&self, blob: Option<&str>, query: &[(&str, &str)]) -> Result<Url, ObjectError> {
        let mut path = self.endpoint.path().trim_end_matches('/').to_owned();
        for part in [Some(self.container.as_str()), blob].into_iter().flatten() {
            path.push('/');
            path.push_str(&escaped(part, false));
        }
        let mut url = self.endpoint.clone();
        url.set_path(&path);
        if url.path() != path || self.container.is_empty() || blob == Some("") {
            return Err(ObjectError::Unfit(format!(
                "{:?} of the container {:?} has no valid address",
                blob.unwrap_or_default(),
                self.container
            )));
        }
        let pairs = query
            .iter()
            .map(|(name, value)| format!("{}={}", escaped(name, false), escaped(value, false)));
        let own = Some(self.query.expose().to_owned()).filter(|own| !own.is_empty());
        let all: Vec<String> = own.into_iter().chain(pairs).collect();
        url.set_query(Some(all.join("&")).as_deref().filter(|all| !all.is_empty()));
        Ok(url)
    }

    fn ready(&self, url: Url, deadline: Deadline) -> Result<SignedRequest, ObjectError> {
        let headers = [("x-ms-date", now()), ("x-ms-version", VERSION.to_owned())];
        let mut secrets = Vec::new();
        let authorization = match &self.login {
            Login::Key(key) => {
                secrets.push(key.key().clone());
                Some(key.authorization(&url, &headers))
            }
            login => {
                login.check(&url)?;
                let token = login.token(deadline)?;
                secrets.extend(login.query().into_iter().flat_map(signatures));
                // The endpoint is the tenant's choice, and the token is for all of Azure's storage.
                if token.is_some() && url.scheme() != "https" {
                    let text = "authenticated requests are not permitted for non TLS protected (https) endpoints";
                    return Err(ObjectError::Unfit(text.to_owned()));
                }
                secrets.extend(token.clone());
                token.map(|token| Secret::new(format!("Bearer {}", token.expose())))
            }
        };
        let mut request = Request::get(url).without_redirects();
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(value) = authorization {
            secrets.push(value.clone());
            request = request.authorization(value);
        }
        Ok(SignedRequest { request, secrets })
    }
}

/// The whole query, and its values that are long enough for a secret.
fn signatures(query: &Secret) -> Vec<Secret> {
    let pairs = url::form_urlencoded::parse(query.expose().as_bytes());
    let values = pairs.filter(|(name, _)| name == "sig");
    let values = values.map(|(_, value)| Secret::new(value));
    values.chain([query.clone()]).collect()
}

/// The current time in HTTP's format (RFC 9110, *Date/Time Formats*).
fn now() -> String {
    Time::from(SystemTime::now()).written(HTTP_DATE)
}

fn refused(answer: &Answer, secrets: &[Secret]) -> ObjectError {
    let body = String::from_utf8_lossy(&answer.body);
    let inside = |name: &str| xml::error_part(&body, name);
    let code = answer.header("x-ms-error-code").map(str::to_owned);
    let code = code.unwrap_or_else(|| inside("Code"));
    let words = inside("Message");
    let place = shown(&answer.url);
    let text = match (code.as_str(), words.first_line()) {
        ("", "") => format!("GET {place} answered {}", answer.status),
        (code, "") => format!("GET {place} answered {}: {code}", answer.status),
        (code, words) => format!("GET {place} answered {}: {code}: {words}", answer.status),
    };
    ObjectError::Refused {
        status: answer.status.as_u16(),
        code: scrubbed(&code, secrets),
        text: scrubbed(&text, secrets),
    }
}
