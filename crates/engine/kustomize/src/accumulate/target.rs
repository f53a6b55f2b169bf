//! One kustomization: its steps in their order.

use super::context::Context;
use super::error::BuildError;
use crate::fields::{FieldConfig, settle};
use crate::growth;
use crate::kustomization::{Kustomization, Text, crd_config, find};
use crate::reference::mark_vars;
use crate::replace::VarSet;
use crate::resource::{Origin, ResMap};
use crate::tree::Loader;
use bumpwright_yaml::{Node, weight};
use std::rc::Rc;

/// A kustomization that replaces the target's own, whose file must exist all the same.
#[derive(Debug, Clone)]
pub struct Rewritten {
    /// The kustomization. Its places with a file are those in the target's own; additions have none.
    pub node: Node,
    /// The text of these places.
    pub text: Vec<u8>,
}

/// A kustomization and its directory.
pub(super) struct Target<'c, 'a> {
    pub context: &'c Context<'a>,
    pub loader: Loader<'c>,
    /// The name of its file.
    pub file: &'static str,
    pub kustomization: Kustomization,
    /// Its origin, if that is tracked.
    pub origin: Option<Origin>,
    /// The namespace set by kustomizations above: charts without one are rendered for it.
    pub helm_namespace: String,
    pub depth: usize,
}

/// The accumulated result of kustomizations.
#[derive(Debug, Default)]
pub(super) struct Accumulated {
    pub map: ResMap,
    pub config: Rc<FieldConfig>,
    pub vars: VarSet,
}

impl Accumulated {
    /// Adds the result of a directory.
    pub(super) fn merge(&mut self, other: Self, builtin: &Rc<FieldConfig>) -> Result<(), BuildError> {
        self.map.append_all(other.map)?;
        self.merge_config(&other.config, builtin)?;
        self.vars.add(other.vars)?;
        Ok(())
    }

    /// Adds field specs. Even to empty tables they are added one by one, since a spec that comes later in a table may
    /// be equivalent to one before it; the built-in ones were added so already.
    pub(super) fn merge_config(
        &mut self,
        other: &Rc<FieldConfig>,
        builtin: &Rc<FieldConfig>,
    ) -> Result<(), BuildError> {
        if Rc::ptr_eq(other, builtin) && *self.config == FieldConfig::default() {
            self.config = Rc::clone(other);
            return Ok(());
        }
        if Rc::ptr_eq(&self.config, other) || **other == FieldConfig::default() {
            return Ok(());
        }
        Ok(Rc::make_mut(&mut self.config).merge(other)?)
    }
}

impl<'c, 'a> Target<'c, 'a> {
    /// Reads the kustomization of a directory, or takes its replacement.
    pub(super) fn load(
        context: &'c Context<'a>,
        loader: Loader<'c>,
        rewritten: Option<&Rewritten>,
    ) -> Result<Self, BuildError> {
        let kustomization_file = find(&loader)?;
        let file = context.file(&loader.shown(kustomization_file.name));
        let reserved = growth::take(weight::of_text(&kustomization_file.bytes));
        reserved.map_err(|error| {
            BuildError::from(error).at(bumpwright_yaml::Place {
                file,
                ..Default::default()
            })
        })?;
        let read = match rewritten {
            Some(rewritten) => Kustomization::of_node(&rewritten.node, &rewritten.text),
            None => Kustomization::read(&kustomization_file.bytes, file),
        };
        let mut kustomization = read.map_err(|error| {
            BuildError::from(error).at(bumpwright_yaml::Place {
                file,
                ..Default::default()
            })
        })?;
        for (place, warning) in std::mem::take(&mut kustomization.warnings) {
            context.warn(place, &warning);
        }
        Ok(Self {
            context,
            loader,
            file: kustomization_file.name,
            kustomization,
            origin: None,
            helm_namespace: String::new(),
            depth: 0,
        })
    }

    /// Tracks origins, if the kustomization enables that.
    pub(super) fn track_origins(&mut self) {
        if !self.kustomization.build_metadata.is_empty() {
            self.origin = Some(Origin::default());
        }
    }

    pub(super) fn accumulate(&self) -> Result<Accumulated, BuildError> {
        self.accumulate_onto(Accumulated::default())
    }

    /// Its result on top of `accumulated`, which is empty unless it is a component.
    pub(super) fn accumulate_onto(&self, mut accumulated: Accumulated) -> Result<Accumulated, BuildError> {
        let added = self.add_resources(&mut accumulated, &self.kustomization.resources);
        added.map_err(|error| error.and(self.own_faults()))?;
        accumulated.merge_config(&self.own_fields()?, &self.context.fields)?;
        accumulated.merge_config(&self.crd_fields()?, &self.context.fields)?;
        self.run_generators(&mut accumulated)?;
        accumulated = self.add_components(accumulated)?;
        self.run_transformers(&mut accumulated)?;
        self.run_validators(&mut accumulated)?;
        let vars = &self.kustomization.vars;
        mark_vars(&mut accumulated.map, vars, &self.context.schema())?;
        accumulated.vars.add(vars.iter().cloned())?;
        Ok(accumulated)
    }

    /// Checks for errors that do not depend on resources: files of generators and patches.
    fn own_faults(&self) -> Vec<BuildError> {
        let generated = self.generated().filter_map(|(_, made)| made.err());
        let steps = self.builtin_steps(&self.context.fields).err();
        generated.chain(steps).collect()
    }

    /// The errors that do not depend on its bases.
    pub(super) fn faults(&self) -> Vec<BuildError> {
        let added = self.add_resources(&mut Accumulated::default(), &self.kustomization.resources);
        added.err().into_iter().chain(self.own_faults()).collect()
    }

    /// The field specs in effect: the built-in ones and those of `configurations`.
    fn own_fields(&self) -> Result<Rc<FieldConfig>, BuildError> {
        let files = &self.kustomization.configurations;
        if files.is_empty() {
            return Ok(Rc::clone(&self.context.fields));
        }
        let mut own = FieldConfig::default();
        for file in files {
            if let Some(document) = self.context.strict_document(&self.loader, file)? {
                let through = |error| BuildError::from(error).through(file.place);
                let read = settle(&document, false).and_then(|document| FieldConfig::read(&document));
                own.merge(&read.map_err(through)?).map_err(through)?;
            }
        }
        let mut tables = (*self.context.fields).clone();
        tables.merge(&own)?;
        Ok(Rc::new(tables))
    }

    fn crd_fields(&self) -> Result<Rc<FieldConfig>, BuildError> {
        let mut fields = FieldConfig::default();
        for file in &self.kustomization.crds {
            if let Some(document) = self.context.document(&self.loader, file)? {
                let through = |error| BuildError::from(error).through(file.place);
                fields
                    .merge(&crd_config(&document).map_err(through)?)
                    .map_err(through)?;
            }
        }
        Ok(Rc::new(fields))
    }

    /// The origin of the output of a built-in generator or transformer.
    pub(super) fn builtin_origin(&self, kind: &str) -> Option<Origin> {
        self.origin.as_ref().map(|origin| origin.of_builtin(self.file, kind))
    }

    /// The origin of a file or directory that is named here.
    pub(super) fn origin_of(&self, name: &Text) -> Option<Origin> {
        self.origin.as_ref().map(|origin| origin.append(&name.text))
    }
}
