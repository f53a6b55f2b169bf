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

/// The folders of all fields with markers of the policies that are meant, by their names and labels; none where files of
/// several repositories are read, since those of one are not the other's.
pub(super) fn folders(
    draft: &Draft<'_>,
    is_meant: impl Fn(&PolicyName, &BTreeMap<String, String>) -> bool,
) -> BTreeSet<String> {
    let files = draft.files.parsed.iter().enumerate();
    let files = files.filter(|(n, _)| draft.options.manifests != Some(*n));
    let roots: BTreeSet<usize> = files.clone().map(|(_, parsed)| parsed.source.root).collect();
    let mut found = BTreeSet::new();
    if roots.len() > 1 {
        return found;
    }
    for (n, parsed) in files {
        let path = parsed.source.path.as_str();
        if parsed.error.is_some() || file_kind(path) != FileKind::Yaml {
            continue;
        }
        for site in sites(draft, n) {
            let policy = &site.setter.policy;
            let known = draft.objects.known.chooser(policy);
            if known.is_some_and(|(labels, _)| is_meant(policy, &labels)) {
                found.insert(parent(path).to_owned());
            }
        }
    }
    found
}
