//! Images as templates see them: Flux' `update.ImageRef` over go-containerregistry's `name` (CONTRACT IUA-052 to
//! IUA-056).

use super::{
    data::ImageChange,
    names::{NAMESPACED_NAME, namespaced_name},
};
use crate::{
    policy::{Identifier, Reference, Validation},
    template::{
        Args, BOOL, BYTES, Failure, Field, Function, Host, Method, STRING, Slice, Struct, StructType, Type, UINT8,
        UintKind, Value,
    },
};

/// The interface that lists of images hold.
pub(super) static IMAGE_REF: Type = Type::Interface("update.ImageRef");
/// `[]update.ImageRef`
pub(super) static IMAGE_REFS: Type = Type::Slice(&IMAGE_REF);

static REFERENCE: Type = Type::Interface("name.Reference");

static IMAGE: StructType = StructType {
    name: "update.imageRef",
    fields: &[
        Field::embedded("Reference", &REFERENCE),
        Field::new("policy", &NAMESPACED_NAME),
    ],
    methods: &[
        method("Context", &[], &REPOSITORY_TYPE, |_, args| {
            Ok(repository(&reference_of(args)?))
        }),
        method("Identifier", &[], &STRING, |_, args| identifier(args)),
        method("Name", &[], &STRING, |_, args| Ok(reference_of(args)?.name().into())),
        method("Policy", &[], &NAMESPACED_NAME, |_, args| field(args, "policy")),
        method("Registry", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.registry().into())
        }),
        method("Repository", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.repository().into())
        }),
        method("Scope", &[&STRING], &STRING, scope),
        method("String", &[], &STRING, |_, args| Ok(reference_of(args)?.text().into())),
    ],
};

static TAG: StructType = StructType {
    name: "name.Tag",
    fields: &[
        Field::embedded("Repository", &REPOSITORY_TYPE),
        Field::new("tag", &STRING),
        Field::new("original", &STRING),
    ],
    methods: &[
        method("Context", &[], &REPOSITORY_TYPE, |_, args| {
            Ok(repository(&reference_of(args)?))
        }),
        method("Identifier", &[], &STRING, |_, args| identifier(args)),
        method("MarshalJSON", &[], &BYTES, |_, args| json(reference_of(args)?.text())),
        method("Name", &[], &STRING, |_, args| Ok(reference_of(args)?.name().into())),
        method("Scope", &[&STRING], &STRING, scope),
        method("String", &[], &STRING, |_, args| Ok(reference_of(args)?.text().into())),
        method("TagStr", &[], &STRING, |_, args| identifier(args)),
    ],
};

static DIGEST: StructType = StructType {
    name: "name.Digest",
    fields: &[
        Field::embedded("Repository", &REPOSITORY_TYPE),
        Field::new("digest", &STRING),
        Field::new("original", &STRING),
    ],
    methods: &[
        method("Context", &[], &REPOSITORY_TYPE, |_, args| {
            Ok(repository(&reference_of(args)?))
        }),
        method("DigestStr", &[], &STRING, |_, args| identifier(args)),
        method("Identifier", &[], &STRING, |_, args| identifier(args)),
        method("MarshalJSON", &[], &BYTES, |_, args| json(reference_of(args)?.text())),
        method("Name", &[], &STRING, |_, args| Ok(reference_of(args)?.name().into())),
        method("Scope", &[&STRING], &STRING, scope),
        method("String", &[], &STRING, |_, args| Ok(reference_of(args)?.text().into())),
    ],
};

static REPOSITORY_TYPE: Type = Type::Struct(&REPOSITORY);

static REPOSITORY: StructType = StructType {
    name: "name.Repository",
    fields: &[
        Field::embedded("Registry", &REGISTRY_TYPE),
        Field::new("repository", &STRING),
    ],
    methods: &[
        method("MarshalJSON", &[], &BYTES, |_, args| {
            json(&reference_of(args)?.context())
        }),
        method("Name", &[], &STRING, |_, args| Ok(reference_of(args)?.context().into())),
        method("RepositoryStr", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.repository().into())
        }),
        method("Scope", &[&STRING], &STRING, scope),
        method("String", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.context().into())
        }),
    ],
};

