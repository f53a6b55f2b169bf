//! The functions that expressions can call, with their argument and result types.
//!
//! The standard functions of CEL, optional values, and the extensions for strings, sets and
//! encodings, as fluxcd/pkg/runtime/cel puts them together (cel-go's `stdlib`,
//! `OptionalTypes`, `ext.Strings`, `ext.Sets`, `ext.Encoders`).

use super::typing::Typing;

/// A type in the table; `A` and `B` stand for any type, the same one throughout an overload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum T {
    A,
    B,
    Dyn,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    TypeOf(&'static T),
    List(&'static T),
    Map(&'static T, &'static T),
    Optional(&'static T),
}

/// An overload of a function. The target of a member function is its first argument.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    pub member: bool,
    pub arguments: &'static [T],
    pub result: T,
}

/// The trait that the left operand of an operator must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    Add,
    Compare,
    Divide,
    Match,
    Modulo,
    Multiply,
    Negate,
    Size,
    Subtract,
}

/// How a call is dispatched to an implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// One implementation for all values that have the trait.
    Single { arguments: usize, needs: Option<Ability> },
    /// By the types of the values, which must match an overload.
    Overloads,
    /// One implementation that checks its values itself.
    Unguarded { arguments: usize },
    /// Not as a function: the planner handles it.
    Planned,
}

/// A function of the environment with its overloads.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    pub name: &'static str,
    pub overloads: &'static [Overload],
    pub binding: Binding,
}

impl Function {
    /// The only number of arguments that it can be planned with; `None` when any number can.
    pub(crate) fn fixed_arguments(&self) -> Option<usize> {
        match (self.binding, self.overloads) {
            (Binding::Single { arguments, .. } | Binding::Unguarded { arguments }, _) => Some(arguments),
            (_, [only]) if !matches!(self.name, "format" | "optional.none") => Some(only.arguments.len()),
            _ => None,
        }
    }
}

const fn function(arguments: &'static [T], result: T) -> Overload {
    Overload {
        member: false,
        arguments,
        result,
    }
}

const fn member(arguments: &'static [T], result: T) -> Overload {
    Overload {
        member: true,
        arguments,
        result,
    }
}

const fn single(arguments: usize) -> Binding {
    Binding::Single { arguments, needs: None }
}

const fn able(arguments: usize, needs: Ability) -> Binding {
    Binding::Single {
        arguments,
        needs: Some(needs),
    }
}

const fn row(name: &'static str, binding: Binding, overloads: &'static [Overload]) -> Function {
    Function {
        name,
        overloads,
        binding,
    }
}

use T::{A, B, Bool, Bytes, Double, Duration, Dyn, Int, List, Map, Optional, String as Text, Timestamp, TypeOf, Uint};

const LIST: T = List(&A);
const MAP: T = Map(&A, &B);
const SOME: T = Optional(&A);
const TEXTS: T = List(&Text);

const ORDER: &[Overload] = &[
    function(&[Bool, Bool], Bool),
    function(&[Int, Int], Bool),
    function(&[Int, Double], Bool),
    function(&[Int, Uint], Bool),
    function(&[Uint, Uint], Bool),
    function(&[Uint, Double], Bool),
    function(&[Uint, Int], Bool),
    function(&[Double, Double], Bool),
    function(&[Double, Int], Bool),
    function(&[Double, Uint], Bool),
    function(&[Text, Text], Bool),
    function(&[Bytes, Bytes], Bool),
    function(&[Timestamp, Timestamp], Bool),
    function(&[Duration, Duration], Bool),
];

const OF_DATE: &[Overload] = &[member(&[Timestamp], Int), member(&[Timestamp, Text], Int)];
const OF_TIME: &[Overload] = &[
    member(&[Timestamp], Int),
    member(&[Timestamp, Text], Int),
    member(&[Duration], Int),
];
const OF_SETS: &[Overload] = &[function(&[LIST, LIST], Bool)];
const TEXT_IN_TEXT: &[Overload] = &[member(&[Text, Text], Bool)];
const PLACE: &[Overload] = &[member(&[Text, Text], Int), member(&[Text, Text, Int], Int)];
const END_OF_LIST: &[Overload] = &[member(&[LIST], SOME)];

