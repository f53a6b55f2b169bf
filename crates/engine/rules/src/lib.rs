//! Rule files: fields named by where they are, for those who may not put markers there.
//!
//! ```yaml
//! rules:
//!   - files: charts/*/values.yaml      # a pattern as in .gitignore, or a list of them
//!     path: $.image.tag                # a JSONPath (RFC 9535), in each document
//!     policy: flux-system:web
//!     part: tag                        # image (if absent), name, tag, digest, or tag@digest
//!   - files: [VERSIONS, "*.mk"]
//!     pattern: '(?m)^WEB = (?P<version>\S+)$'
//!     policy: flux-system:web
//!     part: tag
//!   - files: kustomization.yaml
//!     images: auto                     # the entry of `images` with the policy's image
//!     policy: flux-system:web
//!   - files: values.yaml
//!     values: auto                     # mappings with repository and tag; or their keys: {repository: …, tag: …}
//!     policy: flux-system:web
//! accept:                              # findings of `fleet check`, see docs/guides/fleet.md
//!   - rule: clear-text-secret          # or a list
//!     files: tests/                    # or object: Secret tests/*, or both
//!     reason: only for tests
//! ```
//!
//! [`Rules::read`] reads such a file, [`Rules::scan`] finds the fields of a file that they name. What it finds is
//! edited like a marked field.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod conventions;
mod path;
mod pattern;
mod read;
mod scan;
mod work;

use std::sync::Arc;

use bumpwright_artifact::ignore::IgnoreRules;
pub use bumpwright_edit::RULE_FILE as FILE;
use bumpwright_edit::{ImageKeys, Part};
use bumpwright_policy::PolicyName;

use path::Path;
use pattern::Pattern;
pub use read::{ConfigMapError, of_config_map};
pub use scan::Found;
use sha2::{Digest, Sha256};
pub use work::{Overrun, Work};

/// A longer file is refused. In bytes.
pub const LONGEST: usize = 256 * 1024;

/// The most rules of a file.
const MOST: usize = 200;

/// The rules of a file.
#[derive(Clone, Debug)]
pub struct Rules {
    rules: Arc<[Rule]>,
    accepted: Arc<[Accepted]>,
    /// What is before all paths: the folder, if only this folder of a repository is read, with a slash at its end.
    base: Arc<str>,
    digest: [u8; 32],
    work: Work,
}

impl Rules {
    /// The rules, in the order of the file.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What findings of `fleet check` the file accepts.
    #[must_use]
    pub fn accepted(&self) -> &[Accepted] {
        &self.accepted
    }

    /// These rules, and then others: the first one that names a field counts.
    #[must_use]
    pub fn and(self, others: Option<Self>) -> Self {
        let Some(others) = others else { return self };
        Self {
            rules: self.rules.iter().chain(others.rules.iter()).cloned().collect(),
            accepted: self.accepted,
            base: self.base,
            digest: Sha256::digest([self.digest, others.digest].concat()).into(),
            work: self.work,
        }
    }

    /// The same rules if only a folder of the repository is read, and paths begin there.
    #[must_use]
    pub fn in_folder(self, folder: &str) -> Self {
        let base = match folder {
            "" => "".into(),
            folder => format!("{folder}/").into(),
        };
        Self { base, ..self }
    }

    /// The same rules on another account.
    #[must_use]
    pub fn on_account_of(self, work: Work) -> Self {
        Self { work, ..self }
    }

    /// Whether all that was asked was answered.
    ///
    /// # Errors
    /// It would have been too much work: what has been found is not all, so nothing may be made of it.
    pub fn check(&self) -> Result<(), Overrun> {
        self.work.check()
    }

    /// The SHA-256 digest of the file: what is found by the same rules in the same content is the same.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }
}

/// A rule of a rule file: which fields get which part of a policy's image.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Where it is from, such as `.bumpwright.yaml`.
    pub source: Arc<str>,
    /// Its line in the file, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// The policy whose image is set.
    pub policy: PolicyName,
    /// The part of it that is set, unless the fields say so themselves.
    pub part: Part,
    files: IgnoreRules,
    /// How many patterns `files` are.
    globs: u64,
    fields: Fields,
}

impl Rule {
    /// Whether it finds its fields by a pattern: what that finds may be anything.
    #[must_use]
    pub fn is_by_pattern(&self) -> bool {
        matches!(self.fields, Fields::Pattern(_))
    }
}

/// Findings of `fleet check` that may be as they are.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// Its line in the file, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// The ids of the check's rules, each with its line and column.
    pub rules: Vec<(String, usize, usize)>,
    /// `Kind namespace/name`, in which `*` stands for any text; none for all objects.
    pub object: Option<String>,
    pub reason: String,
    files: Option<IgnoreRules>,
}

impl Accepted {
    /// Whether it is for all files.
    #[must_use]
    pub fn is_for_all_files(&self) -> bool {
        self.files.is_none()
    }

    /// Whether it is for what is found in a file, by its path from the root.
    #[must_use]
    pub fn is_for(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        self.files.as_ref().is_none_or(|files| files.ignored(&parts, false))
    }
}

/// Which fields of a file a rule names.
#[derive(Clone, Debug)]
enum Fields {
    Path(Path),
    Pattern(Pattern),
    /// The entries of `images` of a kustomization.
    Images,
    /// Mappings of a chart's values.
    Values(ImageKeys),
}

/// A rule file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}:{line}:{column}: {message}")]
pub struct RulesError {
    /// The file, or what else the rules are in.
    pub source_name: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong, and the way out.
    pub message: String,
}
