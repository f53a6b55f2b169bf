//! A finding: what is wrong, and where.

use crate::Rule;

/// How bad a finding is; the worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Something that the check does not know.
    Note,
    /// Something that may go wrong.
    Warning,
    /// Something that goes wrong in the cluster.
    Error,
}

impl Severity {
    /// From the best to the worst.
    pub const ALL: [Self; 3] = [Self::Note, Self::Warning, Self::Error];

    /// `note`, `warning` or `error`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file, from the root of the repository or folder, with slashes.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// A Kustomization of a cluster, or a HelmRelease.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The cluster by its entry, such as `clusters/production`; None if there is one only.
    pub cluster: Option<String>,
    /// `namespace/name`; None for what no Kustomization builds, such as the entry itself.
    pub kustomization: Option<String>,
    /// `namespace/name` of the HelmRelease that installs the object; None for what a Kustomization builds.
    pub release: Option<String>,
    /// The template of the chart that the object comes from, such as `web/templates/deployment.yaml`, if it is known.
    pub template: Option<String>,
}

/// Something that is wrong, or that may go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    /// Which rule it breaks.
    pub rule: Rule,
    /// The rule's, unless the check knows better.
    pub severity: Severity,
    /// None if it is in no file.
    pub place: Option<Place>,
    /// `Kind namespace/name`, or `Kind name` of an object without a namespace.
    pub object: Option<String>,
    /// Where it was found: sorted, each once. Several when Kustomizations or clusters build the same file.
    pub origins: Vec<Origin>,
    /// What is wrong, in one sentence without a full stop. It holds no values of Secrets.
    pub message: String,
    /// What to do, if the rule's explanation can be made more precise.
    pub help: Option<String>,
    /// What it is about, where its message also has what changes by itself, such as a count.
    pub identity: Option<String>,
    /// Who said that it may be so, and why.
    pub acceptance: Option<Acceptance>,
}

/// Somebody has reviewed a finding and accepted it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Acceptance {
    /// Where it is said: `path:line`, or the name of a baseline.
    pub by: String,
    /// Why; none in a baseline.
    pub reason: Option<String>,
    /// Whether it is beside the object, as a comment or an annotation.
    pub is_in_source: bool,
}

impl Finding {
    /// A finding with the severity of its rule, so far without a place.
    #[must_use]
    pub fn new(rule: Rule, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity(),
            place: None,
            object: None,
            origins: Vec::new(),
            message: message.into(),
            help: None,
            identity: None,
            acceptance: None,
        }
    }

    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets the place; line and column are from 1.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>, line: usize, column: usize) -> Self {
        let path = path.into();
        self.place = Some(Place { path, line, column });
        self
    }

    /// Sets the object, as [`Finding::object`] has it.
    #[must_use]
    pub fn object(mut self, object: impl Into<String>) -> Self {
        self.object = Some(object.into());
        self
    }

    /// Sets the Kustomization, `namespace/name`.
    #[must_use]
    pub fn kustomization(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        match self.origins.last_mut() {
            Some(origin) => origin.kustomization = Some(name),
            None => self.origins.push(Origin {
                kustomization: Some(name),
                ..Origin::default()
            }),
        }
        self
    }

    /// Sets the HelmRelease, `namespace/name`, and the template of its chart.
    #[must_use]
    pub fn release(mut self, name: impl Into<String>, template: Option<String>) -> Self {
        self.origins.push(Origin {
            release: Some(name.into()),
            template,
            ..Origin::default()
        });
        self
    }

    /// Sets the cluster of all origins that have none.
    #[must_use]
    pub fn cluster(mut self, cluster: impl Into<String>) -> Self {
        if self.origins.is_empty() {
            self.origins.push(Origin::default());
        }
        let cluster = cluster.into();
        for origin in self.origins.iter_mut().filter(|origin| origin.cluster.is_none()) {
            origin.cluster = Some(cluster.clone());
        }
        self
    }

    /// Sets what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets what it is about.
    #[must_use]
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    #[must_use]
    pub fn accepted(mut self, acceptance: Acceptance) -> Self {
        self.acceptance = Some(acceptance);
        self
    }
}
