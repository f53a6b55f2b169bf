//! What the API server says about some objects of a build before they are applied: dry runs, and nothing else.

use futures::{StreamExt as _, stream};
use serde_json::Value;

use super::coming::Coming;
use super::dry_run::{Looker, refusal};
use crate::error::{ApplyError, Cause, Refusal};
use crate::object::item::{Desired, Item};
use crate::settings::Settings;
use crate::stage::defined;
use bumpwright_kube::Cluster;

/// The objects among `objects` that the server refuses, in their order. `build` is all that is applied with them: a
/// namespace or kind that it brings is not missing, since an apply gets there first. Objects of a kind whose definition
/// is among `objects` are left out, since the server has only the definition of before; so are encrypted ones, which
/// are refused without asking.
///
/// # Errors
/// [`ApplyError::IgnoreRule`]
pub async fn refusals<'b>(
    cluster: &Cluster,
    objects: Vec<Desired>,
    build: impl IntoIterator<Item = &'b Value>,
    settings: &Settings,
) -> Result<Vec<Refusal>, ApplyError> {
    // An apply without dry runs is refused in the same words. Migrating managers would write.
    let settings = Settings {
        dry_run: true,
        migrate_api_version: false,
        ..settings.clone()
    };
    let looker = Looker::new(cluster, &settings)?;
    let (mut coming, mut redefined) = (Coming::default(), Coming::default());
    build.into_iter().for_each(|object| coming.add(object));
    let definitions = objects.iter().map(|desired| &desired.object);
    definitions
        .filter(|object| defined(object).is_some())
        .for_each(|object| redefined.add(object));
    let items = objects
        .into_iter()
        .filter_map(|desired| Item::of(desired, &settings).ok());
    let looks: Vec<_> = items
        .filter(|item| !redefined.brings(item))
        .map(|item| admitted(&looker, &coming, item))
        .collect();
    let looks = stream::iter(looks).buffered(settings.concurrency.max(1));
    let refused: Vec<Refusal> = looks.filter_map(|look| async move { look.err() }).collect().await;
    let refused = refused.into_iter().map(|refusal| Refusal {
        message: settings.mask.hide(&refusal.message),
        ..refusal
    });
    Ok(refused.collect())
}

async fn admitted(looker: &Looker<'_>, coming: &Coming, mut item: Item) -> Result<(), Refusal> {
    let answer = match looker.cluster.resource(&item.gvk).await {
        Ok(resource) => looker.admits(&mut item, &resource).await,
        Err(error) => Err(refusal(&item, &error)),
    };
    match answer {
        Err(refusal) if refusal.cause == Cause::Missing && coming.brings(&item) => Ok(()),
        answer => answer,
    }
}
