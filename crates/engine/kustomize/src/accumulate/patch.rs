//! Patches: read from files or from the kustomization, and applied to their resources.

use super::error::BuildError;
use super::error::PatchError;
use super::target::Target;
use super::told::{Told, lost};
use crate::fields::SharedEntries;
use crate::growth::{self, Growth};
use crate::jsonpatch;
use crate::kustomization::{Patch, Text};
use crate::merge::{Changes, Loss, Merged, apply, losses, prepare};
use crate::replace::{Selector, SelectorMatcher};
use crate::resource::{IdError, ResMap, Resource};
use crate::schema::SchemaChoice;
use bumpwright_yaml::{FileId, Node};
use compact_str::CompactString;

/// Strategic merge patches for the resources that they name.
pub(super) struct StrategicStep {
    patches: Vec<Resource>,
}

/// An entry of `patches`.
pub(super) struct PatchStep {
    strategic: Vec<Resource>,
    json: Option<jsonpatch::Patch>,
    target: Option<SelectorMatcher>,
    changes: Changes,
}

/// An entry of `patchesJson6902`.
pub(super) struct JsonPatchStep {
    patch: jsonpatch::Patch,
    target: SelectorMatcher,
}

impl Target<'_, '_> {
    /// The step of `patchesStrategicMerge`: each entry is a patch itself or the path of a file with patches.
    pub(super) fn strategic_step(&self, entries: &[Text]) -> Result<StrategicStep, BuildError> {
        let (mut patches, mut errors) = (Vec::new(), Vec::new());
        for entry in entries {
            let inline = self.context.inline_resources(entry);
            match inline.or_else(|_| self.patch_file(entry)) {
                Ok(read) => patches.extend(read),
                Err(error) => errors.push(error.at(entry.place)),
            }
        }
        BuildError::all(errors)?;
        if patches.is_empty() {
            return Err(PatchError::Empty.into());
        }
        Ok(StrategicStep { patches })
    }

    pub(super) fn strategic_step_of(&self, entries: &[Text], text: &Text) -> Result<StrategicStep, BuildError> {
        let mut patches = if entries.is_empty() {
            Vec::new()
        } else {
            self.strategic_step(entries)?.patches
        };
        if !text.text.is_empty() {
            patches.extend(self.context.inline_resources(text)?);
        }
        if patches.is_empty() {
            return Err(PatchError::Empty.into());
        }
        Ok(StrategicStep { patches })
    }

    fn patch_file(&self, entry: &Text) -> Result<Vec<Resource>, BuildError> {
        let bytes = self
            .loader
            .load(&entry.text)
            .map_err(|error| BuildError::from(error).at(entry.place))?;
        let file = self.context.file(&self.loader.shown(&entry.text));
        let resources = self.context.resources(&bytes, file);
        resources.map_err(|error| error.through(entry.place))
    }

    /// The text of a patch in an entry or in a file, and the file of its places.
    fn patch_text(&self, path: &str, patch: &Text, entry: &Patch) -> Result<(Vec<u8>, FileId), BuildError> {
        match (patch.text.trim(), path) {
            ("", "") => Err(PatchError::Nothing.into()),
            ("", path) => {
                let bytes = self
                    .loader
                    .load(path)
                    .map_err(|error| BuildError::from(error).at(entry.place))?;
                Ok((bytes.into_owned(), self.context.file(&self.loader.shown(path))))
            }
            (text, "") => {
                let above = patch.text.len() - patch.text.trim_start().len();
                let above = patch.text.bytes().take(above).filter(|byte| *byte == b'\n');
                Ok((text.as_bytes().to_vec(), self.context.inline(patch, above.count())))
            }
            _ => Err(PatchError::Both.into()),
        }
    }

    /// The step of an entry of `patches`.
    pub(super) fn patch_step(&self, entry: &Patch) -> Result<PatchStep, BuildError> {
        let (bytes, file) = self.patch_text(&entry.path, &entry.patch, entry)?;
        let (strategic, json) = match self.context.resources(&bytes, file) {
            Ok(patches) => (patches, None),
            Err(error) => match jsonpatch::Patch::read(&bytes, file) {
                Ok(patch) => (Vec::new(), Some(patch)),
                Err(_) if !looks_like_operations(&bytes) => {
                    let neither = PatchError::Neither(error.cause.to_string());
                    return Err(BuildError::from(neither).at(error.cause.place()).at(entry.place));
                }
                Err(error) => return Err(BuildError::from(error).at(entry.place)),
            },
        };
        let target = entry.target.clone();
        let changes = Changes {
            name: entry.allow_name_change,
            kind: entry.allow_kind_change,
        };
        let mut strategic = strategic;
        if changes.name || changes.kind {
            // kustomize stores it as an annotation of the patch, which makes strings of all.
            strategic.iter_mut().for_each(make_strings);
        }
        Ok(PatchStep {
            strategic,
            json,
            target: target.map(Selector::matcher).transpose()?,
            changes,
        })
    }

