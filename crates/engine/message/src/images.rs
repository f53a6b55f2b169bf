//! Images in templates: Flux's `update.ImageRef` over go-containerregistry's `name` (IUA-052 to IUA-056).

use super::{data::ImageChange, names::NAMESPACED_NAME, receiver::field, shared::Shared};
use bumpwright_policy::{Identifier, registry_scheme};
use bumpwright_template::{
    Args, BOOL, BYTES, Failure, Field, Host, Method, STRING, Slice, Struct, StructType, Type, UINT8, UintKind, Value,
};

/// The interface of the items of image lists.
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
        Method::new("Context", &[], &REPOSITORY_TYPE, context_value),
        IDENTIFIER,
        NAME,
        Method::new("Policy", &[], &NAMESPACED_NAME, |_, args| field(args, "policy")),
        Method::new("Registry", &[], &STRING, |_, args| Ok(parts(args)?.registry.into())),
        Method::new("Repository", &[], &STRING, |_, args| {
            Ok(parts(args)?.repository().into())
        }),
        SCOPE,
        TEXT,
    ],
};

static TAG_TYPE: Type = Type::Struct(&TAG);
static TAG: StructType = StructType {
    name: "name.Tag",
    fields: &[
        Field::embedded("Repository", &REPOSITORY_TYPE),
        Field::new("tag", &STRING),
        Field::new("original", &STRING),
    ],
    methods: &[
        Method::new("Context", &[], &REPOSITORY_TYPE, context_value),
        IDENTIFIER,
        MARSHAL_JSON,
        NAME,
        SCOPE,
        TEXT,
        Method::new("TagStr", &[], &STRING, identifier),
    ],
};

static DIGEST_TYPE: Type = Type::Struct(&DIGEST);
static DIGEST: StructType = StructType {
    name: "name.Digest",
    fields: &[
        Field::embedded("Repository", &REPOSITORY_TYPE),
        Field::new("digest", &STRING),
        Field::new("original", &STRING),
    ],
    methods: &[
        Method::new("Context", &[], &REPOSITORY_TYPE, context_value),
        Method::new("DigestStr", &[], &STRING, identifier),
        IDENTIFIER,
        MARSHAL_JSON,
        NAME,
        SCOPE,
        TEXT,
    ],
};

// The methods of `name.Reference`, which tags and digests share.
const IDENTIFIER: Method = Method::new("Identifier", &[], &STRING, identifier);
const MARSHAL_JSON: Method = Method::new("MarshalJSON", &[], &BYTES, |_, args| json(&parts(args)?.text));
const NAME: Method = Method::new("Name", &[], &STRING, |_, args| Ok(parts(args)?.name().into()));
const SCOPE: Method = Method::new("Scope", &TEXT_PARAMS, &STRING, scope);
const TEXT: Method = Method::new("String", &[], &STRING, text);
static TEXT_PARAMS: [&Type; 1] = [&STRING];

static REPOSITORY_TYPE: Type = Type::Struct(&REPOSITORY);
static REPOSITORY: StructType = StructType {
    name: "name.Repository",
    fields: &[
        Field::embedded("Registry", &REGISTRY_TYPE),
        Field::new("repository", &STRING),
    ],
    methods: &[
        Method::new("Digest", &TEXT_PARAMS, &DIGEST_TYPE, |_, args| named(args, '@')),
        Method::new("MarshalJSON", &[], &BYTES, |_, args| json(&parts(args)?.context())),
        Method::new("Name", &[], &STRING, context),
        Method::new("RepositoryStr", &[], &STRING, |_, args| {
            Ok(parts(args)?.repository().into())
        }),
        SCOPE,
        Method::new("String", &[], &STRING, context),
        Method::new("Tag", &TEXT_PARAMS, &TAG_TYPE, |_, args| named(args, ':')),
    ],
};

