//! The job of CI that a review runs in, by its environment: where its repository is, and which request it is for.

use std::path::Path;

use bumpwright_api::{API_URL, api_url};
use bumpwright_forge::{ForgeApi, GitAddress, Repository, ReviewApi};
use serde_json::Value;
use url::Url;

use crate::cli::error::{Attempt as _, CliError};

/// The API of Gitea and Forgejo ends so.
const GITEA: &str = "/api/v1";

/// Looks up a variable; an empty one counts as unset.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A job at a forge.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CiJob {
    pub(super) api: ReviewApi,
    pub(super) repository: Repository,
    /// Its pull or merge request; none if something else started it.
    pub(super) number: Option<u64>,
}

impl CiJob {
    /// The job of GitHub Actions, which Gitea and Forgejo imitate, or of GitLab CI; none elsewhere.
    ///
    /// # Errors
    /// A variable, or the file with the event, is missing or invalid; for users.
    pub(super) fn of(variable: Lookup<'_>) -> Result<Option<Self>, CliError> {
        let is_true = |name: &str| variable(name).is_some_and(|value| value == "true");
        if is_true("GITLAB_CI") {
            return Self::at_gitlab(variable).map(Some);
        }
        if ["GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS"]
            .into_iter()
            .any(is_true)
        {
            return Self::of_actions(variable).map(Some);
        }
        Ok(None)
    }

    fn of_actions(variable: Lookup<'_>) -> Result<Self, CliError> {
        let api = variable("GITHUB_API_URL");
        let is_gitea = api
            .as_ref()
            .is_some_and(|api| api.trim_end_matches('/').ends_with(GITEA))
            || ["GITEA_ACTIONS", "FORGEJO_ACTIONS"]
                .into_iter()
                .any(|name| variable(name).is_some());
        let kind = ReviewApi::Forge(if is_gitea { ForgeApi::Gitea } else { ForgeApi::GitHub });
        let api = api.map(|api| url_of("GITHUB_API_URL", &api)).transpose()?;
        let server = needed(variable, "GITHUB_SERVER_URL")?;
        let address = format!(
            "{}/{}",
            server.trim_end_matches('/'),
            needed(variable, "GITHUB_REPOSITORY")?
        );
        let address = url_of("GITHUB_SERVER_URL", &address)?;
        let event = variable("GITHUB_EVENT_PATH");
        Ok(Self {
            api: kind,
            repository: kind.locate(GitAddress::Web(&address), api.as_ref())?,
            number: event
                .map(|file| number_of_event(Path::new(&file)))
                .transpose()?
                .flatten(),
        })
    }

    /// The project of a merge request is the one that it is for, also in a job of a fork.
    fn at_gitlab(variable: Lookup<'_>) -> Result<Self, CliError> {
        let project = match variable("CI_MERGE_REQUEST_PROJECT_PATH") {
            Some(path) => path,
            None => needed(variable, "CI_PROJECT_PATH")?,
        };
        let (owner, name) = project.rsplit_once('/').ok_or_else(|| {
            CliError::new(format!("{project:?} is not the path of a project: expected GROUP/NAME"))
                .at("CI_PROJECT_PATH")
        })?;
        let number = variable("CI_MERGE_REQUEST_IID");
        let number = number.map(|number| number.parse::<u64>()).transpose();
        Ok(Self {
            api: ReviewApi::GitLab,
            repository: Repository {
                api: url_of("CI_API_V4_URL", &needed(variable, "CI_API_V4_URL")?)?,
                owner: owner.to_owned(),
                name: name.to_owned(),
            },
            number: number.at("CI_MERGE_REQUEST_IID")?,
        })
    }
}

fn needed(variable: Lookup<'_>, name: &str) -> Result<String, CliError> {
    variable(name).ok_or_else(|| CliError::new("the job of CI does not have this variable").at(name))
}

fn url_of(name: &str, text: &str) -> Result<Url, CliError> {
    api_url(text).ok_or_else(|| CliError::new(format!("{text:?} is invalid: expected {API_URL}")).at(name))
}

