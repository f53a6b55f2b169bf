//! Copies a value from one object into fields of others.

use compact_str::CompactString;

use super::error::ReplaceError;
use super::lookup::{lookup, untagged_scalar};
use super::matcher::Search;
use super::options::FieldOptions;
use super::selector::{Selector, SelectorMatcher, read_id};
use super::structured;
use crate::fields::{ConfigError, Fields, split_path_smart};
use crate::growth::Growth;
use crate::transform::{Id, Object};
use bumpwright_yaml::{Node, Place, Value};

/// Maximum number of parts of a path: each is a level of the object that is created.
const MAX_PARTS: usize = 500;

const DEFAULT_PATH: CompactString = CompactString::const_new("metadata.name");

/// An entry of `replacements:`.
#[derive(Debug, Clone, Default)]
pub struct Replacement {
    /// The object and field to take the value from.
    pub source: Option<ReplacementSource>,
    pub source_value: Option<Node>,
    /// Where to put the value.
    pub targets: Option<Vec<ReplacementTarget>>,
    /// The place of the entry.
    pub place: Place,
}

/// The source of a value.
#[derive(Debug, Clone)]
pub struct ReplacementSource {
    /// The object: each part that is given must be equal in one of its ids.
    pub id: Id,
    /// The path of the field.
    pub path: CompactString,
    /// Which part of it.
    pub options: Option<FieldOptions>,
    /// The place of the source.
    pub place: Place,
}

/// The target of a value.
#[derive(Debug, Clone)]
pub struct ReplacementTarget {
    pub select: Option<Selector>,
    /// Those of them to leave out.
    pub reject: Vec<Selector>,
    /// The paths of the fields.
    pub paths: Vec<CompactString>,
    /// Which part of them, and whether to create them.
    pub options: Option<FieldOptions>,
    /// The place of the target.
    pub place: Place,
}

impl Replacement {
    /// The path of the file that an entry of `replacements:` names, unless it is a replacement itself. Such a file is
    /// read by [`Self::read_file`].
    ///
    /// # Errors
    /// It has both a path and a replacement.
    pub fn file_of(entry: &Node) -> Result<Option<CompactString>, ConfigError> {
        let mut fields = Fields::of(entry, "replacement")?.exact(true);
        let path = fields.string("path")?;
        if path.is_empty() {
            return Ok(None);
        }
        if fields.get("source").is_some() || !fields.list("targets")?.is_empty() {
            return Err(ConfigError::Field {
                place: entry.place,
                what: "replacement".to_owned(),
                problem: "cannot specify both path and inline replacement".to_owned(),
            });
        }
        Ok(Some(path))
    }

    /// Parses a replacement; `strict` rejects unknown fields.
    ///
    /// # Errors
    /// A field is of the wrong type or, where `strict`, unknown.
    pub fn read(entry: &Node, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(entry, "replacement")?.exact(strict);
        fields.string("path")?;
        let source = fields.get("source");
        let value = fields.optional_string("sourceValue")?;
        let value_place = fields.get("sourceValue").map_or(entry.place, |node| node.place);
        let has_targets = fields.get("targets").is_some();
        let targets = fields.list("targets")?;
        // An empty list in a kustomization counts as absent: kustomize passes the config to the transformer without it.
        let targets = Some(targets).filter(|targets| has_targets && !(strict && targets.is_empty()));
        let read = |target| ReplacementTarget::read(target, strict);
        let replacement = Self {
            source: source
                .map(|source| ReplacementSource::read(source, strict))
                .transpose()?,
            source_value: value.map(|value| untagged_scalar(&value).at(value_place)),
            targets: targets.map(|targets| targets.iter().map(read).collect()).transpose()?,
            place: entry.place,
        };
        if strict {
            fields.finish()?;
        }
        Ok(replacement)
    }

    /// Parses a file with one replacement or a list of them.
    ///
    /// # Errors
    /// As [`Self::read`]; or the document is neither.
    pub fn read_file(document: &Node) -> Result<Vec<Self>, ConfigError> {
        match &document.value {
            Value::Sequence(list) => list.items.iter().map(|entry| Self::read(entry, false)).collect(),
            Value::Mapping(_) => Ok(vec![Self::read(document, false)?]),
            Value::Scalar(_) => Err(ConfigError::Field {
                place: document.place,
                what: "replacement".to_owned(),
                problem: "unsupported replacement type encountered within replacement path: a scalar".to_owned(),
            }),
        }
    }
}

impl ReplacementSource {
    fn read(node: &Node, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(node, "source")?.exact(strict);
        let options = fields.get("options");
        let source = Self {
            id: read_id(&mut fields)?,
            path: Some(fields.string("fieldPath")?)
                .filter(|path| !path.is_empty())
                .unwrap_or(DEFAULT_PATH),
            options: options.map(|options| FieldOptions::read(options, strict)).transpose()?,
            place: node.place,
        };
        if strict {
            fields.finish()?;
        }
        Ok(source)
    }