static REGISTRY_TYPE: Type = Type::Struct(&REGISTRY);
static REGISTRY: StructType = StructType {
    name: "name.Registry",
    fields: &[Field::new("insecure", &BOOL), Field::new("registry", &STRING)],
    methods: &[
        Method::new("MarshalJSON", &[], &BYTES, |_, args| json(&parts(args)?.registry)),
        Method::new("Name", &[], &STRING, registry),
        Method::new("RegistryStr", &[], &STRING, registry),
        Method::new("Scheme", &[], &STRING, |_, args| {
            Ok(registry_scheme(&parts(args)?.registry).into())
        }),
        Method::new("Scope", &TEXT_PARAMS, &STRING, |_, _| Ok("registry:catalog:*".into())),
        Method::new("String", &[], &STRING, registry),
    ],
};

/// The fields of a struct of this file and of its inner structs; missing ones are empty, as in a copy by `deepCopy`.
#[derive(Default)]
struct Parts {
    registry: String,
    /// The path below the registry, as written.
    path: String,
    identifier: String,
    /// The separator of repository and identifier.
    separator: char,
    /// The reference as written.
    text: String,
}

impl Parts {
    fn read(&mut self, value: &Value) {
        let Value::Struct(from) = value else { return };
        for (field, value) in from.of.fields.iter().zip(from.fields()) {
            let slot = match field.name {
                "Reference" | "Repository" | "Registry" => {
                    self.read(value);
                    continue;
                }
                "registry" => &mut self.registry,
                "repository" => &mut self.path,
                "tag" | "digest" => &mut self.identifier,
                "original" => &mut self.text,
                _ => continue,
            };
            if let Value::String(text) = value {
                *slot = text.lossy().into_owned();
            }
            match field.name {
                "tag" => self.separator = ':',
                "digest" => self.separator = '@',
                _ => {}
            }
        }
    }

    /// The repository, with Docker Hub's `library/` where it is implied.
    fn repository(&self) -> String {
        if self.registry == "index.docker.io" && !self.path.contains('/') {
            format!("library/{}", self.path)
        } else {
            self.path.clone()
        }
    }

    fn context(&self) -> String {
        if self.registry.is_empty() {
            self.repository()
        } else {
            format!("{}/{}", self.registry, self.repository())
        }
    }

    fn name(&self) -> String {
        format!("{}{}{}", self.context(), self.separator, self.identifier)
    }

    fn context_value(&self) -> Value {
        repository_value(registry_value(self.registry.as_str().into()), self.path.as_str().into())
    }

    fn reference_value(&self) -> Value {
        let of = if self.separator == '@' { &DIGEST } else { &TAG };
        let [identifier, text] = [&self.identifier, &self.text].map(|text| text.as_str().into());
        Value::Struct(Struct::new(of, [self.context_value(), identifier, text]))
    }
}

/// A registry by its name.
pub(super) fn registry_value(name: Value) -> Value {
    Value::Struct(Struct::new(&REGISTRY, [false.into(), name]))
}

fn repository_value(registry: Value, path: Value) -> Value {
    Value::Struct(Struct::new(&REPOSITORY, [registry, path]))
}

/// An image with the policy that chose it.
pub(super) fn image_ref<'d>(change: &'d ImageChange, shared: &mut Shared<'d>) -> Value {
    let image = &change.image;
    let of = match image.identifier() {
        Identifier::Tag(_) => &TAG,
        Identifier::Digest(_) => &DIGEST,
    };
    let [path, identifier, text] = shared.texts([image.path(), image.identifier().as_str(), image.text()]);
    let repository = repository_value(shared.registry(image), path);
    let reference = Value::Struct(Struct::new(of, [repository, identifier, text]));
    Value::Struct(Struct::new(&IMAGE, [reference, shared.name(&change.policy)]))
}

/// The parts of the receiver.
fn parts(args: Args<'_>) -> Result<Parts, Failure> {
    let mut parts = Parts::default();
    parts.read(args.value(0)?);
    Ok(parts)
}

