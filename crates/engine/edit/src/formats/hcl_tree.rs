//! The values of HCL by the blocks, attributes and objects that they are in (HCL Native Syntax Specification,
//! *Structural Elements*, *Collection Values*). A block is a mapping below its type and labels, `module "web" { … }` at
//! `module.web`; several of one name are a list, as in HCL's JSON syntax.

use std::collections::BTreeMap;

use super::hcl;
use super::reader::{Cursor, Value, is_break, is_word};
use super::valued::{Refused, Values};
use crate::find::values::{self, DEEPEST};

pub(super) fn values(text: &str) -> Result<Values, Refused> {
    let file = hcl::read(text);
    let mut reader = Reader {
        cursor: Cursor::new(text),
        texts: file.values.into_iter().map(|value| (value.at, value)).collect(),
        scalars: Vec::new(),
        depth: 0,
    };
    let mut body = BTreeMap::new();
    while !reader.body_ends()? {
        reader.element(&mut body)?;
    }
    let mut values = Values::default();
    values.tree.roots.push(Part::Map(body).value());
    values.scalars = reader.scalars;
    Ok(values)
}

/// What is at a name.
enum Part {
    Value(values::Value),
    Map(Map),
    Blocks(Vec<Part>),
}

type Map = BTreeMap<String, Part>;

impl Part {
    fn value(self) -> values::Value {
        match self {
            Self::Value(value) => value,
            Self::Map(map) => values::Value::Map(map.into_iter().map(|(name, part)| (name, part.value())).collect()),
            Self::Blocks(blocks) => values::Value::List(blocks.into_iter().map(Self::value).collect()),
        }
    }
}

/// Adds a block at its type and labels.
fn add(body: &mut Map, names: &[String], block: Map) {
    let Some((name, rest)) = names.split_first() else {
        return;
    };
    if !rest.is_empty() {
        let part = body.entry(name.clone()).or_insert_with(|| Part::Map(Map::new()));
        if let Part::Map(inner) = part {
            add(inner, rest, block);
        }
        return;
    }
    match body.remove(name) {
        None => body.insert(name.clone(), Part::Map(block)),
        Some(Part::Blocks(mut blocks)) => {
            blocks.push(Part::Map(block));
            body.insert(name.clone(), Part::Blocks(blocks))
        }
        Some(first) => body.insert(name.clone(), Part::Blocks(vec![first, Part::Map(block)])),
    };
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    /// The texts that are whole values, by their offsets.
    texts: BTreeMap<usize, Value>,
    scalars: Vec<Value>,
    depth: usize,
}