    /// Whether one of an object's ids matches.
    fn matches(&self, ids: &[Id]) -> bool {
        let namespace = |id: &Id| id.effective_namespace(&|_| false);
        let same = |wanted: &CompactString, ours: &CompactString| wanted.is_empty() || wanted == ours;
        ids.iter().any(|id| {
            same(&self.id.name, &id.name)
                && (self.id.namespace.is_empty() || namespace(&self.id) == namespace(id))
                && id.gvk.is_selected(&self.id.gvk)
        })
    }
}

impl ReplacementTarget {
    fn read(node: &Node, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(node, "target")?.exact(strict);
        let select = fields.get("select");
        let options = fields.get("options");
        let read = |selector| Selector::read(selector, strict);
        let mut target = Self {
            select: select.map(read).transpose()?,
            reject: fields.list("reject")?.iter().map(read).collect::<Result<_, _>>()?,
            paths: fields.strings("fieldPaths")?,
            options: options.map(|options| FieldOptions::read(options, strict)).transpose()?,
            place: node.place,
        };
        if target.paths.is_empty() {
            target.paths.push(DEFAULT_PATH);
        }
        if strict {
            fields.finish()?;
        }
        Ok(target)
    }
}

/// Applies the replacements, one after the other. Objects are found by their current and former ids.
///
/// # Errors
/// A source is missing or ambiguous; a target's field is missing, or of the wrong kind for the value; a selector is
/// invalid.
pub fn replace(objects: &mut [&mut dyn Object], replacements: &[Replacement]) -> Result<(), ReplaceError> {
    replace_within(objects, replacements, &Growth::default())
}

/// As [`replace`], charging `growth` for each copy of a value.
///
/// # Errors
/// As [`replace`], and when copied values exceed the limit.
pub(crate) fn replace_within(
    objects: &mut [&mut dyn Object],
    replacements: &[Replacement],
    growth: &Growth,
) -> Result<(), ReplaceError> {
    let mut ids: Vec<Vec<Id>> = objects.iter().map(|object| ids_of(&**object)).collect();
    for replacement in replacements {
        let has_source = replacement.source.is_some() || replacement.source_value.is_some();
        let Some(targets) = replacement.targets.as_ref().filter(|_| has_source) else {
            let problem = "replacements must specify a source and at least one target";
            return Err(ReplaceError::of(replacement.place, problem));
        };
        let (mut value, source) = value_of(replacement, objects, &ids)?;
        for target in targets {
            let target = Target::new(target)?;
            for (at, (object, ids)) in objects.iter_mut().zip(&mut ids).enumerate() {
                if target.matches(object.node(), ids)? {
                    let paid = growth.pay(&value);
                    paid.map_err(|cause| ReplaceError::of(replacement.place, cause.to_string()))?;
                    target.put(&mut **object, &value)?;
                    // The source field may also be a target: later targets then get its new value.
                    if let Some((_, path)) = source.as_ref().filter(|(from, _)| *from == at)
                        && let Ok(Some(field)) = lookup(object.node(), path)
                    {
                        value = field.clone();
                    }
                    // A replacement may change the current id of an object, never its former ones.
                    if let Some(present) = ids.first_mut() {
                        *present = object.id();
                    }
                }
            }
        }
    }
    Ok(())
}

/// The current id, then the former ones.
fn ids_of(object: &dyn Object) -> Vec<Id> {
    let mut ids = vec![object.id()];
    ids.extend(object.former_ids());
    ids
}

/// The position of an object and the way to a field of it.
type Spot = (usize, Vec<CompactString>);

