//! Readiness of the Kustomizations that another one depends on (kustomize-controller,
//! `checkDependencies`; K-062 … K-072).

use super::dereference::Source;
use super::error::Error;
use crate::parts::context::Context;
use bumpwright_api::{ConditionStatus, Conditions, Dependency, Kustomization, READY};
use bumpwright_cel::Ready;
use bumpwright_kube::{KUSTOMIZATION, Object};

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
    let not_ready = |message: String| Error::DependencyNotReady { message, after };
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
        let found = context.cluster.get(&KUSTOMIZATION, &name).await;
        let found = found.map_err(|error| not_ready(format!("dependency '{name}' not found: {error}")))?;
        if let Some(expression) = expression {
            by_expression(expression, dependency, object, &found)?.map_err(not_ready)?;
            if !context.settings.gates.additive_dependency_check {
                continue;
            }
        }
        by_status(&found, kustomization, source).map_err(not_ready)?;
    }
    Ok(())
}

/// Why `other` is not ready by an expression; an invalid expression is an error of the spec.
fn by_expression(
    text: &str,
    dependency: &Dependency,
    own: &Object,
    other: &Object,
) -> Result<Result<(), String>, Error> {
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
        Ok(false) => Err(format!(
            "dependency '{}' is not ready according to readyExpr eval",
            other.name
        )),
        Err(error) => Err(error.to_string()),
    })
}

/// Why `other` is not ready by its status.
fn by_status(other: &Object, own: &Kustomization, source: &Source) -> Result<(), String> {
    let status = other.status();
    let conditions = Conditions::of(&status, other.generation, "");
    let observed = status.get("observedGeneration").and_then(serde_json::Value::as_i64);
    if observed != Some(other.generation) || !conditions.is(READY, ConditionStatus::True) {
        return Err(format!("dependency '{}' is not ready", other.name));
    }
    let Ok(theirs) = other.read::<Kustomization>(&KUSTOMIZATION) else {
        return Err(format!("dependency '{}' is not ready", other.name));
    };
    let same_source = theirs.source() == own.source() && theirs.spec.source_ref.kind == own.spec.source_ref.kind;
    let applied = status.get("lastAppliedRevision").and_then(serde_json::Value::as_str);
    if same_source && applied != Some(&source.artifact.revision) {
        return Err(format!("dependency '{}' revision is not up to date", other.name));
    }
    Ok(())
}