    /// The step of an entry of `patchesJson6902`.
    pub(super) fn json_patch_step(&self, entry: &Patch) -> Result<JsonPatchStep, BuildError> {
        let target = entry.target.clone().filter(|target| !target.id.name.is_empty());
        let target = target.ok_or(PatchError::NoName)?;
        let (bytes, file) = self.patch_text(&entry.path, &entry.patch, entry)?;
        let patch = jsonpatch::Patch::read(&bytes, file).map_err(|error| BuildError::from(error).at(entry.place))?;
        if patch.is_empty() {
            return Err(PatchError::Empty.into());
        }
        Ok(JsonPatchStep {
            patch,
            target: target.matcher()?,
        })
    }
}

/// Whether a text that is not a list of operations looks like one.
fn looks_like_operations(bytes: &[u8]) -> bool {
    let start = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(start, Some(b'[' | b'-'))
}

/// The positions of the resources that a target selects.
fn selected(map: &ResMap, target: &SelectorMatcher) -> Result<Vec<usize>, BuildError> {
    let candidates = match target.only_name() {
        Some(name) => map.named(name).to_vec(),
        None => (0..map.len()).collect(),
    };
    let mut selected = Vec::new();
    for at in candidates {
        let Some(resource) = map.list().get(at).filter(|resource| !resource.is_gone()) else {
            continue;
        };
        let (id, first) = (resource.id(), resource.previous.first());
        let names = [first.map_or(&id.name, |first| &first.name), &id.name];
        let namespace = id.effective_namespace();
        let namespaces = [first.map_or(namespace, |first| first.effective_namespace()), namespace];
        if target.matches_parts(&id.gvk, names.map(CompactString::as_str), namespaces)?
            && target.matches_metadata(&resource.node)?
        {
            selected.push(at);
        }
    }
    Ok(selected)
}

/// Merges a patch into one resource; returns what is lost for want of a schema.
fn merge_at(
    map: &mut ResMap,
    at: usize,
    patch: Node,
    changes: Changes,
    schema: &SchemaChoice,
) -> Result<Vec<Told>, BuildError> {
    let merged = map.update(at, |resource| {
        let gone = losses(&resource.node, &patch, schema.schema());
        let warning = |loss: Loss| lost(resource, loss);
        let warnings: Vec<Told> = gone.into_iter().map(warning).collect();
        if changes.name || changes.kind {
            resource.remember();
        }
        let removes = removes_annotations(&patch);
        if removes {
            resource.write_annotations();
        }
        if !resource.shared.is_empty() {
            forget_replaced(&patch, &mut Vec::new(), &mut resource.shared);
        }
        let merged = apply(&mut resource.node, patch, schema.schema(), changes);
        if removes {
            resource.read_annotations();
        }
        match merged {
            Ok(Merged::Deleted) => resource.node = Node::null().at(resource.node.place),
            _ => resource.shared.settle(&mut resource.node),
        }
        let id = resource.id().to_string();
        resource.refresh(schema);
        merged.map(|_| warnings).map_err(|error| BuildError::from(error).of(id))
    });
    merged.unwrap_or_else(|| Ok(Vec::new()))
}

/// Mappings by which a patch replaces others have nodes of their own.
fn forget_replaced(patch: &Node, way: &mut Vec<CompactString>, shared: &mut SharedEntries) {
    if patch.get("$patch").and_then(Node::as_str) == Some("replace") {
        shared.forget_below(way);
        return;
    }
    for entry in patch.entries() {
        way.push(entry.key.text.clone());
        forget_replaced(&entry.value, way, shared);
        way.pop();
    }
}

/// Writes annotations as strings, null too; removes an empty field.
fn make_strings(patch: &mut Resource) {
    let pairs = patch
        .pairs("annotations")
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    patch.set_pairs("annotations", pairs);
}

/// Whether a patch removes all annotations, where kustomize keeps the metadata of the build.
fn removes_annotations(patch: &Node) -> bool {
    let replaces = |node: &Node| node.is_null() || node.get("$patch").is_some();
    let metadata = patch.get("metadata");
    let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
    patch.get("$patch").is_some() || metadata.is_some_and(replaces) || annotations.is_some_and(replaces)
}

/// Merges a patch into selected resources; their identity stays, apart from the kind.
fn merge_selected(
    map: &mut ResMap,
    selected: &[usize],
    patch: &Resource,
    changes: Changes,
    schema: &SchemaChoice,
) -> Result<Vec<Told>, BuildError> {
    let mut warnings = Vec::new();
    for at in selected {
        growth::take_node(&patch.node)?;
        let mut node = patch.node.clone();
        if let Some(resource) = map.list().get(*at) {
            prepare(&mut node, &resource.node);
        }
        warnings.extend(merge_at(map, *at, node, changes, schema)?);
    }
    if changes.name || changes.kind {
        for resource in selected.iter().filter_map(|at| map.list().get(*at)) {
            if !resource.is_gone() && map.with_id(resource.id()).len() > 1 {
                return Err(IdError::Registered(resource.id().to_string()).into());
            }
        }
    }
    map.drop_gone();
    Ok(warnings)
}

