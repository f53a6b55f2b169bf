//! The planner: turns an expression into nodes that can be run.

use std::sync::Arc;

use super::run::{self, Variables};
use super::tree::{Attribute, Base, Call, FoldNode, FoldStep, Node, Qualifier, QualifierKey};
use crate::check::functions::{self, Function};
use crate::check::{Checked, Reference, qualified_name};
use crate::syntax::ast::{Expr, ExprKind, Fold, Id, operators};
use crate::value::{Fault, Value};
use bumpwright_re2::Regexp;

const STACK_NEEDED: usize = 128 * 1024;

const STACK_ADDED: usize = 2 * 1024 * 1024;

/// A checked expression in the form in which it is evaluated.
#[derive(Clone, Debug)]
pub struct Plan {
    root: Node,
}

impl Plan {
    /// The value of the expression.
    ///
    /// # Errors
    /// When the evaluation fails.
    pub fn run(&self, variables: &Variables) -> Result<Value, Fault> {
        run::run(&self.root, variables)
    }
}

/// Plans an expression, with the results of checking if it was checked.
///
/// # Errors
/// When it fails with any variables.
pub fn plan(expr: &Expr, checked: Option<&Checked>) -> Result<Plan, Fault> {
    let root = Planner { checked }.plan(expr)?;
    Ok(Plan { root })
}

struct Planner<'c> {
    checked: Option<&'c Checked>,
}

fn type_value(name: &str) -> Node {
    Node::Constant(Ok(Value::Type(Arc::from(name))))
}

fn pair(left: Node, right: Node) -> Box<[Node; 2]> {
    Box::new([left, right])
}