impl Reader<'_> {
    fn refused<T>(&self, why: &str) -> Result<T, Refused> {
        Err((self.cursor.at, why.to_owned()))
    }

    fn deeper(&mut self) -> Result<(), Refused> {
        self.depth += 1;
        if self.depth < DEEPEST {
            Ok(())
        } else {
            self.refused("it nests too deep")
        }
    }

    /// Passes blanks, comments and, if wanted, line breaks.
    fn skip(&mut self, lines: bool) {
        while let Some(byte) = self.cursor.peek() {
            match byte {
                b' ' | b'\t' => self.cursor.at += 1,
                _ if lines && is_break(byte) => self.cursor.at += 1,
                b'#' => self.cursor.skip_line(),
                b'/' if self.cursor.is_at("//") => self.cursor.skip_line(),
                b'/' if self.cursor.is_at("/*") => self.comment(),
                _ => return,
            }
        }
    }

    fn comment(&mut self) {
        while self.cursor.peek().is_some() && !self.cursor.pass("*/") {
            self.cursor.at += 1;
        }
    }

    /// Whether a body ends here: at its brace, or all of the file.
    fn body_ends(&mut self) -> Result<bool, Refused> {
        self.skip(true);
        match self.cursor.peek() {
            None if self.depth == 0 => Ok(true),
            None => self.refused("it ends within a block"),
            Some(b'}') if self.depth == 0 => self.refused("a brace closes what is not open"),
            byte => Ok(byte == Some(b'}')),
        }
    }

    /// An attribute or a block.
    fn element(&mut self, body: &mut Map) -> Result<(), Refused> {
        let mut names: Vec<String> = Vec::new();
        while let Some(name) = self.name() {
            names.push(name);
            self.skip(false);
        }
        match (self.cursor.peek(), names.as_slice()) {
            (Some(b'='), [name]) => {
                self.cursor.at += 1;
                let value = self.value()?;
                body.insert(name.clone(), Part::Value(value));
                self.rest(b'\n');
                Ok(())
            }
            (Some(b'{'), [_, ..]) => {
                self.cursor.at += 1;
                self.deeper()?;
                let mut block = Map::new();
                while !self.body_ends()? {
                    self.element(&mut block)?;
                }
                self.cursor.at += 1;
                self.depth -= 1;
                add(body, &names, block);
                Ok(())
            }
            _ => self.refused("there is neither an attribute nor a block"),
        }
    }

    /// A word, or a text in quotes.
    fn name(&mut self) -> Option<String> {
        let start = self.cursor;
        match self.cursor.peek()? {
            b'"' => {
                hcl::quoted(&mut self.cursor)?;
                let text = start.until(self.cursor.at);
                Some(text.trim_matches('"').to_owned())
            }
            byte if is_word(byte) || byte >= 0x80 => {
                self.cursor
                    .skip_while(|byte| is_word(byte) || byte == b'-' || byte >= 0x80);
                Some(start.until(self.cursor.at).to_owned())
            }
            _ => None,
        }
    }

    fn value(&mut self) -> Result<values::Value, Refused> {
        self.skip(false);
        match self.cursor.peek() {
            Some(b'"') if self.texts.contains_key(&self.cursor.at) => Ok(self.text()),
            Some(b'[') => self.list(),
            Some(b'{') => self.object(),
            _ => Ok(values::Value::Other),
        }
    }

    fn text(&mut self) -> values::Value {
        let start = self.cursor.at;
        hcl::quoted(&mut self.cursor);
        let number = self.scalars.len();
        let Some(value) = self.texts.remove(&start) else {
            return values::Value::Other;
        };
        let text = self.cursor.from(value.span.start).until(value.span.end).to_owned();
        self.scalars.push(value);
        values::Value::Scalar { text, number }
    }

    fn list(&mut self) -> Result<values::Value, Refused> {
        let mut items = Vec::new();
        self.collection(b']', "it ends within a list", &mut |reader| {
            items.push(reader.value()?);
            reader.rest(b',');
            Ok(())
        })?;
        Ok(values::Value::List(items))
    }

    fn object(&mut self) -> Result<values::Value, Refused> {
        let mut map = Map::new();
        self.collection(b'}', "it ends within an object", &mut |reader| reader.entry(&mut map))?;
        Ok(Part::Map(map).value())
    }

    /// From one bracket to the other, with commas or line breaks between what is read.
    fn collection(
        &mut self,
        end: u8,
        unended: &str,
        read: &mut dyn FnMut(&mut Self) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        self.cursor.at += 1;
        self.deeper()?;
        loop {
            self.skip(true);
            match self.cursor.peek() {
                None => return self.refused(unended),
                Some(byte) if byte == end => break,
                Some(b',') => self.cursor.at += 1,
                Some(b')' | b']' | b'}') => return self.refused("a bracket closes what is not open"),
                Some(_) => read(self)?,
            }
        }
        self.cursor.at += 1;
        self.depth -= 1;
        Ok(())
    }

    fn entry(&mut self, map: &mut Map) -> Result<(), Refused> {
        let name = self.name();
        self.skip(false);
        // Without a name it is a computed key, or the beginning of a `for` expression.
        if let (Some(name), Some(b'=' | b':')) = (name, self.cursor.peek()) {
            self.cursor.at += 1;
            let value = self.value()?;
            map.insert(name, Part::Value(value));
        }
        self.rest(b'\n');
        Ok(())
    }

    /// Passes what is left of an expression: to the end of the line, or to `end` in a list; a bracket that closes what
    /// is around ends it, too.
    fn rest(&mut self, end: u8) {
        let mut open = 0_usize;
        while let Some(byte) = self.cursor.peek() {
            match byte {
                b'"' => {
                    hcl::quoted(&mut self.cursor);
                    continue;
                }
                b'<' if self.cursor.is_at("<<") => {
                    hcl::pass_heredoc(&mut self.cursor);
                    continue;
                }
                b'#' => {
                    self.cursor.skip_line();
                    continue;
                }
                b'/' if self.cursor.is_at("//") => {
                    self.cursor.skip_line();
                    continue;
                }
                b'/' if self.cursor.is_at("/*") => {
                    self.comment();
                    continue;
                }
                b'(' | b'[' | b'{' => open += 1,
                b')' | b']' | b'}' if open == 0 => return,
                b')' | b']' | b'}' => open -= 1,
                b',' if open == 0 => return,
                _ if is_break(byte) && open == 0 && end == b'\n' => return,
                _ => {}
            }
            self.cursor.at += 1;
        }
    }
}
