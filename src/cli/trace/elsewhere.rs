//! The namespaces that have an object which is not in the one that was asked for.

use std::collections::BTreeSet;

use serde_json::Value;

use super::kind::Spelled;
use crate::cli::error::CliError;
use crate::cli::installed::at;
use bumpwright_kube::Cluster;
use bumpwright_overview::World;

/// The most namespaces that are named.
const NAMED: usize = 3;

/// The error with the namespaces that have an object of this kind and name, as flags to copy.
pub(super) async fn hinted(
    error: CliError,
    cluster: &Cluster,
    world: &World,
    (kind, name): (&Spelled, &str),
) -> CliError {
    let applied = world.inventories().map(|(.., entry)| entry);
    let applied = applied.filter(|entry| entry.name == name && kind.is_of(entry));
    let mut namespaces: BTreeSet<String> = applied.map(|entry| entry.namespace).collect();
    namespaces.extend(in_cluster(cluster, kind, name).await);
    error.meant(flags(&namespaces).as_deref())
}

/// The namespaces of the objects that the server has; none where they may not be listed.
async fn in_cluster(cluster: &Cluster, kind: &Spelled, name: &str) -> BTreeSet<String> {
    let mut namespaces = BTreeSet::new();
    let Some(known) = &kind.known else { return namespaces };
    let Ok(Some(resource)) = cluster.resource_at_any_version(known).await else {
        return namespaces;
    };
    let fields = format!("metadata.name={name}");
    let keep = |object: Result<Value, serde_json::Error>| {
        namespaces.extend(object.ok().map(|object| at(&object, "/metadata/namespace").to_owned()));
    };
    let listed = cluster.list_each(&resource, ("", &fields), keep).await;
    match listed {
        Ok(()) => namespaces,
        // It is for a hint alone.
        Err(_) => BTreeSet::new(),
    }
}

/// `-n a, -n b or -n c`, of the first few.
fn flags(namespaces: &BTreeSet<String>) -> Option<String> {
    let named = namespaces.iter().filter(|namespace| !namespace.is_empty());
    let mut flags: Vec<String> = named.take(NAMED).map(|namespace| format!("-n {namespace}")).collect();
    let last = flags.pop()?;
    Some(match flags.as_slice() {
        [] => last,
        others => format!("{} or {last}", others.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_flags_to_copy() {
        let cases: [(&[&str], Option<&str>); 5] = [
            (&[], None),
            (&[""], None),
            (&["apps"], Some("-n apps")),
            (&["apps", "", "web"], Some("-n apps or -n web")),
            (&["a", "b", "c", "d"], Some("-n a, -n b or -n c")),
        ];
        for (namespaces, expected) in cases {
            let namespaces = namespaces.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(flags(&namespaces).as_deref(), expected);
        }
    }
}
