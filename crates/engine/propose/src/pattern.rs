//! The filter and the rule of a series of tags.

use std::fmt::Write;

use bumpwright_adopt::Rule;
use bumpwright_policy::{FilterSpec, ImagePolicy, InvalidPolicy, RuleSpec};

use super::tag::{Piece, Tag, is_date};

/// From so many digits on a number is not exact any more for a policy.
const INEXACT: usize = 16;
/// The parts that a version has before what follows its hyphen.
const VERSION: usize = 3;

/// How a tag is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// A regular expression of tags that count.
    pub filter: Option<String>,
    /// What of them is compared.
    pub extract: Option<String>,
    /// How they are ordered.
    pub rule: Rule,
    /// Whether the digest is written, too.
    pub digest: bool,
}

/// How far a range goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ceiling {
    /// As far as there are versions.
    None,
    /// To the end of this major version.
    Major(u64),
    /// To the end of this minor version of 0.
    Minor(u64),
}

impl Choice {
    /// The policy, as it is evaluated.
    ///
    /// # Errors
    /// It is not valid.
    pub fn policy(&self) -> Result<ImagePolicy, InvalidPolicy> {
        let order = || Some("asc".to_owned());
        let mut rule = RuleSpec::default();
        match &self.rule {
            Rule::Semver(range) => rule.semver = Some(range.clone()),
            Rule::Alphabetical => rule.alphabetical = order(),
            Rule::Numerical => rule.numerical = order(),
        }
        let filter = self.filter.clone().map(|pattern| FilterSpec {
            pattern,
            extract: self.extract.clone().unwrap_or_default(),
        });
        ImagePolicy::new(&rule, filter.as_ref())
    }

    /// One tag, by its digest.
    pub(crate) fn moving(tag: &str) -> Self {
        Self {
            filter: Some(format!("^{}$", quoted(tag))),
            extract: None,
            rule: Rule::Alphabetical,
            digest: true,
        }
    }
}

/// The choices that fit a series, the simplest first.
pub(crate) fn choices(tag: &Tag, ceiling: Ceiling) -> Vec<Choice> {
    let numbers: Vec<&str> = tag.numbers().collect();
    let whole = |group: &str, rule| Choice {
        filter: Some(pattern(tag, Groups::Only)),
        extract: Some(format!("${group}")),
        rule,
        digest: false,
    };
    match (tag.time(), numbers.as_slice()) {
        (Some(_), _) if tag.core < 2 => vec![whole("ts", Rule::Alphabetical)],
        (None, [number]) if number.len() >= INEXACT => vec![whole("ts", Rule::Alphabetical)],
        (None, [number]) => {
            let mut choice = whole(only(number), Rule::Numerical);
            if tag.pieces.len() == 1 {
                choice.filter = Some(format!("^{}$", digits(number)));
                choice.extract = None;
            }
            vec![choice]
        }
        _ => {
            let filtered = Choice {
                filter: Some(pattern(tag, Groups::Parts)),
                extract: Some(extract(tag)),
                rule: Rule::Semver(range(tag, ceiling)),
                digest: false,
            };
            let plain = Choice {
                filter: None,
                extract: None,
                ..filtered.clone()
            };
            if is_plain(tag) {
                vec![plain, filtered]
            } else {
                vec![filtered]
            }
        }
    }
}

/// Whether a tag is a version as it stands.
fn is_plain(tag: &Tag) -> bool {
    let dot = |piece: &Piece| *piece == Piece::Literal(".".to_owned());
    let is_number = |piece: &Piece| matches!(piece, Piece::Number(_));
    let pieces = match tag.pieces.split_first() {
        Some((Piece::Literal(v), rest)) if v == "v" => rest,
        _ => &tag.pieces,
    };
    match pieces {
        [a, one, b, two, c] => [a, b, c].into_iter().all(is_number) && dot(one) && dot(two),
        _ => false,
    }
}

/// What the groups of a pattern are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Groups {
    /// The one thing that is compared.
    Only,
    /// The version, and what is behind it.
    Parts,
}

fn only(digits: &str) -> &'static str {
    match digits.len() {
        0..8 => "n",
        _ => "ts",
    }
}

fn digits(number: &str) -> String {
    if is_date(number) || number.len() >= INEXACT {
        format!("[0-9]{{{}}}", number.len())
    } else {
        "[0-9]+".to_owned()
    }
}

/// A tag's text within a pattern.
pub(crate) fn quoted(text: &str) -> String {
    text.replace('.', r"\.")
}

/// Whether the first parts of the version stand as they are compared: joined by dots.
fn is_dotted(tag: &Tag) -> bool {
    let count = 2 * tag.core.min(VERSION);
    let pieces = tag
        .pieces
        .iter()
        .skip_while(|piece| !matches!(piece, Piece::Number(_)))
        .take(count.saturating_sub(1));
    let is_dot = |piece: &Piece| matches!(piece, Piece::Literal(text) if text == ".");
    tag.core >= 2 && pieces.skip(1).step_by(2).all(is_dot)
}

