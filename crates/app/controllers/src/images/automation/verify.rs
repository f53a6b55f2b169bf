//! `bumpwright.dev/verify`: the Kustomizations of the cluster that sync the repository are built with the commit before
//! it is pushed, and with `server` what changes is sent to the API server as dry runs (docs/guides/impact.md).
//!
//! An automation is a tenant's: what it sees of the cluster is in `fleet_view`.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::Handle;

use super::context::AutomationContext;
use super::dry_runs::as_reconciler;
use super::error::Error;
use crate::fleet_view::{self, Elsewhere, KUSTOMIZATIONS, OBJECTS, Secrets, Seen};
use bumpwright_api::{AutomationAnnotations, GoDuration, ImageUpdateAutomation, VerifyLevel};
use bumpwright_fleet::{Charts, FleetVerifier, Settings, Verification};
use bumpwright_kube::ClusterError;
use bumpwright_schemas::Schemas;
use bumpwright_update::{Impact, Proposal, Verify, VerifyError};

/// The time of a verification, unless the annotation says another one.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The longest time that an annotation may ask for: the run holds its turn at the branch for so long.
const LONGEST: Duration = Duration::from_secs(120);

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
    let namespace = automation.metadata.namespace_or_default();
    let source = automation.source_name();
    let Seen { cluster, all } = fleet_view::seen(&context.shared, source, namespace, Secrets::Read).await?;
    let is_asked_for = annotations.verify != VerifyLevel::None;
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
        Box::new(Elsewhere::new(context.providers.clone(), namespace, "the automation")),
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
    made: OnceLock<Result<FleetVerifier, ClusterError>>,
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
            self.runtime.block_on(made)
        };
        let impact = match self.made.get_or_init(make) {
            Ok(verifier) => verifier.verify(proposal).map_err(|error| error.message),
            Err(error) => Err(error.to_string()),
        };
        let unknown = |why: String| Impact {
            notes: vec![format!(
                "the Kustomizations of the commit are known by their paths only: {why}"
            )],
            ..Impact::default()
        };
        Ok(impact.map_or_else(unknown, |impact| Impact {
            notes: Vec::new(),
            ..impact
        }))
    }
}
