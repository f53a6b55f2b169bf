//! AWS' signature of requests, version 4, in the `Authorization` header (IAM User Guide, *Create a signed AWS API
//! request*).
//!
//! S3 is special in two ways (S3 API Reference, *Signature Calculations for the Authorization Header*): paths are not
//! escaped a second time, and the body's hash is the value of a header of its own.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use url::Url;
use zeroize::Zeroizing;

use crate::AwsCredentials;
use bumpwright_gostd::Time;
use bumpwright_http::{Request, host_of};
use bumpwright_secret::Secret;
use bumpwright_text::Parts;

/// A request to sign. `headers` are signed besides `host`, `x-amz-date` and `x-amz-security-token`; each name
/// occurs once.
#[derive(Clone, Copy, Debug)]
pub struct Unsigned<'a> {
    /// The method, such as `GET`.
    pub method: &'a str,
    pub url: &'a Url,
    /// The signed headers besides those that signing adds.
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

/// The service with the special signature.
pub const S3: &str = "s3";

/// The header with the hash of the body at S3.
pub const CONTENT_HASH: &str = "x-amz-content-sha256";

/// The hash of an empty body.
pub const EMPTY_HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The headers of a signed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// `x-amz-date`.
    pub date: String,
    /// `x-amz-security-token`.
    pub token: Option<Secret>,
    pub authorization: Secret,
}

/// The signer of requests to one service in one region.
#[derive(Clone, Copy, Debug)]
pub struct Signer<'a> {
    pub credentials: &'a AwsCredentials,
    /// The region of the service: `eu-central-1`.
    pub region: &'a str,
    /// The service: `s3`, `kms`.
    pub service: &'a str,
}

impl Signer<'_> {
    /// Adds a signature to its request. Returns the secret parts, too.
    pub fn put(&self, signed: Signed, request: Request) -> (Request, Vec<Secret>) {
        let Signed {
            date,
            token,
            authorization,
        } = signed;
        let mut secrets = vec![self.credentials.secret_access_key.clone(), authorization.clone()];
        secrets.extend(token.clone());
        let request = request.header("x-amz-date", date).authorization(authorization);
        let request = match token {
            Some(token) => request.secret_header("x-amz-security-token", token),
            None => request,
        };
        (request, secrets)
    }

    /// Signs a request; the signature is valid for some minutes around `at`.
    pub fn sign(&self, request: Unsigned<'_>, at: SystemTime) -> Signed {
        let date = basic_date(at);
        let day = date.part(..8);
        let token = self.credentials.session_token.as_ref();
        let (names, canonical) = canonical_request(request, self.service == S3, &date, token);
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hash(canonical.as_bytes()));
        let signature = hexadecimal(&hmac(&*self.key(day), to_sign.as_bytes()));
        let id = &self.credentials.access_key_id;
        let authorization =
            format!("AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}");
        Signed {
            date,
            token: token.cloned(),
            authorization: Secret::new(authorization),
        }
    }

    /// Signs an address for Git: a request `GIT` without a body, of which only the host is signed, with a date without
    /// `Z` (`aws/git-remote-codecommit`, *sign*). Returns the date and the signature.
    pub(crate) fn sign_for_git(&self, url: &Url, at: SystemTime) -> (String, Secret) {
        let date = basic_date(at).trim_end_matches('Z').to_owned();
        let day = date.part(..8);
        let (path, query, host) = (escaped(url.path(), true), query(url), host(url));
        let canonical = format!("GIT\n{path}\n{query}\nhost:{host}\n\nhost\n");
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hash(canonical.as_bytes()));
        let signature = Secret::new(hexadecimal(&hmac(&*self.key(day), to_sign.as_bytes())));
        (date, signature)
    }

    /// Presigns a URL for a request without a body and with one header (IAM User Guide, *Query parameters*). It
    /// is valid for `life` from `at`, or less where the service says so.
    pub(crate) fn presign(&self, url: &Url, header: (&str, &str), life: Duration, at: SystemTime) -> Secret {
        let date = basic_date(at);
        let day = date.part(..8);
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let (name, value) = header;
        let (path, host, names) = (escaped(url.path(), true), host(url), format!("host;{name}"));
        let (credential, life) = (
            format!("{}/{scope}", self.credentials.access_key_id),
            life.as_secs().to_string(),
        );
        let mut own = vec![
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", credential.as_str()),
            ("X-Amz-Date", date.as_str()),
            ("X-Amz-Expires", life.as_str()),
            ("X-Amz-SignedHeaders", names.as_str()),
        ];
        let token = self.credentials.session_token.as_ref();
        own.extend(token.map(|token| ("X-Amz-Security-Token", token.expose())));
        let query = Zeroizing::new(query_with(url, &own));
        let canonical = format!(
            "GET\n{path}\n{}\nhost:{host}\n{name}:{value}\n\n{names}\n{EMPTY_HASH}",
            *query
        );
        let canonical = hash(Zeroizing::new(canonical).as_bytes());
        let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{canonical}");
        let signature = hexadecimal(&hmac(&*self.key(day), to_sign.as_bytes()));
        let origin = url.origin().ascii_serialization();
        Secret::new(format!("{origin}{path}?{}&X-Amz-Signature={signature}", *query))
    }

    fn key(&self, day: &str) -> Zeroizing<[u8; 32]> {
        let secret = self.credentials.secret_access_key.expose();
        let first = Zeroizing::new(format!("AWS4{secret}"));
        let mut key = Zeroizing::new(hmac(first.as_bytes(), day.as_bytes()));
        for part in [self.region, self.service, "aws4_request"] {
            *key = hmac(&*key, part.as_bytes());
        }
        key
    }
}

