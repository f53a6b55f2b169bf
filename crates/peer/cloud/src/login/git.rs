//! Logins at Git servers: GitHub Apps, Azure DevOps, AWS CodeCommit, Google's repositories (N-004 to N-006;
//! `fluxcd/pkg/auth`, *GetGitCredentials*).

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use url::Url;

use super::expiring::ExpiringLogin;
use super::github_app::GitHubApp;
use crate::aws::codecommit;
use crate::{AzureCloud, Cloud, CloudError, Provider, Use, WorkloadIdentity};
use bumpwright_http::{Deadline, FetchLogin, FetchLoginError, Login, host_of};
use bumpwright_secret::Secret;

/// The scope of Azure DevOps for tokens.
const AZURE_DEVOPS: &str = "499b84ac-1321-427f-aa17-267ca6975798/.default";

/// Azure DevOps' hosts (Azure DevOps, *Allowed domain URLs*); one that begins with a dot is a suffix.
const AZURE_HOSTS: [&str; 2] = [".visualstudio.com", "dev.azure.com"];

/// Google's hosts: Secure Source Manager, Cloud Source Repositories, Gerrit.
const GOOGLE_HOSTS: [&str; 3] = [
    ".sourcemanager.dev",
    "source.developers.google.com",
    ".googlesource.com",
];

/// The user name beside a token at Google's Git servers, as of their own helper (`google/googlesource-auth-tools`);
/// they check the token alone.
const GOOGLE_USERNAME: &str = "git-service-account";

/// An identity for a Git server.
#[derive(Clone, Debug, PartialEq)]
pub enum GitIdentity {
    /// The identity of this process at a cloud, or of a ServiceAccount (`spec.serviceAccountName`).
    Provider {
        provider: Provider,
        /// The ServiceAccount, instead of this process.
        service_account: Option<WorkloadIdentity>,
    },
    /// An installation of a GitHub App.
    GitHubApp(GitHubApp),
}

/// Without any secret.
impl fmt::Display for GitIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider {
                provider,
                service_account: None,
            } => write!(f, "{provider}"),
            Self::Provider {
                provider,
                service_account: Some(account),
            } => write!(f, "{provider} {}/{}", account.namespace, account.name),
            Self::GitHubApp(app) => write!(f, "{app}"),
        }
    }
}

/// The logins of one identity at one repository, for a transport that fetches them on demand.
#[derive(Debug)]
pub struct GitLogin {
    cloud: Arc<Cloud>,
    identity: GitIdentity,
    url: Url,
}

impl GitLogin {
    /// Creates the source of logins, without a request. `cloud` connects to GitHub's API and the clouds' services, not
    /// to the Git server.
    ///
    /// # Errors
    /// [`CloudError::Unfit`], in Flux' words, for an address that is not the provider's.
    pub fn new(cloud: Arc<Cloud>, identity: GitIdentity, url: &str) -> Result<Self, CloudError> {
        let parsed = Url::parse(url).map_err(|_| CloudError::Unfit(format!("failed to parse URL '{url}'")))?;
        if let GitIdentity::Provider { provider, .. } = &identity {
            is_of(*provider, &parsed)?;
        }
        Ok(Self {
            cloud,
            identity,
            url: parsed,
        })
    }
}

/// Checks that a repository belongs to a provider: a token is valid for all rights of the identity there, so no other
/// server gets one. Flux sends Azure's and Google's to any `spec.url`.
fn is_of(provider: Provider, url: &Url) -> Result<(), CloudError> {
    let (name, hosts): (_, &[&str]) = match provider {
        Provider::Aws => return codecommit::region(url).map(drop),
        Provider::Azure => ("Azure DevOps", &AZURE_HOSTS),
        Provider::Gcp => ("Google", &GOOGLE_HOSTS),
    };
    let host = host_of(url);
    let is_host = |known: &&str| {
        if known.starts_with('.') {
            host.strip_suffix(*known).is_some_and(|name| !name.is_empty())
        } else {
            host == *known
        }
    };
    if url.scheme() == "https" && url.port().is_none() && hosts.iter().any(is_host) {
        Ok(())
    } else {
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        let hosts: Vec<String> = hosts
            .iter()
            .map(|known| known.replacen('.', "*.", usize::from(known.starts_with('.'))))
            .collect();
        Err(CloudError::Unfit(format!(
            "invalid {name} Git URL: {}://{host}{port}. the token is sent to https:// at {} alone",
            url.scheme(),
            hosts.join(", ")
        )))
    }
}

impl FetchLogin for GitLogin {
    fn identity(&self) -> String {
        match &self.identity {
            GitIdentity::Provider {
                service_account: Some(account),
                ..
            } => format!("{} {:?}", self.identity, account.annotations),
            GitIdentity::Provider { .. } => self.identity.to_string(),
            GitIdentity::GitHubApp(app) => format!("{app} by the key {}", app.key_digest()),
        }
    }

