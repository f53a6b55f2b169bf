//! Go's own functions: `and`, `call`, `eq`, `html`, `index`, `js`, `len`, `not`, `or`, `print`, `slice`, `urlquery` ….

use super::{compare, escape, index};
use crate::exec::host::Host;
use crate::print::sprint::{sprint, sprintf, sprintln};
use crate::value::failure::Failure;
use crate::value::go_type::{ANY, BOOL, INT, REFLECT, STRING};
use crate::value::model::{Args, Body, Function, Slot, Type, Value};
use crate::value::truth::truth;

/// The functions that every template has.
pub(crate) static BUILTINS: &[Function] = &[
    special("and", Body::Choice { decisive: false }),
    special("call", Body::Call),
    reflect("eq", &[&REFLECT, &REFLECT], &BOOL, compare::eq).variadic(),
    reflect("ge", &[&REFLECT, &REFLECT], &BOOL, compare::ge),
    reflect("gt", &[&REFLECT, &REFLECT], &BOOL, compare::gt),
    Function::new("html", &[&ANY], &STRING, escape::html).variadic(),
    reflect("index", &[&REFLECT, &REFLECT], &REFLECT, index::index).variadic(),
    Function::new("js", &[&ANY], &STRING, escape::js).variadic(),
    reflect("le", &[&REFLECT, &REFLECT], &BOOL, compare::le),
    reflect("len", &[&REFLECT], &INT, index::len),
    reflect("lt", &[&REFLECT, &REFLECT], &BOOL, compare::lt),
    reflect("ne", &[&REFLECT, &REFLECT], &BOOL, compare::ne),
    reflect("not", &[&REFLECT], &BOOL, not),
    special("or", Body::Choice { decisive: true }),
    Function::new("print", &[&ANY], &STRING, print).variadic(),
    Function::new("printf", &[&STRING, &ANY], &STRING, printf).variadic(),
    Function::new("println", &[&ANY], &STRING, println).variadic(),
    reflect("slice", &[&REFLECT, &REFLECT], &REFLECT, index::slice).variadic(),
    Function::new("urlquery", &[&ANY], &STRING, escape::url_query).variadic(),
];

/// The first argument, and any further ones.
static ONE_AND_MORE: [&Type; 2] = [&REFLECT, &REFLECT];

/// A function whose arguments are left to the evaluator.
const fn special(name: &'static str, body: Body) -> Function {
    Function {
        name,
        params: &ONE_AND_MORE,
        variadic: true,
        result: &REFLECT,
        body,
    }
}

const fn reflect(
    name: &'static str,
    params: &'static [&'static Type],
    result: &'static Type,
    body: fn(&mut Host<'_>, &[Slot]) -> Result<Slot, Failure>,
) -> Function {
    Function {
        name,
        params,
        variadic: false,
        result,
        body: Body::Reflect(body),
    }
}

fn not(_: &mut Host<'_>, arguments: &[Slot]) -> Result<Slot, Failure> {
    let is_true = arguments.first().is_some_and(|slot| truth(&slot.value));
    Ok(Slot::of(Value::Bool(!is_true)))
}

fn print(host: &mut Host<'_>, arguments: Args<'_>) -> Result<Value, Failure> {
    sprint(host, arguments.0).map(Value::text)
}

fn printf(host: &mut Host<'_>, arguments: Args<'_>) -> Result<Value, Failure> {
    sprintf(host, arguments.text(0)?, arguments.rest(1)).map(Value::text)
}

fn println(host: &mut Host<'_>, arguments: Args<'_>) -> Result<Value, Failure> {
    sprintln(host, arguments.0).map(Value::text)
}
