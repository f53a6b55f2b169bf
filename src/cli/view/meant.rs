//! What may be meant by the name of an object that is not in a namespace: the same name in others, or one that is near.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cli::error::CliError;
use crate::cli::installed::at;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, GroupVersionKind};
use bumpwright_nearest::nearest_name;

/// The most namespaces that are named.
const NAMED: usize = 3;

/// The error with the namespaces that have an object of this kind and name, as flags to copy, besides those that are
/// known already; else with the name of the kind that is nearest in the namespace.
pub(in crate::cli) async fn hinted(
    error: CliError,
    cluster: &Cluster,
    (kind, name): (Option<&GroupVersionKind>, &ObjectName),
    mut namespaces: BTreeSet<String>,
) -> CliError {
    let mut names = Vec::new();
    if let Some(kind) = kind {
        let same = listed(
            cluster,
            kind,
            ("", &format!("metadata.name={}", name.name)),
            "namespace",
        )
        .await;
        namespaces.extend(same);
        if namespaces.is_empty() {
            names = listed(cluster, kind, (&name.namespace, ""), "name").await;
        }
    }
    let meant = flags(&namespaces).or_else(|| nearest_name(&name.name, &names).map(str::to_owned));
    error.meant(meant.as_deref())
}

/// A field of the metadata of the objects that the server lists; none where they may not be listed.
async fn listed(cluster: &Cluster, kind: &GroupVersionKind, place: (&str, &str), field: &str) -> Vec<String> {
    let mut values = Vec::new();
    let Ok(Some(resource)) = cluster.resource_at_any_version(kind).await else {
        return values;
    };
    let pointer = format!("/metadata/{field}");
    let keep = |object: Result<Value, serde_json::Error>| {
        values.extend(object.ok().map(|object| at(&object, &pointer).to_owned()));
    };
    match cluster.list_each(&resource, place, keep).await {
        Ok(()) => values,
        // It is for a hint alone.
        Err(_) => Vec::new(),
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
