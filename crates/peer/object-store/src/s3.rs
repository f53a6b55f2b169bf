//! S3 and compatible stores (minio-go: `api.go`, `bucket-cache.go`, `api-list.go`, `api-stat.go`).

use std::time::SystemTime;

use parking_lot::Mutex;
use ureq::http::StatusCode;
use url::Url;

use super::object::{Object, Page};
use super::s3_address::{Endpoint, check_bucket_name};
use super::s3_list::{self, ListVersion, unquoted};
use super::s3_login::Login;
use super::s3_refusal::S3Error;
use super::{BucketError, Contents, ObjectError, Settings};
use bumpwright_cloud::aws_sigv4::{CONTENT_HASH, EMPTY_HASH, S3 as SERVICE, Signer, Unsigned};
use bumpwright_cloud::{AwsCredentials, xml};
use bumpwright_http::{Answer, Client, Deadline, NetError, Request, RetryPolicy, scrubbed, shown};
use bumpwright_secret::Secret;

const USUAL_REGION: &str = "us-east-1";

/// The largest page of a list, in bytes: 1000 keys of 1 KiB, escaped, with their properties.
const PAGE: usize = 16 << 20;

/// A bucket at S3.
#[derive(Debug)]
pub(super) struct S3 {
    client: Client,
    endpoint: Endpoint,
    bucket: String,
    /// `spec.region`, or the region in the endpoint's name.
    region: Option<String>,
    /// The region from the server otherwise.
    found: Mutex<Option<String>>,
    login: Login,
}

/// A call about the bucket or an object.
#[derive(Clone, Copy, Debug)]
struct S3Call<'a> {
    method: &'static str,
    key: Option<&'a str>,
    query: &'a [(&'a str, &'a str)],
    limit: usize,
}

/// A signed request, and its secrets, which errors must not contain.
struct SignedRequest {
    request: Request,
    secrets: Vec<Secret>,
}

impl S3 {
    pub(super) fn open(settings: &Settings, deadline: Deadline) -> Result<Self, BucketError> {
        settings.check_sts()?;
        let login = Login::of(settings, deadline)?;
        let endpoint = Endpoint::parse(&settings.endpoint, settings.insecure)?;
        let given = Some(settings.region.clone()).filter(|region| !region.is_empty());
        Ok(Self {
            client: Client::new(settings.peer.clone(), RetryPolicy::default()),
            region: given.or_else(|| endpoint.region().map(str::to_owned)),
            endpoint,
            bucket: settings.bucket.clone(),
            found: Mutex::default(),
            login,
        })
    }

    pub(super) fn exists(&self, deadline: Deadline) -> Result<bool, ObjectError> {
        let call = S3Call {
            method: "HEAD",
            key: None,
            query: &[],
            limit: PAGE,
        };
        match self.send(call, deadline) {
            Ok(_) => Ok(true),
            Err(ObjectError::Refused { code, .. }) if code == "NoSuchBucket" => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn page(&self, prefix: &str, from: Option<&str>, deadline: Deadline) -> Result<Page, ObjectError> {
        let version = if self.endpoint.is_google() {
            ListVersion::V1
        } else {
            ListVersion::V2
        };
        let call = S3Call {
            method: "GET",
            key: None,
            query: &s3_list::query(version, prefix, from),
            limit: PAGE,
        };
        let answer = self.send(call, deadline)?;
        let unusable = |detail| ObjectError::answer(shown(&answer.url), detail);
        let document = std::str::from_utf8(&answer.body).map_err(|_| unusable("it is not UTF-8"))?;
        s3_list::page(version, document).map_err(unusable)
    }

    /// One request is enough, as contents and etag are in one answer.
    #[expect(
        clippy::disallowed_methods,
        reason = "an object of S3; bound: what is left of `--max-content-size`; account: disk space of fetches"
    )]
    pub(super) fn get(&self, object: &Object, limit: usize, deadline: Deadline) -> Result<Contents, ObjectError> {
        if object.key.trim().is_empty() {
            return Err(ObjectError::Unfit("Object name cannot be empty".to_owned()));
        }
        let call = S3Call {
            method: "GET",
            key: Some(&object.key),
            query: &[],
            limit,
        };
        let body = self.with_region(call, deadline, |ready| self.client.stream(&ready.request, deadline))?;
        let etag = body.header("etag").map(unquoted).filter(|etag| !etag.is_empty());
        // In minio-go's words. Without one, a change of the object would not change the revision.
        let etag = etag
            .ok_or_else(|| ObjectError::Unfit("ETag cannot be empty.".to_owned()))?
            .to_owned();
        Ok(Contents::new(object, etag, true, body))
    }

    fn send(&self, call: S3Call<'_>, deadline: Deadline) -> Result<Answer, ObjectError> {
        self.with_region(call, deadline, |ready| {
            let answer = self.client.send(&ready.request, deadline)?;
            Ok(match answer.status {
                StatusCode::OK => Ok(answer),
                _ => Err(answer),
            })
        })
    }

