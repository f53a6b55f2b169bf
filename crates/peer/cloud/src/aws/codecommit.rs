//! Logins at AWS CodeCommit: a user name and a password that is a signature (CodeCommit User Guide, *HTTPS connections
//! with git-remote-codecommit*; `fluxcd/pkg/auth/aws`, *NewGitCredentials*; N-006).

use std::time::{Duration, SystemTime};

use url::Url;

use super::sigv4::Signer;
use crate::login::expiring::ExpiringLogin;
use crate::{AwsCredentials, CloudError};
use bumpwright_http::{Login, host_of};
use bumpwright_secret::Secret;

/// How long a signature is valid at CodeCommit.
const VALID: Duration = Duration::from_secs(15 * 60);

/// The region of a repository's address.
///
/// # Errors
/// [`CloudError::Unfit`], in Flux' words, for addresses that are not CodeCommit's.
pub(crate) fn region(url: &Url) -> Result<&str, CloudError> {
    if url.scheme() != "https" {
        let text = "AWS CodeCommit authentication requires an HTTPS Git URL";
        return Err(CloudError::Unfit(text.to_owned()));
    }
    let host = host_of(url);
    let first = ["git-codecommit.", "git-codecommit-fips."]
        .into_iter()
        .find_map(|first| host.strip_prefix(first));
    let ours = [".amazonaws.com", ".amazonaws.com.cn"]
        .into_iter()
        .any(|last| host.ends_with(last));
    let region = first.filter(|_| ours && host.split('.').count() >= 4);
    region.and_then(|rest| rest.split('.').next()).ok_or_else(|| {
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        CloudError::Unfit(format!("invalid AWS CodeCommit Git URL: {host}{port}"))
    })
}

/// The login for a repository, valid for its address alone.
pub(crate) fn login(url: &Url, with: &AwsCredentials, at: SystemTime) -> Result<ExpiringLogin, CloudError> {
    let signer = Signer {
        credentials: with,
        region: region(url)?,
        service: "codecommit",
    };
    let id = &with.access_key_id;
    let session = with.session_token.as_ref().filter(|token| !token.is_empty());
    let username = session.map_or_else(|| id.clone(), |token| format!("{id}%{}", token.expose()));
    let (date, signature) = signer.sign_for_git(url, at);
    let password = Secret::new(format!("{date}Z{}", signature.expose()));
    let ends = at.checked_add(VALID);
    Ok(ExpiringLogin {
        login: Login::Basic {
            username: Secret::new(username),
            password,
        },
        expires: with.expires.into_iter().chain(ends).min(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    /// 2026-11-22 01:39:58 UTC.
    const AT: u64 = 1_795_311_598;

    fn credentials(token: Option<&str>, expires: Option<SystemTime>) -> AwsCredentials {
        AwsCredentials {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: token.map(Secret::new),
            expires,
        }
    }

    fn pair(url: &str, token: Option<&str>) -> (String, String) {
        let at = UNIX_EPOCH + Duration::from_secs(AT);
        let made = login(&Url::parse(url).unwrap(), &credentials(token, None), at).unwrap();
        assert_eq!(made.expires, Some(at + VALID));
        match made.login {
            Login::Basic { username, password } => (username.expose().to_owned(), password.expose().to_owned()),
            Login::Bearer { .. } => (String::new(), String::new()),
        }
    }

    /// The results of `fluxcd/pkg/auth` v0.54.3 for the same input and time.
    #[test]
    fn the_signatures_are_those_of_flux() {
        let rows = [
            (
                "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/app",
                "9af022e5e7c7f6b055164a22966fd3552267cf71aea751b52f848d9a0d6a0d4a",
            ),
            (
                "https://git-codecommit-fips.eu-west-1.amazonaws.com/v1/repos/my.app_1-x",
                "3af6a19455f2967d012243220ad3dfccc7dea947e7e987dfdfb8125b84727d14",
            ),
            (
                "https://git-codecommit.us-east-1.amazonaws.com",
                "725aaeb43e20c039f60525c256f09d99bc3322f72c46212b048208b9bac9026a",
            ),
        ];
        for (url, signature) in rows {
            let expected = (
                "AKIDEXAMPLE%TOK/en+1=".to_owned(),
                format!("20261122T013958Z{signature}"),
            );
            assert_eq!(pair(url, Some("TOK/en+1=")), expected, "{url}");
            // As AWS' own helpers: `%` is only before a session's token.
            assert_eq!(pair(url, None), ("AKIDEXAMPLE".to_owned(), expected.1), "{url}");
        }
    }

    #[test]
    fn a_login_ends_with_its_credentials() {
        let at = UNIX_EPOCH + Duration::from_secs(AT);
        let url = Url::parse("https://git-codecommit.us-east-1.amazonaws.com/v1/repos/app").unwrap();
        let soon = Some(at + Duration::from_secs(60));
        assert_eq!(login(&url, &credentials(None, soon), at).unwrap().expires, soon);
    }

    /// Addresses that Flux accepts and refuses, and its words.
    #[test]
    fn addresses() {
        let region = |url: &str| {
            let url = Url::parse(url).unwrap();
            region(&url).map(str::to_owned).map_err(|e| e.to_string())
        };
        assert_eq!(
            region("https://git-codecommit.cn-north-1.amazonaws.com.cn/x"),
            Ok("cn-north-1".to_owned())
        );
        assert_eq!(
            region("https://git-codecommit-fips.us-gov-west-1.amazonaws.com/x"),
            Ok("us-gov-west-1".to_owned())
        );
        for host in [
            "codecommit.us-east-1.amazonaws.com",
            "git-codecommit.amazonaws.com",
            "git-codecommit.us-east-1.amazonaws.com.evil.com",
            "git-codecommit.us-east-1.c2s.ic.gov",
            "localhost:12",
        ] {
            let expected = format!("invalid AWS CodeCommit Git URL: {host}");
            assert_eq!(region(&format!("https://{host}/x")), Err(expected));
        }
        let expected = "AWS CodeCommit authentication requires an HTTPS Git URL".to_owned();
        assert_eq!(region("http://git-codecommit.us-east-1.amazonaws.com/x"), Err(expected));
    }
}
