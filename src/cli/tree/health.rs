//! How the objects of a tree are.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};

use crate::cli::images::now;
use bumpwright_api::ObjectName;
use bumpwright_apply::status_of;
use bumpwright_cel::HealthChecks;
use bumpwright_gostd::Time;
use bumpwright_kube::{Cluster, GroupVersionKind};
use bumpwright_overview::{Branch, Entry, Health, World};

/// The objects that are asked for at once.
const AT_ONCE: usize = 16;

/// Asks for each object without a reported state, or with an expression for it, and notes the
/// answers in the tree.
pub(super) async fn look(cluster: &Cluster, world: &World, tree: &mut Branch) {
    let (objects, now) = (world.silent(tree), &now());
    let looks = objects.into_iter().map(|(object, checks)| async move {
        let health = of(cluster, &object, &checks, now).await;
        (object, health)
    });
    let health: BTreeMap<Entry, Health> = stream::iter(looks).buffer_unordered(AT_ONCE).collect().await;
    tree.note(&health);
}

async fn of(cluster: &Cluster, object: &Entry, checks: &HealthChecks, now: &Time) -> Health {
    let kind = GroupVersionKind {
        group: object.group.clone(),
        version: object.version.clone(),
        kind: object.kind.clone(),
    };
    let name = ObjectName::new(&object.namespace, &object.name);
    let seen = match cluster.resource_at_any_version(&kind).await {
        Ok(Some(resource)) => status_of(cluster, &resource, &name, checks, now).await,
        Ok(None) => return Health::unread("the cluster does not have this kind"),
        Err(error) => Err(error),
    };
    match seen {
        Ok(health) => Health {
            status: health.status.to_string(),
            message: health.message,
        },
        Err(error) => Health::unread(&error.to_string()),
    }
}
