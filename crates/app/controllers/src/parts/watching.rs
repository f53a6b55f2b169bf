//! The watches of the kinds, and the caches that they fill.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::configs::Known;
use crate::images::readers::Readers;
use crate::parts::context::Context;
use crate::settings::Settings;
use bumpwright_kube::{CONFIG_MAP, Cache, KeptMemory, Kind, SECRET, Scope};
use bumpwright_runtime::CheckError;

/// A watch that a kind needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watch {
    kind: &'static Kind,
    selection: Selection,
}

/// The objects of a kind that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    All,
    /// Those with the labels of `--watch-label-selector`.
    Ours,
    /// Those that this process reconciles; all of them if it does not reconcile the kind.
    OursOrAll,
    /// All objects, once somebody needs them.
    WhenNeeded,
    /// The metadata of those with the labels of `--watch-configs-label-selector`.
    Configs,
}

impl Watch {
    /// All objects, because others refer to them.
    pub(crate) fn all(kind: &'static Kind) -> Self {
        let selection = Selection::All;
        Self { kind, selection }
    }

    /// All objects, from the time when somebody needs them: few processes do.
    pub(crate) fn when_needed(kind: &'static Kind) -> Self {
        let selection = Selection::WhenNeeded;
        Self { kind, selection }
    }

    /// Those to reconcile, by their labels.
    pub(crate) fn ours(kind: &'static Kind) -> Self {
        let selection = Selection::Ours;
        Self { kind, selection }
    }

    /// Those that this process reconciles; all of them if it does not reconcile the kind.
    pub(crate) fn ours_or_all(kind: &'static Kind) -> Self {
        let selection = Selection::OursOrAll;
        Self { kind, selection }
    }

    /// The metadata of ConfigMaps or Secrets whose changes trigger reconciliations.
    pub(crate) fn configs(kind: &'static Kind) -> Self {
        let selection = Selection::Configs;
        Self { kind, selection }
    }

    fn cache(self, memory: &KeptMemory) -> Cache {
        let cache = match self.selection {
            Selection::Configs => Cache::of_metadata(self.kind),
            Selection::All | Selection::Ours | Selection::OursOrAll | Selection::WhenNeeded => Cache::new(self.kind),
        };
        cache.within(memory)
    }
}

pub(crate) struct Caches {
    /// The kinds that are reconciled.
    reconciled: Vec<&'static Kind>,
    /// Whether a label selector restricts the reconciled objects.
    is_labelled: bool,
    watched: Vec<(Watch, Arc<Cache>)>,
    /// The memory that they share.
    memory: KeptMemory,
    /// Whole objects, for reads without requests.
    pub(crate) known: Option<Known>,
    /// The automations that name policies of other namespaces.
    pub(crate) readers: Arc<Readers>,
}