impl StrategicStep {
    /// Applies the patches; returns what to tell the user.
    pub(super) fn apply(&self, map: &mut ResMap, schema: &SchemaChoice) -> Result<Vec<Told>, BuildError> {
        let (mut told, mut errors) = (Vec::new(), Vec::new());
        for patch in &self.patches {
            let merged = only(map, patch).and_then(|at| merge_selected(map, &[at], patch, Changes::default(), schema));
            match merged {
                Ok(more) => told.extend(more),
                Err(error) => errors.push(error),
            }
        }
        BuildError::all(errors).map(|()| told)
    }
}

/// The position of the only resource that a patch names.
fn only(map: &ResMap, patch: &Resource) -> Result<usize, BuildError> {
    map.only(patch.id())
        .map_err(|error| BuildError::from(error).at(patch.node.place))
}

impl PatchStep {
    /// Applies the patches; returns what to tell the user, such as that the target matches nothing.
    pub(super) fn apply(
        &self,
        map: &mut ResMap,
        schema: &SchemaChoice,
        growth: &Growth,
    ) -> Result<Vec<Told>, BuildError> {
        if let Some(patch) = &self.json {
            let target = self.target.as_ref().ok_or(PatchError::NoTarget)?;
            let selected = selected(map, target)?;
            let settings = JsonSettings {
                remember: true,
                schema,
                growth,
            };
            patch_selected(map, &selected, patch, &settings)?;
            return Ok(unmatched(&selected, target).into_iter().collect());
        }
        match (&self.target, self.strategic.as_slice()) {
            (_, []) => Ok(Vec::new()),
            (Some(target), [patch]) => {
                let selected = selected(map, target)?;
                let mut warnings = merge_selected(map, &selected, patch, self.changes, schema)?;
                warnings.extend(unmatched(&selected, target));
                Ok(warnings)
            }
            (Some(_), _) => Err(PatchError::Several.into()),
            (None, patches) => {
                let (mut told, mut errors) = (Vec::new(), Vec::new());
                for patch in patches {
                    let merged = only(map, patch).and_then(|at| {
                        growth::take_node(&patch.node)?;
                        merge_at(map, at, patch.node.clone(), self.changes, schema)
                    });
                    match merged {
                        Ok(more) => told.extend(more),
                        Err(error) => errors.push(error),
                    }
                }
                BuildError::all(errors).map(|()| told)
            }
        }
    }
}

/// The warning about a target without matches.
fn unmatched(selected: &[usize], target: &SelectorMatcher) -> Option<Told> {
    let selector = target.selector();
    let id = &selector.id;
    let parts = [
        ("group", &id.gvk.group),
        ("version", &id.gvk.version),
        ("kind", &id.gvk.kind),
        ("name", &id.name),
        ("namespace", &id.namespace),
        ("labelSelector", &selector.labels),
        ("annotationSelector", &selector.annotations),
    ];
    let given = parts.iter().filter(|(_, text)| !text.is_empty());
    let given: Vec<String> = given.map(|(field, text)| format!("{field} {text:?}")).collect();
    selected.is_empty().then(|| {
        Told::Unmatched(format!(
            "the target of the patch matches no object: {}",
            given.join(", ")
        ))
    })
}

impl JsonPatchStep {
    /// Applies the patch; returns a warning if the target matches nothing.
    pub(super) fn apply(
        &self,
        map: &mut ResMap,
        schema: &SchemaChoice,
        growth: &Growth,
    ) -> Result<Vec<Told>, BuildError> {
        let selected = selected(map, &self.target)?;
        let settings = JsonSettings {
            remember: false,
            schema,
            growth,
        };
        patch_selected(map, &selected, &self.patch, &settings)?;
        Ok(unmatched(&selected, &self.target).into_iter().collect())
    }
}

/// How to apply a JSON patch to resources.
struct JsonSettings<'a> {
    /// Whether to keep their ids as former ones.
    remember: bool,
    schema: &'a SchemaChoice,
    growth: &'a Growth,
}

/// Applies a JSON patch to resources.
fn patch_selected(
    map: &mut ResMap,
    selected: &[usize],
    patch: &jsonpatch::Patch,
    settings: &JsonSettings<'_>,
) -> Result<(), BuildError> {
    let sees_annotations = patch.concerns(&["metadata", "annotations"]);
    for at in selected {
        growth::take(patch.weight())?;
        let patched = map.update(*at, |resource| {
            if settings.remember {
                resource.remember();
            }
            let id = resource.id().to_string();
            let apply = |node: &mut Node| patch.apply_within(node, settings.growth);
            let patched = if sees_annotations {
                resource.change_annotated(apply)
            } else {
                apply(&mut resource.node)
            };
            resource.shared.forget();
            resource.refresh(settings.schema);
            patched.map_err(|error| BuildError::from(error).of(id))
        });
        patched.unwrap_or(Ok(()))?;
    }
    Ok(())
}
