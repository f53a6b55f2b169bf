//! The author of commits: `--author`, or git's settings.

use std::path::Path;
use std::process::Command;

use crate::cli::error::CliError;
use bumpwright_update::Author;

/// Reads `Name <mail>`.
///
/// # Errors
///
/// It does not end with an address in angle brackets.
pub fn parse(text: &str) -> Result<Author, CliError> {
    let usage = || CliError::new(format!("--author {text:?}: expected 'Name <mail>'"));
    let (name, rest) = text.split_once('<').ok_or_else(usage)?;
    let email = rest.trim_end().strip_suffix('>').ok_or_else(usage)?;
    if email.is_empty() || email.contains(['<', '>', '\n']) || name.contains('\n') {
        return Err(usage());
    }
    Ok(Author {
        name: name.trim().to_owned(),
        email: email.trim().to_owned(),
    })
}

/// The author that git would use: the environment first, then `user.name` and `user.email` as set for `folder`
/// (default: the current one). None when git is missing or has no address.
#[must_use]
pub fn from_git(folder: Option<&Path>) -> Option<Author> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let email = variable("GIT_AUTHOR_EMAIL").or_else(|| setting(folder, &["user.email"]))?;
    let name = variable("GIT_AUTHOR_NAME").or_else(|| setting(folder, &["user.name"]))?;
    Some(Author { name, email })
}

/// A git setting for `folder` (default: the current one); its name may follow `--type`. None when it is not
/// set, and without git.
pub(super) fn setting(folder: Option<&Path>, key: &[&str]) -> Option<String> {
    git(folder, &[&["config", "--get"], key].concat())
}

/// What git prints in `folder` (default: the current one); none when it fails or prints nothing, and without git.
pub(super) fn git(folder: Option<&Path>, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
    if let Some(folder) = folder {
        command.arg("-C").arg(folder);
    }
    let out = command.args(arguments).output().ok()?;
    let value = String::from_utf8(out.stdout).ok()?.trim().to_owned();
    Some(value).filter(|value| out.status.success() && !value.is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn authors_are_read_as_git_writes_them() {
        let author = parse("Flux Bot <bot@example.com>").unwrap();
        assert_eq!(
            (author.name.as_str(), author.email.as_str()),
            ("Flux Bot", "bot@example.com")
        );
        assert_eq!(parse("<a@b>").unwrap().name, "");
        for bad in ["nobody", "a <>", "a <b", "a <b> c", "a <b<c>", "a\nb <c>"] {
            assert!(parse(bad).unwrap_err().to_string().contains("expected"), "{bad}");
        }
    }
}
