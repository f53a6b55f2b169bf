//! A comparator of a range: an operator and a version, possibly with wildcards.

use std::cmp::Ordering;
use std::fmt;

use super::identifier::compare_prereleases;
use super::spelling::Spelling;
use super::version::Version;
use super::version_error::VersionError;

/// The segments given in a comparator's version; the rest is a wildcard or was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    /// None: `*`, `x.1`.
    Any,
    /// The major segment: `1`, `1.x`, `1.x.3`.
    Major,
    /// The major and the minor segment: `1.2`, `1.2.*`.
    Minor,
    /// All three segments.
    Patch,
}

/// The meaning of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// The operators, each before its own prefixes.
const OPERATORS: [(&str, Rule); 11] = [
    ("!=", Rule::NotEqual),
    (">=", Rule::GreaterOrEqual),
    ("=>", Rule::GreaterOrEqual),
    ("<=", Rule::LessOrEqual),
    ("=<", Rule::LessOrEqual),
    ("~>", Rule::Tilde),
    ("=", Rule::Equal),
    (">", Rule::Greater),
    ("<", Rule::Less),
    ("~", Rule::Tilde),
    ("^", Rule::Caret),
];

/// An operator as written, with its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operator {
    sign: &'static str,
    rule: Rule,
}

impl Operator {
    /// No operator, which means `=`.
    const NONE: Self = Self {
        sign: "",
        rule: Rule::Equal,
    };

    /// Takes the operator from the front of `text`.
    pub(super) fn take(text: &str) -> (Self, &str) {
        OPERATORS
            .iter()
            .find_map(|&(sign, rule)| Some((Self { sign, rule }, text.strip_prefix(sign)?)))
            .unwrap_or((Self::NONE, text))
    }
}

/// Why a version does not satisfy a comparator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mismatch {
    Equal,
    NotEqual,
    NotGreater,
    NotLess,
    Less,
    Greater,
    OtherMajor,
    OtherMajorOrMinor,
    OtherMinor,
    OtherMinorOfZeroMajor,
    OtherPatchOfZeroMinor,
}

impl Mismatch {
    /// The reason in the words of Masterminds/semver (`Constraints.Validate`).
    pub(super) fn explain(self, version: &Version, wanted: &Comparator) -> String {
        let (relation, note) = match self {
            Self::Equal => ("is equal to", ""),
            Self::NotEqual => ("is not equal to", ""),
            Self::NotGreater => ("is less than or equal to", ""),
            Self::NotLess => ("is greater than or equal to", ""),
            Self::Less => ("is less than", ""),
            Self::Greater => ("is greater than", ""),
            Self::OtherMajor => ("does not have same major version as", ""),
            Self::OtherMajorOrMinor => ("does not have same major and minor version as", ""),
            Self::OtherMinor => ("does not have same minor version as", ""),
            Self::OtherMinorOfZeroMajor => (
                "does not have same minor version as",
                ". Expected minor versions to match when constraint major version is 0",
            ),
            Self::OtherPatchOfZeroMinor => (
                "does not equal",
                ". Expect version and constraint to equal when major and minor versions are 0",
            ),
        };
        format!("\"{version}\" {relation} \"{}\"{note}", wanted.operand)
    }
}

/// An operator and its version.
#[derive(Clone, Debug)]
pub(super) struct Comparator {
    operator: Operator,
    operand: String,
    version: Version,
    precision: Precision,
}

impl Comparator {
    /// A comparator of its parts as written.
    ///
    /// # Errors
    /// [`VersionError`] when the version, wildcards taken as zeros, is invalid: `1.2.3-01`, `xx`, `1|2`.
    pub(super) fn new(operator: Operator, parts: &Spelling<'_>) -> Result<Self, VersionError> {
        let is_wild = |segment: &str| matches!(segment, "x" | "X" | "*");
        let minor = parts.minor.filter(|minor| !is_wild(minor));
        let patch = parts.patch.filter(|patch| !is_wild(patch));
        let (precision, series) = match (parts.major, minor, patch) {
            (major, _, _) if is_wild(major) => (Precision::Any, "0.0.0".to_owned()),
            (major, None, _) => (Precision::Major, format!("{major}.0.0")),
            (major, Some(minor), None) => (Precision::Minor, format!("{major}.{minor}.0")),
            (_, Some(_), Some(_)) => (Precision::Patch, String::new()),
        };
        let version = if precision == Precision::Patch {
            Version::parse(parts.text)?
        } else if parts.prerelease.is_empty() {
            Version::parse(&series)?
        } else {
            Version::parse(&format!("{series}-{}", parts.prerelease))?
        };
        Ok(Self {
            operator,
            operand: parts.text.to_owned(),
            version,
            precision,
        })
    }