/// The value, and its spot if it is taken as a whole.
fn value_of(
    replacement: &Replacement,
    objects: &[&mut dyn Object],
    ids: &[Vec<Id>],
) -> Result<(Node, Option<Spot>), ReplaceError> {
    let source = match (&replacement.source, &replacement.source_value) {
        (Some(_), Some(_)) => {
            let problem = "value and resource selectors are mutually exclusive";
            return Err(ReplaceError::of(replacement.place, problem));
        }
        (Some(source), None) => source,
        (None, value) => return Ok((value.clone().unwrap_or_else(Node::null), None)),
    };
    let mut selected = objects
        .iter()
        .zip(ids)
        .enumerate()
        .filter(|(_, (_, ids))| source.matches(ids));
    let Some((at, (object, _))) = selected.next() else {
        return Err(ReplaceError::of(
            source.place,
            format!("nothing selected by {}:{}", source.id, source.path),
        ));
    };
    if let Some((_, (other, _))) = selected.next() {
        let problem = format!(
            "multiple matches for selector {}:{}: {} and {} are two",
            source.id,
            source.path,
            object.id(),
            other.id()
        );
        return Err(ReplaceError::of(source.place, problem));
    }
    let path = split_path_smart(&source.path, '.');
    let field = lookup(object.node(), &path).map_err(|fault| ReplaceError::Field {
        context: format!("error looking up replacement source {}", source.path),
        fault,
    })?;
    let Some(field) = field.filter(|field| !is_empty(field)) else {
        let problem = format!(
            "fieldPath `{}` is missing for replacement source {}",
            source.path, source.id
        );
        return Err(ReplaceError::of(source.place, problem));
    };
    match source.options.as_ref().filter(|options| !options.delimiter.is_empty()) {
        Some(options) => Ok((options.refine(field)?, None)),
        None => Ok((field.clone(), Some((at, path)))),
    }
}

/// Whether a node is null, or an empty mapping or list.
fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => node.is_null(),
        Value::Mapping(mapping) => mapping.entries.is_empty(),
        Value::Sequence(sequence) => sequence.items.is_empty(),
    }
}

/// A target with compiled selectors and paths.
struct Target<'a> {
    target: &'a ReplacementTarget,
    options: FieldOptions,
    select: SelectorMatcher,
    reject: Vec<SelectorMatcher>,
    paths: Vec<(&'a str, Vec<CompactString>)>,
}

impl<'a> Target<'a> {
    fn new(target: &'a ReplacementTarget) -> Result<Self, ReplaceError> {
        let Some(select) = target.select.clone() else {
            return Err(ReplaceError::of(
                target.place,
                "target must specify resources to select",
            ));
        };
        let reject = target.reject.iter().map(|selector| selector.clone().matcher());
        if target.paths.iter().any(|path| path.matches('.').count() > MAX_PARTS) {
            let problem = format!("a path of a field has more than {MAX_PARTS} parts");
            return Err(ReplaceError::of(target.place, problem));
        }
        Ok(Self {
            options: target.options.clone().unwrap_or_default(),
            select: select.matcher()?,
            reject: reject.collect::<Result<_, _>>()?,
            paths: target
                .paths
                .iter()
                .map(|path| (path.as_str(), split_path_smart(path, '.')))
                .collect(),
            target,
        })
    }

    /// Whether an object matches. After a rejection by labels or annotations nothing else is compared, as in kustomize.
    fn matches(&self, object: &Node, ids: &[Id]) -> Result<bool, ReplaceError> {
        if !self.select.matches_metadata(object)? {
            return Ok(false);
        }
        for reject in &self.reject {
            let selector = reject.selector();
            let by_metadata = !(selector.annotations.is_empty() && selector.labels.is_empty());
            if by_metadata && reject.matches_metadata(object)? {
                return Ok(false);
            }
        }
        for reject in self.reject.iter().filter(|reject| !reject.selector().id.is_empty()) {
            if any(ids, reject)? {
                return Ok(false);
            }
        }
        Ok(any(ids, &self.select)?)
    }

    fn put(&self, object: &mut dyn Object, value: &Node) -> Result<(), ReplaceError> {
        if self.paths.iter().any(|(_, parts)| is_annotation(parts)) {
            object.show_annotations();
        }
        let (node, shared) = object.tree();
        for (path, parts) in &self.paths {
            self.put_at(node, path, parts, value)?;
            shared.settle(node);
        }
        Ok(())
    }

    fn put_at(&self, node: &mut Node, path: &str, parts: &[CompactString], value: &Node) -> Result<(), ReplaceError> {
        let new = self.options.new_field(value);
        let mut search = Search {
            new: new.as_ref(),
            found: &mut |field| self.options.set(field, value),
        };
        if structured::replace(node, parts, &mut search) {
            return Ok(());
        }
        let or_create = if new.is_some() { "find or create" } else { "find" };
        let context = format!(
            "unable to {or_create} field {path:?} in replacement target {}",
            Id::of(node)
        );
        match search.run(node, parts) {
            Ok(0) => Err(ReplaceError::of(self.target.place, context)),
            Ok(_) => Ok(()),
            Err(fault) => Err(ReplaceError::Field { context, fault }),
        }
    }
}

fn is_annotation(parts: &[CompactString]) -> bool {
    matches!(parts, [metadata, annotations, ..] if metadata == "metadata" && annotations == "annotations")
}

fn any(ids: &[Id], selector: &SelectorMatcher) -> Result<bool, super::SelectorError> {
    for id in ids {
        if selector.matches_id(id)? {
            return Ok(true);
        }
    }
    Ok(false)
}
