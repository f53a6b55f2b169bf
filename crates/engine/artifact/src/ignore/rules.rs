//! All patterns of a source, in the order of their precedence.

use super::lines;
use super::pattern::{Effect, Pattern};
use super::walk::Walk;
use bumpwright_text::Parts;

/// Names of version control, always the first patterns (`ExcludeVCS`).
const VERSION_CONTROL: [&str; 4] = [".git/", ".gitignore", ".gitmodules", ".gitattributes"];

/// Patterns in the absence of others (`ExcludeExt`, `ExcludeCI`, `ExcludeExtra`).
const DEFAULTS: [&str; 20] = [
    "*.jpg",
    "*.jpeg",
    "*.gif",
    "*.png",
    "*.wmv",
    "*.flv",
    "*.tar.gz",
    "*.zip",
    ".github/",
    ".circleci/",
    ".travis.yml",
    ".gitlab-ci.yml",
    "appveyor.yml",
    ".drone.yml",
    "cloudbuild.yaml",
    "codeship-services.yml",
    "codeship-steps.yml",
    "**/.goreleaser.yml",
    "**/.sops.yaml",
    "**/.flux.yaml",
];

/// A `.sourceignore` of a source.
#[derive(Debug, Clone, Copy)]
pub struct IgnoreFile<'a> {
    /// Its directory from the root, with `/` between components; empty for the root.
    pub directory: &'a [u8],
    pub text: &'a [u8],
}

/// Whether a file or a directory is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is included in the artifact.
    Kept,
    /// It is ignored. Paths below a directory may be included.
    Ignored,
    /// It is ignored with everything below: the directory need not be walked.
    IgnoredWithAllBelow,
}

/// The ignore rules of a source.
#[derive(Debug, Clone)]
pub struct IgnoreRules {
    pub(super) patterns: Vec<Pattern>,
}

impl IgnoreRules {
    /// The name of files with patterns.
    pub const FILE_NAME: &'static str = ".sourceignore";

    /// The rules of a GitRepository or an OCIRepository: its files in any order, and `spec.ignore`, whose patterns
    /// apply to the root and come last. Files below a directory `.git` are not read.
    #[must_use]
    pub fn of_tree<'a>(files: impl IntoIterator<Item = IgnoreFile<'a>>, spec: Option<&str>) -> Self {
        let files = files.into_iter().map(|file| (domain(file.directory), file.text));
        let mut files: Vec<_> = files
            .filter(|(domain, _)| !domain.iter().any(|name| **name == *b".git"))
            .collect();
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut own = Vec::new();
        for (domain, text) in &files {
            own.extend(lines::patterns(text).map(|line| Pattern::parse(line, domain)));
        }
        own.extend(parse_all(
            spec.into_iter().flat_map(|text| lines::patterns(text.as_bytes())),
        ));
        let defaults: &[&str] = if own.is_empty() { &DEFAULTS } else { &[] };
        let given = VERSION_CONTROL.iter().chain(defaults);
        let mut patterns: Vec<Pattern> = parse_all(given.map(|line| line.as_bytes())).collect();
        patterns.append(&mut own);
        Self { patterns }
    }

    /// The rules of a Bucket, for the keys of its objects: the file at its root, then `spec.ignore`. No defaults.
    #[must_use]
    pub fn of_bucket(file: Option<&[u8]>, spec: Option<&str>) -> Self {
        let texts = file.into_iter().chain(spec.map(str::as_bytes));
        let patterns = texts.flat_map(|text| parse_all(lines::patterns(text)));
        Self {
            patterns: patterns.collect(),
        }
    }

    /// Whether a file or directory is ignored, by the components of its path from the root. The root itself never is.
    #[must_use]
    pub fn ignored<P: AsRef<[u8]>>(&self, path: &[P], is_directory: bool) -> bool {
        self.effect(self.decider(path, is_directory)) == Some(Effect::Exclude)
    }

    /// The same, with whether an ignored directory must be walked.
    #[must_use]
    pub fn verdict<P: AsRef<[u8]>>(&self, path: &[P], is_directory: bool) -> Verdict {
        self.conclude(self.decider(path, is_directory), path, is_directory)
    }

    /// A walk over a tree from its root, much faster than matching each path.
    #[must_use]
    pub fn walk(&self) -> Walk<'_> {
        Walk::new(self)
    }

    /// The last pattern that matches.
    fn decider<P: AsRef<[u8]>>(&self, path: &[P], is_directory: bool) -> Option<usize> {
        (1..=path.len()).fold(None, |inherited, depth| {
            let above = path.get(..depth).unwrap_or(path);
            self.decider_in_directory(inherited, above, is_directory || depth < path.len())
        })
    }

    /// The same, given the last pattern that matches the directory of the path. It matches everything below, so that
    /// only later ones are tried.
    pub(super) fn decider_in_directory<P: AsRef<[u8]>>(
        &self,
        inherited: Option<usize>,
        path: &[P],
        is_directory: bool,
    ) -> Option<usize> {
        let first = inherited.map_or(0, |at| at + 1);
        let patterns = self.patterns.tail(first);
        let decider = patterns
            .iter()
            .rposition(|pattern| pattern.matches_in_directory(path, is_directory));
        decider.map(|at| first + at).or(inherited)
    }

    fn effect(&self, decider: Option<usize>) -> Option<Effect> {
        Some(self.patterns.get(decider?)?.effect)
    }

    /// The verdict of the last pattern that matches.
    ///
    /// A pattern that matches a directory matches everything below it, so that only a later inclusion can
    /// include a path there.
    pub(super) fn conclude<P: AsRef<[u8]>>(&self, decider: Option<usize>, path: &[P], is_directory: bool) -> Verdict {
        let Some(decider) = decider.filter(|_| self.effect(decider) == Some(Effect::Exclude)) else {
            return Verdict::Kept;
        };
        let later = self.patterns.iter().skip(decider + 1);
        let mut inclusions = later.filter(|pattern| pattern.effect == Effect::Include);
        if is_directory && !inclusions.any(|pattern| pattern.may_match_below(path)) {
            Verdict::IgnoredWithAllBelow
        } else {
            Verdict::Ignored
        }
    }
}

fn parse_all<'a>(lines: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = Pattern> {
    lines.map(|line| Pattern::parse(line, &[]))
}

fn domain(directory: &[u8]) -> Vec<Box<[u8]>> {
    let names = directory.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    names.map(Box::from).collect()
}
