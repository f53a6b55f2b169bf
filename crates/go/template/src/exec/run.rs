//! Executes a template: walks its nodes and writes the output.
//!
//! An [`Exec`] keeps the current node ([`Exec::at`]) for error texts, which quote it; the node is printed only on an
//! error. Go sets the current node at certain steps only, and so does this.

use super::host::Host;
use super::set::Templates;
use super::stack;
use crate::builtin::functions::Functions;
use crate::parse::node::{Branch, Expr, List, Name, Node, NodeRef, TemplateCall};
use crate::parse::trees::Source;
use crate::value::error::{Error, Missing, MissingKind};
use crate::value::model::{Slot, Value};
use crate::value::truth::truth;
use bumpwright_gostd::quote;

/// A parsed template with the templates that it defines.
#[derive(Debug)]
pub struct Template {
    name: String,
    set: Templates<'static>,
}

pub(crate) type BoxedError = Box<Error>;

/// One execution of a template, or of one that it calls.
pub(crate) struct Exec<'t, 'h, 'w> {
    pub(crate) set: &'t Templates<'t>,
    /// The text that the running template is from.
    pub(crate) source: &'t Source,
    /// The name of the running template, which `{{template}}` changes.
    pub(crate) name: &'t str,
    pub(crate) host: &'h mut Host<'w>,
    pub(crate) out: &'h mut Vec<u8>,
    pub(crate) at: Option<NodeRef<'t>>,
    /// Variables in scope, innermost last.
    pub(crate) vars: Vec<(&'t str, Slot)>,
    /// The depth of template calls.
    depth: usize,
    /// Arguments of the calls in progress, innermost last.
    pub(crate) values: Vec<Value>,
    pub(crate) slots: Vec<Slot>,
}

/// The operands of a function or method, besides its receiver.
pub(crate) struct Operands<'t> {
    /// The arguments after its name.
    pub(crate) rest: &'t [Expr],
    /// The value of the pipeline so far.
    pub(crate) last: Option<Slot>,
}

/// How a list of nodes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    Break,
    Continue,
}

/// The number of variables, operands or fields that are visited in the time of one step. A template can hold very many
/// of them, and visit them in a loop.
pub(crate) const SMALL_PER_STEP: usize = 32;

impl Template {
    /// Parses a template. The name is used in errors.
    ///
    /// # Errors
    /// The text is not a template: Go's error.
    pub fn parse(name: &str, text: &str, functions: &Functions) -> Result<Self, Error> {
        Ok(Self {
            name: name.to_owned(),
            set: Templates::of_one(name, text, functions)?,
        })
    }

    /// Renders the template with `data` as its dot.
    ///
    /// # Errors
    /// Go's error when the template does not fit the data or a function fails, and one of our own when a limit of the
    /// host is reached. It holds the output before the error.
    pub fn execute(&self, data: &Slot, host: &mut Host<'_>) -> Result<Vec<u8>, Error> {
        self.set.execute(&self.name, data, host)
    }
}

/// Executes the template `name` of a set.
pub(crate) fn run(
    set: &Templates<'_>,
    name: &str,
    data: &Slot,
    host: &mut Host<'_>,
    out: &mut Vec<u8>,
) -> Result<(), BoxedError> {
    let Some((name, tree)) = set.find(name) else {
        return Err(set.unknown(name));
    };
    let mut exec = Exec {
        set,
        source: &tree.source,
        name,
        host,
        out,
        at: None,
        vars: vec![("$", data.clone())],
        depth: 0,
        values: Vec::new(),
        slots: Vec::new(),
    };
    exec.walk_list(data, &tree.root).map(drop)
}

impl<'t> Operands<'t> {
    pub(crate) fn none() -> Self {
        Self { rest: &[], last: None }
    }

    pub(crate) fn are_given(&self) -> bool {
        !self.rest.is_empty() || self.last.is_some()
    }
}

