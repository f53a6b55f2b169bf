//! The macros: `has`, those over ranges, and those over optional values.

use super::ast::{Expr, ExprKind, Fold, Id, operators};
use super::report::Halt;
use super::visit::{Parts, call, expr};
use crate::value::Value;

/// The accumulator's name, which is not an identifier.
const ACCUMULATOR: &str = "@result";
/// The accumulator's name in older versions, still reserved.
const OLD_ACCUMULATOR: &str = "__result__";
/// The variable's name in expansions without elements.
const UNUSED: &str = "#unused";

/// Why a macro is not expanded.
#[derive(Debug)]
pub enum ExpansionError {
    /// An argument is not valid.
    Argument { argument: Id, message: &'static str },
    /// A limit was reached.
    Halt,
}

impl From<Halt> for ExpansionError {
    fn from(_: Halt) -> Self {
        Self::Halt
    }
}

type Expansion = Result<Expr, ExpansionError>;
type Expander = fn(&mut Parts<'_>, i32, Option<Expr>, Vec<Expr>) -> Expansion;

/// The macro of a name, a number of arguments, and with or without a target.
pub fn find(name: &str, arguments: usize, on_target: bool) -> Option<Expander> {
    Some(match (name, arguments, on_target) {
        ("has", 1, false) => has,
        ("all", 2, true) => |parts, at, target, arguments| quantifier(Quantifier::All, parts, at, target, arguments),
        ("exists", 2, true) => {
            |parts, at, target, arguments| quantifier(Quantifier::Exists, parts, at, target, arguments)
        }
        ("exists_one", 2, true) => {
            |parts, at, target, arguments| quantifier(Quantifier::ExistsOne, parts, at, target, arguments)
        }
        ("map", 2 | 3, true) => map,
        ("filter", 2, true) => filter,
        ("optMap", 2, true) => |parts, at, target, arguments| on_optional(true, parts, at, target, arguments),
        ("optFlatMap", 2, true) => |parts, at, target, arguments| on_optional(false, parts, at, target, arguments),
        _ => return None,
    })
}

fn has(parts: &mut Parts<'_>, at: i32, _: Option<Expr>, arguments: Vec<Expr>) -> Expansion {
    let mut arguments = arguments.into_iter();
    match arguments.next() {
        Some(Expr {
            kind: ExprKind::Select { operand, field, .. },
            ..
        }) => {
            let kind = ExprKind::Select {
                operand,
                field,
                test: true,
            };
            Ok(expr(parts.number(at), kind))
        }
        other => Err(ExpansionError::Argument {
            argument: other.map_or(-1, |argument| argument.id),
            message: "invalid argument to has() macro",
        }),
    }
}

#[derive(Clone, Copy)]
enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

/// The name of the element in the first argument.
fn element_name(argument: &Expr, message: &'static str) -> Result<String, ExpansionError> {
    let argument_id = argument.id;
    let refuse = |message| ExpansionError::Argument {
        argument: argument_id,
        message,
    };
    match &argument.kind {
        ExprKind::Identifier(name) if name == ACCUMULATOR || name == OLD_ACCUMULATOR => {
            Err(refuse("iteration variable overwrites accumulator variable"))
        }
        ExprKind::Identifier(name) => Ok(name.clone()),
        _ => Err(refuse(message)),
    }
}

/// A builder for expansions, whose parts all have the place of the macro.
struct Builder<'p, 't> {
    parts: &'p mut Parts<'t>,
    at: i32,
}

impl Builder<'_, '_> {
    fn make(&mut self, kind: ExprKind) -> Expr {
        expr(self.parts.number(self.at), kind)
    }

    fn literal(&mut self, value: Value) -> Expr {
        self.make(ExprKind::Literal(value))
    }

    fn accumulator(&mut self) -> Expr {
        self.make(ExprKind::Identifier(ACCUMULATOR.to_owned()))
    }

    fn call(&mut self, function: &str, arguments: Vec<Expr>) -> Expr {
        call(self.parts.number(self.at), function, None, arguments)
    }

    fn member_call(&mut self, function: &str, target: Expr) -> Expr {
        call(self.parts.number(self.at), function, Some(target), Vec::new())
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        let elements = elements.into_iter().map(|element| (element, false)).collect();
        self.make(ExprKind::List(elements))
    }

    fn fold(&mut self, fold: Fold) -> Expr {
        self.make(ExprKind::Fold(Box::new(fold)))
    }
}

fn nothing() -> Expr {
    expr(-1, ExprKind::Unspecified)
}

fn quantifier(
    which: Quantifier,
    parts: &mut Parts<'_>,
    at: i32,
    target: Option<Expr>,
    arguments: Vec<Expr>,
) -> Expansion {
    let mut arguments = arguments.into_iter();
    let element = arguments.next().unwrap_or_else(nothing);
    let predicate = arguments.next().unwrap_or_else(nothing);
    let variable = element_name(&element, "argument must be a simple name")?;
    let mut build = Builder { parts, at };
    let initial = build.literal(match which {
        Quantifier::All => Value::Bool(true),
        Quantifier::Exists => Value::Bool(false),
        Quantifier::ExistsOne => Value::Int(0),
    });
    let condition = match which {
        Quantifier::All => {
            let accumulator = build.accumulator();
            build.call(operators::NOT_STRICTLY_FALSE, vec![accumulator])
        }
        Quantifier::Exists => {
            let accumulator = build.accumulator();
            let not = build.call(operators::NOT, vec![accumulator]);
            build.call(operators::NOT_STRICTLY_FALSE, vec![not])
        }
        Quantifier::ExistsOne => build.literal(Value::Bool(true)),
    };
    let accumulator = build.accumulator();
    let step = match which {
        Quantifier::All => build.call(operators::AND, vec![accumulator, predicate]),
        Quantifier::Exists => build.call(operators::OR, vec![accumulator, predicate]),
        Quantifier::ExistsOne => {
            let increment = build.literal(Value::Int(1));
            let more = build.call(operators::ADD, vec![accumulator, increment]);
            let same = build.accumulator();
            build.call(operators::CONDITIONAL, vec![predicate, more, same])
        }
    };
    let mut result = build.accumulator();
    if matches!(which, Quantifier::ExistsOne) {
        let count = build.literal(Value::Int(1));
        result = build.call(operators::EQUALS, vec![result, count]);
    }
    Ok(build.fold(Fold {
        range: target.unwrap_or_else(nothing),
        variable,
        accumulator: ACCUMULATOR.to_owned(),
        initial,
        condition,
        step,
        result,
    }))
}

fn map(parts: &mut Parts<'_>, at: i32, target: Option<Expr>, arguments: Vec<Expr>) -> Expansion {
    let mut arguments = arguments.into_iter();
    let element = arguments.next().unwrap_or_else(nothing);
    let variable = element_name(&element, "argument is not an identifier")?;
    let (predicate, transform) = match (arguments.next(), arguments.next()) {
        (Some(predicate), Some(transform)) => (Some(predicate), transform),
        (transform, _) => (None, transform.unwrap_or_else(nothing)),
    };
    Ok(collect(parts, at, target, variable, predicate, transform))
}

fn filter(parts: &mut Parts<'_>, at: i32, target: Option<Expr>, arguments: Vec<Expr>) -> Expansion {
    let mut arguments = arguments.into_iter();
    let element = arguments.next().unwrap_or_else(nothing);
    let variable = element_name(&element, "argument is not an identifier")?;
    Ok(collect(parts, at, target, variable, arguments.next(), element))
}

/// Builds a fold that collects the results for the elements that satisfy the predicate.
fn collect(
    parts: &mut Parts<'_>,
    at: i32,
    target: Option<Expr>,
    variable: String,
    predicate: Option<Expr>,
    transform: Expr,
) -> Expr {
    let mut build = Builder { parts, at };
    let initial = build.list(Vec::new());
    let condition = build.literal(Value::Bool(true));
    let accumulator = build.accumulator();
    let singleton = build.list(vec![transform]);
    let mut step = build.call(operators::ADD, vec![accumulator, singleton]);
    if let Some(predicate) = predicate {
        let same = build.accumulator();
        step = build.call(operators::CONDITIONAL, vec![predicate, step, same]);
    }
    let result = build.accumulator();
    build.fold(Fold {
        range: target.unwrap_or_else(nothing),
        variable,
        accumulator: ACCUMULATOR.to_owned(),
        initial,
        condition,
        step,
        result,
    })
}

/// `optMap` and `optFlatMap`: map the value of an optional if there is one.
fn on_optional(wrap: bool, parts: &mut Parts<'_>, at: i32, target: Option<Expr>, arguments: Vec<Expr>) -> Expansion {
    let mut arguments = arguments.into_iter();
    let name = arguments.next().unwrap_or_else(nothing);
    let ExprKind::Identifier(variable) = name.kind else {
        let message = if wrap {
            "optMap() variable name must be a simple identifier"
        } else {
            "optFlatMap() variable name must be a simple identifier"
        };
        return Err(ExpansionError::Argument {
            argument: name.id,
            message,
        });
    };
    let target = target.unwrap_or_else(nothing);
    let copied = copy(parts, &target)?;
    let mut build = Builder { parts, at };
    let has_value = build.member_call("hasValue", target);
    let range = build.list(Vec::new());
    let initial = build.member_call("value", copied);
    let condition = build.literal(Value::Bool(false));
    let step = build.make(ExprKind::Identifier(variable.clone()));
    let mut mapped = build.fold(Fold {
        range,
        variable: UNUSED.to_owned(),
        accumulator: variable,
        initial,
        condition,
        step,
        result: arguments.next().unwrap_or_else(nothing),
    });
    if wrap {
        mapped = build.call("optional.of", vec![mapped]);
    }
    let none = build.call("optional.none", Vec::new());
    Ok(build.call(operators::CONDITIONAL, vec![has_value, mapped, none]))
}

/// A copy of an expression with new numbers.
fn copy(parts: &mut Parts<'_>, original: &Expr) -> Result<Expr, Halt> {
    parts.count_copy()?;
    let id = parts.number(parts.offset(original.id));
    let kind = match &original.kind {
        ExprKind::Literal(_) | ExprKind::Identifier(_) | ExprKind::Unspecified => original.kind.clone(),
        ExprKind::Select { operand, field, test } => ExprKind::Select {
            operand: Box::new(copy(parts, operand)?),
            field: field.clone(),
            test: *test,
        },
        ExprKind::Call {
            function,
            target,
            arguments,
        } => ExprKind::Call {
            function: function.clone(),
            target: match target {
                Some(target) => Some(Box::new(copy(parts, target)?)),
                None => None,
            },
            arguments: arguments
                .iter()
                .map(|argument| copy(parts, argument))
                .collect::<Result<_, _>>()?,
        },
        ExprKind::List(elements) => {
            let copies = elements
                .iter()
                .map(|(element, optional)| Ok((copy(parts, element)?, *optional)));
            ExprKind::List(copies.collect::<Result<_, _>>()?)
        }
        ExprKind::Map(entries) => {
            let mut copies = entries.clone();
            for entry in &mut copies {
                entry.key = copy(parts, &entry.key)?;
                entry.value = copy(parts, &entry.value)?;
            }
            ExprKind::Map(copies)
        }
        ExprKind::Message { name, fields } => {
            let mut copies = fields.clone();
            for (_, _, value) in &mut copies {
                *value = copy(parts, value)?;
            }
            ExprKind::Message {
                name: name.clone(),
                fields: copies,
            }
        }
        ExprKind::Fold(fold) => ExprKind::Fold(Box::new(Fold {
            range: copy(parts, &fold.range)?,
            variable: fold.variable.clone(),
            accumulator: fold.accumulator.clone(),
            initial: copy(parts, &fold.initial)?,
            condition: copy(parts, &fold.condition)?,
            step: copy(parts, &fold.step)?,
            result: copy(parts, &fold.result)?,
        })),
    };
    Ok(expr(id, kind))
}
