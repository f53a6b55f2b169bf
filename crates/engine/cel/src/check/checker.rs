//! The type checker: gives each part of an expression a type, and reports type errors.

use std::collections::{HashMap, HashSet};

use super::functions::{self, Function, Overload, T};
use super::typing::{Known, Typing, more_general};
use super::validate::validate;
use crate::syntax::Reports;
use crate::syntax::ast::{Ast, Entry, Expr, ExprKind, Fold, Id, operators};
use crate::value::Value;

const STACK_NEEDED: usize = 128 * 1024;
const STACK_ADDED: usize = 2 * 1024 * 1024;

/// What a name in a checked expression refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    Variable(String),
    /// A type, by its name.
    Type(String),
}

/// The results of checking.
#[derive(Debug)]
pub struct Checked {
    pub references: HashMap<Id, Reference>,
    /// The membership tests whose right side can only be a list.
    pub in_lists: HashSet<Id>,
    pub result: Typing,
}

/// Checks an expression in which the variables are objects.
pub fn check(ast: &Ast, variables: &[String], reports: &mut Reports) -> Checked {
    let object = Typing::map(Typing::String, Typing::Dyn);
    let scope = variables.iter().map(|name| (name.clone(), object.clone()));
    let mut checker = Checker {
        ast,
        reports,
        known: Known::default(),
        scope: scope.collect(),
        references: HashMap::new(),
        in_lists: HashSet::new(),
        types: HashMap::new(),
    };
    let result = checker.check(&ast.root);
    let Checker {
        known,
        references,
        in_lists,
        mut types,
        ..
    } = checker;
    if reports.is_empty() {
        for typing in types.values_mut() {
            *typing = known.resolve(typing, true);
        }
        validate(ast, &types, reports);
    }
    Checked {
        references,
        in_lists,
        result: known.resolve(&result, true),
    }
}

/// `a.b.c` as one name, if the expression has that form.
pub fn qualified_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Identifier(name) => Some(name.clone()),
        ExprKind::Select {
            operand,
            field,
            test: false,
        } => Some(format!("{}.{field}", qualified_name(operand)?)),
        _ => None,
    }
}

struct Checker<'a> {
    ast: &'a Ast,
    reports: &'a mut Reports,
    known: Known,
    scope: Vec<(String, Typing)>,
    references: HashMap<Id, Reference>,
    in_lists: HashSet<Id>,
    types: HashMap<Id, Typing>,
}