static REGISTRY_TYPE: Type = Type::Struct(&REGISTRY);

static REGISTRY: StructType = StructType {
    name: "name.Registry",
    fields: &[Field::new("insecure", &BOOL), Field::new("registry", &STRING)],
    methods: &[
        method("MarshalJSON", &[], &BYTES, |_, args| {
            json(reference_of(args)?.registry())
        }),
        method("Name", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.registry().into())
        }),
        method("RegistryStr", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.registry().into())
        }),
        method("Scheme", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.scheme().into())
        }),
        method("Scope", &[&STRING], &STRING, |_, _| Ok("registry:catalog:*".into())),
        method("String", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.registry().into())
        }),
    ],
};

/// A method of `T`.
const fn method(
    name: &'static str,
    params: &'static [&'static Type],
    result: &'static Type,
    body: fn(&mut Host<'_>, Args<'_>) -> Result<Value, Failure>,
) -> Method {
    Method {
        pointer: false,
        function: Function::new(name, params, result, body),
    }
}

/// An image with the policy that chose it.
pub(super) fn image_ref(change: &ImageChange) -> Value {
    let fields = vec![
        reference(&change.image),
        namespaced_name(&change.policy),
        text_of(&change.image),
    ];
    Value::Struct(Struct::new(&IMAGE, fields))
}

/// Every struct here carries the text of its reference beyond its fields, so that methods can read it again.
fn text_of(reference: &Reference) -> Value {
    reference.text().into()
}

fn reference(reference: &Reference) -> Value {
    let of = match reference.identifier() {
        Identifier::Tag(_) => &TAG,
        Identifier::Digest(_) => &DIGEST,
    };
    let identifier = reference.identifier().as_str().into();
    let fields = vec![
        repository(reference),
        identifier,
        text_of(reference),
        text_of(reference),
    ];
    Value::Struct(Struct::new(of, fields))
}

fn repository(reference: &Reference) -> Value {
    let registry = vec![false.into(), reference.registry().into(), text_of(reference)];
    let registry = Value::Struct(Struct::new(&REGISTRY, registry));
    Value::Struct(Struct::new(
        &REPOSITORY,
        vec![registry, reference.path().into(), text_of(reference)],
    ))
}

/// The reference that the receiver was made of.
fn reference_of(args: Args<'_>) -> Result<Reference, Failure> {
    let unknown = || Failure::new("internal: the receiver is no image reference");
    let Value::Struct(receiver) = args.value(0)? else {
        return Err(unknown());
    };
    let Some(Value::String(text)) = receiver.fields().get(receiver.of.fields.len()) else {
        return Err(unknown());
    };
    Reference::parse(&text.lossy(), Validation::Weak).map_err(|error| Failure::new(error.to_string()))
}

fn identifier(args: Args<'_>) -> Result<Value, Failure> {
    Ok(reference_of(args)?.identifier().as_str().into())
}

fn scope(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let action = args.text(1)?.lossy();
    Ok(format!("repository:{}:{action}", reference_of(args)?.repository()).into())
}

/// A field of the receiver.
pub(super) fn field(args: Args<'_>, name: &str) -> Result<Value, Failure> {
    match args.value(0)? {
        Value::Struct(receiver) => receiver.field(name).cloned(),
        _ => None,
    }
    .ok_or_else(|| Failure::new(format!("internal: the receiver has no {name}")))
}

/// A JSON string. References hold nothing that JSON would escape.
fn json(text: &str) -> Result<Value, Failure> {
    let bytes = format!("\"{text}\"").into_bytes();
    let bytes = bytes.into_iter().map(|byte| Value::Uint(UintKind::Uint8, byte.into()));
    Ok(Value::Slice(Slice::new(&UINT8, bytes.collect())))
}
