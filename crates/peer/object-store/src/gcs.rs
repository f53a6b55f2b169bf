//! Google Cloud Storage (Cloud Storage, *JSON API*: `buckets.get`, `objects.list`, `objects.get`).

use std::fmt;

use serde::de::{DeserializeOwned, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use super::object::{Object, PAGE_OBJECTS, Page};
use super::{BucketError, Contents, Keys, ObjectError, Settings};
use bumpwright_cloud::aws_sigv4::escaped;
use bumpwright_cloud::{Cloud, WorkloadIdentity};
use bumpwright_http::{Answer, Client, Deadline, Request, RetryPolicy, scrubbed, shown};
use bumpwright_secret::Secret;

/// The largest page of a list, in bytes: 1000 names of 1 KiB, escaped, with their etags.
const PAGE: usize = 16 << 20;

const USUAL: &str = "https://storage.googleapis.com";
const EMULATOR: &str = "STORAGE_EMULATOR_HOST";

/// A bucket at Google.
#[derive(Debug)]
pub(super) struct Gcs {
    client: Client,
    base: Url,
    bucket: String,
    who: GcsLogin,
}

#[derive(Debug)]
enum GcsLogin {
    /// Anonymous, at an emulator.
    Nobody,
    Key {
        subject: String,
        key: Secret,
        cloud: Cloud,
    },
    Ambient {
        cloud: Cloud,
        account: Option<WorkloadIdentity>,
    },
}

#[derive(Deserialize)]
struct Listed {
    #[serde(default, deserialize_with = "items_of_page")]
    items: Vec<Item>,
    #[serde(default, rename = "nextPageToken")]
    next: String,
}

/// Reads the items of a page, not more than there may be: small ones take many times the size of their text.
fn items_of_page<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Item>, D::Error> {
    struct Items;
    impl<'de> Visitor<'de> for Items {
        type Value = Vec<Item>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Vec<Item>, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = access.next_element()? {
                if items.len() >= PAGE_OBJECTS {
                    return Err(A::Error::custom("it has too many items for one page"));
                }
                items.push(item);
            }
            Ok(items)
        }
    }
    deserializer.deserialize_seq(Items)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    name: String,
    #[serde(default)]
    etag: String,
    /// A number, as text.
    #[serde(default)]
    size: Option<String>,
    #[serde(default)]
    generation: Option<String>,
    #[serde(default)]
    content_encoding: String,
}

impl Item {
    fn object(self) -> Object {
        // Google may decompress stored objects.
        let packed = self.content_encoding == "gzip";
        Object {
            key: self.name,
            etag: self.etag,
            size: self.size.filter(|_| !packed).and_then(|size| size.parse().ok()),
            generation: self.generation,
        }
    }
}

impl Gcs {
    pub(super) fn open(settings: &Settings) -> Result<Self, BucketError> {
        let emulator = settings.cloud.variable(EMULATOR);
        let (base, who) = match emulator {
            Some(host) => {
                let text = if host.contains("://") {
                    host.to_owned()
                } else {
                    format!("http://{host}")
                };
                (text, GcsLogin::Nobody)
            }
            None => {
                let given = settings.cloud.google_storage().map(ToString::to_string);
                (given.unwrap_or_else(|| USUAL.to_owned()), GcsLogin::of(settings)?)
            }
        };
        if let Some(secret) = &settings.secret {
            key_of(secret)?;
        }
        let base = Url::parse(&base).map_err(|e| {
            BucketError::Settings(format!("{EMULATOR}: is not an address ({e}); give http://host:port"))
        })?;
        Ok(Self {
            client: Client::new(settings.peer.clone(), RetryPolicy::default()),
            base,
            bucket: settings.bucket.clone(),
            who,
        })
    }