/// The reference as written, which printing needs, without parsing it.
fn text(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(original(args.value(0)?).cloned().unwrap_or_else(|| "".into()))
}

/// The text that a reference, or the reference in an image, was parsed from.
fn original(value: &Value) -> Option<&Value> {
    let Value::Struct(of) = value else { return None };
    if std::ptr::eq(of.of, &IMAGE) {
        original(of.field("Reference")?)
    } else {
        of.field("original")
    }
}

/// The identity of an image of a policy: its text, which determines its other parts, and the two names of the policy.
pub(super) fn image_identity(image: &Value) -> Option<[&Value; 3]> {
    let Value::Struct(of) = image else { return None };
    match of.field("policy")? {
        Value::Struct(policy) => Some([original(image)?, policy.field("Namespace")?, policy.field("Name")?]),
        _ => None,
    }
}

fn identifier(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(parts(args)?.identifier.into())
}

fn context_value(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(parts(args)?.context_value())
}

fn context(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(parts(args)?.context().into())
}

fn registry(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(parts(args)?.registry.into())
}

fn scope(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let action = args.text(1)?.lossy();
    Ok(format!("repository:{}:{action}", parts(args)?.repository()).into())
}

/// A reference in the receiver, a repository.
fn named(args: Args<'_>, separator: char) -> Result<Value, Failure> {
    let mut parts = parts(args)?;
    parts.identifier = args.text(1)?.lossy().into_owned();
    parts.separator = separator;
    parts.text = parts.name();
    Ok(parts.reference_value())
}

/// A JSON string. References have no characters that JSON escapes.
fn json(text: &str) -> Result<Value, Failure> {
    let bytes = format!("\"{text}\"").into_bytes();
    let bytes = bytes.into_iter().map(|byte| Value::Uint(UintKind::Uint8, byte.into()));
    Ok(Value::Slice(Slice::new(&UINT8, bytes.collect())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::{data::Data, render::render};
    use crate::{ImageChange, ObjectIdentifier, ObjectName};
    use bumpwright_policy::{Reference, Validation};
    use bumpwright_template::{Limits, World};

    struct NoWorld;

    impl World for NoWorld {
        fn now(&self) -> (i64, u32) {
            (0, 0)
        }

        fn random(&self, _: &mut [u8]) {}
    }

    fn rendered(template: &str) -> String {
        let data = Data {
            images: vec![ImageChange {
                file: "a.yaml".to_owned(),
                object: ObjectIdentifier::default(),
                image: Reference::parse("docker.io/redis:7", Validation::Weak).unwrap(),
                policy: ObjectName::default(),
            }],
            ..Data::default()
        };
        let bytes = render(template, &data, Limits::default(), &NoWorld).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// As real Go renders them.
    #[test]
    fn what_images_say_of_themselves() {
        for (template, expected) in [
            (
                "{{ with first .Updated.Images }}{{ . }} {{ .Repository }} {{ .Name }} {{ .Context.Scheme }}{{ end }}",
                "docker.io/redis:7 library/redis index.docker.io/library/redis:7 https",
            ),
            (
                "{{ (first .Updated.Images).Context.Tag \"x\" }} {{ ((first .Updated.Images).Context.Digest \"y\").Scope \"pull\" }}",
                "index.docker.io/library/redis:x repository:library/redis:pull",
            ),
            (
                "{{ toJson (first .Updated.Images) }}",
                r#"{"Reference":"docker.io/redis:7"}"#,
            ),
            // A copy has no unexported fields.
            (
                "{{ deepCopy .Updated.Images }}{{ (first (deepCopy .Updated.Images)).Name }}",
                "[]:",
            ),
            ("{{ toJson (deepCopy .Updated.Images) }}", r#"[{"Reference":""}]"#),
        ] {
            assert_eq!(rendered(template), expected, "{template}");
        }
    }
}
