//! What a scan finds in a file.

use serde::{Deserialize, Serialize};

use crate::file::RULE_FILE;
use crate::model::Reason;
use crate::site::{Neighbour, Site};
use crate::spelling::content::certain_mismatch;

/// The markers of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// The marked scalars, in the order of the file.
    pub sites: Vec<Site>,
    /// The skips, in the order of the file.
    pub skips: Vec<LocalSkip>,
    /// Tags and digests beside the sites that nothing sets, in the order of the file.
    pub neighbours: Vec<Neighbour>,
    /// Whether the file is one of SOPS with a MAC over all values, and has sites.
    pub is_signed: bool,
}

/// A file with nothing but this to report.
impl From<LocalSkip> for Scan {
    fn from(skip: LocalSkip) -> Self {
        Self {
            skips: vec![skip],
            ..Self::default()
        }
    }
}

/// A skip, without the path of its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LocalSkip {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    pub reason: Reason,
    /// The message, with the way out.
    pub message: String,
}

impl LocalSkip {
    /// That of a rule file which is not followed.
    #[must_use]
    pub fn of_rule_file() -> Self {
        let message = format!("rules are followed in {RULE_FILE} at the root of the repository only; move them there");
        Self::new((1, 1), Reason::UnmatchedRule, message)
    }

    /// That of a field which does not fit its marker, whatever image its policy chooses.
    #[must_use]
    pub fn of_mismatch(site: &Site) -> Option<Self> {
        let message = certain_mismatch(site)?;
        Some(Self::new((site.line, site.column), Reason::Mismatch, message))
    }

    pub(crate) fn new((line, column): (usize, usize), reason: Reason, message: String) -> Self {
        Self {
            line,
            column,
            reason,
            message,
        }
    }
}
