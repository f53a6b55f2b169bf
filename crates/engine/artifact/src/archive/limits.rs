//! Limits of archives, and the treatment of symbolic links.

/// Limits of an archive. Defaults are those of `fluxcd/pkg/tar` where it has any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all entries according to their headers, `WithMaxUntarSize`: 100 MiB. `u64::MAX` for no
    /// limit, as in source-controller.
    pub unpacked: u64,
    /// Entries, with directories and links: 250,000.
    pub entries: u64,
    /// Bytes of all names together with 64 for each component that is kept: 64 MiB.
    pub names: u64,
    /// Bytes of one path: 4096, as in Linux.
    pub path: usize,
    /// Bytes of one component of a path: 255, as in Linux.
    pub component: usize,
    /// Components of one path: 256.
    pub depth: usize,
    /// Ratio of unpacked to compressed bytes: 250. Applies from 16 MiB unpacked on.
    pub ratio: u64,
    /// Bytes of one PAX header or long name: 1 MiB, as in Go.
    pub extension: u64,
    /// Bytes of all PAX headers and long names: 16 MiB.
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
    /// Limits for use with the budget of a job, which bounds the rest.
    pub(super) fn beside_budget() -> Self {
        Self {
            unpacked: u64::MAX,
            entries: u64::MAX,
            names: u64::MAX,
            ..Self::default()
        }
    }
}

/// Treatment of symbolic links, which are never followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Links {
    /// A link makes the archive invalid.
    #[default]
    Refuse,
    /// Links are skipped: `WithSkipSymlinks`, for layers of OCI artifacts.
    Skip,
}