impl<'t> Exec<'t, '_, '_> {
    pub(crate) fn walk_list(&mut self, dot: &Slot, list: &'t List) -> Result<Flow, BoxedError> {
        for node in &list.nodes {
            self.at = Some(NodeRef::Node(node));
            self.step(1)?;
            let flow = match node {
                Node::Text(_, text) => {
                    self.out.extend_from_slice(text);
                    self.check_output()?;
                    Flow::Next
                }
                Node::Action(_, pipe) => {
                    // Variables that an action declares stay until the end of the list's owner.
                    let value = self.eval_pipe(dot, pipe)?;
                    if pipe.decl.is_empty() {
                        self.at = Some(NodeRef::Node(node));
                        self.print(&value)?;
                    }
                    Flow::Next
                }
                Node::If(branch) => stack::grown(|| self.walk_choice(dot, branch, false))?,
                Node::With(branch) => stack::grown(|| self.walk_choice(dot, branch, true))?,
                Node::Range(branch) => stack::grown(|| self.walk_range(dot, branch))?,
                Node::Template(call) => {
                    self.walk_template(dot, call)?;
                    Flow::Next
                }
                Node::Break(_) => Flow::Break,
                Node::Continue(_) => Flow::Continue,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn walk_choice(&mut self, dot: &Slot, branch: &'t Branch, sets_dot: bool) -> Result<Flow, BoxedError> {
        let mark = self.vars.len();
        let value = self.eval_pipe(dot, &branch.pipe)?;
        let flow = if truth(&value.value) {
            self.walk_list(if sets_dot { &value } else { dot }, &branch.list)?
        } else if let Some(list) = &branch.else_list {
            self.walk_list(dot, list)?
        } else {
            Flow::Next
        };
        self.vars.truncate(mark);
        Ok(flow)
    }

    fn walk_template(&mut self, dot: &Slot, call: &'t TemplateCall) -> Result<(), BoxedError> {
        let Some((name, tree)) = self.set.find(&call.name) else {
            let names = self.set.names();
            let missing = Missing {
                name: call.name.clone(),
                known: names,
                what: MissingKind::Template,
            };
            let text = format!("template {} not defined", quote(&call.name));
            return Err(self.fail_missing(text, missing));
        };
        let most = self.host.limits().depth;
        if self.depth >= most {
            return Err(self.limit(format!("exceeded maximum template depth ({most})")));
        }
        let dot = match &call.pipe {
            Some(pipe) => self.eval_pipe(dot, pipe)?,
            None => Slot::nothing(),
        };
        let mut inner = Exec {
            set: self.set,
            source: &tree.source,
            name,
            host: self.host,
            out: self.out,
            at: self.at,
            vars: vec![("$", dot.clone())],
            depth: self.depth + 1,
            values: Vec::new(),
            slots: Vec::new(),
        };
        // Go ends endless recursion of templates in words of its own, so this does not go through `Host::deeper`.
        stack::grown(|| inner.walk_list(&dot, &tree.root)).map(drop)
    }

    pub(crate) fn check_output(&mut self) -> Result<(), BoxedError> {
        let most = self.host.limits().output;
        if self.out.len() > most {
            return Err(self.limit(format!("the template writes more than {most} bytes")));
        }
        Ok(())
    }

    pub(crate) fn declare_var(&mut self, name: &'t str, value: Slot) {
        self.vars.push((name, value));
    }

    /// Sets the innermost variable of that name.
    pub(crate) fn set_var(&mut self, name: &str, value: Slot) -> Result<(), BoxedError> {
        let index = self.find_var(name)?;
        if let Some((_, slot)) = self.vars.get_mut(index) {
            *slot = value;
        }
        Ok(())
    }

    /// The value of the innermost variable of that name.
    pub(crate) fn var(&mut self, name: &str) -> Result<&Slot, BoxedError> {
        let index = self.find_var(name)?;
        match self.vars.get(index) {
            Some((_, slot)) => Ok(slot),
            None => Err(self.undefined(name)),
        }
    }

    /// The position of the innermost variable of that name.
    fn find_var(&mut self, name: &str) -> Result<usize, BoxedError> {
        let Some(index) = self.vars.iter().rposition(|(known, _)| *known == name) else {
            return Err(self.undefined(name));
        };
        let passed = self.vars.len() - index;
        self.small_steps(passed)?;
        Ok(index)
    }

    fn undefined(&self, name: &str) -> BoxedError {
        let mut names: Vec<String> = self.vars.iter().map(|(name, _)| (*name).to_owned()).collect();
        names.sort();
        names.dedup();
        let missing = Missing {
            name: name.to_owned(),
            known: names,
            what: MissingKind::Variable,
        };
        self.fail_missing(format!("undefined variable: {name}"), missing)
    }
}

/// The name of a variable, the first of its `names`.
pub(crate) fn name_of(names: &[Name]) -> &str {
    names.first().map_or("", Name::text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::exec::host::NoWorld;
    use crate::{
        ANY, Field, Function, INT, LIST, Limits, Map, Method, Pointer, STRING, Slice, Stage, Struct, StructType, Type,
    };
    use bumpwright_gostd::lossy;

    static NOTE: StructType = StructType {
        name: "p.Note",
        fields: &[Field::new("Text", &STRING), Field::new("hidden", &INT)],
        methods: &[Method {
            pointer: true,
            function: Function::new("String", &[], &STRING, |_, _| Ok("a note".into())),
        }],
    };
    static NOTE_TYPE: Type = Type::Struct(&NOTE);
    static LIST_OF: &[Function] =
        &[Function::new("list", &[&ANY], &LIST, |_, args| Ok(Value::list(args.0.to_vec()))).variadic()];

    fn data() -> Slot {
        let note = Value::Struct(Struct::new(&NOTE, vec!["text".into(), Value::int(1)]));
        Slot::of(Value::dict([
            ("one", Value::int(1)),
            ("nil", Value::Nil),
            ("list", Value::strings(["x", "y", "z"])),
            ("note", note.clone()),
            ("notes", Value::Slice(Slice::new(&NOTE_TYPE, vec![note.clone()]))),
            ("to", Value::Pointer(Pointer::new(&NOTE_TYPE, note))),
            (
                "keys",
                Value::Map(Map::new(
                    &INT,
                    &STRING,
                    [(Value::int(2), "b".into()), (Value::int(1), "a".into())],
                )),
            ),
        ]))
    }

    fn run(text: &str, limits: Limits) -> Result<String, Error> {
        let template = Template::parse("t", text, &Functions::new(&[LIST_OF]))?;
        let out = template.execute(&data(), &mut Host::new(limits, &NoWorld))?;
        Ok(lossy(&out).into_owned())
    }

    #[test]
    fn renders_as_go_does() {
        for (text, expected) in [
            (
                "{{range $i, $e := .list}}{{if eq $i 1}}{{continue}}{{end}}{{$i}}{{$e}}{{end}}",
                "0x2z",
            ),
            (
                "{{range .list}}{{range list}}{{else}}{{break}}{{end}}{{.}}{{end}}",
                "xyz",
            ),
            (
                "{{range $k, $v := .keys}}{{$k}}{{$v}}{{end}}{{range 2}}{{.}}{{end}}",
                "1a2b01",
            ),
            ("{{$x := 1}}{{with $x := 2}}{{$x = 3}}{{$x}}{{end}}{{$x}}", "31"),
            (
                "{{define \"d\"}}<{{.}}>{{end}}{{template \"d\" .one}}{{template \"d\"}}",
                "<1><<no value>>",
            ),
            (
                "{{.missing}} {{.nil}} {{print .nil}} {{.missing.more}}",
                "<no value> <no value> <nil> <no value>",
            ),
            (
                "{{.note}} {{range .notes}}{{.}}{{end}} {{.to}} {{.to.Text}}",
                "{text 1} a note a note text",
            ),
            ("{{and 0 (index .list 9)}} {{or 0 .one}} {{1 | and 2}}", "0 1 1"),
            (
                "{{index .keys 1}}{{index .list 2}} {{slice \"abcd\" 1 3}}{{slice .list 1}}",
                "az bc[y z]",
            ),
        ] {
            assert_eq!(run(text, Limits::default()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn errors_are_those_of_go() {
        for (text, expected) in [
            (
                "a\n{{.one.two}}",
                "2:6: executing \"t\" at <.one.two>: can't evaluate field two in type interface {}",
            ),
            (
                "{{.nil.x}}",
                "1:6: executing \"t\" at <.nil.x>: nil pointer evaluating interface {}.x",
            ),
            (
                "{{.note.hidden}}",
                "1:7: executing \"t\" at <.note.hidden>: hidden is an unexported field of struct type interface {}",
            ),
            (
                "{{slice .list .one}}",
                "1:2: executing \"t\" at <slice .list .one>: error calling slice: cannot index slice/array with type interface {}",
            ),
            (
                "{{printf .one}}",
                "1:9: executing \"t\" at <.one>: wrong type for value; expected string; got int",
            ),
            (
                "{{define \"%d\"}}{{len 1}}{{end}}{{template \"%d\"}}",
                "1:17: executing \"%d\" at <len 1>: error calling len: len of type int",
            ),
            (
                "{{1 | lt 1 2}}",
                "1:6: executing \"t\" at <lt>: wrong number of args for lt: want 2 got 3",
            ),
            (
                "{{range .one}}{{end}}{{range .to}}{{end}}",
                "1:29: executing \"t\" at <.to>: range can't iterate over {text 1}",
            ),
        ] {
            let error = run(text, Limits::default()).unwrap_err();
            assert_eq!(error.text, format!("template: t:{expected}"), "{text}");
            assert_eq!(error.stage, Stage::Exec);
        }
    }

    #[test]
    fn errors_know_more_than_their_text() {
        let error = run("é\nö{{.to.Txt}}", Limits::default()).unwrap_err();
        assert_eq!((error.place.line, error.place.column), (2, 7));
        assert_eq!(error.partial, "é\nö".as_bytes());
        let missing = error.missing.unwrap();
        assert_eq!((missing.name.as_str(), missing.what), ("Txt", MissingKind::Field));
        assert_eq!(missing.known, ["Text", "String"]);
        let missing = run("{{define \"a\"}}x{{end}}{{template \"b\"}}", Limits::default())
            .unwrap_err()
            .missing;
        assert_eq!(missing.unwrap().known, ["a", "t"]);
    }

    #[test]
    fn hostile_templates_end_in_limits() {
        let limits = Limits {
            steps: 100_000,
            output: 1000,
            produced: 100_000,
            depth: 50,
        };
        for (text, expected) in [
            (
                "{{range 9223372036854775807}}{{end}}",
                "at <9223372036854775807>: the template takes more than 100000 steps",
            ),
            (
                "{{range 10000}}123{{end}}",
                "at <123>: the template writes more than 1000 bytes",
            ),
            (
                "{{template \"t\" .}}",
                "at <{{template \"t\" .}}>: exceeded maximum template depth (50)",
            ),
            (
                "{{$x := \"12345678\"}}{{range 90}}{{$x = print $x $x}}{{end}}",
                "creates more than 100000 bytes of values",
            ),
            (
                "{{$x := list 1}}{{range 90}}{{$x = list $x $x}}{{end}}{{$x}}",
                "at <{{$x}}>: the template",
            ),
            (
                &format!("{{{{range 9999}}}}{{{{and{}}}}}{{{{end}}}}", " 1".repeat(9999)),
                "the template takes more than 100000 steps",
            ),
            (
                &format!(
                    "{{{{range 9999}}}}{{{{if $.x{}}}}}{{{{end}}}}{{{{end}}}}",
                    ".x".repeat(9999)
                ),
                "the template takes more than 100000 steps",
            ),
            (
                "{{$x := printf \"%40000s\" 1}}{{range 9999}}{{if eq $x $x}}{{end}}{{end}}",
                "at <eq $x $x>: the template takes more than 100000 steps",
            ),
            (
                &format!(
                    "{}{{{{range 9999}}}}{{{{if $}}}}{{{{end}}}}{{{{end}}}}",
                    "{{$x := 1}}".repeat(9999)
                ),
                "at <$>: the template takes more than 100000 steps",
            ),
        ] {
            let error = run(text, limits).unwrap_err();
            assert_eq!(error.stage, Stage::Limit, "{text}");
            assert!(error.text.contains(expected), "{}", error.text);
            assert!(error.partial.len() <= limits.output);
        }
        let nested = format!(
            "{}x{}",
            "{{if 1}}{{with (not (not 1))}}".repeat(400),
            "{{end}}{{end}}".repeat(400)
        );
        assert_eq!(run(&nested, Limits::default()).unwrap(), "x");
    }
}
