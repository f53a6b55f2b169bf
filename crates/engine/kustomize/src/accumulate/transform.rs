//! The built-in transformers of a kustomization: which, in which order, and how each is run.

use super::error::BuildError;
use super::patch::{JsonPatchStep, PatchStep, StrategicStep};
use super::target::{Accumulated, Target};
use super::told::Told;
use crate::Gvk;
use crate::fields::{FieldConfig, settle};
use crate::generate::name_hash;
use crate::kustomization::Text;
use crate::plugins::Plugin;
use crate::replace::{Replacement, replace_within};
use crate::resource::{Origin, ResMap, Resource};
use crate::schema::SchemaChoice;
use crate::transform::{Affix, End, ImageTag, Metadata, Namespace, Object, ReplicaCount, ValueAdd, label_specs};
use bumpwright_yaml::{Node, Place};

pub(super) enum Transformer<'t> {
    Strategic(StrategicStep),
    Patch(PatchStep),
    JsonPatch(JsonPatchStep),
    Namespace(Namespace),
    Affixes(Vec<Affix>),
    Metadata(Metadata),
    Replicas(ReplicaCount),
    /// Several, applied in order.
    Images(Vec<ImageTag>),
    Replacements(Vec<Replacement>),
    ValueAdd(ValueAdd),
    Hash,
    Plugin(Plugin<'t>),
}

impl Transformer<'_> {
    /// Whether it is one of several patches that do not build upon each other as other steps do.
    const fn is_patch(&self) -> bool {
        matches!(self, Self::Strategic(_) | Self::Patch(_) | Self::JsonPatch(_))
    }
}

/// A transformer, the place of its setting, and its entry in the history of resources that it changes.
pub(super) struct Step<'t> {
    pub transformer: Transformer<'t>,
    pub place: Place,
    pub origin: Option<Origin>,
}

impl Target<'_, '_> {
    /// Runs the transformers of the fields of the kustomization, then those of `transformers`.
    pub(super) fn run_transformers(&self, accumulated: &mut Accumulated) -> Result<(), BuildError> {
        let config = accumulated.config.clone();
        let steps = self.builtin_steps(&config)?;
        self.run_steps(&mut accumulated.map, steps)?;
        let configs = self.configs(&self.kustomization.transformers)?;
        if configs.is_empty() {
            return Ok(());
        }
        let schema = self.context.schema();
        let steps = self.configured_steps(&configs, &schema)?;
        self.run_steps(&mut accumulated.map, steps)
    }

    /// Runs steps one after the other.
    pub(super) fn run_steps(&self, map: &mut ResMap, steps: Vec<Step<'_>>) -> Result<(), BuildError> {
        let mut errors: Vec<BuildError> = Vec::new();
        for step in steps {
            let is_patch = step.transformer.is_patch();
            if !(errors.is_empty() || is_patch) {
                break;
            }
            if let Err(error) = self.run(&step, map) {
                // A second error of the same object may follow from the first.
                let follows = |other: &BuildError| other.object.is_some() && other.object == error.object;
                if !errors.iter().any(follows) {
                    errors.push(error.at(step.place).through(step.place));
                }
                continue;
            }
            if let Some(origin) = step.origin {
                map.note_origin(origin);
            }
            map.drop_gone();
        }
        BuildError::all(errors)
    }