    pub(super) fn exists(&self, deadline: Deadline) -> Result<bool, ObjectError> {
        let url = self.url(
            None,
            &[("alt", "json"), ("prettyPrint", "false"), ("projection", "full")],
        )?;
        match self.send(url, deadline) {
            Ok(_) => Ok(true),
            Err(ObjectError::Refused { status: 404, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn page(&self, prefix: &str, from: Option<&str>, deadline: Deadline) -> Result<Page, ObjectError> {
        let fields = "nextPageToken,items(name,etag,size,generation,contentEncoding)";
        let mut query = vec![("alt", "json"), ("fields", fields)];
        query.extend(from.map(|from| ("pageToken", from)));
        query.extend([("prefix", prefix), ("prettyPrint", "false"), ("projection", "noAcl")]);
        let listed: Listed = json(&self.send(self.url(Some(""), &query)?, deadline)?)?;
        Ok(Page {
            objects: listed.items.into_iter().map(Item::object).collect(),
            next: Some(listed.next).filter(|next| !next.is_empty()),
        })
    }

    /// Gets the listed generation, or else the current one: the contents must match the etag.
    pub(super) fn get(&self, object: &Object, limit: usize, deadline: Deadline) -> Result<Contents, ObjectError> {
        if object.generation.is_some() {
            match self.generation(object, limit, deadline) {
                // Overwritten meanwhile.
                Err(ObjectError::Refused { status: 412, .. }) => {}
                other => return other,
            }
        }
        let query = [("alt", "json"), ("prettyPrint", "false"), ("projection", "full")];
        let answer = self.send(self.url(Some(&object.key), &query)?, deadline);
        let item: Item = json(&answer.map_err(missing)?)?;
        self.generation(&item.object(), limit, deadline)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "an object of Google Cloud Storage; bound: what is left of `--max-content-size`; account: disk space of fetches"
    )]
    fn generation(&self, object: &Object, limit: usize, deadline: Deadline) -> Result<Contents, ObjectError> {
        let mut query = vec![("alt", "media")];
        query.extend(object.generation.as_deref().map(|it| ("ifGenerationMatch", it)));
        let url = self.url(Some(&object.key), &query)?;
        let (request, token) = self.request(url, deadline)?;
        let sent = self.client.stream(&request.limit(limit), deadline);
        let sent = sent.map_err(|e| e.reworded(|text| scrubbed(text, &token)))?;
        let body = sent.map_err(|answer| missing(refused(&answer, &token)))?;
        let unpacked = body.header("x-goog-stored-content-encoding") == Some("gzip");
        Ok(Contents::new(object, object.etag.clone(), !unpacked, body))
    }

    /// Builds the address of the bucket, of its objects (an empty name), or of one of them.
    fn url(&self, object: Option<&str>, query: &[(&str, &str)]) -> Result<Url, ObjectError> {
        let mut path = format!("/storage/v1/b/{}", escaped(&self.bucket, false));
        match object {
            None => {}
            Some("") => path.push_str("/o"),
            Some(name) => {
                path.push_str("/o/");
                path.push_str(&escaped(name, false));
            }
        }
        let mut url = self.base.clone();
        url.set_path(&path);
        if url.path() != path {
            return Err(ObjectError::Unfit(format!(
                "{:?} of the bucket {:?} has no valid address",
                object.unwrap_or_default(),
                self.bucket
            )));
        }
        let pairs = query
            .iter()
            .map(|(name, value)| format!("{}={}", escaped(name, false), escaped(value, false)));
        url.set_query(Some(&pairs.collect::<Vec<_>>().join("&")));
        Ok(url)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a page of a list of Google Cloud Storage; bound: 16 MiB; account: memory of fetches"
    )]
    fn request(&self, url: Url, deadline: Deadline) -> Result<(Request, Option<Secret>), ObjectError> {
        let request = Request::get(url).limit(PAGE).without_redirects();
        let token = self.who.token(deadline)?;
        Ok(match &token {
            Some(token) => {
                let header = Secret::new(format!("Bearer {}", token.expose()));
                (request.authorization(header), Some(token.clone()))
            }
            None => (request, None),
        })
    }

    fn send(&self, url: Url, deadline: Deadline) -> Result<Answer, ObjectError> {
        let (request, token) = self.request(url, deadline)?;
        let answer = self
            .client
            .send(&request, deadline)
            .map_err(|e| e.reworded(|text| scrubbed(text, &token)))?;
        if answer.status.is_success() {
            Ok(answer)
        } else {
            Err(refused(&answer, &token))
        }
    }
}

impl GcsLogin {
    fn of(settings: &Settings) -> Result<Self, BucketError> {
        let cloud = settings.cloud.clone();
        Ok(match &settings.secret {
            Some(secret) => Self::Key {
                subject: format!("serviceaccount of the Secret '{}'", secret.name),
                key: key_of(secret)?.clone(),
                cloud,
            },
            None => {
                settings.keep_own_token()?;
                Self::Ambient {
                    cloud,
                    account: settings.service_account.clone(),
                }
            }
        })
    }

    fn token(&self, deadline: Deadline) -> Result<Option<Secret>, ObjectError> {
        let token = match self {
            Self::Nobody => return Ok(None),
            Self::Key { subject, key, cloud } => cloud.google_token_of_key(subject, key, deadline)?,
            Self::Ambient { cloud, account } => cloud.google_token(account.as_ref(), deadline)?,
        };
        Ok(Some(token.token))
    }
}

fn key_of(secret: &Keys) -> Result<&Secret, BucketError> {
    let text = || {
        format!(
            "invalid '{}' secret data: required fields 'serviceaccount'",
            secret.name
        )
    };
    secret
        .get("serviceaccount")
        .ok_or_else(|| BucketError::Settings(text()))
}

fn json<T: DeserializeOwned>(answer: &Answer) -> Result<T, ObjectError> {
    serde_json::from_slice(&answer.body).map_err(|e| ObjectError::answer(shown(&answer.url), e.to_string()))
}

/// The error in the format of Google's library: `googleapi: Error 403: words, reason`.
fn refused(answer: &Answer, token: &Option<Secret>) -> ObjectError {
    let document: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let error = document.as_ref().and_then(|document| document.get("error"));
    let message = error.and_then(|error| error.get("message")).and_then(Value::as_str);
    let reason = error
        .and_then(|error| error.pointer("/errors/0/reason"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    let status = answer.status.as_u16();
    let text = match (message, reason) {
        (Some(message), "") => format!("googleapi: Error {status}: {message}"),
        (Some(message), reason) => format!("googleapi: Error {status}: {message}, {reason}"),
        (None, _) => format!(
            "googleapi: got HTTP response code {status} with body: {}",
            answer.words()
        ),
    };
    ObjectError::Refused {
        status,
        code: scrubbed(reason, token),
        text: scrubbed(&text, token),
    }
}

fn missing(error: ObjectError) -> ObjectError {
    match error {
        ObjectError::Refused { status: 404, text, .. } => {
            ObjectError::Missing(format!("storage: object doesn't exist: {text}"))
        }
        other => other,
    }
}
