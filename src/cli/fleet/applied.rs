//! The folders of a repository that its Kustomizations apply: for files that are to be applied, too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::given::{Given, Limits};
use crate::cli::fetch_bounds::FetchBounds;
use bumpwright_edit::{FileKind, file_kind};
use bumpwright_fleet::{Fleet, Source};

/// The time to look for them.
const LIMIT: Duration = Duration::from_secs(10);

/// What clusters apply, by paths as one types them.
pub(in crate::cli) struct Applied {
    /// The root of the repository.
    pub(in crate::cli) root: PathBuf,
    /// The folders of clusters.
    pub(in crate::cli) clusters: Vec<PathBuf>,
    /// All folders of which a build reads files.
    folders: BTreeSet<PathBuf>,
}

impl Applied {
    /// What the clusters of the repository of a folder apply, as far as it is known without a network.
    pub(in crate::cli) fn in_repository_of(folder: &Path) -> Self {
        let limits = Limits {
            bounds: FetchBounds::default(),
            offline: true,
            charts: None,
        };
        let Ok(given) = Given::on_disk(folder, &[], limits) else {
            return Self {
                root: folder.to_owned(),
                clusters: Vec::new(),
                folders: BTreeSet::new(),
            };
        };
        let root = given.root_from_here();
        let fleets = given.own_fleets(Instant::now() + LIMIT);
        let clusters = fleets.iter().map(|fleet| root.join(&fleet.entry));
        Self {
            clusters: clusters.collect(),
            folders: fleets.iter().flat_map(|fleet| of_fleet(&root, fleet)).collect(),
            root,
        }
    }

    /// Whether a build reads files of this folder.
    pub(in crate::cli) fn has(&self, folder: &Path) -> bool {
        let folder = folder.strip_prefix(".").unwrap_or(folder);
        self.folders.contains(folder)
    }
}

fn of_fleet(root: &Path, fleet: &Fleet) -> Vec<PathBuf> {
    let nodes = fleet.nodes.iter().filter(|node| matches!(node.source, Source::This));
    let built = nodes.filter_map(|node| Some((node, node.product.as_ref().ok()?)));
    let folders = built.flat_map(|(node, product)| {
        // Folders and what is not there were looked for, too.
        let read = product.reads.paths().filter(|path| file_kind(path) == FileKind::Yaml);
        let read = read.map(|path| root.join(path)).filter(|path| path.is_file());
        let read = read.filter_map(|path| path.parent().map(Path::to_owned));
        read.chain([root.join(&node.path)]).collect::<Vec<_>>()
    });
    folders.collect()
}
