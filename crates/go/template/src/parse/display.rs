//! Nodes as Go's errors show them: printed again from the tree, so that spaces and comments are lost.

use super::node::{Branch, Command, Expr, List, Name, Node, NodeRef, Pipe, Pos, TemplateCall, Variable};
use crate::exec::stack;
use bumpwright_gostd::quote;
use std::fmt::{self, Formatter, Write as _};

/// Where a node is in the text (line from 1, column in bytes from 0), and how Go prints it: `ErrorContext`.
pub(crate) fn context(text: &str, at: NodeRef<'_>) -> (usize, usize, String) {
    let before = text.get(..at.position()).unwrap_or(text).as_bytes();
    let line = 1 + memchr::memchr_iter(b'\n', before).count();
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    (line, before.len() - line_start, at.to_string())
}

impl NodeRef<'_> {
    /// The position of the node according to Go: a chain of fields begins at its second link, `if` at its pipeline.
    pub(crate) fn position(&self) -> Pos {
        match self {
            Self::Node(node) => node.position(),
            Self::Pipe(pipe) => pipe.pos,
            Self::Command(command) => command.pos,
            Self::Expr(expr) => expr.position(),
        }
    }
}

impl Node {
    fn position(&self) -> Pos {
        match self {
            Self::Text(pos, _) | Self::Action(pos, _) | Self::Break(pos) | Self::Continue(pos) => *pos,
            Self::If(branch) | Self::Range(branch) | Self::With(branch) => branch.pos,
            Self::Template(call) => call.pos,
        }
    }
}

impl Expr {
    fn position(&self) -> Pos {
        match self {
            Self::Dot(pos)
            | Self::Nil(pos)
            | Self::Bool(pos, _)
            | Self::String(pos, ..)
            | Self::Identifier(pos, _)
            | Self::Field(pos, _)
            | Self::Chain(pos, ..) => *pos,
            Self::Number(number) => number.pos,
            Self::Variable(variable) => variable.pos,
            Self::Pipe(pipe) => pipe.pos,
        }
    }
}

impl fmt::Display for NodeRef<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write_node(f, node),
            Self::Pipe(pipe) => write_pipe(f, pipe),
            Self::Command(command) => write_command(f, command),
            Self::Expr(expr) => write_expr(f, expr),
        }
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        stack::grown(|| self.nodes.iter().try_for_each(|node| write_node(f, node)))
    }
}

fn write_node(f: &mut Formatter<'_>, node: &Node) -> fmt::Result {
    match node {
        Node::Text(_, text) => f.write_str(&text.lossy()),
        Node::Action(_, pipe) => {
            f.write_str("{{")?;
            write_pipe(f, pipe)?;
            f.write_str("}}")
        }
        Node::If(branch) => write_branch(f, "if", branch),
        Node::Range(branch) => write_branch(f, "range", branch),
        Node::With(branch) => write_branch(f, "with", branch),
        Node::Template(call) => write_call(f, call),
        Node::Break(_) => f.write_str("{{break}}"),
        Node::Continue(_) => f.write_str("{{continue}}"),
    }
}

fn write_branch(f: &mut Formatter<'_>, keyword: &str, branch: &Branch) -> fmt::Result {
    f.write_str("{{")?;
    f.write_str(keyword)?;
    f.write_char(' ')?;
    write_pipe(f, &branch.pipe)?;
    f.write_str("}}")?;
    fmt::Display::fmt(&branch.list, f)?;
    if let Some(list) = &branch.else_list {
        f.write_str("{{else}}")?;
        fmt::Display::fmt(list, f)?;
    }
    f.write_str("{{end}}")
}

fn write_call(f: &mut Formatter<'_>, call: &TemplateCall) -> fmt::Result {
    f.write_str("{{template ")?;
    f.write_str(&quote(&call.name))?;
    if let Some(pipe) = &call.pipe {
        f.write_char(' ')?;
        write_pipe(f, pipe)?;
    }
    f.write_str("}}")
}

fn write_pipe(f: &mut Formatter<'_>, pipe: &Pipe) -> fmt::Result {
    stack::grown(|| {
        for (index, variable) in pipe.decl.iter().enumerate() {
            f.write_str(if index > 0 { ", " } else { "" })?;
            write_variable(f, variable)?;
        }
        if !pipe.decl.is_empty() {
            f.write_str(if pipe.is_assign { " = " } else { " := " })?;
        }
        for (index, command) in pipe.commands.iter().enumerate() {
            f.write_str(if index > 0 { " | " } else { "" })?;
            write_command(f, command)?;
        }
        Ok(())
    })
}

