//! A request, as far as pages need it.

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HOST, IF_NONE_MATCH, ORIGIN};
use http::{HeaderMap, Method, Request};
use url::form_urlencoded;
use zeroize::Zeroizing;

use bumpwright_pages::Route;
use bumpwright_text::Cuts;

#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: Method,
    /// The path and the query, as sent.
    pub(super) target: String,
    pub(super) query: String,
    /// None where nothing is.
    pub(super) route: Option<Route>,
    pub(super) headers: HeaderMap,
    body: Bytes,
}

impl Call {
    pub(super) fn read(request: Request<Bytes>) -> Self {
        let (head, body) = request.into_parts();
        let target = head.uri.path_and_query().map(|target| target.as_str()).unwrap_or("/");
        Self {
            target: target.to_owned(),
            query: head.uri.query().unwrap_or("").to_owned(),
            route: Route::parse(head.uri.path()),
            method: head.method,
            headers: head.headers,
            body,
        }
    }

    /// Whether it only asks for something.
    pub(super) fn is_read(&self) -> bool {
        self.method == Method::GET || self.method == Method::HEAD
    }

    pub(super) fn is_post(&self) -> bool {
        self.method == Method::POST
    }

    /// A field of the form that was sent; empty if absent.
    pub(super) fn field(&self, name: &str) -> Zeroizing<String> {
        Zeroizing::new(first(&self.body, name))
    }

    /// A parameter of the query; empty if absent.
    pub(super) fn parameter(&self, name: &str) -> String {
        first(self.query.as_bytes(), name)
    }

    /// Whether the client reads gzip.
    pub(super) fn takes_gzip(&self) -> bool {
        let values = self
            .headers
            .get_all(ACCEPT_ENCODING)
            .iter()
            .filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            parts.next() == Some("gzip")
                && !parts.any(|weight| {
                    weight.starts_with("q=0") && !weight.contains(['1', '2', '3', '4', '5', '6', '7', '8', '9'])
                })
        })
    }

    /// Whether the client has this version already.
    pub(super) fn has(&self, tag: &str) -> bool {
        let tags = self.headers.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
        let mut tags = tags.into_iter().flat_map(|tags| tags.split(','));
        tags.any(|one| one.trim().trim_start_matches("W/") == tag)
    }

    /// Whether it was sent by HTTPS, as a proxy says.
    pub(super) fn is_secure(&self) -> bool {
        self.header("x-forwarded-proto")
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
    }

    /// Whether a page of ours has sent it, according to the browser's headers; other clients do not set them. A proxy
    /// may send another `Host` and then names the original one; a page of another site cannot set that header.
    pub(super) fn is_from_here(&self) -> bool {
        let hosts = [HOST.as_str(), "x-forwarded-host"]
            .into_iter()
            .filter_map(|name| self.header(name));
        let hosts: Vec<&str> = hosts.flat_map(|hosts| hosts.split(',')).map(str::trim).collect();
        let is_ours = |origin: &str| {
            let origin = origin.split_once("://").map(|(_, host)| host);
            origin.is_some_and(|origin| hosts.iter().any(|host| host.eq_ignore_ascii_case(origin)))
        };
        let is_same_site = self.header("sec-fetch-site").is_none_or(|site| site == "same-origin");
        is_same_site && self.header(ORIGIN.as_str()).is_none_or(is_ours)
    }

    /// Whether it was sent to a name of this machine: a name of somebody else that leads here is an attack by DNS.
    pub(super) fn is_to_this_machine(&self) -> bool {
        self.header(HOST.as_str()).is_some_and(is_this_machine)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The first value of a name in the pairs of a form or of a query; empty if absent.
fn first(pairs: &[u8], name: &str) -> String {
    let mut values = form_urlencoded::parse(pairs).filter(|(key, _)| key == name);
    values.next().map_or_else(String::new, |(_, value)| value.into_owned())
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.before(']'),
        None => host.before(':'),
    };
    let is_loopback = |ip: std::net::IpAddr| ip.is_loopback();
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

/// A path of ours to go on to; the first page in place of anything else.
pub(super) fn back(path: &str) -> &str {
    let is_path = path.starts_with('/') && !path.starts_with("//");
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_path && is_plain && path.len() <= 2048 {
        path
    } else {
        "/"
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn call(headers: &[(&'static str, &'static str)]) -> Call {
        let mut request = Request::new(Bytes::new());
        for (name, value) in headers {
            request
                .headers_mut()
                .append(*name, http::HeaderValue::from_static(value));
        }
        Call::read(request)
    }

    #[test]
    fn forms_of_other_sites_are_known() {
        let host = ("host", "ui.acme.io:8443");
        for (headers, expected) in [
            (&[host][..], true),
            (&[host, ("origin", "https://ui.acme.io:8443")], true),
            (
                &[
                    host,
                    ("origin", "https://UI.acme.io:8443"),
                    ("sec-fetch-site", "same-origin"),
                ],
                true,
            ),
            (&[host, ("origin", "https://ui.acme.io")], false),
            (&[host, ("origin", "https://evil.io")], false),
            (&[host, ("origin", "null")], false),
            (
                &[
                    ("host", "10.0.0.1"),
                    ("x-forwarded-host", "ui.acme.io"),
                    ("origin", "https://ui.acme.io"),
                ],
                true,
            ),
            (
                &[
                    host,
                    ("x-forwarded-host", "a.io, other.acme.io"),
                    ("origin", "https://evil.io"),
                ],
                false,
            ),
            (&[("origin", "https://")], false),
            (&[host, ("sec-fetch-site", "same-site")], false),
            (&[host, ("sec-fetch-site", "cross-site")], false),
        ] {
            assert_eq!(call(headers).is_from_here(), expected, "{headers:?}");
        }
    }

    #[test]
    fn names_of_this_machine() {
        for (host, expected) in [
            ("localhost:9393", true),
            ("127.0.0.1:9393", true),
            ("[::1]:9393", true),
            ("127.1.2.3", true),
            ("evil.io:9393", false),
            ("localhost.evil.io", false),
            ("127.0.0.1.evil.io", false),
            ("", false),
        ] {
            assert_eq!(is_this_machine(host), expected, "{host}");
        }
    }

    #[test]
    fn only_paths_of_ours_are_gone_on_to() {
        for (path, expected) in [
            ("/images?q=a", "/images?q=a"),
            ("//evil.io", "/"),
            ("/\\evil.io", "/"),
            ("https://evil.io", "/"),
            ("/a\r\nSet-Cookie: x", "/"),
            ("", "/"),
        ] {
            assert_eq!(back(path), expected, "{path:?}");
        }
    }

    #[test]
    fn encodings_and_versions() {
        let takes = |value: &'static str| call(&[("accept-encoding", value)]).takes_gzip();
        assert!(
            takes("br, gzip") && takes("gzip;q=0.5") && !takes("br") && !takes("gzip;q=0") && !takes("gzip; q=0.0")
        );
        let has = |value: &'static str| call(&[("if-none-match", value)]).has("\"a\"");
        assert!(has("\"a\"") && has("W/\"a\"") && has("\"b\", \"a\"") && !has("\"b\"") && !has(""));
    }
}
