//! Parses a kustomization: strictly, as kustomize does by way of JSON.

use super::{Kustomization, KustomizationError, LabelEntry, Patch, SortOptions, Text};
use crate::fields::{ConfigError, FieldSpec, FieldSpecs, Fields, settle};
use crate::generate::{GeneratorArgs, GeneratorOptions, HelmChart, HelmGlobals};
use crate::replace::{Selector, Var};
use crate::transform::{ImageChange, LabelOptions};
use bumpwright_yaml::{FileId, Node, Place, ReadOptions, Tag, read_first};
use compact_str::CompactString;
use std::cell::OnceCell;

const WHAT: &str = "kustomization";
const VERSION: &str = "kustomize.config.k8s.io/v1beta1";
const COMPONENT_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";

/// Deprecated fields, and what to write instead.
const DEPRECATED: [(&str, &str); 6] = [
    ("bases", "put its entries into 'resources'"),
    (
        "commonLabels",
        "write 'labels' with one entry, which has the labels as its 'pairs' and 'includeSelectors: true'",
    ),
    ("imageTags", "call the field 'images'"),
    (
        "patchesJson6902",
        "put its entries into 'patches'; those are applied before names, namespaces and labels are set",
    ),
    (
        "patchesStrategicMerge",
        "put its entries into 'patches', a file as '- path: FILE' and a text as '- patch: TEXT'",
    ),
    (
        "vars",
        "write 'replacements', which copy a value from one field to others",
    ),
];

/// All fields, each before those that it may be mistaken for.
const FIELDS: [&str; 34] = [
    "apiVersion",
    "kind",
    "metadata",
    "resources",
    "components",
    "namespace",
    "namePrefix",
    "nameSuffix",
    "labels",
    "commonLabels",
    "commonAnnotations",
    "images",
    "replicas",
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    "replacements",
    "vars",
    "configMapGenerator",
    "secretGenerator",
    "generatorOptions",
    "helmCharts",
    "helmGlobals",
    "helmChartInflationGenerator",
    "generators",
    "transformers",
    "validators",
    "configurations",
    "crds",
    "openapi",
    "sortOptions",
    "buildMetadata",
    "bases",
    "imageTags",
];

impl Kustomization {
    /// Parses a kustomization.
    ///
    /// # Errors
    ///
    /// It is not YAML, is empty, or a field is unknown or has a wrong value.
    pub fn read(bytes: &[u8], file: FileId) -> Result<Self, KustomizationError> {
        let node = read_first(bytes, &ReadOptions::sigs(file))?.unwrap_or_else(Node::null);
        Self::of_node(&node, bytes)
    }

    /// Reads a kustomization from a parsed text.
    ///
    /// # Errors
    ///
    /// As [`Self::read`], YAML apart.
    pub fn of_node(node: &Node, text_of: &[u8]) -> Result<Self, KustomizationError> {
        let node = &*settle(node, true)?;
        let mut fields = Fields::of(node, WHAT)?.declare(&FIELDS);
        let kind = text(&mut fields, "kind")?;
        let api_version = text(&mut fields, "apiVersion")?;
        let mut kustomization = Self {
            warnings: warnings(&mut fields),
            ..Self::default()
        };
        let read = [
            kustomization.read_operands(&mut fields),
            kustomization.read_operators(&mut fields),
            kustomization.read_patches(&mut fields),
            kustomization.read_generators(&mut fields),
            kustomization.read_rest(&mut fields),
            fields.finish(),
        ];
        ConfigError::all(read.into_iter().filter_map(Result::err).collect())?;
        if is_empty(node) {
            return Err(KustomizationError::Empty);
        }
        kustomization.is_component = check_type(&kind.text, &api_version.text)?;
        kustomization.mark_literals(text_of);
        Ok(kustomization)
    }

    /// Finds out which multi-line texts are literal blocks: that is lost in JSON.
    fn mark_literals(&mut self, bytes: &[u8]) {
        let patches = self.patches.iter_mut().chain(&mut self.patches_json6902);
        let texts = patches
            .map(|patch| &mut patch.patch)
            .chain(&mut self.patches_strategic_merge)
            .chain(&mut self.generators)
            .chain(&mut self.transformers)
            .chain(&mut self.validators);
        let lines = OnceCell::new();
        for text in texts.filter(|text| text.text.contains('\n')) {
            let lines = lines.get_or_init(|| bytes.split(|byte| *byte == b'\n').collect::<Vec<_>>());
            let before = |number: u32| usize::try_from(number).ok()?.checked_sub(1);
            let line = before(text.place.line).and_then(|line| std::str::from_utf8(lines.get(line)?).ok());
            let first = line.and_then(|line| line.chars().nth(before(text.place.column)?));
            text.is_literal = first == Some('|');
        }
    }