fn write_command(f: &mut Formatter<'_>, command: &Command) -> fmt::Result {
    for (index, arg) in command.args.iter().enumerate() {
        f.write_str(if index > 0 { " " } else { "" })?;
        write_operand(f, arg)?;
    }
    Ok(())
}

/// An expression within another one, where a pipeline needs its parentheses.
fn write_operand(f: &mut Formatter<'_>, expr: &Expr) -> fmt::Result {
    let Expr::Pipe(pipe) = expr else {
        return write_expr(f, expr);
    };
    f.write_char('(')?;
    write_pipe(f, pipe)?;
    f.write_char(')')
}

fn write_expr(f: &mut Formatter<'_>, expr: &Expr) -> fmt::Result {
    match expr {
        Expr::Dot(_) => f.write_char('.'),
        Expr::Nil(_) => f.write_str("nil"),
        Expr::Bool(_, truth) => f.write_str(if *truth { "true" } else { "false" }),
        Expr::Number(number) => f.write_str(&number.text),
        Expr::String(_, literal) => f.write_str(&literal.text.lossy()),
        Expr::Identifier(_, function) => f.write_str(function.name),
        Expr::Field(_, names) => write_fields(f, names),
        Expr::Variable(variable) => write_variable(f, variable),
        Expr::Chain(_, operand, names) => {
            write_operand(f, operand)?;
            write_fields(f, names)
        }
        Expr::Pipe(pipe) => write_pipe(f, pipe),
    }
}

fn write_variable(f: &mut Formatter<'_>, variable: &Variable) -> fmt::Result {
    let Some((dollar, fields)) = variable.names.split_first() else {
        return Ok(());
    };
    f.write_str(dollar.text())?;
    write_fields(f, fields)
}

fn write_fields(f: &mut Formatter<'_>, names: &[Name]) -> fmt::Result {
    names.iter().try_for_each(|name| {
        f.write_char('.')?;
        f.write_str(name.text())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::builtin::functions::Functions;
    use crate::parse::trees::parse;

    #[test]
    fn nodes_are_printed_anew() {
        let functions = Functions::new(&[]);
        for (text, expected) in [
            (
                "a {{- /* b */}} {{  .a.b   | print 1\n0x1F -}} c",
                "a {{.a.b | print 1 0x1F}}c",
            ),
            (
                "{{$x:=(print 'a').b}}{{$x =nil}}",
                "{{$x := (print 'a').b}}{{$x = nil}}",
            ),
            (
                "{{range $i,$x := .}}{{break}}{{else}}{{end}}",
                "{{range $i, $x := .}}{{break}}{{else}}{{end}}",
            ),
            (
                "{{if true}}a{{else if $.b}}b{{else}}c{{end}}",
                "{{if true}}a{{else}}{{if $.b}}b{{else}}c{{end}}{{end}}",
            ),
            (
                "{{with `a`}}{{template `x\n` .}}{{end}}",
                "{{with `a`}}{{template \"x\\n\" .}}{{end}}",
            ),
        ] {
            let printed = parse("t", text, &functions).map(|parsed| parsed.trees["t"].root.to_string());
            assert_eq!(printed.unwrap_or_default(), expected, "{text}");
        }
    }

    #[test]
    fn nodes_begin_where_go_says() {
        let text = "é\né{{if print (.a).b .c.d $.e}}{{end}}";
        let parsed = parse("t", text, &Functions::new(&[])).unwrap();
        let node = &parsed.trees["t"].root.nodes[1];
        let Node::If(branch) = node else { panic!("{node:?}") };
        let command = &branch.pipe.commands[0];
        let shown = |at| context(text, at);
        let pipe = "print (.a).b .c.d $.e";
        assert_eq!(
            shown(NodeRef::Node(node)),
            (2, 7, format!("{{{{if {pipe}}}}}{{{{end}}}}"))
        );
        assert_eq!(shown(NodeRef::Pipe(&branch.pipe)), (2, 7, pipe.to_owned()));
        assert_eq!(shown(NodeRef::Command(command)), (2, 7, pipe.to_owned()));
        let args: Vec<_> = command.args.iter().map(|arg| shown(NodeRef::Expr(arg))).collect();
        for (arg, column, printed) in [(1, 17, "(.a).b"), (2, 22, ".c.d"), (3, 26, "$.e")] {
            assert_eq!(args[arg], (2, column, printed.to_owned()));
        }
        let Expr::Chain(_, operand, _) = &command.args[1] else {
            panic!("{command:?}")
        };
        assert_eq!(shown(NodeRef::Expr(operand)), (2, 14, ".a".to_owned()));
    }
}