    /// Whether it has a prerelease, which opens its group to prereleases.
    pub(super) fn has_prerelease(&self) -> bool {
        !self.version.prerelease().is_empty()
    }

    /// Compares a version. Whether prereleases are considered is decided by the group.
    pub(super) fn test(&self, version: &Version) -> Result<(), Mismatch> {
        let holds = |fine: bool, otherwise: Mismatch| if fine { Ok(()) } else { Err(otherwise) };
        match self.operator.rule {
            Rule::Equal if self.precision != Precision::Patch => self.tilde(version),
            Rule::Equal => holds(*version == self.version, Mismatch::NotEqual),
            Rule::NotEqual => holds(!self.covers(version), Mismatch::Equal),
            Rule::Greater => holds(self.is_above(version), Mismatch::NotGreater),
            Rule::Less => holds(*version < self.version, Mismatch::NotLess),
            Rule::GreaterOrEqual => holds(*version >= self.version, Mismatch::Less),
            Rule::LessOrEqual => holds(self.is_at_most(version), Mismatch::Greater),
            Rule::Tilde => self.tilde(version),
            Rule::Caret => self.caret(version),
        }
    }

    /// Whether `!=` excludes the version: a wildcard covers a whole series, though with `1.2.x` only the prereleases
    /// that the comparator itself names.
    fn covers(&self, version: &Version) -> bool {
        match self.precision {
            Precision::Any | Precision::Patch => *version == self.version,
            Precision::Major => version.major() == self.version.major(),
            Precision::Minor => {
                self.compare_series(version).is_eq()
                    && compare_prereleases(version.prerelease(), self.version.prerelease()).is_eq()
            }
        }
    }

    /// Whether `>` holds: `>11` begins at 12, `>11.1` at 11.2.
    fn is_above(&self, version: &Version) -> bool {
        match self.precision {
            Precision::Any | Precision::Patch => *version > self.version,
            Precision::Major => version.major() > self.version.major(),
            Precision::Minor => self.compare_series(version).is_gt(),
        }
    }

    /// Whether `<=` holds: `<=11` ends before 12, `<=11.1` before 11.2, and `<=*`, as in the original, before 0.1.
    fn is_at_most(&self, version: &Version) -> bool {
        match self.precision {
            Precision::Patch => *version <= self.version,
            Precision::Major => version.major() <= self.version.major(),
            Precision::Any | Precision::Minor => self.compare_series(version).is_le(),
        }
    }

    /// The order of only the major and minor segments.
    fn compare_series(&self, version: &Version) -> Ordering {
        (version.major(), version.minor()).cmp(&(self.version.major(), self.version.minor()))
    }

    /// `~1` is 1.x, `~1.2` and `~1.2.3` stay within 1.2. `~0.0.0` and `~*` take all from there on.
    fn tilde(&self, version: &Version) -> Result<(), Mismatch> {
        let wanted = &self.version;
        if version < wanted {
            return Err(Mismatch::Less);
        }
        let zero = (wanted.major(), wanted.minor(), wanted.patch()) == (0, 0, 0);
        if zero && matches!(self.precision, Precision::Any | Precision::Patch) {
            return Ok(());
        }
        if version.major() != wanted.major() {
            return Err(Mismatch::OtherMajor);
        }
        if version.minor() != wanted.minor() && self.precision != Precision::Major {
            return Err(Mismatch::OtherMajorOrMinor);
        }
        Ok(())
    }

    /// `^1.2.3` stays within 1, `^0.2.3` within 0.2, `^0.0.3` is 0.0.3, `^0.0` is 0.0.x and `^0` is 0.x. `^*`, as in
    /// the original, is 0.0.0 alone.
    fn caret(&self, version: &Version) -> Result<(), Mismatch> {
        let wanted = &self.version;
        if version < wanted {
            return Err(Mismatch::Less);
        }
        if version.major() != wanted.major() {
            return Err(Mismatch::OtherMajor);
        }
        if wanted.major() > 0 || self.precision == Precision::Major {
            return Ok(());
        }
        if version.minor() != wanted.minor() {
            let fixed = wanted.minor() > 0 || self.precision == Precision::Minor;
            return Err(if fixed {
                Mismatch::OtherMinorOfZeroMajor
            } else {
                Mismatch::OtherMinor
            });
        }
        if wanted.minor() > 0 || self.precision == Precision::Minor || version.patch() == wanted.patch() {
            return Ok(());
        }
        Err(Mismatch::OtherPatchOfZeroMinor)
    }
}

/// The operator and the version as written, without the space between them.
impl fmt::Display for Comparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.operator.sign, self.operand)
    }
}
