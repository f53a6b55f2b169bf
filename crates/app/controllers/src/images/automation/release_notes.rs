//! `bumpwright.dev/release-notes`: what the releases of new images are, for the pull request
//! (docs/guides/pull-requests.md).
//!
//! An automation is a tenant's: registries are asked by ImageRepositories of its own namespace, and besides the public
//! forges its own is asked, which gets its pull requests, without a login: a label may name any repository there.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::context::AutomationContext;
use crate::images::origins::{AskedRepository, OriginError};
use bumpwright_api::{AutomationAnnotations, ImagePolicy, ObjectName};
use bumpwright_kube::IMAGE_POLICY;
use bumpwright_runtime::Log;
use bumpwright_update::{
    BumpedImage, ImageRelease, ImageStep, ReleaseForges, Releases, ReleasesApi, RemoteJob, ask_all,
};

/// The time limit of all images: the run holds its turn at the branch for so long.
const LIMIT: Duration = Duration::from_secs(15);

/// Whom to ask for an automation that wants it and keeps a pull request.
pub(super) fn asked(
    context: &Arc<AutomationContext>,
    namespace: &str,
    annotations: &AutomationAnnotations,
    job: &RemoteJob,
    log: &Log,
) -> Option<Arc<dyn Releases>> {
    let is_wanted = annotations.release_notes && !annotations.dry_run;
    let forge = &job.pull_request.as_ref().filter(|_| is_wanted)?.forge;
    let (own, reached) = ReleasesApi::of_forge(forge);
    Some(Arc::new(OfAutomation {
        context: Arc::clone(context),
        namespace: namespace.to_owned(),
        forges: context.origins.forges(namespace).and_by(own, reached),
        runtime: Handle::current(),
        log: log.clone(),
    }))
}

#[derive(Debug)]
struct OfAutomation {
    context: Arc<AutomationContext>,
    namespace: String,
    forges: ReleaseForges,
    runtime: Handle,
    log: Log,
}

impl OfAutomation {
    /// The ImageRepository of a policy, if both are in the namespace of the automation and it is the image's.
    fn repository(&self, image: &BumpedImage<'_>) -> Result<Option<AskedRepository>, OriginError> {
        let is_own = |name: &ObjectName| name.namespace == self.namespace;
        let policy = ObjectName::new(image.policy.namespace.as_str(), image.policy.name.as_str());
        let Some(policy) = self.context.policies.get(&policy).filter(|_| is_own(&policy)) else {
            return Ok(None);
        };
        let policy: ImagePolicy = policy.read(&IMAGE_POLICY)?;
        match policy.repository().filter(is_own) {
            Some(name) => self.context.origins.repository(&self.runtime, &name, image.image),
            None => Ok(None),
        }
    }
}

impl Releases for OfAutomation {
    /// What could not be asked is in the log: conditions and events are Flux's.
    fn releases(&self, images: &[BumpedImage<'_>]) -> (Vec<ImageRelease>, Vec<String>) {
        let ask = |image: &BumpedImage<'_>| {
            let step = ImageStep {
                image: image.image.to_owned(),
                old: image.old.map(str::to_owned),
                new: image.new.to_owned(),
            };
            let origin = |repository: &AskedRepository, version: &str| {
                self.context.origins.origin(&self.runtime, repository, version)
            };
            match self.repository(image) {
                Ok(Some(repository)) => self.forges.of_image(&step, |version| origin(&repository, version)),
                Ok(None) => (step.unknown(), None),
                Err(why) => (step.unknown(), Some(why.to_string())),
            }
        };
        let (releases, notes) = ask_all(images, LIMIT, ask).noted();
        notes.iter().for_each(|note| self.log.info(note));
        (releases, Vec::new())
    }
}
