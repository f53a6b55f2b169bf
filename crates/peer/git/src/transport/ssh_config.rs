//! The subset of `ssh_config` for a Git transport (`man ssh_config`).

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::ssh_pattern::list_matches;

/// The depth of nested includes, as in ssh.
const INCLUDES: usize = 16;

/// The settings of the user's and the system's file for a host. As in ssh the first value wins; identity files add up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HostConfig {
    /// `HostName`: the name to connect to.
    pub(crate) host_name: Option<String>,
    /// `HostKeyAlias`: the name to look up in known_hosts.
    pub(crate) alias: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) user: Option<String>,
    /// `IdentityFile`, in order, expanded.
    pub(crate) identities: Vec<PathBuf>,
    /// `IdentitiesOnly yes`: the agent's other keys are not tried.
    pub(crate) identities_only: bool,
    /// `UserKnownHostsFile`, expanded.
    pub(crate) known_hosts: Option<Vec<PathBuf>>,
    /// Why the host may not be reached as the configuration says: the first reason.
    pub(crate) problem: Option<ConfigProblem>,
}

/// What would change the connection to the host, and cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConfigProblem {
    #[error("`{0}` in the ssh configuration is not supported; use another address")]
    Unsupported(String),
    /// ssh ends here, too.
    #[error("{file}, which the ssh configuration includes, cannot be read: {why}", file = .file.display())]
    Unreadable { file: PathBuf, why: String },
}

impl HostConfig {
    /// Reads `~/.ssh/config` and `/etc/ssh/ssh_config`. Like ssh it continues without one that cannot be read.
    pub(crate) fn of_user(host: &str) -> Self {
        let home = home();
        let texts = [home.join(".ssh/config"), PathBuf::from("/etc/ssh/ssh_config")].map(fs::read);
        let texts: Vec<_> = texts
            .iter()
            .flatten()
            .map(|bytes| String::from_utf8_lossy(bytes))
            .collect();
        Self::read(texts.iter().map(AsRef::as_ref), host, &home)
    }

    fn read<'a>(texts: impl Iterator<Item = &'a str>, host: &str, home: &Path) -> Self {
        let mut config = Self::default();
        for text in texts {
            config.apply(text, host, home, 0);
        }
        config.expand(host, home);
        config
    }

    fn apply(&mut self, text: &str, host: &str, home: &Path, depth: usize) {
        let mut applies = true;
        for line in text.lines() {
            let words = words(line);
            let Some((keyword, values)) = words.split_first() else {
                continue;
            };
            match keyword.to_ascii_lowercase().as_str() {
                "host" => applies = list_matches(values.iter().map(String::as_str), host),
                // The other criteria would run programs or resolve names.
                "match" => applies = values.first().is_some_and(|v| v.eq_ignore_ascii_case("all")),
                "include" if applies && depth < INCLUDES => {
                    for file in values.iter().flat_map(|value| included(value, home)) {
                        match fs::read(&file) {
                            Ok(text) => self.apply(&String::from_utf8_lossy(&text), host, home, depth + 1),
                            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                            Err(error) => self.cannot(ConfigProblem::Unreadable {
                                file,
                                why: error.to_string(),
                            }),
                        }
                    }
                }
                keyword if applies => self.set(keyword, values, home),
                _ => {}
            }
        }
    }

    fn set(&mut self, keyword: &str, values: &[String], home: &Path) {
        let Some(value) = values.first() else { return };
        let first = |slot: &mut Option<String>| {
            slot.get_or_insert_with(|| value.clone());
        };
        match keyword {
            "hostname" => first(&mut self.host_name),
            "hostkeyalias" => first(&mut self.alias),
            "user" => first(&mut self.user),
            "port" => self.port = self.port.or_else(|| value.parse().ok()),
            "identityfile" if value.eq_ignore_ascii_case("none") => {}
            "identityfile" => self.identities.push(PathBuf::from(value)),
            "identitiesonly" => self.identities_only |= value.eq_ignore_ascii_case("yes"),
            "userknownhostsfile" => {
                let files = values.iter().filter(|v| !v.eq_ignore_ascii_case("none"));
                self.known_hosts
                    .get_or_insert_with(|| files.map(|v| tilde(v, home)).collect());
            }
            "proxyjump" | "proxycommand" if !value.eq_ignore_ascii_case("none") => {
                // Not its value, which may hold a secret.
                self.cannot(ConfigProblem::Unsupported(keyword.to_owned()));
            }
            _ => {}
        }
    }

    fn cannot(&mut self, problem: ConfigProblem) {
        self.problem.get_or_insert(problem);
    }

    fn expand(&mut self, host: &str, home: &Path) {
        if let Some(name) = &mut self.host_name {
            *name = name.replace("%h", host).replace("%%", "%");
        }
        let target = self.host_name.clone().unwrap_or_else(|| host.to_owned());
        let (user, folder) = (self.user.as_deref().unwrap_or(""), home.display().to_string());
        for path in &mut self.identities {
            let text = path.display().to_string();
            let text = text
                .replace("%d", &folder)
                .replace("%h", &target)
                .replace("%r", user)
                .replace("%%", "%");
            *path = tilde(&text, home);
        }
    }
}

