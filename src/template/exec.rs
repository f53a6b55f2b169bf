//! Running a template: walking its nodes, writing what they make.
//!
//! An [`Exec`] knows where it is ([`Exec::at`]) for the sake of error texts, which quote the node; it prints nothing as
//! long as all goes well. Go sets the place at certain steps only, and so does this.

use super::{
    error::{Error, Missing, MissingKind},
    exec_error::lossy,
    function::Failure,
    functions::Functions,
    go_type::Type,
    host::Host,
    methods::{FoundMethod, find_print_method},
    node::{At, Branch, Expr, List, Name, Node, TemplateCall},
    parse::{self, Parsed},
    print,
    truth::{View, indirect, truth},
    value::{Slot, Value},
};
/// A parsed template with those that it defines.
#[derive(Debug)]
pub struct Template {
    pub(super) name: String,
    parsed: Parsed,
}

/// An error on its way out.
pub(super) type Fail = Box<Error>;

/// One run of a template, or of one that it calls.
pub(super) struct Exec<'t, 'h, 'w> {
    pub(super) template: &'t Template,
    /// The name of the template that runs, which `{{template}}` changes.
    pub(super) name: &'t str,
    pub(super) host: &'h mut Host<'w>,
    out: &'h mut Vec<u8>,
    /// The current node.
    pub(super) at: Option<At<'t>>,
    /// Variables in scope, innermost last.
    vars: Vec<(&'t str, Slot)>,
    depth: usize,
    /// Arguments of the calls that are being made, innermost last.
    pub(super) values: Vec<Value>,
    pub(super) slots: Vec<Slot>,
}

/// What a function or method is given, besides its receiver.
pub(super) struct Operands<'t> {
    /// What stands behind its name.
    pub(super) rest: &'t [Expr],
    /// What the pipeline brought so far.
    pub(super) last: Option<Slot>,
}

/// How a list of nodes was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// Controls and parentheses ask whether this much stack is left, and go on elsewhere when it is not.
const STACK_LEFT: usize = 128 << 10;
const STACK_MORE: usize = 2 << 20;

impl Template {
    /// Parses a template. The name is what errors call it by.
    ///
    /// # Errors
    /// The text is no template: Go's error.
    #[allow(clippy::result_large_err)] // it is rare, and made once
    pub fn parse(name: &str, text: &str, functions: &Functions) -> Result<Self, Error> {
        Ok(Self {
            name: name.to_owned(),
            parsed: parse::parse(name, text, functions)?,
        })
    }

    /// What the template makes of `data`, its dot.
    ///
    /// # Errors
    /// Go's error when the template does not fit the data or a function fails, and one of ours when a limit of the
    /// host is reached. It holds what had been written before.
    #[allow(clippy::result_large_err)]
    pub fn execute(&self, data: &Slot, host: &mut Host<'_>) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        match self.run(data, host, &mut out) {
            Ok(()) => Ok(out),
            Err(error) => Err(Error { partial: out, ..*error }),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.parsed.text
    }

    fn run(&self, data: &Slot, host: &mut Host<'_>, out: &mut Vec<u8>) -> Result<(), Fail> {
        let mut exec = Exec {
            template: self,
            name: &self.name,
            host,
            out,
            at: None,
            vars: vec![("$", data.clone())],
            depth: 0,
            values: Vec::new(),
            slots: Vec::new(),
        };
        match self.parsed.trees.get(&self.name) {
            Some(tree) => exec.walk_list(data, &tree.root).map(|_| ()),
            None => {
                let name = crate::gostd::quote(&self.name);
                Err(exec.fail(format!("{name} is an incomplete or empty template")))
            }
        }
    }
}

impl<'t> Operands<'t> {
    pub(super) fn none() -> Self {
        Self { rest: &[], last: None }
    }

    pub(super) fn are_given(&self) -> bool {
        !self.rest.is_empty() || self.last.is_some()
    }
}

impl<'t> Exec<'t, '_, '_> {
    fn walk_list(&mut self, dot: &Slot, list: &'t List) -> Result<Flow, Fail> {
        for node in &list.nodes {
            self.at = Some(At::Node(node));
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
                        self.at = Some(At::Node(node));
                        self.print(&value)?;
                    }
                    Flow::Next
                }
                Node::If(branch) => self.nested(|exec| exec.walk_choice(dot, branch, false))?,
                Node::With(branch) => self.nested(|exec| exec.walk_choice(dot, branch, true))?,
                Node::Range(branch) => self.nested(|exec| exec.walk_range(dot, branch))?,
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

