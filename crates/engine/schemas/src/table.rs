//! The bundled table, read for one minor version; `README.md` has its form.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::rules::Rules;
use super::shape::{Field, Id, Object, Reader, Shape, Shapes, Type};
use bumpwright_text::Excerpt;

const KUBERNETES: &str = include_str!("../kubernetes.txt");
const OBJECT_META: &str = "meta.v1.ObjectMeta";

/// The minor versions, oldest first, each with its table once somebody wanted it.
static BUNDLE: LazyLock<Vec<(&'static str, OnceLock<Table>)>> = LazyLock::new(|| {
    let first = KUBERNETES.first_line();
    first.split(' ').map(|minor| (minor, OnceLock::new())).collect()
});

/// Kubernetes' own kinds in one minor version.
#[derive(Debug)]
pub(crate) struct Table {
    /// The place of the minor version among all.
    pub(crate) minor: usize,
    pub(crate) shapes: Shapes,
    pub(crate) object_meta: Id,
    kinds: HashMap<&'static str, Vec<Kind>>,
}

/// A kind in one version of its group, whether this minor version serves it or not.
#[derive(Debug)]
pub(crate) struct Kind {
    /// `apps/v1`, `v1`.
    pub(crate) api_version: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) of: Id,
    /// Whether each of the minor versions serves it, as bits.
    serving: u32,
}

impl Kind {
    /// Whether a minor version serves it.
    pub(crate) fn is_served_by(&self, minor: usize) -> bool {
        u32::try_from(minor).is_ok_and(|minor| self.serving & bit(minor) != 0)
    }
}

/// The minor versions, oldest first.
pub(crate) fn minors() -> impl DoubleEndedIterator<Item = &'static str> {
    BUNDLE.iter().map(|(minor, _)| *minor)
}

/// The table of a minor version, by its place.
pub(crate) fn table(minor: usize) -> Option<&'static Table> {
    let (_, table) = BUNDLE.get(minor)?;
    Some(table.get_or_init(|| Reading::new(minor).read()))
}

fn bit(minor: u32) -> u32 {
    1_u32.checked_shl(minor).unwrap_or(0)
}

impl Table {
    /// A kind in all versions of all groups.
    pub(crate) fn kinds_named(&self, kind: &str) -> &[Kind] {
        self.kinds.get(kind).map_or(&[], Vec::as_slice)
    }

    /// All kinds of a group.
    pub(crate) fn kinds_in<'t>(&'t self, group: &'t str) -> impl Iterator<Item = &'static str> {
        let is_there = move |kinds: &Vec<Kind>| kinds.iter().any(|kind| group_of(kind.api_version) == group);
        let kinds = self.kinds.iter().filter(move |(_, kinds)| is_there(kinds));
        kinds.map(|(name, _)| *name)
    }
}

/// The group of an apiVersion; the core group is empty.
pub(crate) fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// A table while it is read.
struct Reading {
    minor: usize,
    bit: u32,
    shapes: Shapes,
    /// Types by what stands for them: `string`, `[]@core.v1.Container`.
    known: HashMap<&'static str, Id>,
}

impl Reading {
    fn new(minor: usize) -> Self {
        Self {
            minor,
            bit: u32::try_from(minor).map_or(0, bit),
            shapes: Shapes::new(Reader::Go),
            known: HashMap::with_capacity(2048),
        }
    }

    fn read(mut self) -> Table {
        let (definitions, kinds) = KUBERNETES.split_once("\n\n").unwrap_or((KUBERNETES, ""));
        let mut open: Option<(Id, Vec<Field>)> = None;
        for line in definitions.lines().skip(1) {
            match (line.strip_prefix(' '), &mut open) {
                (Some(field), Some((_, fields))) => fields.extend(self.field(field)),
                (Some(_), None) => {}
                (None, _) => {
                    self.close(open.take());
                    open = Some((self.definition(line), Vec::with_capacity(16)));
                }
            }
        }
        self.close(open);
        let object_meta = self.definition(OBJECT_META);
        let mut by_name: HashMap<&'static str, Vec<Kind>> = HashMap::with_capacity(256);
        for (name, kind) in kinds.lines().filter_map(|line| self.kind(line)) {
            by_name.entry(name).or_default().push(kind);
        }
        Table {
            minor: self.minor,
            shapes: self.shapes,
            object_meta,
            kinds: by_name,
        }
    }

