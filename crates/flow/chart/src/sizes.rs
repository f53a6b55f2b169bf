//! How large indexes, archives and files may be.

use bumpwright_helm::MAX_FILE_BYTES;

/// Bytes that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub index: u64,
    /// Of an archive of a chart.
    pub archive: u64,
    /// Of a file in a chart of a folder, and of `Chart.yaml` and `requirements.yaml` anywhere.
    pub file: u64,
}

impl Sizes {
    /// Those of source-controller.
    pub const FLUX: Self = Self {
        index: 50 << 20,
        archive: 10 << 20,
        file: MAX_FILE_BYTES,
    };
}
