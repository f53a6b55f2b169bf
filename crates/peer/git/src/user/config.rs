//! Git's configuration, as far as it says how a repository is reached (`man git-config`): `url.<base>.insteadOf`, and
//! the `Authorization` of `http.<url>.extraHeader`, which CI systems write.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use url::Url;

use super::program;
use bumpwright_http::Deadline;
use bumpwright_secret::Secret;

/// The time for `git config`, which reads small files.
const PATIENCE: Duration = Duration::from_secs(10);

/// Names of the configuration, and their values; read once, as the run is short, and only if it is asked for.
type Entries = LazyLock<Vec<(String, Secret)>>;

/// What an address begins with in the place of what it is written with. A clone may be a stranger's: it does not say
/// where the user's repositories are.
static BASES: Entries = LazyLock::new(|| read(Some(Path::new("/")), r"^url\..*\.insteadof$", "url.", ".insteadof"));

/// Headers for the URLs below one.
static HEADERS: Entries = LazyLock::new(|| read(None, r"^http\..*\.extraheader$", "http.", ".extraheader"));

/// The address that the user's `insteadOf` makes of one; none if it stays as it is.
#[must_use]
pub fn instead_of(address: &str) -> Option<String> {
    rewritten(&BASES, address)
}

/// The `Authorization` that the configuration has for a URL, of the user or of the clone in the working folder.
pub(crate) fn authorization(url: &Url) -> Option<Secret> {
    header_for(&HEADERS, url)
}

/// The values of keys, with what is between the ends of these.
fn read(folder: Option<&Path>, pattern: &str, start: &str, end: &str) -> Vec<(String, Secret)> {
    let mut command = Command::new("git");
    command.args(["config", "--null", "--get-regexp", pattern]);
    if let Some(folder) = folder {
        command.current_dir(folder).env_remove("GIT_DIR");
    }
    let answer = program::answer(command, &Secret::default(), Deadline::after(PATIENCE));
    // None too without such a key, or without git: then the address stays as it is.
    let text = answer.as_ref().map_or("", Secret::expose);
    let entries = text.split('\0').filter_map(|entry| entry.split_once('\n'));
    let named = entries.filter_map(|(key, value)| {
        let name = key.strip_prefix(start)?.strip_suffix(end)?;
        Some((name.to_owned(), Secret::from(value)))
    });
    named.collect()
}

/// The longest prefix counts.
fn rewritten(bases: &[(String, Secret)], address: &str) -> Option<String> {
    let fitting = bases
        .iter()
        .filter_map(|(base, prefix)| Some((base, address.strip_prefix(prefix.expose())?)));
    let (base, rest) = fitting.min_by_key(|(_, rest)| rest.len())?;
    Some(format!("{base}{rest}"))
}

/// The last one of the longest path counts; an empty one resets.
fn header_for(headers: &[(String, Secret)], url: &Url) -> Option<Secret> {
    let fitting = headers
        .iter()
        .filter_map(|(of, value)| Some((depth(&Url::parse(of).ok()?, url)?, value)));
    let (_, value) = fitting.max_by_key(|(depth, _)| *depth)?;
    let (name, value) = value.expose().split_once(':')?;
    let is_login = name.trim().eq_ignore_ascii_case("authorization");
    is_login.then(|| Secret::from(value.trim()))
}

/// The length of the path of a URL of the configuration, if another is below it.
fn depth(above: &Url, url: &Url) -> Option<usize> {
    let path = above.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(path)?;
    let is_below = above.origin() == url.origin() && (rest.is_empty() || rest.starts_with('/'));
    is_below.then_some(path.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn entries(of: &[(&str, &str)]) -> Vec<(String, Secret)> {
        of.iter()
            .map(|(name, value)| ((*name).to_owned(), Secret::from(*value)))
            .collect()
    }

    #[test]
    fn the_longest_prefix_is_replaced() {
        let bases = entries(&[
            ("https://github.com/", "gh:"),
            ("git@github.com:", "https://github.com/"),
            ("https://mirror/acme/", "https://github.com/acme/"),
        ]);
        for (address, wanted) in [
            ("gh:acme/fleet", Some("https://github.com/acme/fleet")),
            ("https://github.com/other/x", Some("git@github.com:other/x")),
            ("https://github.com/acme/x", Some("https://mirror/acme/x")),
            ("https://example.com/x", None),
        ] {
            assert_eq!(rewritten(&bases, address).as_deref(), wanted, "{address}");
        }
    }

    #[test]
    fn a_header_is_for_what_is_below_its_url() {
        let headers = entries(&[
            ("https://github.com/", "AUTHORIZATION: basic one"),
            ("https://github.com/acme", "Authorization: bearer two"),
            ("https://github.com/acme/odd", "X-Other: three"),
        ]);
        let of = |url: &str| header_for(&headers, &Url::parse(url).unwrap()).map(|value| value.expose().to_owned());
        assert_eq!(of("https://github.com/other/x").as_deref(), Some("basic one"));
        assert_eq!(of("https://github.com/acme/x").as_deref(), Some("bearer two"));
        assert_eq!(of("https://github.com/acmes/x").as_deref(), Some("basic one"));
        for none in [
            "http://github.com/acme/x",
            "https://github.com.evil/acme/x",
            "https://github.com/acme/odd",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
