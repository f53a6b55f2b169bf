//! `update.path`, joined to the repository's root as Flux does (docs/cli.md, *TARGET*, rule 7).
//!
//! The rules are those of a secure join: `..` stops at the root, an absolute path or link target starts at the root,
//! links inside the repository are followed on the way to the path. Below the path nothing is followed.

/// The kind of entry at a path of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Missing,
    /// A file or a folder.
    Present,
    /// A symbolic link, with its target.
    Link(String),
}

/// Why a path could not be joined.
#[derive(Debug, thiserror::Error)]
pub enum PathError<E> {
    /// More links than a path can sensibly hold.
    #[error("{path}: too many levels of symbolic links")]
    TooManyLinks {
        /// The path as given.
        path: String,
    },
    /// The repository could not be read.
    #[error(transparent)]
    Lookup(E),
}

impl<E> PathError<E> {
    /// With another error of the repository.
    pub fn map<F>(self, of_lookup: impl FnOnce(E) -> F) -> PathError<F> {
        match self {
            Self::TooManyLinks { path } => PathError::TooManyLinks { path },
            Self::Lookup(error) => PathError::Lookup(of_lookup(error)),
        }
    }
}

/// A path in a folder as people see it from where they are: behind the folder as they wrote it, which ends in a slash
/// or is empty. Where the path leads out of the folder, so does what is shown.
#[must_use]
pub fn shown(folder: &str, path: &str) -> String {
    let (mut folder, mut path) = (folder, path);
    while let (Some(above), Some(rest)) = (above(folder), path.strip_prefix("../")) {
        (folder, path) = (above, rest);
    }
    format!("{folder}{path}")
}

/// The folder above one; none if that is not written.
fn above(folder: &str) -> Option<&str> {
    let inner = folder.strip_suffix('/')?;
    let name = inner.rsplit_once('/').map_or(inner, |(_, name)| name);
    let is_name = !matches!(name, "" | "." | "..");
    inner.strip_suffix(name).filter(|_| is_name)
}

/// Linux's limit for links times six, the limit of the join that Flux uses.
const MAX_LINKS: usize = 255;

/// Joins `path` to the root; `lookup` returns the entry at a path relative to the root (`/` between parts, none at the
/// ends). The result is such a path, empty for the root itself; it need not exist.
///
/// # Errors
///
/// When links lead in circles, or `lookup` fails.
pub fn join<E>(path: &str, mut lookup: impl FnMut(&str) -> Result<Node, E>) -> Result<String, PathError<E>> {
    let mut done: Vec<String> = Vec::new();
    let mut rest: Vec<String> = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        done.push(part);
        if let Node::Link(target) = lookup(&done.join("/")).map_err(PathError::Lookup)? {
            links += 1;
            if links > MAX_LINKS {
                return Err(PathError::TooManyLinks { path: path.to_owned() });
            }
            done.pop();
            if target.starts_with('/') {
                done.clear();
            }
            rest.extend(parts(&target));
        }
    }
    Ok(done.join("/"))
}

/// Joins the path lexically, as if no part of it were a link.
#[must_use]
pub fn join_by_letters(path: &str) -> String {
    let mut done: Vec<String> = Vec::new();
    for part in parts(path).into_iter().rev() {
        if part == ".." {
            done.pop();
        } else {
            done.push(part);
        }
    }
    done.join("/")
}

/// The parts of a path without `.` and empty ones, last first.
fn parts(path: &str) -> Vec<String> {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .rev()
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn joined(path: &str, links: &[(&str, &str)]) -> Result<String, PathError<Infallible>> {
        join(path, |at| {
            Ok(links
                .iter()
                .find(|(from, _)| *from == at)
                .map_or(Node::Present, |(_, to)| Node::Link((*to).to_owned())))
        })
    }

    #[test]
    fn a_path_is_shown_behind_its_folder() {
        for (folder, path, expected) in [
            ("", "apps/a.yaml", "apps/a.yaml"),
            ("apps/", "a.yaml", "apps/a.yaml"),
            ("../fleet/apps/", "../.bumpwright/p.yaml", "../fleet/.bumpwright/p.yaml"),
            ("apps/web/", "../../p.yaml", "p.yaml"),
            ("apps/", "../../p.yaml", "../p.yaml"),
            ("../", "../p.yaml", "../../p.yaml"),
            ("/", "../p.yaml", "/../p.yaml"),
        ] {
            assert_eq!(shown(folder, path), expected, "{folder} {path}");
        }
    }

    #[test]
    fn the_root_is_never_left() {
        for path in ["", ".", "./", "/", "../../..", "a/../..", "././/"] {
            assert_eq!(joined(path, &[]).unwrap(), "", "{path:?}");
            assert_eq!(join_by_letters(path), "", "{path:?}");
        }
        for (path, wanted) in [("/apps", "apps"), ("../apps/./x/", "apps/x"), ("a/b/../c", "a/c")] {
            assert_eq!(joined(path, &[]).unwrap(), wanted);
            assert_eq!(join_by_letters(path), wanted);
        }
    }

    #[test]
    fn links_are_followed_inside_the_repository() {
        let links = [
            ("link", "real/dir"),
            ("abs", "/real"),
            ("real/up", "../../../other"),
            ("chain", "link"),
        ];
        assert_eq!(joined("link", &links).unwrap(), "real/dir");
        assert_eq!(joined("abs/x", &links).unwrap(), "real/x");
        assert_eq!(joined("real/up/y", &links).unwrap(), "other/y");
        assert_eq!(joined("chain/..", &links).unwrap(), "real");
    }

    #[test]
    fn circles_are_an_error() {
        assert!(matches!(
            joined("a", &[("a", "b"), ("b", "a")]),
            Err(PathError::TooManyLinks { .. })
        ));
    }
}
