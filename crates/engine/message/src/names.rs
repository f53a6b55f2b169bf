//! Names of objects in templates.

use super::receiver::field;
use bumpwright_template::{ANY, Args, Failure, Field, Method, STRING, Struct, StructType, Text, Type, Value};

/// `types.NamespacedName`, printed as `namespace/name` (IUA-048).
pub(super) static NAMESPACED_NAME: Type = Type::Struct(&NAMESPACED_NAME_STRUCT);
/// `update.ObjectIdentifier`: four fields, promoted from kyaml's structs (IUA-051).
pub(super) static OBJECT_IDENTIFIER: Type = Type::Struct(&OBJECT_IDENTIFIER_STRUCT);

static NAMESPACED_NAME_STRUCT: StructType = StructType {
    name: "types.NamespacedName",
    fields: &[Field::new("Namespace", &STRING), Field::new("Name", &STRING)],
    methods: &[
        Method::new("MarshalLog", &[], &ANY, |_, args| {
            let fields = vec![field(args, "Name")?, field(args, "Namespace")?];
            Ok(Value::Struct(Struct::new(&MARSHAL_LOG, fields)))
        }),
        Method::new("String", &[], &STRING, |_, args| {
            let (namespace, name) = (part(args, "Namespace")?, part(args, "Name")?);
            Ok(Value::text([&*namespace, b"/", &*name].concat()))
        }),
    ],
};

static MARSHAL_LOG: StructType = StructType {
    name: r#"struct { Name string "json:\"name\""; Namespace string "json:\"namespace,omitempty\"" }"#,
    fields: &[
        Field::new("Name", &STRING).json("name"),
        Field::new("Namespace", &STRING).json("namespace,omitempty"),
    ],
    methods: &[],
};

static OBJECT_IDENTIFIER_STRUCT: StructType = StructType {
    name: "update.ObjectIdentifier",
    fields: &[Field::embedded("ResourceIdentifier", &RESOURCE_IDENTIFIER)],
    methods: &[],
};

static RESOURCE_IDENTIFIER: Type = Type::Struct(&RESOURCE_IDENTIFIER_STRUCT);
static RESOURCE_IDENTIFIER_STRUCT: StructType = StructType {
    name: "yaml.ResourceIdentifier",
    fields: &[
        Field::embedded("TypeMeta", &TYPE_META).json(",inline"),
        Field::embedded("NameMeta", &NAME_META).json(",inline"),
    ],
    methods: &[],
};

static TYPE_META: Type = Type::Struct(&TYPE_META_STRUCT);
static TYPE_META_STRUCT: StructType = StructType {
    name: "yaml.TypeMeta",
    fields: &[
        Field::new("APIVersion", &STRING).json("apiVersion,omitempty"),
        Field::new("Kind", &STRING).json("kind,omitempty"),
    ],
    methods: &[],
};

static NAME_META: Type = Type::Struct(&NAME_META_STRUCT);
static NAME_META_STRUCT: StructType = StructType {
    name: "yaml.NameMeta",
    fields: &[
        Field::new("Name", &STRING).json("name,omitempty"),
        Field::new("Namespace", &STRING).json("namespace,omitempty"),
    ],
    methods: &[],
};

/// A namespaced name from namespace and name.
pub(super) fn namespaced_name(texts: [Value; 2]) -> Value {
    Value::Struct(Struct::new(&NAMESPACED_NAME_STRUCT, texts))
}

pub(super) fn identifier(kind: Value, name: Value, namespace: Value) -> Value {
    let name = Value::Struct(Struct::new(&NAME_META_STRUCT, [name, namespace]));
    let resource = Value::Struct(Struct::new(&RESOURCE_IDENTIFIER_STRUCT, [kind, name]));
    Value::Struct(Struct::new(&OBJECT_IDENTIFIER_STRUCT, [resource]))
}

/// The part of an identifier that objects of a kind share.
pub(super) fn kind(api_version: &str, kind: &str) -> Value {
    Value::Struct(Struct::new(&TYPE_META_STRUCT, [api_version.into(), kind.into()]))
}

fn part(args: Args<'_>, name: &str) -> Result<Text, Failure> {
    match field(args, name)? {
        Value::String(text) => Ok(text),
        _ => Err(Failure::new(format!("internal: {name} is not a string"))),
    }
}
