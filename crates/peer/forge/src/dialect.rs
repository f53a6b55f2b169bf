//! What the APIs of forges have of their own in each request.

use super::ForgeApi;

/// How an API is spoken to.
#[derive(Debug)]
pub(super) struct Dialect {
    /// What it is called in errors.
    pub(super) name: &'static str,
    /// The headers of each request.
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) tokens: Tokens,
    /// The way out of a refusal with 403, after a semicolon.
    pub(super) forbidden: &'static str,
}

/// How a token is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tokens {
    /// As a bearer token, also the password of a user name: it is always a token.
    Bearer,
    /// With this word, and a password as what it is.
    OrPassword(&'static str),
}

const GITHUB: Dialect = Dialect {
    name: "github",
    headers: &[
        ("accept", "application/vnd.github+json"),
        ("x-github-api-version", "2022-11-28"),
    ],
    tokens: Tokens::Bearer,
    forbidden: "; the token needs write access to pull requests",
};

const GITEA: Dialect = Dialect {
    name: "gitea",
    headers: &[("accept", "application/json")],
    tokens: Tokens::OrPassword("token"),
    forbidden: "; the token needs the scope write:repository (for comments write:issue and read:user)",
};

pub(super) const GITLAB: Dialect = Dialect {
    name: "gitlab",
    headers: &[("accept", "application/json")],
    tokens: Tokens::Bearer,
    forbidden: "; the token needs the scope api, and the role Developer or a higher one",
};

pub(super) const GERRIT: Dialect = Dialect {
    name: "gerrit",
    headers: &[("accept", "application/json")],
    tokens: Tokens::OrPassword("Bearer"),
    forbidden: "; the account needs the right to read the project",
};

impl ForgeApi {
    pub(super) fn dialect(self) -> &'static Dialect {
        match self {
            Self::GitHub => &GITHUB,
            Self::Gitea => &GITEA,
        }
    }
}
