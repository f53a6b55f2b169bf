//! From the files of an artifact to the objects of a Kustomization: references are read first, then the build runs on a
//! thread of its own.

mod error;
mod keys;
pub(crate) mod slots;
mod vault;

use std::sync::Arc;
use std::time::Duration;

use super::context::KustomizationsContext;
use crate::artifact_trees::Unpacked;
use crate::configs::Configs;
use crate::mirror_uses::Owner;
use crate::mirrors::Mirrors as MirrorFolder;
use crate::parts::context::Context;
use bumpwright_api::{Kustomization, ObjectName, PostBuild, SubstituteReference};
use bumpwright_build::{self as pipeline, Mirrors, RealWorld, Referred, SubstituteFromError, Substitution};
use bumpwright_git::{Mirror, OpenError, Remote, RemoteUrl};
use bumpwright_http::{Deadline, Job};
use bumpwright_kube::{ClusterError, KUSTOMIZATION};
use bumpwright_overlay::{self as overlay, NotText, Part, Stages};
use bumpwright_runtime::blocking;
use bumpwright_substitute::Variables;

pub(crate) use bumpwright_overlay::Built;
pub(crate) use error::BuildFailure;

pub(crate) async fn build(
    context: &Arc<KustomizationsContext>,
    kustomization: &Kustomization,
    unpacked: Unpacked,
) -> Result<Built, BuildFailure> {
    let (shared, settings) = (&context.shared, &context.shared.settings);
    let substitution = match &kustomization.spec.post_build {
        Some(post_build) => Some(substitution(shared, kustomization, post_build).await),
        None => None,
    };
    let decryption = keys::decryption(shared, kustomization).await?;
    let overlay = pipeline::overlay(&kustomization.spec, settings.kustomize.no_remote_bases);
    let bases = RemoteBases {
        mirrors: Arc::clone(&context.mirrors),
        owner: Owner::new(KUSTOMIZATION.kind, kustomization.metadata.object_name()),
    };
    let timeout = kustomization.spec.timeout();
    let (context, namespace) = (
        Arc::clone(context),
        kustomization.metadata.namespace_or_default().to_owned(),
    );
    let memory = settings.builds.of(&namespace).memory;
    let is_lost = lost(kustomization);
    let built = blocking::ask(move || -> Result<Built, BuildFailure> {
        let world = RealWorld::new(bases);
        let attempt = || {
            let prepared = overlay::prepare_within(unpacked.tree(), &overlay, Some(&memory))?;
            let stages = Stages {
                decrypt: decryption.as_ref().map(|one| one as &dyn overlay::Decrypt),
                substitute: substitution.as_ref().map(|one| one as &dyn overlay::Substitute),
            };
            // One deadline, whatever the number of bases and key services.
            Job::within(timeout, || Ok(prepared.build(&world, &stages)?.without(&is_lost)?))
        };
        let (turns, deadline) = (&context.build_slots, Deadline::after(timeout));
        let request = turns
            .together(&namespace, deadline)
            .ok_or_else(|| BuildFailure::Crowded {
                namespace: namespace.clone(),
            })?;
        let failure = match attempt() {
            Err(failure) if memory.was_refused() && request.met_others() => failure,
            done => return done,
        };
        drop(request);
        // There may be enough memory without concurrent builds.
        match turns.alone(&namespace, deadline) {
            Some(_request) => attempt(),
            None => Err(failure),
        }
    });
    built.await.map_err(BuildFailure::Interrupted)?
}

/// What would be taken away from objects in silence, as Flux does. All else that is not a text is left to the API
/// server, whose refusal is Flux's.
fn lost(kustomization: &Kustomization) -> impl Fn(&NotText) -> bool + use<> {
    let common = kustomization.spec.common_metadata.as_ref();
    let annotates = common.is_some_and(|common| !common.annotations.is_empty());
    move |fault| match fault.part {
        Part::Labels => true,
        Part::Annotations => annotates,
        Part::Namespace => false,
    }
}

async fn substitution(context: &Context, kustomization: &Kustomization, post_build: &PostBuild) -> Substitution {
    let variables = variables(&context.configs, kustomization, post_build).await;
    Substitution::new(post_build, variables, context.settings.gates.strict_substitutions)
}

/// The variables of all objects that `substituteFrom` names, in its order.
async fn variables(
    configs: &Configs,
    kustomization: &Kustomization,
    post_build: &PostBuild,
) -> Result<Variables, SubstituteFromError> {
    let namespace = kustomization.metadata.namespace_or_default();
    let mut variables = Variables::default();
    for reference in &post_build.substitute_from {
        let name = ObjectName::new(namespace, &reference.name);
        let values = match find(configs, reference, &name).await {
            Err(error) if error.is_not_found() => Ok(Referred::Missing(error.into())),
            found => found.map_err(Into::into),
        };
        pipeline::add_referred(&mut variables, reference, values)?;
    }
    Ok(variables)
}

/// ConfigMaps and Secrets are read as the controller, whichever account the objects are applied as
/// (docs/behaviour/kustomize-controller.md, *Service accounts*).
async fn find(configs: &Configs, reference: &SubstituteReference, name: &ObjectName) -> Result<Referred, ClusterError> {
    Ok(if reference.kind == "Secret" {
        Referred::Secret(configs.secret(name).await?)
    } else {
        Referred::ConfigMap(configs.config_map(name).await?.field("data"))
    })
}

/// Remote bases: fetched without credentials, and never from this machine.
struct RemoteBases {
    mirrors: Arc<MirrorFolder>,
    owner: Owner,
}

impl Mirrors for RemoteBases {
    fn mirror(&self, url: &str, timeout: Duration) -> Result<Arc<Mirror>, OpenError> {
        let parsed = RemoteUrl::parse(url)?;
        if !["http://", "https://", "ssh://"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
        {
            return Err(format!("{url}: a base has to be behind http, https or ssh").into());
        }
        let mut remote = Remote::new(parsed);
        remote.timeout = timeout;
        Ok(self.mirrors.mirror(&remote, &self.owner)?)
    }
}
