//! What TARGET is (CLI.md, *`update`: what TARGET means*, rule 1).

use std::path::{Path, PathBuf};

/// A classified TARGET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A Git URL, to fetch from and push to.
    Remote(String),
    /// A folder, edited in place.
    Folder(PathBuf),
    /// A single file, edited in place.
    File(PathBuf),
}

/// Classifies TARGET: a URL or `user@host:path` is a remote, a bare repository is one over `file://`, a folder or file is
/// edited in place.
///
/// # Errors
///
/// Anything else, in words for the user.
pub fn classify(text: &str) -> Result<Target, String> {
    if text.contains("://") || is_scp_like(text) {
        return Ok(Target::Remote(text.to_owned()));
    }
    let path = Path::new(text);
    if is_bare_repository(path) {
        let absolute = std::path::absolute(path).map_err(|e| format!("{text}: {e}"))?;
        return Ok(Target::Remote(format!("file://{}", absolute.display())));
    }
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(Target::Folder(path.to_owned())),
        Ok(meta) if meta.is_file() => Ok(Target::File(path.to_owned())),
        Ok(_) => Err(format!("{text}: neither a folder nor a file")),
        Err(e) => Err(format!(
            "{text}: {e}; TARGET is a folder, a file, a bare repository, or a Git URL (scheme://… or user@host:path)"
        )),
    }
}

/// `user@host:path` with no slash before the colon; a file of that name wins.
fn is_scp_like(text: &str) -> bool {
    let Some((host, path)) = text.split_once(':') else {
        return false;
    };
    let Some((user, host)) = host.split_once('@') else {
        return false;
    };
    !user.is_empty()
        && !host.is_empty()
        && !host.contains('/')
        && !user.contains('/')
        && !path.is_empty()
        && !Path::new(text).exists()
}

/// As git itself recognises one: `HEAD`, `objects/` and `refs/` side by side.
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
        ] {
            assert_eq!(classify(text).unwrap(), Target::Remote(text.to_owned()));
        }
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
        assert!(classify(&name(&at("none"))).unwrap_err().contains("Git URL"));
        assert!(classify("host:path").is_err());
    }
}