    fn close(&mut self, open: Option<(Id, Vec<Field>)>) {
        if let Some((id, fields)) = open {
            self.shapes.set(id, Shape::Object(Object::new(fields, false)));
        }
    }

    /// The type of a definition, which may be defined later.
    fn definition(&mut self, name: &'static str) -> Id {
        let shapes = &mut self.shapes;
        *self.known.entry(name).or_insert_with(|| shapes.push(Shape::Any))
    }

    /// `name! type mask`; none if the minor version does not have it.
    fn field(&mut self, line: &'static str) -> Option<Field> {
        let mut words = line.split(' ');
        let (name, kind) = (words.next()?, words.next()?);
        if serving(words.next()) & self.bit == 0 {
            return None;
        }
        let (name, required) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
        Some(Field {
            name: Cow::Borrowed(name),
            of: self.kind_of(kind),
            required,
        })
    }

    /// `apiVersion kind scope definition mask`.
    fn kind(&mut self, line: &'static str) -> Option<(&'static str, Kind)> {
        let mut words = line.split(' ');
        let (api_version, name) = (words.next()?, words.next()?);
        let (scope, definition) = (words.next()?, words.next()?);
        let kind = Kind {
            api_version,
            namespaced: scope == "N",
            of: self.definition(definition),
            serving: serving(words.next()),
        };
        Some((name, kind))
    }

    fn kind_of(&mut self, word: &'static str) -> Id {
        if let Some(name) = word.strip_prefix('@') {
            return self.definition(name);
        }
        if let Some(id) = self.known.get(word) {
            return *id;
        }
        let id = if let Some(items) = word.strip_prefix("[]") {
            let items = self.kind_of(items);
            self.shapes.push(Shape::List(items))
        } else if let Some(values) = word.strip_prefix("{}") {
            let values = self.kind_of(values);
            self.shapes.push(Shape::Map(values))
        } else if let Some(values) = word.strip_prefix("string=") {
            self.shapes.push_type(Type {
                shape: Shape::String,
                nullable: false,
                rules: Some(Box::new(Rules::one_of(values.split('|')))),
            })
        } else {
            self.shapes.push(scalar(word))
        };
        self.known.insert(word, id);
        id
    }
}

/// The minor versions of a mask; all without one.
fn serving(mask: Option<&str>) -> u32 {
    mask.map_or(u32::MAX, |mask| u32::from_str_radix(mask, 16).unwrap_or_default())
}

fn scalar(word: &str) -> Shape {
    match word {
        "string" => Shape::String,
        "int32" => Shape::Integer(32),
        "int64" => Shape::Integer(64),
        "number" => Shape::Number,
        "boolean" => Shape::Boolean,
        "bytes" => Shape::Bytes,
        "time" => Shape::Time { micro: false },
        "microtime" => Shape::Time { micro: true },
        "quantity" => Shape::Quantity,
        "int-or-string" => Shape::IntOrString(32),
        _ => Shape::Any,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The generator wrote no word that the reader takes for anything, and no reference to what is not defined.
    #[test]
    fn all_words_of_the_table_are_read() {
        let (definitions, _) = KUBERNETES.split_once("\n\n").unwrap();
        let names: Vec<&str> = definitions
            .lines()
            .skip(1)
            .filter(|line| !line.starts_with(' '))
            .collect();
        for line in definitions.lines().skip(1).filter(|line| line.starts_with(' ')) {
            let word = line.split(' ').nth(2).unwrap();
            let word = word
                .trim_start_matches("[]")
                .trim_start_matches("{}")
                .trim_start_matches("[]");
            match word.strip_prefix('@') {
                Some(name) => assert!(names.contains(&name), "{line}"),
                None => assert!(
                    word == "any" || word.starts_with("string=") || !matches!(scalar(word), Shape::Any),
                    "{line}"
                ),
            }
        }
    }

    #[test]
    fn each_minor_version_has_its_own_fields() {
        assert!(KUBERNETES.len() < 250_000);
        for minor in 0..minors().count() {
            let table = table(minor).unwrap();
            assert!(table.kinds.len() > 60);
            for kinds in table.kinds.values() {
                for kind in kinds.iter().filter(|kind| kind.is_served_by(minor)) {
                    assert!(matches!(table.shapes.get(kind.of).unwrap().shape, Shape::Object(_)));
                }
            }
        }
    }
}
