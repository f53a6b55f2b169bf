//! How much an archive may hold, and what is done with its symbolic links.

/// Bounds on an archive. The defaults are those of `fluxcd/pkg/tar` where it has any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all entries by their headers, `WithMaxUntarSize`: 100 MiB. `u64::MAX` for none, as source-controller has it.
    pub unpacked: u64,
    /// Entries, with directories and links: 250,000.
    pub entries: u64,
    /// Bytes of all names together with 64 for each component that is kept: 64 MiB.
    pub names: u64,
    /// Bytes of one path: 4096, as Linux has it.
    pub path: usize,
    /// Bytes of one component of a path: 255, as Linux has it.
    pub component: usize,
    /// Components of one path: 256.
    pub depth: usize,
    /// How many times as long as the compressed bytes the unpacked ones may be: 250. Holds from 16 MiB of unpacked ones on.
    pub ratio: u64,
    /// Bytes of one PAX header or long name: 1 MiB, as Go has it.
    pub extension: u64,
    /// Bytes of all of these together: 16 MiB.
    pub extensions: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            unpacked: 100 << 20,
            entries: 250_000,
            names: 64 << 20,
            path: 4096,
            component: 255,
            depth: 256,
            ratio: 250,
            extension: 1 << 20,
            extensions: 16 << 20,
        }
    }
}

impl Limits {
    /// What no archive needs, whatever may be spent on it: the rest is up to the budget of the job.
    pub(super) fn beside_budget() -> Self {
        Self {
            unpacked: u64::MAX,
            entries: u64::MAX,
            names: u64::MAX,
            ..Self::default()
        }
    }
}

/// What is done with a symbolic link. Nothing is ever reached through one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Links {
    /// It makes the archive invalid.
    #[default]
    Refuse,
    /// It is left out: `WithSkipSymlinks`, for layers of OCI artifacts.
    Skip,
}
