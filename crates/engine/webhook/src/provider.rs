//! The supported senders, and their names in paths and in the Secret.

use std::fmt;

/// A sender of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provider {
    /// GitHub, its Enterprise Server, and packages of the registry `ghcr.io`.
    GitHub,
    GitLab,
    /// Gitea and Forgejo, with their registries.
    Gitea,
    /// Bitbucket Cloud and Bitbucket Data Center.
    Bitbucket,
    /// Any sender of a small signed JSON document, such as a pipeline.
    GenericHmac,
    DockerHub,
    /// Registries with CNCF distribution's notifications.
    Registry,
    Harbor,
    Quay,
    /// Google's registries, through a push subscription of Pub/Sub.
    Gcr,
    /// Azure's registries.
    Acr,
    /// Sonatype Nexus.
    Nexus,
}

/// Names in paths and entries; the first of a provider is shown in messages.
const NAMES: &[(&str, Provider)] = &[
    ("github", Provider::GitHub),
    ("gitlab", Provider::GitLab),
    ("gitea", Provider::Gitea),
    ("forgejo", Provider::Gitea),
    ("bitbucket", Provider::Bitbucket),
    ("generic-hmac", Provider::GenericHmac),
    ("dockerhub", Provider::DockerHub),
    ("registry", Provider::Registry),
    ("harbor", Provider::Harbor),
    ("quay", Provider::Quay),
    ("gcr", Provider::Gcr),
    ("acr", Provider::Acr),
    ("nexus", Provider::Nexus),
];

impl Provider {
    /// The provider with this name: `github`, `gitlab`, `gitea` or `forgejo`, …
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, provider)| *provider)
    }

    /// The name in paths and entries.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, known)| *known == self)
            .map_or("", |(name, _)| name)
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
