//! Logins at Git servers: GitHub Apps, Azure DevOps, AWS CodeCommit, Google's repositories (CONTRACT N-004 to N-006;
//! `fluxcd/pkg/auth`, *GetGitCredentials*).

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use url::Url;

use super::github_app::GitHubApp;
use super::{AzureCloud, Cloud, CloudError, Provider, Use, WorkloadIdentity, aws_codecommit};
use crate::net::{Deadline, FetchLogin, Login, Secret};

/// Azure DevOps itself, for which tokens are asked.
const AZURE_DEVOPS: &str = "499b84ac-1321-427f-aa17-267ca6975798/.default";
/// The name beside a token at Google's Git servers, as their own helper gives it (`google/googlesource-auth-tools`); they
/// look at the token alone.
const GOOGLE_USERNAME: &str = "git-service-account";

/// Who asks a Git server.
#[derive(Clone, Debug, PartialEq)]
pub enum GitIdentity {
    /// Who this process is at a cloud, or a ServiceAccount (`spec.serviceAccountName`).
    Provider {
        /// The cloud.
        provider: Provider,
        /// Whose identity it is instead of this process' own.
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

/// A login and its end, if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lasting {
    pub(super) login: Login,
    pub(super) expires: Option<SystemTime>,
}

/// The logins of one identity at one repository, for a transport that asks for them when it needs them.
#[derive(Debug)]
pub struct GitLogin {
    cloud: Arc<Cloud>,
    identity: GitIdentity,
    url: Url,
}

impl GitLogin {
    /// Nothing is asked yet. The server is reached by others; `cloud` says how GitHub's API and the clouds' services are.
    ///
    /// # Errors
    /// [`CloudError::Unfit`], in Flux' words, for an address that is not the provider's.
    pub fn new(cloud: Arc<Cloud>, identity: GitIdentity, url: &str) -> Result<Self, CloudError> {
        let parsed = Url::parse(url).map_err(|_| CloudError::Unfit(format!("failed to parse URL '{url}'")))?;
        if let GitIdentity::Provider {
            provider: Provider::Aws,
            ..
        } = identity
        {
            aws_codecommit::region(&parsed)?;
        }
        Ok(Self {
            cloud,
            identity,
            url: parsed,
        })
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

    fn login(&self, refused: Option<&Login>, deadline: Deadline) -> Result<Login, String> {
        let made = self.cloud.git_login(&self.identity, &self.url, refused, deadline);
        made.map_err(|e| e.to_string())
    }
}

impl Cloud {
    /// A login at a Git server. It is kept while it is fresh; one that the server `refused` is let go, with what it was made
    /// of.
    ///
    /// # Errors
    /// [`CloudError::Unfit`] for an address that is not the provider's; otherwise [`CloudError::While`] with Flux' words
    /// around what failed.
    pub fn git_login(
        &self,
        identity: &GitIdentity,
        url: &Url,
        refused: Option<&Login>,
        deadline: Deadline,
    ) -> Result<Login, CloudError> {
        if let Some(refused) = refused {
            self.let_go(refused);
        }
        match identity {
            GitIdentity::GitHubApp(app) => self.github_login(app, deadline),
            GitIdentity::Provider {
                provider,
                service_account,
            } => self.provider_login(*provider, service_account.as_ref(), url, deadline),
        }
    }

    /// An app with another key is another one: whoever has but its numbers gets nothing that is kept.
    fn github_login(&self, app: &GitHubApp, deadline: Deadline) -> Result<Login, CloudError> {
        let key = format!("{app} {}", app.fingerprint());
        let make = || app.login(self.services(), deadline);
        let kept = self
            .kept
            .get(("git", &key), deadline, |made: &Lasting| made.expires, make);
        kept.map(|kept| kept.login)
    }

    fn provider_login(
        &self,
        provider: Provider,
        account: Option<&WorkloadIdentity>,
        url: &Url,
        deadline: Deadline,
    ) -> Result<Login, CloudError> {
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
                let region = aws_codecommit::region(url)?;
                let with = self.aws_credentials(region, account, deadline).map_err(no_token)?;
                // The key's name is new with each session, so what is kept ends with it.
                let key = format!("aws {} {url}", with.access_key_id);
                let make = || aws_codecommit::login(url, &with, SystemTime::now());
                let kept = self
                    .kept
                    .get(("git", &key), deadline, |made: &Lasting| made.expires, make);
                kept.map(|kept| kept.login)
            }
        }
    }
}
