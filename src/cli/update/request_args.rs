//! The flags of `update` about the pull request of what is pushed.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use bumpwright_api::{MergeKind, PullRequestName};

/// The pull request; each flag but the first needs that, or its annotation.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Pull request")]
pub struct Request {
    /// Open a pull request for the pushed branch, or update the open one [default: guessed from the host; at GitLab use
    /// --push-option merge_request.create]
    #[arg(long, value_name = "FORGE", num_args = 0..=1, require_equals = true, value_parser = forge())]
    pub pull_request: Option<Option<Forge>>,

    /// The base branch of the pull request [default: the start branch]
    #[arg(long, value_name = "B", value_parser = NonEmptyStringValueParser::new())]
    pub pull_request_base: Option<String>,

    /// The API of the forge [default: derived from the repository's address]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    pub pull_request_api: Option<String>,

    /// Overwrite commits of others on the branch of the pull request; without it such a branch is left alone
    #[arg(long)]
    pub pull_request_overwrite: bool,

    /// File with a token for the API (or BUMPWRIGHT_PULL_REQUEST_TOKEN) [default: Git's credentials
    /// for the same server]
    #[arg(long, value_name = "FILE")]
    pub pull_request_token_file: Option<PathBuf>,

    /// Label the pull request when it is opened
    #[arg(long = "label", value_name = "NAME", value_delimiter = ',')]
    pub labels: Vec<PullRequestName>,

    /// Ask this user for a review when the pull request is opened, or a team: team:NAME
    #[arg(long = "reviewer", value_name = "USER", value_delimiter = ',')]
    pub reviewers: Vec<PullRequestName>,

    /// Assign the pull request to this user when it is opened
    #[arg(long = "assignee", value_name = "USER", value_delimiter = ',')]
    pub assignees: Vec<PullRequestName>,

    /// Open the pull request as a draft
    #[arg(long)]
    pub draft: bool,

    /// Have the forge merge the pull request as soon as its rules for the base branch are met [default method: merge]
    #[arg(long, value_name = "METHOD", num_args = 0..=1, require_equals = true, default_missing_value = "merge", value_parser = merge())]
    pub automerge: Option<MergeKind>,
}

impl Request {
    /// The flags, and whether they are given; those but the first only configure a request.
    pub(super) fn given(&self) -> [(&'static str, bool); 10] {
        [
            ("--pull-request", self.pull_request.is_some()),
            ("--pull-request-base", self.pull_request_base.is_some()),
            ("--pull-request-api", self.pull_request_api.is_some()),
            ("--pull-request-overwrite", self.pull_request_overwrite),
            ("--pull-request-token-file", self.pull_request_token_file.is_some()),
            ("--label", !self.labels.is_empty()),
            ("--reviewer", !self.reviewers.is_empty()),
            ("--assignee", !self.assignees.is_empty()),
            ("--draft", self.draft),
            ("--automerge", self.automerge.is_some()),
        ]
    }
}

/// APIs of forges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Forge {
    /// GitHub, also Enterprise
    Github,
    /// Gitea and Forgejo
    Gitea,
}

/// Reads the name of a forge. GitLab is known, to say how it is done there: its requests are made by the push itself.
fn forge() -> impl TypedValueParser<Value = Forge> {
    let names = [
        PossibleValue::new("github").help("GitHub, also Enterprise"),
        PossibleValue::new("gitea").help("Gitea and Forgejo"),
        PossibleValue::new("gitlab").hide(true),
    ];
    PossibleValuesParser::new(names).try_map(|name| {
        Forge::from_str(&name, false).map_err(|_| {
            "GitLab opens merge requests by itself when it is pushed to: leave this flag out, and give --push-branch B \
             --push-option merge_request.create"
        })
    })
}

/// Reads how a request is merged.
fn merge() -> impl TypedValueParser<Value = MergeKind> {
    let help = |kind| match kind {
        MergeKind::Merge => "By a merge commit",
        MergeKind::Squash => "As one commit",
        MergeKind::Rebase => "Commit by commit",
    };
    let words = MergeKind::ALL.map(|kind| PossibleValue::new(kind.word()).help(help(kind)));
    PossibleValuesParser::new(words).try_map(|word| MergeKind::of_word(&word).ok_or("no such way to merge"))
}
