//! Evaluates pipelines, commands and operands.

use super::call::Callee;
use super::fields::plain_fields;
use super::run::{BoxedError, Exec, Operands, name_of};
use super::stack;
use crate::parse::node::{Command, Expr, Name, NodeRef, Number, Pipe, Variable};
use crate::value::convert::{as_complex, as_float, as_integer, zero};
use crate::value::go_type::TypeKind;
use crate::value::model::{ComplexKind, Function, Slot, Type, Value};
use bumpwright_text::Parts;

impl<'t> Exec<'t, '_, '_> {
    /// The value of a pipeline; declares or sets its variables.
    pub(crate) fn eval_pipe(&mut self, dot: &Slot, pipe: &'t Pipe) -> Result<Slot, BoxedError> {
        self.at = Some(NodeRef::Pipe(pipe));
        let mut last = None;
        for command in &pipe.commands {
            let value = self.eval_command(dot, command, last.take())?;
            last = Some(match value.interface {
                Some(ty) if ty.is_any() => Slot::of(value.value),
                _ => value,
            });
        }
        let value = last.unwrap_or_default();
        for variable in &pipe.decl {
            let name = name_of(&variable.names);
            if pipe.is_assign {
                self.set_var(name, value.clone())?;
            } else {
                self.declare_var(name, value.clone());
            }
        }
        Ok(value)
    }

    fn eval_command(&mut self, dot: &Slot, command: &'t Command, last: Option<Slot>) -> Result<Slot, BoxedError> {
        self.step(1)?;
        self.small_steps(command.args.len())?;
        let Some((word, rest)) = command.args.split_first() else {
            return Ok(Slot::nothing());
        };
        let operands = Operands { rest, last };
        match word {
            Expr::Identifier(_, function) => {
                self.eval_function(dot, word, function, NodeRef::Command(command), operands)
            }
            Expr::Field(_, names) => self.eval_field_node(dot, word, names, operands),
            Expr::Chain(_, inner, names) => self.eval_chain(dot, word, inner, names, operands),
            Expr::Variable(variable) => self.eval_variable(dot, word, variable, operands),
            Expr::Pipe(pipe) => {
                self.refuse_operands(word, &operands)?;
                stack::grown(|| self.eval_pipe(dot, pipe))
            }
            Expr::Dot(_) | Expr::Nil(_) | Expr::Bool(..) | Expr::Number(_) | Expr::String(..) => {
                self.at = Some(NodeRef::Expr(word));
                self.refuse_operands(word, &operands)?;
                match word {
                    Expr::Dot(_) => Ok(dot.clone()),
                    Expr::Nil(_) => Err(self.fail("nil is not a command")),
                    literal => self.eval_literal(literal),
                }
            }
        }
    }

    fn refuse_operands(&self, word: &Expr, operands: &Operands<'t>) -> Result<(), BoxedError> {
        if operands.are_given() {
            return Err(self.fail(format!("can't give argument to non-function {}", NodeRef::Expr(word))));
        }
        Ok(())
    }

    fn eval_function(
        &mut self,
        dot: &Slot,
        word: &'t Expr,
        function: &'static Function,
        node: NodeRef<'t>,
        operands: Operands<'t>,
    ) -> Result<Slot, BoxedError> {
        self.at = Some(NodeRef::Expr(word));
        let callee = Callee {
            function,
            receiver: None,
        };
        self.eval_call(dot, callee, node, operands)
    }

    fn eval_field_node(
        &mut self,
        dot: &Slot,
        word: &'t Expr,
        names: &'t [Name],
        operands: Operands<'t>,
    ) -> Result<Slot, BoxedError> {
        self.at = Some(NodeRef::Expr(word));
        self.eval_fields(dot, dot, NodeRef::Expr(word), names, operands)
    }

    fn eval_chain(
        &mut self,
        dot: &Slot,
        word: &'t Expr,
        inner: &'t Expr,
        names: &'t [Name],
        operands: Operands<'t>,
    ) -> Result<Slot, BoxedError> {
        self.at = Some(NodeRef::Expr(word));
        if let Expr::Nil(_) = inner {
            return Err(self.fail(format!("indirection through explicit nil in {}", NodeRef::Expr(word))));
        }
        let receiver = self.eval_operand(dot, None, inner)?;
        self.eval_fields(dot, &receiver, NodeRef::Expr(word), names, operands)
    }

    fn eval_variable(
        &mut self,
        dot: &Slot,
        word: &'t Expr,
        variable: &'t Variable,
        operands: Operands<'t>,
    ) -> Result<Slot, BoxedError> {
        self.at = Some(NodeRef::Expr(word));
        let names = variable.names.tail(1);
        let value = self.var(name_of(&variable.names))?;
        if !operands.are_given()
            && let Some(field) = plain_fields(value, names)
        {
            self.small_steps(names.len())?;
            return Ok(field);
        }
        let value = value.clone();
        if names.is_empty() {
            self.refuse_operands(word, &operands)?;
            return Ok(value);
        }
        self.eval_fields(dot, &value, NodeRef::Expr(word), names, operands)
    }