    pub(super) fn builtin_steps(&self, config: &FieldConfig) -> Result<Vec<Step<'static>>, BuildError> {
        let mut steps = Vec::new();
        let mut add = |kind: &str, place: Place, transformer: Transformer<'static>| {
            steps.push(Step {
                transformer,
                place,
                origin: self.builtin_origin(kind),
            });
        };
        let kustomization = &self.kustomization;
        if let Some(first) = kustomization.patches_strategic_merge.first() {
            let step = self.strategic_step(&kustomization.patches_strategic_merge)?;
            add(
                "PatchStrategicMergeTransformer",
                first.place,
                Transformer::Strategic(step),
            );
        }
        let mut errors = Vec::new();
        for patch in &kustomization.patches {
            match self.patch_step(patch) {
                Ok(step) => add("PatchTransformer", patch.place, Transformer::Patch(step)),
                Err(error) => errors.push(error.at(patch.place).through(patch.place)),
            }
        }
        BuildError::all(errors)?;
        if !kustomization.namespace.text.is_empty() {
            let namespace = Namespace {
                namespace: kustomization.namespace.text.clone(),
                fields: config.namespace.clone(),
                unset_only: false,
                subjects: crate::transform::Subjects::default(),
                place: kustomization.namespace.place,
            };
            add(
                "NamespaceTransformer",
                namespace.place,
                Transformer::Namespace(namespace),
            );
        }
        for (kind, end, text, fields) in [
            (
                "PrefixTransformer",
                End::Prefix,
                &kustomization.name_prefix,
                &config.name_prefix,
            ),
            (
                "SuffixTransformer",
                End::Suffix,
                &kustomization.name_suffix,
                &config.name_suffix,
            ),
        ] {
            if !text.text.is_empty() {
                let affix = Affix {
                    end,
                    text: text.text.clone(),
                    fields: fields.clone(),
                };
                add(kind, text.place, Transformer::Affixes(vec![affix]));
            }
        }
        for metadata in self.metadata_steps(config)? {
            let kind = if metadata.what == "labels" {
                "LabelTransformer"
            } else {
                "AnnotationsTransformer"
            };
            let place = metadata.pairs.first().map_or(Place::NONE, |(_, value)| value.place);
            add(kind, place, Transformer::Metadata(metadata));
        }
        for patch in &kustomization.patches_json6902 {
            let step = self.json_patch_step(patch).map_err(|error| error.at(patch.place))?;
            add("PatchJson6902Transformer", patch.place, Transformer::JsonPatch(step));
        }
        for entry in &kustomization.replicas {
            let replicas = ReplicaCount::read_entry(entry, config.replicas.clone(), true)?;
            add("ReplicaCountTransformer", entry.place, Transformer::Replicas(replicas));
        }
        for images in self.image_changes(config) {
            add("ImageTagTransformer", Place::NONE, Transformer::Images(images));
        }
        if let Some(first) = kustomization.replacements.first() {
            let replacements = self.replacements(&kustomization.replacements, true)?;
            add(
                "ReplacementTransformer",
                first.place,
                Transformer::Replacements(replacements),
            );
        }
        Ok(steps)
    }

    /// The changes of images, those of one step together: all, except where changes are tracked, which records each.
    fn image_changes(&self, config: &FieldConfig) -> Vec<Vec<ImageTag>> {
        let changes = self.kustomization.images.iter();
        let changes = changes.map(|change| ImageTag::new(change.clone(), config.images.clone()));
        match self.origin {
            Some(_) => changes.map(|change| vec![change]).collect(),
            None if self.kustomization.images.is_empty() => Vec::new(),
            None => vec![changes.collect()],
        }
    }

    /// Labels and annotations. An empty `commonLabels` counts as a step where there are `labels`.
    fn metadata_steps(&self, config: &FieldConfig) -> Result<Vec<Metadata>, BuildError> {
        let kustomization = &self.kustomization;
        let mut steps = Vec::new();
        for label in &kustomization.labels {
            let mut options = label.options;
            options.volume_claim_templates |= options.templates && self.context.options.label_claim_templates;
            let fields = label_specs(&label.fields, options, config);
            let place = label.pairs.first().map_or(Place::NONE, |(_, value)| value.place);
            steps.push(Metadata {
                what: "labels",
                pairs: label.pairs.clone(),
                fields: fields.map_err(|error| BuildError::from(error).at(place))?,
            });
        }
        if !(kustomization.labels.is_empty() && kustomization.common_labels.is_empty()) {
            steps.push(Metadata {
                what: "labels",
                pairs: kustomization.common_labels.clone(),
                fields: config.common_labels.clone(),
            });
        }
        if !kustomization.common_annotations.is_empty() {
            steps.push(Metadata {
                what: "annotations",
                pairs: kustomization.common_annotations.clone(),
                fields: config.common_annotations.clone(),
            });
        }
        Ok(steps)
    }

    /// Replacements in entries or in the files that these name.
    pub(super) fn replacements(&self, entries: &[Node], strict: bool) -> Result<Vec<Replacement>, BuildError> {
        let mut replacements = Vec::new();
        for entry in entries {
            let Some(path) = Replacement::file_of(entry)? else {
                replacements.push(Replacement::read(entry, strict)?);
                continue;
            };
            let path = Text::of(path, entry);
            if let Some(document) = self.context.document(&self.loader, &path)? {
                replacements.extend(Replacement::read_file(&*settle(&document, false)?)?);
            }
        }
        Ok(replacements)
    }

    fn run(&self, step: &Step<'_>, map: &mut ResMap) -> Result<(), BuildError> {
        let schema = self.context.schema();
        let schema = &*schema;
        let outside = |gvk: &Gvk| schema.namespaced(&gvk.api_version(), &gvk.kind) == Some(false);
        let warn = |told: Vec<Told>| told.into_iter().for_each(|one| self.context.tell(step.place, one));
        match &step.transformer {
            Transformer::Strategic(step) => step.apply(map, schema).map(warn),
            Transformer::Patch(patch) => patch.apply(map, schema, &self.context.growth).map(warn),
            Transformer::JsonPatch(patch) => patch.apply(map, schema, &self.context.growth).map(warn),
            Transformer::Namespace(namespace) => {
                map.each(schema, |resource| namespace.apply(resource, &outside))?;
                if !namespace.namespace.is_empty() {
                    let objects = map.list().iter().map(|resource| resource as &dyn Object);
                    Namespace::check(objects, &outside)?;
                }
                Ok(())
            }
            Transformer::Affixes(affixes) => {
                for affix in affixes {
                    map.each(schema, |resource| affix.apply(resource))?;
                }
                Ok(())
            }
            Transformer::Metadata(metadata) => Ok(map.each(schema, |resource| {
                if metadata.what == "annotations" {
                    resource.show_annotations();
                }
                let (node, shared) = resource.tree();
                metadata.apply(node, shared)
            })?),
            Transformer::Replicas(replicas) => run_replicas(replicas, map, schema),
            Transformer::Images(images) => {
                map.each(schema, |resource| ImageTag::apply_all(images, &mut resource.node))?;
                for images in images {
                    if let Some(unmatched) = images.unmatched() {
                        self.context.warn(images.place(), &unmatched);
                    }
                }
                Ok(())
            }
            Transformer::Replacements(replacements) => Ok(map.together(schema, |list| {
                replace_within(&mut objects(list), replacements, &self.context.growth)
            })?),
            Transformer::ValueAdd(value) => Ok(map.together(schema, |list| value.apply(&mut objects(list), &outside))?),
            Transformer::Hash => add_hashes(map, schema),
            Transformer::Plugin(plugin) => Ok(plugin.transform(map)?),
        }
    }
}

