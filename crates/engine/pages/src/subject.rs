//! What is reviewed, as the last part of the path of its page has it.

use std::fmt;

/// How many digits of a commit are in a path.
const DIGITS: usize = 12;

/// What is reviewed of a GitRepository. The order is that of lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// An open pull request, by its number.
    Request(u64),
    /// What Kustomizations have not applied yet, by the commit that they have applied.
    NotApplied(ShortCommit),
    /// A commit that an automation pushed.
    Push(ShortCommit),
}

/// The first digits of the id of a commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShortCommit(String);

impl ShortCommit {
    /// Of an id; none of a text that is not one.
    #[must_use]
    pub fn of(commit: &str) -> Option<Self> {
        let is_id = commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let digits = commit.get(..DIGITS).filter(|_| is_id)?;
        Some(Self(digits.to_owned()))
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

const NOT_APPLIED: &str = "not-applied-";
const PUSH: &str = "push-";

impl Subject {
    /// Reads what [`Subject`] prints: none has two paths.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let short = |digits: &str| ShortCommit::of(digits).filter(|_| digits.len() == DIGITS);
        if let Some(digits) = text.strip_prefix(NOT_APPLIED) {
            return short(digits).map(Self::NotApplied);
        }
        if let Some(digits) = text.strip_prefix(PUSH) {
            return short(digits).map(Self::Push);
        }
        let number: u64 = text.parse().ok()?;
        (number.to_string() == text).then_some(Self::Request(number))
    }

    /// What it is, at the head of its page.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Request(_) => "Pull request",
            Self::NotApplied(_) => "Not applied",
            Self::Push(_) => "Push",
        }
    }

    /// The heading above all of its kind.
    #[must_use]
    pub fn group(&self) -> &'static str {
        match self {
            Self::Request(_) => "Pull requests",
            Self::NotApplied(_) => "Not applied in the cluster",
            Self::Push(_) => "Pushed by automations",
        }
    }

    /// The place of its kind in lists.
    #[must_use]
    pub(crate) fn group_order(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::NotApplied(_) => 1,
            Self::Push(_) => 2,
        }
    }

    /// `#7`; empty for a change that is not a request.
    #[must_use]
    pub fn number(&self) -> String {
        match self {
            Self::Request(number) => format!("#{number}"),
            Self::NotApplied(_) | Self::Push(_) => String::new(),
        }
    }
}

/// The part of the path.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(number) => write!(f, "{number}"),
            Self::NotApplied(commit) => write!(f, "{NOT_APPLIED}{}", commit.as_str()),
            Self::Push(commit) => write!(f, "{PUSH}{}", commit.as_str()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_read_as_they_are_written() {
        let short = || ShortCommit::of(&"0a".repeat(20)).unwrap();
        for (subject, text) in [
            (Subject::Request(12), "12"),
            (Subject::NotApplied(short()), "not-applied-0a0a0a0a0a0a"),
            (Subject::Push(short()), "push-0a0a0a0a0a0a"),
        ] {
            assert_eq!(subject.to_string(), text);
            assert_eq!(Subject::parse(text), Some(subject));
        }
        for text in [
            "",
            "+7",
            "07",
            "x",
            "push",
            "push-",
            "push-0a0a0a0a0a0",
            "push-0a0a0a0a0a0a0",
            "push-0A0A0A0A0A0A",
            "not-applied-0a0a0a0a0a0g",
        ] {
            assert_eq!(Subject::parse(text), None, "{text}");
        }
        for id in ["", "0a0a0a", "é0a0a0a0a0a0a0", "main at 0a0a0a0a0a"] {
            assert_eq!(ShortCommit::of(id), None, "{id}");
        }
    }
}
