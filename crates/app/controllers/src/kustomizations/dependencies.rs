//! Readiness of the Kustomizations that another one depends on (kustomize-controller,
//! `checkDependencies`; K-062 … K-072).

use super::dereference::Source;
use super::error::Error;
use crate::parts::context::Context;
use bumpwright_api::{ConditionStatus, Conditions, Dependency, Kustomization, ObjectName, READY};
use bumpwright_cel::{EvalError, Ready};
use bumpwright_kube::{ClusterError, KUSTOMIZATION, Object};

/// Why a dependency is not ready.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReady {
    #[error("dependency '{name}' not found: {cause}")]
    Missing { name: ObjectName, cause: Box<ClusterError> },
    #[error("dependency '{0}' is not ready according to readyExpr eval")]
    ByExpression(ObjectName),
    /// The expression of `readyExpr` fails for these objects.
    #[error(transparent)]
    Unknown(#[from] EvalError),
    #[error("dependency '{0}' is not ready")]
    ByStatus(ObjectName),
    /// It has applied another revision of the source that both are built from.
    #[error("dependency '{0}' revision is not up to date")]
    Outdated(ObjectName),
}

/// Checks all dependencies, in their order.
///
/// # Errors
/// The first one that is not ready.
pub(crate) async fn check(
    context: &Context,
    object: &Object,
    kustomization: &Kustomization,
    source: &Source,
) -> Result<(), Error> {
    let after = context.settings.requeue_dependency;
    let not_ready = |cause: NotReady| Error::DependencyNotReady { cause, after };
    for dependency in &kustomization.spec.depends_on {
        let name = kustomization.dependency(dependency);
        let expression = dependency.ready_expr.as_deref().filter(|text| !text.is_empty());
        // An expression may read the whole object of another tenant, which Flux allows.
        let is_own = name.namespace == object.name.namespace;
        if expression.is_some() && context.settings.no_cross_namespace_refs && !is_own {
            return Err(Error::AccessDenied(format!(
                "can't access 'Kustomization/{name}' by a readyExpr, cross-namespace references have been blocked"
            )));
        }
        // The watch may lag behind writes to it, so the API server is asked.
        let fetched = context.cluster.get(&KUSTOMIZATION, &name).await;
        let fetched = fetched.map_err(|cause| {
            let cause = cause.into();
            not_ready(NotReady::Missing { name, cause })
        })?;
        if let Some(expression) = expression {
            by_expression(expression, dependency, object, &fetched)?.map_err(not_ready)?;
            if !context.settings.gates.additive_dependency_check {
                continue;
            }
        }
        by_status(&fetched, kustomization, source).map_err(not_ready)?;
    }
    Ok(())
}

/// Why `other` is not ready by an expression; an invalid expression is an error of the spec.
fn by_expression(
    text: &str,
    dependency: &Dependency,
    own: &Object,
    other: &Object,
) -> Result<Result<(), NotReady>, Error> {
    let expression = Ready::new(text).map_err(|error| {
        let message = format!(
            "terminal error: failed to evaluate dependency {}: {error}",
            dependency.name
        );
        Error::InvalidCelExpression(message)
    })?;
    let ready = expression.evaluate(&own.value(&KUSTOMIZATION), &other.value(&KUSTOMIZATION));
    Ok(match ready {
        Ok(true) => Ok(()),
        Ok(false) => Err(NotReady::ByExpression(other.name.clone())),
        Err(error) => Err(NotReady::Unknown(error)),
    })
}

/// Why `other` is not ready by its status.
fn by_status(other: &Object, own: &Kustomization, source: &Source) -> Result<(), NotReady> {
    let status = other.status();
    let conditions = Conditions::of(&status, other.generation, "");
    let observed = status.get("observedGeneration").and_then(serde_json::Value::as_i64);
    if observed != Some(other.generation) || !conditions.is(READY, ConditionStatus::True) {
        return Err(NotReady::ByStatus(other.name.clone()));
    }
    let Ok(theirs) = other.read::<Kustomization>(&KUSTOMIZATION) else {
        return Err(NotReady::ByStatus(other.name.clone()));
    };
    let same_source = theirs.source() == own.source() && theirs.spec.source_ref.kind == own.spec.source_ref.kind;
    let applied = status.get("lastAppliedRevision").and_then(serde_json::Value::as_str);
    if same_source && applied != Some(&source.artifact.revision) {
        return Err(NotReady::Outdated(other.name.clone()));
    }
    Ok(())
}
