//! The submodules of a repository, and their addresses (`gitmodules(5)`).

use crate::RemoteUrl;

/// The most submodules of one repository, including nested ones.
pub const MOST_SUBMODULES: usize = 256;

/// A submodule in `.gitmodules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submodule {
    pub path: String,
    /// Its address, as written.
    pub url: String,
}

/// A `.gitmodules` is not a valid Git configuration. The text is that of gix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(".gitmodules: {0}")]
pub struct InvalidModules(String);

/// Parses a `.gitmodules`.
pub fn submodules_named(text: &[u8]) -> Result<Vec<Submodule>, InvalidModules> {
    let file = gix::config::File::from_bytes_no_includes(
        text,
        gix::config::file::Metadata::default(),
        gix::config::file::init::Options::default(),
    );
    let file = file.map_err(|error| InvalidModules(error.to_string()))?;
    let mut submodules = Vec::new();
    for section in file.sections_by_name("submodule").into_iter().flatten() {
        let text = |key: &str| section.value(key).map(|value| value.to_string());
        if let (Some(path), Some(url)) = (text("path"), text("url")) {
            submodules.push(Submodule { path, url });
        }
    }
    Ok(submodules)
}

/// The address of a submodule: one that begins with `./` or `../` is relative to its parent repository.
#[must_use]
pub fn address_of_submodule(parent: &str, url: &str) -> String {
    if !url.starts_with("./") && !url.starts_with("../") {
        return url.to_owned();
    }
    let mut base = parent.trim_end_matches('/').to_owned();
    let mut rest = url;
    loop {
        if let Some(shorter) = rest.strip_prefix("./") {
            rest = shorter;
        } else if let Some(shorter) = rest.strip_prefix("../") {
            rest = shorter;
            let cut = base.rfind(['/', ':']).unwrap_or(0);
            base.truncate(cut);
        } else {
            break;
        }
    }
    let joined = format!("{base}/{rest}");
    // `host:repo` of another user's folder: the colon was removed with the last name.
    match RemoteUrl::parse(&joined) {
        Ok(_) => joined,
        Err(_) => format!("{base}:{rest}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn submodules_are_read_from_gitmodules() {
        let text = b"[submodule \"lib\"]\n\tpath = third/lib\n\turl = ../lib.git\n[submodule \"x\"]\n\tpath = x\n";
        let lib = Submodule {
            path: "third/lib".to_owned(),
            url: "../lib.git".to_owned(),
        };
        assert_eq!(submodules_named(text).unwrap(), [lib]);
        assert!(submodules_named(b"[submodule").is_err());
    }

    #[test]
    fn relative_addresses_count_from_the_parent() {
        for (parent, url, expected) in [
            ("https://x.org/a/b.git", "../c.git", "https://x.org/a/c.git"),
            ("https://x.org/a/b.git/", "./c.git", "https://x.org/a/b.git/c.git"),
            ("https://x.org/a/b", "../../d/c", "https://x.org/d/c"),
            ("git@x.org:a/b.git", "../c.git", "git@x.org:a/c.git"),
            ("file:///srv/a", "https://x.org/c", "https://x.org/c"),
        ] {
            assert_eq!(address_of_submodule(parent, url), expected, "{parent} {url}");
        }
    }
}
