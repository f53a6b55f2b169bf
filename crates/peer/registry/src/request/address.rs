//! Addresses of a registry's endpoints, and their form in messages.

use url::Url;

use crate::RegistryError;
use bumpwright_gostd::query_escape;
use bumpwright_http::bare;

/// Parameters of the protocol itself. The value of any other one may be a token or signature.
const SHOWN: [&str; 7] = ["scope", "service", "mount", "from", "digest", "n", "last"];

/// The scheme of a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The scheme of an address.
    pub(crate) fn of(url: &Url) -> Self {
        match url.scheme() {
            "http" => Self::Http,
            _ => Self::Https,
        }
    }
}

/// Builds the address of a path at a registry.
///
/// # Errors
/// [`RegistryError::Address`] when the host or the path is not normalized, such as `a/../b`.
pub(crate) fn endpoint(scheme: Scheme, registry: &str, path: &str) -> Result<Url, RegistryError> {
    let text = format!("{}://{registry}{path}", scheme.as_str());
    Url::parse(&text)
        .ok()
        .filter(|url| url.path() == path && url.username().is_empty() && url.query().is_none())
        .ok_or(RegistryError::Address(text))
}

/// An address as shown by go-containerregistry: parameters in order, and possible secrets as `REDACTED`.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = bare(url);
    let mut pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    for (name, value) in &mut pairs {
        if !SHOWN.contains(&name.as_str()) {
            "REDACTED".clone_into(value);
        }
    }
    url.set_query(query(pairs).as_deref());
    url.to_string()
}

/// Encodes parameters in the order of their names with Go's escapes; none without parameters.
pub(crate) fn query(mut pairs: Vec<(String, String)>) -> Option<String> {
    pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{}={}", query_escape(name.as_bytes()), query_escape(value.as_bytes())))
        .collect();
    (!pairs.is_empty()).then(|| pairs.join("&"))
}

/// The parameters of an address.
pub(crate) fn parameters(url: &Url) -> Vec<(String, String)> {
    url.query_pairs().into_owned().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_path_is_asked_for_as_it_is_written() {
        let url = |registry, path| endpoint(Scheme::Https, registry, path).map(|url| url.to_string());
        assert_eq!(
            url("ghcr.io", "/v2/a/b/tags/list").unwrap(),
            "https://ghcr.io/v2/a/b/tags/list"
        );
        assert_eq!(url("[::1]:5000", "/v2/").unwrap(), "https://[::1]:5000/v2/");
        for (registry, path) in [
            ("ghcr.io", "/v2/a/../../b/tags/list"),
            ("ghcr.io", "/v2/./tags/list"),
            ("gh cr.io", "/v2/"),
            ("", "/v2/"),
            ("u@ghcr.io", "/v2/"),
            ("ghcr.io?", "/v2/"),
        ] {
            assert!(url(registry, path).is_err(), "{registry} {path}");
        }
    }

    #[test]
    fn what_may_be_secret_is_not_shown() {
        let url = Url::parse("https://u:p@r.example/v2/a/tags/list?n=1000&last=a%2Fb+c&token=hunter2&sig=x#f").unwrap();
        assert_eq!(
            shown(&url),
            "https://r.example/v2/a/tags/list?last=a%2Fb+c&n=1000&sig=REDACTED&token=REDACTED"
        );
    }
}
