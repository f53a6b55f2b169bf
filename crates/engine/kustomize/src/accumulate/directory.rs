//! Files and directories that a kustomization names: resources, other kustomizations, components.

use super::context::map_of;
use super::error::{BuildError, Cause};
use super::target::{Accumulated, Target};
use crate::kustomization::Text;
use crate::resource::ReadError;
use crate::tree::{LoadError, Loader, RepoUrl};
use bumpwright_text::Cuts;
use bumpwright_yaml::reread;
use std::sync::Arc;

/// Maximum depth of kustomizations. Each takes some twenty kilobytes of stack.
const MAX_DEPTH: usize = 50;

/// Maximum number of kustomizations in one build: two on each of thirty levels that include both of the
/// next would take days.
const MAX_LOADS: usize = 20_000;

/// Entries of one list that may fail before the others are skipped.
const MAX_ERRORS: usize = 20;

/// Cycles reported in one build: among many kustomizations that include each other there are endlessly many.
const MAX_CYCLES: usize = 20;

impl<'c> Target<'c, '_> {
    /// Adds the resources of files and directories.
    pub(super) fn add_resources(&self, accumulated: &mut Accumulated, names: &[Text]) -> Result<(), BuildError> {
        let mut errors = Vec::new();
        for name in names {
            if errors.len() >= MAX_ERRORS || self.has_too_many_cycles() {
                break;
            }
            let added = match self.directory(name) {
                Some(Ok(loader)) => self.add_directory(accumulated, loader, name),
                Some(Err(error)) => Err(BuildError::from(error).at(name.place)),
                None => self.add_file_or_repository(accumulated, name),
            };
            errors.extend(added.map_err(|error| error.through(name.place)).err());
        }
        BuildError::all(errors)
    }

    /// The directory of a name, unless it is a file.
    fn directory(&self, name: &Text) -> Option<Result<Loader<'c>, LoadError>> {
        let is_url = RepoUrl::parse(&name.text).is_ok();
        if is_url && !is_fetched(&name.text) {
            return Some(self.enter(name));
        }
        (!is_url && self.loader.is_directory(&name.text)).then(|| self.enter(name))
    }

    /// The directory or repository of a name.
    fn enter(&self, name: &Text) -> Result<Loader<'c>, LoadError> {
        let entered = self.loader.enter(&name.text);
        if let Err(LoadError::Cycle { .. } | LoadError::RepositoryCycle { .. }) = &entered {
            self.context.cycles.set(self.context.cycles.get() + 1);
        }
        entered
    }

    /// Whether the build has failed by so many cycles that looking for more is useless.
    fn has_too_many_cycles(&self) -> bool {
        self.context.cycles.get() >= MAX_CYCLES
    }

    /// A file; or, where an `http` URL has no resources, the repository of that URL.
    fn add_file_or_repository(&self, accumulated: &mut Accumulated, name: &Text) -> Result<(), BuildError> {
        let error = match self.add_file(accumulated, name) {
            Err(error) if is_fetched(&name.text) => error,
            done => return done,
        };
        let is_no_resource = match &*error.cause {
            Cause::Read(ReadError::Malformed(_) | ReadError::NoObject(_) | ReadError::NoKind(_)) => true,
            Cause::Load(LoadError::World { .. }) => RepoUrl::parse(&name.text).is_ok(),
            _ => false,
        };
        if !is_no_resource {
            return Err(error);
        }
        match self.enter(name) {
            Ok(loader) => self.add_directory(accumulated, loader, name),
            Err(_) => Err(error),
        }
    }

    fn add_file(&self, accumulated: &mut Accumulated, name: &Text) -> Result<(), BuildError> {
        let bytes = self
            .loader
            .load(&name.text)
            .map_err(|error| BuildError::from(error).at(name.place))?;
        let file = self.context.file(&self.loader.shown(&name.text));
        let resources = self.context.resources(&bytes, file)?;
        let origin = self.origin_of(name).map(Arc::new);
        for mut resource in resources {
            let place = resource.node.place;
            if let Some(origin) = &origin {
                resource.origin = Some(Arc::clone(origin));
            }
            let added = accumulated.map.append(resource);
            added.map_err(|error| BuildError::from(error).at(place))?;
        }
        Ok(())
    }

    /// Accumulates the kustomization of a directory, as a part of this one.
    fn below(&self, loader: Loader<'c>, name: &Text) -> Result<Box<Self>, BuildError> {
        if self.depth >= MAX_DEPTH {
            return Err(Cause::Depth(MAX_DEPTH).into());
        }
        let loads = self.context.loads.get() + 1;
        self.context.loads.set(loads);
        if loads > MAX_LOADS {
            return Err(Cause::Number(MAX_LOADS).into());
        }
        let mut below = Box::new(Target::load(self.context, loader, None)?);
        below.depth = self.depth + 1;
        below.origin = self.origin_of(name);
        below.helm_namespace = match self.kustomization.namespace.text.as_str() {
            "" => self.helm_namespace.clone(),
            namespace => namespace.to_owned(),
        };
        self.context.choose_schema(&below.loader, &below.kustomization)?;
        Ok(below)
    }

    fn add_directory(&self, accumulated: &mut Accumulated, loader: Loader<'c>, name: &Text) -> Result<(), BuildError> {
        let below = self.below(loader, name)?;
        if below.kustomization.is_component {
            return Err(BuildError::from(Cause::Component(below.loader.shown("."))).at(name.place));
        }
        accumulated.merge(below.accumulate()?, &self.context.fields)
    }

    /// Applies components to all resources so far, each on top of those before it.
    pub(super) fn add_components(&self, mut accumulated: Accumulated) -> Result<Accumulated, BuildError> {
        let mut names = self.kustomization.components.iter();
        while let Some(name) = names.next() {
            let added = self
                .component(name)
                .and_then(|below| below.accumulate_onto(accumulated));
            // As with a directory: ids are checked, and a field spec may be replaced by one that sorts before it.
            let merged = added.and_then(|added| {
                let mut merged = Accumulated::default();
                merged.merge(added, &self.context.fields)?;
                Ok(merged)
            });
            accumulated = match merged {
                Ok(merged) => merged,
                Err(error) => {
                    let others = names.take_while(|_| !self.has_too_many_cycles());
                    let others = others.map(|name| match self.component(name) {
                        Ok(below) => through(below.faults(), name),
                        Err(error) => through(vec![error], name),
                    });
                    return Err(error.through(name.place).and(others.flatten().collect()));
                }
            };
        }
        Ok(accumulated)
    }

    /// The component of a directory.
    fn component(&self, name: &Text) -> Result<Box<Self>, BuildError> {
        let loader = self
            .enter(name)
            .map_err(|error| BuildError::from(error).at(name.place))?;
        let below = self.below(loader, name)?;
        if !below.kustomization.is_component {
            return Err(BuildError::from(Cause::NoComponent(below.loader.shown("."))).at(name.place));
        }
        Ok(below)
    }

    /// The resources of entries that are texts of resources, or name files and directories of such: the inline ones
    /// first.
    pub(super) fn configs(&self, entries: &[Text]) -> Result<crate::resource::ResMap, BuildError> {
        let mut accumulated = Accumulated::default();
        let mut names = Vec::new();
        for entry in entries {
            let Ok(resources) = self.context.inline_resources(entry) else {
                names.push(entry.clone());
                continue;
            };
            let mut map = map_of(resources)?;
            if let Some(origin) = &self.origin {
                let origin = Arc::new(origin.append(self.file));
                for resource in map.list_mut() {
                    resource.origin = Some(Arc::clone(&origin));
                }
            }
            accumulated.map.append_all(map)?;
        }
        self.add_resources(&mut accumulated, &names)?;
        for config in accumulated.map.list_mut() {
            // The input of a plugin is printed.
            let read = reread(&mut config.node);
            read.map_err(|error| {
                let place = error.place;
                BuildError::from(error).of(config.id()).at(place)
            })?;
        }
        Ok(accumulated.map)
    }
}

/// Adds the field that led to errors.
fn through(errors: Vec<BuildError>, name: &Text) -> Vec<BuildError> {
    let errors = errors.into_iter();
    errors.map(|error| error.through(name.place)).collect()
}

/// Whether a name is the URL of a file that HTTP may return.
fn is_fetched(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_http = lower.starts_with("http://") || lower.starts_with("https://");
    let path = lower.before('?');
    let is_marked = path.contains(".git")
        || path.contains("_git/")
        || path.split("://").nth(1).is_some_and(|rest| rest.contains("//"));
    let asks_for_reference = lower.contains("?ref=") || lower.contains("&ref=") || lower.contains("?version=");
    let is_file = [".yaml", ".yml", ".json"].iter().any(|end| path.ends_with(end));
    is_http && (is_file || !(is_marked || asks_for_reference))
}
