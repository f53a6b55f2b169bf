//! Audiences of tokens, and audiences for which no token is issued at a tenant's request.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bumpwright_text::Cuts;
use serde_json::Value;

/// Audiences of the token services of AWS, Azure and Google.
const CLOUDS: [&str; 4] = [
    "sts.amazonaws.com",
    "api://azureadtokenexchange",
    "iam.googleapis.com",
    "svc.id.goog",
];

/// The API server from inside its cluster.
const API_SERVER: &str = "kubernetes.default.svc";

/// The audience and the issuer of a token, which stands in for a missing audience (RFC 7519, *"aud" (Audience) Claim*).
/// None for other texts, and for a token without either.
pub(crate) fn audiences_of(token: &str) -> Option<Vec<String>> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let texts = |claim: &str| match claims.get(claim) {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let mut audiences = texts("aud");
    if audiences.is_empty() {
        return None;
    }
    audiences.extend(texts("iss"));
    Some(audiences)
}

/// Returns whether an audience is the API server, which accepts `taken`, or a cloud. Spellings that a lenient server
/// might accept as the same count as the same.
pub(crate) fn is_kept(audience: &str, taken: &[String]) -> bool {
    let plain = |text: &str| {
        let text = text.trim().to_ascii_lowercase();
        text.trim_end_matches('/').to_owned()
    };
    let audience = plain(audience);
    let host = audience.split_once("://").map_or(audience.as_str(), |(_, rest)| rest);
    let host = host.before(['/', ':']);
    let inside =
        [API_SERVER, "kubernetes.default", "kubernetes"].contains(&host) || host.starts_with(&format!("{API_SERVER}."));
    inside || CLOUDS.iter().any(|cloud| audience.contains(cloud)) || taken.iter().any(|one| plain(one) == audience)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tokens_say_whom_they_are_for() {
        let of = |claims: &str| audiences_of(&format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims)));
        let texts = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(of(r#"{"aud":["a","b"],"iss":"i"}"#), texts(&["a", "b", "i"]));
        assert_eq!(of(r#"{"aud":"a"}"#), texts(&["a"]));
        for nobody in [r#"{"aud":[]}"#, r#"{"iss":"i"}"#, "[]", "hunter2"] {
            assert_eq!(of(nobody), None, "{nobody}");
        }
        assert_eq!(audiences_of("hunter2"), None);
    }

    #[test]
    fn audiences_of_ones_own_are_kept() {
        let taken = ["https://oidc.example.com/id/1".to_owned(), "api".to_owned()];
        for kept in [
            "api",
            " API/ ",
            "https://oidc.example.com/id/1",
            "https://OIDC.example.com/id/1/",
            "https://kubernetes.default.svc",
            "https://kubernetes.default.svc.cluster.local:443/",
            "kubernetes.default.svc",
            "https://kubernetes",
            "sts.amazonaws.com",
            "api://AzureADTokenExchange",
            "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
            "https://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
            "project.svc.id.goog",
        ] {
            assert!(is_kept(kept, &taken), "{kept}");
        }
        for given in [
            "https://other.example.com:6443",
            "https://oidc.example.com/id/2",
            "https://kubernetes.default.svc2.example.com",
            "apis",
        ] {
            assert!(!is_kept(given, &taken), "{given}");
        }
    }
}
