//! One line of an ignore file, as go-git's `gitignore.ParsePattern` reads it and matches with it.
//!
//! This is not git's matching: `/**` matches nothing, `a/` matches what is below `a`, and an excluded directory hides its
//! files only because the pattern matches them, too, so that a later `!` can bring one back.

use super::glob::Glob;

/// What a matching pattern does to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Exclude,
    Include,
}

/// A pattern with the directory that it is for.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// Components of the directory whose file has the pattern; it sees only what is below.
    pub(super) domain: Box<[Box<[u8]>]>,
    pub(super) effect: Effect,
    /// A `/` at the end: files of this name do not match, files below directories of this name do.
    directories_only: bool,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// Without a `/`: any component of the path. `None` is a malformed glob.
    Name(Option<Glob>),
    /// With a `/`: components from the domain on.
    Path(Box<[Step]>),
}

#[derive(Debug, Clone)]
enum Step {
    /// What is before a leading `/` and between two of them.
    Empty,
    /// `**` as a whole component.
    AnyDepth,
    /// Any other component with `**` in it: matches nothing.
    Never,
    One(Option<Glob>),
}

impl Pattern {
    /// Reads a line that is neither blank nor a comment.
    pub(super) fn parse(line: &[u8], domain: &[Box<[u8]>]) -> Self {
        let mut text = line;
        let mut effect = Effect::Exclude;
        if let Some(rest) = text.strip_prefix(b"!") {
            effect = Effect::Include;
            text = rest;
        }
        if !text.ends_with(b"\\ ") {
            let spaces = text.iter().rev().take_while(|byte| **byte == b' ').count();
            text = text.get(..text.len() - spaces).unwrap_or_default();
        }
        let unslashed = text.strip_suffix(b"/");
        Self {
            domain: domain.into(),
            effect,
            directories_only: unslashed.is_some(),
            form: Form::parse(unslashed.unwrap_or(text)),
        }
    }

    /// Whether the path matches, given from the root on.
    pub(super) fn matches<P: AsRef<[u8]>>(&self, path: &[P], is_directory: bool) -> bool {
        let Some(path) = below(path, &self.domain).filter(|path| !path.is_empty()) else {
            return false;
        };
        match &self.form {
            Form::Name(glob) => {
                let found = path.iter().position(|name| fits(glob.as_ref(), name.as_ref()));
                found.is_some_and(|at| !self.directories_only || is_directory || at + 1 < path.len())
            }
            Form::Path(steps) => {
                let rest = walk(steps, path);
                rest.is_some_and(|rest| !self.directories_only || is_directory || rest > 0)
            }
        }
    }

    /// Whether the path matches, when it is known that its directory does not.
    pub(super) fn matches_in_directory<P: AsRef<[u8]>>(&self, path: &[P], is_directory: bool) -> bool {
        match &self.form {
            Form::Name(_) if self.directories_only && !is_directory => false,
            Form::Name(glob) => {
                let is_below = || below(path, &self.domain).is_some_and(|path| !path.is_empty());
                path.last().is_some_and(|name| fits(glob.as_ref(), name.as_ref())) && is_below()
            }
            Form::Path(_) => self.matches(path, is_directory),
        }
    }

    /// Whether something below the directory could match. True when in doubt.
    pub(super) fn may_match_below<P: AsRef<[u8]>>(&self, directory: &[P]) -> bool {
        let Some(rest) = below(directory, &self.domain) else {
            let shared = self.domain.iter().zip(directory);
            return self.domain.len() > directory.len()
                && shared.into_iter().all(|(one, other)| **one == *other.as_ref());
        };
        let Form::Path(steps) = &self.form else { return true };
        let mut names = rest.iter();
        for step in steps {
            match step {
                Step::Empty => {}
                Step::AnyDepth => return true,
                Step::Never => return false,
                Step::One(glob) => match names.next() {
                    Some(name) if fits(glob.as_ref(), name.as_ref()) => {}
                    Some(_) => return false,
                    None => return true,
                },
            }
        }
        true
    }
}

impl Form {
    fn parse(text: &[u8]) -> Self {
        if !text.contains(&b'/') {
            return Self::Name(Glob::parse(text));
        }
        let step = |component: &[u8]| match component {
            b"" => Step::Empty,
            b"**" => Step::AnyDepth,
            other if other.windows(2).any(|pair| pair == b"**") => Step::Never,
            other => Step::One(Glob::parse(other)),
        };
        Self::Path(text.split(|byte| *byte == b'/').map(step).collect())
    }
}

/// Goes through the steps of a pattern with a `/` as go-git's `globMatch` does. Gives how many components are left over
/// when all steps matched.
///
/// After `**` the next component is looked for and the first find is taken for good, without another try when what follows
/// does not match; so `**/a/b` does not match `a/a/b`.
fn walk<P: AsRef<[u8]>>(steps: &[Step], path: &[P]) -> Option<usize> {
    let (mut path, mut matched, mut any_depth) = (path, false, false);
    for (index, step) in steps.iter().enumerate() {
        let glob = match step {
            Step::Empty => {
                any_depth = false;
                continue;
            }
            Step::AnyDepth if index + 1 == steps.len() => break,
            Step::AnyDepth => {
                any_depth = true;
                continue;
            }
            Step::Never => return None,
            Step::One(glob) => glob.as_ref(),
        };
        let (first, after) = path.split_first()?;
        if any_depth {
            any_depth = false;
            let found = path.iter().position(|name| fits(glob, name.as_ref()));
            matched = found.is_some();
            path = found.and_then(|at| path.get(at + 1..)).unwrap_or_default();
        } else if fits(glob, first.as_ref()) {
            matched = true;
            path = after;
        } else {
            return None;
        }
    }
    matched.then_some(path.len())
}

fn fits(glob: Option<&Glob>, name: &[u8]) -> bool {
    glob.is_some_and(|glob| glob.matches(name))
}

/// What of a path is below the domain; `None` when it is elsewhere.
fn below<'a, P: AsRef<[u8]>>(path: &'a [P], domain: &[Box<[u8]>]) -> Option<&'a [P]> {
    let (head, rest) = path.split_at_checked(domain.len())?;
    let is_inside = head.iter().zip(domain).all(|(one, other)| *one.as_ref() == **other);
    is_inside.then_some(rest)
}
