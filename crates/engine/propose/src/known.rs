//! Policies and repositories that the files already have.

use super::listed::{Listing, access};
use bumpwright_adopt::{Access, Files};
use bumpwright_api::{ImagePolicy, ImageRepository, Object, ObjectName, read_leniently};
use bumpwright_policy::PolicyName;

/// Those of all files, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    repositories: Vec<ImageRepository>,
    policies: Vec<ImagePolicy>,
}

impl Known {
    pub(crate) fn of(files: &Files<'_>) -> Self {
        let (mut repositories, mut policies) = (Vec::new(), Vec::new());
        for file in &files.parsed {
            for document in read_leniently(&file.source.path, file.text.as_bytes()).documents {
                match document.object {
                    Object::ImageRepository(repository) => repositories.push(repository),
                    Object::ImagePolicy(policy) => policies.push(policy),
                    _ => {}
                }
            }
        }
        Self { repositories, policies }
    }

    fn of_listing<'k>(&'k self, listing: &'k Listing) -> impl Iterator<Item = ObjectName> + 'k {
        let same = self.repositories.iter().filter(move |one| listing.is_of(one));
        same.map(ImageRepository::name)
    }

    /// Those of a namespace; one without a namespace may come to be in it.
    pub(crate) fn repositories<'k>(&'k self, namespace: &'k str) -> impl Iterator<Item = &'k ImageRepository> {
        self.repositories.iter().filter(move |one| {
            let own = one.metadata.namespace.as_deref();
            own.is_none_or(|own| own.is_empty() || own == namespace)
        })
    }

    /// The repository of an image in a namespace.
    pub(crate) fn repository<'k>(&'k self, listing: &Listing, namespace: &'k str) -> Option<&'k ImageRepository> {
        self.repositories(namespace).find(|one| listing.is_of(one))
    }

    /// Policies of the image that can choose nothing, with the reason.
    pub(crate) fn faults(&self, listing: &Listing) -> Vec<String> {
        let repositories: Vec<ObjectName> = self.of_listing(listing).collect();
        let own =
            (self.policies.iter()).filter(|policy| policy.repository().is_some_and(|one| repositories.contains(&one)));
        own.filter_map(|policy| {
            let error = policy.chooser().err()?;
            Some(format!(
                "ImagePolicy {} is passed over, as it chooses nothing: {error}",
                policy.policy_name()
            ))
        })
        .collect()
    }

    /// A policy of the image that takes the tag in use, and chooses one that is not older; and that one. The namespace
    /// is empty where none is written.
    pub(crate) fn policy(
        &self,
        listing: &Listing,
        tags: &[String],
        current: &str,
        is_pinned: bool,
    ) -> Option<(PolicyName, String)> {
        let repositories: Vec<ObjectName> = self.of_listing(listing).collect();
        self.policies.iter().find_map(|policy| {
            let repository = policy.repository()?;
            let has_digest = policy.spec.as_ref()?.digest_reflection_policy.as_deref();
            let chooser = policy.chooser().ok().filter(|_| repositories.contains(&repository))?;
            let takes = chooser.latest(&[current.to_owned()]).is_ok();
            let chosen = chooser.latest(tags).ok().filter(|_| takes)?;
            let is_kept = chooser.compare(chosen, current).is_some_and(std::cmp::Ordering::is_ge);
            let reflects = has_digest.is_some_and(|text| text != "Never");
            let namespace = policy.metadata.namespace.clone().unwrap_or_default();
            let name = PolicyName::new(namespace, policy.metadata.name.clone());
            (is_kept && reflects == is_pinned).then(|| (name, chosen.to_owned()))
        })
    }
}

impl Known {
    /// How the existing repositories of a namespace reach a host, if all of them do it the same way.
    pub(crate) fn access(&self, listing: &Listing, namespace: &str) -> Option<Access> {
        let host = listing.host()?;
        let mut same = self.repositories(namespace).filter(|one| {
            let own = Listing::oci(one.spec.image.clone());
            one.kind().is_ok_and(|kind| kind == listing.kind) && own.host().as_ref() == Some(&host)
        });
        let first = access(same.next()?);
        same.all(|other| access(other) == first).then_some(first)
    }
}
