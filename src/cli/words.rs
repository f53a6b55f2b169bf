//! Wording of runs, objects and skips, the same in every output format.

use std::borrow::Cow;

use bumpwright_edit::{Change, Skip};
pub use bumpwright_findings::terminal::{inline, json, printable};
use bumpwright_git::{RemoteUrl, Scheme};
use bumpwright_text::Excerpt;
use bumpwright_update::{Run, shown};

/// Where the name of an image is first, in files by their paths: as a whole, not as a part of a longer one.
pub fn mention<'f>(files: impl Iterator<Item = (&'f str, &'f [u8])>, image: &str) -> Option<(String, usize)> {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    let has = |line: &str| {
        line.match_indices(image).any(|(at, _)| {
            let before = line.get(..at).and_then(|text| text.chars().next_back());
            let behind = line.get(at + image.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(goes_on) && !behind.is_some_and(goes_on)
        })
    };
    let mut files = files.filter_map(|(path, bytes)| Some((path, std::str::from_utf8(bytes).ok()?)));
    files.find_map(|(path, text)| {
        let line = text.lines().position(has)?;
        Some((path.to_owned(), line + 1))
    })
}

/// `path:line:col: Reason: message`.
#[must_use]
pub fn skip(skip: &Skip) -> String {
    format!(
        "{}:{}:{}: {:?}: {}",
        inline(&skip.path),
        skip.line,
        skip.column,
        skip.reason,
        inline(&skip.message)
    )
}

/// The same for a skip of a run, whose file is named from where people are.
#[must_use]
pub fn skip_of(run: &Run, one: &Skip) -> String {
    skip(&Skip {
        path: shown(&run.folder, &one.path),
        ..one.clone()
    })
}

/// The first line of a message, shortened to fit a line of output.
#[must_use]
pub fn subject(message: &str) -> Cow<'_, str> {
    const LONGEST: usize = 200;
    let line = message.first_line();
    match line.cut_to(LONGEST) {
        None => inline(line),
        Some(cut) => Cow::Owned(format!("{}…", inline(cut))),
    }
}

/// An address as typed, without its user and password.
#[must_use]
pub fn public(address: &str) -> String {
    let shown = match RemoteUrl::parse(address) {
        Ok(url) if url.scheme() != Scheme::Local => url.to_string(),
        _ => address.to_owned(),
    };
    // For an invalid address, text before an @ may still be a password.
    match shown.rsplit_once('@') {
        Some((login, rest)) if login.contains(':') => match shown.split_once("://") {
            Some((scheme, _)) => format!("{scheme}://…@{rest}"),
            None => format!("…@{rest}"),
        },
        _ => shown,
    }
}

#[must_use]
pub fn headline(run: &Run) -> String {
    changed(&run.changes)
}

/// How many fields of how many files these are.
#[must_use]
pub fn changed(changes: &[Change]) -> String {
    let mut files: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    files.dedup();
    format!("{} in {}", count(changes.len(), "field"), count(files.len(), "file"))
}

/// The first few of many names.
#[must_use]
pub fn some(names: &[String]) -> String {
    const FEW: usize = 5;
    let shown = names
        .iter()
        .take(FEW)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(FEW) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `1 file`, `2 files`.
#[must_use]
pub fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// `1 file was`, `2 files were`.
#[must_use]
pub fn were(n: usize, noun: &str) -> String {
    format!("{} {}", count(n, noun), if n == 1 { "was" } else { "were" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_their_login() {
        for (typed, shown) in [
            ("https://u:hunter2@h/x.git", "https://h/x.git"),
            ("ssh://git@h/x.git", "ssh://h/x.git"),
            ("ftp://u:hunter2@h/x.git", "ftp://…@h/x.git"),
            ("https:u:hunter2@h/x.git", "…@h/x.git"),
            ("u:hunter2@h/x.git", "…@h/x.git"),
            ("releases/app@v1", "releases/app@v1"),
            (".", "."),
        ] {
            assert_eq!(public(typed), shown, "{typed}");
        }
    }
}
