//! The tags of a repository as a policy sees them: each with its place, or why it is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bumpwright_api::{ImagePolicy, ObjectName};
use bumpwright_kube::{IMAGE_POLICY, IMAGE_REPOSITORY, Object};
use bumpwright_overview::Image;
use bumpwright_pages::TagRow;
use bumpwright_policy::{Judgement, Survey, Verdict};
use bumpwright_scan::{Scanned, TagStore, repository_reference};

use super::watches::Watches;

/// Reads tags: all that this process has scanned, or else those that the status of a repository has.
pub(crate) struct TagReader {
    store: Option<Arc<TagStore>>,
}

impl TagReader {
    pub(crate) fn new(store: Option<Arc<TagStore>>) -> Self {
        Self { store }
    }

    /// The tags of an image, the best first. The caller may see its policy and its repository. Blocks.
    pub(super) fn rows(&self, watches: &Watches, image: &Image) -> Vec<TagRow> {
        let policy = watches.get(&IMAGE_POLICY, &image.policy.name);
        let repository = watches.get(&IMAGE_REPOSITORY, &image.repository.name);
        let tags = repository.and_then(|repository| self.scanned(&repository));
        let tags = tags.unwrap_or_else(|| image.tags.clone());
        let policy = policy.and_then(|policy| policy.read::<ImagePolicy>(&IMAGE_POLICY).ok());
        let survey = policy.and_then(|policy| policy.chooser().ok()?.survey(&tags).ok());
        let chosen = image.chosen.as_ref().map(|chosen| chosen.tag.as_str());
        let row = |tag: &str, why: String| row(tag, chosen, why, &image.failed);
        match survey {
            Some(survey) => ranked(&survey).map(|one| row(&one.tag, why(one))).collect(),
            None => tags.iter().map(|tag| row(tag, String::new())).collect(),
        }
    }

    fn scanned(&self, repository: &Object) -> Option<Vec<String>> {
        let image = repository.field("spec").get("image")?.as_str()?.to_owned();
        let canonical = repository_reference(&image).ok()?.context();
        let ObjectName { namespace, name } = &repository.name;
        let scanned = Scanned::new(namespace, name, &repository.uid, &canonical);
        let tags = self.store.as_ref()?.tags(&scanned).ok()?;
        (!tags.is_empty()).then_some(tags)
    }
}

/// Those that take part by rank, then the others.
fn ranked(survey: &Survey) -> impl Iterator<Item = &Judgement> {
    let taking_part: BTreeSet<usize> = survey.ranking.iter().copied().collect();
    let others = survey
        .tags
        .iter()
        .enumerate()
        .filter(move |(place, _)| !taking_part.contains(place));
    survey
        .ranking
        .iter()
        .filter_map(|place| survey.tags.get(*place))
        .chain(others.map(|(_, judgement)| judgement))
}

fn why(judgement: &Judgement) -> String {
    match &judgement.verdict {
        Verdict::Newest => String::new(),
        verdict => verdict.to_string(),
    }
}

fn row(tag: &str, chosen: Option<&str>, why: String, failed: &BTreeMap<String, String>) -> TagRow {
    let is_of = |version: &str| version.split('@').next() == Some(tag);
    let failed = failed.iter().find(|(version, _)| is_of(version));
    TagRow {
        tag: tag.to_owned(),
        is_chosen: chosen == Some(tag),
        why,
        failed: failed.map(|(_, why)| why.clone()),
        ..TagRow::default()
    }
}
