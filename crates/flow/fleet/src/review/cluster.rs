//! A change of a repository as what it does to a cluster that has Kustomizations of it.

use super::{Review, State, review};
use crate::build::memo::Memo;
use crate::build::settings::{RenderedReleases, Settings};
use crate::build::view::Fleet;
use crate::build::walk::{ClusterObjects, both, view_cluster, walked_cluster};
use crate::check::CheckSettings;
use crate::source::files::SourceFiles;
use crate::source::repository::Outside;

/// The files of a repository before and after a change, and the cluster.
#[derive(Clone, Copy)]
pub struct ClusterChange<'r> {
    /// What the cluster is called in the review.
    pub title: &'r str,
    /// The Kustomizations of the repository, and what they take variables from.
    pub cluster: &'r ClusterObjects,
    pub before: &'r SourceFiles,
    pub after: &'r SourceFiles,
}

/// Reviews a change by the Kustomizations of a cluster. None when the time of the settings was over before everything
/// was built, or that of the check before all rules were.
#[must_use]
pub fn review_cluster(
    change: ClusterChange<'_>,
    outside: &dyn Outside,
    settings: &Settings,
    check: &CheckSettings,
    version: &str,
) -> Option<Review> {
    let ClusterChange {
        title,
        cluster,
        before,
        after,
    } = change;
    let with = |releases: RenderedReleases| {
        let mut settings = settings.clone();
        settings
            .charts
            .iter_mut()
            .for_each(|charts| charts.releases = releases.clone());
        settings
    };
    let (compared, all) = (with(RenderedReleases::Compared), with(RenderedReleases::All));
    let memo = Memo::default();
    let old = walked_cluster(before, cluster, outside, &compared, &memo);
    let new_memo = memo.after(&before.changed(after));
    let new = walked_cluster(after, cluster, outside, &compared, &new_memo);
    let rendered = both(old, new).filter(|_| settings.charts.is_some());
    let (old, new) = rendered.unwrap_or_else(|| {
        let view = |files: &SourceFiles, memo: &Memo| view_cluster(files, cluster, outside, &all, memo);
        (view(before, &memo), view(after, &new_memo))
    });
    let [old, new] = [[old], [new]];
    if old.iter().chain(&new).any(Fleet::is_late) {
        return None;
    }
    let before = State {
        fleets: &old,
        repository: before,
    };
    let after = State {
        fleets: &new,
        repository: after,
    };
    let mut review = review(before, after, check, version);
    if check.is_late() {
        return None;
    }
    review
        .clusters
        .iter_mut()
        .for_each(|diff| title.clone_into(&mut diff.entry));
    Some(review)
}
