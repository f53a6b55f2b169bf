//! Why no policy is proposed, with the way out.

use bumpwright_policy::{InvalidPolicy, NoTag, PolicyName};
use bumpwright_text::between;
use thiserror::Error;

/// No policy fits a tag in use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}{}", between("; ", .also.as_ref(), ""))]
pub struct NoShape {
    #[source]
    pub problem: Misfit,
    /// What else the registry has, where that helps.
    pub also: Option<String>,
}

impl From<Misfit> for NoShape {
    fn from(problem: Misfit) -> Self {
        Self { problem, also: None }
    }
}

/// Why no policy fits a tag.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Misfit {
    /// It is not a tag.
    #[error("what is written there is not a tag: write one that the registry has")]
    NoTag,
    /// It is of one request for review.
    #[error("{0} is the build of one request for review, which no other build follows")]
    Request(String),
    /// No hyphen comes after its version.
    #[error(
        "{0} has something behind its version without a hyphen between them, which no policy can order with the release"
    )]
    Glued(String),
    /// It has a commit alone.
    #[error(
        "{0} names a commit, and nothing in it says which build is newer; have builds tagged as main-<commit>-<time>, and \
         write such a tag here"
    )]
    Commit(String),
    /// The registry does not have it, and it is not a version.
    #[error("the registry has no tag {0}: write one that it has")]
    Missing(String),
    /// All like it are older.
    #[error("the registry has no tag like {0} that is not older: write one that it has")]
    Older(String),
    /// Two like it are the newest.
    #[error("{one} and {other} cannot be ordered: nothing in them says which is newer; write a tag of another series")]
    Unordered { one: String, other: String },
    /// The policy for it alone would choose another.
    #[error("a policy for {tag} alone would choose {chosen}")]
    NotAlone { tag: String, chosen: String },
    /// A policy would choose one of another series, or an older one.
    #[error("a policy for tags like {tag} would choose {chosen}")]
    Chooses { tag: String, chosen: String },
    /// A policy would take one of another series, too.
    #[error("a policy for tags like {tag} would take {stray} too")]
    Takes { tag: String, stray: String },
    /// A policy would choose none.
    #[error("a policy for tags like {tag} fails: {problem}")]
    Fails {
        tag: String,
        #[source]
        problem: NoTag,
    },
    /// The policy for it alone would choose none.
    #[error(transparent)]
    NoChoice(#[from] NoTag),
    /// The policy is not valid.
    #[error(transparent)]
    Invalid(#[from] InvalidPolicy),
    /// No kind of policy can express the series.
    #[error("no policy fits it")]
    NoForm,
}

/// No policy is proposed for a use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum NoPolicy {
    /// No policy fits its tag.
    #[error(transparent)]
    Shape(#[from] NoShape),
    /// Renovate does not follow tags like it.
    #[error("{0} says no version, and Renovate pins no digests (pinDigests): write a version")]
    NoPins(String),
    /// Renovate's bound is on versions.
    #[error("{tag} has no version that {range} could bound: write the policy by hand")]
    Unbound { tag: String, range: String },
    /// The policy with Renovate's bound is not valid.
    #[error(transparent)]
    Invalid(#[from] InvalidPolicy),
    /// Renovate's bound is below the tag in use.
    #[error("what Renovate allows has not the tag in use: {0}")]
    OutOfBound(#[source] NoTag),
}

/// Renovate leaves a use alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum LeftAlone {
    #[error("Renovate leaves its file alone (ignorePaths)")]
    File,
    #[error("Renovate leaves it alone (a rule of packageRules)")]
    Rule,
}

/// The GitRepository that automations commit to is not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum NoSource {
    #[error("no GitRepository is among the files; name the one of this repository with --source")]
    Missing,
    #[error("there are several GitRepositories ({}); name the one of this repository with --source", names(.0))]
    Several(Vec<PolicyName>),
}

fn names(names: &[PolicyName]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.join(", ")
}
