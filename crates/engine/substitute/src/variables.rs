//! The variables of a Kustomization: those of ConfigMaps and Secrets in their order, then the inline ones.

use std::collections::BTreeMap;
use std::fmt;
use zeroize::Zeroizing;

/// The pattern of names; messages show it.
pub(crate) const NAME: &str = "^[_[:alpha:]][_[:alpha:][:digit:]]*$";

/// Values by name. Later additions win, and line breaks are removed from values (K-088, K-089).
///
/// Call [`Self::add_config_map`] and [`Self::add_secret`] in the order of `substituteFrom`, then [`Self::add_inline`].
/// A missing optional reference is left out. Flux reads them again for each object, and not at all where there is
/// no object or substitution is disabled on all: an invalid reference is not an error then.
#[derive(Default, Clone)]
pub struct Variables {
    values: BTreeMap<String, Variable>,
}

#[derive(Clone)]
struct Variable {
    value: Zeroizing<Vec<u8>>,
    secret: bool,
    /// Whether the value only stands for one that is not known.
    unknown: bool,
}

/// The kind of a reference of `substituteFrom`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    ConfigMap,
    Secret,
}

/// A reference of `substituteFrom` that cannot be read (K-084).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("substitute from '{kind}/{name}' error: {cause}")]
pub struct SourceError {
    pub kind: SourceKind,
    pub name: String,
    /// The API server's message, such as `configmaps "vars" not found`.
    pub cause: String,
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        })
    }
}

impl fmt::Debug for Variables {
    /// Only names: values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Variables {
    /// Adds `data` of a ConfigMap.
    pub fn add_config_map<'d>(&mut self, data: impl IntoIterator<Item = (&'d String, &'d String)>) {
        for (name, value) in data {
            self.set(name, value.as_bytes(), false);
        }
    }

    /// Adds `data` of a Secret, decoded from base64.
    pub fn add_secret<'d, K, V>(&mut self, data: impl IntoIterator<Item = (&'d K, &'d V)>)
    where
        K: AsRef<str> + ?Sized + 'd,
        V: AsRef<[u8]> + ?Sized + 'd,
    {
        for (name, value) in data {
            self.set(name.as_ref(), value.as_ref(), true);
        }
    }

    /// Adds `spec.postBuild.substitute`.
    pub fn add_inline<'d>(&mut self, substitute: impl IntoIterator<Item = (&'d String, &'d String)>) {
        self.add_config_map(substitute);
    }

    /// Marks variables whose values only stand for others that are not known: an expression with a default has that.
    pub fn mark_unknown<'n>(&mut self, names: impl IntoIterator<Item = &'n String>) {
        for name in names {
            if let Some(variable) = self.values.get_mut(name) {
                variable.unknown = true;
            }
        }
    }

    fn set(&mut self, name: &str, value: &[u8], secret: bool) {
        let lines = value.iter().copied().filter(|byte| *byte != b'\n');
        let value = Zeroizing::new(lines.collect());
        let variable = Variable {
            value,
            secret,
            unknown: false,
        };
        self.values.insert(name.to_owned(), variable);
    }

    /// Whether there are none: then Flux substitutes nothing, not even defaults, unless it is configured
    /// to do so always.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        self.values.get(name).map(|variable| variable.value.as_slice())
    }

    /// Whether the value of a variable only stands for one that is not known.
    pub(crate) fn is_unknown(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|variable| variable.unknown)
    }

    /// Whether a variable comes from a Secret.
    pub(crate) fn is_secret(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|variable| variable.secret)
    }

    /// The values that come from Secrets.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        let secrets = self.values.values().filter(|variable| variable.secret);
        secrets.map(|variable| variable.value.as_slice())
    }

    /// The first invalid name.
    pub(crate) fn wrong_name(&self) -> Option<&str> {
        self.values.keys().map(String::as_str).find(|name| !is_name(name))
    }
}

fn is_name(name: &str) -> bool {
    let word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    word && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}