/// The names of the signed headers, and the canonical request.
fn canonical_request(
    request: Unsigned<'_>,
    is_s3: bool,
    date: &str,
    token: Option<&Secret>,
) -> (String, Zeroizing<String>) {
    let host = host(request.url);
    let given = request
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), *value));
    let own = [("host", host.as_str()), ("x-amz-date", date)];
    let token = token.map(|token| ("x-amz-security-token", token.expose()));
    let own = own
        .into_iter()
        .chain(token)
        .map(|(name, value)| (name.to_owned(), value));
    let mut headers: Vec<(String, &str)> = given.chain(own).collect();
    headers.sort();

    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(";");
    let path = if is_s3 {
        request.url.path().to_owned()
    } else {
        escaped(request.url.path(), true)
    };
    let mut text = Zeroizing::new(format!("{}\n{path}\n{}\n", request.method, query(request.url)));
    for (name, value) in &headers {
        let words: Vec<&str> = value.split_ascii_whitespace().collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}:{}", words.join(" "));
    }
    let given = headers.iter().find(|(name, _)| is_s3 && name == CONTENT_HASH);
    let hash = given.map_or_else(|| hash(request.body), |(_, value)| (*value).to_owned());
    let _ = write!(text, "\n{names}\n{hash}");
    (names, text)
}

/// The parameters in order of their escaped names and values.
fn query(url: &Url) -> String {
    query_with(url, &[])
}

