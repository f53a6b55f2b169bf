//! The one comment with a review at its pull or merge request.

use std::thread;
use std::time::{Duration, SystemTime};

use bumpwright_api::{API_URL, api_url};
use bumpwright_connect as connect;
use bumpwright_forge::{ForgeError, Login, Repository, ReviewApi, ReviewServer};
use bumpwright_gostd::Time;
use bumpwright_http::{Deadline, Job, Peer};
use bumpwright_secret::Secret;
use url::Url;

use super::job::CiJob;
use crate::cli::access::{self, Access, PULL_REQUEST_TOKEN};
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::fleet::args::{Reading, Review};
use crate::cli::fleet::open;
use crate::cli::fleet::review_args::CommentArgs;

/// The time limit of all requests without `--timeout`.
const LIMIT: Duration = Duration::from_secs(60);

/// The pauses before a forge that fails is asked again.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9)];

/// The comment to keep.
pub(super) struct Comment {
    server: ReviewServer,
    number: u64,
    /// Its first line.
    mark: String,
    limit: Duration,
}

/// Why there is no comment. None of it is an error of the review.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoComment {
    #[error("no comment: a pull or merge request did not start this job")]
    NoRequest,
    #[error(
        "the comment was not written: no token for the requests of {0}: give --pull-request-token-file or \
         BUMPWRIGHT_PULL_REQUEST_TOKEN, which jobs for forks do not get"
    )]
    NoToken(String),
    /// Its text ends with the rights that are missing.
    #[error("the comment was not written: {0}, which jobs for forks do not get")]
    NoRights(Box<ForgeError>),
    #[error("the comment was not written: {0}")]
    Forge(Box<ForgeError>),
}

impl From<ForgeError> for NoComment {
    fn from(error: ForgeError) -> Self {
        match &error {
            ForgeError::Refused { status, .. } if status.as_u16() == 403 => Self::NoRights(Box::new(error)),
            _ => Self::Forge(Box::new(error)),
        }
    }
}

/// Where a comment is kept.
struct Place {
    api: ReviewApi,
    repository: Repository,
    /// None without a login.
    login: Option<Login>,
}

impl Comment {
    /// The comment that the arguments ask for, if they do. Nothing is connected yet.
    ///
    /// # Errors
    /// An argument or a variable is missing or invalid; for users.
    pub(super) fn wanted(args: &Review) -> Result<Option<Result<Self, NoComment>>, CliError> {
        let Some(typed) = args.comment.comment else {
            return Ok(None);
        };
        let api = typed.map(ReviewApi::from);
        let job = CiJob::of(&variable)?;
        // A job at another kind of forge than the one that is named is that of a mirror.
        let job = job.filter(|job| api.is_none_or(|api| api == job.api));
        let number = match (args.comment.request, &job) {
            (Some(number), _) => number,
            (None, Some(job)) => match job.number {
                Some(number) => number,
                None => return Ok(Some(Err(NoComment::NoRequest))),
            },
            (None, None) => {
                let error = CliError::new("--comment: this is not a job of CI whose request is known");
                return Err(error.hint("give the number of the request with --request"));
            }
        };
        let place = match job.filter(|_| args.comment.pull_request_api.is_none()) {
            Some(job) => of_job(&args.comment, job)?,
            None => of_repository(&args.comment, &args.reading, api)?,
        };
        let Some(login) = place.login else {
            return Ok(Some(Err(NoComment::NoToken(place.repository.to_string()))));
        };
        let limit = args.reading.timeout.map_or(LIMIT, |typed| typed.as_std());
        let peer = Peer {
            timeout: limit,
            ..Peer::default()
        };
        Ok(Some(Ok(Self {
            server: ReviewServer::new(place.api, place.repository, login, peer),
            number,
            mark: mark(args.comment.comment_name.as_deref()),
            limit,
        })))
    }

    /// Writes the comment, or changes it; one that says nothing is not begun. A forge that fails or limits requests is
    /// asked again until the time limit. Blocks.
    ///
    /// # Errors
    /// [`ForgeError`]
    pub(super) fn keep(&self, text: &str, is_needed: bool) -> Result<(), ForgeError> {
        Job::within(self.limit, || {
            let deadline = Deadline::after(self.limit);
            let mut pauses = PAUSES.iter();
            loop {
                let kept = self.server.keep_comment(self.number, &self.mark, text, is_needed);
                let Err(error) = kept else {
                    return Ok(());
                };
                let Some(own) = pauses.next().filter(|_| error.is_passing()) else {
                    return Err(error);
                };
                let pause = error.pause(now()).map_or(*own, |asked| asked.max(*own));
                if pause >= deadline.left() {
                    return Err(error);
                }
                thread::sleep(pause);
            }
        })
    }
}

/// The place of a job's own forge, which its environment names: also the server that `GITHUB_TOKEN` is of.
fn of_job(args: &CommentArgs, job: CiJob) -> Result<Place, CliError> {
    let token = match token(args)? {
        None if job.api != ReviewApi::GitLab => access::variable("GITHUB_TOKEN")?,
        typed => typed,
    };
    Ok(Place {
        api: job.api,
        repository: job.repository,
        login: token.map(Login::Token),
    })
}

/// The place of the repository that is read, with Git's own login for the same server.
fn of_repository(args: &CommentArgs, reading: &Reading, api: Option<ReviewApi>) -> Result<Place, CliError> {
    let address = open::address(reading)?;
    let address = address.ok_or_else(|| {
        CliError::new("--comment: the repository has no remote")
            .hint("add the one of the forge with: git remote add origin URL")
    })?;
    let remote = access::plain(&address, &Access::default()).at("--comment")?;
    let git = connect::git_address(&remote).at("--comment")?;
    let api = api.or_else(|| ReviewApi::of_host(git.host()));
    let api = api.ok_or_else(|| {
        CliError::new(format!("--comment: the API of {} is not known", remote.url))
            .hint("write --comment=github, --comment=gitea or --comment=gitlab")
    })?;
    let repository = api.locate(git, typed_api(args)?.as_ref()).at("--comment")?;
    let login = match token(args)? {
        Some(token) => Some(Login::Token(token)),
        None => connect::own_login(&remote, &repository),
    };
    Ok(Place { api, repository, login })
}

fn typed_api(args: &CommentArgs) -> Result<Option<Url>, CliError> {
    let read = |text: &String| {
        let url = api_url(text);
        url.ok_or_else(|| CliError::new(format!("--pull-request-api {text:?}: expected {API_URL}")))
    };
    args.pull_request_api.as_ref().map(read).transpose()
}

/// The token of the flag or of its variable.
fn token(args: &CommentArgs) -> Result<Option<Secret>, CliError> {
    match &args.pull_request_token_file {
        Some(file) => access::secret_file(file).map(Some),
        None => access::variable(PULL_REQUEST_TOKEN),
    }
}

/// The first line of our comment. Those of reviews in a cluster have another one.
fn mark(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("<!-- bumpwright:review {name} -->"),
        None => "<!-- bumpwright:review -->".to_owned(),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The clock, in seconds since 1970-01-01 UTC.
fn now() -> i64 {
    Time::from(SystemTime::now()).unix_seconds()
}
