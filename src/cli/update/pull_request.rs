//! The pull request of a run, from flags, annotations and Secrets.

use std::sync::Arc;

use super::request_args;
use super::typed::Typed;
use crate::cli::access::{self, PULL_REQUEST_TOKEN as TOKEN};
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::words;
use bumpwright_api::{
    API_URL, BRANCH, ForgeKind, ImageUpdateAutomation, ObjectName, PullRequestAnnotations, PullRequestName,
    PullRequestSetup, api_url, branch_name,
};
use bumpwright_connect as connect;
use bumpwright_forge::{ForgeApi, Login, Repository};
use bumpwright_git::Remote;
use bumpwright_update::{PullRequest, forge_kind};

impl From<request_args::Forge> for ForgeKind {
    fn from(forge: request_args::Forge) -> Self {
        match forge {
            request_args::Forge::Github => Self::GitHub,
            request_args::Forge::Gitea => Self::Gitea,
        }
    }
}

impl Typed<'_> {
    /// The pull request of flags or annotations; flags take precedence.
    pub(super) fn pull_request(
        &self,
        automation: Option<&ImageUpdateAutomation>,
        remote: &Remote,
        notes: &mut Vec<String>,
    ) -> Result<Option<PullRequest>, CliError> {
        let said = match automation {
            Some(automation) => automation.pull_request()?,
            None => PullRequestAnnotations::default(),
        };
        let Some(kind) = self.forge_kind(&said, remote)? else {
            self.refuse_lone_flags()?;
            if said != PullRequestAnnotations::default() {
                notes.push(
                    "no pull request is opened: the annotation bumpwright.dev/pull-request (github or gitea) is not there"
                        .to_owned(),
                );
            }
            return Ok(None);
        };
        let git = connect::git_address(remote)?;
        let api = match &self.args.request.pull_request_api {
            Some(text) => Some(
                api_url(text)
                    .ok_or_else(|| CliError::new(format!("--pull-request-api {text:?}: expected {API_URL}")))?,
            ),
            None => said.api.clone(),
        };
        let base = match &self.args.request.pull_request_base {
            Some(text) => Some(
                branch_name(text)
                    .ok_or_else(|| CliError::new(format!("--pull-request-base {text:?}: expected {BRANCH}")))?,
            ),
            None => said.base.clone(),
        };
        let repository = Repository::locate(kind, git, api.as_ref()).at("pull request")?;
        let login = match self.named_login(automation, &said, (remote, &repository), notes)? {
            Some(login) => login,
            None if self.is_dry(automation) => Login::Nobody,
            None => connect::own_login(remote, &repository).ok_or_else(|| no_token(&repository))?,
        };
        Ok(Some(PullRequest {
            base,
            forge: Arc::new(connect::forge(kind, repository, login, remote)?),
            overwrite: self.args.request.pull_request_overwrite || said.overwrite,
            setup: self.with_flags(said.setup),
        }))
    }

    /// What the request is given; each flag counts in the place of its annotation.
    fn with_flags(&self, said: PullRequestSetup) -> PullRequestSetup {
        let args = &self.args.request;
        let names = |flags: &[PullRequestName], said: Vec<PullRequestName>| {
            if flags.is_empty() { said } else { flags.to_vec() }
        };
        PullRequestSetup {
            labels: names(&args.labels, said.labels),
            reviewers: names(&args.reviewers, said.reviewers),
            assignees: names(&args.assignees, said.assignees),
            draft: args.draft || said.draft,
            merge: args.automerge.or(said.merge),
        }
    }

    /// The API of the forge, if a request is wanted.
    fn forge_kind(&self, said: &PullRequestAnnotations, remote: &Remote) -> Result<Option<ForgeApi>, CliError> {
        let host = remote.url.host();
        match (self.args.request.pull_request, said.kind) {
            (None, None) => Ok(None),
            (Some(Some(forge)), _) => Ok(Some(forge_kind(ForgeKind::from(forge)))),
            (_, Some(kind)) => Ok(Some(forge_kind(kind))),
            (Some(None), None) => match host.and_then(ForgeApi::of_host) {
                Some(kind) => Ok(Some(kind)),
                None if host.is_some_and(|host| host.contains("gitlab")) => Err(CliError::new(format!(
                    "--pull-request: {} seems to be GitLab, which opens merge requests by push options: leave the flag out and give \
                     --push-branch B --push-option merge_request.create; for another forge write --pull-request=github or --pull-request=gitea",
                    remote.url
                ))),
                None => Err(CliError::new(format!(
                    "--pull-request: {} does not tell which API it speaks",
                    remote.url
                ))
                .hint(
                    "write --pull-request=github or --pull-request=gitea; for GitLab, leave the flag out and give --push-branch B \
                     --push-option merge_request.create",
                )),
            },
        }
    }

    /// Flags that only configure a request that is not asked for.
    fn refuse_lone_flags(&self) -> Result<(), CliError> {
        let given = self.args.request.given();
        match given.iter().skip(1).find(|(_, given)| *given) {
            Some((flag, _)) => Err(CliError::new(format!(
                "{flag} needs --pull-request, or the annotation bumpwright.dev/pull-request"
            ))),
            None => Ok(()),
        }
    }

    /// A token for this purpose: from the flag, the automation, or the environment.
    fn named_login(
        &self,
        automation: Option<&ImageUpdateAutomation>,
        said: &PullRequestAnnotations,
        (remote, repository): (&Remote, &Repository),
        notes: &mut Vec<String>,
    ) -> Result<Option<Login>, CliError> {
        let is_own = self.is_own_forge(automation, repository);
        if let Some(file) = self.args.request.pull_request_token_file.as_ref().filter(|_| is_own) {
            return access::secret_file(file).map(|token| Some(Login::Token(token)));
        }
        if let (Some(automation), Some(name)) = (automation, &said.secret) {
            let name = ObjectName::new(automation.metadata.namespace_or_default(), name);
            match self.objects.secret(&name) {
                // Tokens of manifests are for the server that they name, unless they also name the API.
                Some(_) if said.api.is_none() && !self.is_at_home(automation, remote) => notes.push(format!(
                    "the secret '{name}' is not sent to another server: using flags, {TOKEN} or your own Git credentials"
                )),
                Some(secret) => {
                    let token = secret.text("token")?;
                    let token = token.ok_or_else(|| format!("secret '{name}' has no token, for pull requests"))?;
                    let token = access::one_line(token.trim_end_matches(['\r', '\n']))
                        .map_err(|why| format!("secret '{name}': the value of token, for pull requests, {why}"))?;
                    return Ok(Some(Login::Token(token)));
                }
                None => notes.push(format!(
                    "secret '{name}' is not among the manifests: using flags, {TOKEN} or your own Git credentials"
                )),
            }
        }
        let token = access::variable(TOKEN)?;
        if !is_own && (token.is_some() || self.args.request.pull_request_token_file.is_some()) {
            let why = CliError::new(format!(
                "the token of flags or {TOKEN} is not sent to {repository}, which only a manifest names: name the API with --pull-request-api, or \
                 its server with --git-server (BUMPWRIGHT_GIT_SERVER)"
            ));
            if !self.is_dry(automation) {
                return Err(why);
            }
            notes.push(why.to_string());
            return Ok(None);
        }
        Ok(token.map(Login::Token))
    }

    /// Whether the user has named the forge, or its server: not only a manifest.
    fn is_own_forge(&self, automation: Option<&ImageUpdateAutomation>, repository: &Repository) -> bool {
        automation.is_none() || self.args.request.pull_request_api.is_some() || self.own_servers.serve(repository)
    }

    /// Returns whether the remote is the server of the automation's GitRepository.
    fn is_at_home(&self, automation: &ImageUpdateAutomation, remote: &Remote) -> bool {
        let repository = self.objects.git_repository(&automation.source_name());
        repository.is_some_and(|repository| access::same_server(&remote.url.to_string(), &repository.spec.url))
    }

    /// A token from the environment is for one host only.
    pub(super) fn refuse_spread_token(&self, automations: &[&ImageUpdateAutomation]) -> Result<(), CliError> {
        if access::variable(TOKEN)?.is_none() {
            return Ok(());
        }
        let host = |automation: &&ImageUpdateAutomation| {
            let said = automation
                .pull_request()
                .ok()
                .filter(|said| said.kind.is_some() && said.secret.is_none())?;
            let repository = self.objects.git_repository(&automation.source_name())?;
            let api = said.api.as_ref().and_then(|api| api.host_str()).map(str::to_owned);
            api.or_else(|| access::host(&repository.spec.url))
        };
        let mut hosts: Vec<String> = automations
            .iter()
            .filter(|a| !a.spec.suspend)
            .filter_map(host)
            .collect();
        hosts.sort();
        hosts.dedup();
        match hosts.len() {
            0 | 1 => Ok(()),
            _ => Err(CliError::new(format!(
                "{TOKEN} would go to several hosts ({}): run the automations one by one, or give Secrets",
                words::some(&hosts)
            ))),
        }
    }
}

fn no_token(repository: &Repository) -> CliError {
    CliError::new(format!(
        "no token for the pull requests of {repository}: give --pull-request-token-file, {TOKEN}, or a Secret by the \
         annotation bumpwright.dev/pull-request-secret"
    ))
}
