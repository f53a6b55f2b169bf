//! Which leaves of a file are encrypted: `encrypted_regex` and its five siblings.

use bumpwright_re2::{Budget, Regexp};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The rule of a file. SOPS allows one at most; the default is the suffix `_unencrypted`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rule {
    UnencryptedSuffix(Vec<u8>),
    EncryptedSuffix(Vec<u8>),
    UnencryptedRegex(Vec<u8>),
    EncryptedRegex(Vec<u8>),
    UnencryptedCommentRegex(Vec<u8>),
    EncryptedCommentRegex(Vec<u8>),
    /// One of the two before, for a text that has no comments: what looks encrypted is, as in kustomize-controller.
    Envelopes(Box<Self>),
}

impl Rule {
    /// The rule for a file whose comments are lost, or that has none in its format.
    pub(crate) fn without_comments(self) -> Self {
        match self {
            Self::UnencryptedCommentRegex(_) | Self::EncryptedCommentRegex(_) => Self::Envelopes(Box::new(self)),
            other => other,
        }
    }
}

/// As in the metadata of a file.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, text) = match self {
            Self::UnencryptedSuffix(text) => ("unencrypted_suffix", text),
            Self::EncryptedSuffix(text) => ("encrypted_suffix", text),
            Self::UnencryptedRegex(text) => ("unencrypted_regex", text),
            Self::EncryptedRegex(text) => ("encrypted_regex", text),
            Self::UnencryptedCommentRegex(text) => ("unencrypted_comment_regex", text),
            Self::EncryptedCommentRegex(text) => ("encrypted_comment_regex", text),
            Self::Envelopes(rule) => return rule.fmt(f),
        };
        write!(f, "{name}: {}", String::from_utf8_lossy(text))
    }
}

/// Steps for one pattern and one name: far above the needs of any real pattern.
const STEPS: u64 = 50_000_000;
const BYTES: usize = 16 << 20;

/// A rule, with a cache of names.
pub(crate) struct Decider {
    rule: Rule,
    /// `None` for an invalid pattern, which matches nothing.
    pattern: Option<Arc<Regexp>>,
    seen: HashMap<Vec<u8>, bool>,
}

/// The pattern is too costly.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the regular expression of the file takes too many steps")]
pub(crate) struct Exhausted;

/// The files of a source mostly have the same pattern: the last one is kept for the next file.
static LAST: Mutex<Option<(Vec<u8>, Arc<Regexp>)>> = Mutex::new(None);

/// A compiled pattern; `None` where it is invalid.
fn compiled(pattern: &[u8]) -> Option<Arc<Regexp>> {
    let last = || LAST.lock();
    if let Some((known, regexp)) = &*last()
        && known == pattern
    {
        return Some(Arc::clone(regexp));
    }
    let regexp = Arc::new(Regexp::new(pattern).ok()?);
    *last() = Some((pattern.to_vec(), Arc::clone(&regexp)));
    Some(regexp)
}

impl Decider {
    pub(crate) fn new(rule: Rule) -> Self {
        let pattern = match &rule {
            Rule::UnencryptedSuffix(_) | Rule::EncryptedSuffix(_) | Rule::Envelopes(_) => None,
            Rule::UnencryptedRegex(pattern)
            | Rule::EncryptedRegex(pattern)
            | Rule::UnencryptedCommentRegex(pattern)
            | Rule::EncryptedCommentRegex(pattern) => compiled(pattern),
        };
        Self {
            rule,
            pattern,
            seen: HashMap::new(),
        }
    }

    /// Whether a name on the path of a leaf matches the rule.
    pub(crate) fn marks_name(&mut self, name: &[u8]) -> Result<bool, Exhausted> {
        match &self.rule {
            Rule::UnencryptedSuffix(suffix) | Rule::EncryptedSuffix(suffix) => Ok(name.ends_with(suffix)),
            Rule::UnencryptedRegex(_) | Rule::EncryptedRegex(_) => self.matches(name),
            Rule::UnencryptedCommentRegex(_) | Rule::EncryptedCommentRegex(_) | Rule::Envelopes(_) => Ok(false),
        }
    }

    /// Whether leaves are encrypted that look so, whatever is around them.
    pub(crate) const fn goes_by_envelopes(&self) -> bool {
        matches!(self.rule, Rule::Envelopes(_))
    }

    fn matches(&mut self, text: &[u8]) -> Result<bool, Exhausted> {
        let Some(pattern) = &self.pattern else {
            return Ok(false);
        };
        if let Some(known) = self.seen.get(text) {
            return Ok(*known);
        }
        let is_match = pattern
            .is_match(text, &mut Budget::new(STEPS, BYTES))
            .map_err(|_| Exhausted)?;
        self.seen.insert(text.to_vec(), is_match);
        Ok(is_match)
    }

    /// Whether a leaf is encrypted. `marked`: whether a name on its path matches; `comments`: those in force, level by
    /// level; for a comment the last one is the leaf itself (SOPS' `shouldBeEncrypted`).
    pub(crate) fn is_encrypted(
        &mut self,
        marked: bool,
        comments: &[Vec<Vec<u8>>],
        is_comment: bool,
    ) -> Result<bool, Exhausted> {
        match self.rule {
            Rule::UnencryptedSuffix(_) | Rule::UnencryptedRegex(_) => Ok(!marked),
            Rule::EncryptedSuffix(_) | Rule::EncryptedRegex(_) => Ok(marked),
            Rule::UnencryptedCommentRegex(_) => Ok(!self.any_comment(comments, false)?),
            // The comment that demands encryption is not encrypted itself.
            Rule::EncryptedCommentRegex(_) => self.any_comment(comments, is_comment),
            // The leaf itself says it; comments are in no such file.
            Rule::Envelopes(_) => Ok(false),
        }
    }

    fn any_comment(&mut self, comments: &[Vec<Vec<u8>>], but_the_last: bool) -> Result<bool, Exhausted> {
        let levels = comments.len();
        for (level, lines) in comments.iter().enumerate() {
            let last_level = level + 1 == levels;
            for (at, line) in lines.iter().enumerate() {
                let itself = but_the_last && last_level && at + 1 == lines.len();
                if !itself && self.matches(line)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
