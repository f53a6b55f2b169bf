//! The environment variables for cloud identities and key services, read once and passed on as a value.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::PathBuf;

use bumpwright_secret::Secret;

/// Prefixes of the variables of the vendors' libraries; others are not kept.
const PREFIXES: [&str; 9] = [
    "AWS_",
    "AZURE_",
    "CLOUDSDK_",
    "GCE_",
    "GOOGLE_",
    "IDENTITY_",
    "MSI_",
    "SOPS_GCP_KMS_",
    "VAULT_",
];
const NAMES: [&str; 7] = [
    "APPDATA",
    "HOME",
    "HOSTNAME",
    "IMDS_ENDPOINT",
    "SOPS_HC_VAULT_ALLOWLIST",
    "STORAGE_EMULATOR_HOST",
    "USERPROFILE",
];

/// Variables by name. Values may be secrets: they are wiped, and `Debug` shows names only.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, Secret>);

impl Environment {
    /// The relevant variables of this process. Values that are not UTF-8 count as unset.
    #[must_use]
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            let name = name.into_string().ok()?;
            let wanted = NAMES.contains(&name.as_str()) || PREFIXES.iter().any(|p| name.starts_with(p));
            wanted.then_some((name, value.into_string().ok()?))
        };
        env::vars_os().filter_map(text).collect()
    }

    /// A variable; an empty one counts as unset, as in the vendors' libraries.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(Secret::expose).filter(|value| !value.is_empty())
    }

    /// A variable that is a switch: `true` in any case.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// The user's home folder.
    #[must_use]
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").or_else(|| self.get("USERPROFILE")).map(PathBuf::from)
    }
}

impl<N: Into<String>, V: Into<Secret>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(n, v)| (n.into(), v.into())).collect())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_is_unset_and_nothing_shows() {
        let environment = Environment::from_iter([("AWS_PROFILE", ""), ("AWS_SECRET_ACCESS_KEY", "hunter2")]);
        assert_eq!(environment.get("AWS_PROFILE"), None);
        assert_eq!(environment.get("AWS_SECRET_ACCESS_KEY"), Some("hunter2"));
        assert_eq!(
            format!("{environment:?}"),
            r#"{"AWS_PROFILE", "AWS_SECRET_ACCESS_KEY"}"#
        );
    }
}
