//! Charts of kustomizations: fetched with the user's logins, and rendered in process.

use std::sync::Arc;

use crate::cli::helm::{RemoteArgs, archive};
use bumpwright_kustomize::tree::{Command, PluginFile, RemoteChart, RepoUrl, Tree, World, WorldError};
use bumpwright_template::World as Chance;
use bumpwright_update::Machine;

/// A world that has charts, too.
pub(super) struct WithCharts<W> {
    world: W,
    machine: Option<Machine>,
}

impl<W> WithCharts<W> {
    /// Functions of chance give other results each time, as with helm.
    pub(super) fn by_chance(world: W) -> Self {
        let machine = Some(Machine);
        Self { world, machine }
    }

    /// Equal charts and values give equal objects, so that a comparison shows only what changed.
    pub(super) fn repeatable(world: W) -> Self {
        let machine = None;
        Self { world, machine }
    }
}

impl<W: World> World for WithCharts<W> {
    fn repository(&self, url: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError> {
        self.world.repository(url)
    }

    fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError> {
        self.world.fetch(url)
    }

    fn plugin(&self, group: &str, version: &str, kind: &str) -> PluginFile {
        self.world.plugin(group, version, kind)
    }

    fn chart(&self, chart: &RemoteChart<'_>) -> Result<Vec<u8>, WorldError> {
        let remote = RemoteArgs {
            version: chart.version.to_owned(),
            devel: chart.devel,
            ..RemoteArgs::default()
        };
        archive(chart.repository, chart.name, &remote).map_err(|error| WorldError::Other(error.to_string()))
    }

    fn chance(&self) -> Option<&dyn Chance> {
        self.machine.as_ref().map(|machine| machine as &dyn Chance)
    }

    fn run(&self, command: &Command<'_>) -> Result<Vec<u8>, WorldError> {
        self.world.run(command)
    }
}