/// The name of the group of a number.
fn name(tag: &Tag, n: usize) -> String {
    match n.checked_sub(tag.core) {
        None => format!("n{}", n + 1),
        Some(_) if tag.core < 2 => format!("n{}", n + 1),
        Some(0) => "rev".to_owned(),
        Some(more) => format!("rev{}", more + 1),
    }
}

fn pattern(tag: &Tag, groups: Groups) -> String {
    let whole = if groups == Groups::Parts && is_dotted(tag) {
        tag.core.min(VERSION)
    } else {
        0
    };
    let mut out = "^".to_owned();
    let mut n = 0;
    for piece in &tag.pieces {
        match piece {
            Piece::Literal(text) => out.push_str(&quoted(text)),
            Piece::Commit => out.push_str("[0-9a-f]{7,40}"),
            Piece::Time(text) => {
                let _ = write!(out, "(?P<ts>{})", fixed(text));
            }
            Piece::Before(word, _) => {
                let _ = write!(out, r"(?P<pre>-{word}(?:\.?[0-9]+)*)?");
            }
            Piece::Number(number) => {
                out.push_str(if n == 0 && whole > 0 { "(?P<version>" } else { "" });
                out.push_str(&match groups {
                    _ if n < whole => digits(number),
                    Groups::Only if tag.time().is_some() => digits(number),
                    Groups::Only => format!("(?P<{}>{})", only(number), digits(number)),
                    Groups::Parts => format!("{}(?P<{}>{})", zeros(number), name(tag, n), digits(number)),
                });
                n += 1;
                out.push_str(if n == whole && whole > 0 { ")" } else { "" });
            }
        }
    }
    out.push('$');
    out
}

/// Zeros before a number of two digits, as of a month, or of six, as of a time: behind a hyphen none is allowed.
fn zeros(number: &str) -> &'static str {
    if number.starts_with('0') || matches!(number.len(), 2 | 6) {
        "0*"
    } else {
        ""
    }
}

/// A time with its digits free.
fn fixed(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut letters = rest.chars();
    while let Some(first) = letters.next() {
        let run = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        match rest.len() - run.len() {
            0 => {
                out.push_str(&quoted(&first.to_string()));
                rest = letters.as_str();
            }
            count => {
                let _ = write!(out, "[0-9]{{{count}}}");
                rest = run;
                letters = rest.chars();
            }
        }
    }
    out
}

/// A version of three parts of the numbers; more are behind a hyphen.
fn extract(tag: &Tag) -> String {
    let count = tag.numbers().count();
    let mut parts: Vec<String> = (0..count).map(|n| format!("${}", name(tag, n))).collect();
    if is_dotted(tag) {
        let whole = tag.core.min(VERSION);
        let rest = parts.split_off(whole);
        parts = vec!["$version".to_owned()];
        if whole == 2 && rest.is_empty() {
            parts.push("0".to_owned());
        }
        let is_short = whole == 2;
        let (third, behind) = rest.split_at(usize::from(is_short && !rest.is_empty()));
        parts.extend(third.iter().cloned());
        return joined(parts.join("."), behind.to_vec(), tag);
    }
    let behind = parts.split_off(parts.len().min(VERSION));
    parts.resize(VERSION, "0".to_owned());
    joined(parts.join("."), behind, tag)
}

fn joined(version: String, mut behind: Vec<String>, tag: &Tag) -> String {
    behind.extend(tag.time().map(|_| "$ts".to_owned()));
    let pre = if tag.before().is_some() { "$pre" } else { "" };
    if behind.is_empty() {
        format!("{version}{pre}")
    } else {
        format!("{version}-{}", behind.join("."))
    }
}

/// The version that a tag is compared as.
fn version(tag: &Tag) -> String {
    let trimmed = |digits: &str| match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    };
    let mut parts: Vec<String> = tag.numbers().map(trimmed).collect();
    let mut behind = parts.split_off(parts.len().min(VERSION));
    parts.resize(VERSION, "0".to_owned());
    behind.extend(tag.time().map(str::to_owned));
    let version = parts.join(".");
    match (tag.before(), behind.is_empty()) {
        (Some((_, before)), _) => format!("{version}{before}"),
        (None, true) => version,
        (None, false) => format!("{version}-{}", behind.join(".")),
    }
}

fn range(tag: &Tag, ceiling: Ceiling) -> String {
    let version = version(tag);
    match ceiling {
        Ceiling::None => format!(">={version}"),
        Ceiling::Minor(0) => format!("~{version}"),
        // ^0.4.0 ends with 0.4.
        Ceiling::Major(0) if version.contains('-') => format!(">={version} <1.0.0-0"),
        Ceiling::Major(0) => format!(">={version} <1.0.0"),
        Ceiling::Major(_) | Ceiling::Minor(_) => format!("^{version}"),
    }
}