    fn read_operands(&mut self, fields: &mut Fields<'_>) -> Result<(), ConfigError> {
        self.resources = texts(fields, "resources")?;
        self.resources.extend(texts(fields, "bases")?);
        self.components = texts(fields, "components")?;
        self.crds = texts(fields, "crds")?;
        self.configurations = texts(fields, "configurations")?;
        self.generators = texts(fields, "generators")?;
        self.transformers = texts(fields, "transformers")?;
        self.validators = texts(fields, "validators")?;
        self.build_metadata = texts(fields, "buildMetadata")?;
        Ok(())
    }

    fn read_operators(&mut self, fields: &mut Fields<'_>) -> Result<(), ConfigError> {
        self.namespace = text(fields, "namespace")?;
        self.name_prefix = text(fields, "namePrefix")?;
        self.name_suffix = text(fields, "nameSuffix")?;
        self.common_labels = pairs(fields, "commonLabels")?;
        self.common_annotations = pairs(fields, "commonAnnotations")?;
        self.labels = each(fields, "labels", read_label)?;
        self.images = each(fields, "images", read_image)?;
        self.images.extend(each(fields, "imageTags", read_image)?);
        self.replicas = each(fields, "replicas", |entry| {
            let mut fields = Fields::of(entry, "replicas")?;
            text(&mut fields, "name")?;
            fields.integer("count")?;
            fields.finish()?;
            Ok(entry.clone())
        })?;
        self.replacements = fields.list("replacements")?.to_vec();
        self.vars = each(fields, "vars", |entry| Var::read(entry, true))?;
        Ok(())
    }

    fn read_patches(&mut self, fields: &mut Fields<'_>) -> Result<(), ConfigError> {
        self.patches_strategic_merge = texts(fields, "patchesStrategicMerge")?;
        self.patches_json6902 = each(fields, "patchesJson6902", read_patch)?;
        self.patches = each(fields, "patches", read_patch)?;
        Ok(())
    }

    fn read_generators(&mut self, fields: &mut Fields<'_>) -> Result<(), ConfigError> {
        let config_map = |entry: &Node| GeneratorArgs::read(entry, "configMapGenerator", false, true);
        let secret = |entry: &Node| GeneratorArgs::read(entry, "secretGenerator", true, true);
        self.config_map_generator = each(fields, "configMapGenerator", config_map)?;
        self.secret_generator = each(fields, "secretGenerator", secret)?;
        let options = fields.get("generatorOptions");
        self.generator_options = options.map(|node| GeneratorOptions::read(node, true)).transpose()?;
        self.helm_charts = each(fields, "helmCharts", |entry| HelmChart::read(entry, true))?;
        let globals = fields
            .get("helmGlobals")
            .map(|node| HelmGlobals::read(node, true))
            .transpose()?;
        let mut of_charts = HelmGlobals::default();
        for (chart, globals) in each(fields, "helmChartInflationGenerator", HelmChart::read_old)? {
            self.helm_charts.push(chart);
            for (ours, theirs) in [
                (&mut of_charts.chart_home, globals.chart_home),
                (&mut of_charts.config_home, globals.config_home),
            ] {
                if !theirs.is_empty() {
                    *ours = theirs;
                }
            }
        }
        self.helm_globals = globals.unwrap_or(of_charts);
        Ok(())
    }

    fn read_rest(&mut self, fields: &mut Fields<'_>) -> Result<(), ConfigError> {
        if let Some(metadata) = fields.get("metadata") {
            let mut fields = Fields::of(metadata, "metadata")?;
            for name in ["name", "namespace"] {
                text(&mut fields, name)?;
            }
            for name in ["labels", "annotations"] {
                pairs(&mut fields, name)?;
            }
            fields.finish()?;
        }
        // A map, whose keys are case-sensitive.
        for (key, value) in pairs(fields, "openapi")? {
            let given = Some(Text::of(value.text().into(), &value)).filter(|text| !text.text.is_empty());
            match key.as_str() {
                "path" => self.openapi_path = given,
                "version" => self.openapi_version = given,
                _ => {}
            }
        }
        self.sort_options = fields.get("sortOptions").map(read_sort_options).transpose()?;
        Ok(())
    }
}

fn warnings(fields: &mut Fields<'_>) -> Vec<(Place, String)> {
    let given = DEPRECATED.into_iter().filter_map(|(field, way_out)| {
        let value = fields.get(field)?;
        Some((value.place, format!("the field '{field}' is deprecated: {way_out}")))
    });
    given.collect()
}

/// Whether no field but kind and version has a value. An empty list is one, and so is an empty mapping.
fn is_empty(node: &Node) -> bool {
    node.entries().iter().all(|entry| {
        let is_type = ["kind", "apiVersion"]
            .iter()
            .any(|name| entry.key.text.eq_ignore_ascii_case(name));
        let scalar = entry.value.as_scalar();
        is_type || scalar.is_some_and(|scalar| scalar.tag == Tag::Null || scalar.text.is_empty())
    })
}

/// Whether it is a component.
fn check_type(kind: &str, api_version: &str) -> Result<bool, KustomizationError> {
    let wanted = match kind {
        "" | "Kustomization" => VERSION,
        "Component" => COMPONENT_VERSION,
        other => return Err(KustomizationError::Kind(other.to_owned())),
    };
    if !api_version.is_empty() && api_version != wanted {
        return Err(KustomizationError::ApiVersion {
            kind: if kind.is_empty() { "Kustomization" } else { kind }.to_owned(),
            wanted,
            found: api_version.to_owned(),
        });
    }
    Ok(kind == "Component")
}

