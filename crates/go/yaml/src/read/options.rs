//! How text is read: whose YAML it is, what duplicates mean, and how deep it nests.

use crate::place::FileId;

/// Which of Go's libraries to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// go.yaml.in/yaml/v2 through sigs.k8s.io/yaml: kustomization files, plugin configurations, JSON patches. `yes` and
    /// `on` are booleans, dates are strings, keys become strings.
    V2,
    /// go.yaml.in/yaml/v3 through kyaml: resources and patches. `yes` is a string, dates are timestamps.
    V3,
}

/// The treatment of duplicate keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// An error, in the words of the library.
    Refuse,
    /// The last one counts.
    Last,
    Keep,
}

/// How a text is read: as by which library of Go, and up to which depth.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    pub dialect: Dialect,
    /// The treatment of duplicate keys.
    pub duplicates: Duplicates,
    /// Maximum depth of collections, aliases replaced.
    pub max_depth: usize,
    /// The file in the places of the nodes.
    pub file: FileId,
}

/// The default maximum depth: a hundred times that of real documents, and low enough for
/// programs that walk trees by recursion.
pub const MAX_DEPTH: usize = 1000;

/// Strict, and without places.
pub(crate) const FIRST_OF_V2: ReadOptions = ReadOptions::sigs(FileId::NONE);

impl ReadOptions {
    /// As kyaml reads resources and patches.
    #[must_use]
    pub const fn kyaml(file: FileId) -> Self {
        Self {
            dialect: Dialect::V3,
            duplicates: Duplicates::Refuse,
            max_depth: MAX_DEPTH,
            file,
        }
    }

    /// As `yaml.Unmarshal` of sigs.k8s.io/yaml reads: the last of duplicate keys counts.
    #[must_use]
    pub const fn sigs(file: FileId) -> Self {
        Self {
            dialect: Dialect::V2,
            duplicates: Duplicates::Last,
            max_depth: MAX_DEPTH,
            file,
        }
    }

    /// As `yaml.UnmarshalStrict` of sigs.k8s.io/yaml reads: duplicate keys are an error.
    #[must_use]
    pub const fn sigs_strict(file: FileId) -> Self {
        Self {
            duplicates: Duplicates::Refuse,
            ..Self::sigs(file)
        }
    }
}
