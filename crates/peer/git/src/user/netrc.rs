//! Logins of `~/.netrc` (`man netrc`; libcurl reads it for git).

use std::path::PathBuf;

use bumpwright_secret::Secret;

/// Bytes of the file that are read.
const MOST: u64 = 1 << 20;

/// The login for a host, or for this user of it.
pub(super) fn login(host: &str, user: Option<&str>) -> Option<(String, Secret)> {
    find(&text()?, host, user, true)
}

/// The login that `~/.netrc` has for a host by its name (`machine`). That of `default` is for servers that the user
/// chooses, and not for those that a manifest names.
#[must_use]
pub fn machine_login(host: &str) -> Option<(String, Secret)> {
    find(&text()?, host, None, false)
}

fn text() -> Option<String> {
    let path = PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?).join(".netrc");
    let size = std::fs::metadata(&path).ok()?.len();
    std::fs::read_to_string(&path).ok().filter(|_| size <= MOST)
}

/// One `machine` or `default`.
#[derive(Default)]
struct Entry<'t> {
    login: Option<&'t str>,
    password: Option<&'t str>,
}

impl Entry<'_> {
    fn fits(&self, user: Option<&str>) -> Option<(String, Secret)> {
        let (login, password) = (self.login?, self.password?);
        let is_wanted = user.is_none_or(|user| user == login);
        is_wanted.then(|| (login.to_owned(), Secret::from(password)))
    }
}

/// The first entry that is for the host, or with `default` for all, and has both.
fn find(text: &str, host: &str, user: Option<&str>, default: bool) -> Option<(String, Secret)> {
    // A macro ends at an empty line.
    let mut is_macro = false;
    let lines = text.lines().filter(|line| {
        is_macro = match line.trim() {
            "" => false,
            line => is_macro || line.starts_with("macdef"),
        };
        !is_macro
    });
    let mut words = lines
        .flat_map(|line| line.split_whitespace().take_while(|word| !word.starts_with('#')))
        .collect::<Vec<_>>()
        .into_iter();
    let mut entry: Option<Entry<'_>> = None;
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if let Some(found) = entry.as_ref().and_then(|entry| entry.fits(user)) {
                    return Some(found);
                }
                let is_ours = match word {
                    "default" => default,
                    _ => words.next().is_some_and(|name| name.eq_ignore_ascii_case(host)),
                };
                entry = is_ours.then(Entry::default);
            }
            "login" | "password" | "account" => {
                let value = words.next();
                match (word, &mut entry) {
                    ("login", Some(entry)) => entry.login = value,
                    ("password", Some(entry)) => entry.password = value,
                    _ => {}
                }
            }
            _ => {}
        }
    }
    entry?.fits(user)
}

#[cfg(test)]
mod tests {
    use super::find;

    const FILE: &str = "# mine\nmachine git.example.com login ann password a1 # old\nmacdef init\n  machine git.example.com login x password y\n\n\
                        machine git.example.com\n  login bob\n  account z\n  password b2\ndefault login any password d3\n";

    fn of(host: &str, user: Option<&str>) -> Option<String> {
        let (name, password) = find(FILE, host, user, true)?;
        Some(format!("{name}:{}", password.expose()))
    }

    #[test]
    fn the_first_login_of_the_host_counts() {
        assert_eq!(of("git.example.com", None).as_deref(), Some("ann:a1"));
        assert_eq!(of("GIT.example.com", Some("bob")).as_deref(), Some("bob:b2"));
        assert_eq!(of("other.example.com", None).as_deref(), Some("any:d3"));
        assert_eq!(of("git.example.com", Some("eve")), None);
        assert!(find("machine h login", "h", None, true).is_none());
    }

    #[test]
    fn the_default_login_is_for_no_host_by_name() {
        let of = |host| find(FILE, host, None, false).map(|(name, _)| name);
        assert_eq!(of("git.example.com").as_deref(), Some("ann"));
        assert_eq!(of("other.example.com"), None);
    }
}