impl Caches {
    /// Creates the caches that the reconciled kinds need, each with its watches; those begin later.
    pub(crate) fn new(settings: &Settings, reconciled: &[(&'static Kind, Vec<Watch>)]) -> Self {
        let mut caches = Self {
            reconciled: reconciled.iter().map(|(kind, _)| *kind).collect(),
            is_labelled: settings.scope.labels.is_some(),
            watched: Vec::new(),
            memory: KeptMemory::default(),
            known: Known::of(settings),
            readers: Arc::default(),
        };
        for watch in reconciled.iter().flat_map(|(_, watches)| watches) {
            let watch = caches.resolved(*watch);
            if caches.find(watch).is_none() {
                caches.watched.push((watch, Arc::new(watch.cache(&caches.memory))));
            }
        }
        if let Some(known) = &caches.known {
            let config_maps = settings.kinds.kustomize.then_some((&CONFIG_MAP, &known.config_maps));
            let whole = [(&SECRET, &known.secrets)].into_iter().chain(config_maps);
            let whole = whole.map(|(kind, cache)| (Watch::all(kind), Arc::clone(cache)));
            caches.watched.extend(whole);
        }
        caches
    }

    /// The cache of a watch; always empty when no enabled kind has that watch.
    pub(crate) fn of(&self, watch: Watch) -> Arc<Cache> {
        let cache = self.find(self.resolved(watch));
        cache.map_or_else(|| Arc::new(watch.cache(&self.memory)), Arc::clone)
    }

    /// The caches with all objects of their kinds that this process has anyway.
    pub(crate) fn complete(&self) -> Vec<Arc<Cache>> {
        let is_complete = |(watch, _): &&(Watch, Arc<Cache>)| {
            let is_config = [&SECRET, &CONFIG_MAP].contains(&watch.kind);
            watch.selection == Selection::All && !is_config
        };
        let complete = self.watched.iter().filter(is_complete);
        complete.map(|(_, cache)| Arc::clone(cache)).collect()
    }

    fn find(&self, watch: Watch) -> Option<&Arc<Cache>> {
        let mut watched = self.watched.iter();
        watched.find(|(known, _)| *known == watch).map(|(_, cache)| cache)
    }

    /// Equal watches share a cache.
    fn resolved(&self, watch: Watch) -> Watch {
        let Watch { kind, selection } = watch;
        match selection {
            Selection::Ours if self.is_labelled => watch,
            Selection::OursOrAll if self.is_labelled && self.reconciled.contains(&kind) => Watch::ours(kind),
            Selection::WhenNeeded if self.is_labelled || !self.reconciled.contains(&kind) => watch,
            Selection::All | Selection::Ours | Selection::OursOrAll | Selection::WhenNeeded => Watch::all(kind),
            Selection::Configs => watch,
        }
    }

    /// Returns whether all watches have been listed, and the missing ones.
    pub(crate) fn readiness(&self) -> impl Fn() -> Result<(), CheckError> + Send + Sync + use<> {
        let begun = self
            .watched
            .iter()
            .filter(|(watch, _)| watch.selection != Selection::WhenNeeded);
        let caches: Vec<Arc<Cache>> = begun.map(|(_, cache)| Arc::clone(cache)).collect();
        move || {
            let missing = caches.iter().filter_map(|cache| cache.is_listed().err());
            let missing: Vec<String> = missing.map(|why| why.to_string()).collect();
            if missing.is_empty() {
                Ok(())
            } else {
                Err(missing.join("; ").into())
            }
        }
    }

    /// Begins the watches that the kinds need.
    pub(crate) fn watch(&self, context: &Arc<Context>, background: &mut JoinSet<()>) {
        let settings = &context.settings;
        for (watch, cache) in &self.watched {
            let labels = match watch.selection {
                Selection::All | Selection::OursOrAll | Selection::WhenNeeded => None,
                Selection::Ours => settings.scope.labels.clone(),
                Selection::Configs => {
                    Some(settings.kustomize.watched_configs.clone()).filter(|labels| !labels.is_empty())
                }
            };
            let scope = Scope {
                labels,
                ..settings.scope.clone()
            };
            let (cache, context) = (Arc::clone(cache), Arc::clone(context));
            let waits = watch.selection == Selection::WhenNeeded;
            background.spawn(async move {
                if waits {
                    cache.needed().await;
                }
                let log = context.log.with("resource", cache.kind().plural);
                let failed = |error: &str| log.error(&error, "failed to watch");
                cache.run(&context.cluster, &scope, failed).await;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_kube::{GIT_REPOSITORY, IMAGE_POLICY};

    fn caches(is_labelled: bool) -> Caches {
        Caches {
            reconciled: vec![&IMAGE_POLICY],
            is_labelled,
            watched: Vec::new(),
            memory: KeptMemory::default(),
            known: None,
            readers: Arc::default(),
        }
    }

    #[test]
    fn without_labels_all_objects_of_a_kind_are_ours() {
        for watch in [Watch::all, Watch::ours, Watch::ours_or_all] {
            assert_eq!(caches(false).resolved(watch(&IMAGE_POLICY)), Watch::all(&IMAGE_POLICY));
        }
        let configs = Watch::configs(&CONFIG_MAP);
        assert_eq!(caches(false).resolved(configs), configs);
    }

    #[test]
    fn with_labels_only_kinds_that_are_reconciled_here_have_objects_that_are_ours() {
        for (watch, resolved) in [
            (Watch::all(&GIT_REPOSITORY), Watch::all(&GIT_REPOSITORY)),
            (Watch::ours(&GIT_REPOSITORY), Watch::ours(&GIT_REPOSITORY)),
            (Watch::ours_or_all(&GIT_REPOSITORY), Watch::all(&GIT_REPOSITORY)),
            (Watch::ours_or_all(&IMAGE_POLICY), Watch::ours(&IMAGE_POLICY)),
        ] {
            assert_eq!(caches(true).resolved(watch), resolved, "{watch:?}");
        }
    }
}
