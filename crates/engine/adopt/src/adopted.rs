//! The objects that are written in the place of annotations and flags.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_api::RepositoryKind;
use bumpwright_policy::PolicyName;

/// How a tag is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The newest version in a range.
    Semver(String),
    /// The last one in the order of letters.
    Alphabetical,
    /// The highest number.
    Numerical,
}

/// An ImageRepository to be written, by what the other program was configured with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The image, without a tag.
    pub image: String,
    /// What it is a repository of.
    pub kind: RepositoryKind,
    /// Regular expressions of tags that do not count.
    pub exclusions: Vec<String>,
    /// How it is reached.
    pub access: Access,
}

/// How the host of an ImageRepository is reached: the fields of its `spec` of these names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// `secretRef`: the Secret with the login.
    pub secret: Option<String>,
    /// `certSecretRef`.
    pub certificates: Option<String>,
    /// `proxySecretRef`.
    pub proxy: Option<String>,
    /// `serviceAccountName`.
    pub service_account: Option<String>,
    pub provider: Option<String>,
    pub insecure: bool,
}

/// An ImagePolicy to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The name of its ImageRepository, which is in its namespace.
    pub repository: String,
    /// A regular expression of tags that count.
    pub filter: Option<String>,
    /// The part of a tag that is compared, by the groups of the filter; the whole tag by default.
    pub extract: Option<String>,
    pub rule: Rule,
    /// Whether the digest of the tag is written, too.
    pub digest: bool,
    pub annotations: BTreeMap<String, String>,
    pub labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Git {
    pub(crate) url: String,
    pub(crate) branch: String,
    pub(crate) secret: Option<String>,
}

/// All objects that are made.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) repositories: Kind<Repository>,
    pub(crate) policies: Kind<Policy>,
    pub(crate) sources: Kind<Git>,
    pub(crate) automations: Kind<Automation>,
    /// Those of the files, which are used where they say the same.
    pub(crate) known: Known,
    /// GitRepositories of the files that are used, and others that would do as well.
    pub(crate) alike: BTreeMap<PolicyName, Vec<PolicyName>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Automation {
    pub(crate) source: String,
    pub(crate) write_back: WriteBack,
    /// Labels of the policies that it takes; all policies of its namespace when there are none.
    pub(crate) labels: BTreeMap<String, String>,
    /// Folders with fields to update.
    pub(crate) folders: BTreeSet<String>,
    /// Whether nothing that it is for has moved, so that it is suspended.
    pub(crate) waits: bool,
}

/// Objects of a kind.
#[derive(Debug)]
pub struct Kind<T> {
    /// Those that are made, in their order.
    pub made: Vec<(PolicyName, T)>,
    pub(crate) taken: BTreeSet<PolicyName>,
}

/// Where updates are committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WriteBack {
    pub(crate) git: Git,
    /// The branch to push to, if it is another one.
    pub(crate) push: Option<String>,
    pub(crate) options: BTreeMap<String, String>,
    /// Annotations of the automation.
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) author: (String, String),
}

/// What each of the files' objects says.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) objects: Vec<(String, PolicyName, Said)>,
}

/// What a part of an object says: a text, a list or fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Text(String),
    List(Vec<Said>),
    Map(BTreeMap<String, Said>),
}
