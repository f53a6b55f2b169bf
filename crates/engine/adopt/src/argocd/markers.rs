//! The markers that the files have.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_edit::{FileKind, Site, file_kind, scan};
use bumpwright_policy::PolicyName;

use crate::draft::Draft;
use crate::files::parent;

/// Those of a file.
pub(super) fn sites(draft: &Draft<'_>, file: usize) -> Vec<Site> {
    let text = draft.files.get(file).map_or("", |file| file.text);
    scan(FileKind::Yaml, text.as_bytes()).sites
}

/// The first field of each policy that has a marker in the files, as `path:line:column`.
pub(super) fn first_places(draft: &Draft<'_>) -> BTreeMap<PolicyName, String> {
    let mut places = BTreeMap::new();
    for (n, parsed) in draft.files.parsed.iter().enumerate() {
        if parsed.error.is_some() || file_kind(&parsed.source.path) != FileKind::Yaml {
            continue;
        }
        for site in sites(draft, n) {
            let place = || format!("{}:{}:{}", draft.files.name(n), site.line, site.column);
            places.entry(site.setter.policy.clone()).or_insert_with(place);
        }
    }
    places
}

/// Where the files have markers of a policy.
pub(super) struct MarkedFolders {
    pub(super) policy: PolicyName,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) folders: BTreeSet<String>,
}

/// The folders of all fields with markers of policies that are known; none where files of several repositories are
/// read, since those of one are not the other's.
pub(super) fn folders(draft: &Draft<'_>) -> Vec<MarkedFolders> {
    let files = draft.files.parsed.iter().enumerate();
    let files = files.filter(|(n, _)| draft.options.manifests != Some(*n));
    let roots: BTreeSet<usize> = files.clone().map(|(_, parsed)| parsed.source.root).collect();
    let mut found = BTreeMap::<PolicyName, BTreeSet<String>>::new();
    if roots.len() > 1 {
        return Vec::new();
    }
    for (n, parsed) in files {
        let path = parsed.source.path.as_str();
        if parsed.error.is_some() || file_kind(path) != FileKind::Yaml {
            continue;
        }
        for site in sites(draft, n) {
            let folder = parent(path).to_owned();
            found.entry(site.setter.policy).or_default().insert(folder);
        }
    }
    let known = found.into_iter().filter_map(|(policy, folders)| {
        let (labels, _) = draft.objects.known.chooser(&policy)?;
        Some(MarkedFolders {
            policy,
            labels,
            folders,
        })
    });
    known.collect()
}