impl Planner<'_> {
    fn plan(&self, expr: &Expr) -> Result<Node, Fault> {
        stacker::maybe_grow(STACK_NEEDED, STACK_ADDED, || self.plan_here(expr))
    }

    fn plan_here(&self, expr: &Expr) -> Result<Node, Fault> {
        if let Some(reference) = self.checked.and_then(|checked| checked.references.get(&expr.id)) {
            return Ok(match reference {
                Reference::Type(name) => type_value(name),
                Reference::Variable(name) => Node::Attribute(Attribute::named(name)),
            });
        }
        match &expr.kind {
            ExprKind::Literal(value) => Ok(Node::Constant(Ok(value.clone()))),
            ExprKind::Identifier(name) => {
                let name = name.strip_prefix('.').unwrap_or(name);
                Ok(Node::Attribute(Attribute::named(name)))
            }
            ExprKind::Select { operand, field, test } => {
                let mut attribute = Attribute::of(self.plan(operand)?);
                attribute.qualify(Qualifier {
                    key: QualifierKey::Constant(Value::string(field)),
                    optional: false,
                    test: *test,
                })?;
                Ok(Node::Attribute(attribute))
            }
            ExprKind::Call {
                function,
                target,
                arguments,
            } => self.call(expr.id, function, target.as_deref(), arguments),
            ExprKind::List(elements) => {
                let planned = elements
                    .iter()
                    .map(|(element, optional)| Ok((self.plan(element)?, *optional)));
                Ok(constant_when(Node::List(planned.collect::<Result<_, Fault>>()?)))
            }
            ExprKind::Map(entries) => {
                let planned = entries
                    .iter()
                    .map(|entry| Ok((self.plan(&entry.key)?, self.plan(&entry.value)?, entry.optional)));
                Ok(constant_when(Node::Map(planned.collect::<Result<_, Fault>>()?)))
            }
            ExprKind::Message { name, .. } => Err(Fault::new(format!("unknown type: {name}"))),
            ExprKind::Fold(fold) => self.fold(fold),
            ExprKind::Unspecified => Err(Fault::new("unsupported expr")),
        }
    }

    fn call(&self, id: Id, function: &str, target: Option<&Expr>, arguments: &[Expr]) -> Result<Node, Fault> {
        // `strings.quote(x)` is a function of that name, not a member of a variable `strings`.
        let qualified = target
            .filter(|target| !self.is_variable(target))
            .and_then(qualified_name)
            .map(|prefix| format!("{prefix}.{function}"));
        let qualified = qualified.and_then(|name| functions::find(&name).filter(has_binding));
        let (target, known) = match qualified {
            Some(found) => (None, Some(found)),
            None => (target, functions::find(function)),
        };
        let mut planned = Vec::with_capacity(arguments.len() + 1);
        for argument in target.into_iter().chain(arguments) {
            planned.push(self.plan(argument)?);
        }
        self.planned_call(id, function, known, planned)
    }

    fn is_variable(&self, expr: &Expr) -> bool {
        let references = self.checked.map(|checked| &checked.references);
        references.is_some_and(|references| match &expr.kind {
            ExprKind::Select { operand, .. } => references.contains_key(&expr.id) || self.is_variable(operand),
            _ => references.contains_key(&expr.id),
        })
    }

    fn planned_call(
        &self,
        id: Id,
        name: &str,
        function: Option<&'static Function>,
        mut arguments: Vec<Node>,
    ) -> Result<Node, Fault> {
        let two = <[Node; 2]>::try_from(std::mem::take(&mut arguments));
        match (name, two) {
            (operators::AND, Ok(two)) => return Ok(Node::And(Box::new(two))),
            (operators::OR, Ok(two)) => return Ok(Node::Or(Box::new(two))),
            (operators::EQUALS, Ok(two)) => return Ok(Node::Equal(Box::new(two))),
            (operators::NOT_EQUALS, Ok(two)) => return Ok(Node::NotEqual(Box::new(two))),
            (operators::INDEX, Ok([operand, index])) => return index_of(operand, index, false),
            (operators::OPT_INDEX | operators::OPT_SELECT, Ok([operand, index])) => {
                return index_of(operand, index, true);
            }
            ("or", Ok(two)) => return Ok(Node::OptionalOr(Box::new(two))),
            ("orValue", Ok(two)) => return Ok(Node::OptionalOrValue(Box::new(two))),
            ("matches", Ok([text, pattern])) => match constant_text(&pattern) {
                Some(constant) => return matches(&constant, text, pattern),
                None => arguments = vec![text, pattern],
            },
            (operators::IN, Ok([element, list])) => {
                if self.is_in_empty_list(id, &list) {
                    return Ok(Node::Constant(Ok(Value::Bool(false))));
                }
                arguments = vec![element, list];
            }
            (_, Ok(two)) => arguments = two.into(),
            (_, Err(others)) => arguments = others,
        }
        if name == operators::CONDITIONAL {
            return conditional(arguments);
        }
        if let (operators::NOT_STRICTLY_FALSE, [only]) = (name, arguments.as_slice()) {
            return Ok(Node::NotStrictlyFalse(Box::new(only.clone())));
        }
        let function = function.filter(has_binding);
        refuse_wrong_count(name, function, arguments.len())?;
        let call = Node::Call(Call {
            id,
            name: Arc::from(function.map_or(name.strip_prefix('.').unwrap_or(name), |function| function.name)),
            function,
            arguments,
        });
        converted(call)
    }

    /// Whether it is a membership test over an empty list in a checked expression, which is always false.
    fn is_in_empty_list(&self, id: Id, list: &Node) -> bool {
        let is_list = self.checked.is_some_and(|checked| checked.in_lists.contains(&id));
        is_list && matches!(list, Node::Constant(Ok(Value::List(list))) if list.is_empty())
    }

    fn fold(&self, fold: &Fold) -> Result<Node, Fault> {
        let initial = self.plan(&fold.initial)?;
        let range = self.plan(&fold.range)?;
        let condition = self.plan(&fold.condition)?;
        let step = self.plan(&fold.step)?;
        let result = self.plan(&fold.result)?;
        Ok(Node::Fold(Box::new(FoldNode {
            range,
            variable: Arc::from(fold.variable.as_str()),
            accumulator: Arc::from(fold.accumulator.as_str()),
            step: step_of(step, &fold.accumulator),
            initial,
            condition,
            result,
        })))
    }
}

fn has_binding(function: &&'static Function) -> bool {
    function.binding != functions::Binding::Planned
}

/// Rejects a call with a number of arguments that the function's only implementation does not take.
fn refuse_wrong_count(name: &str, function: Option<&'static Function>, count: usize) -> Result<(), Fault> {
    let name = function.map_or(name.strip_prefix('.').unwrap_or(name), |function| function.name);
    let fixed = match function {
        None if count == 0 => None,
        None => return Ok(()),
        Some(function) => match function.fixed_arguments() {
            None => return Ok(()),
            fixed => fixed,
        },
    };
    if fixed == Some(count) && count <= 2 {
        return Ok(());
    }
    let shape = match count {
        0 => "",
        1 => "arg",
        2 => "lhs, rhs",
        _ if fixed.is_some_and(|fixed| fixed > 2) => return Ok(()),
        _ => "...",
    };
    Err(Fault::new(format!("no such overload: {name}({shape})")))
}

