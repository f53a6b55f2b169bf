//! The built-in transformers: which ones a kustomization asks for, in which order, and how each is run.

use super::error::BuildError;
use super::patch::{JsonPatchStep, PatchStep, StrategicStep};
use super::target::{Accumulated, Target};
use crate::Gvk;
use crate::fields::FieldConfig;
use crate::generate::name_hash;
use crate::plugins::Plugin;
use crate::replace::{Replacement, replace};
use crate::resource::{Origin, ResMap};
use crate::transform::{Affix, End, ImageTag, Metadata, Namespace, Object, ReplicaCount, ValueAdd, label_specs};
use bumpwright_yaml::Place;

/// A transformer that is ready to run.
pub(super) enum Transformer<'t> {
    Strategic(StrategicStep),
    Patch(PatchStep),
    JsonPatch(JsonPatchStep),
    Namespace(Namespace),
    Affixes(Vec<Affix>),
    Metadata(Metadata),
    Replicas(ReplicaCount),
    Images(ImageTag),
    Replacements(Vec<Replacement>),
    ValueAdd(ValueAdd),
    Hash,
    Plugin(Plugin<'t>),
}

/// A transformer, where it is asked for, and what resources that it changes say about it.
pub(super) struct Step<'t> {
    pub transformer: Transformer<'t>,
    pub place: Place,
    pub origin: Option<Origin>,
}

impl Target<'_, '_> {
    /// Runs the transformers that the fields of the kustomization ask for, then those of `transformers`.
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
        for step in steps {
            let done = self.run(&step.transformer, map);
            done.map_err(|error| error.at(step.place))?;
            if let Some(origin) = step.origin {
                for resource in map.list_mut() {
                    match resource.origin {
                        Some(_) => resource.transformations.push(origin.clone()),
                        None => resource.origin = Some(origin.clone()),
                    }
                }
            }
            map.drop_gone();
        }
        Ok(())
    }

    fn builtin_steps(&self, config: &FieldConfig) -> Result<Vec<Step<'static>>, BuildError> {
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
        for patch in &kustomization.patches {
            add(
                "PatchTransformer",
                patch.place,
                Transformer::Patch(self.patch_step(patch)?),
            );
        }
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
            let place = metadata.pairs.first().map(|(_, value)| value.place).unwrap_or_default();
            add(kind, place, Transformer::Metadata(metadata));
        }
        for patch in &kustomization.patches_json6902 {
            let step = self.json_patch_step(patch)?;
            add("PatchJson6902Transformer", patch.place, Transformer::JsonPatch(step));
        }
        for entry in &kustomization.replicas {
            let replicas = ReplicaCount::read_entry(entry, config.replicas.clone(), true)?;
            add("ReplicaCountTransformer", entry.place, Transformer::Replicas(replicas));
        }
        for change in &kustomization.images {
            let images = ImageTag::new(change.clone(), config.images.clone());
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

    /// Labels and annotations. `commonLabels` count as a step even where there are none but there are `labels`.
    fn metadata_steps(&self, config: &FieldConfig) -> Result<Vec<Metadata>, BuildError> {
        let kustomization = &self.kustomization;
        let mut steps = Vec::new();
        for label in &kustomization.labels {
            let fields = label_specs(&label.fields, label.options, config);
            let place = label.pairs.first().map(|(_, value)| value.place).unwrap_or_default();
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

    /// Replacements that stand in entries or in the files that these name.
    pub(super) fn replacements(
        &self,
        entries: &[bumpwright_yaml::Node],
        strict: bool,
    ) -> Result<Vec<Replacement>, BuildError> {
        let mut replacements = Vec::new();
        for entry in entries {
            let Some(path) = Replacement::file_of(entry)? else {
                replacements.push(Replacement::read(entry, strict)?);
                continue;
            };
            let path = crate::kustomization::Text {
                text: path,
                place: entry.place,
            };
            if let Some(document) = self.context.document(&self.loader, &path)? {
                replacements.extend(Replacement::read_file(&document)?);
            }
        }
        Ok(replacements)
    }

    fn run(&self, transformer: &Transformer<'_>, map: &mut ResMap) -> Result<(), BuildError> {
        let schema = self.context.schema();
        let schema = &*schema;
        let outside = |gvk: &Gvk| schema.namespaced(&gvk.api_version(), &gvk.kind) == Some(false);
        match transformer {
            Transformer::Strategic(step) => step.apply(map, schema),
            Transformer::Patch(step) => step.apply(map, schema),
            Transformer::JsonPatch(step) => step.apply(map, schema),
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
                let (node, shared) = resource.tree();
                metadata.apply(node, shared)
            })?),
            Transformer::Replicas(replicas) => {
                let objects = map.list_mut().iter_mut().map(|resource| resource as &mut dyn Object);
                Ok(replicas.apply(objects)?)
            }
            Transformer::Images(images) => Ok(map.each(schema, |resource| images.apply(&mut resource.node))?),
            Transformer::Replacements(replacements) => {
                replace(&mut objects(map), replacements)?;
                map.list_mut().iter_mut().for_each(|resource| resource.refresh(schema));
                Ok(())
            }
            Transformer::ValueAdd(value) => {
                value.apply(&mut objects(map), &outside)?;
                map.list_mut().iter_mut().for_each(|resource| resource.refresh(schema));
                Ok(())
            }
            Transformer::Hash => Ok(map.each(schema, |resource| {
                if resource.needs_hash {
                    let hash = name_hash(&resource.node)?;
                    resource.remember();
                    let name = format!("{}-{hash}", resource.name());
                    resource.set_name(&name);
                }
                Ok::<_, bumpwright_yaml::WriteError>(())
            })?),
            Transformer::Plugin(plugin) => Ok(plugin.transform(map)?),
        }
    }
}

fn objects(map: &mut ResMap) -> Vec<&mut dyn Object> {
    map.list_mut()
        .iter_mut()
        .map(|resource| resource as &mut dyn Object)
        .collect()
}
