//! Results of an update in templates: `.Updated` and `.Changed`.
//!
//! Where Flux iterates over Go maps in random order (`.Updated.Images`, `.Changed.Changes`, and the lists of
//! `.Objects`), the order here is that of files, objects in a file, and changes of an object.

use super::{
    data::{Data, Era, FieldChange, ImageChange, ObjectIdentifier},
    identity::put_texts,
    images::{IMAGE_REF, IMAGE_REFS, image_identity, image_ref},
    names::OBJECT_IDENTIFIER,
    receiver::{beyond, field},
    shared::Shared,
};
use bumpwright_template::{
    Args, Failure, Field, Host, Map, Method, NamedType, STRING, Slice, Struct, StructType, Type, Value,
};
use bumpwright_text::Parts;
use std::{collections::HashSet, ops::Range, rc::Rc};

/// `.Updated`: `update.Result` of v1beta1.
pub(super) static UPDATED: Type = Type::Struct(&UPDATED_STRUCT);
static UPDATED_STRUCT: StructType = StructType {
    name: "update.Result",
    fields: &[Field::new("Files", &FILES)],
    methods: &[
        Method::new("Images", &[], &IMAGE_REFS, images),
        Method::new("Objects", &[], &OBJECT_IMAGES, updated_objects),
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

/// `.Changed` of v1. `ImageResult`, which v1 dropped, is a method there: it can be read, and is not printed.
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

/// `.Changed` of v1beta2.
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
pub(super) fn updated<'d>(data: &'d Data, shared: &mut Shared<'d>) -> Value {
    let list = |of_object: &[&'d ImageChange], shared: &mut Shared<'d>| {
        let images = of_object.iter().map(|change| image_ref(change, shared));
        Slice::sharing(&IMAGE_REF, images.collect())
    };
    let file = |objects: Vec<(Value, Value)>| {
        let objects = Value::Map(Map::in_order(&OBJECT_IDENTIFIER, &IMAGE_REFS, objects));
        Value::Struct(Struct::new(&FILE_RESULT_STRUCT, [objects]))
    };
    let files = files(
        &data.images,
        |change| (&change.file, &change.object),
        list,
        file,
        shared,
    );
    let files = Value::Map(Map::in_order(&STRING, &FILE_RESULT, files));
    Value::Struct(Struct::new(&UPDATED_STRUCT, [files]))
}

/// The value of `.Changed`; `updated` is that of its `ImageResult`.
pub(super) fn changed<'d>(data: &'d Data, shared: &mut Shared<'d>, updated: Value) -> Value {
    let list = |of_object: &[&'d FieldChange], shared: &mut Shared<'d>| {
        let changes = of_object.iter().map(|change| {
            let fields = shared.texts([&change.old, &change.new, &change.setter]);
            Value::Struct(Struct::new(&CHANGE_STRUCT, fields))
        });
        Slice::sharing(&CHANGE, changes.collect())
    };
    let file = |objects| object_changes(Map::in_order(&OBJECT_IDENTIFIER, &CHANGES, objects));
    let files = files(
        &data.changes,
        |change| (&change.file, &change.object),
        list,
        file,
        shared,
    );
    let files = if files.is_empty() {
        Map::nil(&STRING, &OBJECT_CHANGES)
    } else {
        Map::in_order(&STRING, &OBJECT_CHANGES, files)
    };
    Value::Struct(match data.era {
        Era::V1 => Struct::new(&CHANGED_STRUCT, [Value::Map(files), updated]),
        Era::V1beta1 | Era::V1beta2 => Struct::new(&CHANGED_V2_STRUCT, [updated, Value::Map(files)]),
    })
}

/// Each file with the value of `file` for its objects, each with the value of `list` for its changes.
fn files<'d, C>(
    changes: &'d [C],
    place: impl Fn(&'d C) -> (&'d str, &'d ObjectIdentifier),
    list: impl Fn(&[&'d C], &mut Shared<'d>) -> Slice,
    file: impl Fn(Vec<(Value, Value)>) -> Value,
    shared: &mut Shared<'d>,
) -> Vec<(Value, Value)> {
    let mut sorted: Vec<&C> = changes.iter().collect();
    sorted.sort_by(|a, b| place(a).cmp(&place(b)));
    let in_files = sorted.chunk_by(|a, b| place(a).0 == place(b).0);
    let files = in_files.filter_map(|in_file| {
        let of_objects = in_file.chunk_by(|a, b| place(a).1 == place(b).1);
        let objects = of_objects.filter_map(|of_object| {
            let (_, object) = place(of_object.first()?);
            Some((shared.identifier(object), Value::Slice(list(of_object, shared))))
        });
        let objects = objects.collect();
        let (name, _) = place(in_file.first()?);
        Some((name.into(), file(objects)))
    });
    files.collect()
}

fn object_changes(map: Map) -> Value {
    Value::named(&OBJECT_CHANGES_NAMED, Value::Map(map))
}

/// The changes of all files, each once.
fn changes(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let mut all = Vec::new();
    for (_, objects) in entries(&field(args, "FileChanges")?).iter() {
        for (_, changes) in entries(objects).iter() {
            all.extend_from_slice(changes.elements());
        }
    }
    each_once(host, &CHANGE, all, change_identity)
}

fn change_identity(change: &Value) -> Option<[&Value; 3]> {
    match change {
        Value::Struct(of) => <&[Value; 3]>::try_from(of.fields()).ok().map(<[Value; 3]>::each_ref),
        _ => None,
    }
}

/// All images, each once (IUA-057).
fn images(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let mut all = Vec::new();
    for (_, file) in entries(&field(args, "Files")?).iter() {
        let Some(objects) = objects_of_file(file) else { continue };
        for (_, images) in entries(&objects).iter() {
            all.extend_from_slice(images.elements());
        }
    }
    each_once(host, &IMAGE_REF, all, image_identity)
}

/// The items without duplicates, by their texts. Go appends to a nil slice: without items it stays nil.
fn each_once(
    host: &mut Host<'_>,
    item: &'static Type,
    mut all: Vec<Value>,
    identity: fn(&Value) -> Option<[&Value; 3]>,
) -> Result<Value, Failure> {
    host.step(all.len() as u64)?;
    let mut seen = HashSet::with_capacity(all.len());
    let is_new = |value| seen.insert(identity(value).map(|texts| texts.map(text_of)));
    let mut news = all.iter().map(is_new).collect::<Vec<bool>>().into_iter();
    all.retain(|_| news.next() == Some(true));
    Ok(Value::Slice(if all.is_empty() {
        Slice::nil(item)
    } else {
        Slice::new(item, all)
    }))
}

fn text_of(value: &Value) -> &[u8] {
    match value {
        Value::String(text) => text,
        _ => b"",
    }
}

/// The objects of all files with their images, file after file (IUA-058).
fn updated_objects(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let objects = objects(host, &field(args, "Files")?, &IMAGE_REF, objects_of_file)?;
    Ok(Value::Map(Map::in_order(&OBJECT_IDENTIFIER, &IMAGE_REFS, objects)))
}

/// The objects of all files with their changes, file after file (N-016).
fn changed_objects(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let objects = objects(host, &field(args, "FileChanges")?, &CHANGE, |file| Some(file.clone()))?;
    Ok(object_changes(Map::in_order(&OBJECT_IDENTIFIER, &CHANGES, objects)))
}

fn objects(
    host: &mut Host<'_>,
    files: &Value,
    item: &'static Type,
    in_file: impl Fn(&Value) -> Option<Value>,
) -> Result<Vec<(Value, Value)>, Failure> {
    // The concatenated keys of all objects: sorting by bytes is faster than by values.
    let mut keys = Vec::new();
    let mut found = Vec::new();
    for (_, file) in entries(files).iter() {
        let Some(objects) = in_file(file) else { continue };
        for (object, listed) in entries(&objects).iter() {
            host.step(listed.elements().len() as u64)?;
            let start = keys.len();
            put_texts(object, &mut keys);
            found.push((start..keys.len(), object.clone(), listed.clone()));
        }
    }
    let key = |(range, ..): &(Range<usize>, Value, Value)| keys.part(range.clone());
    found.sort_by(|a, b| key(a).cmp(key(b)));
    let objects = found.chunk_by(|a, b| key(a) == key(b)).filter_map(|same| match same {
        [] => None,
        [(_, object, only)] => Some((object.clone(), only.clone())),
        [(_, object, _), ..] => {
            let items = same.iter().flat_map(|(_, _, listed)| listed.elements());
            Some((object.clone(), Value::Slice(Slice::new(item, items.cloned().collect()))))
        }
    });
    Ok(objects.collect())
}

fn objects_of_file(file: &Value) -> Option<Value> {
    match file {
        Value::Struct(file) => file.field("Objects").cloned(),
        _ => None,
    }
}

fn entries(map: &Value) -> Rc<Vec<(Value, Value)>> {
    match map.bare() {
        Value::Map(map) => map.entries(),
        _ => Rc::default(),
    }
}
