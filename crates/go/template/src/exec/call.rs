//! Calls functions and methods: counts operands and converts them to parameters.

use super::run::{BoxedError, Exec, Operands};
use crate::parse::node::NodeRef;
use crate::value::convert::{is_assignable, zero};
use crate::value::error::{Cause, Stage};
use crate::value::failure::Failure;
use crate::value::model::{Args, Body, Function, Nested, Pointer, Slot, Type, Value};
use crate::value::truth::truth;
use bumpwright_text::Parts;

/// A function, or a method with its receiver.
pub(crate) struct Callee {
    pub(crate) function: &'static Function,
    /// For a method the receiver, or the panic of the call.
    pub(crate) receiver: Option<Result<Value, Failure>>,
}

impl<'t> Exec<'t, '_, '_> {
    /// Calls a function or method at `node`.
    pub(crate) fn eval_call(
        &mut self,
        dot: &Slot,
        callee: Callee,
        node: NodeRef<'t>,
        operands: Operands<'t>,
    ) -> Result<Slot, BoxedError> {
        let function = callee.function;
        self.check_count(function, &operands)?;
        let result = match function.body {
            Body::Plain(body) => {
                let base = self.values.len();
                let receiver = match callee.receiver {
                    None => Ok(()),
                    Some(Ok(receiver)) => {
                        self.values.push(receiver);
                        Ok(())
                    }
                    Some(Err(panic)) => Err(panic),
                };
                self.eval_arguments(dot, function, operands, |exec, slot| exec.values.push(slot.value))?;
                let arguments = self.values.tail(base);
                let result = receiver
                    .and_then(|()| arguments.iter().try_for_each(|argument| self.host.read(argument)))
                    .and_then(|()| body(self.host, Args(arguments)));
                self.values.truncate(base);
                result.map(|value| Slot::in_place(value, function.result, false))
            }
            Body::Reflect(body) => {
                let base = self.slots.len();
                self.eval_arguments(dot, function, operands, |exec, slot| exec.slots.push(slot))?;
                let arguments = self.slots.tail(base);
                let result = arguments
                    .iter()
                    .try_for_each(|argument| self.host.read(&argument.value))
                    .and_then(|()| body(self.host, arguments));
                self.slots.truncate(base);
                result
            }
            Body::Nested(body) => {
                let base = self.values.len();
                self.eval_arguments(dot, function, operands, |exec, slot| exec.values.push(slot.value))?;
                let arguments = self.values.tail(base);
                let result = body(&mut Nested::new(self.host, self.set), Args(arguments));
                self.values.truncate(base);
                result.map(|value| Slot::in_place(value, function.result, false))
            }
            Body::Uncallable(why) => return Err(self.fail(why)),
            Body::Choice { decisive } => return self.eval_choice(dot, function, operands, decisive),
            Body::Call => self.eval_callee(dot, function, operands)?,
        };
        // The result is counted in addition to what the function has counted itself.
        let result = result.and_then(|slot| {
            if let Value::String(text) = &slot.value {
                self.host.produce(text.len())?;
            }
            Ok(slot)
        });
        result.map_err(|failure| {
            self.at = Some(node);
            let called = |text: &str, cause: Cause| {
                let mut error = self.fail(format!("error calling {}: {text}", function.name));
                error.cause = Some(cause);
                error
            };
            match failure {
                Failure::Error(text) => called(&text, Cause::Function),
                Failure::Limit(text) => self.limit(text),
                Failure::Template(inner) if inner.stage == Stage::Limit => inner,
                Failure::Template(inner) => called(&inner.text.clone(), Cause::Template(inner)),
            }
        })
    }

    fn check_count(&self, function: &Function, operands: &Operands<'t>) -> Result<(), BoxedError> {
        let given = operands.rest.len() + usize::from(operands.last.is_some());
        let wanted = function.params.len();
        let name = function.name;
        if function.variadic {
            let least = wanted.saturating_sub(1);
            if given < least {
                // Go does not include the pipeline's value in this count.
                let given = operands.rest.len();
                return Err(self.fail(format!(
                    "wrong number of args for {name}: want at least {least} got {given}"
                )));
            }
        } else if given != wanted {
            return Err(self.fail(format!("wrong number of args for {name}: want {wanted} got {given}")));
        }
        Ok(())
    }