    /// Runs something that may be nested within its like, as often as the parser lets it.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        stacker::maybe_grow(STACK_LEFT, STACK_MORE, || inner(self))
    }

    fn walk_choice(&mut self, dot: &Slot, branch: &'t Branch, sets_dot: bool) -> Result<Flow, Fail> {
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

    fn walk_range(&mut self, dot: &Slot, branch: &'t Branch) -> Result<Flow, Fail> {
        let outer = self.vars.len();
        let over = self.eval_pipe(dot, &branch.pipe)?;
        let flow = if self.walk_items(branch, indirect(&over))? {
            Flow::Next
        } else if let Some(list) = &branch.else_list {
            // A break here would mean the loop around this one, but Go ends this one.
            match self.walk_list(dot, list)? {
                Flow::Break => Flow::Next,
                flow => flow,
            }
        } else {
            Flow::Next
        };
        self.vars.truncate(outer);
        Ok(flow)
    }

    /// Whether there was anything to walk over.
    fn walk_items(&mut self, branch: &'t Branch, over: View<'_>) -> Result<bool, Fail> {
        match over.value.bare() {
            Value::Int(..) | Value::Uint(..) => self.walk_numbers(branch, over.value),
            Value::Slice(slice) => {
                for (index, item) in slice.items().iter().enumerate() {
                    let item = Slot::in_place(item.clone(), slice.item, true);
                    if self.walk_round(branch, index_slot(index), item)? == Flow::Break {
                        break;
                    }
                }
                Ok(!slice.items().is_empty())
            }
            Value::Array(array) => {
                for (index, item) in array.items().iter().enumerate() {
                    let item = Slot::in_place(item.clone(), array.item, over.addressable);
                    if self.walk_round(branch, index_slot(index), item)? == Flow::Break {
                        break;
                    }
                }
                Ok(!array.items().is_empty())
            }
            Value::Map(map) => {
                let entries = map.entries();
                self.step(entries.len() as u64)?;
                let any = !entries.is_empty();
                for (key, item) in entries {
                    let key = Slot::in_place(key, map.key, false);
                    if self.walk_round(branch, key, Slot::in_place(item, map.item, false))? == Flow::Break {
                        break;
                    }
                }
                Ok(any)
            }
            Value::Nil if !over.is_interface => Ok(false),
            _ => {
                let printed = self.printed(over.value)?;
                Err(self.fail(format!("range can't iterate over {printed}")))
            }
        }
    }

    fn walk_numbers(&mut self, branch: &'t Branch, end: &Value) -> Result<bool, Fail> {
        if branch.pipe.decl.len() > 1 {
            let printed = self.printed(end)?;
            return Err(self.fail(format!("can't use {printed} to iterate over more than one variable")));
        }
        let count = match end.bare() {
            Value::Int(_, end) => u64::try_from(*end).unwrap_or(0),
            Value::Uint(_, end) => *end,
            _ => 0,
        };
        for number in 0..count {
            let number = match end.bare() {
                Value::Uint(kind, _) => Value::Uint(*kind, number),
                Value::Int(kind, _) => Value::Int(*kind, i64::try_from(number).unwrap_or(i64::MAX)),
                other => other.clone(),
            };
            let number = match end {
                Value::Named(named, _) => Value::Named(named, Box::new(number)),
                _ => number,
            };
            if self.walk_round(branch, Slot::nothing(), Slot::of(number))? == Flow::Break {
                break;
            }
        }
        Ok(count > 0)
    }

    fn walk_round(&mut self, branch: &'t Branch, index: Slot, item: Slot) -> Result<Flow, Fail> {
        self.step(1)?;
        let mark = self.vars.len();
        match (branch.pipe.decl.as_slice(), branch.pipe.is_assign) {
            ([], _) => {}
            ([only], true) => self.set_var(name_of(&only.names), item.clone())?,
            ([first, second, ..], true) => {
                self.set_var(name_of(&first.names), index)?;
                self.set_var(name_of(&second.names), item.clone())?;
            }
            (decl, false) => {
                // The pipeline has declared them; this is their value for the round.
                if decl.len() > 1
                    && let Some((_, value)) = mark.checked_sub(2).and_then(|at| self.vars.get_mut(at))
                {
                    *value = index;
                }
                if let Some((_, value)) = self.vars.last_mut() {
                    *value = item.clone();
                }
            }
        }
        let flow = self.walk_list(&item, &branch.list)?;
        self.vars.truncate(mark);
        Ok(flow)
    }

    fn walk_template(&mut self, dot: &Slot, call: &'t TemplateCall) -> Result<(), Fail> {
        let Some((name, tree)) = self.template.parsed.trees.get_key_value(&call.name) else {
            let mut known: Vec<String> = self.template.parsed.trees.keys().cloned().collect();
            known.sort();
            let missing = Missing {
                name: call.name.clone(),
                known,
                what: MissingKind::Template,
            };
            let text = format!("template {} not defined", crate::gostd::quote(&call.name));
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
        let ran = self.host.deeper(|host| {
            let mut inner = Exec {
                template: self.template,
                name,
                host,
                out: self.out,
                at: self.at,
                vars: vec![("$", dot.clone())],
                depth: self.depth + 1,
                values: Vec::new(),
                slots: Vec::new(),
            };
            inner.walk_list(&dot, &tree.root).map_err(Halt::Fail)
        });
        match ran {
            Ok(_) => Ok(()),
            Err(Halt::Fail(fail)) => Err(fail),
            Err(Halt::Failure(failure)) => Err(self.failure(failure)),
        }
    }

    fn print(&mut self, slot: &Slot) -> Result<(), Fail> {
        match &slot.value {
            Value::String(text) => self.out.extend_from_slice(text),
            Value::Nil if slot.interface.is_none() => self.out.extend_from_slice(b"<no value>"),
            value => {
                let printed = match printed_by_pointer(slot) {
                    Some(found) => print_by(&found, self.host, self.out, value),
                    None => print::print(self.host, self.out, printable(value)),
                };
                printed.map_err(|failure| self.failure(failure))?;
            }
        }
        self.check_output()
    }

    fn check_output(&mut self) -> Result<(), Fail> {
        let most = self.host.limits().output;
        if self.out.len() > most {
            self.out.truncate(most);
            return Err(self.limit(format!("the template writes more than {most} bytes")));
        }
        Ok(())
    }

    /// A value in the text of an error.
    pub(super) fn printed(&mut self, value: &Value) -> Result<String, Fail> {
        let mut out = Vec::new();
        print::print(self.host, &mut out, value).map_err(|failure| self.failure(failure))?;
        Ok(lossy(&out))
    }

    pub(super) fn declare_var(&mut self, name: &'t str, value: Slot) {
        self.vars.push((name, value));
    }

    /// Sets the innermost variable of that name.
    pub(super) fn set_var(&mut self, name: &str, value: Slot) -> Result<(), Fail> {
        match self.vars.iter_mut().rev().find(|(known, _)| *known == name) {
            Some((_, slot)) => {
                *slot = value;
                Ok(())
            }
            None => Err(self.undefined(name)),
        }
    }

    /// The value of the innermost variable of that name.
    pub(super) fn var(&self, name: &str) -> Result<Slot, Fail> {
        match self.vars.iter().rev().find(|(known, _)| *known == name) {
            Some((_, slot)) => Ok(slot.clone()),
            None => Err(self.undefined(name)),
        }
    }

    fn undefined(&self, name: &str) -> Fail {
        let mut known: Vec<String> = self.vars.iter().map(|(name, _)| (*name).to_owned()).collect();
        known.sort();
        known.dedup();
        let missing = Missing {
            name: name.to_owned(),
            known,
            what: MissingKind::Variable,
        };
        self.fail_missing(format!("undefined variable: {name}"), missing)
    }
}

/// Why a template that was called did not end well.
enum Halt {
    Fail(Fail),
    Failure(Failure),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

fn index_slot(index: usize) -> Slot {
    Slot::of(Value::int(index as i64))
}

/// The name of a variable, out of the names that begin with it.
pub(super) fn name_of(names: &[Name]) -> &str {
    names.first().map_or("", |name| &name.text)
}

/// What is printed in the place of a value: pointers are followed, unless the pointer itself knows how to print.
pub(super) fn printable(value: &Value) -> &Value {
    let mut current = value;
    while let Value::Pointer(pointer) = current {
        let Some(target) = &pointer.target else { return current };
        if !matches!(**target, Value::Pointer(_))
            && find_print_method(pointer.to, false).is_none()
            && find_print_method(pointer.to, true).is_some()
        {
            return current;
        }
        if pointer.to.is_interface() && matches!(**target, Value::Nil) {
            return target;
        }
        current = target;
    }
    current
}

/// The method of `*T` that prints a `T`, when only `*T` has one and the place has an address.
fn printed_by_pointer(slot: &Slot) -> Option<FoundMethod> {
    if !slot.addressable || slot.interface.is_some() {
        return None;
    }
    let ty = match &slot.value {
        Value::Struct(of) => Type::Struct(of.of),
        Value::Named(named, _) => Type::Named(named),
        _ => return None,
    };
    match find_print_method(&ty, false) {
        Some(_) => None,
        None => find_print_method(&ty, true),
    }
}

fn print_by(found: &FoundMethod, host: &mut Host<'_>, out: &mut Vec<u8>, value: &Value) -> Result<(), Failure> {
    match found.call(host, value) {
        Ok(text) => {
            if let Value::String(text) = text {
                out.extend_from_slice(&text);
            }
            Ok(())
        }
        Err(Failure::Error(text)) => {
            let name = found.method.function.name;
            out.extend_from_slice(format!("%!v(PANIC={name} method: {text})").as_bytes());
            Ok(())
        }
        Err(limit) => Err(limit),
    }
}
