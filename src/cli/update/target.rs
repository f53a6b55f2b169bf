//! The kinds of TARGET (docs/cli.md, *`update`: what TARGET means*, rule 1).

use std::path::{Path, PathBuf};

use crate::cli::error::{Attempt as _, CliError};
use crate::cli::files::near_path;
use crate::cli::words;
use bumpwright_git::instead_of;

/// What TARGET names: a Git URL, a folder or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A Git URL, to fetch from and push to.
    Remote(String),
    /// A folder, edited in place.
    Folder(PathBuf),
    /// A single file, edited in place.
    File(PathBuf),
}

/// Classifies TARGET: a URL or `host:path` is a remote, a bare repository is one over `file://`, a folder or file is
/// edited in place.
///
/// # Errors
/// Any other text, in words for the user.
pub fn classify(text: &str) -> Result<Target, CliError> {
    if text.is_empty() {
        return Err(CliError::new("TARGET is empty")
            .hint("leave it out, or give a folder, a file, a bare repository, or a Git URL"));
    }
    if text.contains("://") || is_scp_like(text) || is_short(text) {
        return Ok(Target::Remote(text.to_owned()));
    }
    let path = Path::new(text);
    let shown = words::public(text);
    if let Some(working) = inside_git_folder(path) {
        return Err(CliError::new(format!(
            "{shown} belongs to Git itself; give the working folder, {}",
            working.display()
        )));
    }
    if is_bare_repository(path) {
        // One address of one repository, however its path is spelled.
        let absolute = std::fs::canonicalize(path).at(&shown)?;
        // File names may contain characters with a meaning in URLs: `%`, `?`, `#`.
        let url = url::Url::from_file_path(&absolute).map_err(|()| CliError::new("not a local path").at(&shown))?;
        return Ok(Target::Remote(url.to_string()));
    }
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(Target::Folder(path.to_owned())),
        Ok(meta) if meta.is_file() => Ok(Target::File(path.to_owned())),
        Ok(_) => Err(CliError::new("neither a folder nor a file").at(shown)),
        Err(error) => match near_path(path, &error) {
            Some(near) => Err(CliError::from(error).at(shown).meant(Some(&words::public(&near)))),
            None => Err(CliError::from(error)
                .at(shown)
                .hint("TARGET is a folder, a file, a bare repository, or a Git URL (scheme://… or host:path)")),
        },
    }
}

/// `user@host:path` or `host:path` without a slash before the colon; a file of that name takes precedence.
fn is_scp_like(text: &str) -> bool {
    let Some((login, path)) = text.split_once(':') else {
        return false;
    };
    let (user, host) = login.split_once('@').unwrap_or(("git", login));
    ![user, host, path].contains(&"") && !login.contains('/') && !Path::new(text).exists()
}

/// An address that `url.….insteadOf` of the user's Git makes another one of.
fn is_short(text: &str) -> bool {
    text.contains(':') && !Path::new(text).exists() && instead_of(text).is_some()
}

/// The working folder of a `.git` folder, when `path` is one or inside one. A bare repository may have that name too
/// (with linked work trees beside it); its configuration says so.
fn inside_git_folder(path: &Path) -> Option<PathBuf> {
    let real = std::fs::canonicalize(path).ok()?;
    let git = real.ancestors().find(|above| above.ends_with(".git"))?;
    let config = std::fs::read_to_string(git.join("config"));
    let bare = |line: &str| {
        line.split_once('=')
            .is_some_and(|(key, value)| key.trim() == "bare" && value.trim() == "true")
    };
    if git == real && config.is_ok_and(|config| config.lines().any(bare)) {
        return None;
    }
    git.parent().map(Path::to_owned)
}

/// Recognises a repository as git does: `HEAD`, `objects/` and `refs/` side by side.
fn is_bare_repository(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_scp_like_names_are_remotes() {
        for text in [
            "https://h/o/r",
            "ssh://git@h/r.git",
            "file:///srv/r.git",
            "git@host:o/r.git",
            "host:o/r.git",
        ] {
            assert_eq!(classify(text).unwrap(), Target::Remote(text.to_owned()));
        }
    }

    #[test]
    fn the_git_folder_of_a_working_repository_is_no_target() {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path().join("app/.git");
        for name in ["objects", "refs", "hooks"] {
            std::fs::create_dir_all(git.join(name)).unwrap();
        }
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main").unwrap();
        std::fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
        for name in [git.clone(), git.join("hooks")] {
            let error = classify(name.to_str().unwrap()).unwrap_err().to_string();
            assert!(
                error.contains("give the working folder, ") && error.ends_with("app"),
                "{error}"
            );
        }
        std::fs::write(git.join("config"), "[core]\n\tbare = true\n").unwrap();
        assert!(matches!(classify(git.to_str().unwrap()), Ok(Target::Remote(_))));
    }

    #[test]
    fn paths_are_what_stands_there() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("a.yaml"), "a").unwrap();
        for name in ["bare.git/objects", "bare.git/refs"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("bare.git/HEAD"), "ref: refs/heads/main").unwrap();
        let name = |path: &Path| path.to_str().unwrap().to_owned();
        assert_eq!(
            classify(&name(dir.path())).unwrap(),
            Target::Folder(dir.path().to_owned())
        );
        assert_eq!(classify(&name(&at("a.yaml"))).unwrap(), Target::File(at("a.yaml")));
        let bare = format!("file://{}", at("bare.git").display());
        assert_eq!(classify(&name(&at("bare.git"))).unwrap(), Target::Remote(bare));
        std::fs::create_dir(at("x")).unwrap();
        assert_eq!(
            classify(&name(&at("x/../bare.git"))).unwrap(),
            classify(&name(&at("bare.git"))).unwrap()
        );
        let odd = at("100% #1?.git");
        std::fs::rename(at("bare.git"), &odd).unwrap();
        let Target::Remote(url) = classify(&name(&odd)).unwrap() else {
            unreachable!("a bare repository");
        };
        let read = bumpwright_git::RemoteUrl::parse(&url).unwrap();
        assert_eq!(read.local_path(), Some(odd.as_path()));
        assert!(classify("").unwrap_err().to_string().contains("TARGET is empty"));
        assert!(
            classify(&name(&at("none")))
                .unwrap_err()
                .to_string()
                .contains("Git URL")
        );
        assert!(classify("folder/host:path").is_err());
    }
}
