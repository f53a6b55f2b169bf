//! The root of a build: the steps that run once, after all kustomizations are accumulated.

use super::context::Context;
use super::error::BuildError;
use super::options::Options;
use super::order::sort;
use super::target::{Rewritten, Target};
use super::told::LostItems;
use super::transform::add_hashes;
use crate::fields::FieldSpec;
use crate::growth::{Metering, take};
use crate::reference::{fix_references, resolve_vars};
use crate::resource::{ResMap, Resource, check};
use crate::transform::Metadata;
use crate::tree::{Loader, Tree, World};
use bumpwright_budget::Reservation;
use bumpwright_yaml::{Files, Node, write_sigs};

/// The result of a build.
#[derive(Debug)]
pub struct Build {
    /// The objects in their order.
    pub objects: Vec<Resource>,
    /// Warnings for the user, in kustomize's words.
    pub warnings: Vec<String>,
    /// Items of lists that merge patches have dropped; each is among the warnings.
    pub lost: Vec<LostItems>,
    /// The names of the files in the places of `objects`.
    pub files: Files,
    /// The memory reserved for all of it.
    pub reservation: Option<Reservation>,
}

impl Build {
    /// The objects as `kustomize build` prints them.
    ///
    /// # Errors
    ///
    /// An object has a value without a form in JSON, such as `.nan`.
    pub fn to_yaml(&self) -> Result<String, BuildError> {
        let mut text = String::new();
        for (at, object) in self.objects.iter().enumerate() {
            if at > 0 {
                text.push_str("---\n");
            }
            self.write(object, &mut text)?;
        }
        Ok(text)
    }

    /// Appends one of the objects to a text, as `kustomize build` prints it.
    pub fn write(&self, object: &Resource, text: &mut String) -> Result<(), BuildError> {
        let written = write_sigs(&object.node, text);
        written.map_err(|error| {
            let place = error.place;
            let error = BuildError::from(error).of(object.id());
            error.at(place).at(object.node.place).resolved(&self.files)
        })
    }
}

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The version of kustomize whose output this is.
const MANAGER: &str = "kustomize-v5.8.2";

const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";

/// Builds the kustomization in the directory `target`: a path from the root of the tree, or the URL of a repository.
///
/// # Errors
///
/// Something that it needs is missing or invalid.
pub fn build(tree: &dyn Tree, target: &str, options: &Options, world: &dyn World) -> Result<Build, BuildError> {
    build_with(tree, target, None, options, world)
}

/// As [`build`], with another kustomization for the target than its file has, so that errors still name
/// places in that file.
pub fn build_rewritten(
    tree: &dyn Tree,
    target: &str,
    kustomization: &Rewritten,
    options: &Options,
    world: &dyn World,
) -> Result<Build, BuildError> {
    build_with(tree, target, Some(kustomization), options, world)
}

fn build_with(
    tree: &dyn Tree,
    target: &str,
    rewritten: Option<&Rewritten>,
    options: &Options,
    world: &dyn World,
) -> Result<Build, BuildError> {
    let metered = Metering::begin(options.memory.as_ref());
    let context = Context::new(world, options);
    let objects = run(&context, tree, target, rewritten).map_err(|error| error.resolved(&context.files()))?;
    Ok(Build {
        objects,
        warnings: context.warnings.take(),
        lost: context.lost.take(),
        files: context.into_files(),
        reservation: metered.end(),
    })
}

fn run(
    context: &Context<'_>,
    tree: &dyn Tree,
    target: &str,
    rewritten: Option<&Rewritten>,
) -> Result<Vec<Resource>, BuildError> {
    let options = context.options;
    let shown_from = options.shown_from.as_deref();
    let loader = Loader::new(tree, context.world, target, options.restrictions, shown_from)?;
    let mut root = Target::load(context, loader, rewritten)?;
    context.choose_schema(&root.loader, &root.kustomization)?;
    root.track_origins();
    let mut accumulated = root.accumulate()?;
    add_hashes(&mut accumulated.map, &context.schema())?;
    let config = &accumulated.config;
    fix_references(&mut accumulated.map, &config.name_reference, &context.schema())?;
    let unused = resolve_vars(
        &mut accumulated.map,
        &accumulated.vars,
        &config.var_reference,
        &context.schema(),
    )?;
    if !unused.is_empty() {
        let unused = unused.join(",");
        let warning = format!("well-defined vars that were never replaced: {unused}");
        context.warnings.borrow_mut().push(warning);
    }
    drop_local(&mut accumulated.map)?;
    sort(
        &mut accumulated.map,
        root.kustomization.sort_options.as_ref(),
        context.options.order,
    )?;
    let asks = |option: &str| root.kustomization.build_metadata.iter().any(|text| text.text == option);
    let (origin, transformations) = (asks("originAnnotations"), asks("transformerAnnotations"));
    let managed = context.options.managed_by_label || asks("managedByLabel");
    let label = Metadata {
        what: "labels",
        pairs: vec![(
            MANAGED_BY.into(),
            Node::string(context.options.manager.unwrap_or(MANAGER)),
        )],
        fields: [FieldSpec::of_any("metadata/labels", true)].into_iter().collect(),
    };
    let mut objects = accumulated.map.into_list();
    for object in &mut objects {
        take(object.origins(origin, transformations))?;
        if managed {
            label.apply(&mut object.node, &mut object.shared)?;
        }
        object.settle_annotations(origin, transformations);
    }
    Ok(objects)
}

/// Drops objects for local use only, and checks that the others are still objects.
fn drop_local(map: &mut ResMap) -> Result<(), BuildError> {
    for resource in map.list() {
        check(&resource.node).map_err(|error| BuildError::from(error).of(resource.id()))?;
    }
    map.check_unique()?;
    let stays = |resource: &Resource| resource.annotation(LOCAL_CONFIG).is_none_or(|value| value == "false");
    if !map.list().iter().all(stays) {
        map.list_mut().retain(stays);
    }
    Ok(())
}