/// The user's home; the working folder where the system knows none.
pub(super) fn home() -> PathBuf {
    env::home_dir().unwrap_or_default()
}

/// The files of an `Include`, in order. Patterns are supported in the last part of the path only.
fn included(value: &str, home: &Path) -> Vec<PathBuf> {
    let path = home.join(".ssh").join(tilde(value, home));
    let Some((folder, pattern)) = path.parent().zip(path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    if !pattern.contains(['*', '?']) {
        return vec![path];
    }
    let names = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let fits = |name: &String| !name.starts_with('.') && list_matches([pattern], name);
    let mut files: Vec<_> = names.filter(fits).map(|name| folder.join(name)).collect();
    files.sort();
    files
}

fn tilde(path: &str, home: &Path) -> PathBuf {
    path.strip_prefix("~/")
        .map_or_else(|| PathBuf::from(path), |rest| home.join(rest))
}

/// Splits `Keyword value …` or `Keyword=value`; a value with blanks is in double quotes.
fn words(line: &str) -> Vec<String> {
    let line = line.trim();
    if line.starts_with('#') {
        return Vec::new();
    }
    let end = line.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(line.len());
    let (keyword, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest);
    let mut words = vec![keyword.to_owned()];
    let (mut word, mut quoted, mut open) = (String::new(), false, false);
    for c in rest.chars() {
        match c {
            '"' => (quoted, open) = (!quoted, true),
            c if c.is_whitespace() && !quoted => {
                if open {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            c => {
                word.push(c);
                open = true;
            }
        }
    }
    if open {
        words.push(word);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str, host: &str) -> HostConfig {
        HostConfig::read([text].into_iter(), host, Path::new("/home/me"))
    }

    #[test]
    fn first_value_wins_and_identities_add_up() {
        let text = "IdentityFile ~/.ssh/first\n\
                    Host fleet *.example.com !bad.example.com\n\
                    \tHostName=%h.internal\n  Port 2222\n  User \"git user\"\n  IdentityFile \"/keys/a b\"\n\
                    Host *\n  Port 22\n  User nobody\n  UserKnownHostsFile ~/kh /etc/kh\n  IdentitiesOnly yes\n";
        let config = read(text, "fleet");
        assert_eq!(config.host_name.as_deref(), Some("fleet.internal"));
        assert_eq!((config.port, config.user.as_deref()), (Some(2222), Some("git user")));
        assert_eq!(
            config.identities,
            [Path::new("/home/me/.ssh/first"), Path::new("/keys/a b")]
        );
        assert_eq!(
            config.known_hosts.unwrap(),
            [Path::new("/home/me/kh"), Path::new("/etc/kh")]
        );
        assert!(config.identities_only);
        let other = read(text, "bad.example.com");
        assert_eq!((other.host_name, other.port), (None, Some(22)));
    }

    #[test]
    fn includes() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join(".ssh/conf.d");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("b.conf"), "Port 2\nHost other\nUser wrong\n").unwrap();
        fs::write(dir.join("a.conf"), "Port 1\nInclude conf.d/a.conf\n").unwrap();
        fs::write(dir.join("c.txt"), "Port 3\nUser c\n").unwrap();
        let text =
            "Host other\nInclude conf.d/c.txt\nHost h\nInclude conf.d/*.conf\nInclude ~/.ssh/conf.d/c.txt missing\n";
        let config = HostConfig::read([text].into_iter(), "h", home.path());
        assert_eq!((config.port, config.user.as_deref()), (Some(1), Some("c")));
    }

    /// An included file that is missing is skipped, as by ssh; one that cannot be read may name another host.
    #[test]
    fn an_included_file_that_cannot_be_read_is_reported() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".ssh/conf.d/work.conf");
        fs::create_dir_all(&folder).unwrap();
        let of = |text: &str| HostConfig::read([text].into_iter(), "h", home.path()).problem;
        assert_eq!(of("Include missing\nHost other\nInclude conf.d/work.conf\n"), None);
        let problem = of("Include conf.d/*.conf\n").unwrap().to_string();
        assert!(
            problem.starts_with(&format!("{}, which", folder.display())),
            "{problem}"
        );
    }

    #[test]
    fn other_ways_to_the_host_are_noticed() {
        assert_eq!(
            read("ProxyJump bastion\n", "h").problem,
            Some(ConfigProblem::Unsupported("proxyjump".to_owned()))
        );
        assert_eq!(
            read("ProxyCommand none\nMatch exec true\nProxyJump x\n", "h"),
            HostConfig::default()
        );
    }
}
