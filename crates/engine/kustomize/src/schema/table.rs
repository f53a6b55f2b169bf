//! Parser of the built-in tables; `schema/README.md` describes their format.

use super::known::{Schema, Target, Type};
use compact_str::CompactString;

impl Schema {
    /// Adds a table to a schema, replacing existing definitions.
    pub(super) fn add_table(&mut self, text: &str) {
        let (definitions, kinds) = text.split_once("\n\n").unwrap_or((text, ""));
        let mut open: Option<(u32, Type)> = None;
        for line in definitions.lines() {
            if let Some(field) = line.strip_prefix(' ') {
                if let (Some((_, of)), Some((name, expression))) = (&mut open, field.split_once(' ')) {
                    let target = self.target(expression);
                    of.fields.push((name.into(), target));
                }
                continue;
            }
            self.close(open.take());
            let (name, expression) = line.split_once(' ').unwrap_or((line, ""));
            let mut of = Type::default();
            if !expression.is_empty() {
                of.alias = Some(self.target(expression));
            }
            open = Some((self.name(name), of));
        }
        self.close(open);
        for line in kinds.lines() {
            self.add_kind(line);
        }
    }

    fn close(&mut self, open: Option<(u32, Type)>) {
        if let Some((name, of)) = open {
            let number = self.push(of);
            self.define(name, number);
        }
    }

    /// `apiVersion kind SCOPE definition`
    fn add_kind(&mut self, line: &str) {
        let mut words = line.split(' ');
        let (Some(version), Some(kind), Some(scope), Some(definition)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return;
        };
        if scope != "-" {
            self.set_namespaced(version, kind, scope == "N");
        }
        let name = (definition != "-").then(|| self.name(definition));
        if let Some(of) = name.and_then(|name| self.defined(name)) {
            self.set_kind(version, kind, of);
        }
    }

    /// The target of an expression: `.`, `definition`, `{…`, `[…` or `<key+key>[…`.
    fn target(&mut self, expression: &str) -> Target {
        let mut of = Type::default();
        let mut expression = expression;
        if let Some((keys, rest)) = expression.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
            let keys = keys.split('+').filter(|key| !key.is_empty());
            of.merge = Some(keys.map(CompactString::from).collect());
            expression = rest;
        }
        if let Some(items) = expression.strip_prefix('[') {
            of.items = Some(self.target(items));
        } else if let Some(values) = expression.strip_prefix('{') {
            of.rest = Some(self.target(values));
        } else if expression == "." {
            return Target::Leaf;
        } else {
            return Target::Definition(self.name(expression));
        }
        Target::Type(self.push(of))
    }
}
