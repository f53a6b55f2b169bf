//! Validation beyond types: lists and maps of one type, format strings that match their arguments.

use std::collections::HashMap;

use super::format_clause::Clause;
use super::typing::Typing;
use crate::syntax::Reports;
use crate::syntax::ast::{Ast, Entry, Expr, ExprKind, Id};
use crate::value::Value;

const STACK_NEEDED: usize = 128 * 1024;
const STACK_ADDED: usize = 2 * 1024 * 1024;

/// Reports the faults of an expression without type errors.
pub fn validate(ast: &Ast, types: &HashMap<Id, Typing>, reports: &mut Reports) {
    Validator { ast, types, reports }.visit(&ast.root, false);
}

struct Validator<'a> {
    ast: &'a Ast,
    types: &'a HashMap<Id, Typing>,
    reports: &'a mut Reports,
}

impl Validator<'_> {
    fn report(&mut self, id: Id, message: String) {
        match self.ast.offset(id) {
            Some(offset) => self.reports.at(offset, message),
            None => self.reports.nowhere(message),
        }
    }

    fn typing(&self, expr: &Expr) -> Typing {
        self.types.get(&expr.id).cloned().unwrap_or(Typing::Dyn)
    }

    /// Visits an expression; lists and maps within the arguments of `format` may be mixed.
    fn visit(&mut self, expr: &Expr, in_format: bool) {
        stacker::maybe_grow(STACK_NEEDED, STACK_ADDED, || self.visit_here(expr, in_format));
    }

    fn visit_here(&mut self, expr: &Expr, in_format: bool) {
        match &expr.kind {
            ExprKind::Literal(_) | ExprKind::Identifier(_) | ExprKind::Unspecified => {}
            ExprKind::Select { operand, .. } => self.visit(operand, in_format),
            ExprKind::Call {
                function,
                target,
                arguments,
            } => {
                let is_format = function == "format";
                if let (true, Some(target)) = (is_format, target) {
                    self.format(expr.id, target, arguments);
                }
                for part in target.as_deref().into_iter().chain(arguments) {
                    self.visit(part, in_format || is_format);
                }
            }
            ExprKind::List(elements) => {
                if !in_format {
                    self.elements(elements);
                }
                for (element, _) in elements {
                    self.visit(element, in_format);
                }
            }
            ExprKind::Map(entries) => {
                if !in_format {
                    self.entries(entries);
                }
                for entry in entries {
                    self.visit(&entry.key, in_format);
                    self.visit(&entry.value, in_format);
                }
            }
            ExprKind::Message { fields, .. } => {
                for (_, _, value) in fields {
                    self.visit(value, in_format);
                }
            }
            ExprKind::Fold(fold) => {
                let parts = [&fold.range, &fold.initial, &fold.condition, &fold.step, &fold.result];
                for part in parts {
                    self.visit(part, in_format);
                }
            }
        }
    }

    fn element_type(&self, element: &Expr, optional: bool) -> Typing {
        let typing = self.typing(element);
        if optional { typing.unwrap_optional().0 } else { typing }
    }

    /// Whether a type is the one of those before it; reports when it is not.
    fn same(&mut self, first: &mut Option<Typing>, id: Id, typing: Typing) -> bool {
        let Some(first) = first else {
            *first = Some(typing);
            return true;
        };
        if *first == typing {
            return true;
        }
        let message = format!("expected type '{}' but found '{}'", first.display(), typing.display());
        self.report(id, message);
        false
    }

    fn elements(&mut self, elements: &[(Expr, bool)]) {
        let mut first = None;
        for (element, optional) in elements {
            let typing = self.element_type(element, *optional);
            if !self.same(&mut first, element.id, typing) {
                return;
            }
        }
    }

    fn entries(&mut self, entries: &[Entry]) {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let key = self.typing(&entry.key);
            self.same(&mut keys, entry.key.id, key);
            let value = self.element_type(&entry.value, entry.optional);
            self.same(&mut values, entry.value.id, value);
        }
    }

    /// Checks a constant format string against a list literal.
    fn format(&mut self, id: Id, target: &Expr, arguments: &[Expr]) {
        let ExprKind::Literal(Value::String(text)) = &target.kind else {
            return;
        };
        let [
            Expr {
                kind: ExprKind::List(elements),
                ..
            },
        ] = arguments
        else {
            return;
        };
        let mut used = 0;
        let mut rest = text.as_bytes();
        while let [first, behind @ ..] = rest {
            rest = match (first, behind) {
                (b'%', [b'%', behind @ ..]) => behind,
                (b'%', clause) => match self.clause(id, clause, elements.get(used), used) {
                    Ok(behind) => {
                        used += 1;
                        behind
                    }
                    Err((id, message)) => return self.report(id, message),
                },
                _ => behind,
            };
        }
        if elements.len() > used {
            let message = format!(
                "too many arguments supplied to string.format (expected {used}, got {})",
                elements.len()
            );
            self.report(id, message);
        }
    }

    fn clause<'t>(
        &self,
        id: Id,
        clause: &'t [u8],
        element: Option<&(Expr, bool)>,
        index: usize,
    ) -> Result<&'t [u8], (Id, String)> {
        if clause.is_empty() {
            return Err((id, "unexpected end of string".to_owned()));
        }
        let Some((element, _)) = element else {
            return Err((id, format!("index {index} out of range")));
        };
        let (clause, behind) = Clause::parse(clause).map_err(|error| (id, error.to_string()))?;
        match self.refused(clause, element) {
            Some((id, typing)) => Err((id, clause.refusal(&typing.type_name()))),
            None => Ok(behind),
        }
    }

    /// The part of an element that a clause does not accept.
    fn refused(&self, clause: Clause, element: &Expr) -> Option<(Id, Typing)> {
        let typing = self.typing(element);
        if !clause.takes(&typing) {
            return Some((element.id, typing));
        }
        if clause.verb != b's' {
            return None;
        }
        match &element.kind {
            ExprKind::List(elements) => elements.iter().find_map(|(inner, _)| self.refused(clause, inner)),
            ExprKind::Map(entries) => entries.iter().find_map(|entry| {
                let key = self.refused(clause, &entry.key);
                key.or_else(|| self.refused(clause, &entry.value))
            }),
            _ => None,
        }
    }
}