/// Adds hashes of their contents to the names of the objects that need one.
pub(super) fn add_hashes(map: &mut ResMap, schema: &SchemaChoice) -> Result<(), BuildError> {
    for at in 0..map.len() {
        let Some(resource) = map.list().get(at).filter(|resource| resource.needs_hash) else {
            continue;
        };
        let hash = name_hash(&resource.as_hashed()).map_err(|error| BuildError::from(error).of(resource.id()))?;
        map.update(at, |resource| {
            resource.remember();
            let name = format!("{}-{hash}", resource.name());
            resource.set_name(&name);
            resource.refresh(schema);
        });
    }
    Ok(())
}

fn objects(list: &mut [Resource]) -> Vec<&mut dyn Object> {
    list.iter_mut().map(|resource| resource as &mut dyn Object).collect()
}

/// Sets numbers of replicas. There may be an entry for each object, so objects are looked up by name.
fn run_replicas(replicas: &ReplicaCount, map: &mut ResMap, schema: &SchemaChoice) -> Result<(), BuildError> {
    let mut has_match = false;
    for at in map.named(&replicas.name).to_vec() {
        let done = map.update(at, |resource| {
            let is_meant = replicas.apply_to(resource);
            resource.refresh(schema);
            is_meant
        });
        has_match |= done.unwrap_or(Ok(false))?;
    }
    if has_match {
        Ok(())
    } else {
        Err(replicas.nothing_found().into())
    }
}
