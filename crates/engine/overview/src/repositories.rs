//! ImageRepositories.

use std::collections::BTreeMap;

use bumpwright_api::ObjectName;
use serde::Serialize;

use super::readiness::{Readiness, seconds};
use super::world::{Id, POLICY, REPOSITORY, World};

/// An ImageRepository as views show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageRepository {
    pub id: Id,
    pub readiness: Readiness,
    /// The image that is scanned.
    pub image: String,
    /// Number of its tags.
    pub tags: i64,
    /// When it was scanned last, in seconds since 1970-01-01 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scanned: Option<i64>,
    /// The policies that choose among its tags.
    pub policies: Vec<Id>,
}

impl World {
    /// The ImageRepositories of a namespace, or all.
    #[must_use]
    pub fn image_repositories(&self, namespace: Option<&str>) -> Vec<ImageRepository> {
        let mut users = BTreeMap::<ObjectName, Vec<Id>>::new();
        for (name, policy) in &self.policies {
            let repository = policy.spec.image_repository_ref.from(&policy.metadata.namespace);
            users.entry(repository).or_default().push(Id::new(POLICY, name.clone()));
        }
        let all = self.repositories.iter();
        let here = all.filter(|(name, _)| namespace.is_none_or(|namespace| name.namespace == namespace));
        let of_facts = here.map(|(name, facts)| ImageRepository {
            id: Id::new(REPOSITORY, name.clone()),
            readiness: facts.readiness(),
            image: facts.spec.image.clone(),
            tags: facts.status.last_scan_result.tag_count,
            scanned: seconds(&facts.status.last_scan_result.scan_time),
            policies: users.remove(name).into_iter().flatten().collect(),
        });
        of_facts.collect()
    }
}
