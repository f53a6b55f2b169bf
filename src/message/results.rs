//! Results of an update as templates see them: `.Updated` and `.Changed`.
//!
//! Where Flux walks over Go maps in random order (`.Updated.Images`, `.Changed.Changes`, and the lists of
//! `.Objects`), the order here is that of files, objects in a file, and changes of an object.

use super::{
    data::{Data, Era, ImageChange},
    identity::texts,
    images::{IMAGE_REF, IMAGE_REFS, image_identity, image_ref},
    names::{Identifiers, OBJECT_IDENTIFIER},
    receiver::{beyond, field},
};
use crate::template::{
    Args, Failure, Field, Host, Map, Method, NamedType, STRING, Slice, Struct, StructType, Type, Value,
};
use std::collections::{BTreeMap, HashSet};

/// `.Updated`: `update.Result` of the days of v1beta1.
pub(super) static UPDATED: Type = Type::Struct(&UPDATED_STRUCT);
static UPDATED_STRUCT: StructType = StructType {
    name: "update.Result",
    fields: &[Field::new("Files", &FILES)],
    methods: &[
        Method::new("Images", &[], &IMAGE_REFS, images),
        Method::new("Objects", &[], &OBJECT_IMAGES, |host, args| {
            let listed = objects(host, &field(args, "Files")?, |file| match file {
                Value::Struct(file) => file.field("Objects").cloned(),
                _ => None,
            })?;
            Ok(Value::Map(lists(listed, &IMAGE_REFS, &IMAGE_REF)))
        }),
    ],
};

static FILES: Type = Type::Map(&STRING, &FILE_RESULT);
static FILE_RESULT: Type = Type::Struct(&FILE_RESULT_STRUCT);
static FILE_RESULT_STRUCT: StructType = StructType {
    name: "update.FileResult",
    fields: &[Field::new("Objects", &OBJECT_IMAGES)],
    methods: &[],
};
static OBJECT_IMAGES: Type = Type::Map(&OBJECT_IDENTIFIER, &IMAGE_REFS);

/// `.Changed` as v1 has it. `ImageResult`, which v1 dropped, is a method there: it can be read, and is not printed.
pub(super) static CHANGED: Type = Type::Struct(&CHANGED_STRUCT);
static CHANGED_STRUCT: StructType = StructType {
    name: "update.Result",
    fields: &[Field::new("FileChanges", &FILE_CHANGES)],
    methods: &[
        Method::new("Changes", &[], &CHANGES, changes),
        Method::new("ImageResult", &[], &UPDATED, |_, args| beyond(args, 0)),
        Method::new("Objects", &[], &OBJECT_CHANGES, changed_objects),
    ],
};

/// `.Changed` as v1beta2 has it.
pub(super) static CHANGED_V2: Type = Type::Struct(&CHANGED_V2_STRUCT);
static CHANGED_V2_STRUCT: StructType = StructType {
    name: "update.ResultV2",
    fields: &[
        Field::new("ImageResult", &UPDATED),
        Field::new("FileChanges", &FILE_CHANGES),
    ],
    methods: &[
        Method::new("Changes", &[], &CHANGES, changes),
        Method::new("Objects", &[], &OBJECT_CHANGES, changed_objects),
    ],
};

static FILE_CHANGES: Type = Type::Map(&STRING, &OBJECT_CHANGES);
static OBJECT_CHANGES: Type = Type::Named(&OBJECT_CHANGES_NAMED);
static OBJECT_CHANGES_NAMED: NamedType = NamedType {
    name: "update.ObjectChanges",
    underlying: &OBJECT_CHANGES_MAP,
    methods: &[],
};
static OBJECT_CHANGES_MAP: Type = Type::Map(&OBJECT_IDENTIFIER, &CHANGES);
static CHANGES: Type = Type::Slice(&CHANGE);
static CHANGE: Type = Type::Struct(&CHANGE_STRUCT);
static CHANGE_STRUCT: StructType = StructType {
    name: "update.Change",
    fields: &[
        Field::new("OldValue", &STRING),
        Field::new("NewValue", &STRING),
        Field::new("Setter", &STRING),
    ],
    methods: &[],
};

/// The value of `.Updated`.
pub(super) fn updated<'d>(data: &'d Data, identifiers: &mut Identifiers<'d>) -> Value {
    let mut files: BTreeMap<&str, BTreeMap<_, Vec<&ImageChange>>> = BTreeMap::new();
    for change in &data.images {
        let refs = files
            .entry(&change.file)
            .or_default()
            .entry(&change.object)
            .or_default();
        refs.push(change);
    }
    let files = files.into_iter().map(|(file, objects)| {
        let objects = objects.into_iter().map(|(object, refs)| {
            let refs = refs.into_iter().map(image_ref).collect();
            (identifiers.value(object), Value::Slice(Slice::new(&IMAGE_REF, refs)))
        });
        let objects = Value::Map(Map::new(&OBJECT_IDENTIFIER, &IMAGE_REFS, objects));
        (
            file.into(),
            Value::Struct(Struct::new(&FILE_RESULT_STRUCT, vec![objects])),
        )
    });
    let files = Value::Map(Map::new(&STRING, &FILE_RESULT, files));
    Value::Struct(Struct::new(&UPDATED_STRUCT, vec![files]))
}

