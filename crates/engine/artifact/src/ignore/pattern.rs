//! A line of an ignore file, parsed and matched as by go-git's `gitignore.ParsePattern`.
//!
//! This is not git's matching: `/**` matches nothing, `a/` matches everything below `a`, and an excluded directory
//! hides its files only because the pattern matches them, too, so that a later `!` can include one.

use super::glob::Glob;
use bumpwright_text::Parts;

/// The effect of a matching pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Exclude,
    Include,
}

/// A pattern with its directory.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// Components of the directory whose file has the pattern, which applies below it.
    pub(super) domain: Box<[Box<[u8]>]>,
    pub(super) effect: Effect,
    /// Whether there is a `/` at the end: files of this name do not match, files below directories of this name do.
    directories_only: bool,
    /// The glob of the last component to match. `None` matches nothing: a malformed glob, or no component.
    last: Option<Glob>,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// Without a `/`: any component of the path.
    Name,
    /// With a `/`: components from the domain on.
    Path(Box<[PatternStep]>),
}

#[derive(Debug, Clone)]
enum PatternStep {
    /// The empty component before a leading `/` or between two of them.
    Empty,
    /// `**` as a whole component.
    AnyDepth,
    /// Any other component with `**` in it: matches nothing.
    Never,
    One(Option<Glob>),
}

impl Pattern {
    /// Parses a line that is neither blank nor a comment.
    pub(super) fn parse(line: &[u8], domain: &[Box<[u8]>]) -> Self {
        let mut text = line;
        let mut effect = Effect::Exclude;
        if let Some(rest) = text.strip_prefix(b"!") {
            effect = Effect::Include;
            text = rest;
        }
        if !text.ends_with(b"\\ ") {
            let spaces = text.iter().rev().take_while(|byte| **byte == b' ').count();
            text = text.part(..text.len() - spaces);
        }
        let unslashed = text.strip_suffix(b"/");
        let (form, last) = Form::parse(unslashed.unwrap_or(text));
        Self {
            domain: domain.into(),
            effect,
            directories_only: unslashed.is_some(),
            last,
            form,
        }
    }

    /// Whether a path from the root matches, if its directory does not.
    ///
    /// Then the pattern must match the whole path: without the last component it would match the directory, too. So the
    /// last component is matched first, which nearly always decides.
    pub(super) fn matches_in_directory<P: AsRef<[u8]>>(&self, path: &[P], is_directory: bool) -> bool {
        if self.directories_only && !is_directory {
            return false;
        }
        let fits_last = path.last().is_some_and(|name| fits(self.last.as_ref(), name.as_ref()));
        fits_last
            && below(path, &self.domain).is_some_and(|path| match &self.form {
                Form::Name => !path.is_empty(),
                Form::Path(steps) => walk(steps, path),
            })
    }

    /// Whether a path below the directory could match. True when in doubt.
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
                PatternStep::Empty => {}
                PatternStep::AnyDepth => return true,
                PatternStep::Never => return false,
                PatternStep::One(glob) => match names.next() {
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
    /// The form, and the glob of the last component to match.
    fn parse(text: &[u8]) -> (Self, Option<Glob>) {
        if !text.contains(&b'/') {
            return (Self::Name, Glob::parse(text));
        }
        let step = |component: &[u8]| match component {
            b"" => PatternStep::Empty,
            b"**" => PatternStep::AnyDepth,
            other if other.windows(2).any(|pair| pair == b"**") => PatternStep::Never,
            other => PatternStep::One(Glob::parse(other)),
        };
        let steps: Box<[PatternStep]> = text.split(|byte| *byte == b'/').map(step).collect();
        let last = steps.iter().rev().find_map(|step| match step {
            PatternStep::One(glob) => Some(glob.clone()),
            _ => None,
        });
        (Self::Path(steps), last.flatten())
    }
}

/// Matches the steps of a pattern with a `/` as go-git's `globMatch` does.
///
/// After `**` the first match of the next step is final, without backtracking when the following steps do not match; so
/// `**/a/b` does not match `a/a/b`.
fn walk<P: AsRef<[u8]>>(steps: &[PatternStep], path: &[P]) -> bool {
    let (mut path, mut matched, mut any_depth) = (path, false, false);
    for (index, step) in steps.iter().enumerate() {
        let glob = match step {
            PatternStep::Empty => {
                any_depth = false;
                continue;
            }
            PatternStep::AnyDepth if index + 1 == steps.len() => break,
            PatternStep::AnyDepth => {
                any_depth = true;
                continue;
            }
            PatternStep::Never => return false,
            PatternStep::One(glob) => glob.as_ref(),
        };
        let Some((first, after)) = path.split_first() else {
            return false;
        };
        if any_depth {
            any_depth = false;
            let position = path.iter().position(|name| fits(glob, name.as_ref()));
            matched = position.is_some();
            path = position.map_or(&[], |at| path.part(at + 1..));
        } else if fits(glob, first.as_ref()) {
            matched = true;
            path = after;
        } else {
            return false;
        }
    }
    matched
}

fn fits(glob: Option<&Glob>, name: &[u8]) -> bool {
    glob.is_some_and(|glob| glob.matches(name))
}

/// The part of a path below the domain; `None` when it is elsewhere.
fn below<'a, P: AsRef<[u8]>>(path: &'a [P], domain: &[Box<[u8]>]) -> Option<&'a [P]> {
    let (head, rest) = path.split_at_checked(domain.len())?;
    let is_inside = head.iter().zip(domain).all(|(one, other)| *one.as_ref() == **other);
    is_inside.then_some(rest)
}
