//! The objects of a release: its chart rendered, and what helm-controller 1.6 does to the text before Helm applies it.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_api::{ObjectId, ObjectName, group_kind};
use bumpwright_diff::SecretMask;
use bumpwright_helm::{
    Capabilities, Chart, Document, HelmError, Hook, ParsedTemplates, Release, ReleaseError, Rendered, Seeded, Settings,
    render_sharing,
};
use bumpwright_json::Texts;
use bumpwright_kustomize::tree::{MemoryTree, Sealed};
use bumpwright_overlay::{Hidden, OverlayError};
use bumpwright_yaml::{FileId, ReadError, WriteError, json_of_node, read_resources};
use serde_json::{Map, Value, json};

use sha2::{Digest as _, Sha256};

use super::chart_crds::ChartCrds;
use super::failure::{ReleaseFailure, ReleasePart};
use super::spec::{GROUP, ReleaseSpec};
use super::values::Merged;
use crate::build::one::built;
use crate::build::settings::Settings as FleetSettings;
use crate::build::view::{FleetObject, ObjectTemplates, Problem, Product};
use crate::release::kept_inputs::Digest;

/// Bytes that the render of a tenant's release may produce, also those that it drops again: half of the memory of
/// builds that a tenant has by default.
const TENANT_RENDER: usize = 64 << 20;

/// Whether the kinds of custom resources are namespaced, by group and kind.
pub(super) type Scopes = BTreeMap<(String, String), bool>;

/// What all releases of a cluster share.
pub(super) struct Cluster<'c> {
    pub(super) capabilities: &'c Capabilities,
    pub(super) scopes: &'c Scopes,
    pub(super) schemas: &'c bumpwright_schemas::Schemas,
    pub(super) settings: &'c FleetSettings,
    pub(super) is_tenant: bool,
    /// Confidential values of Kustomizations, which may be among those of releases.
    pub(super) hidden: BTreeSet<String>,
}

impl Cluster<'_> {
    /// The digest of what all releases share.
    pub(super) fn digest(&self) -> Digest {
        let mut digest = Sha256::new();
        digest.update(format!("{:?} {:?} ", self.capabilities, self.scopes));
        // Kinds that releases have in common with Kubernetes are those of its version.
        digest.update(self.schemas.minor());
        digest.finalize().into()
    }
}

/// Why the objects of a release are not had.
#[derive(Debug, thiserror::Error)]
enum ObjectsError {
    /// A file of the chart, or what a template gives.
    #[error("{path}: {problem}")]
    Text {
        path: String,
        #[source]
        problem: TextError,
    },
    #[error("spec.postRenderers: {problem}")]
    PostRenderer {
        /// Its number.
        entry: usize,
        #[source]
        problem: PostRenderError,
    },
}

