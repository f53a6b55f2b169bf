//! Health checks by expressions (`.spec.healthCheckExprs`, K-052 to K-057).

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::error::{CompileError, EvalError};
use crate::eval::Variables;
use crate::expression::Expression;

/// The health of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It is in its desired state.
    Current,
    Failed,
    /// It is being reconciled.
    InProgress,
}

/// The expressions of one health check.
#[derive(Clone, Debug)]
pub struct HealthExprs {
    current: Expression,
    in_progress: Option<Expression>,
    failed: Option<Expression>,
}

impl HealthExprs {
    /// Parses the expressions. An empty one counts as absent; `current` is required.
    ///
    /// # Errors
    /// When one of them is not valid.
    pub fn new(current: &str, in_progress: &str, failed: &str) -> Result<Self, CompileError> {
        if current.is_empty() {
            return Err(CompileError::NoCurrent);
        }
        let current = named("Current", current)?;
        let optional = |name, text: &str| (!text.is_empty()).then(|| named(name, text)).transpose();
        let failed = optional("Failed", failed)?;
        let in_progress = optional("InProgress", in_progress)?;
        Ok(Self {
            current,
            in_progress,
            failed,
        })
    }

    /// The health of an object. It is in progress while its `status.observedGeneration` differs from its generation;
    /// else the first expression that holds decides: in progress, failed, current. When none does, it is in progress.
    ///
    /// # Errors
    /// When an expression that is evaluated has no boolean value.
    pub fn status(&self, object: &Json) -> Result<Health, EvalError> {
        let observed = object.pointer("/status/observedGeneration").and_then(Json::as_i64);
        let generation = object.pointer("/metadata/generation").and_then(Json::as_i64);
        if let (Some(observed), Some(generation)) = (observed, generation)
            && observed != generation
        {
            return Ok(Health::InProgress);
        }
        let variables = Variables::of_object(object);
        let checks = [
            (self.in_progress.as_ref(), Health::InProgress),
            (self.failed.as_ref(), Health::Failed),
            (Some(&self.current), Health::Current),
        ];
        for (expression, health) in checks {
            if let Some(expression) = expression
                && expression.evaluate(&variables)?
            {
                return Ok(health);
            }
        }
        Ok(Health::InProgress)
    }
}

fn named(name: &'static str, text: &str) -> Result<Expression, CompileError> {
    Expression::parse(text).map_err(|error| CompileError::Of {
        name,
        error: Box::new(error),
    })
}

/// A health check of a spec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthCheck {
    /// `group/version`, or the version alone.
    pub api_version: String,
    /// The kind; all kinds of the group when it is empty.
    pub kind: String,
    /// When an object is current.
    pub current: String,
    /// When it is in progress; may be empty.
    pub in_progress: String,
    /// When it failed; may be empty.
    pub failed: String,
}

/// Health checks by kind.
#[derive(Clone, Debug, Default)]
pub struct HealthChecks {
    /// By group and kind.
    checks: BTreeMap<(String, String), HealthExprs>,
}

impl HealthChecks {
    /// Compiles health checks (`NewStatusReader`).
    ///
    /// # Errors
    /// When one is not valid, or two are for the same kind.
    pub fn new(checks: &[HealthCheck]) -> Result<Self, CompileError> {
        let mut health = Self::default();
        for (index, check) in checks.iter().enumerate() {
            let key = (group(&check.api_version).to_owned(), check.kind.clone());
            if health.checks.contains_key(&key) {
                let (group, kind) = key;
                let kind = if group.is_empty() {
                    kind
                } else {
                    format!("{kind}.{group}")
                };
                return Err(CompileError::Duplicate { kind, index });
            }
            let exprs = HealthExprs::new(&check.current, &check.in_progress, &check.failed);
            let exprs = exprs.map_err(|error| CompileError::At {
                index,
                error: Box::new(error),
            })?;
            health.checks.insert(key, exprs);
        }
        Ok(health)
    }

    /// The expressions for an object's kind, or for all kinds of its group.
    pub fn find(&self, api_version: &str, kind: &str) -> Option<&HealthExprs> {
        let group = group(api_version).to_owned();
        let own = self.checks.get(&(group.clone(), kind.to_owned()));
        own.or_else(|| self.checks.get(&(group, String::new())))
    }
}

/// The group of an API version; empty for the core group and for invalid versions.
fn group(api_version: &str) -> &str {
    match api_version.split_once('/') {
        Some((group, version)) if !version.contains('/') => group,
        _ => "",
    }
}