fn constant_text(node: &Node) -> Option<Arc<str>> {
    match node {
        Node::Constant(Ok(Value::String(text))) => Some(Arc::clone(text)),
        _ => None,
    }
}

fn matches(pattern: &str, text: Node, constant: Node) -> Result<Node, Fault> {
    let regexp = Regexp::new(pattern).map_err(|error| Fault::new(error.to_string()))?;
    Ok(Node::Matches(Arc::new(regexp), pair(text, constant)))
}

fn index_of(operand: Node, index: Node, optional: bool) -> Result<Node, Fault> {
    let mut attribute = Attribute::of(operand);
    let key = match index {
        Node::Constant(Ok(value)) => {
            super::attribute::refuse_key(&value, false)?;
            QualifierKey::Constant(value)
        }
        Node::Constant(Err(_)) => return Err(Fault::new("invalid qualifier type: *types.Err")),
        other => QualifierKey::Dynamic(Box::new(other)),
    };
    attribute.qualify(Qualifier {
        key,
        optional,
        test: false,
    })?;
    Ok(Node::Attribute(attribute))
}

fn conditional(arguments: Vec<Node>) -> Result<Node, Fault> {
    let mut arguments = arguments.into_iter();
    let (Some(condition), Some(then), Some(otherwise)) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err(Fault::no_overload());
    };
    let branches = [then, otherwise].map(|branch| Attribute {
        test: false,
        ..Attribute::of(branch)
    });
    Ok(Node::Attribute(Attribute {
        base: Base::Conditional(Box::new(condition), Box::new(branches)),
        qualifiers: Vec::new(),
        test: false,
    }))
}

/// Evaluates the conversion of a constant, whose errors occur at once.
fn converted(call: Node) -> Result<Node, Fault> {
    const CONVERSIONS: [&str; 10] = [
        "bool",
        "bytes",
        "double",
        "duration",
        "dyn",
        "int",
        "string",
        "timestamp",
        "type",
        "uint",
    ];
    let Node::Call(Call { name, arguments, .. }) = &call else {
        return Ok(call);
    };
    let is_conversion = CONVERSIONS.contains(&&**name);
    if !is_conversion || !matches!(arguments.as_slice(), [Node::Constant(_)]) {
        return Ok(call);
    }
    Ok(Node::Constant(Ok(run::run(&call, &Variables::default())?)))
}

/// Turns a list or map of constants into a constant.
fn constant_when(node: Node) -> Node {
    let constant = |node: &Node| matches!(node, Node::Constant(_));
    let all_constant = match &node {
        Node::List(elements) => elements.iter().all(|(element, _)| constant(element)),
        Node::Map(entries) => entries.iter().all(|(key, value, _)| constant(key) && constant(value)),
        _ => false,
    };
    if all_constant {
        Node::Constant(run::run(&node, &Variables::default()))
    } else {
        node
    }
}

/// Recognises the append steps of macros, so that the list is not copied for each element.
fn step_of(step: Node, accumulator: &str) -> FoldStep {
    let is_accumulator =
        |node: &Node| matches!(node, Node::Attribute(attribute) if attribute.is_plain_name(accumulator));
    let appended = |node: &Node| match node {
        Node::Call(Call { name, arguments, .. }) if &**name == operators::ADD => match arguments.as_slice() {
            [left, right @ (Node::List(_) | Node::Constant(Ok(Value::List(_))))] if is_accumulator(left) => {
                Some(right.clone())
            }
            _ => None,
        },
        _ => None,
    };
    if let Some(elements) = appended(&step) {
        return FoldStep::Append {
            predicate: None,
            elements,
        };
    }
    if let Node::Attribute(Attribute {
        base: Base::Conditional(condition, branches),
        qualifiers,
        ..
    }) = &step
        && qualifiers.is_empty()
        && let [
            Attribute {
                base: Base::Relative(then),
                qualifiers: none,
                ..
            },
            otherwise,
        ] = branches.as_ref()
        && none.is_empty()
        && otherwise.is_plain_name(accumulator)
        && let Some(elements) = appended(then)
    {
        return FoldStep::Append {
            predicate: Some(condition.as_ref().clone()),
            elements,
        };
    }
    FoldStep::Replace(step)
}