    /// Sends a request; once more when the answer names another region.
    fn with_region<T>(
        &self,
        call: S3Call<'_>,
        deadline: Deadline,
        send: impl Fn(&SignedRequest) -> Result<Result<T, Answer>, NetError>,
    ) -> Result<T, ObjectError> {
        let mut again = self.region.is_none();
        loop {
            let credentials = self.login.credentials(deadline)?;
            let region = self.region(credentials.as_ref(), deadline)?;
            let url = self.endpoint.url(&self.bucket, &region, call.key, call.query)?;
            let ready = ready(call, &url, &region, credentials.as_ref());
            let sent = send(&ready).map_err(|e| e.reworded(|text| scrubbed(text, &ready.secrets)))?;
            let answer = match sent {
                Ok(done) => return Ok(done),
                Err(answer) => answer,
            };
            let refusal = S3Error::of(&answer, call.key.is_some(), &ready.secrets);
            if !std::mem::take(&mut again) || !names_another_region(&refusal, &region) {
                return Err(refusal.error());
            }
            *self.found.lock() = Some(refusal.region);
        }
    }

    /// The bucket's region. It is not needed where nothing is signed and the host is the same for all regions.
    fn region(&self, credentials: Option<&AwsCredentials>, deadline: Deadline) -> Result<String, ObjectError> {
        check_bucket_name(&self.bucket)?;
        if let Some(region) = &self.region {
            return Ok(region.clone());
        }
        if credentials.is_none() && !self.endpoint.is_amazon() {
            return Ok(USUAL_REGION.to_owned());
        }
        // The lock is held meanwhile: other callers wait for this answer.
        let mut cached = self.found.lock();
        if let Some(region) = &*cached {
            return Ok(region.clone());
        }
        let region = self.ask_region(credentials, deadline)?;
        *cached = Some(region.clone());
        Ok(region)
    }

    fn ask_region(&self, credentials: Option<&AwsCredentials>, deadline: Deadline) -> Result<String, ObjectError> {
        let query = [("location", "")];
        let call = S3Call {
            method: "GET",
            key: None,
            query: &query,
            limit: PAGE,
        };
        let url = self.endpoint.url_without_region(&self.bucket, &query)?;
        let ready = ready(call, &url, USUAL_REGION, credentials);
        let answer = self
            .client
            .send(&ready.request, deadline)
            .map_err(|e| e.reworded(|text| scrubbed(text, &ready.secrets)))?;
        if answer.status != StatusCode::OK {
            let refusal = S3Error::of(&answer, false, &ready.secrets);
            return match (refusal.code.as_str(), refusal.region.as_str(), refusal.server.as_str()) {
                ("NotImplemented", _, "AmazonSnowball") => Ok("snowball".to_owned()),
                ("NotImplemented", _, "cloudflare") => Ok(USUAL_REGION.to_owned()),
                ("AuthorizationHeaderMalformed" | "InvalidRegion" | "AccessDenied", "", _) => {
                    Ok(USUAL_REGION.to_owned())
                }
                ("AuthorizationHeaderMalformed" | "InvalidRegion" | "AccessDenied", region, _) => Ok(region.to_owned()),
                _ => Err(refusal.error()),
            };
        }
        let body = String::from_utf8_lossy(&answer.body);
        let location = xml::text(&body, &["LocationConstraint"])
            .ok_or_else(|| ObjectError::answer(shown(&answer.url), "it names no LocationConstraint"))?;
        Ok(match location.as_str() {
            "" => USUAL_REGION.to_owned(),
            "EU" => "eu-west-1".to_owned(),
            other => other.to_owned(),
        })
    }
}

fn names_another_region(refusal: &S3Error, requested: &str) -> bool {
    let codes = ["AuthorizationHeaderMalformed", "InvalidRegion", "AccessDenied"];
    codes.contains(&refusal.code.as_str()) && !refusal.region.is_empty() && refusal.region != requested
}

#[expect(
    clippy::disallowed_methods,
    reason = "a page of a list of S3, or an object; bound: 16 MiB, or what is left of `--max-content-size`; account: memory of fetches, or disk space"
)]
fn ready(call: S3Call<'_>, url: &Url, region: &str, credentials: Option<&AwsCredentials>) -> SignedRequest {
    let request = match call.method {
        "HEAD" => Request::head(url.clone()),
        _ => Request::get(url.clone()),
    };
    let request = request.limit(call.limit).without_redirects();
    let Some(credentials) = credentials else {
        return SignedRequest {
            request,
            secrets: Vec::new(),
        };
    };
    let signer = Signer {
        credentials,
        region,
        service: SERVICE,
    };
    let unsigned = Unsigned {
        method: call.method,
        url,
        headers: &[(CONTENT_HASH, EMPTY_HASH)],
        body: b"",
    };
    let signed = signer.sign(unsigned, SystemTime::now());
    let (request, secrets) = signer.put(signed, request.header(CONTENT_HASH, EMPTY_HASH));
    SignedRequest { request, secrets }
}