const FUNCTIONS: &[Function] = &[
    row("_?_:_", Binding::Planned, &[function(&[Bool, A, A], A)]),
    row("_&&_", Binding::Planned, &[function(&[Bool, Bool], Bool)]),
    row("_||_", Binding::Planned, &[function(&[Bool, Bool], Bool)]),
    row("!_", single(1), &[function(&[Bool], Bool)]),
    row("@not_strictly_false", Binding::Planned, &[function(&[Bool], Bool)]),
    row("_==_", Binding::Planned, &[function(&[A, A], Bool)]),
    row("_!=_", Binding::Planned, &[function(&[A, A], Bool)]),
    row(
        "_+_",
        able(2, Ability::Add),
        &[
            function(&[Bytes, Bytes], Bytes),
            function(&[Double, Double], Double),
            function(&[Duration, Duration], Duration),
            function(&[Duration, Timestamp], Timestamp),
            function(&[Timestamp, Duration], Timestamp),
            function(&[Int, Int], Int),
            function(&[LIST, LIST], LIST),
            function(&[Text, Text], Text),
            function(&[Uint, Uint], Uint),
        ],
    ),
    row(
        "_/_",
        able(2, Ability::Divide),
        &[
            function(&[Double, Double], Double),
            function(&[Int, Int], Int),
            function(&[Uint, Uint], Uint),
        ],
    ),
    row(
        "_%_",
        able(2, Ability::Modulo),
        &[function(&[Int, Int], Int), function(&[Uint, Uint], Uint)],
    ),
    row(
        "_*_",
        able(2, Ability::Multiply),
        &[
            function(&[Double, Double], Double),
            function(&[Int, Int], Int),
            function(&[Uint, Uint], Uint),
        ],
    ),
    row(
        "-_",
        able(1, Ability::Negate),
        &[function(&[Double], Double), function(&[Int], Int)],
    ),
    row(
        "_-_",
        able(2, Ability::Subtract),
        &[
            function(&[Double, Double], Double),
            function(&[Duration, Duration], Duration),
            function(&[Int, Int], Int),
            function(&[Timestamp, Duration], Timestamp),
            function(&[Timestamp, Timestamp], Duration),
            function(&[Uint, Uint], Uint),
        ],
    ),
    row("_<_", able(2, Ability::Compare), ORDER),
    row("_<=_", able(2, Ability::Compare), ORDER),
    row("_>_", able(2, Ability::Compare), ORDER),
    row("_>=_", able(2, Ability::Compare), ORDER),
    row(
        "_[_]",
        Binding::Planned,
        &[
            function(&[LIST, Int], A),
            function(&[MAP, A], B),
            function(&[Optional(&LIST), Int], SOME),
            function(&[Optional(&MAP), A], Optional(&B)),
        ],
    ),
    row(
        "_[?_]",
        Binding::Planned,
        &[
            function(&[LIST, Int], SOME),
            function(&[Optional(&LIST), Int], SOME),
            function(&[MAP, A], Optional(&B)),
            function(&[Optional(&MAP), A], Optional(&B)),
        ],
    ),
    row(
        "@in",
        single(2),
        &[function(&[A, LIST], Bool), function(&[A, MAP], Bool)],
    ),
    row(
        "size",
        able(1, Ability::Size),
        &[
            function(&[Bytes], Int),
            member(&[Bytes], Int),
            function(&[LIST], Int),
            member(&[LIST], Int),
            function(&[MAP], Int),
            member(&[MAP], Int),
            function(&[Text], Int),
            member(&[Text], Int),
        ],
    ),
    row("type", single(1), &[function(&[A], TypeOf(&A))]),
    row("dyn", single(1), &[function(&[A], Dyn)]),
    row(
        "bool",
        Binding::Overloads,
        &[function(&[Bool], Bool), function(&[Text], Bool)],
    ),
    row(
        "bytes",
        Binding::Overloads,
        &[function(&[Bytes], Bytes), function(&[Text], Bytes)],
    ),
    row(
        "double",
        Binding::Overloads,
        &[
            function(&[Double], Double),
            function(&[Int], Double),
            function(&[Text], Double),
            function(&[Uint], Double),
        ],
    ),
    row(
        "duration",
        Binding::Overloads,
        &[
            function(&[Duration], Duration),
            function(&[Int], Duration),
            function(&[Text], Duration),
        ],
    ),
    row(
        "int",
        Binding::Overloads,
        &[
            function(&[Int], Int),
            function(&[Double], Int),
            function(&[Duration], Int),
            function(&[Text], Int),
            function(&[Timestamp], Int),
            function(&[Uint], Int),
        ],
    ),
    row(
        "string",
        Binding::Overloads,
        &[
            function(&[Text], Text),
            function(&[Bool], Text),
            function(&[Bytes], Text),
            function(&[Double], Text),
            function(&[Duration], Text),
            function(&[Int], Text),
            function(&[Timestamp], Text),
            function(&[Uint], Text),
        ],
    ),
    row(
        "timestamp",
        Binding::Overloads,
        &[
            function(&[Timestamp], Timestamp),
            function(&[Int], Timestamp),
            function(&[Text], Timestamp),
        ],
    ),
    row(
        "uint",
        Binding::Overloads,
        &[
            function(&[Uint], Uint),
            function(&[Double], Uint),
            function(&[Int], Uint),
            function(&[Text], Uint),
        ],
    ),
    row("contains", Binding::Unguarded { arguments: 2 }, TEXT_IN_TEXT),
    row("endsWith", Binding::Unguarded { arguments: 2 }, TEXT_IN_TEXT),
    row("startsWith", Binding::Unguarded { arguments: 2 }, TEXT_IN_TEXT),
    row(
        "matches",
        able(2, Ability::Match),
        &[function(&[Text, Text], Bool), member(&[Text, Text], Bool)],
    ),
    row("getFullYear", Binding::Overloads, OF_DATE),
    row("getMonth", Binding::Overloads, OF_DATE),
    row("getDayOfYear", Binding::Overloads, OF_DATE),
    row("getDayOfMonth", Binding::Overloads, OF_DATE),
    row("getDate", Binding::Overloads, OF_DATE),
    row("getDayOfWeek", Binding::Overloads, OF_DATE),
    row("getHours", Binding::Overloads, OF_TIME),
    row("getMinutes", Binding::Overloads, OF_TIME),
    row("getSeconds", Binding::Overloads, OF_TIME),
    row("getMilliseconds", Binding::Overloads, OF_TIME),
    // Optional values.
    row("optional.of", Binding::Overloads, &[function(&[A], SOME)]),
    row("optional.ofNonZeroValue", Binding::Overloads, &[function(&[A], SOME)]),
    row("optional.none", Binding::Overloads, &[function(&[], SOME)]),
    row("value", Binding::Overloads, &[member(&[SOME], A)]),
    row("hasValue", Binding::Overloads, &[member(&[SOME], Bool)]),
    row("or", Binding::Planned, &[member(&[SOME, SOME], SOME)]),
    row("orValue", Binding::Planned, &[member(&[SOME, A], A)]),
    row("_?._", Binding::Planned, &[function(&[Dyn, Text], SOME)]),
    row("last", Binding::Overloads, END_OF_LIST),
    row("first", Binding::Overloads, END_OF_LIST),
    row("optional.unwrap", Binding::Overloads, &[function(&[List(&SOME)], LIST)]),
    row("unwrapOpt", Binding::Overloads, &[member(&[List(&SOME)], LIST)]),
    // Strings.
    row("charAt", Binding::Overloads, &[member(&[Text, Int], Text)]),
    row("indexOf", Binding::Overloads, PLACE),
    row("lastIndexOf", Binding::Overloads, PLACE),
    row("lowerAscii", Binding::Overloads, &[member(&[Text], Text)]),
    row(
        "replace",
        Binding::Overloads,
        &[
            member(&[Text, Text, Text], Text),
            member(&[Text, Text, Text, Int], Text),
        ],
    ),
    row(
        "split",
        Binding::Overloads,
        &[member(&[Text, Text], TEXTS), member(&[Text, Text, Int], TEXTS)],
    ),
    row(
        "substring",
        Binding::Overloads,
        &[member(&[Text, Int], Text), member(&[Text, Int, Int], Text)],
    ),
    row("trim", Binding::Overloads, &[member(&[Text], Text)]),
    row("upperAscii", Binding::Overloads, &[member(&[Text], Text)]),
    row("format", Binding::Overloads, &[member(&[Text, List(&Dyn)], Text)]),
    row("strings.quote", Binding::Overloads, &[function(&[Text], Text)]),
    row(
        "join",
        Binding::Overloads,
        &[member(&[TEXTS], Text), member(&[TEXTS, Text], Text)],
    ),
    row("reverse", Binding::Overloads, &[member(&[Text], Text)]),
    // Sets and encodings.
    row("sets.contains", Binding::Overloads, OF_SETS),
    row("sets.equivalent", Binding::Overloads, OF_SETS),
    row("sets.intersects", Binding::Overloads, OF_SETS),
    row("base64.decode", Binding::Overloads, &[function(&[Text], Bytes)]),
    row("base64.encode", Binding::Overloads, &[function(&[Bytes], Text)]),
];

/// The function of a name; a leading dot is ignored.
pub fn find(name: &str) -> Option<&'static Function> {
    let name = name.strip_prefix('.').unwrap_or(name);
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// The names of types in expressions.
pub const TYPE_NAMES: [&str; 13] = [
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "list",
    "map",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
];

/// The type of a name.
pub(crate) fn named_type(name: &str) -> Option<Typing> {
    let name = name.strip_prefix('.').unwrap_or(name);
    Some(match name {
        "bool" => Typing::Bool,
        "bytes" => Typing::Bytes,
        "double" => Typing::Double,
        "google.protobuf.Duration" => Typing::Duration,
        "google.protobuf.Timestamp" => Typing::Timestamp,
        "int" => Typing::Int,
        "list" => Typing::list(Typing::Named("A")),
        "map" => Typing::map(Typing::Named("A"), Typing::Named("B")),
        "null_type" => Typing::Null,
        "optional_type" => Typing::Optional(None),
        "string" => Typing::String,
        "type" => Typing::Type(None),
        "uint" => Typing::Uint,
        _ => return None,
    })
}