/// The number of the pull request in the file of an event: of one about it, or of a comment at it.
fn number_of_event(file: &Path) -> Result<Option<u64>, CliError> {
    let bytes = std::fs::read(file).at(file.display()).at("GITHUB_EVENT_PATH")?;
    let event: Value = serde_json::from_slice(&bytes)
        .at(file.display())
        .at("GITHUB_EVENT_PATH")?;
    Ok(number(&event))
}

fn number(event: &Value) -> Option<u64> {
    let of_comment = || {
        event.pointer("/issue/pull_request").filter(|one| one.is_object())?;
        event.pointer("/issue/number")
    };
    event.pointer("/pull_request/number").or_else(of_comment)?.as_u64()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn job(pairs: &[(&str, &str)]) -> Result<Option<CiJob>, CliError> {
        let variable = |name: &str| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        CiJob::of(&variable)
    }

    #[test]
    fn a_job_is_at_the_forge_of_its_environment() {
        const GITHUB: [(&str, &str); 2] = [("GITHUB_ACTIONS", "true"), ("GITHUB_REPOSITORY", "o/app")];
        for (more, api, url) in [
            (
                &[
                    ("GITHUB_SERVER_URL", "https://github.com"),
                    ("GITHUB_API_URL", "https://api.github.com"),
                ][..],
                ForgeApi::GitHub,
                "https://api.github.com/",
            ),
            (
                &[("GITHUB_SERVER_URL", "https://ghe.example")],
                ForgeApi::GitHub,
                "https://ghe.example/api/v3",
            ),
            (
                &[
                    ("GITHUB_SERVER_URL", "http://h:3000/git"),
                    ("GITHUB_API_URL", "http://h:3000/git/api/v1"),
                ],
                ForgeApi::Gitea,
                "http://h:3000/git/api/v1",
            ),
            (
                &[("GITHUB_SERVER_URL", "https://h"), ("FORGEJO_ACTIONS", "true")],
                ForgeApi::Gitea,
                "https://h/api/v1",
            ),
        ] {
            let job = job(&[&GITHUB[..], more].concat()).unwrap().unwrap();
            assert_eq!(job.api, ReviewApi::Forge(api), "{more:?}");
            let found = job.repository;
            assert_eq!((found.api.as_str(), &*found.owner, &*found.name), (url, "o", "app"));
            assert_eq!(job.number, None);
        }
        assert!(job(&GITHUB).is_err() && job(&[]).unwrap().is_none());
    }

    #[test]
    fn a_merge_request_is_of_the_project_that_it_is_for() {
        let of = |more: &[(&str, &str)]| {
            let api = ("CI_API_V4_URL", "https://git.example/gitlab/api/v4");
            let project = ("CI_PROJECT_PATH", "eve/app");
            job(&[&[("GITLAB_CI", "true"), api, project][..], more].concat())
        };
        let request = ("CI_MERGE_REQUEST_IID", "7");
        let own = of(&[request, ("CI_MERGE_REQUEST_PROJECT_PATH", "o/team/app")])
            .unwrap()
            .unwrap();
        let found = own.repository;
        assert_eq!((own.api, own.number), (ReviewApi::GitLab, Some(7)));
        assert_eq!(
            (found.api.as_str(), &*found.owner, &*found.name),
            ("https://git.example/gitlab/api/v4", "o/team", "app")
        );
        let branch = of(&[]).unwrap().unwrap();
        assert_eq!((branch.number, &*branch.repository.owner), (None, "eve"));
        assert!(of(&[("CI_MERGE_REQUEST_IID", "x")]).is_err());
    }

    #[test]
    fn an_event_is_of_a_pull_request_or_of_a_comment_at_one() {
        for (event, expected) in [
            (json!({"pull_request": {"number": 7}}), Some(7)),
            (json!({"issue": {"number": 7, "pull_request": {"url": "u"}}}), Some(7)),
            (json!({"issue": {"number": 7}}), None),
            (json!({"issue": {"number": 7, "pull_request": null}}), None),
            (json!({"schedule": "17 * * * *"}), None),
            (json!([]), None),
        ] {
            assert_eq!(number(&event), expected, "{event}");
        }
    }
}
