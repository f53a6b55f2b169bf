//! `bumpwright.dev/verify`: the Kustomizations of the cluster that sync the repository are built with the commit before
//! it is pushed, and with `server` what changes is sent to the API server as dry runs (docs/guides/impact.md).
//!
//! An automation is a tenant's. It sees the Kustomizations of its own GitRepository only; with
//! `--no-cross-namespace-refs` those of its own namespace. Secrets of other namespaces are not read: variables from
//! them stay as they are written.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;

use super::charts::Elsewhere;
use super::context::AutomationContext;
use super::dry_runs::as_reconciler;
use super::error::Error;
use bumpwright_api::{
    AutomationAnnotations, GoDuration, ImageUpdateAutomation, Kustomization, ObjectName, VerifyLevel,
};
use bumpwright_fleet::{Charts, ClusterObjects, FleetObject, FleetVerifier, Settings, Verification};
use bumpwright_kube::{CONFIG_MAP, ClusterError, KUSTOMIZATION, Kind, SECRET};
use bumpwright_schemas::Schemas;
use bumpwright_update::{Impact, Proposal, Verify, VerifyError};

/// The time of a verification, unless the annotation says another one.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The longest time that an annotation may ask for: the run holds its turn at the branch for so long.
const LONGEST: Duration = Duration::from_secs(120);

/// The most Kustomizations that come out of those of the cluster.
const KUSTOMIZATIONS: usize = 1000;

/// The most objects of one verification.
const OBJECTS: usize = 100_000;

/// The most ConfigMaps and Secrets that are read for one verification.
const REFERENCES: usize = 1000;

/// The labels of an object that a Kustomization applied.
pub(super) const OWNER: [&str; 2] = [
    "/metadata/labels/kustomize.toolkit.fluxcd.io~1namespace",
    "/metadata/labels/kustomize.toolkit.fluxcd.io~1name",
];

/// The verifier of an automation that asks for one.
pub(super) async fn verifier(
    context: &Arc<AutomationContext>,
    automation: &ImageUpdateAutomation,
    annotations: &AutomationAnnotations,
) -> Result<Option<Arc<dyn Verify>>, Error> {
    if annotations.verify == VerifyLevel::None {
        let follower = |_| {
            Arc::new(Impacts {
                context: Arc::clone(context),
                automation: automation.clone(),
                annotations: annotations.clone(),
                runtime: Handle::current(),
                made: OnceLock::new(),
            }) as Arc<dyn Verify>
        };
        return Ok(annotations.follow.as_ref().map(follower));
    }
    let verifier = made(context, automation, annotations).await;
    let verifier = verifier.map_err(|error| {
        Error::Failed(format!(
            "cannot read the Kustomizations that bumpwright.dev/verify builds: {error}"
        ))
    })?;
    Ok(Some(Arc::new(verifier)))
}

/// The verifier, with what the automation sees of the cluster.
async fn made(
    context: &Arc<AutomationContext>,
    automation: &ImageUpdateAutomation,
    annotations: &AutomationAnnotations,
) -> Result<FleetVerifier, ClusterError> {
    let Seen { cluster, all } = seen(context, automation).await?;
    let is_asked_for = annotations.verify != VerifyLevel::None;
    let namespace = automation.metadata.namespace_or_default();
    let mut settings = Settings::new(context.shared.settings.builds.of(namespace).memory);
    (settings.kustomizations, settings.objects, settings.threads) = (KUSTOMIZATIONS, OBJECTS, 1);
    settings.charts = Schemas::bundled(None).ok().map(|schemas| Charts {
        is_tenant: true,
        ..Charts::new(String::new(), schemas)
    });
    let timeout = annotations.verify_timeout.unwrap_or(TIMEOUT).min(LONGEST);
    let verification = Verification {
        must_build: is_asked_for,
        timeout: GoDuration::from(timeout),
        push_on_timeout: annotations.push_on_timeout || !is_asked_for,
    };
    let mut verifier = FleetVerifier::of_cluster(
        cluster,
        Box::new(Elsewhere::new(context, namespace)),
        settings,
        verification,
    );
    if annotations.verify == VerifyLevel::Server {
        verifier = verifier.with_server(as_reconciler(&context.shared, namespace, all));
    }
    Ok(verifier)
}

/// Finds the Kustomizations that a commit changes, for automations that follow their commits. The cluster is asked
/// once there are edits.
struct Impacts {
    context: Arc<AutomationContext>,
    automation: ImageUpdateAutomation,
    annotations: AutomationAnnotations,
    runtime: Handle,
    made: OnceLock<Option<FleetVerifier>>,
}

