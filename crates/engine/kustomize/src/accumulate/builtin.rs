//! Built-in generators and transformers with a config of their own (`apiVersion: builtin`).

use super::error::BuildError;
use super::target::Target;
use super::transform::Transformer;
use crate::fields::{ConfigError, Fields, settle, with_case};
use crate::generate::{GeneratorArgs, HelmChart, HelmGlobals, config_map, iam_policy, secret};
use crate::kustomization::{Patch, Text};
use crate::plugins::PluginError;
use crate::replace::Selector;
use crate::resource::{ResMap, Resource};
use crate::transform::{Affix, End, ImageTag, Metadata, Namespace, ReplicaCount, ValueAdd};
use crate::tree::path;
use bumpwright_yaml::{FileId, Node};

/// Whether a config is for a built-in kind.
pub(super) fn is_builtin(config: &Resource) -> bool {
    let gvk = &config.id().gvk;
    gvk.group.is_empty() && gvk.version == "builtin"
}

const GENERATORS: [&str; 4] = [
    "ConfigMapGenerator",
    "SecretGenerator",
    "HelmChartInflationGenerator",
    "IAMPolicyGenerator",
];

/// The fields of a `PrefixTransformer` or `SuffixTransformer`, which kustomize reads as YAML and not as JSON.
const AFFIX: [&str; 8] = [
    "prefix",
    "suffix",
    "fieldSpecs",
    "path",
    "create",
    "group",
    "version",
    "kind",
];

fn text(fields: &mut Fields<'_>, name: &'static str) -> Result<Text, ConfigError> {
    let text = fields.string(name)?;
    Ok(fields.get(name).map(|node| Text::of(text, node)).unwrap_or_default())
}

impl Target<'_, '_> {
    /// The output of the built-in generator of a config.
    pub(super) fn generate_builtin(&self, config: &Resource) -> Result<ResMap, BuildError> {
        let schema = self.context.schema();
        let node = &*settle(&config.node, false)?;
        let mut map = ResMap::default();
        match config.kind() {
            kind @ "ConfigMapGenerator" => {
                let args = GeneratorArgs::read_config(node, kind, false)?;
                map.append(config_map(&args, &self.loader, &schema)?)?;
            }
            kind @ "SecretGenerator" => {
                let args = GeneratorArgs::read_config(node, kind, true)?;
                map.append(secret(&args, &self.loader, &schema)?)?;
            }
            "IAMPolicyGenerator" => map.append(Resource::new(iam_policy(node)?, &schema))?,
            "HelmChartInflationGenerator" => {
                let globals = HelmGlobals::read(node, false)?;
                return self.render(&HelmChart::read(node, false)?, &globals);
            }
            _ => return Err(self.wrong_role(config, "generator")),
        }
        Ok(map)
    }

    /// The output of helm for a chart.
    pub(super) fn render(&self, chart: &HelmChart, globals: &HelmGlobals) -> Result<ResMap, BuildError> {
        let context = self.context;
        if !context.options.helm {
            return Err(PluginError::HelmDisabled.into());
        }
        let settings = &context.options.helm_settings;
        let rendered = chart.render(globals, settings, &self.loader, context.world);
        let bytes = rendered.map_err(|error| BuildError::from(error).at(chart.place))?;
        let mut map = ResMap::default();
        for mut resource in context.resources(&bytes, FileId::NONE)? {
            resource.from_helm = true;
            map.append(resource)?;
        }
        Ok(map)
    }

    fn wrong_role(&self, config: &Resource, wanted: &'static str) -> BuildError {
        let is_builtin = GENERATORS.contains(&config.kind()) || config.kind().ends_with("Transformer");
        if is_builtin && config.kind() != "SortOrderTransformer" {
            return BuildError::from(PluginError::Role {
                plugin: config.id().to_string(),
                wanted,
            });
        }
        PluginError::Builtin(config.id().gvk.to_string()).into()
    }

    /// The built-in transformer of a config.
    pub(super) fn builtin_transformer(&self, config: &Resource) -> Result<Transformer<'static>, BuildError> {
        let node = &*settle(&config.node, false)?;
        Ok(match config.kind() {
            "AnnotationsTransformer" => Transformer::Metadata(Metadata::read_annotations(node)?),
            "LabelTransformer" => Transformer::Metadata(Metadata::read_labels(node)?),
            "HashTransformer" => Transformer::Hash,
            "ImageTagTransformer" => Transformer::Images(vec![ImageTag::read(node)?]),
            "NamespaceTransformer" => Transformer::Namespace(Namespace::read(node)?),
            "PrefixTransformer" => {
                Transformer::Affixes(vec![Affix::read(&with_case(&config.node, &AFFIX), End::Prefix)?])
            }
            "SuffixTransformer" => {
                Transformer::Affixes(vec![Affix::read(&with_case(&config.node, &AFFIX), End::Suffix)?])
            }
            "PrefixSuffixTransformer" => {
                Transformer::Affixes(vec![Affix::read(node, End::Prefix)?, Affix::read(node, End::Suffix)?])
            }
            "ReplicaCountTransformer" => Transformer::Replicas(ReplicaCount::read(node)?),
            "ReplacementTransformer" => {
                let entries = Fields::of(node, "ReplacementTransformer")?.list("replacements")?;
                Transformer::Replacements(self.replacements(entries, false)?)
            }
            "ValueAddTransformer" => Transformer::ValueAdd(self.value_add(node)?),
            "PatchTransformer" => Transformer::Patch(self.patch_step(&read_patch(node, "patch")?)?),
            "PatchJson6902Transformer" => Transformer::JsonPatch(self.json_patch_step(&read_patch(node, "jsonOp")?)?),
            "PatchStrategicMergeTransformer" => {
                let mut fields = Fields::of(node, "PatchStrategicMergeTransformer")?;
                let paths = fields.strings("paths")?.into_iter();
                let paths: Vec<Text> = paths.map(|path| Text::of(path, node)).collect();
                Transformer::Strategic(self.strategic_step_of(&paths, &text(&mut fields, "patches")?)?)
            }
            _ => return Err(self.wrong_role(config, "transformer")),
        })
    }

    fn value_add(&self, node: &Node) -> Result<ValueAdd, BuildError> {
        let mut value = ValueAdd::read(node, path::base(self.loader.root()))?;
        if !value.target_file.is_empty() {
            let file = Text::of(value.target_file.clone(), node);
            if let Some(document) = self.context.document(&self.loader, &file)? {
                let document = settle(&document, false)?;
                value.targets.extend(ValueAdd::read_targets(&document)?);
            }
        }
        value.check(node.place)?;
        Ok(value)
    }
}

fn read_patch(node: &Node, field: &'static str) -> Result<Patch, ConfigError> {
    let mut fields = Fields::of(node, "patch")?;
    let mut patch = Patch {
        path: fields.string("path")?,
        patch: text(&mut fields, field)?,
        target: fields
            .get("target")
            .map(|target| Selector::read(target, false))
            .transpose()?,
        place: node.place,
        ..Patch::default()
    };
    if let Some(options) = fields.get("options") {
        let mut fields = Fields::of(options, "options of a patch")?;
        patch.allow_name_change = fields.boolean("allowNameChange")?;
        patch.allow_kind_change = fields.boolean("allowKindChange")?;
    }
    Ok(patch)
}