    fn eval_arguments(
        &mut self,
        dot: &Slot,
        function: &'static Function,
        operands: Operands<'t>,
        push: impl Fn(&mut Self, Slot),
    ) -> Result<(), BoxedError> {
        let mut params = function.params.iter().copied();
        let mut param = None;
        let mut next = || {
            param = params.next().or(if function.variadic { param } else { None });
            param
        };
        for operand in operands.rest {
            let value = self.eval_operand(dot, next(), operand)?;
            push(self, value);
        }
        if let Some(last) = operands.last {
            let value = self.validate(last, next())?;
            push(self, value);
        }
        Ok(())
    }

    /// `and`, `or`: the first operand whose truth is decisive, or else the last one. The others are not evaluated.
    fn eval_choice(
        &mut self,
        dot: &Slot,
        function: &'static Function,
        operands: Operands<'t>,
        decisive: bool,
    ) -> Result<Slot, BoxedError> {
        let ty = function.params.first().copied();
        let mut value = Slot::nothing();
        for operand in operands.rest {
            value = self.eval_operand(dot, ty, operand)?;
            if truth(&value.value) == decisive {
                return Ok(value);
            }
        }
        Ok(operands.last.unwrap_or(value))
    }

    /// `call`: no value can be called here, so it always fails.
    fn eval_callee(
        &mut self,
        dot: &Slot,
        function: &'static Function,
        operands: Operands<'t>,
    ) -> Result<Result<Slot, Failure>, BoxedError> {
        let name = match (operands.rest.first(), &operands.last) {
            (Some(first), _) => NodeRef::Expr(first).to_string(),
            (None, Some(last)) => match &last.value {
                Value::String(text) => text.lossy().into_owned(),
                _ if last.is_valid() => format!("<{} Value>", last.type_name()),
                _ => "<invalid Value>".to_owned(),
            },
            (None, None) => String::new(),
        };
        let base = self.slots.len();
        self.eval_arguments(dot, function, operands, |exec, slot| exec.slots.push(slot))?;
        let ty = self.slots.get(base).and_then(|slot| slot.value.type_of());
        self.slots.truncate(base);
        Ok(Err(Failure::new(match ty {
            None => "call of nil".to_owned(),
            Some(ty) => format!("non-function {name} of type {ty}"),
        })))
    }

    /// A value converted for a parameter of type `ty`, by one step to or from a pointer if need be.
    pub(crate) fn validate(&self, slot: Slot, ty: Option<&'static Type>) -> Result<Slot, BoxedError> {
        let Some(ty) = ty else { return Ok(slot) };
        if matches!(ty, Type::Reflect) {
            return Ok(slot);
        }
        let Some(from) = slot.type_of() else {
            return if ty.can_be_nil() {
                Ok(zero(ty))
            } else {
                Err(self.fail(format!("invalid value; expected {ty}")))
            };
        };
        if is_assignable(&from, ty) {
            return Ok(slot);
        }
        let slot = match slot.interface {
            Some(_) if !matches!(slot.value, Value::Nil) => Slot::of(slot.value),
            _ => slot,
        };
        let Some(from) = slot.type_of() else { return Ok(slot) };
        if is_assignable(&from, ty) {
            return Ok(slot);
        }
        if let (None, Value::Pointer(pointer)) = (slot.interface, &slot.value)
            && is_assignable(pointer.to, ty)
        {
            return match &pointer.target {
                Some(target) => Ok(Slot::in_place((**target).clone(), pointer.to, true)),
                None => Err(self.fail(format!("dereference of nil pointer of type {ty}"))),
            };
        }
        if let Type::Pointer(to) = ty
            && slot.addressable
            && from == **to
        {
            return Ok(Slot::of(Value::Pointer(Pointer::new(to, slot.value))));
        }
        Err(self.fail(format!("wrong type for value; expected {ty}; got {from}")))
    }
}