impl std::fmt::Debug for Impacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Impacts({})", self.automation.metadata.object_name())
    }
}

impl Verify for Impacts {
    /// Never refuses a commit: without an answer, the paths of Kustomizations say which of them it may change.
    fn verify(&self, proposal: &Proposal<'_>) -> Result<Impact, VerifyError> {
        let make = || {
            let made = made(&self.context, &self.automation, &self.annotations);
            self.runtime.block_on(made).ok()
        };
        let impact = self
            .made
            .get_or_init(make)
            .as_ref()
            .map(|verifier| verifier.verify(proposal));
        let impact = impact.and_then(Result::ok).unwrap_or_default();
        Ok(Impact {
            notes: Vec::new(),
            ..impact
        })
    }
}

/// What an automation sees of the cluster.
struct Seen {
    /// The Kustomizations that sync its GitRepository, without those that others of them apply, and what
    /// they take variables from.
    cluster: ClusterObjects,
    /// All of these Kustomizations.
    all: Vec<Kustomization>,
}

/// Reads what the automation sees.
async fn seen(context: &AutomationContext, automation: &ImageUpdateAutomation) -> Result<Seen, ClusterError> {
    let source = automation.source_name();
    let own = automation.metadata.namespace_or_default();
    let settings = &context.shared.settings;
    let namespace = if settings.no_cross_namespace_refs || settings.scope.namespace.is_some() {
        own
    } else {
        ""
    };
    let syncs = |kustomization: &Kustomization| {
        kustomization.spec.source_ref.kind == "GitRepository" && kustomization.source() == source
    };
    let mut all: Vec<(Kustomization, Value)> = Vec::new();
    for object in kustomizations(context, namespace).await? {
        if let Ok(kustomization) = serde_json::from_value::<Kustomization>(object.clone())
            && syncs(&kustomization)
        {
            all.push((kustomization, object));
        }
    }
    let names: BTreeSet<ObjectName> = all.iter().map(|(one, _)| one.metadata.object_name()).collect();
    let mut objects = references(context, &all, own).await?;
    // One that another of them applies comes out of its build, as the commit would have it.
    let is_applied = |object: &Value, name: &ObjectName| {
        let [namespace, owner] =
            OWNER.map(|pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
        let owner = ObjectName::new(namespace, owner);
        owner != *name && names.contains(&owner)
    };
    let mut seen = Vec::with_capacity(all.len());
    for (one, value) in all {
        if !is_applied(&value, &one.metadata.object_name()) {
            objects.push(FleetObject { value, origin: None });
        }
        seen.push(one);
    }
    Ok(Seen {
        cluster: ClusterObjects { source, objects },
        all: seen,
    })
}

/// The Kustomizations of a namespace, or of all; none in a cluster that does not have the kind.
async fn kustomizations(context: &AutomationContext, namespace: &str) -> Result<Vec<Value>, ClusterError> {
    let cluster = &context.shared.cluster;
    let listed = match cluster.resource(&KUSTOMIZATION.gvk()).await {
        Ok(resource) => cluster.list(&resource, namespace, "").await,
        Err(error) => Err(error),
    };
    match listed {
        Ok(objects) => Ok(objects.iter().cloned().collect()),
        Err(ClusterError::NoMatch { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The ConfigMaps that Kustomizations take variables from, and the Secrets in the automation's own namespace. Missing
/// ones are left out: the expressions stay as they are written.
async fn references(
    context: &AutomationContext,
    all: &[(Kustomization, Value)],
    own: &str,
) -> Result<Vec<FleetObject>, ClusterError> {
    let mut wanted: BTreeSet<(bool, ObjectName)> = BTreeSet::new();
    for (kustomization, _) in all {
        let namespace = kustomization.metadata.namespace_or_default();
        let post_build = kustomization.spec.post_build.iter();
        for reference in post_build.flat_map(|post_build| &post_build.substitute_from) {
            let is_secret = reference.kind == "Secret";
            if !is_secret || namespace == own {
                wanted.insert((is_secret, ObjectName::new(namespace, reference.name.as_str())));
            }
        }
    }
    let mut found = Vec::new();
    for (is_secret, name) in wanted.iter().take(REFERENCES) {
        let kind: &'static Kind = if *is_secret { &SECRET } else { &CONFIG_MAP };
        match context.shared.cluster.get(kind, name).await {
            Ok(object) => found.push(FleetObject {
                value: object.value(kind),
                origin: None,
            }),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