    fn login(&self, refused: Option<&Login>, deadline: Deadline) -> Result<Login, FetchLoginError> {
        Ok(self.cloud.git_login(&self.identity, &self.url, refused, deadline)?)
    }
}

impl Cloud {
    /// Gets a login at a Git server. It is cached while it is fresh; one that the server `refused` is dropped, with the
    /// tokens that it was made from.
    ///
    /// # Errors
    /// [`CloudError::Unfit`] for an address that is not the provider's; otherwise [`CloudError::While`] with Flux'
    /// words around the cause.
    pub fn git_login(
        &self,
        identity: &GitIdentity,
        url: &Url,
        refused: Option<&Login>,
        deadline: Deadline,
    ) -> Result<Login, CloudError> {
        if let Some(refused) = refused {
            self.forget_login(refused);
        }
        match identity {
            GitIdentity::GitHubApp(app) => self.github_login(app, deadline),
            GitIdentity::Provider {
                provider,
                service_account,
            } => self.provider_login(*provider, service_account.as_ref(), url, deadline),
        }
    }

    /// The cache key includes the app's private key: its ids alone give no access to cached logins.
    fn github_login(&self, app: &GitHubApp, deadline: Deadline) -> Result<Login, CloudError> {
        let key = format!("{app} {}", app.fingerprint());
        let make = || app.login(self.services(), deadline);
        let login = self
            .kept
            .get(("git", &key), deadline, |made: &ExpiringLogin| made.expires, make);
        login.map(|login| login.login)
    }

    fn provider_login(
        &self,
        provider: Provider,
        account: Option<&WorkloadIdentity>,
        url: &Url,
        deadline: Deadline,
    ) -> Result<Login, CloudError> {
        is_of(provider, url)?;
        let no_token = |e: CloudError| Use::Git.without_token(e);
        match provider {
            Provider::Azure => {
                let token = self.entra_token(AzureCloud::Public, AZURE_DEVOPS, account, deadline);
                let token = token.map_err(no_token)?.token;
                Ok(Login::Bearer { token })
            }
            Provider::Gcp => {
                let token = self.google_token(account, deadline).map_err(no_token)?.token;
                Ok(Login::Basic {
                    username: Secret::new(GOOGLE_USERNAME),
                    password: token,
                })
            }
            Provider::Aws => {
                let region = codecommit::region(url)?;
                let with = self.aws_credentials(region, account, deadline).map_err(no_token)?;
                // The key id is new with each session, so the cached login ends with it.
                let key = format!("aws {} {url}", with.access_key_id);
                let make = || codecommit::login(url, &with, SystemTime::now());
                let login = self
                    .kept
                    .get(("git", &key), deadline, |made: &ExpiringLogin| made.expires, make);
                login.map(|login| login.login)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_for_the_providers_own_hosts() {
        use Provider::{Azure, Gcp};
        for (provider, url, good) in [
            (Azure, "https://dev.azure.com/org/project/_git/repo", true),
            (Azure, "https://org@dev.azure.com/org/project/_git/repo", true),
            (Azure, "https://DEV.azure.com:443/org/project/_git/repo", true),
            (Azure, "https://org.visualstudio.com/project/_git/repo", true),
            (Azure, "http://dev.azure.com/org/project/_git/repo", false),
            (Azure, "https://dev.azure.com:8443/org/project/_git/repo", false),
            (Azure, "https://visualstudio.com/project/_git/repo", false),
            (Azure, "https://.visualstudio.com/project/_git/repo", false),
            (Azure, "https://evilvisualstudio.com/project/_git/repo", false),
            (Azure, "https://dev.azure.com.evil.example/repo", false),
            (Azure, "https://dev.azure.com@evil.example/repo", false),
            (Azure, "https://evil.example/dev.azure.com", false),
            (Azure, "https://evil.example#.visualstudio.com", false),
            (Azure, "https://xdev.azure.com/repo", false),
            (Azure, "https://source.developers.google.com/p/p/r/r", false),
            (Gcp, "https://source.developers.google.com/p/project/r/repo", true),
            (
                Gcp,
                "https://me-1-git.us-central1.sourcemanager.dev/project/repo.git",
                true,
            ),
            (Gcp, "https://team.googlesource.com/repo", true),
            (Gcp, "http://source.developers.google.com/p/project/r/repo", false),
            (Gcp, "https://sourcemanager.dev/project/repo.git", false),
            (Gcp, "https://x.sourcemanager.dev.evil.example/repo", false),
            (Gcp, "https://dev.azure.com/org/project/_git/repo", false),
            (Gcp, "https://10.0.0.1/repo", false),
        ] {
            assert_eq!(
                is_of(provider, &Url::parse(url).unwrap()).is_ok(),
                good,
                "{provider} {url}"
            );
        }
        let said = is_of(Azure, &Url::parse("http://u:hunter2@git.example:3000/a").unwrap()).unwrap_err();
        assert_eq!(
            said.to_string(),
            "invalid Azure DevOps Git URL: http://git.example:3000. the token is sent to https:// at *.visualstudio.com, dev.azure.com \
             alone"
        );
    }
}