/// Why a post-renderer has no result.
#[derive(Debug, thiserror::Error)]
enum PostRenderError {
    #[error(transparent)]
    Invalid(#[from] serde_json::Error),
    #[error(transparent)]
    Build(#[from] Box<OverlayError>),
}

impl ObjectsError {
    /// The part of the release that it is of.
    fn part(&self) -> ReleasePart {
        match self {
            Self::Text { .. } => ReleasePart::Values(Vec::new()),
            Self::PostRenderer { entry, .. } => ReleasePart::Field(format!("/spec/postRenderers/{entry}")),
        }
    }
}

/// The part of a release that an error of Helm is of.
fn part(error: &HelmError) -> ReleasePart {
    match error {
        HelmError::Schema(faults) => ReleasePart::Values(faults.pointers.clone()),
        HelmError::Values(_) | HelmError::Template { .. } | HelmError::Document { .. } => {
            ReleasePart::Values(Vec::new())
        }
        HelmError::Release(ReleaseError::Name(_)) => ReleasePart::Field("/spec/releaseName".to_owned()),
        HelmError::Chart(_) | HelmError::Release(_) => ReleasePart::Chart,
    }
}

/// Why a text has no objects.
#[derive(Debug, thiserror::Error)]
enum TextError {
    #[error(transparent)]
    Syntax(#[from] Box<ReadError>),
    #[error("{}", .0.go())]
    Value(#[from] WriteError),
}

/// Renders a release.
///
/// # Errors
/// The chart cannot be rendered with these values, or what comes out is not valid; without the values of Secrets.
pub(super) fn product(
    cluster: &Cluster<'_>,
    name: &ObjectName,
    spec: &ReleaseSpec,
    chart: &Chart,
    merged: &Merged,
    parsed: &ParsedTemplates,
) -> Result<Product, Problem> {
    let hidden = hidden(merged, &cluster.hidden);
    let mask = SecretMask::new(BTreeSet::new(), hidden.texts.iter().cloned());
    let failed = |error: &dyn std::error::Error, part: ReleasePart| {
        Problem::Release(ReleaseFailure::new(mask.hide(error.to_string().trim_end()), part))
    };
    let release = Release {
        name: spec.release_name(name),
        namespace: spec.namespace(name).to_owned(),
        is_upgrade: false,
    };
    let mut settings = Settings {
        skip_schemas: spec.install.disable_schema_validation,
        leave_unfetched: true,
        ..Settings::default()
    };
    let _held = if cluster.is_tenant {
        settings.limits.produced = TENANT_RENDER;
        let held = cluster.settings.memory.reserve(TENANT_RENDER as u64);
        Some(held.map_err(|error| Problem::ChartUnavailable(error.to_string()))?)
    } else {
        None
    };
    // Equal inputs give equal objects, so that a comparison shows only what changed.
    let chance = Seeded::new(format!("{}/{}", release.namespace, release.name).as_bytes());
    let rendered = render_sharing(
        chart,
        &merged.values,
        &release,
        cluster.capabilities,
        settings,
        &chance,
        parsed,
    );
    let rendered = rendered.map_err(|error| failed(&error, part(&error)))?;
    let refused = |error: ObjectsError| failed(&error, error.part());
    let mut made_by = ObjectTemplates::new();
    let mut objects = definitions(&rendered, spec, name, &mut made_by).map_err(refused)?;
    let of_crds = objects.len();
    let mut unmatched = Vec::new();
    let made = templates(cluster, spec, name, (&rendered, &mut made_by, &mut unmatched));
    objects.extend(made.map_err(refused)?);
    let scopes = own_scopes(&objects);
    for object in &mut objects {
        let (group, kind) = group_kind(object);
        let key = (group.to_owned(), kind.to_owned());
        let scope = scopes.get(&key).or_else(|| cluster.scopes.get(&key)).copied();
        let is_namespaced = scope.or_else(|| cluster.schemas.is_namespaced(&key.0, &key.1));
        if is_namespaced.unwrap_or(true) {
            put_namespace(object, &release.namespace);
        }
    }
    let chart_crds = (of_crds > 0).then(|| ChartCrds {
        ids: objects.iter().take(of_crds).map(ObjectId::of).collect(),
        install: spec.install_crds(),
        upgrade: spec.upgrade_crds(),
    });
    let objects = objects.into_iter().map(|value| FleetObject { value, origin: None });
    Ok(Product {
        chart_crds,
        warnings: merged.warnings.clone(),
        unfetched_schemas: rendered.unfetched,
        unmatched,
        templates: made_by,
        hidden,
        ..Product::of(objects.collect())
    })
}

/// What may be in the objects and is never printed.
fn hidden(merged: &Merged, others: &BTreeSet<String>) -> Hidden {
    /// Shorter texts are parts of anything.
    const SHORTEST: usize = 4;
    let values = if others.is_empty() {
        String::new()
    } else {
        Value::Object(merged.values.clone()).to_string()
    };
    let others = others.iter().filter(|text| values.contains(text.as_str()));
    let texts = merged.confidential.iter().chain(others);
    let texts = texts.filter(|text| text.len() >= SHORTEST);
    Hidden {
        objects: BTreeSet::new(),
        texts: texts.cloned().collect(),
    }
}

/// The definitions in `crds/`. Anything else there is not installed.
fn definitions(
    rendered: &Rendered,
    spec: &ReleaseSpec,
    name: &ObjectName,
    made_by: &mut ObjectTemplates,
) -> Result<Vec<Value>, ObjectsError> {
    let mut objects = Vec::new();
    if spec.has_crds() {
        for (path, file) in &rendered.crds {
            let parsed = parse(&file.text()).map_err(|problem| ObjectsError::Text {
                path: path.clone(),
                problem,
            })?;
            let parsed = parsed.into_iter().filter(is_definition);
            objects.extend(parsed.inspect(|object| note(made_by, object, path)));
        }
    }
    objects.iter_mut().for_each(|object| label(object, name));
    Ok(objects)
}

pub(super) fn is_definition(object: &Value) -> bool {
    group_kind(object) == ("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// The objects of the templates, after `postRenderers` and `commonMetadata`. Hooks are among them; tests only
/// if they are run.
fn templates(
    cluster: &Cluster<'_>,
    spec: &ReleaseSpec,
    name: &ObjectName,
    (rendered, made_by, unmatched): (&Rendered, &mut ObjectTemplates, &mut Vec<String>),
) -> Result<Vec<Value>, ObjectsError> {
    let is_run = |hook: &&Hook| {
        if hook.is_test() {
            spec.test.enable
        } else {
            !spec.install.disable_hooks
        }
    };
    let hooks = rendered.hooks.iter().filter(is_run).map(|hook| &hook.document);
    let (mut objects, mut others) = (
        objects_of(rendered.documents.iter(), made_by)?,
        objects_of(hooks, made_by)?,
    );
    if spec.post_render_strategy != "nohooks" {
        objects.append(&mut others);
    }
    for (entry, renderer) in spec.post_renderers.iter().enumerate() {
        if let Some(kustomize) = &renderer.kustomize {
            let rendered = post_rendered(objects, kustomize, cluster.settings, unmatched);
            objects = rendered.map_err(|problem| ObjectsError::PostRenderer { entry, problem })?;
        }
    }
    for object in &mut objects {
        put(object, "labels", &spec.common_metadata.labels);
        put(object, "annotations", &spec.common_metadata.annotations);
        label(object, name);
    }
    objects.append(&mut others);
    Ok(objects)
}

fn objects_of<'d>(
    documents: impl Iterator<Item = &'d Document>,
    made_by: &mut ObjectTemplates,
) -> Result<Vec<Value>, ObjectsError> {
    let mut objects = Vec::new();
    for Document { path, content, .. } in documents {
        let parsed = parse(content).map_err(|problem| ObjectsError::Text {
            path: path.clone(),
            problem,
        })?;
        parsed.iter().for_each(|object| note(made_by, object, path));
        objects.extend(parsed);
    }
    Ok(objects)
}

/// Notes the template of an object.
fn note(made_by: &mut ObjectTemplates, object: &Value, path: &str) {
    let key = (
        object.text_of("kind").to_owned(),
        object.text_at("/metadata/name").to_owned(),
    );
    let known = made_by.entry(key).or_insert_with(|| Some(path.to_owned()));
    if known.as_deref() != Some(path) {
        *known = None;
    }
}

/// The objects of a text; lists are the objects in them.
fn parse(text: &str) -> Result<Vec<Value>, TextError> {
    let nodes = read_resources(text.as_bytes(), FileId::NONE).map_err(Box::new)?;
    let mut objects = Vec::new();
    for node in &nodes {
        let object = json_of_node(node)?;
        let is_list = object
            .get("kind")
            .and_then(Value::as_str)
            .is_some_and(|kind| kind.ends_with("List"));
        match object.get("items") {
            Some(Value::Array(items)) if is_list => objects.extend(items.iter().cloned()),
            _ if object.is_object() => objects.push(object),
            _ => {}
        }
    }
    Ok(objects)
}

/// The objects after a kustomization with patches and images, and what it warns of.
fn post_rendered(
    objects: Vec<Value>,
    kustomize: &Value,
    settings: &FleetSettings,
    unmatched: &mut Vec<String>,
) -> Result<Vec<Value>, PostRenderError> {
    let mut text = String::new();
    for object in &objects {
        text.push_str("---\n");
        text.push_str(&object.to_string());
        text.push('\n');
    }
    let mut tree = MemoryTree::new();
    tree.add_file("/helm-output.yaml", text);
    let mut spec = Map::new();
    spec.insert("path".to_owned(), ".".into());
    for field in ["patches", "patchesStrategicMerge", "patchesJson6902", "images"] {
        if let Some(value) = kustomize.get(field) {
            spec.insert(field.to_owned(), value.clone());
        }
    }
    let kustomization = serde_json::from_value(json!({"metadata": {"name": ""}, "spec": spec}))?;
    let built = built(&kustomization, &Vec::new(), &tree, &Sealed, settings).map_err(Box::new)?;
    unmatched.extend(built.warnings);
    Ok(built.objects.into_iter().map(|object| object.value).collect())
}

/// The scopes that definitions among the objects give.
pub(super) fn own_scopes(objects: &[Value]) -> Scopes {
    let mut scopes = Scopes::new();
    for object in objects.iter().filter(|object| is_definition(object)) {
        let text = |pointer: &str| object.text_at(pointer).to_owned();
        let key = (text("/spec/group"), text("/spec/names/kind"));
        scopes.insert(key, text("/spec/scope") != "Cluster");
    }
    scopes
}

fn put_namespace(object: &mut Value, namespace: &str) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let own = metadata.entry("namespace").or_insert(Value::Null);
        if own.as_str().is_none_or(str::is_empty) {
            *own = namespace.into();
        }
    }
}

/// The labels by which helm-controller knows its objects.
fn label(object: &mut Value, name: &ObjectName) {
    let labels = [("name", &name.name), ("namespace", &name.namespace)];
    let labels = labels.map(|(key, value)| (format!("{GROUP}/{key}"), value.clone()));
    put(object, "labels", &BTreeMap::from(labels));
}

fn put(object: &mut Value, field: &str, pairs: &BTreeMap<String, String>) {
    if pairs.is_empty() {
        return;
    }
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let own = metadata.entry(field).or_insert(Value::Null);
    if !own.is_object() {
        *own = Value::Object(Map::new());
    }
    if let Some(own) = own.as_object_mut() {
        own.extend(
            pairs
                .iter()
                .map(|(key, value)| (key.clone(), Value::from(value.as_str()))),
        );
    }
}
