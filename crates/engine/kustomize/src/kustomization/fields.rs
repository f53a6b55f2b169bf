//! The fields of a kustomization, older ones converted.

use crate::fields::FieldSpecs;
use crate::generate::{GeneratorArgs, GeneratorOptions, HelmChart, HelmGlobals};
use crate::replace::{Selector, Var};
use crate::transform::{ImageChange, LabelOptions};
use bumpwright_yaml::{Node, Place, Style};
use compact_str::CompactString;

/// A text and its place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    pub text: CompactString,
    pub place: Place,
    /// Whether it is a literal block (`|`), whose lines are those of the file.
    pub is_literal: bool,
}

impl Text {
    /// The text of `node`.
    pub(crate) fn of(text: CompactString, node: &Node) -> Self {
        let scalar = node.as_scalar();
        Self {
            text,
            place: node.place,
            is_literal: scalar.is_some_and(|scalar| scalar.style == Style::Literal),
        }
    }
}

/// The content of a kustomization.
#[derive(Debug, Default)]
// each is named as its field
pub struct Kustomization {
    /// Whether it is a component.
    pub is_component: bool,
    pub namespace: Text,
    pub name_prefix: Text,
    pub name_suffix: Text,
    pub common_labels: Vec<(CompactString, Node)>,
    pub labels: Vec<LabelEntry>,
    pub common_annotations: Vec<(CompactString, Node)>,
    pub patches_strategic_merge: Vec<Text>,
    pub patches_json6902: Vec<Patch>,
    pub patches: Vec<Patch>,
    pub images: Vec<ImageChange>,
    /// Entries as written: they may name files.
    pub replacements: Vec<Node>,
    pub replicas: Vec<Node>,
    pub vars: Vec<Var>,
    pub sort_options: Option<SortOptions>,
    pub resources: Vec<Text>,
    pub components: Vec<Text>,
    pub crds: Vec<Text>,
    pub config_map_generator: Vec<GeneratorArgs>,
    pub secret_generator: Vec<GeneratorArgs>,
    pub helm_globals: HelmGlobals,
    pub helm_charts: Vec<HelmChart>,
    pub generator_options: Option<GeneratorOptions>,
    pub configurations: Vec<Text>,
    pub generators: Vec<Text>,
    pub transformers: Vec<Text>,
    pub validators: Vec<Text>,
    pub build_metadata: Vec<Text>,
    pub openapi_path: Option<Text>,
    pub openapi_version: Option<Text>,
    /// Deprecated fields, and what to write instead.
    pub warnings: Vec<(Place, String)>,
}

/// An entry of `labels`.
#[derive(Debug, Clone, Default)]
pub struct LabelEntry {
    pub pairs: Vec<(CompactString, Node)>,
    /// The fields to add them to, besides those of the object.
    pub options: LabelOptions,
    /// More fields to add them to.
    pub fields: FieldSpecs,
}

/// An entry of `patches` or `patchesJson6902`.
#[derive(Debug, Clone, Default)]
pub struct Patch {
    /// The file with the patch; empty if `patch` has it.
    pub path: CompactString,
    pub patch: Text,
    /// The resources to patch; without it, those that the patch names.
    pub target: Option<Selector>,
    /// Whether it may change their name.
    pub allow_name_change: bool,
    /// Whether it may change their kind.
    pub allow_kind_change: bool,
    /// The place of the entry.
    pub place: Place,
}

/// The order of the output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SortOptions {
    /// `fifo` or `legacy`.
    pub order: CompactString,
    /// The kinds that come first and last.
    pub legacy: Option<(Vec<CompactString>, Vec<CompactString>)>,
    pub place: Place,
}