impl Checker<'_> {
    fn report(&mut self, id: Id, message: String) {
        match self.ast.offset(id) {
            Some(offset) => self.reports.at(offset, message),
            None => self.reports.nowhere(message),
        }
    }

    fn mismatch(&mut self, id: Id, expected: &Typing, found: &Typing) {
        let message = format!("expected type '{}' but found '{}'", expected.display(), found.display());
        self.report(id, message);
    }

    fn undeclared(&mut self, id: Id, name: &str) -> Typing {
        self.report(id, format!("undeclared reference to '{name}' (in container '')"));
        Typing::Error
    }

    fn check(&mut self, expr: &Expr) -> Typing {
        let typing = stacker::maybe_grow(STACK_NEEDED, STACK_ADDED, || self.check_here(expr));
        self.types.insert(expr.id, typing.clone());
        typing
    }

    fn check_here(&mut self, expr: &Expr) -> Typing {
        match &expr.kind {
            ExprKind::Literal(value) => literal(value),
            ExprKind::Identifier(name) => match self.name(expr.id, name) {
                Some(typing) => typing,
                None => self.undeclared(expr.id, name),
            },
            ExprKind::Select {
                operand,
                field: _,
                test,
            } => self.select(expr, operand, *test),
            ExprKind::Call {
                function,
                target,
                arguments,
            } => self.call(expr, function, target.as_deref(), arguments),
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Message { name, fields } => {
                if functions::named_type(name).is_some() {
                    let message = format!("'{name}' is not a message type");
                    self.report(expr.id, message);
                } else {
                    self.undeclared(expr.id, name);
                    return Typing::Error;
                }
                for (_, _, value) in fields {
                    self.check(value);
                }
                Typing::Error
            }
            ExprKind::Fold(fold) => self.fold(fold),
            ExprKind::Unspecified => Typing::Error,
        }
    }

    /// The type of a name.
    fn name(&mut self, id: Id, name: &str) -> Option<Typing> {
        let plain = name.strip_prefix('.').unwrap_or(name);
        let variable = self.scope.iter().rev().find(|(known, _)| known == plain);
        if let Some((_, typing)) = variable {
            let typing = typing.clone();
            self.references.insert(id, Reference::Variable(plain.to_owned()));
            return Some(typing);
        }
        let named = functions::named_type(plain)?;
        self.references.insert(id, Reference::Type(plain.to_owned()));
        Some(Typing::Type(Some(named.into())))
    }

    fn select(&mut self, expr: &Expr, operand: &Expr, test: bool) -> Typing {
        if let Some(typing) = qualified_name(expr).and_then(|name| self.name(expr.id, &name)) {
            return typing;
        }
        let typing = self.field(expr.id, operand, false);
        if test {
            Typing::Bool
        } else {
            self.known.resolve(&typing, false)
        }
    }

    /// The type of a field of an operand.
    fn field(&mut self, id: Id, operand: &Expr, optional: bool) -> Typing {
        let operand = self.check(operand);
        let (target, was_optional) = self.known.resolve(&operand, false).unwrap_optional();
        let result = match &target {
            Typing::Map(_, value) => value.as_ref().clone(),
            Typing::Unknown(_) | Typing::Named(_) => {
                self.known.fit(&Typing::Dyn, &target);
                Typing::Dyn
            }
            Typing::Dyn | Typing::Error => Typing::Dyn,
            other => {
                let message = format!("type '{}' does not support field selection", other.display());
                self.report(id, message);
                Typing::Dyn
            }
        };
        if optional || was_optional {
            Typing::optional(result)
        } else {
            result
        }
    }

    fn call(&mut self, expr: &Expr, function: &str, target: Option<&Expr>, arguments: &[Expr]) -> Typing {
        if let (operators::OPT_SELECT, [operand, _]) = (function, arguments) {
            let typing = self.field(expr.id, operand, true);
            return self.known.resolve(&typing, false);
        }
        let mut types: Vec<Typing> = arguments.iter().map(|argument| self.check(argument)).collect();
        let Some(target) = target else {
            return match functions::find(function) {
                Some(found) => self.resolve(expr, found, false, types, arguments),
                None => self.undeclared(expr.id, function),
            };
        };
        let qualified = qualified_name(target).map(|prefix| format!("{prefix}.{function}"));
        if let Some(found) = qualified.and_then(|name| functions::find(&name)) {
            return self.resolve(expr, found, false, types, arguments);
        }
        let target_type = self.check(target);
        match functions::find(function) {
            Some(found) => {
                types.insert(0, target_type);
                self.resolve(expr, found, true, types, arguments)
            }
            None => self.undeclared(expr.id, function),
        }
    }

    /// The type of a call, by the overloads that accept its arguments.
    fn resolve(
        &mut self,
        expr: &Expr,
        function: &Function,
        member: bool,
        types: Vec<Typing>,
        arguments: &[Expr],
    ) -> Typing {
        if matches!(function.name, operators::AND | operators::OR) {
            return self.logic(&types, arguments);
        }
        let mut result: Option<Typing> = None;
        let mut matches = Vec::new();
        let overloads = function.overloads.iter().enumerate();
        for (index, overload) in overloads.filter(|(_, overload)| overload.member == member) {
            let (takes, gives) = self.instance(overload);
            if !self.known.fit_all(&types, &takes) {
                continue;
            }
            matches.push(index);
            let gives = self.known.resolve(&gives, false);
            result = Some(match result {
                None => gives,
                Some(Typing::Dyn) => Typing::Dyn,
                Some(before) if before == gives => before,
                Some(_) => Typing::Dyn,
            });
        }
        if function.name == operators::IN && matches == [0] {
            self.in_lists.insert(expr.id);
        }
        result.unwrap_or_else(|| self.no_overload(expr.id, function, member, &types))
    }

    /// The argument types and the result type of an overload, with fresh unknown types.
    fn instance(&mut self, overload: &Overload) -> (Vec<Typing>, Typing) {
        let mut names = Vec::new();
        collect_names(overload.result, &mut names);
        for argument in overload.arguments {
            collect_names(*argument, &mut names);
        }
        let a = if names.contains(&T::A) {
            self.known.unknown()
        } else {
            Typing::Dyn
        };
        let b = if names.contains(&T::B) {
            self.known.unknown()
        } else {
            Typing::Dyn
        };
        let takes = overload.arguments.iter().map(|argument| Typing::of(*argument, &a, &b));
        (takes.collect(), Typing::of(overload.result, &a, &b))
    }

    fn logic(&mut self, types: &[Typing], arguments: &[Expr]) -> Typing {
        let mut wrong = false;
        for (typing, argument) in types.iter().zip(arguments) {
            if !self.known.fit(typing, &Typing::Bool) {
                self.mismatch(argument.id, &Typing::Bool, typing);
                wrong = true;
            }
        }
        if wrong { Typing::Error } else { Typing::Bool }
    }

    fn no_overload(&mut self, id: Id, function: &Function, member: bool, types: &[Typing]) -> Typing {
        let mut names: Vec<String> = types
            .iter()
            .map(|typing| self.known.resolve(typing, true).display())
            .collect();
        let target = if member && !names.is_empty() {
            format!("{}.", names.remove(0))
        } else {
            String::new()
        };
        let message = format!(
            "found no matching overload for '{}' applied to '{target}({})'",
            function.name,
            names.join(", ")
        );
        self.report(id, message);
        Typing::Error
    }

    /// The common type of the elements `before` and one more.
    fn join(&mut self, before: Option<Typing>, one: Typing) -> Typing {
        match before {
            None => one,
            Some(before) if self.known.fit(&before, &one) => more_general(&before, &one),
            Some(_) => Typing::Dyn,
        }
    }

    fn unwrap(&mut self, id: Id, typing: Typing) -> Typing {
        let (inner, was_optional) = typing.unwrap_optional();
        if !was_optional && inner != Typing::Dyn {
            self.mismatch(id, &Typing::optional(inner.clone()), &inner);
        }
        inner
    }

    fn list(&mut self, elements: &[(Expr, bool)]) -> Typing {
        let mut joined = None;
        for (element, optional) in elements {
            let mut typing = self.check(element);
            if *optional {
                typing = self.unwrap(element.id, typing);
            }
            joined = Some(self.join(joined, typing));
        }
        Typing::list(joined.unwrap_or_else(|| self.known.unknown()))
    }

    fn map(&mut self, entries: &[Entry]) -> Typing {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let key = self.check(&entry.key);
            keys = Some(self.join(keys, key));
            let mut value = self.check(&entry.value);
            if entry.optional {
                value = self.unwrap(entry.value.id, value);
            }
            values = Some(self.join(values, value));
        }
        match (keys, values) {
            (Some(keys), Some(values)) => Typing::map(keys, values),
            _ => {
                let keys = self.known.unknown();
                Typing::map(keys, self.known.unknown())
            }
        }
    }

    fn fold(&mut self, fold: &Fold) -> Typing {
        let range = self.check(&fold.range);
        let initial = self.check(&fold.initial);
        let range = self.known.resolve(&range, false);
        let element = match &range {
            Typing::List(element) => element.as_ref().clone(),
            Typing::Map(key, _) => key.as_ref().clone(),
            Typing::Dyn | Typing::Error | Typing::Unknown(_) | Typing::Named(_) => {
                self.known.fit(&Typing::Dyn, &range);
                Typing::Dyn
            }
            other => {
                let message = format!(
                    "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                    other.display()
                );
                self.report(fold.range.id, message);
                Typing::Error
            }
        };
        self.scope.push((fold.accumulator.clone(), initial.clone()));
        self.scope.push((fold.variable.clone(), element));
        let condition = self.check(&fold.condition);
        self.assert(&fold.condition, &Typing::Bool, &condition);
        let step = self.check(&fold.step);
        self.assert(&fold.step, &initial, &step);
        self.scope.pop();
        let result = self.check(&fold.result);
        self.scope.pop();
        self.known.resolve(&result, false)
    }

    fn assert(&mut self, expr: &Expr, expected: &Typing, found: &Typing) {
        if !self.known.fit(expected, found) {
            self.mismatch(expr.id, expected, found);
        }
    }
}

fn collect_names(t: T, names: &mut Vec<T>) {
    match t {
        T::A | T::B => names.push(t),
        T::List(inner) | T::Optional(inner) | T::TypeOf(inner) => collect_names(*inner, names),
        T::Map(key, value) => {
            collect_names(*key, names);
            collect_names(*value, names);
        }
        _ => {}
    }
}

fn literal(value: &Value) -> Typing {
    match value {
        Value::Null => Typing::Null,
        Value::Bool(_) => Typing::Bool,
        Value::Int(_) => Typing::Int,
        Value::Uint(_) => Typing::Uint,
        Value::Double(_) => Typing::Double,
        Value::String(_) => Typing::String,
        Value::Bytes(_) => Typing::Bytes,
        _ => Typing::Error,
    }
}
