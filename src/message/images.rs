//! Images as templates see them: Flux' `update.ImageRef` over go-containerregistry's `name` (CONTRACT IUA-052 to
//! IUA-056).

use super::{
    data::ImageChange,
    names::{NAMESPACED_NAME, namespaced_name},
    receiver::{beyond, field},
};
use crate::{
    policy::{Identifier, Reference, Validation},
    template::{
        Args, BOOL, BYTES, Failure, Field, Host, Method, STRING, Slice, Struct, StructType, Type, UINT8, UintKind,
        Value,
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
        CONTEXT,
        IDENTIFIER,
        NAME,
        Method::new("Policy", &[], &NAMESPACED_NAME, |_, args| field(args, "policy")),
        Method::new("Registry", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.registry().into())
        }),
        Method::new("Repository", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.repository().into())
        }),
        SCOPE,
        TEXT,
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
        CONTEXT,
        IDENTIFIER,
        MARSHAL_JSON,
        NAME,
        SCOPE,
        TEXT,
        Method::new("TagStr", &[], &STRING, identifier),
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
        CONTEXT,
        Method::new("DigestStr", &[], &STRING, identifier),
        IDENTIFIER,
        MARSHAL_JSON,
        NAME,
        SCOPE,
        TEXT,
    ],
};

// What `name.Reference` asks for, and what tags and digests do alike.
const CONTEXT: Method = Method::new("Context", &[], &REPOSITORY_TYPE, |_, args| {
    Ok(repository(&reference_of(args)?))
});
const IDENTIFIER: Method = Method::new("Identifier", &[], &STRING, identifier);
const MARSHAL_JSON: Method = Method::new("MarshalJSON", &[], &BYTES, |_, args| json(reference_of(args)?.text()));
const NAME: Method = Method::new("Name", &[], &STRING, |_, args| Ok(reference_of(args)?.name().into()));
const SCOPE: Method = Method::new("Scope", &ACTION, &STRING, scope);
static ACTION: [&Type; 1] = [&STRING];
const TEXT: Method = Method::new("String", &[], &STRING, |_, args| beyond(args, 0));

static REPOSITORY_TYPE: Type = Type::Struct(&REPOSITORY);

static REPOSITORY: StructType = StructType {
    name: "name.Repository",
    fields: &[
        Field::embedded("Registry", &REGISTRY_TYPE),
        Field::new("repository", &STRING),
    ],
    methods: &[
        Method::new("MarshalJSON", &[], &BYTES, |_, args| {
            json(&reference_of(args)?.context())
        }),
        Method::new("Name", &[], &STRING, context),
        Method::new("RepositoryStr", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.repository().into())
        }),
        SCOPE,
        Method::new("String", &[], &STRING, context),
    ],
};

static REGISTRY_TYPE: Type = Type::Struct(&REGISTRY);

static REGISTRY: StructType = StructType {
    name: "name.Registry",
    fields: &[Field::new("insecure", &BOOL), Field::new("registry", &STRING)],
    methods: &[
        Method::new("MarshalJSON", &[], &BYTES, |_, args| {
            json(reference_of(args)?.registry())
        }),
        Method::new("Name", &[], &STRING, registry),
        Method::new("RegistryStr", &[], &STRING, registry),
        Method::new("Scheme", &[], &STRING, |_, args| {
            Ok(reference_of(args)?.scheme().into())
        }),
        Method::new("Scope", &[&STRING], &STRING, |_, _| Ok("registry:catalog:*".into())),
        Method::new("String", &[], &STRING, registry),
    ],
};

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
    let Value::String(text) = beyond(args, 0)? else {
        return Err(Failure::new("internal: the receiver is no image reference"));
    };
    Reference::parse(&text.lossy(), Validation::Weak).map_err(|error| Failure::new(error.to_string()))
}

fn identifier(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(reference_of(args)?.identifier().as_str().into())
}

fn context(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(reference_of(args)?.context().into())
}

fn registry(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(reference_of(args)?.registry().into())
}

fn scope(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let action = args.text(1)?.lossy();
    Ok(format!("repository:{}:{action}", reference_of(args)?.repository()).into())
}

/// A JSON string. References hold nothing that JSON would escape.
fn json(text: &str) -> Result<Value, Failure> {
    let bytes = format!("\"{text}\"").into_bytes();
    let bytes = bytes.into_iter().map(|byte| Value::Uint(UintKind::Uint8, byte.into()));
    Ok(Value::Slice(Slice::new(&UINT8, bytes.collect())))
}