/// The value of `.Changed`; `updated` is that of its `ImageResult`.
pub(super) fn changed<'d>(data: &'d Data, identifiers: &mut Identifiers<'d>, updated: Value) -> Value {
    let mut files: BTreeMap<&str, BTreeMap<_, Vec<Value>>> = BTreeMap::new();
    for change in &data.changes {
        let changes = files
            .entry(&change.file)
            .or_default()
            .entry(&change.object)
            .or_default();
        let fields = [&change.old, &change.new, &change.setter].map(|text| text.as_str().into());
        changes.push(Value::Struct(Struct::new(&CHANGE_STRUCT, fields.into())));
    }
    let has_files = !files.is_empty();
    let files = files.into_iter().map(|(file, objects)| {
        let objects = objects
            .into_iter()
            .map(|(object, changes)| (identifiers.value(object), Value::Slice(Slice::new(&CHANGE, changes))));
        (
            file.into(),
            object_changes(Map::new(&OBJECT_IDENTIFIER, &CHANGES, objects)),
        )
    });
    let files = match has_files {
        true => Map::new(&STRING, &OBJECT_CHANGES, files),
        false => Map::nil(&STRING, &OBJECT_CHANGES),
    };
    Value::Struct(match data.era {
        Era::V1 => Struct::new(&CHANGED_STRUCT, vec![Value::Map(files), updated]),
        Era::V1beta1 | Era::V1beta2 => Struct::new(&CHANGED_V2_STRUCT, vec![updated, Value::Map(files)]),
    })
}

fn object_changes(map: Map) -> Value {
    Value::Named(&OBJECT_CHANGES_NAMED, Box::new(Value::Map(map)))
}

/// Every change once, whatever file it is in.
fn changes(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for (_, objects) in entries(&field(args, "FileChanges")?) {
        for (_, changes) in entries(&objects) {
            for change in changes.items().unwrap_or_default() {
                host.step(1)?;
                if seen.insert(texts(change)) {
                    found.push(change.clone());
                }
            }
        }
    }
    Ok(Value::Slice(or_nil(&CHANGE, found)))
}

/// All images that took part, each once (CONTRACT IUA-057).
fn images(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for (_, file) in entries(&field(args, "Files")?) {
        let Value::Struct(file) = file else { continue };
        for (_, refs) in file.field("Objects").map(entries).unwrap_or_default() {
            for image in refs.items().unwrap_or_default() {
                host.step(1)?;
                if seen.insert(image_identity(image)) {
                    found.push(image.clone());
                }
            }
        }
    }
    Ok(Value::Slice(or_nil(&IMAGE_REF, found)))
}

fn changed_objects(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let listed = objects(host, &field(args, "FileChanges")?, |file| Some(file.clone()))?;
    Ok(object_changes(lists(listed, &CHANGES, &CHANGE)))
}

/// Objects of all files with what is listed for each, file after file (CONTRACT IUA-058, N-016).
fn objects(
    host: &mut Host<'_>,
    files: &Value,
    in_file: impl Fn(&Value) -> Option<Value>,
) -> Result<Vec<(Value, Vec<Value>)>, Failure> {
    // By the order of the keys, so that the map has nothing to sort.
    let mut found: BTreeMap<Vec<u8>, (Value, Vec<Value>)> = BTreeMap::new();
    for (_, file) in entries(files) {
        for (object, listed) in in_file(&file).as_ref().map(entries).unwrap_or_default() {
            let listed = listed.items().unwrap_or_default();
            host.step(listed.len() as u64)?;
            let (_, all) = found.entry(texts(&object)).or_insert_with(|| (object, Vec::new()));
            all.extend_from_slice(listed);
        }
    }
    Ok(found.into_values().collect())
}

/// A map from objects to lists of a type.
fn lists(listed: Vec<(Value, Vec<Value>)>, of: &'static Type, item: &'static Type) -> Map {
    let listed = listed
        .into_iter()
        .map(|(object, items)| (object, Value::Slice(Slice::new(item, items))));
    Map::new(&OBJECT_IDENTIFIER, of, listed)
}

fn entries(map: &Value) -> Vec<(Value, Value)> {
    match map.bare() {
        Value::Map(map) => map.entries(),
        _ => Vec::new(),
    }
}

/// Go appends to a nil slice: without items it stays nil.
fn or_nil(item: &'static Type, items: Vec<Value>) -> Slice {
    match items.is_empty() {
        true => Slice::nil(item),
        false => Slice::new(item, items),
    }
}
