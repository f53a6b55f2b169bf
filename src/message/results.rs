//! Results of an update as templates see them: `.Updated` and `.Changed`.
//!
//! Where Flux walks over Go maps in random order (`.Updated.Images`, `.Changed.Changes`, and the lists of
//! `.Objects`), the order here is that of files, objects in a file, and changes of an object.

use super::{
    data::{Data, Era, ImageChange},
    images::{IMAGE_REF, IMAGE_REFS, field, image_ref},
    names::{OBJECT_IDENTIFIER, object_identifier},
};
use crate::template::{
    Args, Failure, Field, Function, Host, Map, Method, NamedType, STRING, Slice, Struct, StructType, Type, Value,
};
use std::collections::{BTreeMap, HashSet};

/// `.Updated`: `update.Result` of the days of v1beta1.
pub(super) static UPDATED: Type = Type::Struct(&UPDATED_STRUCT);
static UPDATED_STRUCT: StructType = StructType {
    name: "update.Result",
    fields: &[Field::new("Files", &FILES)],
    methods: &[
        method("Images", &IMAGE_REFS, images),
        method("Objects", &OBJECT_IMAGES, |host, args| {
            objects(host, &field(args, "Files")?, &OBJECT_IMAGES, |file| match file {
                Value::Struct(file) => file.field("Objects").cloned(),
                _ => None,
            })
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
        method("Changes", &CHANGES, changes),
        method("ImageResult", &UPDATED, beyond),
        method("Objects", &OBJECT_CHANGES, changed_objects),
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
        method("Changes", &CHANGES, changes),
        method("Objects", &OBJECT_CHANGES, changed_objects),
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
pub(super) fn updated(data: &Data) -> Value {
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
            (object_identifier(object), Value::Slice(Slice::new(&IMAGE_REF, refs)))
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
pub(super) fn changed(data: &Data, updated: Value) -> Value {
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
            .map(|(object, changes)| (object_identifier(object), Value::Slice(Slice::new(&CHANGE, changes))));
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

/// A method of `T` without arguments.
pub(super) const fn method(
    name: &'static str,
    result: &'static Type,
    body: fn(&mut Host<'_>, Args<'_>) -> Result<Value, Failure>,
) -> Method {
    Method {
        pointer: false,
        function: Function::new(name, &[], result, body),
    }
}

/// What a method gives that stands for a field of another era: the first value beyond the declared fields.
pub(super) fn beyond(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    beyond_by(args, 0)
}

/// The value `index` places beyond the declared fields.
pub(super) fn beyond_by(args: Args<'_>, index: usize) -> Result<Value, Failure> {
    match args.value(0)? {
        Value::Struct(receiver) => receiver.fields().get(receiver.of.fields.len() + index).cloned(),
        _ => None,
    }
    .ok_or_else(|| Failure::new("internal: the receiver has no such value"))
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
                if seen.insert(texts(image)) {
                    found.push(image.clone());
                }
            }
        }
    }
    Ok(Value::Slice(or_nil(&IMAGE_REF, found)))
}

fn changed_objects(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let all = objects(host, &field(args, "FileChanges")?, &OBJECT_CHANGES_MAP, |file| {
        Some(file.clone())
    })?;
    Ok(Value::Named(&OBJECT_CHANGES_NAMED, Box::new(all)))
}

/// Objects of all files with what is listed for each, file after file (CONTRACT IUA-058, N-016).
fn objects(
    host: &mut Host<'_>,
    files: &Value,
    of: &'static Type,
    in_file: impl Fn(&Value) -> Option<Value>,
) -> Result<Value, Failure> {
    let Type::Map(key, list) = *of else {
        return Ok(Value::Nil);
    };
    let Type::Slice(item) = *list else {
        return Ok(Value::Nil);
    };
    let found = Map::new(key, list, []);
    for (_, file) in entries(files) {
        for (object, listed) in in_file(&file).as_ref().map(entries).unwrap_or_default() {
            let listed = listed.items().unwrap_or_default();
            host.step(listed.len() as u64)?;
            let mut all = found
                .get(&object)
                .and_then(|all| all.items().map(<[_]>::to_vec))
                .unwrap_or_default();
            all.extend_from_slice(listed);
            found.insert(object, Value::Slice(Slice::new(item, all)));
        }
    }
    Ok(Value::Map(found))
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

/// What tells one struct of texts from another.
fn texts(value: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    collect(value, &mut key);
    key
}

fn collect(value: &Value, key: &mut Vec<u8>) {
    match value {
        Value::String(text) => {
            key.extend_from_slice(&text.len().to_le_bytes());
            key.extend_from_slice(text);
        }
        Value::Struct(of) => of.fields().iter().for_each(|field| collect(field, key)),
        _ => {}
    }
}