/// A string and nothing else: JSON does not convert a number.
pub(super) fn text(fields: &mut Fields<'_>, name: &'static str) -> Result<Text, ConfigError> {
    fields.get(name).map_or(Ok(Text::default()), |node| {
        string(node).ok_or_else(|| fields.wrong(name, node, "a string; put it in quotes"))
    })
}

fn string(node: &Node) -> Option<Text> {
    let scalar = node.as_scalar()?;
    let text = match scalar.tag {
        Tag::Null => CompactString::default(),
        Tag::Bool | Tag::Int | Tag::Float => return None,
        _ => scalar.text.clone(),
    };
    Some(Text::of(text, node))
}

fn texts(fields: &mut Fields<'_>, name: &'static str) -> Result<Vec<Text>, ConfigError> {
    let items = fields.list(name)?.iter();
    let text = |item| string(item).ok_or_else(|| fields.wrong(name, item, "a list of strings; put them in quotes"));
    items.map(text).collect()
}

fn pairs(fields: &mut Fields<'_>, name: &'static str) -> Result<Vec<(CompactString, Node)>, ConfigError> {
    let entries = fields.get(name).map_or(&[][..], Node::entries);
    if let Some(entry) = entries.iter().find(|entry| string(&entry.value).is_none()) {
        return Err(fields.wrong(name, &entry.value, "a mapping of strings; put it in quotes"));
    }
    fields.pairs(name)
}

fn each<T>(
    fields: &mut Fields<'_>,
    name: &'static str,
    read: impl Fn(&Node) -> Result<T, ConfigError>,
) -> Result<Vec<T>, ConfigError> {
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for entry in fields.list(name)? {
        match read(entry) {
            Ok(entry) => entries.push(entry),
            Err(error) => errors.push(error),
        }
    }
    ConfigError::all(errors)?;
    Ok(entries)
}

fn read_label(entry: &Node) -> Result<LabelEntry, ConfigError> {
    let mut fields = Fields::of(entry, "labels")?;
    let specs = fields.list("fields")?.iter().map(FieldSpec::read_entry);
    let specs = specs.collect::<Result<FieldSpecs, _>>()?;
    let label = LabelEntry {
        pairs: pairs(&mut fields, "pairs")?,
        options: LabelOptions {
            selectors: fields.boolean("includeSelectors")?,
            templates: fields.boolean("includeTemplates")?,
            volume_claim_templates: fields.boolean("includeVolumeClaimTemplates")?,
        },
        fields: specs,
    };
    fields.finish()?;
    Ok(label)
}

fn read_image(entry: &Node) -> Result<ImageChange, ConfigError> {
    let mut fields = Fields::of(entry, "images")?;
    for name in ["name", "newName", "newTag", "digest", "tagSuffix"] {
        text(&mut fields, name)?;
    }
    fields.finish()?;
    ImageChange::read(entry, true)
}

fn read_patch(entry: &Node) -> Result<Patch, ConfigError> {
    let mut fields = Fields::of(entry, "patches")?;
    let mut patch = Patch {
        path: text(&mut fields, "path")?.text,
        patch: text(&mut fields, "patch")?,
        target: fields.get("target").map(read_target).transpose()?,
        place: entry.place,
        ..Patch::default()
    };
    if let Some(options) = fields.get("options") {
        let mut fields = Fields::of(options, "options of a patch")?;
        patch.allow_name_change = fields.boolean("allowNameChange")?;
        patch.allow_kind_change = fields.boolean("allowKindChange")?;
        fields.finish()?;
    }
    fields.finish()?;
    Ok(patch)
}

fn read_target(node: &Node) -> Result<Selector, ConfigError> {
    let mut fields = Fields::of(node, "target")?;
    for name in [
        "group",
        "version",
        "kind",
        "name",
        "namespace",
        "annotationSelector",
        "labelSelector",
    ] {
        text(&mut fields, name)?;
    }
    fields.finish()?;
    Selector::read(node, true)
}

pub(crate) fn read_sort_options(node: &Node) -> Result<SortOptions, ConfigError> {
    let mut fields = Fields::of(node, "sortOptions")?;
    let order = text(&mut fields, "order")?.text;
    let legacy = fields.get("legacySortOptions").map(|node| {
        let mut fields = Fields::of(node, "legacySortOptions")?;
        let kinds = |texts: Vec<Text>| texts.into_iter().map(|text| text.text).collect();
        let first = kinds(texts(&mut fields, "orderFirst")?);
        let last = kinds(texts(&mut fields, "orderLast")?);
        fields.finish()?;
        Ok::<_, ConfigError>((first, last))
    });
    let options = SortOptions {
        order,
        legacy: legacy.transpose()?,
        place: node.place,
    };
    fields.finish()?;
    Ok(options)
}
