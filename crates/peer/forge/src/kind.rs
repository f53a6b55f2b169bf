//! The APIs of forges.

use std::fmt;

/// The API of a forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeApi {
    /// GitHub, GitHub Enterprise Cloud and Server.
    GitHub,
    /// Gitea and Forgejo.
    Gitea,
}

impl ForgeApi {
    /// The API of a host whose name is unambiguous.
    #[must_use]
    pub fn of_host(host: &str) -> Option<Self> {
        let host = host.to_ascii_lowercase();
        let github = matches!(host.as_str(), "github.com" | "www.github.com" | "ssh.github.com");
        (github || host.ends_with(".ghe.com")).then_some(Self::GitHub)
    }
}

impl fmt::Display for ForgeApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GitHub => "github",
            Self::Gitea => "gitea",
        })
    }
}
