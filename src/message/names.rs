//! Names of objects as templates see them.

use super::{
    data::{ObjectIdentifier, ObjectName},
    receiver::field,
};
use crate::template::{ANY, Args, Failure, Field, Method, STRING, Struct, StructType, Text, Type, Value};

/// `types.NamespacedName`, printed as `namespace/name` (CONTRACT IUA-048).
pub(super) static NAMESPACED_NAME: Type = Type::Struct(&NAMESPACED_NAME_STRUCT);
/// `update.ObjectIdentifier`: four fields, by way of kyaml's structs (CONTRACT IUA-051).
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

/// A namespaced name.
pub(super) fn namespaced_name(name: &ObjectName) -> Value {
    let fields = vec![name.namespace.as_str().into(), name.name.as_str().into()];
    Value::Struct(Struct::new(&NAMESPACED_NAME_STRUCT, fields))
}

/// Object identifiers as values. Those of a kind share it, which makes comparing them as keys of maps cheap.
#[derive(Default)]
pub(super) struct Identifiers<'d> {
    /// There are few, mostly: a search takes less than hashing would.
    kinds: Vec<((&'d str, &'d str), Value)>,
}

impl<'d> Identifiers<'d> {
    /// The value of an identifier.
    pub(super) fn value(&mut self, object: &'d ObjectIdentifier) -> Value {
        let name = pair(&NAME_META_STRUCT, &object.name, &object.namespace);
        let resource = Struct::new(&RESOURCE_IDENTIFIER_STRUCT, vec![self.kind(object), name]);
        Value::Struct(Struct::new(&OBJECT_IDENTIFIER_STRUCT, vec![Value::Struct(resource)]))
    }

    fn kind(&mut self, object: &'d ObjectIdentifier) -> Value {
        let kind = (object.api_version.as_str(), object.kind.as_str());
        if let Some((_, value)) = self.kinds.iter().find(|(known, _)| *known == kind) {
            return value.clone();
        }
        let value = pair(&TYPE_META_STRUCT, kind.0, kind.1);
        self.kinds.push((kind, value.clone()));
        value
    }
}

fn pair(of: &'static StructType, a: &str, b: &str) -> Value {
    Value::Struct(Struct::new(of, vec![a.into(), b.into()]))
}

fn part(args: Args<'_>, name: &str) -> Result<Text, Failure> {
    match field(args, name)? {
        Value::String(text) => Ok(text),
        _ => Err(Failure::new(format!("internal: {name} is no string"))),
    }
}