    /// The value of an operand for a parameter of type `ty`; without one, of any type.
    pub(crate) fn eval_operand(
        &mut self,
        dot: &Slot,
        ty: Option<&'static Type>,
        operand: &'t Expr,
    ) -> Result<Slot, BoxedError> {
        self.at = Some(NodeRef::Expr(operand));
        let value = match operand {
            Expr::Dot(_) => dot.clone(),
            Expr::Field(_, names) => self.eval_field_node(dot, operand, names, Operands::none())?,
            Expr::Variable(variable) => self.eval_variable(dot, operand, variable, Operands::none())?,
            Expr::Pipe(pipe) => stack::grown(|| self.eval_pipe(dot, pipe))?,
            Expr::Identifier(_, function) => {
                self.eval_function(dot, operand, function, NodeRef::Expr(operand), Operands::none())?
            }
            Expr::Chain(_, inner, names) => self.eval_chain(dot, operand, inner, names, Operands::none())?,
            Expr::Nil(_) => {
                return match ty {
                    Some(ty) if ty.can_be_nil() => Ok(zero(ty)),
                    Some(ty) => Err(self.fail(format!("cannot assign nil to {ty}"))),
                    None => Ok(Slot::nothing()),
                };
            }
            Expr::Bool(..) | Expr::Number(_) | Expr::String(..) => {
                return match ty {
                    None => self.eval_literal(operand),
                    Some(ty) if ty.is_any() || matches!(ty, Type::Reflect) => self.eval_literal(operand),
                    Some(ty) => self.eval_typed_literal(ty, operand),
                };
            }
        };
        self.validate(value, ty)
    }

    /// A literal with the type that it has by itself.
    fn eval_literal(&self, literal: &Expr) -> Result<Slot, BoxedError> {
        match literal {
            Expr::Bool(_, truth) => Ok(Slot::of(Value::Bool(*truth))),
            Expr::String(_, literal) => Ok(Slot::of(literal.value.clone())),
            Expr::Number(number) => self.ideal_constant(number),
            _ => Ok(Slot::nothing()),
        }
    }

    fn ideal_constant(&self, number: &Number) -> Result<Slot, BoxedError> {
        if let Some((real, imaginary)) = number.complex {
            return Ok(Slot::of(Value::Complex(ComplexKind::Complex128, real, imaginary)));
        }
        if let Some(float) = number.float
            && is_written_as_float(&number.text)
        {
            return Ok(Slot::of(Value::float(float)));
        }
        if let Some(int) = number.int {
            return Ok(Slot::of(Value::int(int)));
        }
        if number.uint.is_some() {
            return Err(self.fail(format!("{} overflows int", number.text)));
        }
        Ok(Slot::nothing())
    }

    /// A literal with the type of a parameter.
    fn eval_typed_literal(&self, ty: &'static Type, literal: &Expr) -> Result<Slot, BoxedError> {
        let number = match literal {
            Expr::Number(number) => Some(number),
            _ => None,
        };
        let bare = ty.underlying();
        let (value, expected) = match bare.kind() {
            TypeKind::Bool => match literal {
                Expr::Bool(_, truth) => (Some(Value::Bool(*truth)), "bool"),
                _ => (None, "bool"),
            },
            TypeKind::String => match literal {
                Expr::String(_, literal) => (Some(literal.value.clone()), "string"),
                _ => (None, "string"),
            },
            TypeKind::Int => (
                number
                    .and_then(|number| number.int)
                    .and_then(|int| as_integer(&bare, i128::from(int))),
                "integer",
            ),
            TypeKind::Uint => (
                number
                    .and_then(|number| number.uint)
                    .and_then(|uint| as_integer(&bare, i128::from(uint))),
                "unsigned integer",
            ),
            TypeKind::Float => (
                number
                    .and_then(|number| number.float)
                    .and_then(|float| as_float(&bare, float)),
                "float",
            ),
            TypeKind::Complex => (
                number
                    .and_then(|number| number.complex)
                    .and_then(|complex| as_complex(&bare, complex)),
                "complex",
            ),
            _ => {
                let text = format!("can't handle {} for arg of type {ty}", NodeRef::Expr(literal));
                return Err(self.fail(text));
            }
        };
        match (value, ty) {
            (Some(value), Type::Named(named)) => Ok(Slot::of(Value::named(named, value))),
            (Some(value), _) => Ok(Slot::of(value)),
            (None, _) => Err(self.fail(format!("expected {expected}; found {}", NodeRef::Expr(literal)))),
        }
    }
}

/// Whether a literal has the syntax of a float: not `0x1e` nor `'.'`.
fn is_written_as_float(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has_power = || bytes.iter().any(|byte| matches!(byte, b'p' | b'P'));
    let is_hex = matches!(bytes, [b'0', b'x' | b'X', _, ..]) && !has_power();
    !is_hex
        && bytes.first() != Some(&b'\'')
        && bytes
            .iter()
            .any(|byte| matches!(byte, b'.' | b'e' | b'E' | b'p' | b'P'))
}
