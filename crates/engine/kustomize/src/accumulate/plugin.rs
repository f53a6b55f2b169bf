//! Generators and transformers: those of the fields of a kustomization, and those with a config of their own.

use super::builtin::is_builtin;
use super::error::BuildError;
use super::target::{Accumulated, Target};
use super::transform::{Step, Transformer};
use crate::generate::{GeneratorArgs, GeneratorOptions, config_map, secret};
use crate::growth;
use crate::plugins::{Plugin, PluginError};
use crate::resource::{Origin, ResMap, Resource};
use crate::schema::SchemaChoice;
use bumpwright_yaml::Place;
use std::sync::Arc;

impl Target<'_, '_> {
    /// Runs the generators of the fields of the kustomization, then those of `generators`.
    pub(super) fn run_generators(&self, accumulated: &mut Accumulated) -> Result<(), BuildError> {
        let kustomization = &self.kustomization;
        let mut errors = Vec::new();
        for (place, made) in self.generated() {
            let absorbed = made.and_then(|made| self.absorb(accumulated, vec![made], place));
            errors.extend(absorbed.err());
        }
        BuildError::all(errors)?;
        for chart in &kustomization.helm_charts {
            let mut chart = chart.clone();
            if chart.namespace.is_empty() {
                chart.namespace = match kustomization.namespace.text.as_str() {
                    "" => self.helm_namespace.as_str().into(),
                    namespace => namespace.into(),
                };
            }
            let rendered = self.render(&chart, &kustomization.helm_globals);
            let rendered = rendered.map_err(|error| error.at(chart.place))?;
            let origin = self.builtin_origin("HelmChartInflationGenerator");
            self.absorb(accumulated, marked(rendered, origin), chart.place)?;
        }
        for config in self.configs(&kustomization.generators)?.list() {
            let place = config.node.place;
            let generated = self.generate_configured(config).map_err(|error| error.at(place))?;
            let origin = Origin::of_plugin(config);
            self.absorb(accumulated, marked(generated, origin), place)?;
        }
        Ok(())
    }

    /// The objects of `configMapGenerator` and `secretGenerator`, with the places of their entries.
    pub(super) fn generated(&self) -> impl Iterator<Item = (Place, Result<Resource, BuildError>)> {
        let maps = self
            .kustomization
            .config_map_generator
            .iter()
            .map(|args| ("ConfigMapGenerator", args));
        let secrets = self
            .kustomization
            .secret_generator
            .iter()
            .map(|args| ("SecretGenerator", args));
        maps.chain(secrets)
            .map(|(kind, args)| (args.place, self.generate(kind, args)))
    }

    fn generate(&self, kind: &'static str, args: &GeneratorArgs) -> Result<Resource, BuildError> {
        let global = self.kustomization.generator_options.as_ref();
        let options = args.options.iter().chain(global);
        let weight = growth::RESOURCE + options.map(GeneratorOptions::weight).sum::<u64>();
        growth::take(weight).map_err(|error| BuildError::from(error).at(args.place))?;
        let args = GeneratorArgs {
            options: GeneratorOptions::with_global(args.options.as_ref(), global),
            ..args.clone()
        };
        let schema = self.context.schema();
        let resources = match kind {
            "SecretGenerator" => secret(&args, &self.loader, &schema),
            _ => config_map(&args, &self.loader, &schema),
        };
        let mut resources = resources.map_err(|error| BuildError::from(error).at(args.place))?;
        resources.origin = self.builtin_origin(kind).map(Arc::new);
        Ok(resources)
    }

    fn absorb(&self, accumulated: &mut Accumulated, made: Vec<Resource>, place: Place) -> Result<(), BuildError> {
        for resource in made {
            let absorbed = accumulated.map.absorb(resource, &self.context.schema());
            absorbed.map_err(|error| BuildError::from(error).at(place))?;
        }
        Ok(())
    }

    fn generate_configured(&self, config: &Resource) -> Result<ResMap, BuildError> {
        if is_builtin(config) {
            return self.generate_builtin(config);
        }
        let schema = self.context.schema();
        Ok(self.plugin(config, &schema)?.generate()?)
    }

    fn plugin<'t>(&'t self, config: &Resource, schema: &'t SchemaChoice) -> Result<Plugin<'t>, BuildError> {
        let options = self.context.options;
        if !options.plugins {
            return Err(PluginError::Disabled(config.original_id().gvk.kind.into()).into());
        }
        let world = self.context.world;
        Ok(Plugin::load(config, options.functions, &self.loader, world, schema)?)
    }

    /// The transformers of configs, in order.
    pub(super) fn configured_steps<'t>(
        &'t self,
        configs: &ResMap,
        schema: &'t SchemaChoice,
    ) -> Result<Vec<Step<'t>>, BuildError> {
        let step = |config: &Resource| {
            let place = config.node.place;
            let transformer = if is_builtin(config) {
                self.builtin_transformer(config)
            } else {
                self.plugin(config, schema).map(Transformer::Plugin)
            };
            Ok(Step {
                transformer: transformer.map_err(|error| error.at(place).of(config.id()))?,
                place,
                origin: Origin::of_plugin(config),
            })
        };
        let (mut steps, mut errors) = (Vec::new(), Vec::new());
        for config in configs.list() {
            match step(config) {
                Ok(step) => steps.push(step),
                Err(error) => errors.push(error),
            }
        }
        BuildError::all(errors)?;
        Ok(steps)
    }
}

/// Adds an origin to resources that have none.
fn marked(map: ResMap, origin: Option<Origin>) -> Vec<Resource> {
    let mut list = map.into_list();
    let origin = origin.map(Arc::new);
    for resource in list.iter_mut().filter(|resource| resource.origin.is_none()) {
        resource.origin.clone_from(&origin);
    }
    list
}
