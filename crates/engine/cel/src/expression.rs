//! An expression with a boolean value.

use serde_json::Value as Json;

use crate::check::{self, Checked, Typing};
use crate::error::{CompileError, EvalError};
use crate::eval::{Plan, Variables, plan};
use crate::syntax;
use crate::value::Value;

/// An expression that can be evaluated (`cel.Expression`).
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    plan: Plan,
}

impl Expression {
    /// Parses an expression in which any name can be a variable (`NewExpression` without options). Types are checked by
    /// the evaluation only.
    ///
    /// # Errors
    /// When it is not an expression, or fails with any variables.
    pub fn parse(text: &str) -> Result<Self, CompileError> {
        Self::new(text, None)
    }

    /// Parses and checks an expression with these variables, each an object, and a boolean value (`NewExpression` with
    /// `WithCompile`, `WithStructVariables` and `WithOutputType(bool)`).
    ///
    /// # Errors
    /// When it is not an expression, names other variables, or cannot be a boolean.
    pub fn compile(text: &str, variables: &[&str]) -> Result<Self, CompileError> {
        Self::new(text, Some(variables))
    }

    fn new(text: &str, variables: Option<&[&str]>) -> Result<Self, CompileError> {
        let (ast, mut reports) = syntax::parse(text);
        let wrong = |messages: String| CompileError::Parse {
            expression: text.to_owned(),
            messages,
        };
        let Some(ast) = ast else {
            return Err(wrong(reports.display()));
        };
        let checked: Option<Checked> = variables.map(|variables| {
            let names: Vec<String> = variables.iter().map(|name| (*name).to_owned()).collect();
            check::check(&ast, &names, &mut reports)
        });
        if !reports.is_empty() {
            return Err(wrong(reports.display()));
        }
        if let Some(checked) = &checked
            && checked.result != Typing::Bool
        {
            return Err(CompileError::Result(checked.result.go_display()));
        }
        let plan = plan(&ast.root, checked.as_ref()).map_err(|fault| CompileError::Plan(fault.into_text()))?;
        Ok(Self {
            text: text.to_owned(),
            plan,
        })
    }

    /// The text of the expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value for these variables (`EvaluateBoolean`).
    ///
    /// # Errors
    /// When the evaluation fails, or the value is not a boolean.
    pub fn evaluate(&self, variables: &Variables) -> Result<bool, EvalError> {
        match self.plan.run(variables) {
            Ok(Value::Bool(value)) => Ok(value),
            Ok(_) => Err(EvalError::NotBoolean {
                expression: self.text.clone(),
            }),
            Err(fault) => Err(EvalError::NoValue {
                expression: self.text.clone(),
                reason: fault.into_text(),
            }),
        }
    }

    /// The value with the fields of an object as variables.
    pub fn evaluate_object(&self, object: &Json) -> Result<bool, EvalError> {
        self.evaluate(&Variables::of_object(object))
    }
}

/// An expression that decides whether a dependency is ready (`.spec.dependsOn[].readyExpr`, K-066).
#[derive(Clone, Debug)]
pub struct Ready(Expression);

impl Ready {
    /// Compiles an expression over `self`, the dependent object, and `dep`, the dependency.
    pub fn new(text: &str) -> Result<Self, CompileError> {
        Expression::compile(text, &["self", "dep"]).map(Self)
    }

    /// Whether the dependency is ready.
    pub fn evaluate(&self, own: &Json, dependency: &Json) -> Result<bool, EvalError> {
        self.0.evaluate(&Variables::new([("self", own), ("dep", dependency)]))
    }
}
