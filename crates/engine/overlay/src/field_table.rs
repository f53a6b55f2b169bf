//! The fields of a kustomization in kustomize v5.8.1 (`api/types` v0.21.1), the version that Flux reads and writes them
//! with: other fields are dropped when a kustomization is rewritten.

/// The type of a value.
#[derive(Debug)]
pub(super) enum Shape {
    Text,
    /// A string with a Go type of its own.
    NamedText(&'static str),
    Flag,
    /// An integer, and its Go type.
    Number(&'static str),
    /// A mapping, unchanged.
    Anything,
    /// A mapping of strings.
    TextMap,
    List(&'static Self),
    Struct(&'static Struct),
    /// A pointer: an empty value is not absent.
    Pointer(&'static Self),
}

#[derive(Debug)]
pub(super) struct Struct {
    pub name: &'static str,
    pub fields: &'static [Field],
}

#[derive(Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub shape: Shape,
    /// Whether it is written even when empty.
    pub always: bool,
    /// The path of embedded structs, each with a dot; numbers in them do not become strings.
    pub embedded: &'static str,
}

impl Shape {
    /// The name of the Go type.
    pub(super) fn go_name(&self) -> String {
        match self {
            Self::Text => "string".to_owned(),
            Self::Flag => "bool".to_owned(),
            Self::Number(name) | Self::NamedText(name) => (*name).to_owned(),
            Self::Anything => "map[string]interface {}".to_owned(),
            Self::TextMap => "map[string]string".to_owned(),
            Self::List(Self::Pointer(of)) => format!("[]*{}", of.go_name()),
            Self::List(of) => format!("[]{}", of.go_name()),
            Self::Struct(of) => format!("types.{}", of.name),
            Self::Pointer(of) => of.go_name(),
        }
    }
}

const fn field(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        shape,
        always: false,
        embedded: "",
    }
}

const fn always(name: &'static str, shape: Shape) -> Field {
    Field {
        always: true,
        ..field(name, shape)
    }
}

const fn embedded(within: &'static str, name: &'static str, shape: Shape) -> Field {
    Field {
        embedded: within,
        ..field(name, shape)
    }
}

const TEXTS: Shape = Shape::List(&Shape::Text);

static FIELD_OPTIONS: Struct = Struct {
    name: "FieldOptions",
    fields: &[
        field("delimiter", Shape::Text),
        field("index", Shape::Number("int")),
        field("encoding", Shape::Text),
        field("create", Shape::Flag),
    ],
};

static LEGACY_SORT_OPTIONS: Struct = Struct {
    name: "LegacySortOptions",
    fields: &[always("orderFirst", TEXTS), always("orderLast", TEXTS)],
};

static FIELD_SELECTOR: Struct = Struct {
    name: "FieldSelector",
    fields: &[field("fieldPath", Shape::Text)],
};

static TARGET: Struct = Struct {
    name: "Target",
    fields: &[
        field("apiVersion", Shape::Text),
        embedded("Gvk.", "group", Shape::Text),
        embedded("Gvk.", "version", Shape::Text),
        embedded("Gvk.", "kind", Shape::Text),
        always("name", Shape::Text),
        field("namespace", Shape::Text),
    ],
};

static TARGET_SELECTOR: Struct = Struct {
    name: "TargetSelector",
    fields: &[
        always("select", Shape::Pointer(&Shape::Struct(&SELECTOR))),
        field("reject", Shape::List(&Shape::Pointer(&Shape::Struct(&SELECTOR)))),
        field("fieldPaths", TEXTS),
        field("options", Shape::Pointer(&Shape::Struct(&FIELD_OPTIONS))),
    ],
};

static SOURCE_SELECTOR: Struct = Struct {
    name: "SourceSelector",
    fields: &[
        embedded("ResId.Gvk.", "group", Shape::Text),
        embedded("ResId.Gvk.", "version", Shape::Text),
        embedded("ResId.Gvk.", "kind", Shape::Text),
        embedded("ResId.", "name", Shape::Text),
        embedded("ResId.", "namespace", Shape::Text),
        field("fieldPath", Shape::Text),
        field("options", Shape::Pointer(&Shape::Struct(&FIELD_OPTIONS))),
    ],
};

static PATCH_ARGS: Struct = Struct {
    name: "PatchArgs",
    fields: &[
        field("allowNameChange", Shape::Flag),
        field("allowKindChange", Shape::Flag),
    ],
};

static SELECTOR: Struct = Struct {
    name: "Selector",
    fields: &[
        embedded("ResId.Gvk.", "group", Shape::Text),
        embedded("ResId.Gvk.", "version", Shape::Text),
        embedded("ResId.Gvk.", "kind", Shape::Text),
        embedded("ResId.", "name", Shape::Text),
        embedded("ResId.", "namespace", Shape::Text),
        field("annotationSelector", Shape::Text),
        field("labelSelector", Shape::Text),
    ],
};

static FIELD_SPEC: Struct = Struct {
    name: "FieldSpec",
    fields: &[
        embedded("Gvk.", "group", Shape::Text),
        embedded("Gvk.", "version", Shape::Text),
        embedded("Gvk.", "kind", Shape::Text),
        field("path", Shape::Text),
        field("create", Shape::Flag),
    ],
};

static GENERATOR_OPTIONS: Struct = Struct {
    name: "GeneratorOptions",
    fields: &[
        field("labels", Shape::TextMap),
        field("annotations", Shape::TextMap),
        field("disableNameSuffixHash", Shape::Flag),
        field("immutable", Shape::Flag),
    ],
};

static HELM_CHART_ARGS: Struct = Struct {
    name: "HelmChartArgs",
    fields: &[
        field("chartName", Shape::Text),
        field("chartVersion", Shape::Text),
        field("chartRepoUrl", Shape::Text),
        field("chartHome", Shape::Text),
        field("chartRepoName", Shape::Text),
        field("helmBin", Shape::Text),
        field("helmHome", Shape::Text),
        field("values", Shape::Text),
        field("valuesLocal", Shape::Anything),
        field("valuesMerge", Shape::Text),
        field("releaseName", Shape::Text),
        field("releaseNamespace", Shape::Text),
        field("extraArgs", TEXTS),
    ],
};

static HELM_CHART: Struct = Struct {
    name: "HelmChart",
    fields: &[
        field("name", Shape::Text),
        field("version", Shape::Text),
        field("repo", Shape::Text),
        field("releaseName", Shape::Text),
        field("namespace", Shape::Text),
        field("additionalValuesFiles", TEXTS),
        field("valuesFile", Shape::Text),
        field("valuesInline", Shape::Anything),
        field("valuesMerge", Shape::Text),
        field("includeCRDs", Shape::Flag),
        field("skipHooks", Shape::Flag),
        field("apiVersions", TEXTS),
        field("kubeVersion", Shape::Text),
        field("nameTemplate", Shape::Text),
        field("skipTests", Shape::Flag),
        field("debug", Shape::Flag),
        field("devel", Shape::Flag),
    ],
};

static HELM_GLOBALS: Struct = Struct {
    name: "HelmGlobals",
    fields: &[field("chartHome", Shape::Text), field("configHome", Shape::Text)],
};

static SECRET_ARGS: Struct = Struct {
    name: "SecretArgs",
    fields: &[
        embedded("GeneratorArgs.", "namespace", Shape::Text),
        embedded("GeneratorArgs.", "name", Shape::Text),
        embedded("GeneratorArgs.", "behavior", Shape::Text),
        embedded("GeneratorArgs.KvPairSources.", "literals", TEXTS),
        embedded("GeneratorArgs.KvPairSources.", "files", TEXTS),
        embedded("GeneratorArgs.KvPairSources.", "envs", TEXTS),
        embedded("GeneratorArgs.KvPairSources.", "env", Shape::Text),
        embedded(
            "GeneratorArgs.",
            "options",
            Shape::Pointer(&Shape::Struct(&GENERATOR_OPTIONS)),
        ),
        field("type", Shape::Text),
    ],
};

static CONFIG_MAP_ARGS: Struct = Struct {
    name: "ConfigMapArgs",
    fields: &[
        embedded("GeneratorArgs.", "namespace", Shape::Text),
        embedded("GeneratorArgs.", "name", Shape::Text),
        embedded("GeneratorArgs.", "behavior", Shape::Text),
        embedded("GeneratorArgs.KvPairSources.", "literals", TEXTS),
        embedded("GeneratorArgs.KvPairSources.", "files", TEXTS),
        embedded("GeneratorArgs.KvPairSources.", "envs", TEXTS),
        embedded("GeneratorArgs.KvPairSources.", "env", Shape::Text),
        embedded(
            "GeneratorArgs.",
            "options",
            Shape::Pointer(&Shape::Struct(&GENERATOR_OPTIONS)),
        ),
    ],
};

static SORT_OPTIONS: Struct = Struct {
    name: "SortOptions",
    fields: &[
        field("order", Shape::Text),
        field(
            "legacySortOptions",
            Shape::Pointer(&Shape::Struct(&LEGACY_SORT_OPTIONS)),
        ),
    ],
};

static VAR: Struct = Struct {
    name: "Var",
    fields: &[
        always("name", Shape::Text),
        always("objref", Shape::Struct(&TARGET)),
        always("fieldref", Shape::Struct(&FIELD_SELECTOR)),
    ],
};

static REPLICA: Struct = Struct {
    name: "Replica",
    fields: &[field("name", Shape::Text), always("count", Shape::Number("int64"))],
};

static REPLACEMENT_FIELD: Struct = Struct {
    name: "ReplacementField",
    fields: &[
        embedded(
            "Replacement.",
            "source",
            Shape::Pointer(&Shape::Struct(&SOURCE_SELECTOR)),
        ),
        embedded(
            "Replacement.",
            "targets",
            Shape::List(&Shape::Pointer(&Shape::Struct(&TARGET_SELECTOR))),
        ),
        embedded("Replacement.", "sourceValue", Shape::Pointer(&Shape::Text)),
        field("path", Shape::Text),
    ],
};

static IMAGE: Struct = Struct {
    name: "Image",
    fields: &[
        field("name", Shape::Text),
        field("newName", Shape::Text),
        field("tagSuffix", Shape::Text),
        field("newTag", Shape::Text),
        field("digest", Shape::Text),
    ],
};

static PATCH: Struct = Struct {
    name: "Patch",
    fields: &[
        field("path", Shape::Text),
        field("patch", Shape::Text),
        field("target", Shape::Pointer(&Shape::Struct(&SELECTOR))),
        field("options", Shape::Pointer(&Shape::Struct(&PATCH_ARGS))),
    ],
};

static LABEL: Struct = Struct {
    name: "Label",
    fields: &[
        field("pairs", Shape::TextMap),
        field("includeSelectors", Shape::Flag),
        field("includeTemplates", Shape::Flag),
        field("fields", Shape::List(&Shape::Struct(&FIELD_SPEC))),
    ],
};

static OBJECT_META: Struct = Struct {
    name: "ObjectMeta",
    fields: &[
        field("name", Shape::Text),
        field("namespace", Shape::Text),
        field("labels", Shape::TextMap),
        field("annotations", Shape::TextMap),
    ],
};

pub(super) static KUSTOMIZATION: Struct = Struct {
    name: "Kustomization",
    fields: &[
        embedded("TypeMeta.", "kind", Shape::Text),
        embedded("TypeMeta.", "apiVersion", Shape::Text),
        field("metadata", Shape::Pointer(&Shape::Struct(&OBJECT_META))),
        field("openapi", Shape::TextMap),
        field("namePrefix", Shape::Text),
        field("nameSuffix", Shape::Text),
        field("namespace", Shape::Text),
        field("commonLabels", Shape::TextMap),
        field("labels", Shape::List(&Shape::Struct(&LABEL))),
        field("commonAnnotations", Shape::TextMap),
        field(
            "patchesStrategicMerge",
            Shape::List(&Shape::NamedText("types.PatchStrategicMerge")),
        ),
        field("patchesJson6902", Shape::List(&Shape::Struct(&PATCH))),
        field("patches", Shape::List(&Shape::Struct(&PATCH))),
        field("images", Shape::List(&Shape::Struct(&IMAGE))),
        field("imageTags", Shape::List(&Shape::Struct(&IMAGE))),
        field("replacements", Shape::List(&Shape::Struct(&REPLACEMENT_FIELD))),
        field("replicas", Shape::List(&Shape::Struct(&REPLICA))),
        field("vars", Shape::List(&Shape::Struct(&VAR))),
        field("sortOptions", Shape::Pointer(&Shape::Struct(&SORT_OPTIONS))),
        field("resources", TEXTS),
        field("components", TEXTS),
        field("crds", TEXTS),
        field("bases", TEXTS),
        field("configMapGenerator", Shape::List(&Shape::Struct(&CONFIG_MAP_ARGS))),
        field("secretGenerator", Shape::List(&Shape::Struct(&SECRET_ARGS))),
        field("helmGlobals", Shape::Pointer(&Shape::Struct(&HELM_GLOBALS))),
        field("helmCharts", Shape::List(&Shape::Struct(&HELM_CHART))),
        field(
            "helmChartInflationGenerator",
            Shape::List(&Shape::Struct(&HELM_CHART_ARGS)),
        ),
        field("generatorOptions", Shape::Pointer(&Shape::Struct(&GENERATOR_OPTIONS))),
        field("configurations", TEXTS),
        field("generators", TEXTS),
        field("transformers", TEXTS),
        field("validators", TEXTS),
        field("buildMetadata", TEXTS),
    ],
};