/// The same with additional parameters.
fn query_with(url: &Url, more: &[(&str, &str)]) -> String {
    let own = url
        .query_pairs()
        .map(|(name, value)| (escaped(&name, false), escaped(&value, false)));
    let more = more
        .iter()
        .map(|(name, value)| (escaped(name, false), escaped(value, false)));
    let mut pairs: Vec<(String, String)> = own.chain(more).collect();
    pairs.sort();
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

/// The `Host` header of an address.
fn host(url: &Url) -> String {
    let host = host_of(url);
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Escapes all bytes but the unreserved ones of RFC 3986 as `%XX`. An escaped path is escaped once more, as all
/// services but S3 require.
pub fn escaped(text: &str, is_path: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'/' if is_path => out.push('/'),
            b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// `20060102T150405Z`.
fn basic_date(at: SystemTime) -> String {
    Time::from(at).written(b"20060102T150405Z")
}

fn hash(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    // A key may have any length (RFC 2104, *Keys*): the error does not happen.
    Hmac::<Sha256>::new_from_slice(key).map_or([0; 32], |mac| mac.chain_update(message).finalize().into_bytes().into())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    /// AWS' published test suite for the signature (`aws-sig-v4-test-suite`): case, request, headers, body, signature.
    /// Left out are a repeated name, and paths that would have to be sent unescaped.
    type Case = (
        &'static str,
        &'static str,
        &'static [(&'static str, &'static str)],
        &'static str,
        &'static str,
    );
    const UNRESERVED: &str = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");
    const SHA: (&str, &str) = (
        "X-Amz-Content-Sha256",
        "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e",
    );
    const SUITE: &[Case] = &[
        (
            "get-vanilla",
            "GET /",
            &[],
            "",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "get-relative-normalized",
            "GET /example/..",
            &[],
            "",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "get-slash-pointless-dot-normalized",
            "GET /./example",
            &[],
            "",
            "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
        ),
        (
            "get-header-value-trim",
            "GET /",
            &[("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
            "",
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
        ),
        (
            "get-vanilla-empty-query-key",
            "GET /?Param1=value1",
            &[],
            "",
            "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
        ),
        (
            "get-vanilla-query-order-encoded",
            "GET /?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
            &[],
            "",
            "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
        ),
        (
            "get-vanilla-query-order-key-case",
            "GET /?Param2=value2&Param1=value1",
            &[],
            "",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "get-vanilla-utf8-query",
            "GET /?ሴ=bar",
            &[],
            "",
            "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
        ),
        (
            "post-vanilla",
            "POST /",
            &[],
            "",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            "post-header-key-sort",
            "POST /",
            &[("My-Header1", "value1")],
            "",
            "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
        ),
        (
            "post-header-value-case",
            "POST /",
            &[("My-Header1", "VALUE1")],
            "",
            "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
        ),
        (
            "post-vanilla-query",
            "POST /?Param1=value1",
            &[],
            "",
            "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
        ),
        (
            "post-x-www-form-urlencoded",
            "POST /",
            &[FORM, ("Content-Length", "13"), SHA],
            "Param1=value1",
            "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b",
        ),
        (
            "post-x-www-form-urlencoded-parameters",
            "POST /",
            &[
                ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),
                ("Content-Length", "13"),
                SHA,
            ],
            "Param1=value1",
            "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422",
        ),
    ];

    fn signature(request: &str, headers: &[(&str, &str)], body: &str, token: Option<&str>) -> String {
        let credentials = AwsCredentials {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: token.map(Secret::new),
            expires: None,
        };
        let signer = Signer {
            credentials: &credentials,
            region: "us-east-1",
            service: "service",
        };
        let (method, target) = request.split_once(' ').unwrap();
        let unsigned = Unsigned {
            method,
            url: &Url::parse(&format!("https://example.amazonaws.com{target}")).unwrap(),
            headers,
            body: body.as_bytes(),
        };
        let signed = signer.sign(unsigned, UNIX_EPOCH + Duration::from_secs(1_440_938_160));
        assert_eq!(signed.date, "20150830T123600Z");
        assert_eq!(signed.token, credentials.session_token);
        signed
            .authorization
            .expose()
            .rsplit_once("Signature=")
            .unwrap()
            .1
            .to_owned()
    }

    #[test]
    fn published_suite() {
        for (name, request, headers, body, expected) in SUITE {
            assert_eq!(signature(request, headers, body, None), *expected, "{name}");
        }
        let rows = [
            (
                format!("GET /{UNRESERVED}"),
                "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
            ),
            (
                format!("GET /?{UNRESERVED}={UNRESERVED}"),
                "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
            ),
        ];
        for (request, expected) in rows {
            assert_eq!(signature(&request, &[], "", None), expected, "{request}");
        }
        // get-vanilla-with-session-token
        let token = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";
        let expected = "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8";
        assert_eq!(signature("GET /", &[], "", Some(token)), expected);
    }

    #[test]
    fn paths_are_escaped_once_more() {
        let url = Url::parse("https://h/test/@connections/JBDvjfGEIAMCERw%3D").unwrap();
        assert_eq!(escaped(url.path(), true), "/test/%40connections/JBDvjfGEIAMCERw%253D");
    }

    #[test]
    fn a_port_is_part_of_the_host() {
        for (url, expected) in [
            ("http://127.0.0.1:5000/", "127.0.0.1:5000"),
            ("https://h:443/", "h"),
            ("http://[::1]/", "[::1]"),
        ] {
            assert_eq!(host(&Url::parse(url).unwrap()), expected);
        }
    }
}
