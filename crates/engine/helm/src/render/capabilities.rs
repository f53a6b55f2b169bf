//! `.Capabilities`: the versions of Kubernetes, of its APIs and of Helm.

use crate::release::Capabilities;
use bumpwright_template::{BOOL, Field, Method, NamedType, Pointer, STRING, STRINGS, Struct, StructType, Type, Value};

static CAPABILITIES: StructType = StructType {
    name: "common.Capabilities",
    fields: &[
        Field::new("KubeVersion", &KUBE_VERSION_TYPE),
        Field::new("APIVersions", &VERSION_SET_TYPE),
        Field::new("HelmVersion", &BUILD_INFO_TYPE),
    ],
    methods: &[],
};
static CAPABILITIES_TYPE: Type = Type::Struct(&CAPABILITIES);

static KUBE_VERSION: StructType = StructType {
    name: "common.KubeVersion",
    fields: &[
        Field::new("Version", &STRING),
        Field::new("normalizedVersion", &STRING),
        Field::new("Major", &STRING),
        Field::new("Minor", &STRING),
    ],
    methods: &[
        Method::new("String", &[], &STRING, |_, args| {
            field(args.value(0)?, "normalizedVersion")
        })
        .of_pointer(),
        Method::new("GitVersion", &[], &STRING, |_, args| field(args.value(0)?, "Version")).of_pointer(),
    ],
};
static KUBE_VERSION_TYPE: Type = Type::Struct(&KUBE_VERSION);

static VERSION_SET: NamedType = NamedType {
    name: "common.VersionSet",
    underlying: &STRINGS,
    methods: &[Method::new("Has", &[&STRING], &BOOL, |_, args| {
        let wanted = args.text(1)?;
        let items = args.slice(0)?.items();
        let has = items
            .iter()
            .any(|item| matches!(item, Value::String(text) if text == wanted));
        Ok(Value::Bool(has))
    })],
};
static VERSION_SET_TYPE: Type = Type::Named(&VERSION_SET);

static BUILD_INFO: StructType = StructType {
    name: "version.BuildInfo",
    fields: &[
        Field::new("Version", &STRING).json("version,omitempty"),
        Field::new("GitCommit", &STRING).json("git_commit,omitempty"),
        Field::new("GitTreeState", &STRING).json("git_tree_state,omitempty"),
        Field::new("GoVersion", &STRING).json("go_version,omitempty"),
        Field::new("KubeClientVersion", &STRING).json("kube_client_version"),
    ],
    methods: &[],
};
static BUILD_INFO_TYPE: Type = Type::Struct(&BUILD_INFO);

fn field(of: &Value, name: &str) -> Result<Value, bumpwright_template::Failure> {
    match of {
        Value::Struct(of) => Ok(Value::or_nil(of.field(name))),
        _ => Ok(Value::text("")),
    }
}

/// A `*common.Capabilities`.
pub(super) fn capabilities_value(capabilities: &Capabilities) -> Value {
    let text = |text: &String| Value::text(text.as_str());
    let kube = &capabilities.kube_version;
    let kube = [&kube.version, &kube.normalized, &kube.major, &kube.minor].map(text);
    let versions = Value::strings(capabilities.api_versions.iter().map(String::as_str));
    let helm = ["v4.3", "", "", "go1.27.0", "v1.37"].map(Value::from);
    let fields = [
        Value::Struct(Struct::new(&KUBE_VERSION, kube)),
        Value::named(&VERSION_SET, versions),
        Value::Struct(Struct::new(&BUILD_INFO, helm)),
    ];
    let value = Value::Struct(Struct::new(&CAPABILITIES, fields));
    Value::Pointer(Pointer::new(&CAPABILITIES_TYPE, value))
}
