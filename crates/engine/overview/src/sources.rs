//! Sources.

use std::collections::BTreeMap;

use bumpwright_api::ObjectName;
use bumpwright_artifact::{Algorithm, Revision};
use serde::Serialize;

use super::facts::{FieldPlace, RefFacts, SourceFacts};
use super::forge::Forge;
use super::readiness::{Readiness, seconds};
use super::world::{GIT_REPOSITORY, Id, RELEASE, World};

/// A source of any kind, as views show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    pub id: Id,
    pub readiness: Readiness,
    /// Its URL, the name of a bucket at its endpoint, or that of a chart; without credentials.
    pub url: String,
    /// Branch, tag, range of versions or digest.
    pub reference: String,
    /// The revision of its artifact; empty without one.
    pub revision: String,
    /// When the artifact was written, in seconds since 1970-01-01 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched: Option<i64>,
    /// A page of the revision at its forge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The Kustomizations that have it.
    pub kustomizations: Vec<Id>,
    /// The HelmReleases whose chart it is, or has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<Id>,
}

impl SourceFacts {
    /// The source of a HelmChart.
    pub(crate) fn chart_source(&self) -> Id {
        let reference = &self.spec.source_ref;
        Id::new(&reference.kind, reference.from(&self.metadata.namespace))
    }
}

impl World {
    #[must_use]
    pub fn sources(&self) -> Vec<Source> {
        let mut users = BTreeMap::<Id, Vec<Id>>::new();
        let mut charts = BTreeMap::<Id, Vec<Id>>::new();
        for (name, release) in &self.releases {
            for source in [release.source()].into_iter().chain(release.helm_chart()) {
                charts.entry(source).or_default().push(Id::new(RELEASE, name.clone()));
            }
        }
        for (name, kustomization) in &self.kustomizations {
            users
                .entry(kustomization.source())
                .or_default()
                .push(Id::new(super::world::KUSTOMIZATION, name.clone()));
        }
        let one = |(id, facts): (&Id, &SourceFacts)| {
            let url = match (facts.spec.bucket_name.as_str(), facts.spec.chart.as_str()) {
                ("", "") => without_credentials(&facts.spec.url),
                ("", chart) => chart.to_owned(),
                (bucket, _) => format!("{}/{bucket}", facts.spec.endpoint),
            };
            let artifact = &facts.status.artifact;
            Source {
                id: id.clone(),
                readiness: facts.readiness(),
                link: Forge::of(&url)
                    .zip(commit(&artifact.revision))
                    .map(|(forge, commit)| forge.commit(&commit)),
                url,
                reference: match facts.spec.version.as_str() {
                    "" => reference(&facts.spec.reference),
                    version => version.to_owned(),
                },
                revision: artifact.revision.clone(),
                fetched: seconds(&artifact.last_update_time),
                kustomizations: users.get(id).into_iter().flatten().cloned().collect(),
                releases: charts.get(id).into_iter().flatten().cloned().collect(),
            }
        };
        self.sources.iter().map(one).collect()
    }
}

impl World {
    /// The revision of a source's artifact; empty as long as it has none.
    pub(crate) fn revision_of(&self, source: &Id) -> &str {
        let source = self.sources.get(source);
        source.map_or("", |source| &source.status.artifact.revision)
    }

    /// The marked fields of a policy, each with its page at the commit that its GitRepository has.
    pub(crate) fn linked_fields(&self, policy: &ObjectName) -> Vec<FieldPlace> {
        let linked = |field: &FieldPlace| FieldPlace {
            link: self.page_of(field),
            ..field.clone()
        };
        self.fields.get(policy).into_iter().flatten().map(linked).collect()
    }

    fn page_of(&self, field: &FieldPlace) -> Option<String> {
        let (namespace, name) = field.repository.split_once('/')?;
        let source = self
            .sources
            .get(&Id::new(GIT_REPOSITORY, ObjectName::new(namespace, name)))?;
        let commit = commit(&source.status.artifact.revision)?;
        Some(Forge::of(&source.spec.url)?.file(&commit, &field.path, field.line))
    }
}

/// What is fetched, in the order in which Flux reads the fields.
fn reference(spec: &RefFacts) -> String {
    let named = [
        &spec.commit,
        &spec.digest,
        &spec.name,
        &spec.semver,
        &spec.tag,
        &spec.branch,
    ];
    let named = named.into_iter().find(|text| !text.is_empty());
    named.unwrap_or(&spec.branch).clone()
}

/// The commit of a revision such as `main@sha1:…`; none of a digest of contents.
#[must_use]
pub fn commit(revision: &str) -> Option<String> {
    let revision = Revision::parse(revision)?;
    let is_commit = match revision.algorithm {
        Algorithm::Sha1 => true,
        Algorithm::Sha256 => !revision.name.is_empty(),
        _ => false,
    };
    is_commit.then_some(revision.hash)
}

/// The URL without what stands before `@` in its authority: user names are shown by nobody else either.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_of_revisions() {
        let id = "a".repeat(40);
        for revision in [format!("main@sha1:{id}"), format!("main/{id}"), format!("sha1:{id}")] {
            assert_eq!(commit(&revision).as_deref(), Some(id.as_str()), "{revision}");
        }
        assert_eq!(commit(&format!("sha256:{}", "b".repeat(64))), None);
        assert_eq!(without_credentials("https://user:secret@host/a@b"), "https://host/a@b");
    }
}
